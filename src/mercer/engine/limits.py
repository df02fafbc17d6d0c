"""Threads and memory that a plan allows, for everything that is called meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_here = threading.local()


@contextmanager
def within(workers: int | None, memory: float) -> Iterator[None]:
    """A context in which so many threads and bytes are used by whoever is not told otherwise.

    It holds in this thread, and in jobs that it hands to others; the narrower one of two counts.

    Examples
    --------
    >>> from mercer.engine.limits import most_memory, most_workers, within
    >>> with within(2, 1e9), within(None, 2e9):
    ...     most_workers(), most_memory()
    (2, 1000000000.0)
    """
    before = limits()
    _here.limits = narrower(before, (workers, memory))
    try:
        yield
    finally:
        _here.limits = before


def narrower(
    one: tuple[int | None, float], other: tuple[int | None, float]
) -> tuple[int | None, float]:
    """The limits that keep to both."""
    counts = [workers for workers in (one[0], other[0]) if workers is not None]
    return min(counts, default=None), min(one[1], other[1])


def limits() -> tuple[int | None, float]:
    """Threads and bytes."""
    return getattr(_here, "limits", (None, float("inf")))


def most_workers() -> int | None:
    """The threads that may be used; None for all cores."""
    return limits()[0]


def most_memory() -> float:
    """The bytes that may be used."""
    return limits()[1]
