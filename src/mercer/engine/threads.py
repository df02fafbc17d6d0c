"""Jobs on all cores: one thread pool for the library, and BLAS limited to one thread meanwhile.

Two layers of threads would compete for the same cores, so BLAS has one thread while jobs run. That
is a setting of the whole process, and several threads may fit models at once: the first to need the
limit sets it, and the last one lifts it.
"""

from __future__ import annotations

import _thread
import math
import os
import re
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from .limits import limits, most_workers, within

_NAME = "mercer-tiles"
_LARGE = 12_000  # rows; LAPACK with threads of its own crashes not far beyond (OpenBLAS)
_KEPT = 32 * 2**20 - 2**16  # bytes
_SMALL = 250  # rows of matrices up to which threads of BLAS wait for each other most of the time
_CONTROL_GROUPS = Path("/sys/fs/cgroup")
_here = threading.local()


class Cancelled(BaseException):
    """Ends a job whose result is no longer needed; it never leaves :func:`run`."""


def run(job: Callable[[Any], None], items: Iterable[Any], workers: int | None = None) -> None:
    """Call ``job`` on every item, in this thread and on the pool, with BLAS limited to one thread.

    This thread takes part, as it is running already. A job that itself calls ``run`` executes those
    jobs in its own thread: to wait for the pool from inside would be a deadlock. After an exception
    in any thread, or Ctrl-C in this one, no job begins, and the call returns when those that have
    begun are done; long ones call :func:`check_cancelled` regularly.
    """
    _keep_what_is_freed()
    items = list(items)
    workers = min(thread_count(workers), len(items))
    if workers <= 1:
        with one_blas_thread():
            for item in items:
                check_cancelled()
                job(item)
        return
    call = _Call(job, items, workers - 1)
    with one_blas_thread():
        try:
            for number in range(call.helpers):
                _pool.submit(partial(call.help, number), call.helpers)
            with suppress(Cancelled):  # by an error in another thread, which is raised below
                call.work()
            call.wait()
        except BaseException:  # Ctrl-C may come between any two lines, and while others are awaited
            call.off = True
            call.wait()
            raise
        finally:
            call.forget()
    errors = [e for e in call.ended if e is not None and not isinstance(e, Cancelled)]
    call.ended.clear()
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # whose tracebacks hold this frame, and all that is in it


class _Call:
    """One call of :func:`run`: what is left to do, which helpers have begun, which are done.

    Ctrl-C in the midst of a lock of Python's own, as there are in events and futures, would leave
    it locked, and whoever comes next would wait for ever. So all that threads share here changes in
    single operations of C, and what an interrupted one had done is still there to be seen.
    """

    def __init__(self, job: Callable[[Any], None], items: list[Any], helpers: int) -> None:
        self.job, self.waiting, self.helpers = job, deque(items), helpers
        self.off, self.allowed = False, limits()
        self.begun: dict[int, bool] = {}  # by number; False for those that are not to begin
        self.ended: list[BaseException | None] = []
        self.bell: SimpleQueue[None] = SimpleQueue()

    def work(self) -> None:
        """A share of the items, in this thread."""
        _here.call = self
        try:
            with within(*self.allowed):
                self.take_turns()
        except BaseException:
            self.off = True
            raise
        finally:
            _here.call = None

    def take_turns(self) -> None:
        while not self.off:
            try:
                item = self.waiting.popleft()
            except IndexError:  # the others have taken all
                return
            self.job(item)

    def help(self, number: int) -> None:
        """The share of a thread of the pool, if it comes in time."""
        if not self.begun.setdefault(number, True):
            return
        error: BaseException | None = None
        try:
            self.work()
        except BaseException as raised:
            error = raised
        self.ended.append(error)
        del error
        self.bell.put(None)

    def wait(self) -> None:
        """Until the helpers that have begun are done; the pool may be busy with other things."""
        begun = sum(self.begun.setdefault(number, False) for number in range(self.helpers))
        while len(self.ended) < begun:
            self.bell.get()

    def forget(self) -> None:
        """A busy pool keeps what it was given, without its arrays."""
        vars(self).pop("job", None)
        self.waiting.clear()


