"""Threads that stay in compiled code and share one short task after another.

:func:`~.threads.run` hands Python functions to a pool, and threads that begin or end one wait for
the interpreter lock, one after the other. Where a loop has hundreds of tasks of less than a
millisecond, that takes as long as the work. The threads of a crew are called once, and wait in
compiled code, without the interpreter lock, for the next task. A task is divided into pieces:
whoever is free takes the next one, and the last to finish one wakes the caller. Threads sleep
while they wait, and each wakes a few others, so that none has to wake many.

What they share lies in one array, ``control``. One word holds both the number of the task and how
many pieces are left, and is replaced as a whole: a thread that comes late takes a piece of the
present task or none. A task ends when all its pieces are finished, and what they need to know
stays as it is until then.
"""

from __future__ import annotations

import _thread
import ctypes
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from .._compiled import intrinsic, njit
from .threads import cores

FREE = 80  # words from here on are for what the pieces of a task need to know, up to
_MEMBERS, _LINE = 128, 16  # those of each thread, on cache lines of their own: does it sleep?
_LOCK = 1  # and the lock on which it sleeps
_CALL, _LEFT, _DONE, _WAITING = 0, 16, 32, 48  # tasks so far; pieces; does the caller sleep?
PIECES, WANTED, _TAKE, _GIVE = 64, 65, 66, 67  # pieces; threads; the routines of locks
_PATIENCE = 68  # looks at a word before a thread sleeps
_OVER = -1  # the number of no task: threads leave
_HALF = 32  # bits: above them is the number of a task, below the number of pieces left
_EACH = 4  # threads that one wakes
_LOOKS = 20_000  # that are about a millisecond, and
_FEW = 50  # where there are fewer cores than threads


@intrinsic
def _load(typing, array, place):
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(array, types.intp), generate


