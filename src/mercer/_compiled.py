"""Compiled functions: when they are first called, and also where nothing can be written."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import update_wrapper
from importlib import import_module
from types import CodeType
from typing import Any

from .progress import note

_PATIENCE = 1.0  # seconds of compiling after which it is said what takes so long
_KEPT = "once, and they are kept (`mercer warm-up` compiles all of them ahead of time)."
_LOST = "in every process, until NUMBA_CACHE_DIR names a writable folder in which they are kept."
_lock = threading.RLock()
_prepared: list[Loop] = []
_held: list[Any] = []  # locks, during a fork
_kept = True  # has a place been found for all loops so far?


def njit(**options: Any) -> Callable[[Callable[..., Any]], Loop]:
    """:func:`numba.njit` with keywords; ``cache=True`` keeps code where there is a place for it.

    Without any (the package is read-only, there is no home, and ``NUMBA_CACHE_DIR`` is not set, as
    in many containers) numba raises an error. Then functions are compiled again in each process
    instead.
    """
    return lambda function: Loop(function, options)


class Loop:
    """A function that numba compiles when it is called, by Python or by another one.

    Until then numba, which takes longer to import than many a model to fit, is left alone. Loops
    that are called by other loops are compiled for these only: without the code that unpacks Python
    objects, a quarter of the whole, and without a cache file of their own.

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
        """Attributes that numba, or code that inspects its functions, may request."""
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
    defined_by : callable
        The function that describes it.
    """

    def __init__(self, make: Callable[[], Any], defined_by: Callable[..., Any]) -> None:
        self._make, self.defined_by = make, defined_by
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

    return Deferred(make, define)


def by_type(choose: Callable[..., Any]) -> Any:
    """A function of loops that is another one for other types: ``choose(types)`` returns it."""

    def make() -> Any:
        from numba.extending import overload

        def chosen() -> None: ...

        overload(chosen)(choose)
        return chosen

    return Deferred(make, choose)


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
    global _kept
    numba = _import_numba()
    _listen()
    options = {**options, "no_cfunc_wrapper": True}  # loops are never passed to C
    try:
        made = numba.njit(**options)(function)
        file = getattr(getattr(made, "_cache", None), "_cache_file", None)
        if file is not None:
            file._source_stamp = file._source_stamp, _sources(function)
        return made
    except RuntimeError as error:
        if not options.get("cache") or "no locator available" not in str(error):
            raise
        _kept = False
    return numba.njit(**{**options, "cache": False})(function)


def _sources(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What a loop is compiled from: the files of all functions that it calls, and constants.

    Cached code that was made of other sources must not be used, as it would be if numba, which only
    looks at the file of the loop itself, were left to decide.
    """
    files: set[tuple[str, int, int]] = set()
    constants: dict[str, str] = {}
    known: set[Any] = set()
    calls = [function]
    while calls:
        function = calls.pop()
        if function in known:
            continue
        known.add(function)
        about = os.stat(function.__code__.co_filename)
        files.add(
            (os.path.basename(function.__code__.co_filename), about.st_mtime_ns, about.st_size)
        )
        for name in _names(function.__code__):
            value = function.__globals__.get(name)
            if isinstance(value, Loop):
                calls.append(value._function)
            elif isinstance(value, Deferred):
                calls.append(value.defined_by)
            elif isinstance(value, bool | int | float | str | tuple):
                constants[f"{function.__module__}.{name}"] = repr(value)
    return tuple(sorted(files)), tuple(sorted(constants.items()))


def _names(code: CodeType) -> set[str]:
    """The names in a function and in those inside it."""
    inside = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inside)


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
    """Say that loops are compiled, once that has taken a while; collect no garbage meanwhile.

    The compiler makes millions of objects that it goes on to use: to look through them again and
    again takes a sixth of the time.
    """
    global _ear
    if _ear is not None:
        return
    import time

    from numba.core import event

    class Ear(event.Listener):
        depth, begun, total, collecting, told = 0, 0.0, 0.0, False, False

        def on_start(self, event: Any) -> None:
            if self.depth == 0:
                self.begun, self.collecting = time.perf_counter(), gc.isenabled()
                gc.disable()
            self.depth += 1
            self.tell()

        def on_end(self, event: Any) -> None:
            self.tell()
            self.depth -= 1
            if self.depth == 0:
                self.total += time.perf_counter() - self.begun
                if self.collecting:
                    gc.enable()

        def tell(self) -> None:
            if not self.told and self.total + time.perf_counter() - self.begun > _PATIENCE:
                self.told = True
                note(f"mercer compiles its loops for this processor: {_KEPT if _kept else _LOST}")

    _ear = Ear()
    event.register("numba:compile", _ear)


def _before_fork() -> None:
    """Wait for other threads that compile: a child would wait for their locks for ever."""
    while True:
        compiler = _compiler_lock()
        for lock in (compiler, _lock):  # in the order in which those who compile take them
            if lock is not None:
                lock.acquire()
                _held.append(lock)
        if compiler is _compiler_lock():
            return
        _after_fork()  # another thread has imported numba meanwhile


def _compiler_lock() -> Any:
    module = sys.modules.get("numba.core.compiler_lock")
    return getattr(module, "global_compiler_lock", None)


def _after_fork() -> None:
    while _held:
        _held.pop().release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork
    )
