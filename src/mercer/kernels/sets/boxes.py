"""Unions of intervals, and of boxes in R^d, as stacked boxes that do not overlap."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Prepared, Rows, Zipped
from ...exceptions import DomainError
from ..bags.stacked import Bags
from ..bags.sums import pair_sums
from ..base import Kernel, Tile

Box = tuple[np.ndarray, np.ndarray]  # its lower and its upper corner


@dataclass(eq=False, repr=False)
class Boxes(Prepared):
    """Unions of disjoint boxes, prepared.

    Parameters
    ----------
    bags : Bags
        The boxes of each union, by their lower and upper corners.
    volumes : array
        Of the unions.
    dimension : int or None
        That of the boxes; None if there are none.
    """

    bags: Bags
    volumes: np.ndarray
    dimension: int | None

    each = ("bags", "volumes")

    def sizes(self) -> np.ndarray:
        """The volume of each union."""
        return self.volumes

    def overlaps(self, other: Boxes) -> Tile:
        """Tiles of the volumes of intersections."""
        found = {self.dimension, other.dimension} - {None}
        if len(found) > 1:
            raise DomainError(f"boxes must have the same dimension, got {found}.")
        sums = pair_sums(BoxIntersection(), self.bags, other.bags)

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            if isinstance(rows, slice) and isinstance(cols, slice):
                return sums(rows, cols)
            return self[rows].overlaps(other[cols])(slice(None), slice(None))

        return tile

    def features(self) -> None:
        """None: indicators of boxes span infinitely many dimensions."""
        return None

    n_features = None


@dataclass(eq=False, repr=False)
class BoxIntersection(Kernel):
    """The volume of the intersection of two boxes."""

    because = "the inner product of indicator functions"

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        (low, high), (lower, higher) = X.parts, Y.parts
        volume = np.ones((len(low), len(lower)))
        for d in range(low.shape[1]):
            side = np.minimum.outer(high[:, d], higher[:, d])
            side -= np.maximum.outer(low[:, d], lower[:, d])
            volume *= np.maximum(side, 0, out=side)
        return volume


# ---- reading -------------------------------------------------------------------------------
def boxes(X: Iterable[Any], owner: str) -> Boxes:
    """Pairs (low, high) of numbers or of corners, or lists of such pairs: unions."""
    unions = [_disjoint(_union(x, place, owner)) for place, x in enumerate(X)]
    stacked = [box for union in unions for box in union]
    size = np.array([len(union) for union in unions], dtype=np.int64)
    widths = sorted({len(low) for low, _ in stacked})
    if len(widths) > 1:
        raise DomainError(
            f"{owner}: boxes must have the same dimension, got {widths[0]} and {widths[1]}."
        )
    points = None
    if stacked:
        points = Zipped(*(np.array([box[side] for box in stacked]) for side in (0, 1)))
    volumes = np.array([np.sum([np.prod(b - a) for a, b in union]) for union in unions])
    bags = Bags(points, np.cumsum(size) - size, size)
    return Boxes(bags, volumes, widths[0] if widths else None)


def _union(x: Any, place: int, owner: str) -> list[Box]:
    single = isinstance(x, tuple) or (isinstance(x, np.ndarray) and x.ndim < 3)
    return [_box(pair, place, owner) for pair in ([x] if single else x)]


def _box(pair: Any, place: int, owner: str) -> Box:
    try:
        low, high = (np.atleast_1d(np.asarray(corner, dtype=np.float64)) for corner in pair)
        fine = low.shape == high.shape and low.ndim == 1 and low.size > 0
    except (TypeError, ValueError):
        fine = False
    if not fine:
        raise DomainError(
            f"{owner}: sample {place} is not a set; intervals and boxes are pairs (low, high), "
            "and unions are lists of such pairs."
        )
    if not (np.all(np.isfinite(low)) and np.all(np.isfinite(high)) and np.all(low <= high)):
        raise DomainError(
            f"{owner}: sample {place} has a box from {low} to {high}; ends must be finite, with "
            "the lower one first."
        )
    return low, high


def _disjoint(union: list[Box]) -> list[Box]:
    """Boxes of positive volume with the same union that do not overlap."""
    union = [(low, high) for low, high in union if np.all(low < high)]
    if all(len(low) == 1 for low, _ in union):
        return _merged(union)
    found: list[Box] = []
    for box in union:
        new = [box]
        for known in found:
            new = [rest for part in new for rest in _without(part, known)]
        found += new
    return found


def _merged(intervals: list[Box]) -> list[Box]:
    """Intervals with the same union that do not touch, from left to right."""
    found: list[Box] = []
    for low, high in sorted(intervals, key=lambda each: float(each[0][0])):
        if found and low[0] <= found[-1][1][0]:
            found[-1] = found[-1][0], np.maximum(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def _without(box: Box, other: Box) -> list[Box]:
    """The parts of a box that lie outside another one."""
    low, high = (corner.copy() for corner in box)
    lower, higher = np.maximum(low, other[0]), np.minimum(high, other[1])
    if not np.all(lower < higher):
        return [box]
    found = []
    for d in range(len(low)):
        for begin, end in ((low[d], lower[d]), (higher[d], high[d])):
            if begin < end:
                part = low.copy(), high.copy()
                part[0][d], part[1][d] = begin, end
                found.append(part)
        low[d], high[d] = lower[d], higher[d]
    return found