@intrinsic
def exchange(typing, array, place, value):
    """Write a word; what it was before."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.atomic_rmw("xchg", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def _add(typing, array, place, value):
    """Add to a word; what it was before."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def replace(typing, array, place, old, new):
    """Write a word if it is what it was; whether it has been written."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        found = builder.cmpxchg(address, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(array, types.intp, types.int64, types.int64), generate


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    values = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(values.data, [args[1]])


@intrinsic
def _call(typing, routine, lock):
    """Call a routine of Python's locks, which needs no interpreter lock, by its address."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        word, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(number, [word, number]).as_pointer()
        function = builder.inttoptr(args[0], kind)
        builder.call(function, [builder.inttoptr(args[1], word), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def _pause(typing):
    """Leave the core to the other thread on it for a moment, where processors can."""
    from llvmlite import binding, ir
    from numba import types

    def generate(context, builder, signature, args):
        if binding.get_process_triple().startswith(("x86_64", "i686")):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()

    return types.void(), generate


@njit(cache=True, nogil=True)
def await_call(control, member, known):
    """The number of the next task after the one that is known; negative: there are no more."""
    own = _MEMBERS + _LINE * member
    looks = 0
    while _load(control, _CALL) == known:
        looks += 1
        _pause()
        if looks > control[_PATIENCE]:
            exchange(control, own, 1)
            # a call that came in between has been told to wake this thread, or found it awake
            if _load(control, _CALL) == known or exchange(control, own, 0) == 0:
                _call(control[_TAKE], control[own + _LOCK])
    number = _load(control, _CALL)
    _wake(control, member)
    return number


@njit(cache=True, nogil=True)
def _wake(control, member):
    """Wake the threads that this one has to, of those that are wanted."""
    for other in range(_EACH * member + 1, min(_EACH * (member + 1), control[WANTED]) + 1):
        own = _MEMBERS + _LINE * other
        if _load(control, own) == 1 and exchange(control, own, 0) == 1:
            _call(control[_GIVE], control[own + _LOCK])


@njit(cache=True, nogil=True)
def take_piece(control):
    """The number of a piece of the present task that nobody has taken; negative if all are."""
    while True:
        word = _load(control, _LEFT)
        left = word & ((1 << _HALF) - 1)
        if left == 0:
            return -1
        if replace(control, _LEFT, word, word - 1):
            return control[PIECES] - left


@njit(cache=True, nogil=True)
def finish_piece(control):
    """Say that a piece is finished; the last one wakes the caller."""
    pieces = control[PIECES]
    if _add(control, _DONE, 1) == pieces - 1 and exchange(control, _WAITING, 0) == 1:
        _call(control[_GIVE], control[_MEMBERS + _LOCK])


@njit(cache=True, nogil=True)
def call(control):
    """Begin the task that ``control`` describes, and wake as many other threads as it says."""
    number = _load(control, _CALL) + 1
    exchange(control, _DONE, 0)
    exchange(control, _LEFT, number << _HALF | control[PIECES])
    exchange(control, _CALL, number)
    _wake(control, 0)


@njit(cache=True, nogil=True)
def await_pieces(control):
    """Wait until all pieces are finished."""
    looks = 0
    while _load(control, _DONE) < control[PIECES]:
        looks += 1
        _pause()
        if looks > control[_PATIENCE]:
            exchange(control, _WAITING, 1)
            done = _load(control, _DONE) == control[PIECES]
            # whoever has finished the last piece gives the lock if it has found this thread asleep
            if not done or exchange(control, _WAITING, 0) == 0:
                _call(control[_TAKE], control[_MEMBERS + _LOCK])


@njit(cache=True, nogil=True)
def _dismiss(control, members):
    """Tell all threads that there are no more tasks."""
    control[WANTED] = members
    exchange(control, _CALL, _OVER)
    _wake(control, 0)


def _nothing(control: np.ndarray, member: int) -> None:
    raise RuntimeError("the crew has been dismissed")


class Crew:
    """The caller and other threads, which all run one compiled loop over the tasks.

    Parameters
    ----------
    loop : callable
        ``loop(control, member)``: as member 0 it begins and ends one task (:func:`call`,
        :func:`await_pieces`); as another one it waits for tasks (:func:`await_call`) until there
        are no more. Both take pieces and finish them. It raises nothing between these two.
    workers : int
        Threads in all.

    Attributes
    ----------
    control : array of int64
        What they share; words from ``FREE`` on are parameters of the task.
    """

    def __init__(self, loop: Callable[[np.ndarray, int], None], workers: int) -> None:
        self.loop, self.workers, self.others, self._begun = loop, workers, workers - 1, 0
        self.control = np.zeros(_MEMBERS + _LINE * workers, np.int64)
        self._lock, self._gone = _thread.allocate_lock(), 0

    def share(self, pieces: int, wanted: int, *about: int) -> None:
        """Share a task of so many pieces with so many other threads, and see it end.

        ``about`` is what the pieces need to know, in words of ``control`` from ``FREE`` on.
        """
        others = min(pieces - 1, wanted, self.others)
        control = self.control
        control[PIECES] = pieces
        control[WANTED] = min(others, self.begin(self.others)) if others > 0 else 0
        control[FREE : FREE + len(about)] = about
        self.loop(control, 0)

    def begin(self, others: int) -> int:
        """Start other threads, unless so many are there already; how many there are."""
        others = min(others, self.others)
        if self._begun < others:
            with self._lock:
                if not self._begun:
                    self._make_locks()
                for member in range(self._begun + 1, others + 1):
                    self._begun = member  # before it is: no two threads are the same member
                    try:
                        _thread.start_new_thread(self._work, (self.loop, member))
                    except RuntimeError:  # there are too many threads: fewer do
                        self.others = self._begun = member - 1
                        break
        self.control[_PATIENCE] = _LOOKS if self._begun < cores() else _FEW
        return min(others, self._begun)

    def dismiss(self, seconds: float = 0.0) -> None:
        """The other threads leave, each as soon as it is awake; they are waited for that long.

        There are no more tasks, and the loop is forgotten: it may well know the crew.
        """
        if self._begun and self.others:  # the first time
            _dismiss(self.control, self._begun)
            self._leave()
        self.others, self.loop = 0, _nothing
        until = time.monotonic() + seconds
        while self._begun and self._gone <= self._begun and time.monotonic() < until:
            time.sleep(0.0001)

    def _work(self, loop: Callable[[np.ndarray, int], None], member: int) -> None:
        try:
            with suppress(MemoryError):  # before the first piece: the others take them all
                loop(self.control, member)
        finally:
            self._leave()

    def _leave(self) -> None:
        """Leave; the last one, who may be the caller, frees what threads sleep on."""
        with self._lock:
            self._gone += 1
            last = self._gone == self._begun + 1
        if last:
            free = ctypes.pythonapi.PyThread_free_lock
            free.argtypes, free.restype = (ctypes.c_void_p,), None
            for own in self._locks():
                free(int(self.control[own]))

    def _make_locks(self) -> None:
        routines = ctypes.pythonapi
        make, take = routines.PyThread_allocate_lock, routines.PyThread_acquire_lock
        make.restype, take.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int)
        for place, routine in ((_TAKE, take), (_GIVE, routines.PyThread_release_lock)):
            self.control[place] = ctypes.cast(routine, ctypes.c_void_p).value or 0
        for own in self._locks():
            lock = make()
            take(lock, 1)  # to sleep on it is to take it again
            self.control[own] = lock

    def _locks(self) -> range:
        return range(_MEMBERS + _LOCK, len(self.control), _LINE)
