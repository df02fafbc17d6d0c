"""The tables of subsequence and alignment kernels with their derivatives, sixteen at a time.

Every number of a table is followed by its derivative D: products and sums are differentiated cell
by cell, so that slopes are as exact as the values (:mod:`.table_loops` has the recursions).
"""

from __future__ import annotations

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
from .table_loops import LARGE, NO_COLUMN, NO_ROW, STRIP, longest, most, spread


@njit(cache=True, nogil=True)
def subsequence_slopes(x, x_ends, y, y_ends, rows, cols, weights, decay):
    """decay dk/d(decay) of the gap-weighted subsequence kernel, for pairs of strings."""
    out, length = np.zeros(rows.size), weights.size
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    strip = STRIP * WIDTH
    H, DH = np.zeros((length, strip + WIDTH)), np.zeros((length, strip + WIDTH))
    hit, total = np.zeros(strip), np.zeros(length * WIDTH)
    corner, D_corner = np.zeros((length, n_most * WIDTH)), np.zeros((length, n_most * WIDTH))
    carried, D_carried = np.zeros((length, n_most * WIDTH)), np.zeros((length, n_most * WIDTH))
    fade, both, two = equal(decay), equal(decay * decay), equal(2.0)
    for first in range(0, rows.size, WIDTH):
        n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
        spread(x, x_ends, rows, first, n, NO_ROW, s)
        spread(y, y_ends, cols, first, m, NO_COLUMN, t)
        corner[:, : n * WIDTH], D_corner[:, : n * WIDTH], total[:] = 0.0, 0.0, 0.0
        carried[:, : n * WIDTH], D_carried[:, : n * WIDTH] = 0.0, 0.0
        for left in range(0, m, STRIP):
            size = min(STRIP, m - left) * WIDTH
            H[:], DH[:] = 0.0, 0.0
            for i in range(0, n * WIDTH, WIDTH):
                for l in range(length - 1):
                    store(H[l], 0, load(corner[l], i))
                    store(corner[l], i, load(H[l], size))
                    store(DH[l], 0, load(D_corner[l], i))
                    store(D_corner[l], i, load(DH[l], size))
                above, D_above = H[max(length - 2, 0)], DH[max(length - 2, 0)]
                found = load(total, (length - 1) * WIDTH)
                for c in range(0, size, WIDTH):
                    match, shown = where_same(s, i, t, left * WIDTH + c, both), two
                    store(hit, c, match)
                    if length > 1:
                        shown = times_plus(two, load(above, c), load(D_above, c))
                    found = times_plus(match, shown, found)
                store(total, (length - 1) * WIDTH, found)
                for l in range(length - 2, -1, -1):
                    row, D_row = H[l], DH[l]
                    before, D_before = H[max(l - 1, 0)], DH[max(l - 1, 0)]
                    run, D_run = load(carried[l], i), load(D_carried[l], i)
                    found = load(total, l * WIDTH)
                    for c in range(0, size, WIDTH):
                        new = load(hit, c)
                        D_new = times(two, new)
                        if l > 0:
                            shown = load(before, c)
                            D_new = times_plus(D_new, shown, times(new, load(D_before, c)))
                            new = times(new, shown)
                        found = plus(found, D_new)
                        D_run = times_plus(plus(run, D_run), fade, D_new)
                        run = times_plus(run, fade, new)
                        old = load(row, c + WIDTH)
                        D_old = plus(old, load(D_row, c + WIDTH))
                        store(D_row, c + WIDTH, times_plus(D_old, fade, D_run))
                        store(row, c + WIDTH, times_plus(old, fade, run))
                    store(carried[l], i, run)
                    store(D_carried[l], i, D_run)
                    store(total, l * WIDTH, found)
        for lane in range(min(WIDTH, rows.size - first)):
            for l in range(length):
                out[first + lane] += weights[l] * total[l * WIDTH + lane]
    return out


@njit(cache=True, nogil=True)
def all_subsequence_slopes(x, x_ends, y, y_ends, rows, cols, decay):
    """decay dk/d(decay) of the all-subsequences kernel, for pairs of strings."""
    out = np.zeros(rows.size)
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    K, DK = np.empty(m_most * WIDTH), np.empty(m_most * WIDTH)
    both, two = equal(decay * decay), equal(2.0)
    for first in range(0, rows.size, WIDTH):
        n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
        spread(x, x_ends, rows, first, n, NO_ROW, s)
        spread(y, y_ends, cols, first, m, NO_COLUMN, t)
        K[:], DK[:] = 1.0, 0.0
        for i in range(0, n * WIDTH, WIDTH):
            run, D_run = equal(0.0), equal(0.0)
            before, D_before = equal(1.0), equal(0.0)
            for c in range(0, m * WIDTH, WIDTH):
                match = where_same(s, i, t, c, both)
                D_run = times_plus(match, times_plus(two, before, D_before), D_run)
                run = times_plus(match, before, run)
                before, D_before = load(K, c), load(DK, c)
                store(K, c, plus(before, run))
                store(DK, c, plus(D_before, D_run))
        if m > 0:
            for lane in range(min(WIDTH, rows.size - first)):
                out[first + lane] = DK[(m - 1) * WIDTH + lane]
    return out


