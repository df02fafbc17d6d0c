"""Calls of BLAS and LAPACK as tables of numbers, performed by threads without the interpreter.

A factorisation consists of hundreds of calls that take some ten microseconds each. Threads that
make them in Python wait for the interpreter lock, one after the other, for longer than that. All
routines take nothing but addresses, so a call is a row of numbers: the address of the routine and
those of its arguments. A :class:`Score` is a table of such rows, in phases, one after the other;
a phase consists of pieces, in any order, and a piece of calls, one after the other. It is written
once for arrays of some shape, and performed on any of that shape: by a :class:`~.crew.Crew` that
this process keeps, whose threads read the table in compiled code; or, where that would have to be
loaded for little work, in Python. The numbers that come out are the same.
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

from .call_loops import WIDTH, assist, share
from .crew import Crew
from .routines import address
from .threads import go_on, hands, one_blas_thread, run

# operations are those of products of matrices that take as long
# c: a letter, n: a whole number, s: a scalar, p: a place in an array, i: where info is written
_ROUTINES: dict[str, tuple[str, str, Callable[..., Any]]] = {  # library, arguments, operations
    "axpy": ("blas", "nspnpn", lambda n, *_: 2.0 * n),
    "gemv": ("blas", "cnnspnpnspn", lambda m, n, *_: 20.0 * m * n),
    "gemm": ("blas", "ccnnnspnpnspn", lambda m, n, k, *_: 2.0 * m * n * k),
    "syrk": ("blas", "ccnnspnspn", lambda n, k, *_: 1.0 * n * n * k),
    "lacpy": ("lapack", "cnnpnpn", lambda m, n, *_: 1.0 * m * n),
    "geqrf": ("lapack", "nnpnppni", lambda m, n, *_: 2.0 * m * n * n),
    "orgqr": ("lapack", "nnnpnppni", lambda m, n, *_: 2.0 * m * n * n),
    "potrf": ("lapack", "cnpni", lambda n, *_: n**3 / 3),
    "trtrs": ("lapack", "cccnnpnpni", lambda n, m, *_: 1.0 * n * n * m),
}
_MOST = 256  # threads
_WORTH = 1e6  # operations that are worth another thread, which takes 20 microseconds for them
_HANDED = 1e7  # those that are worth one of the pool
_AT_ONCE = 5e9  # operations of each thread after which Ctrl-C is heard
_PATIENCE = 1.0  # seconds that a process waits for its threads at its end
_LOADED = 1e10  # operations after which compiled code is worth loading
_scalars = {name: np.array([0, 1, -1], name) for name in ("float32", "float64")}
_letters = np.arange(128, dtype=np.uint8)
_LETTERS_AT = _letters.ctypes.data
_done = 0.0  # operations so far, in this process
_ranges: dict[int, np.ndarray] = {}  # never dropped, as their addresses are in tables


class At(NamedTuple):
    """Places in one of the arrays that a score is performed on: its number, and how far in."""

    array: int
    offset: Any = 0


class Calls(NamedTuple):
    """Some calls: their words, in which array each place is, operations, and their infos."""

    words: np.ndarray
    arrays: np.ndarray
    work: np.ndarray
    infos: np.ndarray

    def joined(self, *others: Calls) -> Calls:
        """These, and calls of other routines."""
        return Calls(*map(np.concatenate, zip(self, *others, strict=True)))

    def taken(self, order: np.ndarray) -> Calls:
        """The same in another order."""
        return Calls(self.words[order], self.arrays[order], self.work[order], self.infos)


class Score:
    """Calls of routines in one precision, to be performed on arrays.

    Parameters
    ----------
    dtype : dtype
        Of all arrays.

    Examples
    --------
    C = B A, seen by columns, and then the lower triangle of A - C C':

    >>> import numpy as np
    >>> from mercer.engine.calls import At, Score
    >>> score = Score(np.float64)
    >>> score.phase(score.calls("gemm", "N", "N", 2, 2, 2, 1, At(0), 2, At(1), 2, 0, At(2), 2))
    >>> score.phase(score.calls("syrk", "U", "T", 2, 2, -1, At(2), 2, 1, At(0), 2))
    >>> A, B, C = np.eye(2), np.ones((2, 2)), np.empty((2, 2))
    >>> score.perform(A, B, C)
    array([], dtype=int32)
    >>> A
    array([[-1.,  0.],
           [-2., -1.]])
    """

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self._scalars = _scalars[self.dtype.name].ctypes.data
        self._phases = [0]  # the first piece of each
        self._tables: list[tuple[np.ndarray, ...]] = []
        self._plans: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._calls = self._infos = 0

    def calls(self, name: str, *args: Any) -> Calls:
        """Calls of a routine, as many as the longest of its arguments says.

        Letters are given as such, whole numbers as numbers or arrays of them, the scalars 0, 1 and
        -1 by value, and arrays as :class:`At`. ``info`` is left out.
        """
        library, kinds, operations = _ROUTINES[name]
        size, given = self.dtype.itemsize, iter(args)
        numbers = [arg for arg, kind in zip(args, kinds, strict=False) if kind == "n"]
        offsets = [arg.offset for arg in args if isinstance(arg, At)]
        count = max([len(v) for v in (*numbers, *offsets) if np.ndim(v)], default=1)
        first = _numbers(max(int(v.max(initial=0)) if np.ndim(v) else int(v) for v in numbers))
        words, bases = [address(self.dtype, name, library)], [0]
        varying: dict[int, np.ndarray] = {}
        infos = np.zeros(0, np.int64)
        for place, kind in enumerate(kinds, 1):
            word: Any
            base = 0
            if kind == "i":
                infos = np.arange(self._infos, self._infos + count)
                self._infos += count
                word, base = 4 * infos, 1
            else:
                value = next(given)
                if kind == "n":
                    word = first + 4 * value
                elif kind == "p":
                    word, base = size * value.offset, value.array + 2
                elif kind == "c":
                    word = _LETTERS_AT + ord(value)
                else:
                    word = self._scalars + size * (value % 3)
            if np.ndim(word):
                varying[place], word = word, 0
            words.append(word)
            bases.append(base)
        rest = [0] * (WIDTH - len(words))
        table, arrays = np.empty((count, WIDTH), np.int64), np.empty((count, WIDTH), np.int8)
        table[:], arrays[:] = words + rest, bases + rest
        for place, column in varying.items():
            table[:, place] = column
        work = np.broadcast_to(np.asarray(operations(*numbers), float), count)
        return Calls(table, arrays, work, infos)

    def phase(self, calls: Calls, pieces: Any = None, first: int | None = None) -> None:
        """The next phase.

        Parameters
        ----------
        calls : Calls
            All of them.
        pieces : array of int, optional
            The number of the piece that each belongs to, from 0 on, all of which occur; by default,
            each is one. Calls of a piece keep their order; the longest piece is taken first.
        first : int, optional
            Another piece that is to be taken first.
        """
        if not len(calls.words):
            return
        each = pieces is None
        work = calls.work if each else np.bincount(pieces, calls.work)
        urgent = work.copy()
        if first is not None:
            urgent[first] = np.inf
        longest = np.argsort(-urgent, kind="stable")
        if each:
            order, starts = longest, np.arange(self._calls, self._calls + len(work))
        else:
            order = np.argsort(np.argsort(longest)[pieces], kind="stable")
            count = np.bincount(pieces)[longest]
            starts = self._calls + np.cumsum(count) - count
        self._tables.append((calls.words[order], calls.arrays[order], starts, work[longest]))
        self._phases.append(self._phases[-1] + len(work))
        self._calls += len(order)

    @cached_property
    def _whole(self) -> tuple[np.ndarray, ...]:
        """All calls, the arrays they take, where pieces begin, and operations before that."""
        words, bases, starts, work = map(np.concatenate, zip(*self._tables, strict=True))
        return words, bases, np.append(starts, self._calls), np.append(0.0, np.cumsum(work))

    def perform(self, *arrays: np.ndarray, workers: int | None = None) -> np.ndarray:
        """Perform all calls on these arrays; what routines said in the end, in their order.

        Ctrl-C is heard now and then. Nothing is to be added afterwards.
        """
        info = np.zeros(self._infos, np.int32)
        if not self._calls:
            return info
        words, workers = self.words(info, *arrays), hands(workers)
        starts, work = self._whole[2:]
        with one_blas_thread():
            if workers > 1 and _pays(work[-1]):
                for bounds, wanted in self._batches(workers):
                    go_on()
                    others = _crew.begin(int(wanted.max()))
                    share(_crew.control, words, starts, bounds, np.minimum(wanted, others))
            else:
                for first, last in pairwise(self._phases):
                    worth = 1 + int((work[last] - work[first]) / _HANDED)
                    _in_python(words, starts, first, last, min(workers, worth))
        return info

    def words(self, *arrays: np.ndarray) -> np.ndarray:
        """The table for some arrays, after one for what routines say in the end."""
        table, bases = self._whole[:2]
        return table + np.array([0, *(a.ctypes.data for a in arrays)])[bases]

    def _batches(self, workers: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Phases that compiled code goes through at once: the pieces between which they lie.

        With each comes the number of other threads that are worth it. Phases that would take long
        are divided, so that Ctrl-C is heard.
        """
        known = self._plans.get(workers)
        if known is not None:
            return known
        work, at_once = self._whole[3], workers * _AT_ONCE
        cuts = [0]
        for last in self._phases[1:]:
            while cuts[-1] < last:
                most = int(np.searchsorted(work, work[cuts[-1]] + at_once))
                cuts.append(min(max(most, cuts[-1] + 1), last))
        found, first = [], 0
        while first < len(cuts) - 1:
            last = first + 1
            while last < len(cuts) - 1 and work[cuts[last + 1]] - work[cuts[first]] <= at_once:
                last += 1
            bounds = np.array(cuts[first : last + 1])
            worth = (np.diff(work[bounds]) / _WORTH).astype(np.int64)
            found.append((bounds, np.minimum(np.minimum(worth, np.diff(bounds)) - 1, workers - 1)))
            first = last
        for _, wanted in found:
            np.maximum(wanted, 0, out=wanted)
        self._plans[workers] = found
        return found


