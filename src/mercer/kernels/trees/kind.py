"""Trees, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind
from .stored import STORED

TREES = register_kind(
    Kind(
        "trees",
        "ordered labelled trees",
        hint="SubsetTree()",
        discrete=True,
        infinite=True,
        faithful=True,
        role="text",
        stored=STORED,
    )
)
