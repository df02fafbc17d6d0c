"""The tables of subsequence and alignment kernels, sixteen at a time; no interpreter lock.

Tables are filled in strips of columns, row by row, so that a strip of all sixteen stays in cache.
Rows of shorter strings go on with symbols that match nothing.
"""

from __future__ import annotations

from math import log

import numpy as np

from ..._compiled import njit
from ..lanes import (
    WIDTH,
    by_sameness,
    equal,
    load,
    look_up,
    plus,
    store,
    times,
    times_plus,
    where_same,
)

STRIP = 32  # columns that are filled together
NO_ROW, NO_COLUMN = -1, -2  # what follows the end of a string
LARGE = 2.0**400  # the square of it can be represented


@njit(cache=True, nogil=True)
def longest(ends, chosen, first):
    """The largest length of the samples in the lanes from pair ``first`` on."""
    found = 0
    for lane in range(min(WIDTH, chosen.size - first)):
        found = max(found, ends[chosen[first + lane] + 1] - ends[chosen[first + lane]])
    return found


@njit(cache=True, nogil=True)
def spread(symbols, ends, chosen, first, length, nothing, out):
    """Put samples into lanes; lanes that are left over are empty."""
    for lane in range(WIDTH):
        used = 0
        if first + lane < chosen.size:
            start = ends[chosen[first + lane]]
            used = ends[chosen[first + lane] + 1] - start
            for t in range(used):
                out[t * WIDTH + lane] = symbols[start + t]
        for t in range(used, length):
            out[t * WIDTH + lane] = nothing


@njit(cache=True, nogil=True)
def most(ends, chosen):
    """The largest length of all chosen samples."""
    found = 0
    for p in range(chosen.size):
        found = max(found, ends[chosen[p] + 1] - ends[chosen[p]])
    return found


@njit(cache=True, nogil=True)
def subsequences(x, x_ends, y, y_ends, rows, cols, weights, decay):
    """The gap-weighted subsequence kernel of pairs of strings; weights of the lengths 1, 2, ....

    With h_l(i, j) the weight of all pairs of subsequences of length l that end at symbols i and
    j, which agree, and H_l(i, j) the sum of h_l over the symbols up to (i, j), each times decay
    for every step from there,

        h_l(i, j) = decay^2 H_(l-1)(i-1, j-1),    H_l(i, j) = decay H_l(i-1, j) + R_l(i, j)

    where R_l(i, j) = decay R_l(i, j-1) + h_l(i, j) is the sum along row i. The value is the sum of
    all h_l, times the weights of the lengths; the last of them is not zero.
    """
    out, length = np.zeros(rows.size), weights.size
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    strip = STRIP * WIDTH
    H = np.zeros((length, strip + WIDTH))  # one column more: that before the strip
    hit, total = np.zeros(strip), np.zeros(length * WIDTH)
    corner, carried = np.zeros((length, n_most * WIDTH)), np.zeros((length, n_most * WIDTH))
    fade, both, one = equal(decay), equal(decay * decay), equal(1.0)
    for first in range(0, rows.size, WIDTH):
        n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
        spread(x, x_ends, rows, first, n, NO_ROW, s)
        spread(y, y_ends, cols, first, m, NO_COLUMN, t)
        corner[:, : n * WIDTH], carried[:, : n * WIDTH], total[:] = 0.0, 0.0, 0.0
        for left in range(0, m, STRIP):
            size = min(STRIP, m - left) * WIDTH
            H[:] = 0.0
            for i in range(0, n * WIDTH, WIDTH):
                for l in range(length - 1):  # H of the row above, before it is overwritten
                    edge, row = corner[l], H[l]
                    store(row, 0, load(edge, i))
                    store(edge, i, load(row, size))
                above, found = H[max(length - 2, 0)], load(total, (length - 1) * WIDTH)
                for c in range(0, size, WIDTH):
                    match = where_same(s, i, t, left * WIDTH + c, both)
                    store(hit, c, match)
                    found = times_plus(match, load(above, c) if length > 1 else one, found)
                store(total, (length - 1) * WIDTH, found)
                for l in range(length - 2, -1, -1):
                    row, edge, before = H[l], carried[l], H[max(l - 1, 0)]
                    run, found = load(edge, i), load(total, l * WIDTH)
                    for c in range(0, size, WIDTH):
                        new = load(hit, c)
                        if l > 0:
                            new = times(new, load(before, c))
                        found = plus(found, new)
                        run = times_plus(run, fade, new)
                        store(row, c + WIDTH, times_plus(load(row, c + WIDTH), fade, run))
                    store(edge, i, run)
                    store(total, l * WIDTH, found)
        for lane in range(min(WIDTH, rows.size - first)):
            for l in range(length):
                out[first + lane] += weights[l] * total[l * WIDTH + lane]
    return out


