"""Compiled loops of the SMO solver; all release the interpreter lock and run on the thread pool."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from .._compiled import intrinsic, njit
from ..gram.row_loops import add_rows
from .box import BLOCKED

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
_EXACT = {"nnan", "nsz"}  # what leaves sums and products as they are written, as in NumPy
_STRIP = 16  # rows of a block that are mirrored together: a line of the processor's cache
_SAFE = 2e-5  # goals above this part of the gradient can be reached in single precision
_WIDE = 10_000  # entries of the gradient added up at a time
_CHUNK = 64  # variables whose extremes are kept, to find quickly where they are


def _extreme(name: str) -> Any:
    """The smaller or larger of two numbers, in a form that compiles to vector instructions.

    Python's min and max define the result for NaN, which prevents vectorisation.
    """

    @intrinsic
    def choose(typing, a, b):
        from llvmlite import ir
        from numba import types

        def generate(context, builder, signature, args):
            kind = args[0].type
            function = builder.module.declare_intrinsic(
                f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind])
            )
            return builder.call(function, args, fastmath=("nnan", "nsz", "reassoc"))

        return (a(a, b), generate) if a == b and isinstance(a, types.Float) else None

    return choose


_smaller, _larger = _extreme("minnum"), _extreme("maxnum")


@njit(cache=True, nogil=True, fastmath=_FAST)
def slopes(g, beta, lower, upper, epsilon, rise, fall):
    """Fill in the slopes of the objective upwards and downwards; ±BLOCKED where a bound stops.

    Returns the smallest slope upwards and the largest downwards: their difference is the
    violation of optimality.
    """
    lowest, highest = BLOCKED, -BLOCKED
    for k in range(beta.size):
        b = beta[k]
        up = g[k] + (epsilon if b >= 0 else -epsilon)
        down = g[k] + (epsilon if b > 0 else -epsilon)
        rise[k] = up if b < upper[k] else BLOCKED
        fall[k] = down if b > lower[k] else -BLOCKED
        lowest = _smaller(lowest, rise[k])
        highest = _larger(highest, fall[k])
    return lowest, highest


def take_steps(
    rows: np.ndarray,
    slot: np.ndarray,
    diagonal: np.ndarray,
    g: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    epsilon: float,
    groups: np.ndarray,
    n_groups: int,
    goal: float,
    limit: int,
    source: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> int:
    """Two-variable steps with second-order selection among variables with available kernel rows.

    The row of variable k is ``rows[slot[k]]``, or missing if ``slot[k]`` is negative. Stops when
    the violation is below ``goal``; beta and g are updated. Returns the number of steps.
    """
    with guiding(g, rows, slot, beta, goal) as guide:
        steps = steps_guided_by(
            guide, rows, slot, diagonal, beta, lower, upper, epsilon, groups, n_groups, goal,
            limit, source,
        )  # fmt: skip
    return int(steps)


def guide_of(g: np.ndarray, rows: np.ndarray, goal: float, largest: float) -> np.ndarray:
    """g, with this largest entry, in the precision of the rows if the goal allows it."""
    single = rows.itemsize < g.itemsize and goal >= _SAFE * max(1.0, largest)
    return g.astype(rows.dtype) if single else g


@contextmanager
def guiding(
    g: np.ndarray, rows: np.ndarray, slot: np.ndarray, beta: np.ndarray, goal: float
) -> Iterator[np.ndarray]:
    """The gradient that guides steps, in the precision of the rows if the goal allows it.

    That takes half the memory and half the time; then g is computed from the changes of beta.
    """
    before, guide = beta.copy(), guide_of(g, rows, goal, float(np.abs(g).max(initial=0.0)))
    yield guide
    if guide is not g:
        change = beta - before
        moved = np.flatnonzero(change)
        for start in range(0, len(g), _WIDE):
            add_rows(g, rows, slot[moved], change[moved], start, min(start + _WIDE, len(g)))


# no error if values are not finite: the caller checks that
@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def steps_guided_by(
    g, rows, slot, diagonal, beta, lower, upper, epsilon, groups, n_groups, goal, limit, source
):
    """Steps for a gradient in either precision, which is updated.

    Rows that are missing are read from ``source``, the matrix of a user with the places of the
    variables in it, and the number of rows so far; where that is None, variables without a row do
    not move.

    Curvatures may be NaN or 0: division raises no error, and the caller finds values of the
    gradient that are not finite.
    """
    n = beta.size
    chunks = (n + _CHUNK - 1) // _CHUNK
    real, fine = g.dtype.type, rows.dtype.type
    # what to add to the gradient for the slopes upwards and downwards; their extremes by chunks
    up, down = np.empty((n_groups, n), g.dtype), np.empty((n_groups, n), g.dtype)
    lows, highs = np.empty((n_groups, chunks), g.dtype), np.empty((n_groups, chunks), g.dtype)
    gains, best = np.empty(n, rows.dtype), np.empty(chunks, rows.dtype)
    # curvatures are not below it; as a constant, it would keep the loop over gains scalar
    tiny = fine(max(np.finfo(rows.dtype).eps, 1e-12))
    for k in range(n):
        for t in range(n_groups):
            up[t, k], down[t, k] = BLOCKED, -BLOCKED
        if slot[k] >= 0 or source is not None:
            _set_offsets(k, beta, lower, upper, epsilon, groups, up, down)
    Ki = Kj = rows[0]
    step, steps = 0.0, 0
    while True:
        violation, low, of = -BLOCKED, real(0.0), 0
        for t in range(n_groups):
            _move(g, up[t], down[t], Ki, Kj, real(step), lows[t], highs[t])
            step = 0.0  # g has moved once and for all groups
            smallest, largest = lows[t, 0], highs[t, 0]
            for c in range(1, chunks):
                smallest, largest = _smaller(smallest, lows[t, c]), _larger(largest, highs[t, c])
            if largest - smallest > violation:
                violation, low, of = float(largest - smallest), smallest, t
        if violation < goal or steps >= limit:
            return steps
        i = _place(lows[of], low) * _CHUNK
        while i < n - 1 and g[i] + up[of, i] != low:  # what is not a number is found nowhere
            i += 1
        if source is not None:
            _read(source, i, rows, slot)
        Ki = rows[slot[i]]
        _gains(g, down[of], Ki, diagonal, diagonal[i], low, tiny, gains, best)
        most = best[0]
        for c in range(1, chunks):
            most = _larger(most, best[c])
        j = _place(best, most) * _CHUNK
        while j < n - 1 and gains[j] != most:
            j += 1
        if source is not None:
            _read(source, j, rows, slot)
        Kj = rows[slot[j]]
        # of the rows, by which the gradient is kept up: a diagonal they contradict would have the
        # same two variables go back and forth
        curvature = float(max(Ki[i] + Kj[j] - fine(2.0) * Ki[j], tiny))
        slope = float(g[j] + down[of, j] - low)
        room_i = -beta[i] if epsilon > 0 and beta[i] < 0 else upper[i] - beta[i]
        room_j = beta[j] if epsilon > 0 and beta[j] > 0 else beta[j] - lower[j]
        step = min(slope / curvature, min(room_i, room_j))
        to_i = 0.0 if epsilon > 0 and beta[i] < 0 else upper[i]
        to_j = 0.0 if epsilon > 0 and beta[j] > 0 else lower[j]
        beta[i] = to_i if step == room_i else beta[i] + step
        beta[j] = to_j if step == room_j else beta[j] - step
        for k in (i, j):
            _set_offsets(k, beta, lower, upper, epsilon, groups, up, down)
        steps += 1


@njit(cache=True, nogil=True)
def _read(source, k, rows, slot):
    """Read the row of variable k, unless it is there."""
    if slot[k] < 0:
        values, index, used = source
        row, out = values[index[k]], rows[used[0]]
        for c in range(index.size):
            out[c] = row[index[c]]
        slot[k] = used[0]
        used[0] += 1


@njit(cache=True, nogil=True, inline="always")
def _set_offsets(k, beta, lower, upper, epsilon, groups, up, down):
    t, b = groups[k], beta[k]
    up[t, k] = (epsilon if b >= 0 else -epsilon) if b < upper[k] else BLOCKED
    down[t, k] = (epsilon if b > 0 else -epsilon) if b > lower[k] else -BLOCKED


@njit(cache=True, nogil=True, fastmath=_EXACT)
def _move(g, up, down, Ki, Kj, step, lows, highs):
    """The gradient after a step up in i and down in j; the extreme slopes of each chunk."""
    n, chunk = np.uint64(g.size), np.uint64(_CHUNK)
    start = np.uint64(0)
    for c in range(lows.size):
        lowest, highest = g.dtype.type(BLOCKED), g.dtype.type(-BLOCKED)
        for k in range(start, min(n, start + chunk)):
            value = g[k] + step * (Ki[k] - Kj[k])
            g[k] = value
            lowest = _smaller(lowest, value + up[k])
            highest = _larger(highest, value + down[k])
        lows[c], highs[c] = lowest, highest
        start += chunk


@njit(cache=True, nogil=True, fastmath=_EXACT, error_model="numpy")
def _gains(g, down, Ki, diagonal, kii, low, tiny, gains, best):
    """Twice the decrease of the objective by an unbounded step in i and each j.

    ``best`` has the largest of each chunk. The excess of i over itself has to be exactly 0, so sums
    are not reordered.
    """
    n, chunk = np.uint64(g.size), np.uint64(_CHUNK)
    real = Ki.dtype.type
    start = np.uint64(0)
    for c in range(best.size):
        most = real(-1.0)
        for k in range(start, min(n, start + chunk)):
            excess = _larger(real(g[k] + down[k] - low), real(0.0))
            curvature = _larger(kii + diagonal[k] - real(2.0) * Ki[k], tiny)
            gain = excess * excess / curvature
            gains[k] = gain
            most = _larger(most, gain)
        best[c] = most
        start += chunk


@njit(cache=True, nogil=True, inline="always")
def _place(values, value):
    """The place of the value; the length if it does not occur."""
    k = 0
    while k < values.size - 1 and values[k] != value:
        k += 1
    return k


@njit(cache=True, nogil=True)
def refill(K, new, cache, slots, columns, order):
    """Rows ``new`` of the block K of the variables at ``columns`` of the cache.

    ``slots`` has the places of the new rows in the cache, ``order`` sorts ``columns``.
    """
    for r in range(new.size):
        row, out = cache[slots[r]], K[new[r]]
        for t in order:
            out[t] = row[columns[t]]


@njit(cache=True, nogil=True)
def mirror(K, new, rank, first, last):
    """Columns ``new[first:last]`` of the block K from its rows: K[:m, new] = K[new, :m]'.

    ``rank`` has, for each of the m variables, its place in ``new``, or -1. Of two new variables
    the row of the later one counts: no entry is both read and written, so that threads may share
    this, and K is symmetric.
    """
    for start in range(first, last, _STRIP):
        stop = min(start + _STRIP, last)
        for b in range(rank.size):
            for r in range(max(start, rank[b] + 1), stop):
                K[b, new[r]] = K[new[r], b]


@njit(cache=True, nogil=True)
def compact(memory, rows, width, columns):
    """Move the given (sorted) columns of the given (sorted) rows of ``width`` to the front."""
    target = 0
    for r in rows:
        for c in columns:
            memory[target] = memory[r * width + c]
            target += 1
