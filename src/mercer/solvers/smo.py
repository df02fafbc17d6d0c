r"""Support vector machines by decomposition: one quadratic programme for all of them.

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

Small problems of a K that is stored, or a product of features, are solved by steps alone
(:mod:`.smo_dense`); of others, and where that fails, each round picks the variables that violate
optimality most, fetches their kernel rows (one matrix product, kept in a cache), solves the small
problem on them to a fifth of its violation by two-variable steps of second order, and adds the
non-zero changes to the gradient. The working set grows from round to round: few rows are computed
before it is known which ones matter, and many variables are optimised together once their rows are
available. Variables stuck at a bound are set aside (shrinking) and checked again, with a recomputed
gradient, before the solver stops. It stops when the violation of optimality is below tol. Kernel
rows may be rounded to single precision: before it stops, the gradient is checked in double
precision; if rounding has cost more than a tenth of tol, it is recomputed, and the solver continues
from there.

It terminates on any matrix. Two-variable steps are limited; a round that does not lower the
objective is idle, and after ten of these in a row the gradient is recomputed. Whenever that
happens, the objective computed with it must have decreased since the last time by more than its
rounding error, or the violation by a tenth. Rows that contradict the products with the same matrix
(single precision where it cancels, a function that is not symmetric) prevent progress: then the
solver returns the best point so far, and says why. Values that are not finite are an error.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from ..exceptions import DomainError
from ..gram.rows import RowGram
from ..gram.tiles import one_blas_thread
from . import smo_dense
from .box import BoxProblem, BoxSolution
from .smo_loops import guide_of, steps_guided_by, take_steps
from .smo_rounds import fall_of, gathered, moved, worst
from .smo_small import solve_small
from .smo_state import IDLE, INACCURATE, NOT_FINITE, Extremes, State

_GOAL = 0.2  # a round stops at this part of the violation
_SHRINK_EVERY = 8  # rounds
_ROUNDING = 1e-15  # smaller progress, relative to all progress, counts as none
_FEWEST_FEATURES = 32  # up to this many, recomputing a row is faster than keeping it
_MANY = 16_000  # with this many samples, also whenever the block is computed
_REPEATS = 5  # changes of a variable after which its row is kept nevertheless
_INNER = 100  # two-variable steps per variable of the working set and round
_STEPS, _EACH = 2 * 10**7, 1000  # maximum steps, in total or per variable, whichever is more
_PROBE_EVERY = 30  # rounds


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
        Called with the violation in each round.
    """
    if not np.isfinite(K.diagonal).all():
        raise DomainError(NOT_FINITE)
    with one_blas_thread():
        K = K.centred() if problem.balanced else K
        found, matrix = None, K.matrix
        if len(problem) <= smo_dense.LARGEST:
            if matrix is None and K.features is not None and 8.0 * len(problem) ** 2 <= K.limit:
                matrix = np.asarray(K.block(slice(None), slice(None)), np.float64)
            if matrix is not None:
                if not np.isfinite(matrix).all():
                    raise DomainError(NOT_FINITE)
                found = smo_dense.solve(matrix, problem, tol, max_iter)
        if found is None:
            work = _Decomposition(K, problem, tol, cache, shrinking, workers)
            try:
                found = work.run(max_iter, watch)
            finally:
                if work.shared is not None:
                    work.shared.team.dismiss()
        found.gradient += K.level(found.beta)
        return found


