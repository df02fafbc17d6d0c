"""Labels, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind

LABELS = register_kind(
    Kind(
        "labels",
        "labels (a discrete set)",
        hint="Categorical()",
        discrete=True,
        faithful=True,
        hashable=True,
        role="label",
    )
)
