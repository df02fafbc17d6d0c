r"""Sparse expansions: any smooth loss with the sum of absolute coefficients.

.. math:: \min_{c, b} \sum_i w_i L(y_i, (K c)_i + b) + \alpha \sum_j |c_j|

This is the lasso over the functions k(x_j, .): most coefficients are zero. Each step replaces the
loss by a parabola for each sample, minimises over the coefficients that are not zero or should not
be, and goes as far along that way as the objective falls. These parabolas are minimised by sweeps
over the coefficients and, as columns of K are nearly dependent, by linear systems for those that
have settled on a sign.

Slopes u of the loss, scaled until \|K u\| is at most alpha in each entry, are a feasible point of
the dual problem :math:`-\sum_i w_i L^*(y_i, u_i / w_i)`: the certificate.

References: Tibshirani, *Regression shrinkage and selection via the lasso*, 1996; Roth, *The
generalized LASSO*, 2004; Friedman, Hastie & Tibshirani, *Regularization paths for generalized
linear models via coordinate descent*, 2010.
"""

from __future__ import annotations

import time

import numpy as np
from scipy.optimize import brentq

from ..gram.base import Gram
from ..losses.base import Loss
from .lasso_loops import sweep
from .representer import MachineSolution, Problem

_STEPS = 500
_IDLE, _PROGRESS = 5, 1e-7  # steps in a row that lower the objective by less than this part of it
_SWEEPS, _ROUNDS = 30, 50  # over the coefficients between two linear systems; of both
_RIDGE = 1e-11  # of the mean diagonal, for columns that depend on each other
_EXACT = 1e-8  # of alpha: what slopes may be off by
_GROWTH = 2  # by how much the active coefficients grow at most, and
_MORE = 50  # so many beside that
_FLOOR = 1e-3  # of the largest curvature, below which none is taken
_HALVES = 40