@njit(cache=True, nogil=True)
def alignment_slopes(x, x_ends, y, y_ends, rows, cols, table, D_table, weights, D_weights):
    """The derivative of log k of the local alignment kernel, for pairs of strings.

    The weights are (same, other, opening, extension); all come with their derivatives.
    """
    same, other, opening, extension = weights
    D_same, D_other, D_opening, D_extension = D_weights
    out = np.zeros(rows.size)
    n_most, m_most = most(x_ends, rows), most(y_ends, cols)
    s, t = np.empty(n_most * WIDTH, np.int64), np.empty(m_most * WIDTH, np.int64)
    M, X, Z = np.empty(m_most * WIDTH), np.empty(m_most * WIDTH), np.empty(m_most * WIDTH)
    DM, DX, DZ = np.empty(m_most * WIDTH), np.empty(m_most * WIDTH), np.empty(m_most * WIDTH)
    sums, units, D_sums, factors = (
        np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH), np.empty(WIDTH)
    )  # fmt: skip
    opened, extended = equal(opening), equal(extension)
    D_opened, D_extended = equal(D_opening), equal(D_extension)
    agreeing, differing = equal(same), equal(other)
    D_agreeing, D_differing = equal(D_same), equal(D_other)
    no_row, no_column = NO_ROW, NO_COLUMN
    if table is not None:
        no_row = no_column = table.shape[0] - 1
    for first in range(0, rows.size, WIDTH):
        n, m = longest(x_ends, rows, first), longest(y_ends, cols, first)
        spread(x, x_ends, rows, first, n, no_row, s)
        spread(y, y_ends, cols, first, m, no_column, t)
        M[:], X[:], Z[:], units[:] = 0.0, 0.0, 1.0, 1.0
        DM[:], DX[:], DZ[:] = 0.0, 0.0, 0.0
        total, D_total = equal(0.0), equal(0.0)
        for i in range(0, n * WIDTH, WIDTH):
            unit = load(units, 0)
            before, pair, gap = unit, equal(0.0), equal(0.0)
            D_before, D_pair, D_gap = equal(0.0), equal(0.0), equal(0.0)
            for c in range(0, m * WIDTH, WIDTH):
                D_gap = times_plus(D_opened, pair, times_plus(D_extended, gap, times_plus(
                    opened, D_pair, times(extended, D_gap))))  # fmt: skip
                gap = times_plus(opened, pair, times(extended, gap))
                above, skipped = load(M, c), load(X, c)
                D_left_out = times_plus(D_opened, above, times_plus(D_extended, skipped, times_plus(
                    opened, load(DM, c), times(extended, load(DX, c)))))  # fmt: skip
                left_out = times_plus(opened, above, times(extended, skipped))
                if table is None:
                    weight = by_sameness(s, i, t, c, agreeing, differing)
                    D_weight = by_sameness(s, i, t, c, D_agreeing, D_differing)
                else:
                    weight = look_up(table, s, i, t, c)
                    D_weight = look_up(D_table, s, i, t, c)
                match = times(weight, before)
                D_match = times_plus(D_weight, before, times(weight, D_before))
                before, D_before = load(Z, c), load(DZ, c)
                pair, D_pair = plus(match, left_out), plus(D_match, D_left_out)
                total, D_total = plus(total, match), plus(D_total, D_match)
                store(M, c, match)
                store(DM, c, D_match)
                store(X, c, left_out)
                store(DX, c, D_left_out)
                store(Z, c, plus(plus(unit, pair), gap))
                store(DZ, c, plus(D_pair, D_gap))
            store(sums, 0, total)
            if sums.max() > LARGE:
                for lane in range(WIDTH):
                    factors[lane] = 1 / LARGE if sums[lane] > LARGE else 1.0
                down = load(factors, 0)
                total, D_total = times(total, down), times(D_total, down)
                store(units, 0, times(load(units, 0), down))
                for c in range(0, m * WIDTH, WIDTH):
                    for table_of in (M, X, Z, DM, DX, DZ):
                        store(table_of, c, times(load(table_of, c), down))
        store(sums, 0, total)
        store(D_sums, 0, D_total)
        for lane in range(min(WIDTH, rows.size - first)):
            out[first + lane] = D_sums[lane] / (units[lane] + sums[lane])
    return out
