r"""Support vector machines by decomposition: one quadratic programme for the whole family.

.. math:: \min_\beta \tfrac12 \beta' K \beta - t'\beta + \epsilon \|\beta\|_1
          \quad\text{subject to}\quad l \le \beta \le u, \;
          \sum_{i \in g} \beta_i \text{ fixed for each group } g

===============  ==================  ===============  =========  ======================
problem          target t            bounds           epsilon    sums
===============  ==================  ===============  =========  ======================
classification   labels y = ±1       between 0, y C   0          0
regression       targets y           -C .. C          epsilon    0
novelty          0                   0 .. 1           0          nu n
nu-classifier    0                   between 0, y     0          ± nu n / 2 per class
===============  ==================  ===============  =========  ======================

Each round picks the variables that violate optimality most, fetches their kernel rows (one
matrix product, kept in a cache), solves the small problem on them to a tenth of its violation
by two-variable steps of second order, and applies the changes that are not zero to the gradient.
The working set grows from round to round: few rows are computed before it is known which ones
matter, and many variables are settled together once their rows are at hand.

Variables stuck at a bound are set aside (shrinking) and checked again, with their gradient
computed anew, before the solver stops. It stops when the violation of optimality is below tol.
Kernel rows may be rounded to single precision: before it stops, the gradient is probed in double
precision, and computed anew, to go on from there, if rounding has cost more than a tenth of tol.

It ends on any matrix. Two-variable steps are limited; a round that does not lower the objective is
idle, and after ten of these in a row the gradient is computed anew. Whenever that happens, the
objective computed with it must have fallen since the last time by more than its own rounding, or
the violation by a tenth. Rows that contradict the products with the same matrix (single precision
where it cancels, a function that is not symmetric) lead nowhere: then the solver returns the best
point it has been at, and says why. Values that are not finite are an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gram.rows import Product, RowGram
from ..gram.tiles import one_blas_thread
from .box import BoxProblem, BoxSolution
from .rows import RowCache
from .smo_loops import BIG, slopes, take_steps
from .smo_small import solve_small
from .working_set import WorkingSet

_DIRECT = 2500  # active variables up to which no block is put together
_GOAL = 0.1  # the part of the violation to which a round goes
_SHRINK_EVERY = 10  # rounds
_IDLE = 10  # rounds without progress after which the gradient is computed anew, or the end reached
_ROUNDING = 1e-15  # progress below this part of all progress is none
_FEWEST_FEATURES = 32  # up to which rows are sooner computed again than kept
_MANY = 16_000  # samples from which on that holds for all of the few
_REPEATS = 5  # changes of a variable from which on its row is kept nevertheless
_INNER = 100  # two-variable steps per variable of the working set and round
_ANEW = 30  # times that an inaccurate gradient is computed anew at most
_PROBES = 64  # entries of the gradient that are computed anew to see whether it is accurate
_STEPS, _EACH = 2 * 10**7, 1000  # steps at most, in all or per variable, whichever is more
_PROBE_EVERY = 30  # rounds
_SUMS = 1e-12  # rounding of the objective, as a part of the sum of all its terms in size
_PROGRESS = 0.9  # a violation has fallen if it is below this part of the lowest one before

_ROUNDED = ": no step makes a difference beyond rounding; raise tol, lower C, or scale the data."
_INACCURATE = (
    ": the kernel values are not accurate enough for the objective to fall any further; scale the "
    "data, lower C or raise tol, and check that the kernel is symmetric."
)
_NOT_FINITE = (
    "the kernel has values that are not finite, or so large that sums of them are not; scale the "
    "data, or normalise the kernel (kernel.normalize())."
)

Extremes = list[tuple[float, float]]  # the lowest rise and the highest fall of each group


@dataclass(frozen=True)
class _Audit:
    """A point, with its objective computed in double precision."""

    objective: float
    rounding: float  # of the objective
    violation: float
    beta: np.ndarray

    def beats(self, other: _Audit) -> bool:
        """Is the objective lower, or as low and the violation smaller?"""
        fallen, rounding = other.objective - self.objective, self.rounding + other.rounding
        nearer = self.violation < _PROGRESS * other.violation
        return fallen > rounding or (fallen >= -rounding and nearer)


def solve_box(
    K: RowGram,
    problem: BoxProblem,
    *,
    tol: float = 1e-3,
    cache: float = 200e6,
    max_iter: int | None = None,
    shrinking: bool = True,
    workers: int | None = None,
    watch: Callable[[float], None] | None = None,
) -> BoxSolution:
    """Solve the programme for a kernel given by its blocks.

    Parameters
    ----------
    K : RowGram
        The kernel matrix.
    problem : BoxProblem
        Targets, bounds, penalty and starting point (feasible).
    tol : float
        Largest violation of optimality allowed.
    cache : float
        Bytes for kernel rows.
    max_iter : int, optional
        Most two-variable steps; by default 2 * 10^7, or 1000 per variable if that is more.
    shrinking : bool
        Set variables aside that have settled at a bound.
    workers : int, optional
        Threads.
    watch : callable, optional
        Told the violation in each round.
    """
    if not np.isfinite(K.diagonal).all():
        raise ValueError(_NOT_FINITE)
    with one_blas_thread():
        K = K.centred() if problem.balanced else K
        found = _Decomposition(K, problem, tol, cache, shrinking, workers).run(max_iter, watch)
        found.gradient += K.level(found.beta)
        return found


class _Decomposition:
    def __init__(
        self,
        K: RowGram,
        problem: BoxProblem,
        tol: float,
        cache: float,
        shrinking: bool,
        workers: int | None,
    ) -> None:
        n = len(problem)
        self.K, self.problem, self.tol, self.workers = K, problem, tol, workers
        self.beta = problem.start.astype(np.float64)
        self.epsilon = float(problem.epsilon)
        self.groups = np.zeros(n, np.int64) if problem.groups is None else problem.groups
        self.n_groups = int(self.groups.max(initial=0)) + 1
        self.stats: dict[str, Any] = {"rounds": 0, "shrunk": 0, "reconstructions": 0}
        rows = cache / (K.dtype.itemsize * n)  # that the cache may hold
        self.working = WorkingSet(K, rows, workers)
        capacity = n if K.matrix is not None else int(min(n, max(2 * self.working.most, rows)))
        self.rows = RowCache(K, capacity, workers)
        few = K.factors is not None and K.factors.work <= _FEWEST_FEATURES
        self.lean = few or (self.working.computed and n >= _MANY)
        self.repeats = np.zeros(n, np.int64)  # changes of each variable while it had no row
        # where all rows are kept, setting variables aside saves little
        self.shrinking = shrinking and (self.rows.capacity < n or self.lean)
        everything = np.arange(n)
        self._activate(everything, self._gradient(everything, K.rough_product))
        self.fallen = 0.0  # by how much the objective has fallen so far
        self.exact = not self.beta.any()  # is the gradient computed, not as it was kept up?
        self.best = None if self.beta.any() else self._state()
        self.stuck, self.inaccurate = "", 0  # why there is no going on, if so; wrong gradients

    def _activate(self, active: np.ndarray, g: np.ndarray) -> None:
        """Work on these variables from now on, whose gradient is g."""
        p = self.problem
        self.active, self.g = active, g
        self.direct = len(active) <= _DIRECT
        self.working.restart(active)
        self.b, self.lower, self.upper = self.beta[active], p.lower[active], p.upper[active]
        self.group = self.groups[active]
        self.diagonal = self.K.diagonal[active].astype(self.K.dtype)
        self.rise, self.fall = np.empty(len(active)), np.empty(len(active))

    # ---- the loop ------------------------------------------------------------------------
    def run(self, max_iter: int | None, watch: Callable[[float], None] | None) -> BoxSolution:
        start, self.steps = time.perf_counter(), 0
        countdown, unchecked = _SHRINK_EVERY, _PROBE_EVERY
        budget = max(_STEPS, _EACH * len(self.beta)) if max_iter is None else max_iter
        idle, cut_off, long = 0, 0, False  # rounds without progress, and cut off; was the last one?
        while True:
            violation, extremes = self._violation()
            if watch is not None:
                watch(violation)
            ended = violation < self.tol or self.steps >= budget or idle >= _IDLE
            if ended or self.stuck:
                if self.exact or self._settled(idle):
                    break
                idle = 0
                continue
            if unchecked == 0:
                unchecked = _PROBE_EVERY
                accurate = self._accurate(violation / 10)
                if not accurate or (long and self.K.dtype != np.float64):
                    self.inaccurate += not accurate
                    self._audit(_INACCURATE)
                    continue
            if self.shrinking and countdown == 0:
                countdown = _SHRINK_EVERY
                if self._shrink(extremes):
                    continue
            countdown, unchecked = countdown - 1, unchecked - 1
            limit = self._limit(budget - self.steps)
            taken, gained = self._improve(violation, extremes, limit)
            long = self.direct and taken == limit  # a round of so many steps is unusual
            cut_off += long
            if long and cut_off & (cut_off - 1) == 0:  # the first, second, fourth, ... one
                unchecked = 0
            self.steps += taken
            idle = 0 if gained > 0 else idle + 1
            self.exact = self.exact and taken == 0
            self.stats["rounds"] += 1
        converged = violation < self.tol
        self.stats |= {"seconds": time.perf_counter() - start, "rows": self.rows.computed}
        message = "optimal"
        if not converged:
            why = self.stuck or "; raise tol or max_iter, or scale the data."
            message = (
                f"stopped after {self.steps} steps with a violation of {violation:.2e}, but "
                f"tol={self.tol:g} was asked for{why}"
            )
        return BoxSolution(self.beta, self.g, violation, converged, self.steps, message, self.stats)

    def _limit(self, left: int) -> int:
        return min(left, 10**5 if self.direct else _INNER * self.working.size)

    def _violation(self) -> tuple[float, Extremes]:
        """The largest violation, and for each group the lowest rise and the highest fall."""
        if not np.isfinite(self.g).all():
            raise ValueError(_NOT_FINITE)
        ends = slopes(self.g, self.b, self.lower, self.upper, self.epsilon, self.rise, self.fall)
        if self.n_groups == 1:
            return ends[1] - ends[0], [ends]
        extremes = []
        for t in range(self.n_groups):
            of = self.group == t
            extremes.append((self.rise[of].min(initial=BIG), self.fall[of].max(initial=-BIG)))
        return float(max(high - low for low, high in extremes)), extremes

    def _select(self, extremes: Extremes, count: int, among: np.ndarray) -> np.ndarray:
        """The worst violators from both sides and all groups, among those given."""
        rise, fall = np.where(among, self.rise, BIG), np.where(among, -self.fall, BIG)
        share = max(1, count // (2 * self.n_groups))
        chosen = []
        for t, (low, high) in enumerate(extremes):
            for side, bound in ((rise, high), (fall, -low)):
                worse = side < bound
                if self.n_groups > 1:
                    worse &= self.group == t
                violators = np.flatnonzero(worse)
                if len(violators) > share:
                    worst = np.argpartition(side[violators], share - 1)[:share]
                    violators = violators[worst]
                rise[violators] = fall[violators] = BIG
                chosen.append(violators)
        return np.sort(np.concatenate(chosen))

    def _improve(self, violation: float, extremes: Extremes, limit: int) -> tuple[int, float]:
        """A round: new variables, their rows, and steps among those whose rows are at hand.

        Returns the steps taken, and by how much the objective fell, 0 if that is only rounding.
        This is measured, not added up over the steps, whose gains are those of a matrix that its
        rows and its diagonal need not agree on.
        """
        solve = self._solve_all if self.direct else self._solve_block
        b, g = self.b.copy(), self.g.copy()
        steps = solve(violation, extremes, limit)
        self.working.grow()
        with np.errstate(all="ignore"):  # what is not finite is found in the next round
            fall = (b - self.b) @ (g + self.g) / 2  # of a quadratic function
        fall += self.epsilon * (np.abs(b).sum() - np.abs(self.b).sum())
        self.fallen += fall
        return steps, float(fall) if fall > _ROUNDING * abs(self.fallen) else 0.0

    def _solve_all(self, violation: float, extremes: Extremes, limit: int) -> int:
        """Steps among all variables whose rows are at hand, with the gradient of all kept up."""
        if self.K.factors is not None and self.rows.capacity == len(self.active) == len(self.beta):
            return self._solve_small(limit)
        missing = self.rows.slot[self.active] < 0
        new = self._select(extremes, self.working.size, missing)
        self._fetch(self.active[new])
        goal = max(self.tol, _GOAL * violation) if len(new) else self.tol
        before = self.b.copy()
        steps = take_steps(
            self.rows.rows, self.rows.slot[self.active], self.diagonal, self.g, self.b, self.lower,
            self.upper, self.epsilon, self.group, self.n_groups, goal, limit,
        )  # fmt: skip
        moved = np.flatnonzero(self.b != before)
        self.beta[self.active[moved]] = self.b[moved]
        return int(steps)

    def _solve_small(self, limit: int) -> int:
        """The whole problem in one compiled call."""
        assert self.K.factors is not None
        rows = self.rows
        steps, used = solve_small(
            *self.K.factors, self.K.runs, rows.rows, rows.slot, rows.owner, rows.used,
            self.diagonal, self.g, self.b, self.lower, self.upper, self.epsilon, self.group,
            self.n_groups, self.tol, limit,
        )  # fmt: skip
        rows.computed += used - rows.used
        rows.used = used
        self.beta[:] = self.b
        return int(steps)

    def _solve_block(self, violation: float, extremes: Extremes, limit: int) -> int:
        """Steps within a working set, for which its block of K is put together."""
        working = self.working
        outside = np.ones(len(self.active), bool)
        outside[working.members] = False
        new = working.renew(self._select(extremes, working.wanted, outside))
        W = working.members
        V = self.active[W]
        slots = None if self.lean else self._fetch(V)
        working.refill(new, self.rows.rows, slots)
        b = self.b[W]
        steps = take_steps(
            working.block, np.arange(len(W)), self.diagonal[W], self.g[W], b, self.lower[W],
            self.upper[W], self.epsilon, self.group[W], self.n_groups,
            max(self.tol, _GOAL * violation), limit,
        )  # fmt: skip
        change = b - self.b[W]
        moved = np.flatnonzero(change)
        self.b[W] = self.beta[V] = b
        self._apply(V[moved], change[moved])
        return int(steps)

    def _fetch(self, variables: np.ndarray) -> np.ndarray:
        return self.rows.fetch(variables, self.beta, self.stats["rounds"] + 1)

    def _apply(self, variables: np.ndarray, change: np.ndarray) -> None:
        """Add the change of these variables to the gradient, by rows worth keeping and others."""
        kept = np.ones(len(variables), bool)
        if self.lean:
            kept = self.rows.slot[variables] >= 0
            self.repeats[variables[~kept]] += 1
            kept |= self.repeats[variables] >= _REPEATS
            if not kept.all():
                once = variables[~kept]
                self.g += self.K.rough_product(self.active, once, change[~kept])
        if kept.any():
            self.rows.add(self.g, self._fetch(variables[kept]), change[kept])

    # ---- accuracy ------------------------------------------------------------------------
    def _gradient(self, of: np.ndarray, product: Product) -> np.ndarray:
        """K beta - target, computed from the support vectors."""
        support = np.flatnonzero(self.beta)
        if not len(support):
            return -self.problem.target[of]
        return product(of, support, self.beta[support]) - self.problem.target[of]

    def _gradient_aside(self, aside: np.ndarray) -> np.ndarray:
        """The gradient of variables set aside: what it was then, and what has changed since."""
        beta, g = self.whole
        changed = np.flatnonzero(self.beta != beta)
        if len(changed) > np.count_nonzero(self.beta):
            return self._gradient(aside, self.K.rough_product)
        change = self.beta[changed] - beta[changed]
        return g[aside] + self.K.rough_product(aside, changed, change)

    def _settled(self, idle: int) -> bool:
        """May the solver stop? If not, the gradient has been computed anew."""
        n = len(self.beta)
        if len(self.active) < n:
            aside = np.setdiff1d(np.arange(n), self.active, assume_unique=True)
            g = np.empty(n)
            g[self.active], g[aside] = self.g, self._gradient_aside(aside)
            self.rows.reset()  # rows lack the columns that were set aside
            self._activate(np.arange(n), g)
            self.stats["reconstructions"] += 1
        elif idle >= _IDLE:
            self._audit(_ROUNDED)
        elif not (self._surely_accurate() or self._accurate(self.tol / 10)):
            self.inaccurate += 1
            self._audit(_INACCURATE)
        else:
            return True
        return False

    def _surely_accurate(self) -> bool:
        """Are rows and steps rounded by so little that the gradient need not be probed?"""
        # rounding errors are as good as random: that of the sum is about error * ||beta||
        rows = 0.0 if self.K.dtype == np.float64 else self.K.error * np.linalg.norm(self.beta)
        return 4 * (rows + np.sqrt(self.steps) * self._rounding()) <= self.tol / 10

    def _rounding(self) -> float:
        """Of an entry of the gradient when it is computed, or changed by a step."""
        largest = float(np.abs(self.K.diagonal).max(initial=0.0))
        return float(np.finfo(np.float64).eps * largest * np.abs(self.beta).sum())

    def _accurate(self, allowed: float) -> bool:
        """Is the gradient, as it was kept up, what it should be? Tried on some entries."""
        n = len(self.g)
        probes = np.linspace(0, n - 1, min(n, _PROBES)).astype(int)
        probes = np.append(probes, [self.rise.argmin(), self.fall.argmax()])
        errors = self._gradient(self.active[probes], self.K.product) - self.g[probes]
        return float(np.abs(errors).max()) <= max(allowed, 4 * self._rounding())

    def _audit(self, suspicion: str) -> None:
        """The gradient of all variables computed anew, and with it whether there was progress.

        If there was none, the solver is stuck, and ``suspicion`` says why.
        """
        n = len(self.beta)
        if len(self.active) < n:
            self.rows.reset()
        self._activate(np.arange(n), self._gradient(np.arange(n), self.K.product))
        self.exact = True
        self.stats["reconstructions"] += 1
        found = self._state()
        if self.best is None or found.beats(self.best):
            self.best = found
            self.stuck = suspicion if self.inaccurate >= _ANEW else ""
        else:
            self.stuck = suspicion
            self.beta[:] = self.best.beta
            self._activate(np.arange(n), self._gradient(np.arange(n), self.K.product))

    def _state(self) -> _Audit:
        """Where the solver is, for a gradient of all variables that was computed."""
        quadratic = self.beta * (self.g - self.problem.target) / 2
        linear = self.epsilon * np.abs(self.beta)
        rounding = _SUMS * float(np.sum(np.abs(quadratic) + linear))
        value = float(np.sum(quadratic + linear))
        return _Audit(value, rounding, self._violation()[0], self.beta.copy())

    # ---- shrinking -----------------------------------------------------------------------
    def _shrink(self, extremes: Extremes) -> bool:
        """Set aside variables that cannot violate optimality now; True if it was worth it."""
        keep = np.zeros(len(self.active), bool)
        for t, (low, high) in enumerate(extremes):
            keep |= (self.group == t) & ((self.rise <= high) | (self.fall >= low))
        if keep.sum() > 0.7 * len(keep):
            return False
        self.stats["shrunk"] += 1
        if len(self.active) == len(self.beta):
            self.whole = self.beta.copy(), self.g  # when all variables were active
        columns = np.flatnonzero(keep)
        self.rows.restrict(columns)
        self._activate(self.active[columns], self.g[columns])
        return True
