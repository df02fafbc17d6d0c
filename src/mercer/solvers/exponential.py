"""K = exp(left @ right') in single precision, compiled: rows of it, and products with it."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
_TILE = 256  # columns of K at a time, which stay in the processor's cache


@njit(cache=True, nogil=True, fastmath=_FAST)
def exp_product(left, right, weights, out):
    """out += weights @ exp(left @ right'), of which no more than a tile is ever there."""
    values, total = np.empty(_TILE, left.dtype), np.empty(_TILE)
    for start in range(0, right.shape[0], _TILE):
        width = min(_TILE, right.shape[0] - start)
        exponent = np.dot(left, right[start : start + width].T)
        total[:] = 0.0
        for r in range(left.shape[0]):
            exp(exponent[r], values[:width])
            for t in range(width):
                total[t] += weights[r] * values[t]
        for t in range(width):
            out[start + t] += total[t]


@njit(cache=True, nogil=True, fastmath=_FAST)
def exp_rows(left, right, runs, sample, new, rows, used):
    """rows[used:] = the kernel rows of these variables."""
    some = np.empty((new.size, left.shape[1]), left.dtype)
    for r in range(new.size):
        some[r] = left[sample[new[r]]]
    start = 0
    for r in range(runs.shape[0]):
        width = runs[r, 1] - runs[r, 0]
        exponent = np.dot(some, right[runs[r, 0] : runs[r, 1]].T)
        for a in range(new.size):
            exp(exponent[a], rows[used + a, start : start + width])
        start += width


@njit(cache=True, nogil=True)
def exp_scatter(exponent, cache, slots, start):
    """cache[slots, start : start + width] = exp(exponent)."""
    for r in range(slots.size):
        exp(exponent[r], cache[slots[r], start : start + exponent.shape[1]])


@intrinsic
def _float_of_bits(typing, bits):
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
