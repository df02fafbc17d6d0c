"""Sums and minima over the alignments of two series, compiled; no interpreter lock.

Alignments are paths through the table of all pairs of points. The cells of an anti-diagonal
i + j = s do not depend on each other, so sixteen are filled at once. The second series is stored
backwards: the points that meet on an anti-diagonal then lie side by side in both. Coordinates are
rows; behind their ends follow points so far from all others that nothing aligned with them counts.

Three anti-diagonals are kept, cell (i, j) at place i + 1.
"""

from __future__ import annotations

from math import exp, frexp, inf, ldexp, log

import numpy as np

from ..._compiled import njit
from ..pairs.lanes import WIDTH, equal, load, plus, store, times, times_plus
from .lanes import decay, larger, largest, minus, over, smaller

FAR = 1e150  # its square can be represented
HUGE, SMALL, MIDDLE = 2.0**1000, 2.0**600, 900  # when a table is rescaled, and to which power


# ---- series as rows of coordinates -----------------------------------------------------------
@njit(cache=True, nogil=True)
def longest(sizes, chosen):
    """The largest size of the chosen series."""
    most = 0
    for p in range(chosen.size):
        most = max(most, sizes[chosen[p]])
    return most


@njit(cache=True, nogil=True)
def spread(values, start, size, backwards, room, beyond, out):
    """Coordinate c of a series from ``c * room`` on, in either direction, then ``beyond``."""
    for c in range(values.shape[1]):
        for t in range(size):
            out[c * room + (size - 1 - t if backwards else t)] = values[start + t, c]
        for t in range(size, min(size + 2 * WIDTH, room)):
            out[c * room + t] = beyond


@njit(cache=True, nogil=True)
def squares(x, x_room, i, y, y_room, j, channels):
    """The squared distances of sixteen pairs of points, from places i and j of the rows on."""
    total = equal(0.0)
    for c in range(channels):
        gap = minus(load(x, c * x_room + i), load(y, c * y_room + j))
        total = times_plus(gap, gap, total)
    return total