def solve_lasso(
    gram: Gram,
    y: np.ndarray,
    loss: Loss,
    alpha: float,
    weights: np.ndarray | None = None,
    *,
    intercept: bool = True,
    tol: float = 1e-5,
    max_iter: int | None = None,
) -> MachineSolution:
    """Minimise sum_i w_i L(y_i, (K c)_i + b) + alpha |c|_1.

    Parameters
    ----------
    gram, y, loss, weights, intercept
        As for :func:`mercer.solvers.representer.solve_representer`; the loss is smooth, and K is
        formed.
    alpha : float
        Strength of the penalty, > 0.
    tol : float
        The duality gap, relative to the loss of the best constant, at which to stop.
    max_iter : int, optional
        The maximum number of steps; 500 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.losses import Squared
    >>> X = np.linspace(0, 6, 60)
    >>> found = solve_lasso(Gaussian().gram(X), np.sin(X), Squared(), 0.5)
    >>> found.converged, bool(np.count_nonzero(found.coef) < 10)
    (True, True)
    """
    begin = time.perf_counter()
    problem = Problem(gram, y, loss, alpha, weights, intercept)
    n = len(gram)
    K = np.ascontiguousarray(gram.dense(f"the basis functions of {n} samples"), dtype=np.float64)
    c, F = np.zeros(n), np.broadcast_to(problem.b, (n, 1)).copy()
    b = float(problem.b[0])
    goal = tol * problem.size
    value, gap, steps, idle, least = problem.loss_at(F), np.inf, 0, 0, np.inf
    while steps < (max_iter or _STEPS) and idle < _IDLE:
        idle = 0 if value < least - _PROGRESS * abs(value) else idle + 1
        least, steps = min(least, value), steps + 1
        u = problem.slopes(F)[:, 0]
        slopes = K @ u
        gap = value - _dual(problem, u, slopes, alpha)
        if gap <= goal:
            break
        h = problem.w[:, 0] * loss.curvature(problem.y, F)[:, 0]
        h = np.maximum(h, _FLOOR * (h.max() or 1.0))
        active = _active(c, slopes, alpha)
        d = c.copy()
        d[active], e = _parabola(K[active].T, h, u, c[active], alpha, intercept)
        move = K @ (d - c) + e
        t = _length(problem, F[:, 0], move, c, d, alpha, value)
        if t == 0:
            break
        c, b, F = c + t * (d - c), b + t * e, F + t * move[:, None]
        value = problem.loss_at(F) + alpha * float(np.abs(c).sum())
        if intercept:  # the best one, so that slopes add up to 0
            shift = _centred(problem, F)
            b, F = b + shift, F + shift
            value = problem.loss_at(F) + alpha * float(np.abs(c).sum())
    converged = bool(gap <= 1.01 * goal)
    message = (
        "optimal"
        if converged
        else f"stopped after {steps} steps with a gap of {gap:.1e}, where tol={tol:g} was "
        "requested; raise alpha, tol or max_iter, or scale the data."
    )
    stats = {
        "method": "lasso", "objective": value, "gap": gap, "violation": gap / goal * tol,
        "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    return MachineSolution(c[:, None], converged, steps, message, stats, np.array([b]))


def _parabola(
    A: np.ndarray, h: np.ndarray, u: np.ndarray, c: np.ndarray, alpha: float, intercept: bool
) -> tuple[np.ndarray, float]:
    """argmin_v,e of u'm + m'hm / 2 + alpha |v|_1 with the move m = A (v - c) + e of the scores."""
    mean = (h @ A) / h.sum() if intercept else np.zeros(A.shape[1])
    centred = A - mean
    H = centred.T @ (h[:, None] * centred)
    p = H @ c - centred.T @ u
    v, g = c.copy(), H @ c
    for _ in range(_ROUNDS):
        if sweep(H, p, v, g, alpha, _EXACT * alpha, _SWEEPS) <= _EXACT * alpha:
            break
        some = np.flatnonzero(v)
        if not len(some):
            continue
        signs = np.sign(v[some])
        part = H[np.ix_(some, some)]
        part.flat[:: len(some) + 1] += _RIDGE * float(np.trace(part)) / len(some)
        slope = p[some] - alpha * signs - g[some]
        aim = v[some] + np.linalg.solve(part, slope)  # downhill in any case
        with np.errstate(divide="ignore", invalid="ignore"):
            crossing = np.where(aim * signs < 0, v[some] / (v[some] - aim), 1.0)
        t = float(crossing.min())  # up to where the first of them changes its sign
        new = v[some] + t * (aim - v[some])
        new[crossing <= t * (t < 1)] = 0.0
        v[some] = new
        g = H @ v
    e = -float(u.sum()) / h.sum() - float(mean @ (v - c)) if intercept else 0.0
    return v, e


def _dual(problem: Problem, u: np.ndarray, slopes: np.ndarray, alpha: float) -> float:
    """The dual value of slopes, scaled into its domain; -inf where the conjugate is not known."""
    used = problem.w[:, 0] > 0
    share = min(1.0, alpha / max(float(np.abs(slopes).max()), 1e-300))
    conjugate = problem.loss.conjugate(problem.y[used], share * u[used, None] / problem.w[used])
    if conjugate is None:
        return -np.inf
    return -float(problem.w[used, 0] @ conjugate.reshape(-1))


def _active(c: np.ndarray, slopes: np.ndarray, alpha: float) -> np.ndarray:
    """Coefficients that are not zero, and those that should not be, the worst first."""
    excess = np.abs(slopes) - alpha
    some = np.flatnonzero((c == 0) & (excess > 0))
    most = _GROWTH * int(np.count_nonzero(c)) + _MORE
    some = some[np.argsort(-excess[some], kind="stable")[:most]]
    return np.sort(np.concatenate([np.flatnonzero(c), some]))


def _length(
    problem: Problem, F: np.ndarray, move: np.ndarray, c: np.ndarray, d: np.ndarray,
    alpha: float, value: float,
) -> float:  # fmt: skip
    """How far to go: the whole way, or halves of it until the objective falls."""
    t = 1.0
    for _ in range(_HALVES):
        there = problem.loss_at((F + t * move)[:, None])
        there += alpha * float(np.abs(c + t * (d - c)).sum())
        if there < value:
            return t
        t /= 2
    return 0.0


def _centred(problem: Problem, F: np.ndarray) -> float:
    """The shift of all scores for which the slopes of the loss add up to 0."""

    def total(shift: float) -> float:
        return float(problem.slopes(F + shift).sum())

    here = total(0.0)
    if here == 0:
        return 0.0
    step = 1e-3 * problem.spread * (-1.0 if here > 0 else 1.0)
    for _ in range(60):
        there = total(step)
        if there * here <= 0:
            ends = sorted((0.0, step))
            return float(brentq(total, *ends, xtol=1e-15 * problem.spread, disp=False))
        step *= 2
    return 0.0
