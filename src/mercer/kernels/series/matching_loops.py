"""Sums over matches of two series with gaps between them, compiled; no interpreter lock.

Cells of an anti-diagonal are filled sixteen at a time, as in ``alignment_loops.py``.
Two points match with e = exp(-q), q their squared distance. Where there is room for slopes (else
None), the derivatives of everything along the logarithm of the lengthscale are carried along: that
of e is 2 q e, and all other steps are linear.
"""

from __future__ import annotations

from math import frexp, ldexp, log

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, equal, load, plus, store, times, times_plus
from .alignment_loops import FAR, HUGE, MIDDLE, SMALL, longest, reach, spread, squares
from .lanes import decay, larger, largest, smaller


# ---- subsequences of one length ----------------------------------------------------------------
@njit(cache=True, nogil=True)
def _subsequences(x, x_room, m, y, y_room, n, channels, length, gap, diagonals, slopes):
    """The sum over pairs of subsequences of a length, and its slope.

    S_l(i, j) adds up pairs of l points that end at i and j, with a factor ``gap`` for each time
    from their first to their last in either series, and A_l those that end there or before:

        S_l(i, j) = gap^2 e(i, j) A_(l-1)(i-1, j-1),    A_0 = 1
        A_l(i, j) = gap A_l(i-1, j) + sum over j' <= j of gap^(j - j') S_l(i, j')

    The sums along rows are kept for every i, behind three anti-diagonals.
    """
    before, last, new, along = diagonals[0], diagonals[1], diagonals[2], diagonals[3]
    diagonals[:] = 0.0
    if slopes is not None:
        d_before, d_last, d_new, d_along = slopes[0], slopes[1], slopes[2], slopes[3]
        slopes[:] = 0.0
    total, d_total = equal(0.0), equal(0.0)
    for s in range(m + n - 1):
        low, high = reach(s, m, n, m + n)
        for i in range(low, high + 1, WIDTH):
            square = squares(x, x_room, i, y, y_room, i + n - 1 - s, channels)
            e = times(decay(square), equal(gap * gap))
            steep = times(equal(2.0), smaller(square, equal(FAR)))
            for level in range(length):
                earlier = equal(1.0)
                if level > 0:
                    earlier = load(before, (level - 1) * x_room + i)
                ends = times(e, earlier)
                at = level * x_room + i
                if level < length - 1:
                    row = times_plus(load(along, at), equal(gap), ends)
                    store(along, at, row)
                    store(new, at + 1, times_plus(load(last, at), equal(gap), row))
                else:
                    total = plus(total, ends)
                if slopes is not None:
                    d_ends = times(steep, ends)
                    if level > 0:
                        d_ends = times_plus(e, load(d_before, (level - 1) * x_room + i), d_ends)
                    if level < length - 1:
                        d_row = times_plus(load(d_along, at), equal(gap), d_ends)
                        store(d_along, at, d_row)
                        store(d_new, at + 1, times_plus(load(d_last, at), equal(gap), d_row))
                    else:
                        d_total = plus(d_total, d_ends)
        before, last, new = last, new, before
        if slopes is not None:
            d_before, d_last, d_new = d_last, d_new, d_before
    store(along, 0, total)
    value, slope = 0.0, 0.0
    for lane in range(WIDTH):
        value += along[lane]
    if slopes is not None:
        store(d_along, 0, d_total)
        for lane in range(WIDTH):
            slope += d_along[lane]
    return value, slope


@njit(cache=True, nogil=True)
def subsequences(x, x_start, x_size, y, y_start, y_size, rows, cols, length, gap, slopes):
    """For pairs of series the sum over pairs of subsequences; ``slopes`` is None or filled in."""
    out, channels = np.empty(rows.size), x.shape[1]
    if rows.size == 0:
        return out
    x_room, y_room = longest(x_size, rows) + 2 * WIDTH, longest(y_size, cols) + 2 * WIDTH
    left, right = np.empty(channels * x_room), np.empty(channels * y_room)
    diagonals = np.empty((4, length * x_room))
    tangents = None if slopes is None else np.empty_like(diagonals)
    at = -1
    for p in range(rows.size):
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], x_size[at], False, x_room, FAR, left)
        n = y_size[cols[p]]
        spread(y, y_start[cols[p]], n, True, y_room, -FAR, right)
        value, slope = _subsequences(
            left, x_room, x_size[at], right, y_room, n, channels, length, gap, diagonals, tangents
        )
        out[p] = value
        if slopes is not None:
            slopes[p] = slope
    return out


