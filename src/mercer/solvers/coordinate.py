r"""Dual coordinate descent in the space of explicit features.

.. math:: \min_\beta \tfrac12 \beta' (\Phi\Phi' + R) \beta - t'\beta + \epsilon \|\beta\|_1
          \quad\text{subject to}\quad l \le \beta \le u, \; \sum_i \beta_i = 0

The slope of one variable needs only w = Phi' beta, so a step costs as much as reading one row of
Phi, and a sweep as much as reading all of it; no kernel entry is ever computed, and besides the
features, memory for only a few vectors is needed. The diagonal R >= 0 is that of squared losses.

The intercept of a machine is the multiplier of the sum, which single steps cannot keep: the method
of multipliers lets it go, at the price of a penalty that acts as one more constant feature, and
moves the multiplier after each sweep. Without an intercept there is neither.

Variables are visited in random order. Those at a bound, with a slope that holds them there by more
than any variable in the last sweep was off its optimum, are set aside. Most others rest at a bound,
too, long before the rest are optimal: between two sweeps over all in view there are up to ten over
the variables that moved in the last one. Each visit knows by how much its variable falls short of
the best value for its slope, and the sum of that is an estimate of the duality gap at no cost. When
it is small enough, the point is made feasible, w and all slopes are recomputed in double
precision from the features as they were given, the best intercept is found by sorting, and the gap
is certain. If it is still too large, all variables come back.

References: Hsieh, Chang, Lin, Keerthi & Sundararajan, *A dual coordinate descent method for
large-scale linear SVM*, ICML 2008; Ho & Lin, *Large-scale linear support vector regression*, JMLR
2012.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gram.tiles import check_cancelled, slices
from .box import BoxProblem, BoxSolution, best_multiplier, slopes
from .coordinate_loops import (
    BETA,
    GAP,
    LEVEL,
    LINEAR,
    LOWER,
    RIDGE,
    SQUARE,
    TARGET,
    TOTAL,
    UPPER,
    WORST,
    gap_terms,
)
from .feature_rows import FeatureRows
from .watch import Watch

_FINE = 1e-6  # gaps from here on are sought with features in single precision
_STEPS, _EACH = 2 * 10**7, 1000  # steps at most, in all or per variable, whichever is more
_MOST_INNER = 10  # sweeps over the variables that moved, between two over all in view,
_SETTLED = 0.1  # which end when the gap of these is this share of that of all
_OVERHEAD = 1000  # a sweep counts as a visit of one in so many variables at least
_NUMBERS = 10**8  # of features, read between two looks at whether to go on
_PENALTY = 0.1  # of the sum of all variables, in units of a usual k(x, x)
_FAILED = 12  # times that an estimated gap may prove too small, each time half of it is asked for


@dataclass(frozen=True)
class Certified:
    """A feasible point, with all that certifies it."""

    beta: np.ndarray
    w: np.ndarray
    gradient: np.ndarray
    multiplier: float
    dual: float
    gap: float


def solve_coordinate(
    phi: Any,
    problem: BoxProblem,
    *,
    ridge: np.ndarray | None = None,
    intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int | None = None,
    workers: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> BoxSolution:
    """Solve the programme with K = Phi Phi' + diag(ridge).

    Parameters
    ----------
    phi : array or CSR matrix of shape (n, M)
        The features, in single or double precision.
    problem : BoxProblem
        Targets, bounds and penalty, without groups. Infinite bounds need a ridge there.
    ridge : array of shape (n,), optional
        What is added to the diagonal of K.
    intercept : bool
        Do the variables add up to zero?
    tol : float
        The duality gap at which to stop, relative to the primal value.
    max_iter : int, optional
        Maximum number of steps of one variable; by default 2 * 10^7, or 1000 per variable if that
        is more.
    workers : int, optional
        Threads of the products; sweeps have one.
    seed : int
        Of the order in which variables are visited.
    watch : Watch, optional
        Told the estimated gap after each sweep over all variables in view.
    """
    with watch or Watch() as looked_at:
        descent = _BoxDescent(phi, problem, ridge, intercept, tol, workers, seed)
        return descent.run(max_iter, looked_at)


class Descent:
    """Features, rounded where that will do, the order of visits, and the price of the sum."""

    def __init__(
        self, phi: Any, intercept: bool, tol: float, workers: int | None, seed: int
    ) -> None:
        self.exact = FeatureRows.of(phi, workers)
        self.squares, self.w = self.exact.squares(), np.zeros(phi.shape[1])
        self.rows = self.exact.rounded(self.squares) if tol >= _FINE else self.exact
        self.intercept, self.tol, self.rng = intercept, tol, np.random.default_rng(seed)
        # the median: an outlier would make all steps short
        usual = float(np.median(self.squares)) or float(self.squares.mean()) or 1.0
        self.penalty = _PENALTY * usual if intercept else 0.0

    def parts(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Parts of an order, between which the solver may be interrupted."""
        each = max(1, _NUMBERS // max(1, self.rows.values.size // self.rows.shape[0]))
        for at in slices(len(order), each):
            check_cancelled()
            yield order[at]


class _BoxDescent(Descent):
    def __init__(self, phi: Any, problem: BoxProblem, ridge: np.ndarray | None, *how: Any) -> None:
        super().__init__(phi, *how)
        n = len(problem)
        self.problem, self.ridge = problem, np.zeros(n) if ridge is None else ridge
        self.table = _lines(n)
        columns = (
            (TARGET, problem.target), (LOWER, problem.lower), (UPPER, problem.upper),
            (RIDGE, self.ridge), (SQUARE, self.squares), (BETA, problem.start),
        )  # fmt: skip
        for column, values in columns:
            self.table[:, column] = values
        self.rows.locate(self.table)
        self.state = np.zeros(5)
        self.steps = self.sweeps = 0
        self._go_from(problem.start)

    @property
    def beta(self) -> np.ndarray:
        return self.table[:, BETA]

    def run(self, max_iter: int | None, watch: Watch) -> BoxSolution:
        begin, n = time.perf_counter(), len(self.beta)
        budget = max(_STEPS, _EACH * n) if max_iter is None else max_iter
        active, threshold, goal, failed = np.arange(n), np.inf, self.tol, 0
        best = self._certified()  # no better one may be found
        p = self.problem
        known = watch.resume("coordinate", p.target, p.lower, p.upper, self.squares)
        if known is not None:
            self.sweeps, state = known
            self.state[LEVEL] = float(state["level"][0])
            self._go_from(state["beta"])
        while True:
            before = self.beta.copy()
            active = self._sweep(self.rng.permutation(active), threshold)
            self.sweeps += 1
            threshold = float(self.state[WORST]) or np.inf
            gap = float(self.state[GAP]) + self.penalty * float(self.state[TOTAL]) ** 2
            if not np.isfinite(gap):
                raise ValueError("sums over the features are not finite; scale the data.")
            value = float(self.state[LINEAR] - np.square(self.w).sum() / 2)
            primal = value + gap
            state = {"beta": self.beta, "w": self.w, "level": self.state[LEVEL : LEVEL + 1]}
            stop = watch(self.sweeps, gap / primal if primal > 0 else 0.0, self.tol, state)
            if not (gap <= goal * primal or stop or len(active) == 0 or self.steps >= budget):
                moved = active[self.beta[active] != before[active]]
                self._refine(moved, max(_SETTLED * gap, goal * primal / 2), budget)
                continue
            if watch.best is not None:  # of samples held out
                self._go_from(watch.best["beta"])
            point = self._certified()
            best = point if point.gap < best.gap or watch.best is not None else best
            converged = best.gap <= self.tol * (best.dual + best.gap)
            if converged or stop or self.steps >= budget:
                break
            failed, goal = failed + 1, goal / 2
            if failed >= _FAILED:
                if self.rows is self.exact:
                    break
                self.rows, failed, goal = self.exact, 0, self.tol  # rounding was in the way
                self.rows.locate(self.table)
            self._go_from(point.beta)
            active = np.arange(n)
        violation = violation_of(self.problem, best, self.intercept)
        message = "optimal"
        if not converged:
            why = watch.stopped or f"stopped after {self.steps} steps ({self.sweeps} sweeps)"
            message = (
                f"coordinate descent: {why}, with a duality gap of "
                f"{best.gap / max(best.dual + best.gap, 1e-300):.1e} of the objective where "
                f"tol={self.tol:g} was requested; lower C (raise alpha), raise tol or max_iter, "
                "or scale the data."
            )
        stats = {"sweeps": self.sweeps, "gap": best.gap, "seconds": time.perf_counter() - begin}
        return BoxSolution(
            best.beta, best.gradient, violation, converged, self.steps, message, stats,
            best.multiplier,
        )  # fmt: skip

    def _refine(self, moving: np.ndarray, goal: float, budget: int) -> None:
        """Sweeps over the variables that moved in the last one, until their gap is small."""
        for _ in range(_MOST_INNER):
            order = self.rng.permutation(moving)
            before = self.beta[order]
            self._sweep(order, np.inf)
            moving = order[self.beta[order] != before]
            if self.state[GAP] <= goal or not len(moving) or self.steps >= budget:
                break

    def _sweep(self, order: np.ndarray, threshold: float) -> np.ndarray:
        """One sweep in this order; the variables that stay in view."""
        self.state[[WORST, GAP]] = 0.0
        kept = []
        for part in self.parts(order):
            count = self.rows.sweep(
                part, self.table, float(self.problem.epsilon), self.penalty, threshold, self.w,
                self.state,
            )  # fmt: skip
            kept.append(part[:count])
        self.state[LEVEL] += self.penalty * self.state[TOTAL]
        self.steps += max(len(order), len(self.beta) // _OVERHEAD)
        return np.concatenate(kept)

    def _certified(self) -> Certified:
        p, beta = self.problem, self.beta.copy()
        if self.intercept:
            beta = balanced(beta, p.lower, p.upper)
        return certify(self.exact, p, beta, self.intercept, self.ridge)

    def _go_from(self, beta: np.ndarray) -> None:
        self.beta[:], self.state[TOTAL] = beta, beta.sum()
        self.state[LINEAR] = _linear(self.problem, beta, self.ridge)
        self.w[:] = self.exact.combine(beta) if beta.any() else 0.0


def certify(
    rows: FeatureRows,
    problem: BoxProblem,
    beta: np.ndarray,
    intercept: bool = True,
    ridge: np.ndarray | None = None,
) -> Certified:
    """A feasible point with slopes, the best multiplier and the gap, in double precision."""
    p, ridge = problem, np.zeros(len(beta)) if ridge is None else ridge
    w = rows.combine(beta) if beta.any() else np.zeros(rows.shape[1])
    g = (rows.scores(w) if w.any() else 0.0) - p.target
    m = best_multiplier(p, g, ridge) if intercept else 0.0
    gap = gap_terms(g - m, beta, p.lower, p.upper, float(p.epsilon), ridge)
    return Certified(beta, w, g + ridge * beta, m, _dual_value(p, beta, w, ridge), float(gap))


def violation_of(problem: BoxProblem, point: Certified, intercept: bool) -> float:
    """The largest violation of optimality at a point."""
    rise, fall = slopes(problem, point.beta, point.gradient)
    low, high = rise.min(), fall.max()
    return float(high - low if intercept else max(high, -low, 0.0))


def _dual_value(problem: BoxProblem, beta: np.ndarray, w: np.ndarray, ridge: np.ndarray) -> float:
    return _linear(problem, beta, ridge) - float(w @ w) / 2


def _linear(problem: BoxProblem, beta: np.ndarray, ridge: np.ndarray) -> float:
    """The part of the dual objective that does not depend on the features."""
    linear = beta @ problem.target - problem.epsilon * np.abs(beta).sum()
    return float(linear - ridge @ beta**2 / 2)


def balanced(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """beta moved within its bounds so that it sums to zero: free variables first."""
    excess = beta.sum()
    for candidates in ((beta > lower) & (beta < upper), np.ones(len(beta), bool)):
        room = np.where(candidates, beta - lower if excess > 0 else upper - beta, 0.0)
        room = np.minimum(room, abs(excess))
        total = room.sum()
        if total > 0:
            share = min(1.0, abs(excess) / total)
            beta = beta - np.sign(excess) * share * room
            excess = beta.sum()
        if abs(excess) <= 1e-12 * max(1.0, np.abs(beta).sum()):
            break
    return np.clip(beta, lower, upper)


def _lines(n: int) -> np.ndarray:
    """Zeros of shape (n, 8), each row of which is one line of the processor's cache."""
    memory = np.zeros(8 * n + 8)
    skipped = (-memory.ctypes.data % 64) // 8
    return memory[skipped : skipped + 8 * n].reshape(n, 8)
