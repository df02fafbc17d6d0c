"""Rankings, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind

RANKINGS = register_kind(
    Kind(
        "rankings",
        "rankings of some items, told apart by which items come before which",
        hint="Kendall()",
        discrete=True,
        compact=True,  # so many items have finitely many rankings
    )
)
