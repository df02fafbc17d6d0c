"""Sums over the alignments of two strings, sixteen tables at a time; no interpreter lock.

The sums grow exponentially, and differently in different parts of a table: where one alignment has
e^2000, another that is to become the best may just begin, with 1. So tables are filled in strips of
columns, and a strip has, for some rows together, a power of SCALE of its own, by the size of what
it holds. What is too small for that power is negligible for good: it could only be continued, for
the few columns of a strip, better than the largest number near it, which can skip these columns.

Alignments are local, or those of the whole strings, where also what comes before the first pair and
after the last one is a gap.
"""

from __future__ import annotations

from math import exp, floor, inf, log

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, by_sameness, equal, load, look_up, plus, store, times, times_plus
from .table_loops import NO_COLUMN, NO_ROW, longest, spread

BITS = 400
SCALE = 2.0**BITS
LOG_SCALE = BITS * log(2.0)
REACH = 300 * log(2.0)  # log of the factor by which numbers may change before they are looked at
SPAN = 450.0  # log of the largest factor between numbers that have to be kept in a strip
WIDEST = 32  # columns of a strip


@njit(cache=True, nogil=True)
def power(d):
    """SCALE^d, or 0 if that is too small to count; larger ones than SCALE^2 are never needed."""
    if d == 0:
        return 1.0
    if d <= -3:
        return 0.0
    return SCALE * (SCALE if d > 1 else 1.0) if d > 0 else (1 / SCALE if d == -1 else SCALE**-2)


