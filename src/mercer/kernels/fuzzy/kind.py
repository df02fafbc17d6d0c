"""Fuzzy sets, as a kind of data."""

from __future__ import annotations

from ..calculus.domains import Domain, Kind, register_kind

register_kind(
    Kind("fuzzy_sets", "fuzzy sets", hint="CrossProduct(Gaussian(), Linear())", infinite=True)
)


def fuzzy(points: Domain) -> Domain:
    """Fuzzy sets of finitely many points; their order does not matter."""
    return Domain("fuzzy_sets", f"fuzzy sets of {points}")
