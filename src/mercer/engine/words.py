"""Words that threads share, in compiled code: changed as a whole, and looked at while they wait.

A core that has nothing to do is put to sleep, by virtual machines above all, and it takes up to a
millisecond until a thread on it goes on. Where one task soon follows another, threads rather look
out for it for a moment, and give way to all others that want to work meanwhile.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any

from .._compiled import intrinsic, njit

LOOKS = 50_000  # before a thread sleeps: a few milliseconds
_ROUND = 32  # of them, after which others come first


@intrinsic
def load(typing, array, place):
    """What a word is now."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.load_atomic(address, "seq_cst", 8)

    return types.int64(array, types.intp), generate


@intrinsic
def exchange(typing, array, place, value):
    """Write a word; what it was before."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.atomic_rmw("xchg", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def add(typing, array, place, value):
    """Add to a word; what it was before."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        return builder.atomic_rmw("add", address, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), generate


@intrinsic
def replace(typing, array, place, old, new):
    """Write a word if it is what it was; whether it has been written."""
    from numba import types

    def generate(context, builder, signature, args):
        address = _address(context, builder, signature, args)
        found = builder.cmpxchg(address, args[2], args[3], "seq_cst", "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(array, types.intp, types.int64, types.int64), generate


def _address(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    values = context.make_array(signature.args[0])(context, builder, args[0])
    return builder.gep(values.data, [args[1]])


@intrinsic
def call_routine(typing, routine, lock):
    """Call a routine that takes a lock of Python, or nothing, and no interpreter lock."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        word, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(number, [word, number]).as_pointer()
        function = builder.inttoptr(args[0], kind)
        builder.call(function, [builder.inttoptr(args[1], word), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), generate


@intrinsic
def _pause(typing):
    """Leave the core to the other thread on it for a moment, where processors can."""
    from llvmlite import binding, ir
    from numba import types

    def generate(context, builder, signature, args):
        if binding.get_process_triple().startswith(("x86_64", "i686")):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        return context.get_dummy_value()

    return types.void(), generate


@njit(cache=True, nogil=True)
def linger(look, give_way):
    """What a thread does between two looks, given where :func:`give_way` is."""
    if look % _ROUND:
        _pause()
    else:
        call_routine(give_way, 0)


@cache
def give_way() -> int:
    """The address of the routine by which a thread lets others go first."""
    if sys.platform == "win32":
        routine = ctypes.WinDLL("kernel32").SwitchToThread
    else:
        routine = ctypes.CDLL(None).sched_yield
    return ctypes.cast(routine, ctypes.c_void_p).value or 0
