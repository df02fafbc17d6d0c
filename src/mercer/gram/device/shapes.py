"""The fastest choices on Hopper GPUs: shapes of tiles, ways to compute powers of two."""

from __future__ import annotations

from typing import NamedTuple

from .source import Tile

_ROOM = 200_000  # bytes of shared memory for operands of one tile of rows and two of columns


class Shape(NamedTuple):
    """The shape of a tile, and how a program works on it."""

    rows: int
    columns: int
    warps: int
    stages: int

    @property
    def ahead(self) -> bool:
        """Are right-hand sides read a tile ahead? They are exchanged where tiles are wide."""
        return self.columns > self.rows


def shape_of(work: int, few: bool, held: int) -> Shape:
    """The shape for a product, by the number of multiplications in each entry of a metric.

    The more rows a tile has, the less often columns are read; but operands of rows stay in shared
    memory meanwhile.

    Parameters
    ----------
    work : int
    few : bool
        Are right-hand sides few?
    held : int
        Bytes of the operands of a row that stay; 0 if they are read again for each tile.
    """
    if few and work <= 32:
        shapes = [Shape(64, 128, 4, 3)]
    elif few and work <= 160:
        shapes = [Shape(128, 64, 4, 3 if work <= 64 else 2)]
    elif few and not held:
        shapes = [Shape(128, 256, 8, 3)]
    elif few:
        shapes = [Shape(256, 128 if 256 < work <= 288 else 64, 8, 2), Shape(128, 64, 8, 2)]
    else:
        shapes = [Shape(64 if work <= 64 else 128, 64, 4, 3)]
    shapes += [Shape(64, 64, 4, 2), Shape(32, 64, 4, 1)]
    fits = (shape for shape in shapes if held * (shape.rows + 2 * shape.columns) <= _ROOM)
    return next(fits, shapes[-1])


def mix_of(terms: tuple[Tile, ...], work: int, few: int) -> tuple[int, int]:
    """How many of how many powers are computed as polynomials.

    More if roots or logarithms are computed before; none if tensor cores or sums are the
    bottleneck.
    """
    if not 0 < few <= 2:
        return 0, 1
    values = [each for _, atoms, _ in terms for _, each in atoms]
    before = sum(each.count("root(") + each.count("logarithm(") for each in values)
    if before:
        return (5, 8) if before == 1 else (1, 2)
    return (0, 1) if work > 64 else (1, 4)
