"""Series, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind

SERIES = register_kind(
    Kind(
        "series",
        "series of points in R^d",
        hint="GlobalAlignment()",
        infinite=True,
        faithful=True,
        ragged=True,
        role="number",
    )
)
