"""The compiled loops with which a team executes a schedule of BLAS and LAPACK calls."""

from __future__ import annotations

import numpy as np

from .._compiled import intrinsic, njit
from .team import (
    HELPERS,
    PARAMETERS,
    TASKS,
    await_phase,
    await_tasks,
    claim_task,
    compare_and_swap,
    exchange,
    finish_task,
    start_phase,
)

WIDTH = 16  # words of a row: the address of a routine, those of its arguments, and zeros
BUSY, _TABLE, _STARTS = range(PARAMETERS, PARAMETERS + 3)  # is the team in use? what it executes


@intrinsic
def _call_routine(typing, place):
    """Call a routine whose address is at this place in memory, followed by its arguments.

    It is passed more arguments than it takes, which the calling conventions of C allow: the caller
    removes them from the stack.
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
    """A word of an array that begins at this place in memory."""
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        row = builder.inttoptr(args[0], ir.IntType(64).as_pointer())
        return builder.load(builder.gep(row, [args[1]]))

    return types.int64(types.int64, types.int64), generate


@njit(cache=True, nogil=True)
def _execute_task(table, starts, task):
    for row in range(_word(starts, task), _word(starts, task + 1)):
        _call_routine(table + 8 * WIDTH * row)


@njit(cache=True, nogil=True)
def _execute_tasks(control):
    while True:
        task = claim_task(control)
        if task < 0:
            return
        _execute_task(control[_TABLE], control[_STARTS], task)
        finish_task(control)


@njit(cache=True, nogil=True)
def assist(control, member):
    """The loop of a helper."""
    known = np.int64(0)
    while True:
        known = await_phase(control, member, known)
        if known < 0:
            return
        if member <= control[HELPERS]:
            _execute_tasks(control)


@njit(cache=True, nogil=True)
def execute(control, table, starts, bounds, helpers, info):
    """Phases of a schedule, up to one in which a routine reports an error.

    Each is shared with its number of helpers, unless the team is in use by another thread.

    Parameters
    ----------
    control : array
        Of the team.
    table : array of shape (calls, WIDTH)
        The calls.
    starts : array of shape (tasks + 1,)
        The first call of each task.
    bounds : array of shape (phases + 1,)
        The first task of each phase.
    helpers : array of shape (phases,)
        How many helpers are worth their while.
    info : array
        The codes that routines report.
    """
    most = 0
    for phase in range(helpers.size):
        most = max(most, helpers[phase])
    shared = most > 0 and compare_and_swap(control, BUSY, 0, 1)
    for phase in range(helpers.size):
        first, last = bounds[phase], bounds[phase + 1]
        if shared and helpers[phase] > 0:
            control[TASKS], control[HELPERS] = last - first, helpers[phase]
            control[_TABLE], control[_STARTS] = table.ctypes.data, starts[first:].ctypes.data
            start_phase(control)
            _execute_tasks(control)
            await_tasks(control)
        else:
            for task in range(first, last):
                _execute_task(table.ctypes.data, starts.ctypes.data, task)
        failed = False
        for k in range(info.size):
            failed |= info[k] != 0
        if failed:
            break
    if shared:
        exchange(control, BUSY, 0)
