"""A team of threads that stay in compiled code and execute one short parallel phase after another.

:func:`~.threads.run` hands Python functions to a pool, and a thread that begins or ends one needs
the interpreter lock. In a loop with hundreds of parallel steps of less than a millisecond, waiting
for the lock takes as long as the work. The threads of a team are started once and wait in compiled
code, without the interpreter lock, for the next phase. A phase is a number of independent tasks,
followed by a barrier: the calling thread and its helpers claim tasks one at a time, and the call
returns when all of them are finished.

The threads share one array of 64-bit words, ``control``. These invariants make it safe:

* A task is claimed by decrementing ``_REMAINING`` with a compare-and-swap. A thread that is late
  thus claims a task of the current phase, whichever that is, or none.
* The caller changes the description of a phase (``TASKS``, and the words from ``PARAMETERS`` on)
  only when all tasks of the previous phase are finished, that is, when no other thread holds one
  and none is left to claim.
  A late thread may read ``HELPERS`` at any time, which only decides who is woken and who joins.
* A thread that is about to sleep sets its flag, then looks once more at the word that it waits for;
  whoever changes that word looks at the flag afterwards. Clearing the flag is an atomic exchange:
  the thread that clears it, and only that one, releases the lock, once. So no wake-up is lost, and
  no lock is released twice.
* Once ``_PHASE`` is ``_CLOSED``, it stays so, even if a caller is between two phases.

Sleeping threads wake each other along a tree, so that the caller does not have to wake all of them.
No phase depends on a helper waking up: the caller itself executes whatever nobody else has claimed.
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

# Words of ``control``; those that different threads write are on cache lines of their own.
_PHASE = 0  # phases started so far, or _CLOSED
_REMAINING = 16  # tasks that have not been claimed
_FINISHED = 32  # tasks that are finished
_CALLER_SLEEPS = 48
TASKS, HELPERS = 64, 65  # of the phase: how many tasks it has, and how many helpers should join
_ACQUIRE, _RELEASE = 66, 67  # addresses of the functions of locks
_SPINS = 68  # polls of a word before a thread goes to sleep
PARAMETERS = 80  # from here to _MEMBERS: what the tasks of a phase need to know
_MEMBERS, _LINE = 128, 16  # for each member, from here on: whether it sleeps,
_LOCK = 1  # and the lock that it sleeps on

_CLOSED = -1
_CHILDREN = 4  # threads that each thread wakes
_LONG_SPIN, _SHORT_SPIN = (
    20_000,
    50,
)  # about a millisecond; where there are fewer cores than threads


@intrinsic
def _load(typing, array, place):
    """An atomic load."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(array, types.intp), generate


@intrinsic
def exchange(typing, array, place, value):
    """Write a word atomically; returns its previous value."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.atomic_rmw("xchg", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def _add(typing, array, place, value):
    """Add to a word atomically; returns its previous value."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def compare_and_swap(typing, array, place, old, new):
    """Write a word if it still has the old value; returns whether it did."""
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
def _lock_function(typing, function, lock):
    """Acquire or release a lock of Python's C interface, which needs no interpreter lock."""
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
    """Leave the core to its other hardware thread for a moment, on processors that can."""
    from llvmlite import binding, ir
    from numba import types

    def generate(context, builder, signature, args):
        if binding.get_process_triple().startswith(("x86_64", "i686")):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()

    return types.void(), generate


@njit(cache=True, nogil=True)
def await_phase(control, member, known):
    """Wait for a phase after the one that is known; returns its number, negative at the end."""
    own = _MEMBERS + _LINE * member
    spins = 0
    while _load(control, _PHASE) == known:
        spins += 1
        _pause()
        if spins > control[_SPINS]:
            exchange(control, own, 1)
            # if a phase has started since, another thread may have seen the flag, and releases
            if _load(control, _PHASE) == known or exchange(control, own, 0) == 0:
                _lock_function(control[_ACQUIRE], control[own + _LOCK])
    number = _load(control, _PHASE)
    _wake_children(control, member)
    return number


@njit(cache=True, nogil=True)
def _wake_children(control, member):
    """Wake those among the helpers of the phase that this thread is responsible for."""
    last = min(_CHILDREN * (member + 1), _load(control, HELPERS))
    for other in range(_CHILDREN * member + 1, last + 1):
        own = _MEMBERS + _LINE * other
        if _load(control, own) == 1 and exchange(control, own, 0) == 1:
            _lock_function(control[_RELEASE], control[own + _LOCK])


@njit(cache=True, nogil=True)
def claim_task(control):
    """The number of a task of the current phase, which is now ours; negative if none is left."""
    while True:
        left = _load(control, _REMAINING)
        if left == 0:
            return -1
        if compare_and_swap(control, _REMAINING, left, left - 1):
            return control[TASKS] - left


@njit(cache=True, nogil=True)
def finish_task(control):
    """Say that a claimed task is finished; the last one wakes the caller."""
    tasks = control[TASKS]
    if _add(control, _FINISHED, 1) == tasks - 1 and exchange(control, _CALLER_SLEEPS, 0) == 1:
        _lock_function(control[_RELEASE], control[_MEMBERS + _LOCK])


@njit(cache=True, nogil=True)
def start_phase(control):
    """Start the phase that ``control`` describes, and wake its helpers. For the caller only."""
    number = _load(control, _PHASE)
    exchange(control, _FINISHED, 0)
    exchange(control, _REMAINING, control[TASKS])
    if number != _CLOSED and compare_and_swap(control, _PHASE, number, number + 1):
        _wake_children(control, 0)


