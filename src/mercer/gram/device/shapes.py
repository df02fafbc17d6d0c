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


def shape_of(width: int, few: bool) -> Shape:
    """That of a product, for so many columns of operands, and few or more right-hand sides."""
    if not few:
        return Shape(64 if width <= 64 else 128, 64, 4, 3)
    if width <= 32:
        return Shape(64, 128, 4, 3)
    if width <= 96:
        return Shape(128, 64, 4, 3 if width <= 64 else 2)
    return Shape(128, 64, 8, 3) if width <= 256 else Shape(128, 256, 8, 3)


def mix_of(terms: tuple[Tile, ...], width: int, few: int) -> tuple[int, int]:
    """How many powers are polynomials, of how many.

    More where roots or logarithms come before; none where tensor cores or sums are the limit.
    """
    if not 0 < few <= 2:
        return 0, 1
    values = [each for _, atoms, _ in terms for _, each in atoms]
    before = sum(each.count("root(") + each.count("logarithm(") for each in values)
    if before:
        return (5, 8) if before == 1 else (1, 2)
    return (0, 1) if width > 64 else (1, 4)
