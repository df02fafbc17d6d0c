"""K = exp(X Z'), a few rows and columns at a time in the registers of the processor.

BLAS writes inner products to memory, from which exponentials are read again, and its routines are
made for long sums. Here products of short rows are summed up in registers, their exponentials are
taken there, and only these are written: half the time of a product and a function one after the
other. In single or double precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._compiled import intrinsic, njit

_FLAGS = ("nnan", "nsz", "contract")
_TERMS = {32: 7, 64: 13}  # of the exponential series between -log(2)/2 and log(2)/2
_LOWEST = {32: -87.0, 64: -708.0}  # exponents: what is smaller is no normal number
# log(2) in two parts, the first of which has zeros at the end: its products are exact
_LOG2 = {
    32: (0.693359375, -2.12194440e-4),
    64: (6.93147180369123816490e-01, 1.90821492927058770002e-10),
}
_PANEL = 64  # columns that lie side by side
_ROWS = 6  # of a tile


def panels(right: np.ndarray) -> np.ndarray:
    """The rows of a matrix, 64 of them side by side, in shape (panels, d, 64): read in order.

    What lies beyond the last row is zero.
    """
    size, d = right.shape
    padded = np.zeros((-(-size // _PANEL) * _PANEL, d), right.dtype)
    padded[:size] = right
    return np.ascontiguousarray(padded.reshape(-1, _PANEL, d).transpose(0, 2, 1))


@njit(cache=True, nogil=True)
def exp_panels(left, array, out):
    """out = exp(left @ right'), for the panels of ``right``; all arrays are contiguous."""
    whole = out.shape[1] // _PANEL
    for p in range(whole):
        _tiles(left, array, p, out, p)
    if whole < array.shape[0]:
        last = np.empty((left.shape[0], _PANEL), left.dtype)
        _tiles(left, array, whole, last, 0)
        for r in range(left.shape[0]):
            for c in range(out.shape[1] - whole * _PANEL):
                out[r, whole * _PANEL + c] = last[r, c]


@njit(cache=True, nogil=True)
def add_exp_product(left, array, weights, out):
    """out += exp(left @ right') @ weights', for the panels of ``right``, and as wide weights."""
    values = np.empty((left.shape[0], _PANEL), left.dtype)
    for p in range(array.shape[0]):
        _tiles(left, array, p, values, 0)
        _add_weighed(values, weights, p * _PANEL, out)


# on its own: sums in any order are not for exp, which rounds by a sum
@njit(cache=True, nogil=True, fastmath={"nsz", "reassoc", "contract"})
def _add_weighed(values, weights, start, out):
    for r in range(values.shape[0]):
        for t in range(weights.shape[0]):
            total = 0.0
            for c in range(_PANEL):
                total += values[r, c] * weights[t, start + c]
            out[r, t] += total


@njit(cache=True, nogil=True)
def _tiles(left, array, panel, out, place):
    """The columns of one panel, written to the columns of that place."""
    whole = left.shape[0] - left.shape[0] % _ROWS
    for r in range(0, whole, _ROWS):
        _tile(left, r, array, panel, out, place)
    for r in range(whole, left.shape[0]):
        _row(left, r, array, panel, out, place)


def _tile_of(rows: int) -> Any:
    """exp of the products of some rows with one panel, written to ``out``."""

    def define(typing, left, row, array, panel, out, place):
        from numba import types
        from numba.core.errors import TypingError

        if not all(kind.layout == "C" for kind in (left, array, out)):
            raise TypingError("rows must be contiguous: use np.ascontiguousarray.")

        def generate(context, builder, signature, args):
            _emit(rows, context, builder, signature, args)
            return context.get_dummy_value()

        index = types.intp
        return types.void(left, index, array, index, out, index), generate

    return intrinsic(define)


_tile, _row = _tile_of(_ROWS), _tile_of(1)


def _emit(rows: int, context: Any, builder: Any, signature: Any, args: Any) -> None:
    from llvmlite import ir
    from numba.core import cgutils

    kinds, bits = signature.args, signature.args[0].dtype.bitwidth
    lanes = _lanes(context, bits)
    real = ir.FloatType() if bits == 32 else ir.DoubleType()
    vector, index = ir.VectorType(real, lanes), ir.IntType(64)
    left, array, out = (context.make_array(kinds[i])(context, builder, args[i]) for i in (0, 2, 4))
    d = builder.extract_value(left.shape, 1)
    width = builder.extract_value(out.shape, 1)
    first = builder.mul(args[1], d)
    panel = builder.mul(args[3], builder.mul(d, index(_PANEL)))

    def spread(number: Any) -> Any:
        empty = ir.Constant(vector, ir.Undefined)
        one = builder.insert_element(empty, number, ir.IntType(32)(0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
        return builder.shuffle_vector(one, empty, places)

    def at(data: Any, place: Any) -> Any:
        return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())

    per = _columns(context, rows, lanes)
    for begin in range(0, _PANEL, per * lanes):
        zero = ir.Constant(vector, [0.0] * lanes)
        sums = [[cgutils.alloca_once_value(builder, zero) for _ in range(per)] for _ in range(rows)]
        for row in sums:
            for place in row:
                builder.store(zero, place)
        with cgutils.for_range(builder, d) as loop:
            k = loop.index
            start = builder.add(panel, builder.mul(k, index(_PANEL)))
            cols = [
                builder.load(at(array.data, builder.add(start, index(begin + c * lanes))), align=4)
                for c in range(per)
            ]
            for r in range(rows):
                place = builder.add(builder.add(first, builder.mul(index(r), d)), k)
                x = spread(builder.load(builder.gep(left.data, [place])))
                for c in range(per):
                    product = builder.fmul(x, cols[c], flags=_FLAGS)
                    total = builder.fadd(builder.load(sums[r][c]), product, flags=_FLAGS)
                    builder.store(total, sums[r][c])
        column = builder.mul(args[5], index(_PANEL))
        for r in range(rows):
            place = builder.mul(builder.add(args[1], index(r)), width)
            place = builder.add(place, builder.add(column, index(begin)))
            for c in range(per):
                value = _exp(builder, vector, bits, lanes, builder.load(sums[r][c]))
                builder.store(value, at(out.data, builder.add(place, index(c * lanes))), align=4)


def _exp(builder: Any, vector: Any, bits: int, lanes: int, x: Any) -> Any:
    """2^n times a series of what is left; n is rounded by adding a number with no bits behind."""
    from llvmlite import ir

    fraction = 23 if bits == 32 else 52
    whole = ir.VectorType(ir.IntType(bits), lanes)

    def number(value: float) -> Any:
        return ir.Constant(vector, [value] * lanes)

    def times_plus(a: Any, b: Any, c: Any) -> Any:
        return builder.fadd(builder.fmul(a, b, flags=_FLAGS), c, flags=_FLAGS)

    low = number(_LOWEST[bits])
    x = builder.select(builder.fcmp_ordered(">", x, low), x, low)
    magic = number(1.5 * 2.0**fraction)
    shifted = times_plus(x, number(float(np.log2(np.e))), magic)
    n = builder.fsub(shifted, magic)
    high, rest = _LOG2[bits]
    r = times_plus(n, number(-rest), times_plus(n, number(-high), x))
    terms = 1.0 / np.cumprod([1.0, *range(1, _TERMS[bits] + 1)])
    p = number(float(terms[-1]))
    for term in terms[-2::-1]:
        p = times_plus(p, r, number(float(term)))
    power = builder.shl(builder.bitcast(shifted, whole), ir.Constant(whole, [fraction] * lanes))
    return builder.bitcast(builder.add(builder.bitcast(p, whole), power), vector)


def _lanes(context: Any, bits: int) -> int:
    """Numbers in a register."""
    return (512 if _wide(context) else 256) // bits


def _columns(context: Any, rows: int, lanes: int) -> int:
    """Registers side by side: sums take most of the 32 or 16 that there are."""
    return min(_PANEL // lanes, 4 if _wide(context) else 2)


def _wide(context: Any) -> bool:
    """Has this processor registers of 512 bits?"""
    return "+avx512f" in context.codegen()._tm_features
