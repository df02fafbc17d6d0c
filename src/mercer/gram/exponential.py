"""K = exp(exponents) in single precision, compiled: rows of it, and products with it.

Exponents are inner products of rows of ``left`` and ``right``; or, if these are words of bits, the
numbers of bits that differ, times ``unit``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._compiled import by_type, intrinsic, njit
from ..kernels.vectors.bits import differing

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
_WORD = 3  # coordinates that take as long as a word of bits
_TILE = 256  # columns of K at a time, which stay in the processor's cache


class Factors(NamedTuple):
    """Exponents of all pairs of samples: inner products of coordinates, or bits that differ.

    Attributes
    ----------
    left, right : arrays of shape (n, d)
        Coordinates in single precision, or words of 32 bits.
    unit : float32
        What each bit that differs adds.
    """

    left: np.ndarray
    right: np.ndarray
    unit: np.float32

    @property
    def work(self) -> int:
        """The number of coordinates whose products take as long."""
        return self.left.shape[1] * (1 if self.left.dtype.kind == "f" else _WORD)


@by_type
def exponents(left, right, unit):
    """What K is the exponential of, for rows of both factors."""
    from numba import types

    def of_bits(left, right, unit):
        columns, count = right.T.copy(), np.empty(right.shape[0], np.int32)
        out = np.empty((left.shape[0], count.size), np.float32)
        for r in range(left.shape[0]):
            differing(left[r], columns, count)
            for t in range(count.size):
                out[r, t] = np.float32(count[t]) * unit
        return out

    def of_coordinates(left, right, unit):
        return np.dot(left, right.T)

    return of_coordinates if isinstance(left.dtype, types.Float) else of_bits


@njit(cache=True, nogil=True, fastmath=_FAST)
def exp_product(left, right, unit, weights, out):
    """out += weights @ K, of which no more than a tile is ever there."""
    values, total = np.empty(_TILE, np.float32), np.empty(_TILE)
    for start in range(0, right.shape[0], _TILE):
        width = min(_TILE, right.shape[0] - start)
        exponent = exponents(left, right[start : start + width], unit)
        total[:] = 0.0
        for r in range(left.shape[0]):
            exp(exponent[r], values[:width])
            for t in range(width):
                total[t] += weights[r] * values[t]
        for t in range(width):
            out[start + t] += total[t]


@njit(cache=True, nogil=True, fastmath=_FAST)
def exp_rows(left, right, unit, runs, sample, new, rows, used):
    """rows[used:] = the kernel rows of these variables."""
    some = np.empty((new.size, left.shape[1]), left.dtype)
    for r in range(new.size):
        some[r] = left[sample[new[r]]]
    start = 0
    for r in range(runs.shape[0]):
        width = runs[r, 1] - runs[r, 0]
        exponent = exponents(some, right[runs[r, 0] : runs[r, 1]], unit)
        for a in range(new.size):
            exp(exponent[a], rows[used + a, start : start + width])
        start += width


@njit(cache=True, nogil=True)
def exp_scatter(left, right, unit, cache, slots, start):
    """cache[slots, start : start + width] = K, tile by tile."""
    for first in range(0, right.shape[0], _TILE):
        exponent = exponents(left, right[first : first + _TILE], unit)
        begin, width = start + first, exponent.shape[1]
        for r in range(slots.size):
            exp(exponent[r], cache[slots[r], begin : begin + width])


@njit(cache=True, nogil=True)
def exp_block(left, right, unit, out):
    """out = K, tile by tile."""
    for first in range(0, right.shape[0], _TILE):
        exponent = exponents(left, right[first : first + _TILE], unit)
        for r in range(left.shape[0]):
            exp(exponent[r], out[r, first : first + exponent.shape[1]])


@intrinsic
def _float_of_bits(typing, bits):
    from llvmlite import ir
    from numba import types

    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return (types.float32(bits), generate) if bits == types.int32 else None


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"})
def exp(x, out):
    """exp of numbers <= 0 in single precision; ``out`` must not be ``x``, or nothing is vectorised.

    2^n times a polynomial of what is left, which lies between -log(2)/2 and log(2)/2.
    """
    real = np.float32
    for k in range(x.size):
        v = max(x[k], real(-87.0))
        n = np.int32(v * real(1.44269504) - real(0.5))
        r = v - real(n) * real(0.693359375) + real(n) * real(2.12194440e-4)
        p = real(1.0 / 5040.0)
        p = p * r + real(1.0 / 720.0)
        p = p * r + real(1.0 / 120.0)
        p = p * r + real(1.0 / 24.0)
        p = p * r + real(1.0 / 6.0)
        p = p * r + real(0.5)
        p = p * r + real(1.0)
        p = p * r + real(1.0)
        out[k] = p * _float_of_bits(np.int32((n + np.int32(127)) << np.int32(23)))
