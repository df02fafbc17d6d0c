"""Waiting without going to sleep, for a moment.

A core that has nothing to do is put to sleep, by virtual machines above all, and it takes up to a
millisecond until a thread on it goes on. Where one task soon follows another, threads rather look
out for it, and give way to all others that want to work meanwhile.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

import numpy as np

from .._compiled import intrinsic, njit
from .crew import _load, _pause

_LOOKS = 50_000  # at most: some milliseconds
_ROUND = 32  # of them, after which others come first


@intrinsic
def _call(typing, routine):
    """Call a routine that takes nothing, by its address."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(ir.IntType(32), []).as_pointer()
        builder.call(builder.inttoptr(args[0], kind), [])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@njit(cache=True, nogil=True)
def _watch(words, enough, give_way):
    """Look at these words until they add up to enough, or so often."""
    for look in range(_LOOKS):
        total = np.int64(0)
        for k in range(words.size):
            total += _load(words, k)
        if total >= enough:
            break
        if look % _ROUND:
            _pause()
        else:
            _call(give_way)


@cache
def _give_way() -> int:
    """Where the routine is by which a thread lets others go first."""
    if sys.platform == "win32":
        routine = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        routine = ctypes.CDLL(None).sched_yield
    return ctypes.cast(routine, ctypes.c_void_p).value or 0


def watch(words: np.ndarray[Any, Any], enough: int) -> None:
    """Wait until these integers add up to enough, or for some milliseconds at most.

    Without the interpreter lock. It returns at once in processes that have not needed compiled
    loops so far.
    """
    if "numba" in sys.modules:
        _watch(words, enough, _give_way())