class _Pool:
    """Threads that wait for work; there are as many as were ever asked for at once."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.threads = 0

    def submit(self, work: Callable[[], None], threads: int) -> None:
        """Give work to one of so many threads."""
        while self.threads < threads:
            _thread.start_new_thread(self.serve, ())  # Thread.start waits, with locks of its own
            self.threads += 1
        self.queue.put(work)

    def serve(self) -> None:
        threading.current_thread().name = _NAME
        while True:
            self.queue.get()()


_pool = _Pool()


def thread_count(workers: int | None = None) -> int:
    """The number of threads for work that this thread starts, if so many are asked for."""
    return 1 if on_pool() else workers or most_workers() or cores()


def on_pool() -> bool:
    """Is this thread at work on a job?"""
    return getattr(_here, "call", None) is not None


def check_cancelled() -> None:
    """Stop the job of this thread if its run has been cancelled: for loops in long jobs."""
    if on_pool() and _here.call.off:
        raise Cancelled


def one_blas_thread() -> Any:
    """A context in which BLAS and LAPACK use one thread; jobs of the pool are in one already."""
    return nullcontext() if on_pool() else _Request(_hold.held)


def quiet_blas() -> Any:
    """A context in which BLAS has one thread, except where :func:`blas_for` allows all of them.

    A scalar product of 10,000 numbers is enough to wake all its threads, and they spin for a tenth
    of a second, on the cores that our own threads need.
    """
    return nullcontext() if on_pool() else _Request(_hold.quiet)


def few_threads(rows: int) -> Any:
    """A context for many products of small matrices: BLAS on one thread up to 2000 rows."""
    return one_blas_thread() if rows <= 2000 else _Request(_hold.free)


def blas_for(rows: int) -> Any:
    """A context for LAPACK on matrices of so many rows, with threads of its own where they pay.

    If BLAS is limited to one thread already, it stays so to the end of this context.
    """
    free = _SMALL < rows <= _LARGE and not _hold.held
    return _Request(_hold.free) if free else one_blas_thread()


class _Hold:
    """The number of threads of BLAS, from all requests that are active.

    Ctrl-C may interrupt any method, which can then be called again to finish its work. It may also
    prevent a context from being left; its request is dropped with the next change, as requests are
    held by weak references.

    Attributes
    ----------
    held, free, quiet : dict
        Requests for one thread; for all threads, unless there is one of the first kind; and for
        one thread, unless there is one of the second.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.held: _Requests = {}
        self.free: _Requests = {}
        self.quiet: _Requests = {}
        self.before: list[tuple[Any, int]] | None = None  # libraries, with their threads

    def enter(self, requests: _Requests, request: _Request) -> None:
        with self.lock:
            requests[id(request)] = weakref.ref(request)
            self.settle()

    def leave(self, requests: _Requests, request: _Request) -> None:
        with self.lock:
            requests.pop(id(request), None)
            self.settle()

    def settle(self) -> None:
        """Set the number of threads that the requests amount to."""
        for requests in (self.held, self.free, self.quiet):
            for gone in [key for key, request in requests.items() if request() is None]:
                requests.pop(gone)
        one = bool(self.held or (self.quiet and not self.free))
        if one and self.before is None:
            libraries = _blas().lib_controllers
            self.before = [(library, library.num_threads) for library in libraries]
            with _in_control():
                for library, _ in self.before:
                    library.set_num_threads(1)
        elif not one and self.before is not None:
            with _in_control():
                for library, threads in self.before:
                    library.set_num_threads(threads)
            self.before = None


class _Request:
    """A context during which a request is active."""

    def __init__(self, requests: _Requests) -> None:
        self.requests = requests

    def __enter__(self) -> None:
        try:
            _hold.enter(self.requests, self)
        except BaseException:
            _hold.leave(self.requests, self)
            raise

    def __exit__(self, *error: object) -> None:
        try:
            _hold.leave(self.requests, self)
        except BaseException:
            _hold.leave(self.requests, self)
            raise


_Requests = dict[int, weakref.ref[_Request]]
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
    _pool.__init__()  # type: ignore[misc]
    cores.cache_clear()
    _here.call = None
    _hold.lock = threading.RLock()
    for requests in (_hold.held, _hold.free, _hold.quiet):
        requests.clear()  # the next change restores the threads of BLAS


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
