"""Inner products of signatures of paths, compiled; no interpreter lock.

With increments u_1, ..., u_m of one path and v_1, ..., v_n of the other and D(i, j) = <u_i, v_j>,
the inner product is a sum over pairs of sequences of steps, of equal length, in which a step is
repeated at most ``order`` times. R_rq(i, j) adds up those that end with r times step i of the first
path and q times step j of the second, and A(i, j) all that end at or before these steps:

    R_11(i, j) = D(i, j) (1 + A(i-1, j-1))
    R_r1(i, j) = D(i, j) / r  sum over j' < j and q of R_(r-1)q(i, j')            for r > 1
    R_1q(i, j) = D(i, j) / q  sum over i' < i and r of R_r(q-1)(i', j)            for q > 1
    R_rq(i, j) = D(i, j) / rq  R_(r-1)(q-1)(i, j)                                 for r, q > 1
    A(i, j)    = A(i-1, j) + sum over j' <= j, r and q of R_rq(i, j')

Cells of an anti-diagonal are filled sixteen at a time, as in ``alignment_loops.py``.
The sums along rows and columns are kept for every i and j. With a number of levels, there is one of
everything for each length of the sequences, and R of a length comes from what is one shorter.

``shares`` is (1, 1/2, ..., 1/order), as an array or a tuple. The length of a tuple is part of its
type: the compiler knows how long the loops over r and q are, and unrolls them.

Where there is room for slopes (else None), all quantities are carried along with their derivatives
along the logarithm of the lengthscale. R_rq(i, j) is D(i, j) times something Z that comes from
earlier cells, so its derivative is D' Z + D Z'; all other steps are sums. D' is -2 times the part
of D that is divided by the lengthscale: the first channels, all but time.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, equal, load, plus, store, times, times_plus
from .alignment_loops import reach, spread

_AHEAD = 32  # anti-diagonals for which kernel values are looked up together


@njit(cache=True, nogil=True, inline="always")
def _ends(D, before, x_at, x_room, rows, cols, y_at, y_room, shares, levels, step, R):
    """Fill in R_rq of sixteen cells, of all levels; lanes of R_rq lie at ((level, r, q), lane)."""
    order = len(shares)
    for level in range(levels):
        start = equal(1.0 if level == 0 else 0.0)
        if level >= step:
            start = plus(start, load(before, (level - step) * x_room + x_at))
        store(R, level * order * order * WIDTH, times(D, start))
        for k in range(1, order):
            shorter = (k - 1) * levels + level - step
            along, down = equal(0.0), equal(0.0)
            if level >= step:
                share = times(D, equal(shares[k]))
                along = times(share, load(rows, shorter * x_room + x_at))
                down = times(share, load(cols, shorter * y_room + y_at))
            store(R, (level * order + k) * order * WIDTH, along)
            store(R, (level * order * order + k) * WIDTH, down)
        for r in range(1, order):
            for q in range(1, order):
                value = equal(0.0)
                if level >= step:
                    value = load(R, (((level - step) * order + r - 1) * order + q - 1) * WIDTH)
                    value = times(value, times(D, equal(shares[r] * shares[q])))
                store(R, ((level * order + r) * order + q) * WIDTH, value)


@njit(cache=True, nogil=True, inline="always")
def _end_slopes(
    D, moved, before, rows, cols, R, d_before, d_rows, d_cols, d_R,
    x_at, x_room, y_at, y_room, shares, levels, step,
):  # fmt: skip
    """Fill in the derivatives of R_rq of sixteen cells; R_rq of these cells are known."""
    order = len(shares)
    for level in range(levels):
        slope = times(moved, equal(1.0 if level == 0 else 0.0))
        if level >= step:
            at = (level - step) * x_room + x_at
            slope = times_plus(moved, load(before, at), slope)
            slope = times_plus(D, load(d_before, at), slope)
        store(d_R, level * order * order * WIDTH, slope)
        for k in range(1, order):
            shorter = (k - 1) * levels + level - step
            along, down = equal(0.0), equal(0.0)
            if level >= step:
                share, at = equal(shares[k]), shorter * x_room + x_at
                along = times(moved, load(rows, at))
                along = times(times_plus(D, load(d_rows, at), along), share)
                at = shorter * y_room + y_at
                down = times(moved, load(cols, at))
                down = times(times_plus(D, load(d_cols, at), down), share)
            store(d_R, (level * order + k) * order * WIDTH, along)
            store(d_R, (level * order * order + k) * WIDTH, down)
        for r in range(1, order):
            for q in range(1, order):
                value = equal(0.0)
                if level >= step:
                    at = (((level - step) * order + r - 1) * order + q - 1) * WIDTH
                    value = times_plus(D, load(d_R, at), times(moved, load(R, at)))
                    value = times(value, equal(shares[r] * shares[q]))
                store(d_R, ((level * order + r) * order + q) * WIDTH, value)


@njit(cache=True, nogil=True, inline="always")
def _add_up(R, rows, x_at, x_room, cols, y_at, y_room, shares, levels, total):
    """Add R_rq of sixteen cells to the sums along their rows and columns."""
    order = len(shares)
    for level in range(levels):
        everything = load(total, level * x_room + x_at)
        for r in range(order):
            here = equal(0.0)
            for q in range(order):
                here = plus(here, load(R, ((level * order + r) * order + q) * WIDTH))
            everything = plus(everything, here)
            if r < order - 1:
                at = (r * levels + level) * x_room + x_at
                store(rows, at, plus(load(rows, at), here))
        store(total, level * x_room + x_at, everything)
        for q in range(order - 1):
            at = (q * levels + level) * y_room + y_at
            here = load(cols, at)
            for r in range(order):
                here = plus(here, load(R, ((level * order + r) * order + q) * WIDTH))
            store(cols, at, here)


@njit(cache=True, nogil=True)
def _differences(values, first, s, m, n, x_room, out):
    """D(i, j) from the values of a kernel, for the anti-diagonals from s on; read row by row."""
    out[:] = 0.0
    for i in range(m):
        for j in range(max(0, s - i), min(n, s + _AHEAD - i)):
            at = first + j
            before, after = (
                values[i + 1, at] - values[i, at],
                values[i + 1, at + 1] - values[i, at + 1],
            )
            out[(i + j - s) * x_room + i] = after - before


@njit(cache=True, nogil=True)
def _product(
    x, x_room, m, y, y_room, n, channels, scaled, values, first, depth, shares,
    rows, cols, total, R, met, diagonals, slopes, state, left,
):  # fmt: skip
    """The inner product of the signatures of two paths with m and n increments, and its slope.

    Increments are given by their coordinates; or, with 0 channels, D(i, j) comes from the values
    of a kernel at the points of both paths, those of the second from column ``first`` on.

    ``state`` holds the anti-diagonal to go on with, written when none of the cells are ``left``.
    """
    levels, step, begin = max(depth, 1), min(depth, 1), state[0]
    before, last, new = diagonals[begin % 3], diagonals[(begin + 1) % 3], diagonals[(begin + 2) % 3]
    if slopes is not None:
        d_rows, d_cols, d_total, d_R, _, d_diagonals = slopes
        d_before, d_last = d_diagonals[begin % 3], d_diagonals[(begin + 1) % 3]
        d_new = d_diagonals[(begin + 2) % 3]
    if begin == 0:
        diagonals[:], rows[:], cols[:], total[:] = 0.0, 0.0, 0.0, 0.0
        if slopes is not None:
            d_diagonals[:], d_rows[:], d_cols[:], d_total[:] = 0.0, 0.0, 0.0, 0.0
    state[0] = 0
    for s in range(begin, m + n - 1):
        low, high = reach(s, m, n, m + n)
        if left < 0:
            state[0] = s
            return 0.0, 0.0
        left -= high - low + 1
        if channels == 0 and s % _AHEAD == 0:
            _differences(values, first, s, m, n, x_room, met)
        for i in range(low, high + 1, WIDTH):
            j = i + n - 1 - s
            D = load(met, (s % _AHEAD) * x_room + i) if channels == 0 else equal(0.0)
            moved = D
            for c in range(channels):
                D = times_plus(load(x, c * x_room + i), load(y, c * y_room + j), D)
                if slopes is not None:
                    moved = times(D, equal(-2.0)) if c == scaled - 1 else moved
            _ends(D, before, i, x_room, rows, cols, j, y_room, shares, levels, step, R)
            if slopes is not None:
                _end_slopes(
                    D, moved, before, rows, cols, R, d_before, d_rows, d_cols, d_R,
                    i, x_room, j, y_room, shares, levels, step,
                )  # fmt: skip
                _add_up(d_R, d_rows, i, x_room, d_cols, j, y_room, shares, levels, d_total)
            _add_up(R, rows, i, x_room, cols, j, y_room, shares, levels, total)
            for level in range(levels):
                at = level * x_room + i
                store(new, at + 1, plus(load(last, at), load(total, at)))
                if slopes is not None:
                    store(d_new, at + 1, plus(load(d_last, at), load(d_total, at)))
        for level in range(levels):
            new[level * x_room + high + 2] = 0.0
            if slopes is not None:
                d_new[level * x_room + high + 2] = 0.0
        before, last, new = last, new, before
        if slopes is not None:
            d_before, d_last, d_new = d_last, d_new, d_before
    value, slope = 1.0, 0.0
    if m > 0 and n > 0:
        for level in range(levels):
            value += last[level * x_room + m]
            if slopes is not None:
                slope += d_last[level * x_room + m]
    return value, slope


def signature_space(
    x_size: int, y_size: int, channels: int, order: int, depth: int
) -> tuple[np.ndarray, ...]:
    """Arrays in which one pair of paths after the other is worked out, of at most so many points.

    The first two are for their coordinates.
    """
    x_room, y_room = x_size + 2 * WIDTH, y_size + 2 * WIDTH
    levels = max(depth, 1)
    sums = (order - 1) * levels
    return (
        np.empty(channels * x_room), np.empty(channels * y_room),
        np.empty(sums * x_room), np.empty(sums * y_room), np.empty(levels * x_room),
        np.empty(levels * order**2 * WIDTH), np.empty(_AHEAD * x_room),
        np.empty((3, levels * x_room)),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def signatures(
    x, x_start, x_size, y, y_start, y_size, rows, cols, scaled, shares, depth, out, slopes,
    room, more, state, most,
):  # fmt: skip
    """Inner products of signatures for pairs of paths, given by their increments, into ``out``.

    ``slopes`` is None, or filled in with derivatives, for which there is ``more`` room.

    ``depth`` is 0 for all levels. Pairs with the same first path should follow each other. A pair
    with more than ``most`` cells takes several calls: ``state``, zeros at first, tells the next
    one where to go on, and the result is the number of pairs done.
    """
    left, right, along, down, total, R, met, diagonals = room
    channels, nothing, at = x.shape[1], np.empty((0, 0)), -1
    x_room, y_room = left.size // channels, right.size // channels
    for p in range(state[1], rows.size):
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], x_size[at], False, x_room, 0.0, left)
        n = y_size[cols[p]]
        spread(y, y_start[cols[p]], n, True, y_room, 0.0, right)
        out[p], slope = _product(
            left, x_room, x_size[at], right, y_room, n, channels, scaled, nothing, 0, depth,
            shares, along, down, total, R, met, diagonals, more, state, most,
        )  # fmt: skip
        if slopes is not None:
            slopes[p] = slope
        if state[0] > 0:
            state[1] = p
            return p
    return rows.size


@njit(cache=True, nogil=True)
def lifted_signatures(values, start, size, shares, depth, out, room, state, most):
    """The same for one path and several others, lifted by a kernel.

    ``values`` holds the kernel between the points of the path, by rows, and those of the others.
    """
    nothing, _, along, down, total, R, met, diagonals = room
    x_room, y_room = len(values) + 2 * WIDTH, 0
    for p in range(start.size):
        y_room = max(y_room, size[p] + 2 * WIDTH)
    for p in range(state[1], start.size):
        out[p] = _product(
            nothing, x_room, len(values) - 1, nothing, y_room, size[p] - 1, 0, 0, values, start[p],
            depth, shares, along, down, total, R, met, diagonals, None, state, most,
        )[0]  # fmt: skip
        if state[0] > 0:
            state[1] = p
            return p
    return start.size