def room(n_most: int, m_most: int, width: int, every: int, sloped: bool) -> tuple[np.ndarray, ...]:
    """Arrays for sixteen tables: symbols, a strip, its left edge with its powers, sums."""
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    kinds = 6 if sloped else 3  # M, X and Z, and their derivatives
    strip = np.empty((kinds, width * WIDTH))
    edge = np.empty((kinds, n_most * WIDTH))  # Z, M + X and Y of the column before, likewise
    powers = np.empty((n_most // every + 1, WIDTH), np.int64)
    return s, t, strip, edge, powers, np.empty((2, WIDTH)), np.empty(WIDTH, np.int64)


def whole_room(
    longest: int, weights: tuple[float, ...], D_weights: tuple[float, ...] | None
) -> tuple[np.ndarray, ...]:
    """Room for the lengths of sixteen pairs of strings; log of the weights of gaps, and dlog."""
    _, _, opening, extension = weights
    _, _, D_opening, D_extension = D_weights or np.zeros(4)
    more = np.arange(longest)
    gaps = np.append(0.0, log(opening) + more * log(extension))
    D_gaps = np.append(0.0, D_opening / opening + more * (D_extension / extension))
    return np.empty(WIDTH, np.int64), np.empty(WIDTH, np.int64), gaps, D_gaps


@njit(cache=True, nogil=True)
def begin(x, x_ends, y, y_ends, rows, cols, first, unknown, arrays):
    """Put sixteen pairs into lanes, before the first column; the sizes of their tables."""
    s, t, _, edge, powers, sums, held = arrays
    n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
    spread(x, x_ends, rows, first, n, NO_ROW if unknown < 0 else unknown, s)
    spread(y, y_ends, cols, first, m, NO_COLUMN if unknown < 0 else unknown, t)
    for c in range(n * WIDTH):
        for kind in range(edge.shape[0]):
            edge[kind, c] = 1.0 if kind == 0 else 0.0
    for lane in range(WIDTH):
        sums[0, lane], sums[1, lane], held[lane] = 0.0, 0.0, 0
        for block in range(powers.shape[0]):
            powers[block, lane] = 0
    return n, m


@njit(cache=True, nogil=True)
def _power_of(gap):
    """The power of SCALE just below the weight of a gap."""
    return floor(gap / LOG_SCALE)


@njit(cache=True, nogil=True)
def _over(gap, held):
    """The weight of a gap, over SCALE^held."""
    return exp(gap - held * LOG_SCALE)


@njit(cache=True, nogil=True)
def begin_whole(x_ends, y_ends, rows, cols, first, n, every, arrays, whole):
    """After ``begin``, the first column of tables of whole strings, and results of empty ones."""
    _, _, _, edge, powers, sums, held = arrays
    n_of, m_of, gaps, D_gaps = whole
    for lane in range(WIDTH):
        n_of[lane] = m_of[lane] = -1
        if first + lane < rows.size:
            n_of[lane] = x_ends[rows[first + lane] + 1] - x_ends[rows[first + lane]]
            m_of[lane] = y_ends[cols[first + lane] + 1] - y_ends[cols[first + lane]]
            size = max(n_of[lane], m_of[lane])  # the other is empty, or this overwritten
            held[lane] = _power_of(gaps[size])
            sums[0, lane] = _over(gaps[size], held[lane])
            sums[1, lane] = sums[0, lane] * D_gaps[size]
    for i in range(n):
        power_of = _power_of(gaps[i // every * every + 1])
        value = _over(gaps[i + 1], power_of)
        for lane in range(WIDTH):
            powers[i // every, lane] = power_of
            for kind in range(edge.shape[0]):  # in Z and M + X, not in Y
                left_out = value if kind < 3 else value * D_gaps[i + 1]
                edge[kind, i * WIDTH + lane] = 0.0 if kind % 3 == 2 else left_out


@njit(cache=True, nogil=True)
def _begin_strip(strip, left, own, whole):
    """The row above the first one of a strip of tables of whole strings, and what precedes it."""
    _, _, gaps, D_gaps = whole
    power_of = _power_of(gaps[left])
    for c in range(strip.shape[1] // WIDTH):
        size = min(left + c + 1, gaps.size - 1)  # no string is longer
        value = _over(gaps[size], power_of)
        for lane in range(WIDTH):
            strip[2, c * WIDTH + lane] = value
            if strip.shape[0] > 3:
                strip[5, c * WIDTH + lane] = value * D_gaps[size]
    for lane in range(WIDTH):
        own[lane] = power_of
    before = _over(gaps[left], power_of)
    return before, before * D_gaps[left]


@njit(cache=True, nogil=True)
def _end(row, left, size, strip, own, whole, sums, held):
    """The results of lanes whose last symbols are in this row and strip."""
    for lane in range(WIDTH):
        column = (whole[1][lane] - 1 - left) * WIDTH
        if whole[0][lane] == row + 1 and 0 <= column < size:
            sums[0, lane], held[lane] = strip[2, column + lane], own[lane]
            if strip.shape[0] > 3:
                sums[1, lane] = strip[5, column + lane]


@njit(cache=True, nogil=True)
def _fitting(top, held, least):
    """The power, at least ``least``, for a number ``top`` SCALE^held to lie between 1 and SCALE."""
    while SCALE < top < inf:
        held, top = held + 1, top / SCALE
    while 0.0 < top < 1.0 and held > least:
        held, top = held - 1, top * SCALE
    return held


@njit(cache=True, nogil=True)
def _rescale(strip, size, own, edge, first, last, powers, least):
    """Give a strip the powers that fit the sum of it or of its edge in the rows ahead.

    The factors by which numbers of the strip have changed, and those for numbers of the edge.
    """
    factors, tops = np.empty((2, WIDTH)), np.empty((2, WIDTH))
    Z, column = strip[2], edge[0]
    top, ahead = equal(0.0), equal(0.0)
    for c in range(0, size, WIDTH):
        top = plus(top, load(Z, c))
    for i in range(first, last, WIDTH):
        ahead = plus(ahead, load(column, i))
    store(tops[0], 0, top)
    store(tops[1], 0, ahead)
    for lane in range(WIDTH):
        factors[0, lane] = factors[1, lane] = 1.0
        wanted = max(
            _fitting(tops[0, lane], own[lane], least), _fitting(tops[1, lane], powers[lane], least)
        )
        if wanted != powers[lane]:
            factors[1, lane] = power(powers[lane] - wanted)
            powers[lane] = wanted
        if wanted != own[lane]:
            factors[0, lane] = power(own[lane] - wanted)
            own[lane] = wanted
            for kind in range(strip.shape[0]):
                for c in range(lane, size, WIDTH):
                    strip[kind, c] *= factors[0, lane]
    return factors


@njit(cache=True, nogil=True)
def _add(new, own, sums, held):
    """Add to sums with powers what has been found under others."""
    for lane in range(WIDTH):
        if own[lane] > held[lane]:
            factor = power(held[lane] - own[lane])
            for kind in range(2):
                sums[kind, lane] *= factor
            held[lane] = own[lane]
        factor = power(own[lane] - held[lane])
        for kind in range(2):
            sums[kind, lane] += factor * new[kind, lane]


@njit(cache=True, nogil=True)
def fill(arrays, n, first, last, width, every, table, weights, D_table, D_weights, whole):
    """Fill in the columns from ``first`` to ``last`` of sixteen tables with n rows.

    With M(i, j), X(i, j) and Y(i, j) the weight of alignments of the first i and j symbols that
    end with the pair (i, j), with symbols of x left out, and with symbols of y left out,

        M(i, j) = weight(x_i, y_j) (1 + M + X + Y)(i-1, j-1)
        X(i, j) = opening M(i-1, j) + extension X(i-1, j)
        Y(i, j) = opening (M + X)(i, j-1) + extension Y(i, j-1)

    the value is 1 plus the sum of M over all cells; Z is 1 + M + X + Y. The weights come from a
    table, whose last row and column, 0, are those of no symbol; without one they are the first of
    (same, other, opening, extension). With their derivatives, every number is followed by its own.

    Of ``whole`` strings, unless their lengths are None, the sum over all alignments is M + X + Y of
    the last cell: nothing begins but at the first, so that there is no 1 in Z, and the numbers
    along the edges of the table are those of gaps.
    """
    least = 0 if whole is None else -(2**40)  # local alignments hold the empty one, which is 1
    s, t, strip, edge, powers, sums, held = arrays
    same, other, opening, extension = weights
    M, X, Z = strip[0], strip[1], strip[2]
    agreeing, differing = equal(same), equal(other)
    opened, extended = equal(opening), equal(extension)
    new, units = np.empty((2, WIDTH)), np.empty(WIDTH)
    own = np.empty(WIDTH, np.int64)
    if D_weights is not None:
        D_same, D_other, D_opening, D_extension = D_weights
        D_agreeing, D_differing = equal(D_same), equal(D_other)
        D_opened, D_extended = equal(D_opening), equal(D_extension)
        DM, DX, DZ = strip[3], strip[4], strip[5]
    for left in range(first, last, width):
        size = min(width, last - left) * WIDTH
        for c in range(width * WIDTH):
            for kind in range(strip.shape[0]):
                strip[kind, c] = 0.0
            Z[c] = 1.0
        for lane in range(WIDTH):
            own[lane] = 0
        corner, D_corner = equal(1.0), equal(0.0)  # Z of the row above, before the strip
        if whole is not None:
            start, D_start = _begin_strip(strip, left, own, whole)
            corner, D_corner = equal(start), equal(D_start)
        for block in range(0, n, every):
            end = min(block + every, n) * WIDTH
            factors = _rescale(
                strip, size, own, edge, block * WIDTH, end, powers[block // every], least
            )
            for lane in range(WIDTH):
                units[lane] = power(-own[lane]) if whole is None else 0.0
            kept, change, unit = load(factors[0], 0), load(factors[1], 0), load(units, 0)
            corner, D_corner = times(corner, kept), times(D_corner, kept)
            total, D_total = equal(0.0), equal(0.0)
            for i in range(block * WIDTH, end, WIDTH):
                before, D_before = corner, D_corner
                corner = times(change, load(edge[0], i))
                pair, gap = times(change, load(edge[1], i)), times(change, load(edge[2], i))
                if D_weights is not None:
                    D_corner = times(change, load(edge[3], i))
                    D_pair = times(change, load(edge[4], i))
                    D_gap = times(change, load(edge[5], i))
                for c in range(0, size, WIDTH):
                    at = left * WIDTH + c
                    above, skipped = load(M, c), load(X, c)
                    if D_weights is not None:
                        D_gap = times_plus(D_opened, pair, times_plus(D_extended, gap, times_plus(
                            opened, D_pair, times(extended, D_gap))))  # fmt: skip
                        D_left_out = times_plus(D_opened, above, times_plus(
                            D_extended, skipped, times_plus(
                                opened, load(DM, c), times(extended, load(DX, c)))))  # fmt: skip
                    gap = times_plus(opened, pair, times(extended, gap))
                    left_out = times_plus(opened, above, times(extended, skipped))
                    if table is None:
                        weight = by_sameness(s, i, t, at, agreeing, differing)
                    else:
                        weight = look_up(table, s, i, t, at)
                    match = times(weight, before)
                    if D_weights is not None:
                        if table is None:
                            D_weight = by_sameness(s, i, t, at, D_agreeing, D_differing)
                        else:
                            D_weight = look_up(D_table, s, i, t, at)
                        D_match = times_plus(D_weight, before, times(weight, D_before))
                        D_before, D_pair = load(DZ, c), plus(D_match, D_left_out)
                        D_total = plus(D_total, D_match)
                        store(DM, c, D_match)
                        store(DX, c, D_left_out)
                        store(DZ, c, plus(D_pair, D_gap))
                    before = load(Z, c)
                    pair = plus(match, left_out)
                    total = plus(total, match)
                    store(M, c, match)
                    store(X, c, left_out)
                    store(Z, c, plus(plus(unit, pair), gap))
                store(edge[0], i, load(Z, size - WIDTH))
                store(edge[1], i, pair)
                store(edge[2], i, gap)
                if D_weights is not None:
                    store(edge[3], i, load(DZ, size - WIDTH))
                    store(edge[4], i, D_pair)
                    store(edge[5], i, D_gap)
                if whole is not None:
                    _end(i // WIDTH, left, size, strip, own, whole, sums, held)
            if whole is None:
                store(new[0], 0, total)
                store(new[1], 0, D_total)
                _add(new, own, sums, held)


@njit(cache=True, nogil=True)
def finish(arrays, first, out, slopes, whole):
    """log k of the pairs in the lanes, and the derivatives of it."""
    sums, held = arrays[-2], arrays[-1]
    for lane in range(min(WIDTH, out.size - first)):
        total = sums[0, lane] + (power(-held[lane]) if whole is None else 0.0)
        out[first + lane] = log(total) + held[lane] * LOG_SCALE
        if slopes.size:
            slopes[first + lane] = sums[1, lane] / total


@njit(cache=True, nogil=True)
def alignments(
    x, x_ends, y, y_ends, rows, cols, unknown, width, every, table, weights, D_table, D_weights,
    whole, arrays, out, slopes,
):  # fmt: skip
    """log k of pairs of strings into ``out``, and its derivatives, if there are, into ``slopes``.

    ``unknown`` is what a symbol is that the table does not hold, or -1 without a table; ``whole``
    is None, or what :func:`whole_room` makes; ``arrays`` are those of :func:`room`.
    """
    for first in range(0, rows.size, WIDTH):
        n, m = begin(x, x_ends, y, y_ends, rows, cols, first, unknown, arrays)
        if whole is not None:
            begin_whole(x_ends, y_ends, rows, cols, first, n, every, arrays, whole)
        fill(arrays, n, 0, m, width, every, table, weights, D_table, D_weights, whole)
        finish(arrays, first, out, slopes, whole)
