r"""Weights of several kernels: a convex function of them, and a bound of what is left to gain.

.. math:: \min_{\eta \ge 0,\; \|\eta\|_p \le 1} J(\eta), \qquad
          J(\eta) = \min_{f, b} \sum_i w_i L(y_i, f(x_i) + b) + \tfrac{\alpha}{2} \|f\|_\eta^2

with the norm of the kernel sum_m eta_m k_m. J is a maximum of functions that are affine in eta: any
feasible point c of the dual problem at any eta gives one, and all of these are lower bounds of J
everywhere,

.. math:: J(\eta) \ge a - g'\eta, \qquad g_m = \tfrac{\alpha}{2} c'K_m c.

For p = 1 the weights are those of the level method: their lower bound is the minimum of the largest
of all affine functions so far, a linear programme, and the next weights are the nearest ones at
which none of them exceeds a level between both bounds, a least-distance problem. For p > 1 they
are the best ones for the parts of f that were found last, which has a closed form.

References: Bach, Lanckriet & Jordan, *Multiple kernel learning, conic duality, and the SMO
algorithm*, ICML 2004; Xu, Jin, King & Lyu, *An extended level method for efficient multiple kernel
learning*, NIPS 2008; Kloft, Brefeld, Sonnenburg & Zien, *lp-norm multiple kernel learning*, JMLR
2011; Lawson & Hanson, *Solving Least Squares Problems*, 1974, chapter 23.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog, nnls

from ..exceptions import ConvergenceWarning, warn

_LEVEL = 0.6  # of the way from the lower to the upper bound
_SMALL = 1e-2  # weights, as a part of the largest one, without which the sum is tried
_ZERO = 1e-9


class Cut(NamedTuple):
    """Bounds of J at some weights: an upper bound of its value, and an affine lower bound."""

    value: float
    offset: float
    slope: np.ndarray  # J(eta) >= offset - slope @ eta


Oracle = Callable[[np.ndarray], Cut]


@dataclass
class KernelWeights:
    """Weights with a certificate.

    Attributes
    ----------
    weights : ndarray of shape (M,)
        eta.
    objective, lower_bound : float
        J(eta), and what it is at least for any weights.
    converged : bool
        Whether their difference is as small as requested.
    n_iter : int
        How many problems with given weights were solved.
    history : list of (float, float)
        Both bounds after each of them.
    """

    weights: np.ndarray
    objective: float
    lower_bound: float
    converged: bool
    n_iter: int
    message: str
    history: list[tuple[float, float]] = field(default_factory=list)

    @property
    def gap(self) -> float:
        """By how much other weights can lower the objective at most, relative to it."""
        left = max(0.0, self.objective - self.lower_bound)
        return float(left / max(abs(self.objective), 1e-300))

    def warn(self) -> KernelWeights:
        """Warn if the weights are not as accurate as requested."""
        if not self.converged:
            warn(self.message, ConvergenceWarning)
        return self


def best_weights(
    oracle: Oracle, count: int, p: float = 1.0, *, tol: float = 1e-3, max_iter: int = 200
) -> KernelWeights:
    """The weights with the least J among those of norm at most 1.

    Parameters
    ----------
    oracle : callable
        Solves the problem for given weights.
    count : int
        The number of kernels.
    p : float
        Which norm: 1 gives sparse weights, infinity those that are all 1.
    tol : float
        The gap at which to stop, relative to the objective.
    max_iter : int
        The most problems to be solved.

    Examples
    --------
    The largest of affine functions -1 - eta_0 and -1.5 + eta_0 is least where they meet:

    >>> import numpy as np
    >>> def oracle(eta):
    ...     values = [-1 - eta[0], -1.5 + eta[0]]
    ...     if values[0] > values[1]:
    ...         return Cut(values[0], -1.0, np.array([1.0, 0.0]))
    ...     return Cut(values[1], -0.5, np.array([0.0, 1.0]))  # as eta_0 + eta_1 = 1
    >>> best_weights(oracle, 2).weights.round(2)
    array([0.25, 0.75])
    """
    search = _Search(oracle, count, p, tol, max_iter)
    if count > 1 and p == 1:
        search.by_levels()
        search.without_small()
    elif count > 1 and np.isfinite(p):
        search.by_updates()
    else:
        search.visit(np.ones(count))
    return search.result()


class _Search:
    def __init__(self, oracle: Oracle, count: int, p: float, tol: float, max_iter: int) -> None:
        self.oracle, self.count, self.p = oracle, count, p
        self.tol, self.max_iter = tol, max_iter
        self.upper, self.lower = np.inf, -np.inf
        self.best = np.full(count, count ** (-1 / p))
        self.cuts: list[Cut] = []
        self.history: list[tuple[float, float]] = []
        self.unit = 0.0  # a power of two: of the objective, whose square may not be a number

    # ---- the two ways ----------------------------------------------------------------------
    def by_levels(self) -> None:
        eta = self.best
        self.visit(eta)
        while not self.settled and self.left:
            level = self.lower + _LEVEL * (self.upper - self.lower)
            offsets, slopes = self.stacked
            eta = _nearest(eta, slopes, offsets - level)
            self.visit(eta)

    def by_updates(self) -> None:
        eta, p = self.best, self.p
        self.visit(eta)
        while not self.settled and self.left:
            g = self.cuts[-1].slope
            norms = eta * np.sqrt(np.maximum(g, 0.0))  # of the parts of f, up to a factor
            if not norms.any():
                return
            eta = (norms / norms.max()) ** (2 / (p + 1))
            eta = eta / np.linalg.norm(eta, p)
            self.visit(eta)

    def without_small(self) -> None:
        """Leave small weights out, where the gap stays small."""
        kept = np.where(self.best >= _SMALL * self.best.max(), self.best, 0.0)
        if not self.settled or np.array_equal(kept > 0, self.best > 0):
            return
        eta = kept / kept.sum()
        cut = self._solved(eta)
        self.cuts.append(cut)
        if cut.value - self.lower <= self.tol * abs(cut.value):
            self.upper, self.best = cut.value, eta
        self.history.append((self.upper, self.lower))

    # ---- bounds ----------------------------------------------------------------------------
    def _solved(self, eta: np.ndarray) -> Cut:
        """What is known of J at these weights, in a unit in which it is about 1 at the first."""
        value, offset, slope = self.oracle(eta)
        if not self.unit:
            self.unit = 2.0 ** np.frexp(max(abs(value), np.abs(slope).max(initial=0.0)))[1] or 1.0
        return Cut(value / self.unit, offset / self.unit, slope / self.unit)

    def visit(self, eta: np.ndarray) -> None:
        """Solve the problem for these weights, and add the resulting bound for all others."""
        cut = self._solved(eta)
        self.cuts.append(cut)
        if cut.value < self.upper:
            self.upper, self.best = cut.value, eta
        self.lower = max(self.lower, self.bound())
        self.history.append((self.upper, self.lower))

    def bound(self) -> float:
        """The least value of the largest affine function, for p = 1; of the last one else."""
        if self.p > 1 or self.count == 1:
            dual = 1.0 if np.isinf(self.p) or self.count == 1 else self.p / (self.p - 1)
            return self.cuts[-1].offset - float(np.linalg.norm(self.cuts[-1].slope, dual))
        offsets, slopes = self.stacked
        unit = float(np.abs(slopes).max()) or 1.0
        # variables (eta, v): minimise v with (offsets - slopes @ eta - offsets[0]) / unit <= v
        A = np.column_stack([-slopes / unit, -np.ones(len(slopes))])
        found = linprog(
            np.append(np.zeros(self.count), 1.0),
            A_ub=A,
            b_ub=(offsets[0] - offsets) / unit,
            A_eq=np.append(np.ones(self.count), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * self.count + [(None, None)],
        )
        if found.x is None:
            return -np.inf
        # by duality, a mixture of the affine functions: exact, whatever the solver's tolerance is
        share = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0)
        if not share.sum() > 0:
            return -np.inf
        share /= share.sum()
        return float(share @ offsets - np.max(share @ slopes))

    @property
    def stacked(self) -> tuple[np.ndarray, np.ndarray]:
        return np.array([c.offset for c in self.cuts]), np.stack([c.slope for c in self.cuts])

    @property
    def settled(self) -> bool:
        return self.upper - self.lower <= self.tol * abs(self.upper)

    @property
    def left(self) -> bool:
        return len(self.cuts) < self.max_iter

    def _in_units(self, bounds: list[tuple[float, float]]) -> list[tuple[float, float]]:
        return [(upper * self.unit, lower * self.unit) for upper, lower in bounds]

    def result(self) -> KernelWeights:
        (upper, lower), *_ = self._in_units([(self.upper, self.lower)])
        history = self._in_units(self.history)
        found = KernelWeights(
            self.best, upper, lower, self.settled, len(self.cuts), "optimal", history
        )
        if not found.converged:
            found.message = (
                f"the weights of the kernels were not found: after {found.n_iter} problems the "
                f"gap is {found.gap:.1e} of the objective, where tol={self.tol:g} was requested; "
                "raise max_iter or alpha, or drop similar kernels."
            )
        return found


def _nearest(eta: np.ndarray, slopes: np.ndarray, excess: np.ndarray) -> np.ndarray:
    """The point of the simplex nearest to eta with slopes @ x >= excess: by least distances.

    Lawson and Hanson: minimise |z| with G z >= h by non-negative least squares. z are coordinates
    in the plane of all x with the sum of those of eta.
    """
    M = len(eta)
    plane = np.linalg.qr(np.column_stack([np.ones(M), np.eye(M)[:, : M - 1]]))[0][:, 1:]
    G = np.vstack([plane, slopes @ plane])
    h = np.concatenate([-eta, excess - slopes @ eta])
    size = np.linalg.norm(G, axis=1)
    size[size <= _ZERO * size.max()] = np.inf  # a function that is the same everywhere
    G, h = G / size[:, None], h / size
    E = np.vstack([G.T, h])
    target = np.append(np.zeros(M - 1), 1.0)
    try:
        residual = E @ nnls(E, target, maxiter=50 * E.shape[1])[0] - target
    except RuntimeError:  # it did not end
        residual = np.append(np.zeros(M - 1), -1.0)
    if not abs(residual[-1]) > _ZERO:  # rounding only: there is no such point
        return eta
    x = np.maximum(eta - plane @ (residual[:-1] / residual[-1]), 0.0)
    x[x < _ZERO] = 0.0
    return x / x.sum()