class _Decomposition(State):
    def __init__(
        self,
        K: RowGram,
        problem: BoxProblem,
        tol: float,
        cache: float,
        shrinking: bool,
        workers: int | None,
    ) -> None:
        super().__init__(K, problem, tol, cache, workers)
        n = len(problem)
        few = K.factors is not None and K.factors.work <= _FEWEST_FEATURES
        self.lean = few or (self.working.computed and n >= _MANY)
        self.repeats = np.zeros(n, np.int64)  # changes of each variable while it had no row
        # where all rows are kept, setting variables aside saves little
        self.shrinking = shrinking and (self.rows.capacity < n or self.lean)
        self.fallen = 0.0  # by how much the objective has fallen so far

    # ---- the loop ------------------------------------------------------------------------
    def run(self, max_iter: int | None, watch: Callable[[float], None] | None) -> BoxSolution:
        start = time.perf_counter()
        countdown, unchecked = _SHRINK_EVERY, _PROBE_EVERY
        budget = max(_STEPS, _EACH * len(self.beta)) if max_iter is None else max_iter
        idle, cut_off, long = 0, 0, False  # rounds without progress, and cut off; was the last one?
        while True:
            violation, extremes = self._violation()
            if watch is not None:
                watch(violation)
            ended = violation < self.tol or self.steps >= budget or idle >= IDLE
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
                    self._audit(INACCURATE)
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
                f"tol={self.tol:g} was requested{why}"
            )
        return BoxSolution(self.beta, self.g, violation, converged, self.steps, message, self.stats)

    def _limit(self, left: int) -> int:
        return min(left, 10**5 if self.direct else _INNER * self.working.size)

    def _select(self, extremes: Extremes, wanted: int, among: np.ndarray) -> np.ndarray:
        """The worst violators from both sides and all groups, among these, as a new array."""
        share = max(1, wanted // (2 * self.n_groups))
        ends = np.array(extremes)
        return np.sort(
            worst(self.rise, self.fall, ends, self.group, among, share, self.lowest, *self.found)
        )

    def _improve(self, violation: float, extremes: Extremes, limit: int) -> tuple[int, float]:
        """A round: new variables, their rows, and steps among those whose rows are available.

        Returns the number of steps, and the decrease of the objective, 0 if that is only rounding.
        The decrease is measured, not summed over the steps, whose gains assume that rows and
        diagonal belong to the same matrix.
        """
        if self.direct:
            before, g = self.b.copy(), self.g.copy()
            steps = self._solve_all(violation, extremes, limit)
            which = np.flatnonzero(before != self.b)
            before, g = before[which], g[which]
        else:
            steps, which, before, g = self._solve_block(violation, extremes, limit)
        self.working.grow()
        fall = fall_of(which, before, g, self.b, self.g, self.epsilon)
        self.fallen += fall
        return steps, fall if fall > _ROUNDING * abs(self.fallen) else 0.0

    def _solve_all(self, violation: float, extremes: Extremes, limit: int) -> int:
        """Steps among all variables whose rows are available, updating the gradient of all."""
        if self.rows.capacity == len(self.active) == len(self.beta):  # of all there is room
            if self.K.factors is not None:
                return self._solve_small(limit)
            if self.K.source is not None and self.K.matrix is None:
                return self._solve_given(*self.K.source, limit)
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

    def _solve_given(self, values: np.ndarray, index: np.ndarray, limit: int) -> int:
        """The same for a given matrix, whose rows are read when a step needs them."""
        rows, used = self.rows, np.array([self.rows.used])
        if not rows.used:
            rows.rows[0] = 0  # the first step is one of length 0 along it
        steps = take_steps(
            rows.rows, rows.slot, self.diagonal, self.g, self.b, self.lower, self.upper,
            self.epsilon, self.group, self.n_groups, self.tol, limit, (values, index, used),
        )  # fmt: skip
        known = np.flatnonzero(rows.slot >= 0)
        rows.owner[rows.slot[known]] = known
        rows.computed += int(used[0]) - rows.used
        rows.used = int(used[0])
        self.beta[:] = self.b
        return steps

    def _solve_block(
        self, violation: float, extremes: Extremes, limit: int
    ) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
        """Steps within a working set, for which its block of K is assembled.

        Returns how many, the variables that have moved, and where they and the gradient were.
        """
        working = self.working
        self.outside[working.members] = False
        new = working.renew(self._select(extremes, working.wanted, self.outside))
        W = working.members
        self.outside[:] = True
        if self.shared is None:
            working.refill(new, self.rows.rows, self._fetch(self.active[W]))
        else:
            self.shared.fill(working, new)
        goal = max(self.tol, _GOAL * violation)
        g, b, lower, upper, diagonal, group, largest = gathered(
            W, self.g, self.b, self.lower, self.upper, self.diagonal, self.group
        )
        steps = steps_guided_by(
            guide_of(g, working.block, goal, largest), working.block, np.arange(len(W)), diagonal,
            b, lower, upper, self.epsilon, group, self.n_groups, goal, limit, None,
        )  # fmt: skip
        which, before, g, *changes = moved(
            W, self.active, b, self.b, self.beta, self.g, self.rows.slot, self.repeats,
            _REPEATS if self.lean else 0,
        )  # fmt: skip
        self._apply(*changes)
        return int(steps), which, before, g

    def _fetch(self, variables: np.ndarray) -> np.ndarray:
        return self.rows.fetch(variables, self.beta, self.stats["rounds"] + 1)

    def _apply(self, variables: np.ndarray, change: np.ndarray, once: int, missing: int) -> None:
        """Add changes of variables to the gradient, first those with rows not worth keeping."""
        if self.shared is None:
            self.rows.add(self.g, self._fetch(variables), change)
            return
        slots = self.rows.reserve(variables[once:], self.beta, self.stats["rounds"] + 1)
        self.shared.add(self.g, variables, change, once, missing, slots)

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
