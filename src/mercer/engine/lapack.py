"""Long calls of LAPACK and BLAS, such that Ctrl-C need not wait for their end.

Python hears of Ctrl-C between two of its own instructions, and one eigendecomposition may take a
minute. So a long call runs in a thread of its own, and the one that wants its result waits, and
can be interrupted. LAPACK itself cannot: a call that nobody waits for goes on to its end, keeps its
arrays and its cores until then, and its result is dropped.
"""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any

from .threads import blas_for, check_cancelled

_LONG = 1_500  # rows of matrices from which on a call may take long
_LISTEN = 0.1  # seconds between two looks at whether a job has been called off
_calls: weakref.WeakSet[threading.Thread] = weakref.WeakSet()


def lapack(rows: int, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """``call(*args, **options)`` on matrices of so many rows, with the threads that pay there.

    Arrays that are overwritten must not be used again after an interrupt.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engine.lapack import lapack
    >>> lapack(2, np.linalg.eigvalsh, np.array([[2.0, 1.0], [1.0, 2.0]])).round(9)
    array([1., 3.])
    """
    if rows < _LONG:
        with blas_for(rows):
            return call(*args, **options)
    outcome: Future[Any] = Future()

    def work() -> None:
        try:
            with blas_for(rows):
                outcome.set_result(call(*args, **options))
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=work, name="mercer-lapack", daemon=True)
    _calls.add(thread)
    thread.start()
    while not wait([outcome], _LISTEN).done:
        check_cancelled()
    return outcome.result()


def side(*sizes: int) -> int:
    """The rows of a square matrix whose factorisation takes as long as n * m * k operations.

    Examples
    --------
    >>> from mercer.engine.lapack import side
    >>> side(1_000_000, 100, 100)
    2154
    """
    return int(math.prod(sizes) ** (1 / 3))


@atexit.register
def _leave() -> None:
    """Let a process end without a crash while calls that nobody waits for still run.

    What ends takes BLAS apart, under the hands of such a call. The C library of Linux can leave
    that out, and keeps the exit status; elsewhere the last calls are waited for.
    """
    running = [thread for thread in _calls if thread.is_alive()]
    if not running:
        return
    here = ctypes.CDLL(None) if os.name == "posix" else None
    if hasattr(here, "on_exit"):
        here.on_exit(here._exit, None)  # type: ignore[union-attr]
    else:
        for thread in running:
            thread.join()
