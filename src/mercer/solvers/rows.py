"""Kernel rows that a decomposition solver has use for, kept up to a limit of memory."""

from __future__ import annotations

import numpy as np

from ..gram.tiles import run, slices
from .blocks import Blocks
from .smo_loops import add_rows, compact, scatter

_COLUMNS = 1000  # computed at a time: a tile of them stays in the processor's cache
_WIDTH = 10_000  # columns added up at a time
_SHARE = 10_000_000  # entries that are worth a second thread when they are only added up
_YOUNGER = 10  # rounds by which rows of support vectors count as younger than they are


class RowCache:
    """Rows of K at the columns ``active``, in slots of one array.

    Parameters
    ----------
    K : Blocks
        The kernel matrix, of n rows.
    capacity : int
        Most rows kept.
    workers : int, optional
        Threads.
    """

    def __init__(self, K: Blocks, capacity: int, workers: int | None) -> None:
        n = len(K.diagonal)
        self.K, self.capacity, self.workers = K, capacity, workers
        self.rows = np.empty((capacity, n), K.dtype)
        self.computed = 0.0  # rows so far, parts of rows as fractions
        self.reset()

    def reset(self) -> None:
        """Forget all rows; from now on they have all columns."""
        self.active = np.arange(len(self.K.diagonal))
        self.slot = np.full(len(self.active), -1)  # of each variable
        self.owner = np.full(self.capacity, -1)  # of each slot
        self.stamp = np.zeros(self.capacity)  # round of latest use
        self.used = 0

    def fetch(self, variables: np.ndarray, beta: np.ndarray, now: int) -> np.ndarray:
        """The slots of the rows of these variables, computed where they are missing."""
        slots = self.slot[variables]
        missing = variables[slots < 0]
        if len(missing):
            self.stamp[slots[slots >= 0]] = np.inf
            free = self._free_slots(len(missing), beta)
            self.owner[free], self.slot[missing] = missing, free
            self._compute(missing, free)
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
        """Keep these (sorted) places of the active columns only."""
        self.active = self.active[columns]
        used = np.flatnonzero(self.owner >= 0)

        def part(rows: slice) -> None:
            compact(self.rows, used[rows], columns)

        run(part, slices(len(used), 64), self.workers)

    def _free_slots(self, count: int, beta: np.ndarray) -> np.ndarray:
        """Slots never used, in order so that memory is touched only as needed; then the oldest."""
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
            values = self.K.block(variables, cols if everything else self.active[cols])
            scatter(values, self.rows, slots, cols.start)

        run(part, slices(len(self.active), _COLUMNS), self.workers)
        self.computed += len(variables) * len(self.active) / len(self.slot)
