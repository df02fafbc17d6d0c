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
Variables stuck at a bound are set aside (shrinking) and checked again, with their gradient
computed anew, before the solver stops. It stops when the violation of optimality is below tol.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..gram.tiles import run, slices
from .blocks import Blocks
from .smo_loops import BIG, add_rows, compact, gather, offsets, scatter, solve_block

WORKING_SET = 512
_COLUMNS = 4000  # columns of kernel rows computed at a time by one thread
_SHRINK_EVERY = 10  # rounds
_SMALLEST = 64  # working set, however small the cache
_FEW = 1000  # problems up to this size keep kernel rows in double precision
_IDLE = 10  # rounds without progress after which the gradient is computed anew, or the end reached
_ROUNDING = 1e-15  # progress below this part of all progress is none
_INNER = 100  # two-variable steps per variable of the working set and round


def needs_double(n: int, largest: float, tol: float) -> bool:
    """Would kernel rows in single precision spoil the accuracy asked for?

    Their rounding errors add up in the gradient to about largest * sqrt(n) * eps, where ``largest``
    is the size of the bounds; a tenth of the accuracy is left to them.
    """
    return n <= _FEW or largest * np.sqrt(n) * np.finfo(np.float32).eps > tol / 10


@dataclass
class BoxProblem:
    """The quadratic programme, without its kernel."""

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    epsilon: float = 0.0
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.target)


@dataclass
class BoxSolution:
    """A solution with its certificate: the largest violation of optimality."""

    beta: np.ndarray
    gradient: np.ndarray  # K beta - target
    violation: float
    converged: bool
    n_iter: int
    message: str
    stats: dict[str, Any] = field(default_factory=dict)


def solve_box(
    K: Blocks,
    problem: BoxProblem,
    *,
    tol: float = 1e-3,
    cache: float = 200e6,
    max_iter: int | None = None,
    shrinking: bool = True,
    workers: int | None = None,
) -> BoxSolution:
    """Solve the programme for a kernel given by its blocks.

    Parameters
    ----------
    K : Blocks
        The kernel matrix.
    problem : BoxProblem
        Targets, bounds, penalty and starting point (feasible).
    tol : float
        Largest violation of optimality allowed.
    cache : float
        Bytes for kernel rows.
    max_iter : int, optional
        Most two-variable steps; no limit by default.
    shrinking : bool
        Set variables aside that have settled at a bound.
    workers : int, optional
        Threads.
    """
    return _Decomposition(K, problem, tol, cache, shrinking, workers).run(max_iter)


