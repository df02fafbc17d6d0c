"""Distributions, each given by a bag of points, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Domain, Kind, register_kind

register_kind(Kind("bags", "distributions", hint="MeanEmbedding(Gaussian())", infinite=True))


def bags(points: Domain) -> Domain:
    """Distributions, each given by a sample of points: the order of a sample does not matter."""
    return Domain("bags", f"distributions, given by samples of {points}")


def bags_of(points: Domain) -> Domain:
    """Bags of points: the order does not matter, but how often a point occurs does."""
    return Domain("bags", f"bags of {points}")
