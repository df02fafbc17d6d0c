"""Jobs on all cores: one pool for the whole library, and BLAS held to one thread meanwhile.

Two layers of threads fight for the same cores, so BLAS keeps to one thread while jobs run. That
is a setting of the whole process, and several threads may fit models at once: whoever comes
first holds BLAS, and whoever leaves last gives it back.
"""

from __future__ import annotations

import math
import os
import re
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from typing import Any

from .limits import limits, most_workers, within

_NAME = "mercer-tiles"
_LARGE = 12_000  # rows; LAPACK with threads of its own crashes not far beyond (OpenBLAS)
_KEPT = 32 * 2**20 - 2**16  # bytes
_SMALL = 250  # rows of matrices up to which threads of BLAS wait for each other most of the time
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_here = threading.local()


class CalledOff(BaseException):
    """Ends a job whose result nobody waits for any more; it never leaves :func:`run`."""


def run(job: Callable[[Any], None], items: Iterable[Any], workers: int | None = None) -> None:
    """Call ``job`` on every item, here and on the pool, with BLAS held to one thread.

    This thread does its share: it is awake already, on a core of its own. A job that itself calls
    ``run`` goes on in its own thread: waiting for the pool from inside would never end. After an
    exception in any thread, or Ctrl-C in this one, no job begins, and the call returns when those
    that have begun are done: long ones call :func:`go_on` now and then.
    """
    _keep_what_is_freed()
    items = list(items)
    workers = min(hands(workers), len(items))
    if workers <= 1:
        with one_blas_thread():
            for item in items:
                go_on()
                job(item)
        return
    waiting, called_off, allowed = deque(items), threading.Event(), limits()

    def work() -> None:
        _here.called_off = called_off
        try:
            with within(*allowed):
                take_turns()
        except BaseException:
            called_off.set()
            raise
        finally:
            _here.called_off = None

    def take_turns() -> None:
        while not called_off.is_set():
            try:
                item = waiting.popleft()
            except IndexError:  # the others have taken all
                return
            job(item)

    share = [work]  # emptied in the end: a busy pool keeps what it was given, without its arrays
    others: list[Future[None]] = []
    with one_blas_thread():
        try:
            for _ in range(workers - 1):
                others.append(_pool(workers - 1).submit(lambda: share[0]()))
            with suppress(CalledOff):  # by an error in another thread, which is raised below
                work()
            begun = _await(others)
        except BaseException:  # Ctrl-C may come between any two lines, and while others are awaited
            called_off.set()
            _await(others)
            raise
        finally:
            share.clear()
    for other in begun:
        error = other.exception()
        if error is not None and not isinstance(error, CalledOff):
            raise error


def _await(others: list[Future[None]]) -> list[Future[None]]:
    """Those that had begun, when they are done; the pool may have been busy with other things."""
    begun = [other for other in others if not other.cancel()]
    wait(begun)
    return begun


def hands(workers: int | None = None) -> int:
    """How many threads share jobs that are handed out here, if so many are asked for."""
    return 1 if on_pool() else workers or most_workers() or cores()


def on_pool() -> bool:
    """Is this thread at work on a job?"""
    return getattr(_here, "called_off", None) is not None


def go_on() -> None:
    """Ends the job this thread is at work on, if it has been called off: for loops in long jobs."""
    if on_pool() and _here.called_off.is_set():
        raise CalledOff


def one_blas_thread() -> Any:
    """A context in which BLAS and LAPACK use one thread; jobs of the pool are in one already."""
    return nullcontext() if on_pool() else _hold


def few_threads(rows: int) -> Any:
    """A context for many products of small matrices: BLAS on one thread up to 2000 rows."""
    return one_blas_thread() if rows <= 2000 else nullcontext()


def blas_for(rows: int) -> Any:
    """A context for LAPACK on matrices of so many rows, with threads of its own where they pay.

    Where BLAS is held already, it stays so to the end of this context, whoever leaves before.
    """
    free = _SMALL < rows <= _LARGE and not _hold.users
    return nullcontext() if free else one_blas_thread()