def _pays(work: float) -> bool:
    """Is compiled code at hand, or has there been so much work that it had better be?"""
    global _done
    _done += work
    return share.ready or _done >= _LOADED


def _in_python(words: np.ndarray, starts: np.ndarray, first: int, last: int, workers: int) -> None:
    """The pieces of a phase, by the pool."""

    def piece(number: int) -> None:
        perform(words[starts[number] : starts[number + 1]])

    run(piece, range(first, last), workers)


def perform(words: np.ndarray) -> None:
    """Perform calls here and now."""
    for routine, *args in words.tolist():
        _function(routine)(*args)


@cache
def _function(place: int) -> Any:
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (WIDTH - 1))(place)


def _numbers(most: int) -> int:
    """Where in memory the whole numbers from 0 to this one are, one after the other."""
    end = 1 << max(12, most.bit_length())
    known = _ranges.get(end)
    if known is None:  # of threads that come at once, the array of the first is that of all
        known = _ranges.setdefault(end, np.arange(end, dtype=np.int32))
    return known.ctypes.data


# ---- the crew of this process ------------------------------------------------------------------
_crew = Crew(assist, _MOST)


def load() -> None:
    """Have all that is compiled here at hand, before there is anything to do."""
    assist(np.full_like(_crew.control, -1), 1)  # for whom there are no more tasks
    none = np.zeros(1, np.int64)
    share(_crew.control, np.zeros((0, WIDTH), np.int64), none, none, none[:0])


def _after_fork() -> None:
    """A forked child has none of the threads of its parent."""
    global _crew
    _crew = Crew(assist, _MOST)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@atexit.register
def _leave() -> None:
    """Before compiled code is taken away, no thread is in it."""
    _crew.dismiss(_PATIENCE)
