r"""Dual coordinate descent for logistic regression in the space of explicit features.

.. math:: \min_{0 < a < C} \tfrac12 \Bigl\|\sum_i y_i a_i \phi_i\Bigr\|^2
          + \sum_i a_i \log \frac{a_i}{C_i} + (C_i - a_i) \log\Bigl(1 - \frac{a_i}{C_i}\Bigr)
          \quad\text{subject to}\quad \sum_i y_i a_i = 0

with C_i = w_i / alpha is the dual of sum_i w_i log(1 + exp(-y_i F_i)) + alpha ||f||^2 / 2. A step
moves one variable to its best value and needs only w = sum_i y_i a_i phi_i: as much as reading a
row of features. With a = C / (1 + exp(-s)) the best value is the root of

.. math:: s + q\, (a(s) - a) + m = 0, \qquad q = \|\phi_i\|^2, \quad m = y_i (\langle w, \phi_i
          \rangle + b),

whose slope lies between 1 and 1 + q C / 4, so Newton's method needs no care near 0 and C. The
intercept is the multiplier of the sum, moved after each sweep as in
:mod:`mercer.solvers.coordinate`. Each visit knows its term of the duality gap; if their sum is
small, the point is made feasible, and the gap is recomputed.

Reference: Yu, Huang & Lin, *Dual coordinate descent methods for logistic regression and maximum
entropy models*, Machine Learning 85, 2011.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, xlogy

from .coordinate import Descent, balanced
from .feature_rows import FeatureRows
from .logistic_loops import GAP, LEVEL, LOSS, TOTAL
from .watch import Watch

_SWEEPS = 1000  # at most
_INSIDE = 1e-12  # of C: how far from 0 and C variables stay
_NEWTON = 100  # steps for the best intercept


class LogisticPoint(NamedTuple):
    """A feasible point: variables with signs, weights, intercept, objective, and gap; per alpha."""

    beta: np.ndarray
    w: np.ndarray
    intercept: float
    primal: float
    gap: float


class LogisticFound(NamedTuple):
    """The best point, the number of sweeps, and whether the gap is within the tolerance."""

    point: LogisticPoint
    sweeps: int
    converged: bool


def solve_logistic_coordinate(
    phi: Any,
    y: np.ndarray,
    C: np.ndarray,
    *,
    intercept: bool = True,
    tol: float = 1e-4,
    max_iter: int | None = None,
    workers: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> LogisticFound:
    """Minimise sum_i C_i log(1 + exp(-y_i (<w, phi_i> + b))) + ||w||^2 / 2.

    Parameters
    ----------
    phi : array or CSR matrix of shape (n, M)
        The features, in single or double precision.
    y : array of shape (n,)
        1 and -1.
    C : array of shape (n,)
        Weights of the samples over the strength of the penalty, >= 0.
    intercept : bool
        Is there a constant b?
    tol : float
        The duality gap at which to stop, relative to the objective.
    max_iter : int, optional
        Maximum number of steps of one variable; by default 1000 sweeps.
    workers, seed, watch
        As in :func:`mercer.solvers.coordinate.solve_coordinate`.

    Examples
    --------
    >>> import numpy as np
    >>> phi, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1.0, 1.0, -1.0, 1.0])
    >>> found = solve_logistic_coordinate(phi, y, np.ones(4), tol=1e-10)
    >>> found.converged, found.point.w.round(4)
    (True, array([0.4529]))
    """
    with watch or Watch() as looked_at:
        descent = _LogisticDescent(phi, y, C, intercept, tol, workers, seed)
        return descent.run(max_iter, looked_at)


class _LogisticDescent(Descent):
    def __init__(self, phi: Any, y: np.ndarray, C: np.ndarray, *how: Any) -> None:
        super().__init__(phi, *how)
        self.y, self.C, self.used = y, C, np.flatnonzero(C > 0)
        self.table = np.column_stack([y, C, self.squares, np.where(C > 0, C / 2, 0.0)])
        self.state = np.zeros(4)
        self._go_from(y * self.table[:, 3])

    def run(self, max_iter: int | None, watch: Watch) -> LogisticFound:
        n = max(len(self.used), 1)
        most = _SWEEPS if max_iter is None else max(1, max_iter // n)
        known = watch.resume("logistic", self.y, self.C, self.squares)
        sweeps, goal = 0, self.tol
        if known is not None:
            sweeps, state = known
            self.state[LEVEL] = float(state["level"][0])
            self._go_from(state["beta"])
        best = self._certified()
        while True:
            self._sweep()
            sweeps += 1
            gap = float(self.state[GAP]) + self.penalty * float(self.state[TOTAL]) ** 2
            if not np.isfinite(gap):
                raise ValueError("sums over the features are not finite; scale the data.")
            primal = float(self.state[LOSS]) + float(self.w @ self.w) / 2
            state = {"beta": self.beta, "w": self.w, "level": self.state[LEVEL : LEVEL + 1]}
            stop = watch(sweeps, gap / max(primal, 1e-300), self.tol, state)
            if not (gap <= goal * primal or stop or sweeps >= most):
                continue
            if watch.best is not None:  # of samples held out
                self._go_from(watch.best["beta"])
            point = self._certified()
            best = point if point.gap < best.gap or watch.best is not None else best
            converged = best.gap <= self.tol * best.primal
            if converged or stop or sweeps >= most:
                return LogisticFound(best, sweeps, converged or bool(watch.stopped))
            goal /= 2
            if goal < self.tol / 1000:
                if self.rows is self.exact:
                    return LogisticFound(best, sweeps, False)
                self.rows, goal = self.exact, self.tol  # rounding was in the way

    @property
    def beta(self) -> np.ndarray:
        """y a."""
        return self.y * self.table[:, 3]

    def _sweep(self) -> None:
        self.state[[GAP, LOSS]] = 0.0
        for part in self.parts(self.rng.permutation(self.used)):
            _visit(self.rows, part, self.table, self.penalty, self.w, self.state)
        self.state[LEVEL] += self.penalty * self.state[TOTAL]

    def _certified(self) -> LogisticPoint:
        """A feasible point with the best intercept, in double precision."""
        beta, C = self.beta, self.C
        if self.intercept:
            low, high = np.minimum(self.y * C, 0.0), np.maximum(self.y * C, 0.0)
            beta = balanced(beta, low, high)
        w = self.exact.combine(beta) if beta.any() else np.zeros_like(self.w)
        F = self.exact.scores(w) if w.any() else np.zeros(len(beta))
        b = _best_constant(F, self.y, C, float(self.state[LEVEL])) if self.intercept else 0.0
        m = self.y * (F + b)
        share = np.divide(np.abs(beta), C, where=C > 0, out=np.zeros_like(C))
        entropy = xlogy(share, share) + xlogy(1 - share, 1 - share)
        losses = -log_expit(m)
        gap = float(C @ (losses + entropy + share * m))
        return LogisticPoint(beta, w, b, float(C @ losses + w @ w / 2), gap)

    def _go_from(self, beta: np.ndarray) -> None:
        """Variables, strictly inside their bounds, and the weights that belong to them."""
        a = np.clip(np.abs(beta), _INSIDE * self.C, (1 - _INSIDE) * self.C)
        self.table[:, 3] = a
        self.state[TOTAL] = float(self.beta.sum())
        self.w[:] = self.exact.combine(self.beta)


def _visit(rows: FeatureRows, order: np.ndarray, *rest: Any) -> None:
    from . import logistic_loops as loops

    phi: Any = rows.phi
    if hasattr(phi, "indptr"):
        loops.sweep_sparse(phi.data, rows._columns, phi.indptr, order, *rest)  # type: ignore[attr-defined]
    else:
        loops.sweep_dense(phi, order, *rest)


def _best_constant(F: np.ndarray, y: np.ndarray, C: np.ndarray, b: float) -> float:
    """argmin_b sum_i C_i log(1 + exp(-y_i (F_i + b))), by Newton's method between bounds."""
    low, high = -float(np.max(np.abs(F))) - 40.0, float(np.max(np.abs(F))) + 40.0
    b = min(max(b, low), high)
    for _ in range(_NEWTON):
        p = expit(-y * (F + b))
        slope, curvature = -float(C @ (y * p)), float(C @ (p * (1 - p)))
        low, high = (b, high) if slope < 0 else (low, b)
        if abs(slope) <= 1e-15 * float(C.sum()) or high - low <= 1e-15 * max(abs(b), 1.0):
            break
        step = b - slope / curvature if curvature > 0 else np.inf
        b = step if low < step < high else (low + high) / 2
    return b
