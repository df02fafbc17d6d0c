"""The tables of subsequence kernels, sixteen at a time; no interpreter lock.

Tables are filled in strips of columns, row by row, so that a strip of all sixteen stays in cache.
Rows of shorter strings are padded with symbols that match nothing. With derivatives, every number
of a table is followed by its own, D: products and sums are differentiated cell by cell, so that
slopes are as exact as the values.

A table may be filled in several calls, of some columns each: ``begin`` puts sixteen pairs into
lanes, ``fill`` goes on from column to column, and ``finish`` reads the results.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, equal, load, plus, store, times, times_plus, where_same

STRIP = 32  # columns that are filled together
NO_ROW, NO_COLUMN = -1, -2  # what follows the end of a string


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
def lanes_for(ends, chosen):
    """Room for the symbols of sixteen samples."""
    return np.empty(most(ends, chosen) * WIDTH, np.int64)


@njit(cache=True, nogil=True)
def begin(x, x_ends, y, y_ends, rows, cols, first, s, t):
    """Put sixteen pairs into lanes; the sizes of their tables."""
    n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
    spread(x, x_ends, rows, first, n, NO_ROW, s)
    spread(y, y_ends, cols, first, m, NO_COLUMN, t)
    return n, m


# ---- subsequences of one length or several, with gaps ----------------------------------------
@njit(cache=True, nogil=True)
def gapped_room(length, n):
    """Arrays for the levels of sixteen tables of n rows, before the first column."""
    return (
        np.zeros((length, (STRIP + 1) * WIDTH)),  # H, with the column before the strip
        np.zeros((length, n * WIDTH)),  # H of that column, row by row
        np.zeros((length, n * WIDTH)),  # R of it
        np.zeros(length * WIDTH),  # sums of all h
    )


@njit(cache=True, nogil=True)
def fill_gapped(s, t, n, first, last, decay, arrays, D_arrays):
    """Fill in the columns from ``first`` to ``last`` of sixteen tables with n rows.

    With h_l(i, j) the weight of all pairs of subsequences of length l that end at symbols i and
    j, which agree, and H_l(i, j) the sum of h_l over the symbols up to (i, j), each times decay
    for every step from there,

        h_l(i, j) = H_(l-1)(i-1, j-1),    H_l(i, j) = decay H_l(i-1, j) + R_l(i, j)

    where R_l(i, j) = decay R_l(i, j-1) + h_l(i, j) is the sum along row i. The sum of all h_l,
    times decay^(2 l), is the kernel. ``D_arrays`` are None, or hold the derivatives by log(decay).
    """
    H, corner, carried, total = arrays
    length = H.shape[0]
    hit, fade, one = np.empty(STRIP * WIDTH), equal(decay), equal(1.0)
    if D_arrays is not None:
        DH, D_corner, D_carried, D_sums = D_arrays
    for left in range(first, last, STRIP):
        size = min(STRIP, last - left) * WIDTH
        for l in range(length):
            for c in range(H.shape[1]):
                H[l, c] = 0.0
                if D_arrays is not None:
                    DH[l, c] = 0.0
        for i in range(0, n * WIDTH, WIDTH):
            for l in range(length - 1):  # H of the row above, before it is overwritten
                edge, row = corner[l], H[l]
                store(row, 0, load(edge, i))
                store(edge, i, load(row, size))
                if D_arrays is not None:
                    store(DH[l], 0, load(D_corner[l], i))
                    store(D_corner[l], i, load(DH[l], size))
            above, found = H[max(length - 2, 0)], load(total, (length - 1) * WIDTH)
            if D_arrays is not None:
                D_above, D_found = DH[max(length - 2, 0)], load(D_sums, (length - 1) * WIDTH)
            for c in range(0, size, WIDTH):
                match = where_same(s, i, t, left * WIDTH + c, one)
                store(hit, c, match)
                found = times_plus(match, load(above, c) if length > 1 else one, found)
                if D_arrays is not None and length > 1:
                    D_found = times_plus(match, load(D_above, c), D_found)
            store(total, (length - 1) * WIDTH, found)
            if D_arrays is not None:
                store(D_sums, (length - 1) * WIDTH, D_found)
            for l in range(length - 2, -1, -1):
                row, edge, before = H[l], carried[l], H[max(l - 1, 0)]
                run, found = load(edge, i), load(total, l * WIDTH)
                if D_arrays is not None:
                    D_row, D_edge, D_before = DH[l], D_carried[l], DH[max(l - 1, 0)]
                    D_run, D_found = load(D_edge, i), load(D_sums, l * WIDTH)
                for c in range(0, size, WIDTH):
                    new = load(hit, c)
                    if D_arrays is not None:
                        D_run = times(plus(run, D_run), fade)
                        if l > 0:
                            D_new = times(new, load(D_before, c))
                            D_run, D_found = plus(D_run, D_new), plus(D_found, D_new)
                        D_old = plus(load(row, c + WIDTH), load(D_row, c + WIDTH))
                        store(D_row, c + WIDTH, times_plus(D_old, fade, D_run))
                    if l > 0:
                        new = times(new, load(before, c))
                    found = plus(found, new)
                    run = times_plus(run, fade, new)
                    store(row, c + WIDTH, times_plus(load(row, c + WIDTH), fade, run))
                store(edge, i, run)
                store(total, l * WIDTH, found)
                if D_arrays is not None:
                    store(D_edge, i, D_run)
                    store(D_sums, l * WIDTH, D_found)


@njit(cache=True, nogil=True)
def finish_gapped(first, factors, arrays, D_arrays, out):
    """The sum of all levels times ``factors``, their largest, and the slope, for each lane."""
    _, _, _, total = arrays
    if D_arrays is not None:
        _, _, _, D_total = D_arrays
    for lane in range(min(WIDTH, out.shape[1] - first)):
        value, top, slope = 0.0, 0.0, 0.0
        for l in range(factors.size):
            found = total[l * WIDTH + lane]
            value += factors[l] * found
            top = max(top, found) if found == found else np.inf
            if D_arrays is not None:
                slope += factors[l] * (2 * (l + 1) * found + D_total[l * WIDTH + lane])
        out[0, first + lane], out[1, first + lane], out[2, first + lane] = value, top, slope


@njit(cache=True, nogil=True)
def clear(arrays, n):
    """Put the arrays of tables of n rows back to where they were before the first column."""
    _, corner, carried, total = arrays
    for l in range(corner.shape[0]):
        for c in range(n * WIDTH):
            corner[l, c] = carried[l, c] = 0.0
        for lane in range(l * WIDTH, (l + 1) * WIDTH):
            total[lane] = 0.0


@njit(cache=True, nogil=True)
def gapped(x, x_ends, y, y_ends, rows, cols, factors, decay, sloped, out):
    """Values, largest sums and slopes of pairs of strings, as rows of ``out``."""
    n_most, m_most, length = most(x_ends, rows), most(y_ends, cols), factors.size
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    arrays = gapped_room(length, n_most)
    D_arrays = None if sloped is None else gapped_room(length, n_most)
    for first in range(0, rows.size, WIDTH):
        n, m = begin(x, x_ends, y, y_ends, rows, cols, first, s, t)
        clear(arrays, n)
        if sloped is not None:
            clear(D_arrays, n)
        fill_gapped(s, t, n, 0, m, decay, arrays, D_arrays)
        finish_gapped(first, factors, arrays, D_arrays, out)


# ---- all subsequences ------------------------------------------------------------------------
@njit(cache=True, nogil=True)
def all_room(n, m):
    """A row of sixteen tables, and the column before those that are filled: K, R and their D."""
    K, edge = np.ones((2, m * WIDTH)), np.zeros((4, n * WIDTH))
    K[1] = 0.0
    edge[0] = 1.0
    return K, edge


@njit(cache=True, nogil=True)
def fill_all(s, t, n, first, last, decay, K, edge, sloped):
    """Fill in some columns of sixteen tables.

    K(i, j) of the first i and j symbols is K(i-1, j) + R(i, j), where the sum along the row is
    R(i, j) = R(i, j-1) + decay^2 K(i-1, j-1) if symbols i and j agree.
    """
    both, two = equal(decay * decay), equal(2.0)
    corner, D_corner = equal(1.0), equal(0.0)
    row, D_row = K[0], K[1]
    for i in range(0, n * WIDTH, WIDTH):
        before, run = corner, load(edge[1], i)
        D_before, D_run = D_corner, load(edge[3], i)
        corner, D_corner = load(edge[0], i), load(edge[2], i)
        for c in range(first * WIDTH, last * WIDTH, WIDTH):
            match = where_same(s, i, t, c, both)
            if sloped is not None:
                D_run = times_plus(match, times_plus(two, before, D_before), D_run)
                D_before = load(D_row, c)
                store(D_row, c, plus(D_before, D_run))
            run = times_plus(match, before, run)
            before = load(row, c)
            store(row, c, plus(before, run))
        store(edge[0], i, load(row, (last - 1) * WIDTH))
        store(edge[1], i, run)
        if sloped is not None:
            store(edge[2], i, load(D_row, (last - 1) * WIDTH))
            store(edge[3], i, D_run)


@njit(cache=True, nogil=True)
def finish_all(first, m, K, out):
    """The values and slopes of the pairs in the lanes, as rows of ``out``."""
    for lane in range(min(WIDTH, out.shape[1] - first)):
        out[0, first + lane] = K[0, (m - 1) * WIDTH + lane] if m > 0 else 1.0
        out[1, first + lane] = K[1, (m - 1) * WIDTH + lane] if m > 0 else 0.0


@njit(cache=True, nogil=True)
def all_subsequences(x, x_ends, y, y_ends, rows, cols, decay, sloped, out):
    """Values and slopes of pairs of strings, as rows of ``out``."""
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    K, edge = all_room(n_most, m_most)
    for first in range(0, rows.size, WIDTH):
        n, m = begin(x, x_ends, y, y_ends, rows, cols, first, s, t)
        K[0, : m * WIDTH], K[1, : m * WIDTH] = 1.0, 0.0
        edge[0, : n * WIDTH], edge[1:, : n * WIDTH] = 1.0, 0.0
        if m > 0:
            fill_all(s, t, n, 0, m, decay, K, edge, sloped)
        finish_all(first, m, K, out)
