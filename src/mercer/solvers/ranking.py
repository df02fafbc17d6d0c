r"""Learning to rank: a loss of all pairs of samples in the same group.

.. math:: \min_{f \in H_k} \tfrac12 \sum_{(i, j)} w_i w_j \max(0, 1 - f(x_i) + f(x_j))^2
          + \tfrac{\alpha}{2} \|f\|^2

over all pairs of a group with y_i > y_j. The loss is a function of the scores F = K c, whose slopes
and products with its second derivative, the Laplacian of the graph of active pairs, are sums over
pairs that n log n steps add up (:mod:`.ranking_loops`). So Newton's method for losses of single
samples does for it (:mod:`.newton`).

Any scores have a feasible point of the dual problem, a_ij = w_i w_j max(0, 1 - F_i + F_j), with the
value :math:`\sum a_{ij} - \sum a_{ij}^2 / (2 w_i w_j) - \tfrac{\alpha}{2} c'K c`, c the slopes over
-alpha: the certificate.

References: Herbrich, Graepel & Obermayer, *Large margin rank boundaries for ordinal regression*,
2000; Joachims, *Optimizing search engines using clickthrough data*, KDD 2002; Lee & Lin,
*Large-scale linear rankSVM*, 2014.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..gram.base import Gram
from .base import Solution
from .newton import FLAT, minimise, system_of
from .ranking_loops import pair_sums

_NEWTON_STEPS = 100


def solve_ranking(
    gram: Gram,
    y: np.ndarray,
    groups: np.ndarray,
    alpha: float,
    weights: np.ndarray | None = None,
    *,
    tol: float = 1e-5,
    max_iter: int | None = None,
) -> Solution:
    """Scores that put samples of the same group into the order of y.

    Parameters
    ----------
    gram : Gram
        The operator K.
    y : array of shape (n,)
        How high samples should rank; only comparisons within a group matter.
    groups : array of shape (n,)
        Numbers of the groups.
    alpha : float
        Strength of the penalty, > 0.
    weights : array of shape (n,), optional
        Weights of the samples, >= 0; those of pairs are products.
    tol : float
        The largest violation of optimality, as a part of the largest slope at f = 0.
    max_iter : int, optional
        The most Newton steps.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> X = np.arange(5.0)[:, None]
    >>> found = solve_ranking(Linear().gram(X), X[:, 0], np.zeros(5, dtype=int), alpha=1.0)
    >>> bool(np.all(np.diff(Linear()(X) @ found.coef[:, 0]) > 0))
    True
    """
    begin = time.perf_counter()
    problem: Any = Pairs(y, groups, alpha, weights)
    C, _, n_iter = minimise(problem, system_of(gram, alpha), tol, max_iter or _NEWTON_STEPS)
    KC = gram @ C
    violation = problem.violation(C, KC, 0.0)
    objective = problem.loss_at(KC) + alpha * float(np.sum(C * KC)) / 2
    dual_point = -problem.slopes(KC) / alpha
    dual = problem.dual_value(KC) - alpha * float(np.sum(dual_point * (gram @ dual_point))) / 2
    converged = bool(violation <= 1.01 * tol)
    message = (
        "optimal"
        if converged
        else f"stopped after {n_iter} Newton steps with a violation of {violation:.1e} where "
        f"tol={tol:g} was asked for; raise alpha, tol or max_iter, or scale the data."
    )
    stats = {
        "violation": violation, "objective": objective, "gap": objective - dual,
        "pairs": problem.pairs, "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    return Solution(C, converged, n_iter, message, stats)


class Pairs:
    """The loss of scores, as Newton's method wants it."""

    intercept, scores, spread = False, 1, 1.0

    def __init__(
        self, y: np.ndarray, groups: np.ndarray, alpha: float, weights: np.ndarray | None
    ) -> None:
        n = len(y)
        self.alpha, self.groups = alpha, groups
        self.w = np.ones((n, 1)) if weights is None else weights.astype(np.float64)[:, None]
        self.y, self.b = y[:, None], np.zeros(1)
        self.start: Any = (np.zeros((n, 1)), np.zeros(1))
        order = np.lexsort((y, groups))
        new = np.append(True, np.diff(groups[order]) != 0)
        self.starts = np.append(np.flatnonzero(new), n)
        rises = np.append(False, np.diff(y[order]) > 0) & ~new
        steps = np.cumsum(rises)
        self.level = np.empty(n, np.int64)  # ranks of y within the group, ties equal
        self.level[order] = steps - np.repeat(steps[self.starts[:-1]], np.diff(self.starts))
        zero = np.zeros((n, 1))
        self.pairs = float(self._sums(zero, zero)[0] @ self.w[:, 0])  # with their weights
        self.largest = float(np.abs(self.slopes(zero)).max()) or 1.0

    def _sums(self, F: np.ndarray, V: np.ndarray) -> np.ndarray:
        f = np.ascontiguousarray(F[:, 0], dtype=np.float64)
        order, out = np.lexsort((f, self.groups)), np.empty((4, len(f)))
        v = np.ascontiguousarray(V[:, 0], dtype=np.float64)
        pair_sums(f, v, self.w[:, 0], self.level, order, self.starts, out)
        return out

    def _slacks(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """For each sample, the sum of w_i w_j (1 - F_i + F_j) over pairs as i, and as j."""
        f, w = F[:, 0], self.w[:, 0]
        lower, below, higher, above = self._sums(F, F)
        return w * ((1 - f) * lower + below), w * ((1 + f) * higher - above)

    def slopes(self, F: np.ndarray) -> np.ndarray:
        won, lost = self._slacks(F)
        return (lost - won)[:, None]

    def loss_at(self, F: np.ndarray) -> float:
        """Half the sum of s^2 is half that of s, less that of s (F_i - F_j)."""
        won, lost = self._slacks(F)
        return float(won.sum() + F[:, 0] @ (lost - won)) / 2

    def dual_value(self, F: np.ndarray) -> float:
        """The sum of a - a^2 / (2 w_i w_j), for a = w_i w_j s."""
        return float(self._slacks(F)[0].sum()) - self.loss_at(F)

    def curvature(
        self, F: np.ndarray, least: np.ndarray
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """Degrees of the graph of active pairs, and products with its Laplacian."""
        w = self.w[:, 0]
        lower, _, higher, _ = self._sums(F, F)
        degree = w * (lower + higher)
        if not degree.any():  # all pairs are far apart: as if each sample had one
            degree = w.copy()
            return degree, lambda V: degree[:, None] * V
        curved = degree > FLAT * degree.max()
        more = np.maximum(least - degree, 0) * curved

        def product(V: np.ndarray) -> np.ndarray:
            sums = self._sums(F, V)
            return (degree * V[:, 0] - w * (sums[1] + sums[3]) + more * V[:, 0])[:, None]

        return degree * curved + more, product

    def violation(self, C: np.ndarray, F: np.ndarray, slack: float) -> float:
        """How far alpha c is from the slopes with the other sign."""
        return float(np.abs(self.alpha * C + self.slopes(F)).max()) / self.largest
