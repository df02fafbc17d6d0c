"""Kendall kernels in which the top of a ranking counts more than its end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, Zipped
from ...exceptions import DomainError
from ...params import one_of, parameter
from ..base import Tile, Tiled
from ..calculus import properties as prop
from ..pairs.base import Paired
from .base import RankingKernel, same_items
from .comparisons import paired
from .loops import top_heavy
from .orders import read, standings

_PRODUCTS = 2**12  # pairs of items whose features are made and multiplied at a time
_NAMED = {
    "hyperbolic": lambda place: 1 / place,
    "logarithmic": lambda place: 1 / np.log2(1 + place),
}


def _check_weights(value: Any) -> str | None:
    wanted = (
        'one of "hyperbolic", "logarithmic", or numbers >= 0, one for each place, and at least two '
        "of them positive"
    )
    if isinstance(value, str):
        return None if value in _NAMED else wanted
    try:
        weights = np.asarray(value)
    except ValueError:
        return wanted
    if weights.ndim != 1 or weights.dtype.kind not in "biuf" or np.sum(weights > 0) < 2:
        return wanted
    return None if np.all(np.isfinite(weights) & (weights >= 0)) else wanted


@dataclass(eq=False, repr=False)
class Concordance(RankingKernel):
    """Common base of kernels that count pairs of items in the same order."""

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("k(x, x) <= 1, with equality for rankings of all items without ties"),
            finite_dim=prop.yes("features are pairs of items, and rankings finitely many"),
            positive_diag=prop.no("k(x, x) = 0 where all items are tied"),
        )


@dataclass(eq=False, repr=False)
class WeightedKendall(Concordance, Tiled):
    r"""Pairs of items in the same order, those near the top of both rankings with more weight.

    .. math:: k(x, y) = \frac1c \sum_{i \ne j} U(x_i, x_j)\, U(y_i, y_j)\,
              1[x_i < x_j]\, 1[y_i < y_j]

    where x_i is the place of item i, 1 for the best (the smallest rank), and U(a, b) = u_a u_b or
    u_a + u_b for weights u of the places. The constant c makes k(x, x) = 1 for rankings of all
    items without ties. Only pairs that both rankings put in the same order count; with equal
    weights their share is (1 + Kendall) / 2.

    Tied items share the mean of the weights of the places that they take. Items that are not ranked
    (NaN) are in no pair.

    Parameters
    ----------
    weights : {"hyperbolic", "logarithmic"} or array of m numbers
        The weight of each place: 1 / a, 1 / log2(1 + a), or your own numbers, from the first place
        to the last; ``[1] * k + [0] * (m - k)`` uses the best k only.
    combine : {"product", "sum"}
        Is the weight of a pair the product or the sum of those of its places?

    Examples
    --------
    >>> from mercer import WeightedKendall
    >>> X = [[1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 4, 3]]  # the first and the last two exchanged
    >>> WeightedKendall()(X)[0].round(3)
    array([1.   , 0.381, 0.967])

    References
    ----------
    Jiao & Vert, *The weighted Kendall and high-order kernels for permutations*, ICML 2018.
    """

    weights: Any = parameter("hyperbolic", check=_check_weights)
    combine: str = one_of("product", "product", "sum")
    because = "an inner product of explicit features: pairs of items in order, with weights"

    def prepare(self, X: Data) -> Zipped:
        ranks = read(X, type(self).__name__)
        first, last = standings(ranks)
        before = np.concatenate([[0.0], np.cumsum(self._weights(ranks.shape[1]))])
        ranked = ~np.isnan(ranks)
        start, end = (np.where(ranked, s, 0).astype(np.int64) for s in (first, last))
        mean = (before[end] - before[start]) / np.maximum(end - start, 1)
        return Zipped(first.astype(np.float32), mean)

    def _weights(self, m: int) -> np.ndarray:
        if isinstance(self.weights, str):
            return np.asarray(_NAMED[self.weights](np.arange(1, m + 1)), dtype=np.float64)
        weights = np.asarray(self.weights, dtype=np.float64)
        if len(weights) != m:
            raise DomainError(
                f"WeightedKendall: weights has {len(weights)} numbers, but rankings have {m} "
                "items; give one for each rank."
            )
        return weights

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        same_items(X.parts[0], Y.parts[0])
        c = self._scale(X)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            left, right = X[rows], Y[cols]
            out = np.zeros((len(left), len(right)))
            for a, b in zip(self._blocks(left), self._blocks(right), strict=True):
                out += a @ b.T
            out /= c
            return out

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        total = sum(np.einsum("ij,ij->i", F, F) for F in self._blocks(X))
        return np.asarray(total / self._scale(X))

    def features(self, X: Zipped) -> np.ndarray:
        return np.concatenate(list(self._blocks(X)), axis=1) / np.sqrt(self._scale(X))

    def n_features(self, X: Zipped) -> int:
        m = X.parts[0].shape[1]
        return m * (m - 1)

    def _blocks(self, X: Zipped) -> Iterator[np.ndarray]:
        """The features of ordered pairs of items, some at a time."""
        combine = np.multiply if self.combine == "product" else np.add
        places, weights = (paired(part, _PRODUCTS) for part in X.parts)
        for some, by in zip(places, weights, strict=True):
            U = np.concatenate([combine(u, v) for u, v in by], axis=1)
            before = np.concatenate([a < b for a, b in some], axis=1)
            after = np.concatenate([a > b for a, b in some], axis=1)
            yield np.concatenate([U * before, U * after], axis=1)

    def _scale(self, X: Zipped) -> float:
        """c: the sum of squared weights of all pairs of places."""
        u = self._weights(X.parts[0].shape[1])
        one, two = np.sum(u), np.sum(u**2)
        if self.combine == "product":
            return float((two**2 - np.sum(u**4)) / 2)
        return float((len(u) - 2) * two + one**2)


@dataclass(eq=False, repr=False)
class AverageKendall(Concordance, Paired):
    r"""Pairs of items in the same order, counted among the best 2, the best 3, ..., and all.

    .. math:: k(x, y) = \frac1c \sum_{l=2}^m \#\{(i, j) : x_i < x_j \le l,\ y_i < y_j \le l\}
              = \frac1c \sum_{i \ne j} (m + 1 - \max(x_j, y_j))\, 1[x_i < x_j]\, 1[y_i < y_j]

    where x_i is the place of item i, 1 for the best (the smallest rank): the sum of the
    :class:`WeightedKendall` kernels of the best l, so l need not be chosen. The constant c makes
    k(x, x) = 1 for rankings of all items without ties. Tied items have the last of the places that
    they take; items that are not ranked (NaN) are in no pair.

    Examples
    --------
    >>> from mercer import AverageKendall
    >>> AverageKendall()([[1, 2, 3, 4], [2, 1, 3, 4], [1, 2, 4, 3]])[0].round(3)
    array([1. , 0.7, 0.7])

    References
    ----------
    Jiao & Vert, *The weighted Kendall and high-order kernels for permutations*, ICML 2018.
    """

    because = "a sum of inner products of explicit features: pairs in order among the best l"

    def prepare(self, X: Data) -> Zipped:
        ranks = read(X, type(self).__name__)
        first, last = standings(ranks)
        ranked = ~np.isnan(ranks)
        begin, end = (np.where(ranked, s, -1).astype(np.int32) for s in (first, last))
        order = np.argsort(ranks, axis=1, kind="stable").astype(np.int32)
        return Zipped(begin, end, order)

    def pairs(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        same_items(X.parts[0], Y.parts[0])
        m = X.parts[0].shape[1]
        return np.asarray(top_heavy(*X.parts, *Y.parts, i, j)) * (6 / ((m - 1) * m * (m + 1)))

    def sizes(self, X: Zipped) -> np.ndarray:
        return np.full(len(X), X.parts[0].shape[1])
