"""The state of a decomposition solver: its point, the gradient there, and its accuracy.

The gradient is updated from step to step, by rows that may be rounded to single precision. It is
checked in double precision, and recomputed if rounding has cost too much; each time that happens,
progress is checked as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..exceptions import DomainError
from ..gram.rows import Product, RowGram
from .box import BoxProblem
from .rows import RowCache
from .smo_loops import BLOCKED, slopes
from .smo_rounds import FEW
from .smo_shared import SharedWork
from .working_set import SMALLEST, WorkingSet

_DIRECT = 2500  # up to this many active variables no block is assembled
IDLE = 10  # rounds without progress before the gradient is recomputed, or the solver stops
_ANEW = 30  # maximum number of times that an inaccurate gradient is recomputed
_PROBES = 64  # recomputed entries that decide whether the gradient is accurate
_SUMS = 1e-12  # rounding of the objective, relative to the sum of absolute values of its terms
_PROGRESS = 0.9  # a violation has decreased if it is below this part of the lowest one so far

_ROUNDED = ": no step makes a difference beyond rounding; raise tol, lower C, or scale the data."
INACCURATE = (
    ": the kernel values are not accurate enough for the objective to decrease any further; "
    "scale the data, lower C or raise tol, and check that the kernel is symmetric."
)
NOT_FINITE = (
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


class State:
    """A point, the active variables, and their gradient.

    Parameters
    ----------
    K : RowGram
        The kernel matrix.
    problem : BoxProblem
        Targets, bounds, penalty and starting point.
    tol : float
        The violation of optimality that is allowed in the end.
    cache : float
        Bytes for kernel rows.
    workers : int, optional
        Threads.
    """

    def __init__(
        self, K: RowGram, problem: BoxProblem, tol: float, cache: float, workers: int | None
    ) -> None:
        n = len(problem)
        self.K, self.problem, self.tol = K, problem, tol
        self.beta = problem.start.astype(np.float64)
        self.epsilon = float(problem.epsilon)
        self.groups, self.n_groups = problem.grouping()
        self.stats: dict[str, Any] = {"rounds": 0, "shrunk": 0, "reconstructions": 0}
        rows = cache / (K.dtype.itemsize * n)  # that the cache may hold
        self.working = WorkingSet(K, rows, workers)
        least = max(2 * SMALLEST, self.working.most)
        capacity = n if K.matrix is not None else int(min(n, max(least, rows)))
        self.rows = RowCache(K, capacity, workers)
        self.workers = workers
        self.shared: SharedWork | None = None  # where the block is computed, not gathered
        self.steps = 0
        everything = np.arange(n)
        self._activate(everything, self._gradient(everything, K.rough_product))
        self.whole = self.beta.copy(), self.g  # when all variables were active
        self.exact = not self.beta.any()  # is the gradient computed, not as it was kept up?
        self.best = None if self.beta.any() else self._state()
        self.stuck, self.inaccurate = "", 0  # why there is no going on, if so; wrong gradients

    def _activate(self, active: np.ndarray, g: np.ndarray) -> None:
        """Make these variables active, with the gradient g."""
        p = self.problem
        self.active, self.g = active, g
        self.direct = len(active) <= _DIRECT
        self.working.restart(active)
        if self.working.computed and not self.direct:
            if self.shared is None:
                most, memory = self.working.most, self.rows.memory
                self.shared = SharedWork(self.K, most, memory, self.workers)
            self.shared.activate(active)
        self.b, self.lower, self.upper = self.beta[active], p.lower[active], p.upper[active]
        self.group = self.groups[active]
        self.diagonal = self.K.diagonal[active].astype(self.K.dtype)
        self.rise, self.fall = np.empty(len(active)), np.empty(len(active))
        self.found = np.empty(len(active) + 1, np.int64), np.empty(len(active) + 1)  # violators
        self.lowest = np.empty(-(-len(active) // FEW))
        self.outside = np.ones(len(active), bool)  # of the working set

    def _violation(self) -> tuple[float, Extremes]:
        """The largest violation, and for each group the lowest rise and the highest fall."""
        if not np.isfinite(self.g).all():
            raise DomainError(NOT_FINITE)
        ends = slopes(self.g, self.b, self.lower, self.upper, self.epsilon, self.rise, self.fall)
        if self.n_groups == 1:
            return ends[1] - ends[0], [ends]
        extremes = []
        for t in range(self.n_groups):
            of = self.group == t
            extremes.append(
                (self.rise[of].min(initial=BLOCKED), self.fall[of].max(initial=-BLOCKED))
            )
        return float(max(high - low for low, high in extremes)), extremes

    def _gradient(self, of: np.ndarray, product: Product) -> np.ndarray:
        """K beta - target, computed from the support vectors."""
        support = np.flatnonzero(self.beta)
        if not len(support):
            return -self.problem.target[of]
        return product(of, support, self.beta[support]) - self.problem.target[of]

    def _gradient_aside(self, aside: np.ndarray) -> np.ndarray:
        """The gradient of variables set aside: the old one, and the changes since."""
        beta, g = self.whole
        changed = np.flatnonzero(self.beta != beta)
        if len(changed) > np.count_nonzero(self.beta):
            return self._gradient(aside, self.K.rough_product)
        change = self.beta[changed] - beta[changed]
        return g[aside] + self.K.rough_product(aside, changed, change)

    def _settled(self, idle: int) -> bool:
        """May the solver stop? If not, the gradient has been recomputed."""
        n = len(self.beta)
        if len(self.active) < n:
            aside = np.setdiff1d(np.arange(n), self.active, assume_unique=True)
            g = np.empty(n)
            g[self.active], g[aside] = self.g, self._gradient_aside(aside)
            self.rows.reset()  # rows lack the columns that were set aside
            self._activate(np.arange(n), g)
            self.stats["reconstructions"] += 1
        elif idle >= IDLE:
            self._audit(_ROUNDED)
        elif not self._accurate(self.tol / 10):
            self.inaccurate += 1
            self._audit(INACCURATE)
        else:
            return True
        return False

    def _surely_accurate(self, allowed: float) -> bool:
        """Are rows and steps so accurate that the gradient need not be checked?"""
        # rounding errors are as good as random: that of the sum is about error * ||beta||
        rows = 0.0 if self.K.dtype == np.float64 else self.K.error * np.linalg.norm(self.beta)
        return bool(4 * (rows + np.sqrt(self.steps) * self._rounding()) <= allowed)

    def _rounding(self) -> float:
        """The rounding error of a gradient entry when computed, or changed by a step."""
        largest = float(np.abs(self.K.diagonal).max(initial=0.0))
        return float(np.finfo(np.float64).eps * largest * np.abs(self.beta).sum())

    def _accurate(self, allowed: float) -> bool:
        """Is the updated gradient accurate? If necessary, some entries are recomputed."""
        if self._surely_accurate(allowed):
            return True
        n = len(self.g)
        probes = np.linspace(0, n - 1, min(n, _PROBES)).astype(int)
        probes = np.append(probes, [self.rise.argmin(), self.fall.argmax()])
        errors = self._gradient(self.active[probes], self.K.product) - self.g[probes]
        return float(np.abs(errors).max()) <= max(allowed, 4 * self._rounding())

    def _audit(self, suspicion: str) -> None:
        """Recompute the gradient of all variables, and check progress.

        Without progress the solver is stuck, and ``suspicion`` says why.
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
        """The state of the solver, for a recomputed gradient of all variables."""
        quadratic = self.beta * (self.g - self.problem.target) / 2
        linear = self.epsilon * np.abs(self.beta)
        rounding = _SUMS * float(np.sum(np.abs(quadratic) + linear))
        value = float(np.sum(quadratic + linear))
        return _Audit(value, rounding, self._violation()[0], self.beta.copy())