@njit(cache=True, nogil=True)
def await_tasks(control):
    """The barrier: wait until all tasks of the phase are finished. For the caller only."""
    spins = 0
    while _load(control, _FINISHED) < control[TASKS]:
        spins += 1
        _pause()
        if spins > control[_SPINS]:
            exchange(control, _CALLER_SLEEPS, 1)
            done = _load(control, _FINISHED) == control[TASKS]
            # if all are finished by now, the last thread may have seen the flag, and releases
            if not done or exchange(control, _CALLER_SLEEPS, 0) == 0:
                _lock_function(control[_ACQUIRE], control[_MEMBERS + _LOCK])


@njit(cache=True, nogil=True)
def _close(control, members):
    """Tell all threads that there are no more phases."""
    control[HELPERS] = members
    exchange(control, _PHASE, _CLOSED)
    _wake_children(control, 0)


def _closed_loop(control: np.ndarray, member: int) -> None:
    raise RuntimeError("the team has been dismissed")


class Team:
    """The calling thread and its helpers, which all execute one compiled loop over the phases.

    Parameters
    ----------
    loop : callable
        ``loop(control, member)``. The caller, member 0, executes one phase (:func:`start_phase`,
        :func:`await_tasks`); a helper waits for phases (:func:`await_phase`) until there are no
        more. Both claim tasks and finish them, and raise nothing in between.
    workers : int
        The largest number of threads, the caller among them.

    Attributes
    ----------
    control : array of int64
        What the threads share; words from ``PARAMETERS`` on describe the phase.
    """

    def __init__(self, loop: Callable[[np.ndarray, int], None], workers: int) -> None:
        self.loop, self.workers, self.helpers = loop, workers, workers - 1
        self.control = np.zeros(_MEMBERS + _LINE * workers, np.int64)
        self._lock, self._started, self._left = _thread.allocate_lock(), 0, 0

    def run(self, tasks: int, helpers: int, *parameters: int) -> None:
        """Execute one phase with at most so many helpers, and wait for its end.

        ``parameters`` are written to the words of ``control`` from ``PARAMETERS`` on.
        """
        helpers = min(tasks - 1, helpers, self.helpers)
        control = self.control
        control[TASKS] = tasks
        control[HELPERS] = min(helpers, self.start(self.helpers)) if helpers > 0 else 0
        control[PARAMETERS : PARAMETERS + len(parameters)] = parameters
        self.loop(control, 0)

    def start(self, helpers: int) -> int:
        """Start helpers unless there are as many already; returns how many there are."""
        helpers = min(helpers, self.helpers)
        if self._started < helpers:
            with self._lock:
                if not self._started:
                    self._make_locks()
                for member in range(self._started + 1, helpers + 1):
                    self._started = member  # first: an interrupt must not make two of one number
                    try:
                        _thread.start_new_thread(self._help, (self.loop, member))
                    except RuntimeError:  # the system allows no more threads: go on with fewer
                        self.helpers = self._started = member - 1
                        break
        self.control[_SPINS] = _LONG_SPIN if self._started < cores() else _SHORT_SPIN
        return min(helpers, self._started)

    def dismiss(self) -> None:
        """End the team: helpers return as soon as they are awake, and the loop is released."""
        if self._close():
            self._leave()

    def dismiss_at_exit(self, seconds: float) -> None:
        """End the team, and wait so long for its helpers to leave compiled code.

        Another thread may still be executing a phase, so its locks are not freed.
        """
        self._close()
        until = time.monotonic() + seconds
        while self._left < self._started and time.monotonic() < until:
            time.sleep(0.0001)

    def _close(self) -> bool:
        """Tell the helpers that there are no more phases; returns whether there was anyone to tell.

        The loop is often a method of an object that holds this team.
        """
        first = bool(self._started and self.helpers)
        if first:
            _close(self.control, self._started)
        self.helpers, self.loop = 0, _closed_loop
        return first

    def _help(self, loop: Callable[[np.ndarray, int], None], member: int) -> None:
        try:
            with suppress(MemoryError):  # before its first task: other threads execute them all
                loop(self.control, member)
        finally:
            self._leave()

    def _leave(self) -> None:
        """Count a thread that leaves; the last one, perhaps the caller, frees the locks."""
        with self._lock:
            self._left += 1
            last = self._left == self._started + 1
        if last:
            free = ctypes.pythonapi.PyThread_free_lock
            free.argtypes, free.restype = (ctypes.c_void_p,), None
            for place in self._lock_words():
                free(int(self.control[place]))

    def _make_locks(self) -> None:
        functions = ctypes.pythonapi
        make, acquire = functions.PyThread_allocate_lock, functions.PyThread_acquire_lock
        make.restype, acquire.argtypes = ctypes.c_void_p, (ctypes.c_void_p, ctypes.c_int)
        for place, function in ((_ACQUIRE, acquire), (_RELEASE, functions.PyThread_release_lock)):
            self.control[place] = ctypes.cast(function, ctypes.c_void_p).value or 0
        for place in self._lock_words():
            lock = make()
            if lock is None:
                raise MemoryError("the system has no more locks for threads.")
            acquire(lock, 1)  # a thread goes to sleep by acquiring it again
            self.control[place] = lock

    def _lock_words(self) -> range:
        return range(_MEMBERS + _LOCK, len(self.control), _LINE)
