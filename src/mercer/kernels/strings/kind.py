"""Strings, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind

STRINGS = register_kind(
    Kind(
        "strings",
        "strings",
        hint="Spectrum(k)",
        discrete=True,
        infinite=True,
        faithful=True,
        hashable=True,
        role="text",
    )
)
