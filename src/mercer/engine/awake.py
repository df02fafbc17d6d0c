"""Waiting without going to sleep, for a moment (:mod:`~.words`), where Python code waits."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._compiled import njit
from .words import LOOKS, give_way, linger, load


@njit(cache=True, nogil=True)
def _watch(words, enough, give_way):
    """Look at these words until they add up to enough, or so often."""
    for look in range(1, LOOKS):
        total = np.int64(0)
        for k in range(words.size):
            total += load(words, k)
        if total >= enough:
            break
        linger(look, give_way)


def watch(words: np.ndarray[Any, Any], enough: int) -> None:
    """Wait until these integers add up to enough, or for some milliseconds at most.

    Without the interpreter lock. It returns at once in processes that have not needed compiled
    loops so far.
    """
    if "numba" in sys.modules:
        _watch(words, enough, give_way())
