"""Kernels computed pair by pair: a list of pairs of samples in, their values and slopes out.

Dynamic programmes over strings and over series share this: no block has a structure to use, half of
a symmetric one is enough, and pairs whose weight is zero need no slope. Lists are cut into pieces
of about as much work, a few hundredths of a second: they are shared by the cores, and between them
Ctrl-C is noticed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...data import length, take
from ..base import Kernel, Tile, no_gradient

_CELLS = 4_000_000  # of the tables that one compiled call fills
Pairs = Callable[[np.ndarray, np.ndarray], np.ndarray]  # values for pairs (i, j) of samples


@dataclass(eq=False, repr=False)
class Paired(Kernel):
    """A kernel given by its values for lists of pairs of *prepared* samples."""

    by_pairs = True

    @abstractmethod
    def pairs(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """k(x_i, y_j) for pairs of samples, given by their numbers."""

    def slopes(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """dk(x_i, y_j)/dtheta for such pairs, of a kernel with one hyper-parameter."""
        raise no_gradient(self)

    def sizes(self, X: Any) -> np.ndarray:
        """How long samples are: a pair takes time in proportion to the product."""
        return np.ones(length(X))

    def arranged(self, X: Any) -> np.ndarray:
        """The numbers of the samples, so that neighbours are best computed together."""
        return np.arange(length(X))

    def pairwise(self, X: Any, Y: Any) -> np.ndarray:
        rows, cols = self.arranged(X), self.arranged(Y)
        out = np.empty((len(rows), len(cols)))
        out[np.ix_(rows, cols)] = all_pairs(
            lambda i, j: self._cut(self.pairs, X, Y, rows[i], cols[j]),
            len(rows),
            len(cols),
            X is Y,
        )
        return out

    def tiles(self, X: Any, Y: Any) -> Tile:
        def tile(rows: Any, cols: Any) -> np.ndarray:
            left = take(X, rows)
            same = X is Y and isinstance(rows, slice) and isinstance(cols, slice) and rows == cols
            return self.pairwise(left, left if same else take(Y, cols))

        return tile

    def diag(self, X: Any) -> np.ndarray:
        out, order = np.empty(length(X)), self.arranged(X)
        out[order] = self._cut(self.pairs, X, X, order, order)
        return out

    def grad_theta(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        rows, cols = self.arranged(X), self.arranged(Y)
        i, j, weights = weighted_pairs(np.asarray(W)[np.ix_(rows, cols)], X is Y)
        return np.array([weights @ self._cut(self.slopes, X, Y, rows[i], cols[j])])

    def _cut(self, values: Any, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """values(X, Y, i, j), in pieces."""
        out = np.empty(len(i))

        def job(part: slice) -> None:
            out[part] = values(X, Y, i[part], j[part])

        left, right = (np.asarray(self.sizes(Z), dtype=np.float64) for Z in (X, Y))
        on_all_cores(job, left[i] * right[j])
        return out


def on_all_cores(job: Callable[[slice], None], cells: np.ndarray) -> None:
    """Run ``job`` on pieces of a list of pairs, whose tables have so many cells each."""
    from ...gram.tiles import run

    run(job, pieces(cells))


def pieces(cells: np.ndarray) -> list[slice]:
    """A list of pairs in pieces of about as many cells."""
    if not len(cells):
        return []
    before = np.cumsum(cells, dtype=np.float64) - cells
    starts = np.flatnonzero(np.diff(before // _CELLS)) + 1
    edges = [0, *starts.tolist(), len(cells)]
    return [slice(a, b) for a, b in pairwise(edges)]


def all_pairs(values: Pairs, n: int, m: int, symmetric: bool) -> np.ndarray:
    """The n x m block of values(i, j); of a symmetric one, half of them are computed."""
    i, j = np.divmod(np.arange(n * m), max(m, 1))
    if symmetric:
        upper = i <= j
        i, j = i[upper], j[upper]
    out, found = np.empty((n, m)), values(i, j)
    out[i, j] = found
    if symmetric:
        out[j, i] = found
    return out


def weighted_pairs(W: np.ndarray, symmetric: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs (i, j) that have a weight, and their weights; i <= j if values are symmetric."""
    W = np.asarray(W, dtype=np.float64)
    W = np.triu(W) + np.tril(W, -1).T if symmetric else W
    i, j = np.nonzero(W)
    return i, j, W[i, j]
