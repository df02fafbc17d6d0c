"""The tables of subsequence and alignment kernels in wide numbers, one pair of strings at a time.

They are for pairs whose numbers leave the range of floating point numbers; :mod:`.table_loops` and
:mod:`.alignment_loops` have the recursions, and are twenty times as fast. All functions fill some
rows of a table, so that long strings take many short calls. With complex parameters, moved by a
tiny imaginary amount, the derivative comes out as imaginary part.
"""

from __future__ import annotations

from ..._compiled import njit
from ..pairs.wide import get, like, plus, put, times


@njit(cache=True, nogil=True)
def subsequence_rows(x, y, first, last, decay, H, totals):
    """Rows of the tables of gap-weighted subsequences, where a match has weight 1.

    ``H[l]`` holds a row of level l from place 1 on, and ``totals`` the sums of all levels.
    """
    length, zero, one = totals[0].size, like(H, 0.0 * decay), like(H, 0.0 * decay + 1.0)
    fade = like(H, decay)
    for i in range(first, last):
        for l in range(length - 1, -1, -1):
            run, total = zero, get(totals, l)
            for j in range(y.size):
                run = times(run, fade)
                if x[i] == y[j]:
                    new = get(H, (l - 1, j)) if l > 0 else one
                    run, total = plus(run, new), plus(total, new)
                put(H, (l, j + 1), plus(times(get(H, (l, j + 1)), fade), run))
            put(totals, l, total)


@njit(cache=True, nogil=True)
def weighted_levels(totals, weights, decay, out):
    """sum_l weights[l] decay^(2 l + 2) totals[l], into the only place of ``out``."""
    square = times(like(out, decay), like(out, decay))
    factor, value = square, like(out, 0.0 * decay)
    for l in range(weights.size):
        weight = like(out, weights[l] + 0.0 * decay)
        value = plus(value, times(weight, times(factor, get(totals, l))))
        factor = times(factor, square)
    put(out, 0, value)


@njit(cache=True, nogil=True)
def all_subsequence_rows(x, y, first, last, decay, K):
    """Rows of the table of all subsequences; ``K[j]`` is that of the first j symbols of y."""
    zero, square = like(K, 0.0 * decay), times(like(K, decay), like(K, decay))
    for i in range(first, last):
        run, before = zero, get(K, 0)
        for j in range(y.size):
            if x[i] == y[j]:
                run = plus(run, times(square, before))
            before = get(K, j + 1)
            put(K, j + 1, plus(before, run))


@njit(cache=True, nogil=True)
def alignment_rows(x, y, first, last, table, weights, M, X, Z, total):
    """Rows of the table of local alignments; ``Z[j]`` is 1 + M + X + Y of the first j symbols."""
    same, other, opening, extension = weights
    zero, one = like(Z, 0.0 * same), like(Z, 0.0 * same + 1.0)
    opened, extended = like(Z, opening), like(Z, extension)
    found = get(total, 0)
    for i in range(first, last):
        before, pair, gap = one, zero, zero
        for j in range(y.size):
            gap = plus(times(opened, pair), times(extended, gap))
            left_out = plus(times(opened, get(M, j)), times(extended, get(X, j)))
            if table is None:
                weight = like(Z, same if x[i] == y[j] else other)
            else:
                weight = like(Z, table[x[i], y[j]])
            match = times(weight, before)
            before = get(Z, j)
            pair = plus(match, left_out)
            found = plus(found, match)
            put(M, j, match)
            put(X, j, left_out)
            put(Z, j, plus(one, plus(pair, gap)))
    put(total, 0, found)