class _Hold:
    """BLAS at one thread as long as any thread wants it so."""

    def __init__(self) -> None:
        self.lock, self.users, self.limits = threading.Lock(), 0, None

    def __enter__(self) -> None:
        with self.lock:
            if self.limits is None:
                with _in_control():
                    self.limits = _blas().limit(limits=1, user_api="blas")
            self.users += 1

    def __exit__(self, *error: object) -> None:
        with self.lock:
            self.users -= 1
            if not self.users and self.limits is not None:
                with _in_control():
                    self.limits.restore_original_limits()
                self.limits = None


_hold = _Hold()


@cache
def cores() -> int:
    """The number of cores this process may use.

    At most those the operating system or a container grants, ``LOKY_MAX_CPU_COUNT`` and
    ``OMP_NUM_THREADS``, by which joblib shares the machine out among its workers. A daemonic
    process, such as a worker of ``multiprocessing.Pool``, has siblings it knows nothing of, and
    takes one unless ``OMP_NUM_THREADS`` says more.
    """
    granted = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        granted = len(os.sched_getaffinity(0))
    asked = _number_in("OMP_NUM_THREADS")
    if asked is None and _is_daemon():
        asked = 1
    limits = (granted, _quota(), _number_in("LOKY_MAX_CPU_COUNT"), asked)
    return max(1, math.ceil(min(limit for limit in limits if limit is not None)))


def _number_in(variable: str) -> int | None:
    """A positive number in the environment; the first of several (one per level of nesting)."""
    first = os.environ.get(variable, "").split(",")[0].strip()
    return int(first) if first.isdecimal() and int(first) > 0 else None


def _is_daemon() -> bool:
    """Is this a daemonic child? (Whoever is one has the module: others need not import it.)"""
    module = sys.modules.get("multiprocessing.process")
    return module is not None and bool(module.current_process().daemon)


def _quota() -> float | None:
    """The cores a Linux control group grants, this process's own or one that contains it."""
    found = []
    with suppress(OSError, ValueError):  # version 1
        folder = _CONTROL_GROUPS / "cpu"
        quota, period = (
            int((folder / f"cpu.cfs_{part}_us").read_text()) for part in ("quota", "period")
        )
        found += [quota / period] if quota > 0 else []
    with suppress(OSError, ValueError):  # version 2
        own = re.search(r"^0::/(.*)$", Path("/proc/self/cgroup").read_text(), re.MULTILINE)
        folder = _CONTROL_GROUPS / (own[1] if own else "")
        for group in (folder, *folder.parents):
            with suppress(OSError, ValueError):  # no such file, or "max"
                quota, period = map(int, (group / "cpu.max").read_text().split())
                found.append(quota / period)
    return min(found, default=None)


@cache
def _keep_what_is_freed() -> None:
    """Let the C library of Linux keep the memory of tiles that are freed, for the next ones.

    At first it gives arrays of more than 128 kB back to the system at once, and the next tile waits
    for fresh pages, zeroed one by one, in all threads together. Once an array has been freed, it
    keeps what is no larger: here one of nearly 32 MB, the most there is to that, never written to.
    """
    import numpy as np

    np.empty(_KEPT, np.uint8)


@cache
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, thread_name_prefix=_NAME)


@cache
def _blas() -> Any:
    import scipy.linalg  # noqa: F401  (its BLAS has to be loaded to be held)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def _in_control() -> Iterator[None]:
    """A context in which threadpoolctl does what this thread says.

    From 3.8 on it does only what the first thread said that changed the setting, for as long as
    that is alive; but whoever leaves last may be another one.
    """
    from threadpoolctl import OpenBLASController

    give_up = getattr(OpenBLASController, "clear_controlling_thread", lambda force: None)
    give_up(force=True)
    try:
        yield
    finally:
        give_up(force=True)


def _after_fork() -> None:
    """A forked child has none of the threads of its parent, and may have fewer cores."""
    _pool.cache_clear()
    cores.cache_clear()
    _here.called_off = None
    _hold.lock, _hold.users = threading.Lock(), 0  # limits stay: the next to leave lifts them


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