# ---- matches with gaps that are opened and extended --------------------------------------------
@njit(cache=True, nogil=True)
def _log_pair(x, x_room, m, y, y_room, n, channels, opening, extension, diagonals, slopes):
    """The logarithm of the sum over all ways to match points, and its slope.

    Cell (i, j) stands for i points of x and j of y. M ends with a match, X with a gap in y (points
    of x that are left out), Y with a gap in x; a gap in y comes before one in x, if both follow the
    same match:

        M(i, j) = e(i, j) Z(i-1, j-1),               Z = M + X + Y,    M(0, 0) = 1
        X(i, j) = opening M(i-1, j) + extension X(i-1, j)
        Y(i, j) = opening (M + X)(i, j-1) + extension Y(i, j-1)

    Kept are Z and, in the rooms behind it, what X and Y of the next cells will be.
    """
    after_x, after_y = x_room, 2 * x_room
    before, last, new = diagonals[0], diagonals[1], diagonals[2]
    diagonals[:] = 0.0
    last[1] = top_before = ldexp(1.0, MIDDLE)  # nothing is matched yet
    last[after_x + 1] = last[after_y + 1] = opening * last[1]
    if slopes is not None:
        d_before, d_last, d_new = slopes[0], slopes[1], slopes[2]
        slopes[:] = 0.0
    power = -MIDDLE
    opened, extended = equal(opening), equal(extension)
    for s in range(1, m + n + 1):
        low, high = reach(s, m + 1, n + 1, m + n + 2)
        highest = equal(0.0)
        for i in range(low, high + 1, WIDTH):
            square = squares(x, x_room, i, y, y_room, i + n - s, channels)
            e = decay(square)
            match = times(e, load(before, i))
            skip_x, skip_y = load(last, after_x + i), load(last, after_y + i + 1)
            both = plus(match, skip_x)
            value = plus(both, skip_y)
            store(new, i + 1, value)
            store(new, after_x + i + 1, times_plus(opened, match, times(extended, skip_x)))
            store(new, after_y + i + 1, times_plus(opened, both, times(extended, skip_y)))
            if slopes is not None:
                steep = times(equal(2.0), smaller(square, equal(FAR)))
                match = times_plus(steep, match, times(e, load(d_before, i)))
                skip_x, skip_y = load(d_last, after_x + i), load(d_last, after_y + i + 1)
                both = plus(match, skip_x)
                slope = plus(both, skip_y)
                store(d_new, i + 1, slope)
                store(d_new, after_x + i + 1, times_plus(opened, match, times(extended, skip_x)))
                store(d_new, after_y + i + 1, times_plus(opened, both, times(extended, skip_y)))
                value = plus(value, slope)
            highest = larger(highest, value)
        new[after_x + m + 1] = 0.0  # nothing follows the last point of x
        if slopes is not None:
            d_new[after_x + m + 1] = 0.0
        top = largest(highest)
        most = max(top, top_before)
        if most > HUGE or most < SMALL:
            shift = min(MIDDLE - frexp(most)[1], 1000)
            factor = ldexp(1.0, shift)
            power -= shift
            new *= factor
            last *= factor
            if slopes is not None:
                d_new *= factor
                d_last *= factor
            top *= factor
        top_before = top
        before, last, new = last, new, before
        if slopes is not None:
            d_before, d_last, d_new = d_last, d_new, d_before
    mantissa, exponent = frexp(last[m + 1])
    slope = 0.0 if slopes is None else d_last[m + 1] / last[m + 1]
    return log(mantissa) + (power + exponent) * log(2.0), slope


@njit(cache=True, nogil=True)
def log_pairs(x, x_start, x_size, y, y_start, y_size, rows, cols, opening, extension, slopes):
    """For pairs of series the logarithm of that sum; ``slopes`` is None or filled in."""
    out, channels = np.empty(rows.size), x.shape[1]
    if rows.size == 0:
        return out
    x_room, y_room = longest(x_size, rows) + 1 + 2 * WIDTH, longest(y_size, cols) + 2 * WIDTH
    left, right = np.full(channels * x_room, FAR), np.empty(channels * y_room)
    diagonals = np.empty((3, 3 * x_room))
    tangents = None if slopes is None else np.empty_like(diagonals)
    at = -1
    for p in range(rows.size):
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], x_size[at], False, x_room, FAR, left[1:])  # row 0 has no point
        n = y_size[cols[p]]
        spread(y, y_start[cols[p]], n, True, y_room, -FAR, right)
        value, slope = _log_pair(
            left, x_room, x_size[at], right, y_room, n, channels, opening, extension, diagonals,
            tangents,
        )  # fmt: skip
        out[p] = value
        if slopes is not None:
            slopes[p] = slope
    return out
