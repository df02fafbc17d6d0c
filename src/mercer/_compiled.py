"""Compiled functions: when they are first called, and also where nothing can be written."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from importlib import import_module
from typing import Any

from .progress import note

_PATIENCE = 1.0  # seconds of compiling after which it is said what takes so long
_lock = threading.RLock()
_prepared: list[Loop] = []


def njit(**options: Any) -> Callable[[Callable[..., Any]], Loop]:
    """:func:`numba.njit` with keywords; ``cache=True`` keeps code where there is a place for it.

    Without any (the package is read-only, there is no home, and ``NUMBA_CACHE_DIR`` is not set, as
    in many containers) numba raises an error. Then functions are compiled again in each process
    instead.
    """
    return lambda function: Loop(function, options)


class Loop:
    """A function that numba compiles when it is called, by Python or by another one.

    Until then numba, which takes longer to import than many a model to fit, is left alone. What
    other loops call is compiled for them alone: without the part that takes Python's objects
    apart, a quarter of all, and without a file, as it becomes a part of theirs.

    Parameters
    ----------
    function : callable
        What to compile.
    options : dict
        Of :func:`numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function, self._options = function, options
        self._dispatcher: Any = None
        self._inner: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return (self._dispatcher or self._prepared())(*args)

    @property
    def ready(self) -> bool:
        """Has it been called in this process, so that there is no more waiting for numba?"""
        return self._dispatcher is not None

    @property
    def _numba_type_(self) -> Any:
        """What another loop calls."""
        with _lock:
            if self._inner is None:
                bare = {"cache": False, "no_cpython_wrapper": True}
                self._inner = _dispatcher(self._function, {**self._options, **bare})
                _generalise(self._inner)
            return self._inner._numba_type_

    def __getattr__(self, name: str) -> Any:
        """What numba and those who look at its functions ask for."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._dispatcher or self._prepared(), name)

    def _prepared(self) -> Any:
        with _lock:
            if self._dispatcher is None:
                self._dispatcher = _dispatcher(self._function, self._options)
                _prepared.append(self)
            return self._dispatcher


class Deferred:
    """What loops call that numba knows how to make, and makes when the first of them is compiled.

    Parameters
    ----------
    make : callable
        Returns what stands for it in compiled code.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._type: Any = None

    @property
    def _numba_type_(self) -> Any:
        from numba.core.registry import cpu_target

        with _lock:
            if self._type is None:
                made = self._make()
                known = cpu_target.typing_context
                known.refresh()  # it looks for what is new only when it is told to
                self._type = known.resolve_value_type(made)
            return self._type


def intrinsic(define: Callable[..., Any]) -> Any:
    """:func:`numba.extending.intrinsic`, without importing numba before it is needed."""

    def make() -> Any:
        from numba.extending import intrinsic

        return intrinsic(define)

    return Deferred(make)


def by_type(choose: Callable[..., Any]) -> Any:
    """A function of loops that is another one for other types: ``choose(types)`` returns it."""

    def make() -> Any:
        from numba.extending import overload

        def chosen() -> None: ...

        overload(chosen)(choose)
        return chosen

    return Deferred(make)


def folders() -> set[str]:
    """Where the code of the loops that have been called is kept, if anywhere."""
    places = (getattr(loop._dispatcher._cache, "cache_path", None) for loop in _prepared)
    return {place for place in places if place is not None}


def _import_numba() -> Any:
    """numba, imported by another thread: Ctrl-C, which the main thread gets, must not stop that.

    Extension modules that it needs cannot be imported again once their import was cut short.
    """
    if "numba" not in sys.modules:
        thread = threading.Thread(target=_try_numba)
        thread.start()
        thread.join()
    return import_module("numba")


def _try_numba() -> None:
    with suppress(ImportError):  # which is raised again where it is seen
        import_module("numba")


def _dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    numba = _import_numba()
    _listen()
    options = {**options, "no_cfunc_wrapper": True}  # nobody passes loops to C
    try:
        return numba.njit(**options)(function)
    except RuntimeError as error:
        if not options.get("cache") or "no locator available" not in str(error):
            raise
    return numba.njit(**{**options, "cache": False})(function)


def _generalise(dispatcher: Any) -> None:
    """Compile a function once for all integers: numba does so for each constant that it gets."""
    from numba import types

    unliteral = types.unliteral
    exact = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, kws: exact(
        tuple(map(unliteral, args)), {name: unliteral(kind) for name, kind in kws.items()}
    )


_ear: Any = None


def _listen() -> None:
    """Say that loops are compiled, once that has taken a while."""
    global _ear
    if _ear is not None:
        return
    import time

    from numba.core import event

    class Ear(event.Listener):
        depth, begun, total = 0, 0.0, 0.0

        def on_start(self, event: Any) -> None:
            self.depth += 1
            if self.depth == 1:
                self.begun = time.perf_counter()

        def on_end(self, event: Any) -> None:
            self.depth -= 1
            before, now = self.total, time.perf_counter()
            if self.depth == 0:
                self.total += now - self.begun
            if before <= _PATIENCE < self.total:
                note(
                    "mercer compiles its loops for this processor: once, and they are kept "
                    "(`mercer warm-up` compiles all of them ahead of time)."
                )

    _ear = Ear()
    event.register("numba:compile", _ear)
