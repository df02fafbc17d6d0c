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
import scipy.sparse as sp

from ..engine.lapack import lapack
from ..engine.routines import solve_cholesky
from ..gram.base import Gram
from .auto import PRIMAL_LIMIT
from .base import Solution
from .newton import FLAT, minimise, system_of
from .ranking_loops import pair_sums

_NEWTON_STEPS = 100
_INNER, _ACCURATE = 200, 1e-16  # steps of conjugate gradients; their goal, of the first residual
_SHORTEST = 1e-6  # of a Newton step
_RIDGE = 1e-14  # of the mean diagonal of a system, for features that depend on each other
_REFINED = 3


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
        The largest violation of optimality, relative to the largest slope at f = 0.
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
    most, phi, w = max_iter or _NEWTON_STEPS, gram.features, None
    if phi is not None and phi.shape[1] <= min(len(gram), PRIMAL_LIMIT):
        w, violation, n_iter = _by_weights(problem, phi, tol, most)
        F = _product(phi, w)
        C = -problem.slopes(F) / alpha
        objective = problem.loss_at(F) + alpha * float(np.sum(w**2)) / 2
        gap = alpha * float(np.sum((w - _product(phi.T, C)) ** 2)) / 2
        C = _with_weights(phi, C, w)
    else:
        C, _, n_iter = minimise(problem, system_of(gram, alpha), tol, most)
        KC = gram @ C
        violation = problem.violation(C, KC, 0.0)
        objective = problem.loss_at(KC) + alpha * float(np.sum(C * KC)) / 2
        point = -problem.slopes(KC) / alpha
        gap = objective - problem.dual_value(KC)
        gap += alpha * float(np.sum(point * (gram @ point))) / 2
    converged = bool(violation <= 1.01 * tol)
    message = (
        "optimal"
        if converged
        else f"stopped after {n_iter} Newton steps with a violation of {violation:.1e} where "
        f"tol={tol:g} was requested; raise alpha, tol or max_iter, or scale the data."
    )
    stats = {
        "violation": violation, "objective": objective, "gap": gap,
        "pairs": problem.pairs, "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    return Solution(C, converged, n_iter, message, stats, weights=w)


def _product(phi: Any, V: np.ndarray) -> np.ndarray:
    return np.asarray(phi @ V, dtype=np.float64)


def _by_weights(problem: Any, phi: Any, tol: float, most: int) -> tuple[np.ndarray, float, int]:
    """Newton's method for the weights w of features, f = <w, phi>, on any scales of these.

    Scores of coefficients c are sums of large terms that cancel where features are large; those of
    weights are not. Systems are solved by conjugate gradients, with the diagonal of the second
    derivative in the place of the Laplacian for a preconditioner. The violation is what the step
    that is left would change the slopes by; once it is small, the gap is made small, too, unless
    that is beyond rounding.
    """
    alpha, m = problem.alpha, phi.shape[1]
    sizes = _sizes(phi)
    w, before = np.zeros((m, 1)), np.inf
    for n_iter in range(most + 1):
        F = _product(phi, w)
        G = problem.slopes(F)
        g = _product(phi.T, G) + alpha * w
        degree, curve = problem.curvature(F, np.zeros(len(F)))

        def bend(v: np.ndarray, curve: Any = curve) -> np.ndarray:
            return _product(phi.T, curve(_product(phi, v))) + alpha * v

        solve = _inverse(phi, degree, alpha, sizes)
        d = _conjugate(bend, solve, -g)
        change = _product(phi, d)
        violation = float(np.abs(curve(change)).max()) / problem.largest
        value = problem.loss_at(F) + alpha * float(np.sum(w**2)) / 2
        certain = float(np.sum(g**2)) <= 2 * alpha * tol * value or violation >= before
        if (violation <= tol and certain) or n_iter == most:
            return w, violation, n_iter
        slope, t, before = float(np.sum(g * d)), 1.0, violation
        while t > _SHORTEST:
            new = w + t * d
            if problem.loss_at(F + t * change) + alpha * float(np.sum(new**2)) / 2 <= (
                value + 1e-4 * t * slope + 1e-14 * abs(value)
            ):
                break
            t /= 2
        w = w + t * d
    raise AssertionError


def _sizes(phi: Any) -> np.ndarray:
    """Norms of features over the samples."""
    squares = phi.multiply(phi) if sp.issparse(phi) else np.square(phi, dtype=np.float64)
    sizes = np.sqrt(np.asarray(squares.sum(axis=0))).reshape(phi.shape[1], 1)
    return np.maximum(sizes, np.sqrt(np.finfo(float).tiny))


def _inverse(phi: Any, h: np.ndarray, alpha: float, sizes: np.ndarray) -> Any:
    """R -> (Phi' H Phi + alpha I)^-1 R, on a scale on which all features are of one size."""
    m = phi.shape[1]
    A = phi.T @ (sp.diags_array(h) @ phi if sp.issparse(phi) else h[:, None] * phi)
    A = A.toarray() if sp.issparse(A) else np.asarray(A, dtype=np.float64)
    A /= sizes
    A /= sizes.T
    A.flat[:: m + 1] += alpha / sizes[:, 0] ** 2
    A.flat[:: m + 1] += _RIDGE * float(np.trace(A)) / m
    L = lapack(m, np.linalg.cholesky, A)
    return lambda R: solve_cholesky(L, R / sizes) / sizes


def _with_weights(phi: Any, C: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Coefficients near C with the weights w, which are those of C but for rounding and the gap."""
    solve = _inverse(phi, np.ones(len(C)), 0.0, _sizes(phi))
    for _ in range(_REFINED):
        C = C + _product(phi, solve(w - _product(phi.T, C)))
    return C


def _conjugate(bend: Any, precondition: Any, r: np.ndarray) -> np.ndarray:
    """Conjugate gradients for a system of positive definite products."""
    d, p, old = np.zeros_like(r), np.zeros_like(r), np.inf
    first = None
    for _ in range(_INNER):
        z = precondition(r)
        gamma = float(np.sum(r * z))
        first = gamma if first is None else first
        if not gamma > _ACCURATE * first:
            break
        p = z + (gamma / old) * p
        q = bend(p)
        step = gamma / float(np.sum(p * q))
        d, r, old = d + step * p, r - step * q, gamma
    return d


class Pairs:
    """The loss of scores, in the form for Newton's method."""

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
