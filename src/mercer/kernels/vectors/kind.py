"""Vectors, and parts of R^d, as kinds of data; numbers modulo a period."""

from __future__ import annotations

from ..calculus.domains import Kind, register_kind

VECTORS = register_kind(
    Kind(
        "vectors",
        "vectors in R^d",
        euclidean=True,
        infinite=True,
        faithful=True,
        numeric=True,
        role="number",
    )
)
register_kind(
    Kind("ball", "a ball of R^d", infinite=True, faithful=True, numeric=True, role="number")
)
register_kind(
    Kind(
        "interval",
        "an interval of the line",
        compact=True,
        infinite=True,
        faithful=True,
        numeric=True,
        role="number",
    )
)
register_kind(
    Kind("circle", "the circle", compact=True, infinite=True, numeric=True, role="number")
)
