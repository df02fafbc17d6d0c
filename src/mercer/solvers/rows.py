"""A cache of kernel rows for decomposition solvers, up to a memory limit."""

from __future__ import annotations

import numpy as np

from ..gram.row_loops import add_rows
from ..gram.rows import RowGram
from ..gram.tiles import run, slices
from .smo_loops import compact

_TILE = 150_000  # entries computed at a time, which fit in cache
_LEAST, _PIECES = 30_000, 8  # and at least; pieces of a few rows
_NARROWEST = 250  # columns of a tile
_WIDTH = 10_000  # columns added up at a time
_SHARE = 10_000_000  # entries that are worth a second thread when they are only added up
_YOUNGER = 10  # rows of support vectors count as this many rounds younger


class RowCache:
    """Rows of K at the columns ``active``, in slots of one array.

    Parameters
    ----------
    K : RowGram
        The kernel matrix, of n rows.
    capacity : int
        Most rows kept, of n entries each.
    workers : int, optional
        Threads.
    """

    def __init__(self, K: RowGram, capacity: int, workers: int | None) -> None:
        self.K, self.workers = K, workers
        if K.matrix is not None:
            self.memory = K.matrix.ravel()
        else:
            self.memory = np.empty(capacity * len(K.diagonal), K.dtype)
        self.computed = 0.0  # rows so far, parts of rows as fractions
        self.reset()

    def reset(self) -> None:
        """Forget all rows; from now on they have all columns."""
        self.active = np.arange(len(self.K.diagonal))
        self.slot = np.full(len(self.active), -1)  # of each variable
        known = np.arange(0 if self.K.matrix is None else len(self.active))
        self._arrange(known, np.zeros(len(known)))

    def _arrange(self, owner: np.ndarray, stamp: np.ndarray) -> None:
        """Divide the memory into rows of the current length, of which the first are known."""
        width, self.used = len(self.active), len(owner)
        self.capacity = min(len(self.memory) // width, len(self.slot))
        self.rows = self.memory[: self.capacity * width].reshape(self.capacity, width)
        self.owner = np.full(self.capacity, -1)  # of each slot
        self.stamp = np.zeros(self.capacity)  # round of latest use
        self.owner[: self.used], self.stamp[: self.used] = owner, stamp
        self.slot[:] = -1
        self.slot[owner] = np.arange(self.used)

    def fetch(self, variables: np.ndarray, beta: np.ndarray, now: int) -> np.ndarray:
        """The slots of the rows of these variables, computed where they are missing."""
        missing = variables[self.slot[variables] < 0]
        slots = self.reserve(variables, beta, now)
        if len(missing):
            self._compute(missing, self.slot[missing])
        return slots

    def reserve(self, variables: np.ndarray, beta: np.ndarray, now: int) -> np.ndarray:
        """The slots of these rows; new ones have to be computed by the caller."""
        slots = self.slot[variables]
        missing = variables[slots < 0]
        if len(missing):
            self.stamp[slots[slots >= 0]] = np.inf
            free = self._free_slots(len(missing), beta)
            self.owner[free], self.slot[missing] = missing, free
            self.computed += len(missing) * len(self.active) / len(self.slot)
            slots = self.slot[variables]
        self.stamp[slots] = now
        return slots

    def add(self, g: np.ndarray, slots: np.ndarray, weights: np.ndarray) -> None:
        """g += weights @ rows."""
        pieces = slices(len(g), _WIDTH)

        def part(at: slice) -> None:
            add_rows(g, self.rows, slots, weights, at.start, at.stop)

        run(part, pieces, self.workers if len(slots) * len(g) > _SHARE else 1)

    def restrict(self, columns: np.ndarray) -> None:
        """Keep these (sorted) places of the active columns only; shorter rows leave more room."""
        known = np.flatnonzero(self.owner >= 0)
        compact(self.memory, known, len(self.active), columns)
        self.active = self.active[columns]
        self._arrange(self.owner[known], self.stamp[known])

    def _free_slots(self, count: int, beta: np.ndarray) -> np.ndarray:
        """Unused slots in order, so that memory is touched only as needed; then the oldest."""
        fresh = np.arange(self.used, min(self.used + count, self.capacity))
        self.used += len(fresh)
        if len(fresh) == count:
            return fresh
        age = self.stamp + _YOUNGER * (beta[self.owner] != 0)
        age[self.owner < 0] = np.inf  # the fresh ones
        oldest = np.argpartition(age, count - len(fresh) - 1)[: count - len(fresh)]
        self.slot[self.owner[oldest]] = -1
        return np.concatenate([fresh, oldest])

    def _compute(self, variables: np.ndarray, slots: np.ndarray) -> None:
        everything = len(self.active) == len(self.slot)

        def part(cols: slice) -> None:
            of = cols if everything else self.active[cols]
            self.K.write(variables, of, self.rows, slots, cols.start)

        entries = len(variables) * len(self.active)
        columns = max(_NARROWEST, min(_TILE, max(_LEAST, entries // _PIECES)) // len(variables))
        run(part, slices(len(self.active), columns), self.workers)
