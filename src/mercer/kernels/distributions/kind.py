"""Distributions as kinds of data: each given by a bag of points, or as a histogram."""

from __future__ import annotations

from ..calculus.domains import Domain, Kind, register_kind
from .stored import STORED

register_kind(
    Kind("bags", "distributions", hint="MeanEmbedding(Gaussian())", infinite=True, stored=STORED)
)
HISTOGRAMS = register_kind(
    Kind(
        "histograms",
        "histograms: vectors of numbers >= 0",
        infinite=True,
        faithful=True,
        numeric=True,
        role="number",
    )
)


def bags(points: Domain) -> Domain:
    """Distributions, each given by a sample of points: the order of a sample does not matter."""
    return Domain("bags", f"distributions, given by samples of {points}")


def bags_of(points: Domain) -> Domain:
    """Bags of points: the order does not matter, but how often a point occurs does."""
    return Domain("bags", f"bags of {points}")