@njit(cache=True, nogil=True)
def reach(s, m, n, band):
    """The first and last i of the cells (i, s - i) of an m x n table with abs(2 i - s) < band."""
    return max(0, s - n + 1, (s - band + 2) // 2), min(m - 1, s, (s + band - 1) // 2)


# ---- the sum over all alignments, and the smallest -------------------------------------------
@njit(cache=True, nogil=True)
def _log_sum(x, x_room, m, y, y_room, n, channels, band, weights, diagonals, slopes, state, left):
    """log of the sum over all alignments of the product of local kernels, and its slope.

    A(i, j) = kappa(i, j) (A(i-1, j) + A(i, j-1) + A(i-1, j-1)), with kappa = e / (2 - e) and
    e = exp(-q), q = |x_i - y_j|^2, in a band times weights[parity of i + j]. Powers of two are
    taken out when the largest cell of two anti-diagonals leaves the middle of what can be
    represented.

    With anti-diagonals for ``slopes`` (else None), these hold the derivatives of A along the
    logarithm of the lengthscale: that of log kappa is 4 q / (2 - e). All terms are >= 0.

    ``state`` holds the anti-diagonal to go on with, the power and the largest cell of the one
    before. It is written when none of the cells are ``left``, and the result means nothing then.
    """
    begin = int(state[0])
    before, last, new = diagonals[begin % 3], diagonals[(begin + 1) % 3], diagonals[(begin + 2) % 3]
    if slopes is not None:
        slope_before, slope_last = slopes[begin % 3], slopes[(begin + 1) % 3]
        slope_new = slopes[(begin + 2) % 3]
    if begin == 0:
        for i in range(m + WIDTH + 2):
            before[i] = last[i] = new[i] = 0.0
        before[0] = ldexp(1.0, MIDDLE)  # the empty alignment
        if slopes is not None:
            for i in range(m + WIDTH + 2):
                slope_before[i] = slope_last[i] = slope_new[i] = 0.0
        state[1], state[2] = -MIDDLE, before[0]
    power, top_before = int(state[1]), state[2]
    state[0] = 0.0
    for s in range(begin, m + n - 1):
        low, high = reach(s, m, n, band)
        if left < 0:
            state[0], state[1], state[2] = s, power, top_before
            return 0.0, 0.0
        left -= high - low + 1
        weight = weights[s % 2]
        highest = equal(0.0)
        for i in range(low, high + 1, WIDTH):
            square = squares(x, x_room, i, y, y_room, i + n - 1 - s, channels)
            e = decay(square)
            if weight.size > 0:
                e = times(e, load(weight, band + i - (s + 1) // 2))
            rest = minus(equal(2.0), e)
            local = over(e, rest)
            value = times(plus(plus(load(last, i + 1), load(last, i)), load(before, i)), local)
            store(new, i + 1, value)
            if slopes is not None:
                slope = plus(load(slope_last, i + 1), load(slope_last, i))
                slope = times(plus(slope, load(slope_before, i)), local)
                steep = over(times(equal(4.0), smaller(square, equal(FAR))), rest)
                slope = times_plus(value, steep, slope)
                store(slope_new, i + 1, slope)
                value = plus(value, slope)
            highest = larger(highest, value)
        new[low], new[high + 2] = 0.0, 0.0
        top = largest(highest)
        most = max(top, top_before)
        if most == 0.0:
            return -inf, 0.0
        if slopes is not None:
            slope_new[low], slope_new[high + 2] = 0.0, 0.0
        if most > HUGE or most < SMALL:
            shift = min(MIDDLE - frexp(most)[1], 1000)
            factor = ldexp(1.0, shift)
            power -= shift
            for i in range(max(low - 1, 0), high + 3):
                new[i] *= factor
                last[i] *= factor
                if slopes is not None:
                    slope_new[i] *= factor
                    slope_last[i] *= factor
            top *= factor
        top_before = top
        before, last, new = last, new, before
        if slopes is not None:
            slope_before, slope_last, slope_new = slope_last, slope_new, slope_before
    if last[m] == 0.0:
        return -inf, 0.0
    mantissa, exponent = frexp(last[m])
    slope = 0.0 if slopes is None else slope_last[m] / last[m]
    return log(mantissa) + (power + exponent) * log(2.0), slope


@njit(cache=True, nogil=True)
def distant(x, x_start, x_size, y, y_start, y_size, rows, cols, band):
    """The same for pairs of series that have little in common, without leaving logarithms.

    It takes ten times as long, but nothing is too small for it.
    """
    longest = 0
    for b in range(y_size.size):
        longest = max(longest, y_size[b])
    out, above = np.empty(rows.size), np.empty(longest + 1)
    for p in range(rows.size):
        a, m, b, n = x_start[rows[p]], x_size[rows[p]], y_start[cols[p]], y_size[cols[p]]
        for j in range(n + 1):
            above[j] = -inf
        above[0] = 0.0
        for i in range(m):
            corner, left = above[0], -inf
            above[0] = -inf
            for j in range(n):
                square = 0.0
                for c in range(x.shape[1]):
                    square += (x[a + i, c] - y[b + j, c]) ** 2
                if band > 0:
                    inside = 1.0 - abs(i - j) / band
                    square = square - log(inside) if inside > 0.0 else inf
                highest = max(left, above[j + 1], corner)
                value = -inf
                if highest > -inf and square < inf:
                    total = exp(left - highest) + exp(above[j + 1] - highest)
                    total += exp(corner - highest)
                    value = highest + log(total) - square - log(2.0 - exp(-square))
                corner, above[j + 1], left = above[j + 1], value, value
        out[p] = above[n]
    return out


@njit(cache=True, nogil=True)
def _smallest(x, x_room, m, y, y_room, n, channels, band, diagonals, state, left):
    """The smallest sum of squared distances along an alignment inside the band.

    ``state`` holds the anti-diagonal to go on with, written when none of the cells are ``left``.
    """
    begin = int(state[0])
    before, last, new = diagonals[begin % 3], diagonals[(begin + 1) % 3], diagonals[(begin + 2) % 3]
    if begin == 0:
        for i in range(m + WIDTH + 2):
            before[i] = last[i] = new[i] = inf
        before[0] = 0.0
    state[0] = 0.0
    for s in range(begin, m + n - 1):
        low, high = reach(s, m, n, band)
        if left < 0:
            state[0] = s
            return 0.0
        left -= high - low + 1
        for i in range(low, high + 1, WIDTH):
            best = smaller(smaller(load(last, i + 1), load(last, i)), load(before, i))
            cost = squares(x, x_room, i, y, y_room, i + n - 1 - s, channels)
            store(new, i + 1, plus(best, cost))
        new[low], new[high + 2] = inf, inf
        before, last, new = last, new, before
    return last[m]


def alignment_space(x_size, y_size, channels, band, minimum, slopes):
    """The arrays that pairs of series of at most these sizes are worked out in."""
    x_room, y_room = int(x_size) + 2 * WIDTH, int(y_size) + 2 * WIDTH
    weights = np.zeros((2, 2 * (band + WIDTH) if band > 0 and not minimum else 0))
    if weights.size > 0:
        step = np.arange(1 - band, band)  # step = i - j, at (i + j) % 2 == step % 2
        weights[step % 2, band + step // 2] = 1.0 - np.abs(step) / band
    return (
        np.empty(channels * x_room),
        np.empty(channels * y_room),
        np.empty((3, x_room)),
        np.empty((3, x_room)) if slopes else None,
        weights,
    )


@njit(cache=True, nogil=True)
def alignments(
    x, x_start, x_size, y, y_start, y_size, rows, cols, band, minimum, out, slopes,
    room, state, most,
):  # fmt: skip
    """For pairs of series the log of the sum over alignments into ``out``.

    Or the minimum, where ``minimum`` is not None. ``band`` is 0 for all alignments. ``slopes`` is
    None, or an array that is filled with the derivatives of the logarithms along that of the
    lengthscale. Pairs with the same first series should follow each other. A pair with more than
    ``most`` cells takes several calls: ``state``, zeros at first, tells the next one where to go
    on, and the result is the number of pairs done.
    """
    left, right, diagonals, tangents, weights = room
    channels, x_room = x.shape[1], diagonals.shape[1]
    y_room = right.size // channels
    at = -1
    for p in range(int(state[3]), rows.size):
        m, n = x_size[rows[p]], y_size[cols[p]]
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], m, False, x_room, FAR, left)
        spread(y, y_start[cols[p]], n, True, y_room, -FAR, right)
        width = band if band > 0 else m + n
        slope = 0.0
        if abs(m - n) >= width:
            out[p] = -inf if minimum is None else inf
        elif minimum is not None:
            out[p] = _smallest(
                left, x_room, m, right, y_room, n, channels, width, diagonals,
                state, most,
            )  # fmt: skip
        else:
            out[p], slope = _log_sum(
                left, x_room, m, right, y_room, n, channels, width, weights,
                diagonals, tangents, state, most,
            )  # fmt: skip
        if slopes is not None:
            slopes[p] = slope
        if state[0] > 0:
            state[3] = p
            return p
    return rows.size