@njit(cache=True, nogil=True)
def all_subsequences(x, x_ends, y, y_ends, rows, cols, decay):
    """The all-subsequences kernel of pairs of strings.

    K(i, j) of the first i and j symbols is K(i-1, j) + R(i, j), where the sum along the row is
    R(i, j) = R(i, j-1) + decay^2 K(i-1, j-1) if symbols i and j agree.
    """
    out = np.ones(rows.size)
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    K = np.empty(m_most * WIDTH)
    one, both = equal(1.0), equal(decay * decay)
    for first in range(0, rows.size, WIDTH):
        n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
        spread(x, x_ends, rows, first, n, NO_ROW, s)
        spread(y, y_ends, cols, first, m, NO_COLUMN, t)
        K[:] = 1.0
        for i in range(0, n * WIDTH, WIDTH):
            run, before = equal(0.0), one
            for c in range(0, m * WIDTH, WIDTH):
                run = times_plus(where_same(s, i, t, c, both), before, run)
                before = load(K, c)
                store(K, c, plus(before, run))
        if m > 0:
            for lane in range(min(WIDTH, rows.size - first)):
                out[first + lane] = K[(m - 1) * WIDTH + lane]
    return out


@njit(cache=True, nogil=True)
def alignments(x, x_ends, y, y_ends, rows, cols, table, same, other, opening, extension):
    """log of the local alignment kernel of pairs of strings.

    With M(i, j), X(i, j) and Y(i, j) the weight of alignments of the first i and j symbols that
    end with the pair (i, j), with symbols of x left out, and with symbols of y left out,

        M(i, j) = weight(x_i, y_j) (1 + M + X + Y)(i-1, j-1)
        X(i, j) = opening M(i-1, j) + extension X(i-1, j)
        Y(i, j) = opening (M + X)(i, j-1) + extension Y(i, j-1)

    the value is 1 plus the sum of M over all cells. Lanes that grow beyond LARGE are scaled
    down, and with them the 1. The weights come from a table, whose last row and column, 0, are
    those of no symbol; without one they are ``same`` or ``other``.
    """
    out = np.zeros(rows.size)
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    M, X, Z = np.empty(m_most * WIDTH), np.empty(m_most * WIDTH), np.empty(m_most * WIDTH)
    sums, units, factors = np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    scaled = np.empty(WIDTH)
    opened, extended = equal(opening), equal(extension)
    agreeing, differing = equal(same), equal(other)
    no_row, no_column = NO_ROW, NO_COLUMN
    if table is not None:
        no_row = no_column = table.shape[0] - 1
    for first in range(0, rows.size, WIDTH):
        n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
        spread(x, x_ends, rows, first, n, no_row, s)
        spread(y, y_ends, cols, first, m, no_column, t)
        M[:], X[:], Z[:], units[:], scaled[:] = 0.0, 0.0, 1.0, 1.0, 0.0
        total = equal(0.0)
        for i in range(0, n * WIDTH, WIDTH):
            unit = load(units, 0)
            before, pair, gap = unit, equal(0.0), equal(0.0)
            for c in range(0, m * WIDTH, WIDTH):
                gap = times_plus(opened, pair, times(extended, gap))
                left_out = times_plus(opened, load(M, c), times(extended, load(X, c)))
                if table is None:
                    weight = by_sameness(s, i, t, c, agreeing, differing)
                else:
                    weight = look_up(table, s, i, t, c)
                match = times(weight, before)
                before = load(Z, c)
                pair = plus(match, left_out)
                total = plus(total, match)
                store(M, c, match)
                store(X, c, left_out)
                store(Z, c, plus(plus(unit, pair), gap))
            store(sums, 0, total)
            if sums.max() > LARGE:
                for lane in range(WIDTH):
                    large = sums[lane] > LARGE
                    factors[lane] = 1 / LARGE if large else 1.0
                    scaled[lane] += log(LARGE) if large else 0.0
                down = load(factors, 0)
                total = times(total, down)
                store(units, 0, times(load(units, 0), down))
                for c in range(0, m * WIDTH, WIDTH):
                    store(M, c, times(load(M, c), down))
                    store(X, c, times(load(X, c), down))
                    store(Z, c, times(load(Z, c), down))
        store(sums, 0, total)
        for lane in range(min(WIDTH, rows.size - first)):
            out[first + lane] = log(units[lane] + sums[lane]) + scaled[lane]
    return out
