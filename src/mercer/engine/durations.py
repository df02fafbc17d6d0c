"""Durations: in words, and from words."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_UNITS = {"s": 1, "sec": 1, "second": 1, "min": 60, "minute": 60, "h": 3600, "hour": 3600,
          "day": 86_400}  # fmt: skip


def parse_duration(value: float | str) -> float:
    """Seconds from a number of seconds or a string such as ``"10 min"``.

    Examples
    --------
    >>> from mercer.engine.durations import parse_duration
    >>> parse_duration("1.5 h"), parse_duration(20)
    (5400.0, 20.0)
    """
    if isinstance(value, str):
        match = re.fullmatch(r"\s*(\d+\.?\d*)\s*(s|[a-z]+?)s?\s*", value.lower())
        if match is None or match[2] not in _UNITS:
            raise ValueError(f'a duration is seconds or a string like "10 min", got {value!r}.')
        return float(match[1]) * _UNITS[match[2]]
    return float(value)


def duration_words(seconds: float) -> str:
    """A duration in words: ``"12 min"``.

    Examples
    --------
    >>> from mercer.engine.durations import duration_words
    >>> [duration_words(s) for s in (0.0123, 4.2, 75, 7500, 2e5)]
    ['12 ms', '4.2 s', '75 s', '125 min', '56 h']
    """
    if not np.isfinite(seconds):
        return "for ever"
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.2g} ms"
    if seconds < 10:
        return f"{seconds:.2g} s"
    for most, unit, name in ((600, 1, "s"), (36_000, 60, "min"), (1e6, 3600, "h")):
        if seconds < most:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} days"


def is_duration(value: Any) -> str | None:
    """None for a positive duration, or for None; what it should be otherwise."""
    try:
        return None if value is None or parse_duration(value) > 0 else "a positive duration"
    except (TypeError, ValueError):
        return 'a number of seconds or a string like "10 min"'
