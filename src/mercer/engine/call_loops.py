"""The compiled loops by which a crew performs a table of calls of BLAS and LAPACK."""

from __future__ import annotations

import numpy as np

from .._compiled import intrinsic, njit
from .crew import (
    FREE,
    PIECES,
    WANTED,
    await_call,
    await_pieces,
    call,
    exchange,
    finish_piece,
    replace,
    take_piece,
)

WIDTH = 16  # words of a row: the routine, its arguments, and nothing
BUSY, _WORDS, _STARTS = range(FREE, FREE + 3)  # of the crew: is it at work? on which table?


@intrinsic
def _invoke(typing, place):
    """Call a routine with the arguments that follow its address, at this place in memory.

    More are passed than it takes, which those who are called do not see.
    """
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        word, whole = ir.IntType(8).as_pointer(), ir.IntType(64)
        row = builder.inttoptr(args[0], whole.as_pointer())
        words = [builder.load(builder.gep(row, [ir.Constant(whole, k)])) for k in range(WIDTH)]
        kind = ir.FunctionType(ir.VoidType(), [word] * (WIDTH - 1)).as_pointer()
        routine = builder.inttoptr(words[0], kind)
        builder.call(routine, [builder.inttoptr(w, word) for w in words[1:]])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def _word(typing, place, number):
    """A word of those at this place in memory."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        row = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(row, [args[1]]))

    return types.int64(types.int64, types.int64), generate


@njit(cache=True, nogil=True)
def _perform(words, starts, piece):
    for row in range(_word(starts, piece), _word(starts, piece + 1)):
        _invoke(words + 8 * WIDTH * row)


@njit(cache=True, nogil=True)
def _take_part(control):
    while True:
        piece = take_piece(control)
        if piece < 0:
            return
        _perform(control[_WORDS], control[_STARTS], piece)
        finish_piece(control)


@njit(cache=True, nogil=True)
def assist(control, member):
    """What the other threads of the crew do."""
    known = np.int64(0)
    while True:
        known = await_call(control, member, known)
        if known < 0:
            return
        if member <= control[WANTED]:
            _take_part(control)


@njit(cache=True, nogil=True)
def share(control, words, starts, bounds, wanted):
    """Phases of a table, with as many others for each; alone if another thread has the crew."""
    others = 0
    for phase in range(wanted.size):
        others = max(others, wanted[phase])
    shared = others > 0 and replace(control, BUSY, 0, 1)
    for phase in range(wanted.size):
        first, last = bounds[phase], bounds[phase + 1]
        if shared and wanted[phase] > 0:
            control[PIECES], control[WANTED] = last - first, wanted[phase]
            control[_WORDS], control[_STARTS] = words.ctypes.data, starts[first:].ctypes.data
            call(control)
            _take_part(control)
            await_pieces(control)
        else:
            for piece in range(first, last):
                _perform(words.ctypes.data, starts.ctypes.data, piece)
    if shared:
        exchange(control, BUSY, 0)
