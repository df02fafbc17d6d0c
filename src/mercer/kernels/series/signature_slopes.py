"""Derivatives of inner products of signatures along the lengthscale, compiled.

All quantities of ``signature_loops.py`` are carried along with their derivatives,
in as much memory again. R_rq(i, j) is D(i, j) times something Z that comes from earlier cells, so
its derivative is D' Z + D Z'; all other steps are sums. Along the logarithm of the lengthscale,
D' is -2 times the part of D that is divided by it: all channels but time.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, equal, load, plus, store, times, times_plus
from .alignment_loops import reach, spread
from .signature_loops import _add_up, _ends, _space


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


@njit(cache=True, nogil=True)
def _slope(
    x, x_room, m, y, y_room, n, channels, scaled, depth, shares,
    rows, cols, total, R, diagonals, d_rows, d_cols, d_total, d_R, d_diagonals,
):  # fmt: skip
    """The derivative for two paths with m and n increments, ``scaled`` of whose channels move."""
    levels, step = max(depth, 1), min(depth, 1)
    before, last, new = diagonals[0], diagonals[1], diagonals[2]
    d_before, d_last, d_new = d_diagonals[0], d_diagonals[1], d_diagonals[2]
    diagonals[:], rows[:], cols[:], total[:] = 0.0, 0.0, 0.0, 0.0
    d_diagonals[:], d_rows[:], d_cols[:], d_total[:] = 0.0, 0.0, 0.0, 0.0
    for s in range(m + n - 1):
        low, high = reach(s, m, n, m + n)
        for i in range(low, high + 1, WIDTH):
            j = i + n - 1 - s
            D = equal(0.0)
            for c in range(scaled):
                D = times_plus(load(x, c * x_room + i), load(y, c * y_room + j), D)
            moved = times(D, equal(-2.0))
            for c in range(scaled, channels):
                D = times_plus(load(x, c * x_room + i), load(y, c * y_room + j), D)
            _ends(D, before, i, x_room, rows, cols, j, y_room, shares, levels, step, R)
            _end_slopes(
                D, moved, before, rows, cols, R, d_before, d_rows, d_cols, d_R,
                i, x_room, j, y_room, shares, levels, step,
            )  # fmt: skip
            _add_up(R, rows, i, x_room, cols, j, y_room, shares, levels, total)
            _add_up(d_R, d_rows, i, x_room, d_cols, j, y_room, shares, levels, d_total)
            for level in range(levels):
                at = level * x_room + i
                store(new, at + 1, plus(load(last, at), load(total, at)))
                store(d_new, at + 1, plus(load(d_last, at), load(d_total, at)))
        for level in range(levels):
            new[level * x_room + high + 2] = 0.0
            d_new[level * x_room + high + 2] = 0.0
        before, last, new = last, new, before
        d_before, d_last, d_new = d_last, d_new, d_before
    slope = 0.0
    if m > 0 and n > 0:
        for level in range(levels):
            slope += d_last[level * x_room + m]
    return slope


@njit(cache=True, nogil=True)
def signature_slopes(x, x_start, x_size, y, y_start, y_size, rows, cols, shares, depth, scaled):
    """Derivatives for pairs of paths, given by their increments; ``depth`` is 0 for all levels."""
    out, channels = np.empty(rows.size), x.shape[1]
    if rows.size == 0:
        return out
    x_room, y_room = x_size[rows].max() + 2 * WIDTH, y_size[cols].max() + 2 * WIDTH
    left, right = np.empty(channels * x_room), np.empty(channels * y_room)
    along, down, total, R, _, diagonals = _space(x_room, y_room, len(shares), depth)
    d_along, d_down, d_total, d_R, _, d_diagonals = _space(x_room, y_room, len(shares), depth)
    at = -1
    for p in range(rows.size):
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], x_size[at], False, x_room, 0.0, left)
        n = y_size[cols[p]]
        spread(y, y_start[cols[p]], n, True, y_room, 0.0, right)
        out[p] = _slope(
            left, x_room, x_size[at], right, y_room, n, channels, scaled, depth, shares,
            along, down, total, R, diagonals, d_along, d_down, d_total, d_R, d_diagonals,
        )  # fmt: skip
    return out
