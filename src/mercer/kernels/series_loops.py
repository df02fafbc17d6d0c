"""Sums and minima over the alignments of two series, compiled; no interpreter lock.

Alignments are paths through the table of all pairs of points. The cells of an anti-diagonal
i + j = s do not depend on each other, so sixteen are filled at once. The second series is stored
backwards: the points that meet on an anti-diagonal then lie side by side in both. Coordinates are
rows; behind their ends follow points so far from all others that nothing aligned with them counts.

Three anti-diagonals are kept, cell (i, j) at place i + 1.
"""

from __future__ import annotations

from math import exp, factorial, frexp, inf, ldexp, log
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from .lanes import LANES, WIDTH, equal, load, plus, store, times, times_plus

_FAR = 1e150  # its square can be represented
_HUGE, _SMALL, _MIDDLE = 2.0**1000, 2.0**600, 900  # when a table is rescaled, and to which power
_SMALLEST = 708.0  # exp(-708) is the last that is not denormal

_FLOATS = ir.VectorType(ir.DoubleType(), WIDTH)
_BITS = ir.VectorType(ir.IntType(64), WIDTH)
_FLAGS = ("nnan", "nsz", "contract")


# ---- more operations on sixteen numbers ------------------------------------------------------
def _all(number: float) -> Any:
    return ir.Constant(_FLOATS, [float(number)] * WIDTH)


def _called(name: str, builder: Any, result: Any, *args: Any) -> Any:
    kind = ir.FunctionType(result, [arg.type for arg in args])
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{WIDTH}f64")
    return builder.call(function, args, fastmath=_FLAGS)


@intrinsic
def minus(typing, a, b):
    """a - b."""

    def generate(context, builder, signature, args):
        return builder.fsub(args[0], args[1], flags=_FLAGS)

    return LANES(LANES, LANES), generate


@intrinsic
def over(typing, a, b):
    """a / b."""

    def generate(context, builder, signature, args):
        return builder.fdiv(args[0], args[1], flags=_FLAGS)

    return LANES(LANES, LANES), generate


@intrinsic
def larger(typing, a, b):
    """The larger of a and b, lane by lane."""

    def generate(context, builder, signature, args):
        return _called("maxnum", builder, _FLOATS, *args)

    return LANES(LANES, LANES), generate


@intrinsic
def smaller(typing, a, b):
    """The smaller of a and b, lane by lane."""

    def generate(context, builder, signature, args):
        return _called("minnum", builder, _FLOATS, *args)

    return LANES(LANES, LANES), generate


@intrinsic
def largest(typing, a):
    """The largest of the sixteen numbers."""

    def generate(context, builder, signature, args):
        return _called("vector.reduce.fmax", builder, ir.DoubleType(), *args)

    return types.float64(LANES), generate


@intrinsic
def decay(typing, a):
    """exp(-a) for a >= 0, to 2 units in the last place; 0 where a > 708.

    With n the integer next to -a / log 2, exp(-a) is 2^n exp(r), abs(r) <= log(2) / 2. Adding
    1.5 * 2^52 leaves n in the low bits of the sum, from where it is added to the exponent of the
    Taylor polynomial of exp(r).
    """

    def generate(context, builder, signature, args):
        def times_plus(x: Any, factor: float, y: Any) -> Any:
            return builder.fadd(builder.fmul(x, _all(factor), flags=_FLAGS), y, flags=_FLAGS)

        (a,) = args
        shifter = _all(1.5 * 2**52)
        shifted = times_plus(a, -1.4426950408889634, shifter)
        n = builder.fsub(shifted, shifter)
        r = times_plus(n, -6.93147180369123816490e-01, builder.fneg(a))
        r = times_plus(n, -1.90821492927058770002e-10, r)
        value = _all(1 / factorial(12))
        for k in reversed(range(12)):
            product = builder.fmul(value, r, flags=_FLAGS)
            value = builder.fadd(product, _all(1 / factorial(k)), flags=_FLAGS)
        power = builder.shl(builder.bitcast(shifted, _BITS), ir.Constant(_BITS, [52] * WIDTH))
        bits = builder.add(builder.bitcast(value, _BITS), power)
        inside = builder.fcmp_ordered("<=", a, _all(_SMALLEST))
        return builder.select(inside, builder.bitcast(bits, _FLOATS), _all(0.0))

    return LANES(LANES), generate


# ---- series as rows of coordinates -----------------------------------------------------------
@njit(cache=True, nogil=True)
def spread(values, start, size, backwards, room, beyond, out):
    """Coordinate c of a series from ``c * room`` on, in either direction, then ``beyond``."""
    for c in range(values.shape[1]):
        for t in range(size):
            out[c * room + (size - 1 - t if backwards else t)] = values[start + t, c]
        for t in range(size, min(size + 2 * WIDTH, room)):
            out[c * room + t] = beyond


