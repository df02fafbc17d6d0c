"""Schedules of BLAS and LAPACK calls, executed by several threads without the interpreter lock.

A blocked factorisation makes hundreds of calls of some ten microseconds each. Python threads would
spend longer waiting for the interpreter lock between them. All arguments of these routines are
addresses, so a call is a row of integers: the address of the routine and those of its arguments. A
:class:`Schedule` is a table of such rows. It consists of phases with a barrier after each; a phase
consists of independent tasks, and a task of calls that are made in order. It is built once for a
problem of some size, and can be executed on any arrays of that size: by a :class:`~.team.Team` that
the process keeps, whose threads read the table in compiled code, or by Python where there is too
little work to load compiled code for. Both make the same calls, so the results are the same to the
last bit, for any number of threads.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections.abc import Callable
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .routines import address, integer_type
from .schedule_loops import WIDTH, assist, execute
from .team import Team
from .threads import check_cancelled, one_blas_thread, run, thread_count

# For each routine: its library; its arguments (c: a letter, n: an integer, s: a scalar, p: a place
# in an array, i: where info is written); and floating-point operations, or as many as would take as
# long in a product of matrices.
_ROUTINES: dict[str, tuple[str, str, Callable[..., Any]]] = {
    "axpy": ("blas", "nspnpn", lambda n, *_: 2.0 * n),
    "gemv": ("blas", "cnnspnpnspn", lambda m, n, *_: 20.0 * m * n),
    "gemm": ("blas", "ccnnnspnpnspn", lambda m, n, k, *_: 2.0 * m * n * k),
    "syrk": ("blas", "ccnnspnspn", lambda n, k, *_: 1.0 * n * n * k),
    "lacpy": ("lapack", "cnnpnpn", lambda m, n, *_: 1.0 * m * n),
    "geqrf": ("lapack", "nnpnppni", lambda m, n, *_: 2.0 * m * n * n),
    "orgqr": ("lapack", "nnnpnppni", lambda m, n, *_: 2.0 * m * n * n),
    "potrf": ("lapack", "cnpni", lambda n, *_: n**3.0 / 3),
    "trtrs": ("lapack", "cccnnpnpni", lambda n, m, *_: 1.0 * n * n * m),
}
_MOST_THREADS = 256
_PER_THREAD = 1e6  # operations that are worth another thread of the team: it takes 20 microseconds,
_PER_POOL_THREAD = 1e7  # and one of the pool
_BATCH = 5e9  # operations per thread between two checks for Ctrl-C
_LOADING = 1e10  # operations that take as long as loading compiled code
_EXIT = 1.0  # seconds that the end of the process waits for helpers
_scalars = {name: np.array([0, 1, -1], name) for name in ("float32", "float64")}
_letters = np.arange(128, dtype=np.uint8)
_LETTERS_AT = _letters.ctypes.data
_executed = 0.0  # operations so far, in this process


class At(NamedTuple):
    """Places in an array on which a schedule is executed: its number, and how many entries in."""

    array: int
    offset: Any = 0


class Calls(NamedTuple):
    """Some calls: their rows, the array each address is relative to, operations, codes of info."""

    rows: np.ndarray
    bases: np.ndarray
    operations: np.ndarray
    infos: np.ndarray

    def joined(self, *others: Calls) -> Calls:
        """These calls, followed by others."""
        return Calls(*map(np.concatenate, zip(self, *others, strict=True)))

    def taken(self, order: np.ndarray) -> Calls:
        """The same calls in another order."""
        return Calls(self.rows[order], self.bases[order], self.operations[order], self.infos)


class Schedule:
    """A table of calls of BLAS and LAPACK routines in one precision.

    Parameters
    ----------
    dtype : dtype
        Of all arrays.

    Examples
    --------
    C = B A, with matrices stored by columns, and then the lower triangle of A - C C':

    >>> import numpy as np
    >>> from mercer.engine.schedule import At, Schedule
    >>> plan = Schedule(np.float64)
    >>> plan.add_phase(plan.calls("gemm", "N", "N", 2, 2, 2, 1, At(0), 2, At(1), 2, 0, At(2), 2))
    >>> plan.add_phase(plan.calls("syrk", "U", "T", 2, 2, -1, At(2), 2, 1, At(0), 2))
    >>> A, B, C = np.eye(2), np.ones((2, 2)), np.empty((2, 2))
    >>> plan.execute(A, B, C).size
    0
    >>> A
    array([[-1.,  0.],
           [-2., -1.]])
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self._scalars_at = _scalars[self.dtype.name].ctypes.data
        self._integers: list[np.ndarray] = []  # whose addresses are in the table
        self._phases = [0]  # the first task of each
        self._tables: list[tuple[np.ndarray, ...]] = []
        self._batches: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._calls = self._infos = 0

    def calls(self, name: str, *args: Any) -> Calls:
        """Calls of one routine; arguments that are arrays have one entry for each call.

        Parameters
        ----------
        name : str
            Of the routine, without the letter of its precision.
        *args
            Its arguments, without ``info``: letters, integers, the scalars 0, 1 and -1 by value,
            and places in arrays as :class:`At`.
        """
        library, kinds, operations = _ROUTINES[name]
        given = dict(zip(range(1, WIDTH), args, strict=False))
        integers = {place: given[place] for place, kind in enumerate(kinds, 1) if kind == "n"}
        offsets = [arg.offset for arg in args if isinstance(arg, At)]
        varying = [np.size(v) for v in (*integers.values(), *offsets) if np.ndim(v)]
        count = max(varying, default=1)
        integers_at = dict(zip(integers, self._kept(list(integers.values())), strict=True))
        rows, bases = np.zeros((count, WIDTH), np.int64), np.zeros((count, WIDTH), np.int8)
        rows[:, 0], infos = address(self.dtype, name, library), np.zeros(0, np.int64)
        for place, kind in enumerate(kinds, 1):
            if kind == "n":
                rows[:, place] = integers_at[place]
            elif kind == "p":
                array, offset = given[place]
                rows[:, place] = self.dtype.itemsize * np.asarray(offset, np.int64)
                bases[:, place] = array + 2
            elif kind == "c":
                rows[:, place] = _LETTERS_AT + ord(given[place])
            elif kind == "s":
                rows[:, place] = self._scalars_at + self.dtype.itemsize * (given[place] % 3)
            else:
                infos = self._infos + np.arange(count, dtype=np.int64)
                self._infos += count
                rows[:, place], bases[:, place] = integer_type().itemsize * infos, 1
        work = np.broadcast_to(np.asarray(operations(*integers.values()), float), count)
        return Calls(rows, bases, work, infos)

    def _kept(self, values: list[Any]) -> list[np.ndarray]:
        """The addresses of integers, which are kept as long as the schedule."""
        parts, kind = [np.ravel(value) for value in values], integer_type()
        whole = np.concatenate(parts)
        if whole.size and whole.max() > np.iinfo(kind).max:
            raise OverflowError(f"{whole.max()} is larger than the integers of BLAS and LAPACK.")
        self._integers.append(whole.astype(kind))
        places = self._integers[-1].ctypes.data + kind.itemsize * np.arange(whole.size)
        return np.split(places, np.cumsum([len(part) for part in parts])[:-1])

    def add_phase(self, calls: Calls, tasks: Any = None, first: int | None = None) -> None:
        """Add a phase, which begins when the one before has ended.

        Parameters
        ----------
        calls : Calls
            All of its calls.
        tasks : array of int, optional
            The number of the task that each call belongs to; all numbers from 0 on occur. By
            default, each call is a task. Calls of a task keep their order; the longest task is
            started first.
        first : int, optional
            A task to start before all others.
        """
        if not len(calls.rows):
            return
        each = tasks is None
        work = calls.operations if each else np.bincount(tasks, calls.operations)
        priority = work.copy()
        if first is not None:
            priority[first] = np.inf
        sequence = np.argsort(-priority, kind="stable")
        if each:
            order, starts = sequence, np.arange(self._calls, self._calls + len(work))
        else:
            order = np.argsort(np.argsort(sequence)[tasks], kind="stable")
            count = np.bincount(tasks)[sequence]
            starts = self._calls + np.cumsum(count) - count
        self._tables.append((calls.rows[order], calls.bases[order], starts, work[sequence]))
        self._phases.append(self._phases[-1] + len(work))
        self._calls += len(order)

    @cached_property
    def _whole(self) -> tuple[np.ndarray, ...]:
        """All rows, bases, the first call of each task, and the operations before each task."""
        rows, bases, starts, work = map(np.concatenate, zip(*self._tables, strict=True))
        starts = np.append(starts, self._calls).astype(np.int64)
        return rows, bases, starts, np.append(0.0, np.cumsum(work))

    def execute(self, *arrays: np.ndarray, workers: int | None = None) -> np.ndarray:
        """Make all calls on these arrays; no phase may be added afterwards.

        Returns
        -------
        info : ndarray
            The codes that routines report, at the places :attr:`Calls.infos`. A phase in which one
            of them is not 0 is the last that is executed.
        """
        info = np.zeros(self._infos, integer_type())
        if not self._calls:
            return info
        table, workers = self.bound(info, *arrays), thread_count(workers)
        starts, work = self._whole[2:]
        with one_blas_thread():
            if workers > 1 and _compiled_pays(work[-1]):
                for bounds, wanted in self._in_batches(workers):
                    check_cancelled()
                    helpers = _team.start(int(wanted.max()))
                    execute(_team.control, table, starts, bounds, np.minimum(wanted, helpers), info)
                    if info.any():
                        break
            else:
                for first, last in pairwise(self._phases):
                    worth = 1 + int((work[last] - work[first]) / _PER_POOL_THREAD)
                    _execute_in_python(table, starts, first, last, min(workers, worth))
                    if info.any():
                        break
        if info.min(initial=0) < 0:
            raise ValueError(f"argument {-info.min()} of a LAPACK routine is invalid.")
        return info

    def bound(self, info: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
        """The table with the addresses of these arrays, which must outlive it."""
        if any(array.dtype != self.dtype for array in arrays):
            kinds = ", ".join(array.dtype.name for array in arrays)
            raise TypeError(f"a schedule for arrays of {self.dtype} cannot use {kinds}.")
        rows, bases = self._whole[:2]
        places = [0, info.ctypes.data, *(array.ctypes.data for array in arrays)]
        return rows + np.array(places, np.int64)[bases]

    def __deepcopy__(self, memo: dict[int, Any]) -> Schedule:
        return self  # the table holds addresses of its own integers, and no longer changes

    def __reduce__(self) -> Any:
        raise TypeError("a schedule holds addresses, which other processes cannot use.")

    def _in_batches(self, workers: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Phases that compiled code executes between two checks for Ctrl-C.

        For each batch: the first task of each phase, and how many helpers are worth their while.
        Phases that take longer than a batch are divided.
        """
        known = self._batches.get(workers)
        if known is not None:
            return known
        work, most = self._whole[3], workers * _BATCH
        cuts = [0]
        for last in self._phases[1:]:
            while cuts[-1] < last:
                end = int(np.searchsorted(work, work[cuts[-1]] + most))
                cuts.append(min(max(end, cuts[-1] + 1), last))
        batches, first = [], 0
        while first < len(cuts) - 1:
            last = first + 1
            while last < len(cuts) - 1 and work[cuts[last + 1]] - work[cuts[first]] <= most:
                last += 1
            bounds = np.array(cuts[first : last + 1], np.int64)
            threads = np.minimum((np.diff(work[bounds]) / _PER_THREAD).astype(int), np.diff(bounds))
            batches.append((bounds, np.clip(threads - 1, 0, workers - 1).astype(np.int64)))
            first = last
        self._batches[workers] = batches
        return batches


def blocks(start: int, stop: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The first indices and the lengths of blocks of at most ``size`` from ``start`` to ``stop``.

    Examples
    --------
    >>> from mercer.engine.schedule import blocks
    >>> blocks(2, 9, 3)
    (array([2, 5, 8]), array([3, 3, 1]))
    """
    starts = np.arange(start, stop, size, dtype=np.int64)  # offsets exceed 32 bits on all systems
    return starts, np.minimum(starts + size, stop) - starts


def make_calls(table: np.ndarray) -> None:
    """Make the calls of a table, in this thread."""
    for routine, *args in table.tolist():
        check_cancelled()
        _function(routine)(*args)


def _compiled_pays(work: float) -> bool:
    """Is compiled code loaded, or is there, after earlier work, enough to load it for?"""
    global _executed
    _executed += work
    return execute.ready or _executed >= _LOADING


def _execute_in_python(
    table: np.ndarray, starts: np.ndarray, first: int, last: int, workers: int
) -> None:
    """The tasks of a phase, on the pool if more than one thread is to execute them."""
    if workers == 1:
        make_calls(table[starts[first] : starts[last]])
        return
    run(
        lambda task: make_calls(table[starts[task] : starts[task + 1]]), range(first, last), workers
    )


@cache
def _function(place: int) -> Any:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (WIDTH - 1))(place)


# ---- the team of this process ------------------------------------------------------------------
_team = Team(assist, _MOST_THREADS)


def load() -> None:
    """Compile or load the loops of this module ahead of their first use."""
    assist(np.full_like(_team.control, -1), 1)  # returns at once: there are no more phases
    none, info = np.zeros(1, np.int64), np.zeros(0, integer_type())
    execute(_team.control, np.zeros((0, WIDTH), np.int64), none, np.zeros(2, np.int64), none, info)


def _after_fork() -> None:
    """A forked child has none of the threads of its parent."""
    global _team
    _team = Team(assist, _MOST_THREADS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _leave() -> None:
    """Wait for helpers to leave compiled code before it is unloaded."""
    _team.dismiss_at_exit(_EXIT)
