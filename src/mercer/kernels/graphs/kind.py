"""Graphs, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind
from .stored import STORED

GRAPHS = register_kind(
    Kind(
        "graphs",
        "graphs, with labels or attributes where they have any",
        hint="WeisfeilerLehman()",
        infinite=True,
        stored=STORED,
    )
)