@njit(cache=True, nogil=True)
def _squares(x, x_room, i, y, y_room, j, channels):
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
def _log_sum(x, x_room, m, y, y_room, n, channels, band, weights, diagonals):
    """log of the sum over all alignments of the product of local kernels.

    A(i, j) = kappa(i, j) (A(i-1, j) + A(i, j-1) + A(i-1, j-1)), with kappa = e / (2 - e) and
    e = exp(-|x_i - y_j|^2), in a band times weights[parity of i + j]. Powers of two are taken out
    when the largest cell of two anti-diagonals leaves the middle of what can be represented.
    """
    before, last, new = diagonals[0], diagonals[1], diagonals[2]
    diagonals[:, : m + WIDTH + 2] = 0.0
    before[0] = top_before = ldexp(1.0, _MIDDLE)  # the empty alignment
    power = -_MIDDLE
    for s in range(m + n - 1):
        low, high = reach(s, m, n, band)
        weight = weights[s % 2]
        highest = equal(0.0)
        for i in range(low, high + 1, WIDTH):
            e = decay(_squares(x, x_room, i, y, y_room, i + n - 1 - s, channels))
            if weight.size > 0:
                e = times(e, load(weight, band + i - (s + 1) // 2))
            local = over(e, minus(equal(2.0), e))
            value = times(plus(plus(load(last, i + 1), load(last, i)), load(before, i)), local)
            store(new, i + 1, value)
            highest = larger(highest, value)
        new[low], new[high + 2] = 0.0, 0.0
        top = largest(highest)
        most = max(top, top_before)
        if most == 0.0:
            return -inf
        if most > _HUGE or most < _SMALL:
            shift = min(_MIDDLE - frexp(most)[1], 1000)
            factor = ldexp(1.0, shift)
            power -= shift
            for i in range(max(low - 1, 0), high + 3):
                new[i] *= factor
                last[i] *= factor
            top *= factor
        top_before = top
        before, last, new = last, new, before
    if last[m] == 0.0:
        return -inf
    mantissa, exponent = frexp(last[m])
    return log(mantissa) + (power + exponent) * log(2.0)


@njit(cache=True, nogil=True)
def distant(x, x_start, x_size, y, y_start, y_size, rows, cols, band):
    """The same for pairs of series that have little in common, without leaving logarithms.

    It takes ten times as long, but nothing is too small for it.
    """
    out, above = np.empty(rows.size), np.empty(y_size.max() + 1)
    for p in range(rows.size):
        a, m, b, n = x_start[rows[p]], x_size[rows[p]], y_start[cols[p]], y_size[cols[p]]
        above[: n + 1] = -inf
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
def _smallest(x, x_room, m, y, y_room, n, channels, band, diagonals):
    """The smallest sum of squared distances along an alignment inside of the band."""
    before, last, new = diagonals[0], diagonals[1], diagonals[2]
    diagonals[:, : m + WIDTH + 2] = inf
    before[0] = 0.0
    for s in range(m + n - 1):
        low, high = reach(s, m, n, band)
        for i in range(low, high + 1, WIDTH):
            best = smaller(smaller(load(last, i + 1), load(last, i)), load(before, i))
            cost = _squares(x, x_room, i, y, y_room, i + n - 1 - s, channels)
            store(new, i + 1, plus(best, cost))
        new[low], new[high + 2] = inf, inf
        before, last, new = last, new, before
    return last[m]


@njit(cache=True, nogil=True)
def alignments(x, x_start, x_size, y, y_start, y_size, rows, cols, band, minimum):
    """For pairs of series the log of the sum over alignments, or the ``minimum``.

    ``band`` is 0 for all alignments. Pairs with the same first series should follow each other.
    """
    out, channels = np.empty(rows.size), x.shape[1]
    if rows.size == 0:
        return out
    x_room, y_room = x_size[rows].max() + 2 * WIDTH, y_size[cols].max() + 2 * WIDTH
    left, right = np.empty(channels * x_room), np.empty(channels * y_room)
    diagonals = np.empty((3, x_room))
    weights = np.zeros((2, 2 * (band + WIDTH) if band > 0 and not minimum else 0))
    if weights.size > 0:
        for step in range(1 - band, band):  # step = i - j, at (i + j) % 2 == step % 2
            weights[step % 2, band + step // 2] = 1.0 - abs(step) / band
    at = -1
    for p in range(rows.size):
        m, n = x_size[rows[p]], y_size[cols[p]]
        if rows[p] != at:
            at = rows[p]
            spread(x, x_start[at], m, False, x_room, _FAR, left)
        spread(y, y_start[cols[p]], n, True, y_room, -_FAR, right)
        width = band if band > 0 else m + n
        if abs(m - n) >= width:
            out[p] = inf if minimum else -inf
        elif minimum:
            out[p] = _smallest(left, x_room, m, right, y_room, n, channels, width, diagonals)
        else:
            out[p] = _log_sum(
                left, x_room, m, right, y_room, n, channels, width, weights, diagonals
            )
    return out
