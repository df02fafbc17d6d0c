"""What is fastest on cards of the Hopper generation: shapes of tiles, ways to powers of two."""

from __future__ import annotations

from typing import NamedTuple

from .source import Tile


class Shape(NamedTuple):
    """Of a tile, and how a program works on it."""

    rows: int
    columns: int
    warps: int
    stages: int

    @property
    def ahead(self) -> bool:
        """Are right-hand sides read a tile ahead? They are exchanged where tiles are wide."""
        return self.columns > self.rows


def shape_of(work: int, few: bool, held: bool) -> Shape:
    """That of a product, for so many products of numbers in each entry of a metric.

    ``few``: right-hand sides are few. ``held``: operands of rows stay while columns pass by, and
    the more rows there are, the less often columns are read.
    """
    if not few:
        return Shape(64 if work <= 64 else 128, 64, 4, 3)
    if work <= 32:
        return Shape(64, 128, 4, 3)
    if work <= 160:
        return Shape(128, 64, 4, 3 if work <= 64 else 2)
    if not held:
        return Shape(128, 256, 8, 3)
    return Shape(256, 128 if 256 < work <= 288 else 64, 8, 2)


def mix_of(terms: tuple[Tile, ...], work: int, few: int) -> tuple[int, int]:
    """How many powers are polynomials, of how many.

    More where roots or logarithms come before; none where tensor cores or sums are the limit.
    """
    if not 0 < few <= 2:
        return 0, 1
    values = [each for _, atoms, _ in terms for _, each in atoms]
    before = sum(each.count("root(") + each.count("logarithm(") for each in values)
    if before:
        return (5, 8) if before == 1 else (1, 2)
    return (0, 1) if work > 64 else (1, 4)
