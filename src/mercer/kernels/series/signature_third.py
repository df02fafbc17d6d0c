"""Inner products of signatures of order 3, the default, compiled: everything stays in registers.

The recursion of ``signature_loops.py`` written out for order 3 and all levels. The
general one keeps R_rq in memory, and takes twice as long.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, equal, load, plus, store, times, times_plus
from .alignment_loops import longest, reach, spread


@njit(cache=True, nogil=True)
def _product(x, x_room, m, y, y_room, n, channels, space):
    """The inner product for two paths with m and n increments.

    ``once`` and ``twice`` hold the sums along rows of R_1q and R_2q, ``ones`` and ``twos`` those
    along columns of R_r1 and R_r2.
    """
    before, last, new, total = space[0], space[1], space[2], space[3]
    once, twice, ones, twos = space[4], space[5], space[6], space[7]
    space[:] = 0.0
    for s in range(m + n - 1):
        low, high = reach(s, m, n, m + n)
        for i in range(low, high + 1, WIDTH):
            j = i + n - 1 - s
            D = equal(0.0)
            for c in range(channels):
                D = times_plus(load(x, c * x_room + i), load(y, c * y_room + j), D)
            half, third = times(D, equal(1 / 2)), times(D, equal(1 / 3))
            row_1, row_2, col_1, col_2 = load(once, i), load(twice, i), load(ones, j), load(twos, j)
            R_11 = times_plus(D, load(before, i), D)
            R_12, R_21 = times(half, col_1), times(half, row_1)
            R_13, R_31 = times(third, col_2), times(third, row_2)
            R_22 = times(times(half, equal(1 / 2)), R_11)
            sixth = times(half, equal(1 / 3))
            R_23, R_32 = times(sixth, R_12), times(sixth, R_21)
            R_33 = times(times(third, equal(1 / 3)), R_22)
            first, second = plus(plus(R_11, R_12), R_13), plus(plus(R_21, R_22), R_23)
            store(once, i, plus(row_1, first))
            store(twice, i, plus(row_2, second))
            store(ones, j, plus(col_1, plus(plus(R_11, R_21), R_31)))
            store(twos, j, plus(col_2, plus(plus(R_12, R_22), R_32)))
            every = plus(plus(first, second), plus(plus(R_31, R_32), R_33))
            every = plus(load(total, i), every)
            store(total, i, every)
            store(new, i + 1, plus(load(last, i), every))
        new[high + 2] = 0.0
        before, last, new = last, new, before
    return 1.0 + last[m] if m > 0 and n > 0 else 1.0


@njit(cache=True, nogil=True)
def third_order(x, x_start, x_size, y, y_start, y_size, rows, cols):
    """Inner products of signatures for pairs of paths, given by their increments."""
    out, channels = np.empty(rows.size), x.shape[1]
    if rows.size == 0:
        return out
    x_room, y_room = longest(x_size, rows) + 2 * WIDTH, longest(y_size, cols) + 2 * WIDTH
    left, right = np.empty(channels * x_room), np.empty(channels * y_room)
    space = np.empty((8, max(x_room, y_room)))
    at = -1
    for p in range(rows.size):
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], x_size[at], False, x_room, 0.0, left)
        n = y_size[cols[p]]
        spread(y, y_start[cols[p]], n, True, y_room, 0.0, right)
        out[p] = _product(left, x_room, x_size[at], right, y_room, n, channels, space)
    return out
