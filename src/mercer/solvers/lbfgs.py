"""Many smooth functions minimised at once: L-BFGS on all rows of an array, without a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_MEMORY = 8  # pairs of steps and gradient changes that are kept
_DECREASE, _CURVATURE = 1e-4, 0.9
_HALVINGS = 40
_ROUNDING = 1e-14  # relative change of a value that may be rounding

Objective = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass
class Minima:
    """Where each row ended, its value there, whether it converged, and after how many steps."""

    x: np.ndarray
    value: np.ndarray
    converged: np.ndarray
    n_iter: np.ndarray


def minimise_rows(
    objective: Objective,
    X: np.ndarray,
    *,
    scale: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> Minima:
    """Minimise f_i(x_i) for every row i, by L-BFGS with a line search of its own for each.

    Steps satisfy the weak Wolfe conditions (bisection), so curvature is always positive. A row
    ends when ``scale ||grad|| <= tol max(1, |f|)``, or when no step lowers its value by more than
    rounding; values of infinity mark the outside a domain.

    Parameters
    ----------
    objective : callable
        From rows of X and their numbers to values, shape (m,), and gradients, shape (m, d).
    X : array of shape (n, d)
        The starting points; values there have to be finite.
    scale : float
        A typical length in the space of x: the first step is a tenth of it at most.
    tol, max_iter
        When to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.lbfgs import minimise_rows
    >>> goal = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> def distances(X, rows):
    ...     gap = X - goal[rows]
    ...     return np.sum(gap**2, axis=1), 2 * gap
    >>> minimise_rows(distances, np.zeros((2, 2))).x.round(6)
    array([[1., 2.],
           [3., 4.]])

    References
    ----------
    Lewis & Overton, *Nonsmooth optimization via quasi-Newton methods*, Math. Programming 2013.
    """
    X = np.array(X, dtype=np.float64)
    n, d = X.shape
    everyone = np.arange(n)
    f, g = objective(X, everyone)
    steps, changes = np.zeros((_MEMORY, n, d)), np.zeros((_MEMORY, n, d))
    weights = np.zeros((_MEMORY, n))  # 1 / <step, change>, and 0 where there is none yet
    p = _direction(g, steps, changes, weights, scale)
    t, low, high = np.ones(n), np.zeros(n), np.full(n, np.inf)
    tried, n_iter = np.zeros(n, dtype=int), np.zeros(n, dtype=int)
    converged = _flat(f, g, scale, tol)
    rows = np.flatnonzero(~converged)
    while len(rows):
        trial = X[rows] + t[rows, None] * p[rows]
        value, gradient = objective(trial, rows)
        descent = np.einsum("ij,ij->i", g[rows], p[rows])
        with np.errstate(invalid="ignore"):
            lower = value <= f[rows] + _DECREASE * t[rows] * descent
            level = np.einsum("ij,ij->i", gradient, p[rows]) >= _CURVATURE * descent
        taken = lower & level
        _shrink(rows[~lower], t, low, high)
        _grow(rows[lower & ~level], t, low, high)
        tried[rows] += 1
        stuck = tried[rows] >= _HALVINGS
        change = np.abs(value - f[rows]) <= _ROUNDING * np.maximum(1, np.abs(f[rows]))
        best = taken | (stuck & lower)  # a step that lowers the value is never thrown away
        moved = rows[best]
        step, turn = trial[best] - X[moved], gradient[best] - g[moved]
        X[moved], f[moved], g[moved] = trial[best], value[best], gradient[best]
        _remember(moved, step, turn, steps, changes, weights)
        some = steps[:, moved], changes[:, moved], weights[:, moved]
        p[moved] = _direction(g[moved], *some, scale)
        t[moved], low[moved], high[moved], tried[moved] = 1.0, 0.0, np.inf, 0
        n_iter[moved] += 1
        ended = _flat(f[rows], g[rows], scale, tol) | (~lower & (stuck | change))
        converged[rows[ended]] = True
        rows = rows[~ended & (n_iter[rows] < max_iter)]
    return Minima(X, f, converged, n_iter)


def _direction(
    g: np.ndarray, steps: np.ndarray, changes: np.ndarray, weights: np.ndarray, scale: float
) -> np.ndarray:
    """-H g by the two-loop recursion; the first step is at most a tenth of the scale long."""
    q, inner = g.copy(), []
    for s, y, w in zip(steps, changes, weights, strict=True):  # the latest pair comes first
        a = w * np.einsum("ij,ij->i", s, q)
        q -= a[:, None] * y
        inner.append(a)
    lengths = np.einsum("ij,ij->i", changes[0], changes[0])
    short = np.minimum(1.0, 0.1 * scale / np.maximum(np.linalg.norm(g, axis=1), 1e-300))
    with np.errstate(divide="ignore", invalid="ignore"):
        q *= np.where(weights[0] > 0, 1 / (weights[0] * lengths), short)[:, None]
    for s, y, w, a in list(zip(steps, changes, weights, inner, strict=True))[::-1]:
        b = w * np.einsum("ij,ij->i", y, q)
        q += (a - b)[:, None] * s
    return -q


def _remember(
    rows: np.ndarray,
    step: np.ndarray,
    turn: np.ndarray,
    steps: np.ndarray,
    changes: np.ndarray,
    weights: np.ndarray,
) -> None:
    product = np.einsum("ij,ij->i", step, turn)
    sizes = np.linalg.norm(step, axis=1) * np.linalg.norm(turn, axis=1)
    curved = product > 1e-12 * sizes
    rows, step, turn, product = rows[curved], step[curved], turn[curved], product[curved]
    for kept, new in ((steps, step), (changes, turn), (weights, 1 / product)):
        kept[1:, rows] = kept[:-1, rows]
        kept[0, rows] = new


def _flat(f: np.ndarray, g: np.ndarray, scale: float, tol: float) -> np.ndarray:
    return scale * np.linalg.norm(g, axis=1) <= tol * np.maximum(1, np.abs(f))


def _shrink(rows: np.ndarray, t: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    high[rows] = t[rows]
    t[rows] = (low[rows] + high[rows]) / 2


def _grow(rows: np.ndarray, t: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    low[rows] = t[rows]
    between = (low[rows] + high[rows]) / 2
    t[rows] = np.where(np.isfinite(high[rows]), between, 2 * low[rows])