class _Decomposition:
    def __init__(
        self,
        K: Blocks,
        problem: BoxProblem,
        tol: float,
        cache: float,
        shrinking: bool,
        workers: int | None,
    ) -> None:
        n = len(problem)
        self.K, self.problem, self.tol, self.workers = K, problem, tol, workers
        largest = float(np.maximum(np.abs(problem.lower), np.abs(problem.upper)).max(initial=0))
        self.dtype = np.float64 if needs_double(n, largest, tol) else np.float32
        self.diagonal = K.diagonal.astype(self.dtype)
        self.beta = problem.start.astype(np.float64)
        self.epsilon = float(problem.epsilon)
        groups = np.zeros(n, np.int64) if problem.groups is None else problem.groups
        self.groups, self.n_groups = groups, int(groups.max(initial=0)) + 1
        self.stats: dict[str, Any] = {"rounds": 0, "rows": 0, "shrunk": 0, "reconstructions": 0}
        rows = cache / (np.dtype(self.dtype).itemsize * n)  # that the cache may hold
        self.size = int(min(WORKING_SET, n, max(_SMALLEST, rows // 2)))
        self.capacity = int(max(2 * self.size, min(n, rows)))
        self.shrinking = shrinking and self.capacity < n  # with all rows at hand it saves nothing
        self.active = np.arange(n)
        self.cache = np.empty((self.capacity, n), self.dtype)
        self._forget()
        self.g = self._gradient(self.active)
        self.fallen = 0.0  # by how much the objective has fallen so far

    # ---- the loop ------------------------------------------------------------------------
    def run(self, max_iter: int | None) -> BoxSolution:
        start, steps, countdown = time.perf_counter(), 0, _SHRINK_EVERY
        stalled = fresh = False
        idle = 0  # rounds without progress
        kept = np.empty(0, np.int64)  # places in the active set
        while True:
            violation, rise, fall = self._violation()
            optimal = violation < self.tol
            spent = max_iter is not None and steps >= max_iter
            if optimal or stalled or spent:
                if len(self.active) == len(self.beta) and (optimal or spent or fresh):
                    break
                self._unshrink()
                kept, stalled, fresh, idle = kept[:0], False, True, 0
                continue
            if self.shrinking and countdown == 0:
                countdown = _SHRINK_EVERY
                if self._shrink(rise, fall):
                    kept = kept[:0]
                    continue
            countdown -= 1
            new = self._select(rise, fall, kept)
            # in order of memory, for the sake of the cache; the newest stay for the next round
            W = np.sort(np.concatenate([kept, new]))
            kept = new[-(self.size // 2) :]
            taken, gained = self._improve(W, self._limit(max_iter, steps))
            steps += taken
            idle = 0 if gained > 0 else idle + 1
            stalled, fresh = idle >= _IDLE, fresh and gained <= 0
            self.stats["rounds"] += 1
        violation = self._violation()[0]
        converged = violation < self.tol
        self.stats["seconds"] = time.perf_counter() - start
        message = (
            "optimal"
            if converged
            else (
                f"stopped after {steps} steps with a violation of {violation:.2e}, but "
                f"tol={self.tol:g} was asked for; raise tol or max_iter, or scale the data."
            )
        )
        return BoxSolution(self.beta, self.g, violation, converged, steps, message, self.stats)

    def _limit(self, max_iter: int | None, steps: int) -> int:
        most = _INNER * self.size
        return most if max_iter is None else min(most, max_iter - steps)

    def _violation(self) -> tuple[float, np.ndarray, np.ndarray]:
        """The largest violation over groups, and the slopes upwards and downwards."""
        A = self.active
        rise, fall = np.empty(len(A)), np.empty(len(A))
        p = self.problem
        offsets(self.beta[A], p.lower[A], p.upper[A], self.epsilon, rise, fall)
        rise += self.g
        fall += self.g
        if self.n_groups == 1:
            return float(fall.max() - rise.min()), rise, fall
        of = [self.groups[A] == t for t in range(self.n_groups)]
        gaps = [fall[at].max() - rise[at].min() for at in of if at.any()]
        return float(max(gaps)), rise, fall

    def _select(self, rise: np.ndarray, fall: np.ndarray, kept: np.ndarray) -> np.ndarray:
        """The worst violators from both sides and all groups, apart from those kept."""
        rise, fall = rise.copy(), -fall
        rise[kept], fall[kept] = BIG, BIG
        share = max(1, (self.size - len(kept)) // (2 * self.n_groups))
        chosen = []
        for t in range(self.n_groups):
            for slopes in (rise, fall):
                here = (
                    slopes
                    if self.n_groups == 1
                    else np.where(self.groups[self.active] == t, slopes, BIG)
                )
                k = min(share, len(here) - 1)
                best = (
                    np.argpartition(here, k)[:share] if len(here) > share else np.arange(len(here))
                )
                best = best[here[best] < BIG / 2]
                rise[best], fall[best] = BIG, BIG
                chosen.append(best)
        return np.concatenate(chosen)

    def _improve(self, W: np.ndarray, limit: int) -> tuple[int, float]:
        """Solve the problem on the variables at places W of the active set.

        Returns the steps taken, and by how much the objective fell, 0 if that is only rounding.
        """
        V = self.active[W]
        slots = self._fetch(V)
        K = np.empty((len(W), len(W)), self.dtype)

        def part(rows: slice) -> None:
            gather(self.cache, slots[rows], W, K[rows])

        run(part, slices(len(W), max(32, -(-len(W) // 4))), self.workers)
        p = self.problem
        beta, g = self.beta[V], self.g[W]
        steps = solve_block(
            K, self.diagonal[V], g, beta, p.lower[V], p.upper[V], self.epsilon,
            self.groups[V], self.n_groups, self.tol, 0.1, limit,
        )  # fmt: skip
        before, change = self.beta[V], beta - self.beta[V]
        gained = -float(change @ (self.g[W] + g)) / 2
        gained -= self.epsilon * float(np.abs(beta).sum() - np.abs(before).sum())
        self.fallen += gained
        moved = np.flatnonzero(change)
        self.beta[V] = beta
        weights, rows = change[moved], slots[moved]
        width = 4096

        def update(cols: slice) -> None:
            add_rows(self.g, self.cache, rows, weights, cols.start, cols.stop)

        if len(moved):
            run(update, slices(len(self.active), width), self.workers)
        return steps, gained if gained > _ROUNDING * abs(self.fallen) else 0.0

    # ---- kernel rows ---------------------------------------------------------------------
    def _forget(self) -> None:
        """Mark all slots of the cache as empty."""
        self.slot = np.full(len(self.beta), -1)  # of each variable
        self.owner = np.full(self.capacity, -1)  # of each slot
        self.stamp = np.zeros(self.capacity)
        self.used = 0

    def _fetch(self, V: np.ndarray) -> np.ndarray:
        """The slots of the rows of variables V, computed where they are missing."""
        now = self.stats["rounds"] + 1.0
        slots = self.slot[V]
        missing = V[slots < 0]
        self.stamp[slots[slots >= 0]] = np.inf
        if len(missing):
            free = self._free_slots(len(missing))
            self.owner[free], self.slot[missing] = missing, free
            self._compute(missing, free)
        slots = self.slot[V]
        self.stamp[slots] = now
        return slots

    def _free_slots(self, count: int) -> np.ndarray:
        """Slots never used, in order so that memory is touched only as needed; then the oldest."""
        fresh = np.arange(self.used, min(self.used + count, self.capacity))
        self.used += len(fresh)
        if len(fresh) == count:
            return fresh
        # support vectors come back: their rows count as younger than they are
        age = self.stamp + 10 * (self.beta[self.owner] != 0)
        age[self.owner < 0] = np.inf  # the fresh ones
        oldest = np.argpartition(age, count - len(fresh) - 1)[: count - len(fresh)]
        self.slot[self.owner[oldest]] = -1
        return np.concatenate([fresh, oldest])

    def _compute(self, rows: np.ndarray, slots: np.ndarray) -> None:
        everything = len(self.active) == len(self.beta)

        def part(cols: slice) -> None:
            values = self.K.block(rows, cols if everything else self.active[cols])
            scatter(values, self.cache, slots, cols.start)

        run(part, slices(len(self.active), _COLUMNS), self.workers)
        self.stats["rows"] += len(rows) * len(self.active) / len(self.beta)

    def _gradient(self, of: np.ndarray) -> np.ndarray:
        """K beta - target, computed from the support vectors."""
        support = np.flatnonzero(self.beta)
        return self.K.product(of, support, self.beta[support]) - self.problem.target[of]

    # ---- shrinking -----------------------------------------------------------------------
    def _shrink(self, rise: np.ndarray, fall: np.ndarray) -> bool:
        """Set aside variables that cannot violate optimality now; True if it was worth it."""
        keep = np.zeros(len(self.active), bool)
        for t in range(self.n_groups):
            at = self.groups[self.active] == t
            lowest, highest = rise[at].min(initial=BIG), fall[at].max(initial=-BIG)
            keep |= at & ((rise <= highest) | (fall >= lowest))
        if keep.sum() > 0.7 * len(keep):
            return False
        self.stats["shrunk"] += 1
        self.active, self.g = self.active[keep], self.g[keep]
        columns = np.flatnonzero(keep)
        used = np.flatnonzero(self.owner >= 0)

        def part(rows: slice) -> None:
            compact(self.cache, used[rows], columns)

        run(part, slices(len(used), 64), self.workers)
        return True

    def _unshrink(self) -> None:
        """Bring all variables back, with the gradient of those set aside computed anew."""
        everything = np.arange(len(self.beta))
        if len(self.active) < len(everything):
            aside = np.setdiff1d(everything, self.active, assume_unique=True)
            g = np.empty(len(everything))
            g[self.active] = self.g
            g[aside] = self._gradient(aside)
            self.active, self.g = everything, g
            self._forget()  # cached rows lack the columns that were set aside
        else:
            self.g = self._gradient(everything)
        self.stats["reconstructions"] += 1
