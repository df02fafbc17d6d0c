"""Pictures are computed in a separate process, which is stopped when one takes too long."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

SECONDS = 8.0  # for a picture
FIRST = 90.0  # for the first of a view, when loops may have to be compiled
_MEMORY = 4 << 30


class Worker:
    """A process that answers one payload at a time.

    What waits is bounded: of the requests of one page, only the newest waits, and older ones are
    told that they have been superseded.

    Parameters
    ----------
    target : callable
        Runs in the process, with the connection as its argument; says when it is ready.
    seconds, first : float
        How long a picture may take, and the first one of a view.
    """

    def __init__(
        self,
        target: Callable[[Connection], None] | None = None,
        seconds: float = SECONDS,
        first: float = FIRST,
    ) -> None:
        self.target = target or _serve
        self.seconds, self.first = seconds, first
        self._turn, self._book = Lock(), Lock()
        self._newest: dict[str, int] = {}
        self._known: set[str] = set()
        self._ready = False
        self._process: Any = None
        self._pipe: Any = None

    def start(self) -> None:
        """Start the process, if there is none."""
        if self._process is not None and self._process.is_alive():
            return
        context = get_context("spawn")  # a fork of a process with threads may hang
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=self.target, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._ready = False

    def ask(self, payload: Any, page: str, number: int) -> dict[str, Any]:
        """The answer to a payload, the ``number``-th of a page."""
        with self._book:
            if len(self._newest) > 1000:
                self._newest.clear()
            self._newest[page] = max(number, self._newest.get(page, 0))
        with self._turn:
            if self._newest.get(page, 0) > number:
                return {"superseded": True}
            view = str(payload.get("view")) if isinstance(payload, dict) else ""
            limit = self.seconds if view in self._known else self.first
            try:
                found = self._exchange(payload, limit)
            except (EOFError, OSError):  # the process was killed, for example for its memory
                self._end()
                return {"error": "This picture needs too much memory; try a simpler kernel."}
            if found is None:
                self._end()
                remedy = "try a simpler kernel or fewer points"
                return {"error": f"This took more than {limit:g} s and was stopped; {remedy}."}
            self._known.add(view)
            return found

    def _exchange(self, payload: Any, limit: float) -> dict[str, Any] | None:
        """What the process answers; None if that takes too long."""
        self.start()
        if not self._ready:
            if not self._pipe.poll(self.first):
                return None
            self._ready = bool(self._pipe.recv())
        self._pipe.send(payload)
        return self._pipe.recv() if self._pipe.poll(limit) else None

    def stop(self) -> None:
        """End the process."""
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):
                self._pipe.close()
            process.terminate()
            process.join(2)
            if process.is_alive():
                process.kill()
                process.join(2)


def _serve(pipe: Connection) -> None:
    """The loop of the process: answer, and while nothing is asked, get ready for other views."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends this one
    _limit_memory()
    from threadpoolctl import threadpool_limits

    from .answers import answer
    from .presets import PRESETS, variants

    threadpool_limits(1, "blas")  # a few hundred points are not worth a second thread
    views = {preset.view: preset.payload() for preset in reversed(PRESETS)}
    rest = [*reversed(variants()), *reversed(views.values())]  # taken from the end
    pipe.send(True)
    while True:
        if rest and not pipe.poll(0.05):
            answer(rest.pop())
            continue
        try:
            payload = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(answer(payload))


def _limit_memory() -> None:
    """A kernel that needs terabytes gets an error, if the system supports limits."""
    try:
        import resource
    except ImportError:  # Windows
        return
    with contextlib.suppress(ValueError, OSError):
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        soft = _MEMORY if hard < 0 else min(_MEMORY, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
