"""The work of all threads in a round of decomposition: its block, and the gradient.

For K = exp(exponents), both are compiled phases of a :class:`~mercer.engine.team.Team`. A task of
the one is a few new rows of the block and their mirror images. A task of the other is some
entries of the gradient, and what is missing there of the rows that are kept. The tasks depend
on the problem alone, so that results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import by_type, njit
from ..engine.team import (
    PARAMETERS,
    Team,
    await_phase,
    await_tasks,
    claim_task,
    finish_task,
    start_phase,
)
from ..engine.threads import check_cancelled, thread_count
from ..gram.exponential import exp
from ..gram.rows import RowGram
from ..kernels.vectors.bits import differing
from .working_set import WorkingSet

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
_TILE, _NARROWEST = 256, 128  # columns of K at a time: they stay in the processor's cache
_TASKS, _VECTOR = 64, 32  # of the gradient, where they are no narrower; widths are multiples
_DEEP = 500  # rows of such a tile
_STRIP = 32  # new rows of the block that are a task
_AT_ONCE = 200_000_000  # entries of K after which an interrupt is noticed
_EACH = 50_000  # entries that are worth another thread
_LINE = 64  # bytes
_BLOCK, _CHANGE = 0, 1  # kinds of phases, and their parameters
_KIND, _COLUMNS, _WIDTH, _ROWS, _MISSING, _KEPT = range(PARAMETERS, PARAMETERS + 6)


@by_type
def _exponents(left, right, unit, space, count, out):
    """The exponents of K, without storing them."""
    from numba import types

    def of_bits(left, right, unit, space, count, out):
        width, words = right.shape
        columns = space[: width * words].reshape(words, width)
        for t in range(width):
            for k in range(words):
                columns[k, t] = right[t, k]
        for r in range(left.shape[0]):
            differing(left[r], columns, count)
            for t in range(width):
                out[r, t] = np.float32(count[t]) * unit

    def of_coordinates(left, right, unit, space, count, out):
        np.dot(left, right.T, out)

    return of_coordinates if isinstance(left.dtype, types.Float) else of_bits


@njit(cache=True, nogil=True)
def _work(
    control, member, left, right, inside, unit, weights, slots, memory, out, places, rank, block,
    space, values, total, words, count,
):  # fmt: skip
    """The phase that ``control`` describes, for member 0; one after the other, for helpers."""
    known = np.int64(0)
    while True:
        if member == 0:
            start_phase(control)
        else:
            known = await_phase(control, member, known)
            if known < 0:
                return
        while True:
            task = claim_task(control)
            if task < 0:
                break
            if control[_KIND] == _BLOCK:
                _fill(
                    control, task, left, inside, unit, places, rank, block, space, values, words,
                    count,
                )  # fmt: skip
            else:
                _change(
                    control, task, left, right, unit, weights, slots, memory, out, space, values,
                    total, words, count,
                )  # fmt: skip
            finish_task(control)
        if member == 0:
            await_tasks(control)
            return


@njit(cache=True, nogil=True)
def _enter(new, members, active, sample, left, right, rows, inside, places, rank):
    """The arguments of :func:`_fill` for new members at these places."""
    for k in range(members.size):
        rank[k] = -1
    for r in range(new.size):
        place = new[r]
        k = sample[active[members[place]]]
        rank[place], places[r] = r, place
        for c in range(left.shape[1]):  # sooner than by slices
            rows[r, c], inside[place, c] = left[k, c], right[k, c]


@njit(cache=True, nogil=True)
def _fill(control, task, left, right, unit, places, rank, block, space, values, words, count):
    """Some new rows of the block, and their columns.

    ``rank`` has, for each variable, its place among the new ones, or -1. Of two new variables the
    row of the later one counts, so that the block is symmetric and each entry written once.
    """
    m, strip = control[_COLUMNS], control[_WIDTH]
    first = task * strip
    rows = min(strip, control[_ROWS] - first)
    for start in range(0, m, _TILE):
        stop = min(m, start + _TILE)
        width = stop - start
        exponents = space[: rows * width].reshape(rows, width)
        _exponents(
            left[first : first + rows], right[start:stop], unit, words, count[:width], exponents
        )
        for r in range(rows):
            exp(exponents[r], values[:width])
            row = block[places[first + r], start:stop]
            for t in range(width):
                exponents[r, t] = values[t]
                if rank[start + t] <= first + r:
                    row[t] = values[t]
        for t in range(width):
            for r in range(max(0, rank[start + t] + 1 - first), rows):
                block[start + t, places[first + r]] = exponents[r, t]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _change(
    control, task, left, right, unit, weights, slots, memory, out, space, values, total, words,
    count,
):  # fmt: skip
    """Some entries of weights @ K, of rows that are not kept first and of those that are."""
    n, rows, missing = control[_COLUMNS], control[_ROWS], control[_MISSING]
    start = task * control[_WIDTH]
    stop = min(n, start + control[_WIDTH])
    width = stop - start
    sums = total[:width]
    for t in range(width):
        sums[t] = 0.0
    for first in range(0, rows + missing, _DEEP):
        deep = min(_DEEP, rows + missing - first)
        exponents = space[: deep * width].reshape(deep, width)
        _exponents(
            left[first : first + deep], right[start:stop], unit, words, count[:width], exponents
        )
        once = max(0, min(deep, rows - first))
        _add_exp(weights[first : first + once], exponents, values[:width], sums)
        for r in range(once, deep):
            place = slots[first + r] * n + start
            exp(exponents[r], memory[place : place + width])
    for r in range(rows, rows + control[_KEPT]):
        place = slots[r] * n + start
        _add(weights[r], memory[place : place + width], sums)
    for t in range(width):
        out[start + t] = sums[t]


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add_exp(weights, exponents, values, sums):
    """sums += weights @ exp(exponents), of as many rows as there are weights."""
    for r in range(weights.size):
        exp(exponents[r], values)
        _add(weights[r], values, sums)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add(weight, row, sums):
    for t in range(sums.size):
        sums[t] += weight * row[t]


class SharedWork:
    """The phases of a decomposition for K = exp(exponents), on all threads.

    Parameters
    ----------
    K : RowGram
        The kernel matrix, with factors.
    most : int
        Variables in the largest working set.
    memory : array
        Where rows are kept, one after the other.
    workers : int, optional
        Threads.
    """

    def __init__(self, K: RowGram, most: int, memory: np.ndarray, workers: int | None) -> None:
        assert K.factors is not None
        n = len(K)
        self.factors, d = K.factors, K.factors.right.shape[1]
        self.sample = K.samples(np.arange(n))  # of each variable
        kind = K.factors.left.dtype
        # factors of the rows of a task, of the active variables, and of those in the block
        self.left, self.right, self.inside = (np.empty((k, d), kind) for k in (most, n, most))
        self.weights, self.slots = np.empty(most), np.empty(most, np.int64)
        self.memory, self.out = memory, np.empty(n)
        self.places, self.rank = np.empty((2, most), np.int64)
        self.block = np.empty((0, 0), np.float32)
        self.team, self.own = Team(self._work, thread_count(workers)), self._space()

    def _space(self) -> tuple[np.ndarray, ...]:
        """The private workspace of a thread."""
        return (
            _aligned(_DEEP * _TILE, np.float32), _aligned(_TILE, np.float32),
            _aligned(_TILE, np.float64), _aligned(_TILE * self.left.shape[1], np.uint32),
            _aligned(_TILE, np.int32),
        )  # fmt: skip

    def _work(self, control: np.ndarray, member: int) -> None:
        _work(
            control, member, self.left, self.right, self.inside, self.factors.unit, self.weights,
            self.slots, self.memory, self.out, self.places, self.rank, self.block,
            *(self._space() if member else self.own),
        )  # fmt: skip

    def _share(self, entries: int, tasks: int, *parameters: int) -> None:
        check_cancelled()
        self.team.run(tasks, entries // _EACH, *parameters)

    def activate(self, active: np.ndarray) -> None:
        """Make these variables active."""
        _copy(self.factors.right, self.sample[active], self.right)

    def fill(self, working: WorkingSet, new: np.ndarray) -> None:
        """Bring the block up to date at the places ``new``."""
        m, count = len(working.members), len(new)
        working.make_room(m)
        _enter(
            new, working.members, working.active, self.sample, *self.factors[:2], self.left,
            self.inside, self.places, self.rank,
        )  # fmt: skip
        if working.block is not self.block:  # it has grown
            self.block = working.block
            self.team.dismiss()
            self.team = Team(self._work, self.team.workers)
        self._share(m * count, -(-count // _STRIP), _BLOCK, m, _STRIP, count)

    def add(
        self,
        g: np.ndarray,
        variables: np.ndarray,
        weights: np.ndarray,
        once: int,
        missing: int,
        slots: np.ndarray,
    ) -> None:
        """g += weights @ K[variables].

        Rows of the first ``once`` variables are not kept; those of the others are, in these slots,
        and the first ``missing`` of these still have to be computed.
        """
        step = _DEEP * max(1, _AT_ONCE // (_DEEP * len(g)))
        while once > step:
            self._change(g, variables[:step], weights[:step], step, 0, slots[:0])
            variables, weights, once = variables[step:], weights[step:], once - step
        self._change(g, variables, weights, once, missing, slots)

    def _change(
        self,
        g: np.ndarray,
        variables: np.ndarray,
        weights: np.ndarray,
        once: int,
        missing: int,
        slots: np.ndarray,
    ) -> None:
        n, count = len(g), len(variables)
        self.weights[:count], self.slots[once:count] = weights, slots
        _copy(self.factors.left, self.sample[variables[: once + missing]], self.left)
        width = max(_NARROWEST, min(_TILE, n // _TASKS & -_VECTOR))
        entries = n * (once + missing + len(slots) // 8)
        self._share(entries, -(-n // width), _CHANGE, n, width, once, missing, len(slots))
        g += self.out[:n]


def _copy(values: np.ndarray, index: np.ndarray, out: np.ndarray) -> None:
    """out[: len(index)] = values[index]."""
    values.take(index, axis=0, out=out[: len(index)], mode="clip")  # nothing is to be clipped


def _aligned(size: int, dtype: Any) -> np.ndarray:
    """An array that begins with a line of the processor's cache, so that no vector spans two."""
    memory = np.empty(size * np.dtype(dtype).itemsize + _LINE, np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + size * np.dtype(dtype).itemsize].view(dtype)
