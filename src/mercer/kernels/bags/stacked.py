"""Bags: samples of points as data, stacked one after the other, and cut into pieces of a tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ...data import Data, Prepared, is_frame, join, length, take
from ...exceptions import DomainError

_BLOCK = 128  # points of small bags that are compared at once where only each with itself counts


@dataclass(eq=False, repr=False)
class Bags(Prepared):
    """Samples of points, prepared; parts of it share the points.

    Parameters
    ----------
    points : data or None
        The points of all bags, prepared by the kernel on points, one bag after the other; None if
        there are none.
    start, size : arrays
        For each bag its first point and the number of its points.
    """

    points: Data
    start: np.ndarray
    size: np.ndarray

    each = ("start", "size")

    def bag(self, i: int) -> Data:
        """The points of one bag."""
        return take(self.points, slice(self.start[i], self.start[i] + self.size[i]))

    def stacked(self) -> tuple[Data, np.ndarray]:
        """The points of these bags one after the other, and where each bag begins (and the end)."""
        ends = np.concatenate([[0], np.cumsum(self.size)])
        first, total = int(self.start[0]), int(ends[-1])
        if self.points is None:
            return None, ends
        if np.array_equal(self.start - first, ends[:-1]):
            return take(self.points, slice(first, first + total)), ends
        within = np.arange(total) - np.repeat(ends[:-1], self.size)
        return take(self.points, np.repeat(self.start, self.size) + within), ends


@dataclass(frozen=True)
class Piece:
    """Consecutive points, and the bags they belong to, some of them perhaps in part."""

    points: slice
    bags: slice
    edges: np.ndarray  # where each bag begins, and the end; from the first point of the piece


def bounds_of(ends: np.ndarray, rows: slice) -> np.ndarray:
    """Where the bags of a slice begin, and where the last one ends."""
    low, high, _ = rows.indices(len(ends) - 1)
    return ends[low : high + 1]


def pieces(bounds: np.ndarray) -> list[Piece]:
    """The points between the first and the last bound, cut to the size of a tile."""
    from ...gram.tiles import TILE

    found, first = [], int(bounds[0])
    for low in range(first, int(bounds[-1]), TILE):
        high = min(low + TILE, int(bounds[-1]))
        a = int(np.searchsorted(bounds, low, side="right")) - 1
        b = int(np.searchsorted(bounds, high, side="left"))
        edges = np.clip(bounds[a : b + 1], low, high) - low
        found.append(Piece(slice(low, high), slice(a, b), edges))
    return found


def stack(parts: Sequence[Data], prepare: Callable[[Data], Data]) -> Bags:
    """Bags, some of them perhaps empty, as stacked points; all points are prepared at once."""
    size = np.array([length(part) for part in parts], dtype=np.int64)
    filled = [part for part, count in zip(parts, size, strict=True) if count]
    points = prepare(join(*filled)) if filled else None
    return Bags(points, np.cumsum(size) - size, size)


def groups(size: np.ndarray) -> list[slice]:
    """Consecutive bags whose points together fill about one block."""
    ends = np.cumsum(size)
    cuts = np.flatnonzero(np.diff((ends - 1) // _BLOCK)) + 1
    return [slice(a, b) for a, b in pairwise([0, *cuts.tolist(), len(size)])]


def read(X: Data, name: str) -> list[Data]:
    """X as a list of bags, none of them empty; ``name`` is the kernel, for errors."""
    wanted = f"{name} works on a list of bags, each an array or list of points"
    if is_frame(X) or sp.issparse(X):
        raise DomainError(f"{wanted}; pick a column with .on(column).")
    if isinstance(X, np.ndarray) and X.dtype.kind != "O" and X.ndim != 3:
        raise DomainError(
            f"{wanted}, or an array (bags, points, features), got {X.ndim} dimension(s); if each "
            f"row holds numbers drawn from one distribution, give X[:, :, None]."
        )
    parts = list(X)
    if not parts:
        raise DomainError(f"{name}: X has no samples.")
    for place, part in enumerate(parts):
        if isinstance(part, str | bytes | dict) or not hasattr(part, "__len__"):
            kind = type(part).__name__
            raise DomainError(f"{wanted}, but sample {place} is a {kind}; write [x] for one point.")
        if length(part) == 0:
            raise DomainError(f"{name}: bag {place} is empty; a bag needs at least one point.")
    shapes = [part.shape for part in parts if len(getattr(part, "shape", (1, 1, 1))) < 3]
    widths = sorted({shape[1] if len(shape) == 2 else 1 for shape in shapes})
    if len(widths) > 1:
        raise DomainError(
            f"{name}: all points need the same features, got {widths[0]} and {widths[1]} of them."
        )
    return parts
