"""Compiled loops over rows of a kernel matrix; they release the interpreter lock."""

from __future__ import annotations

import numpy as np

from .._compiled import njit

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}


@njit(cache=True, nogil=True)
def scatter(block, cache, slots, start):
    """cache[slots, start : start + width] = block."""
    for r in range(slots.size):
        row = cache[slots[r]]
        for c in range(block.shape[1]):
            row[start + c] = block[r, c]


@njit(cache=True, nogil=True)
def gather(values, rows, cols, cache, slots, start):
    """cache[slots, start : start + len(cols)] = values[rows][:, cols]."""
    for r in range(slots.size):
        row, out = values[rows[r]], cache[slots[r]]
        for c in range(cols.size):
            out[start + c] = row[cols[c]]


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(g, cache, slots, weights, start, stop):
    """g[start:stop] += weights @ cache[slots, start:stop], a few rows at a time."""
    width = stop - start
    total = np.zeros(width)
    r, rows = 0, slots.size
    while r + 7 < rows:
        w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
        w4, w5, w6, w7 = weights[r + 4], weights[r + 5], weights[r + 6], weights[r + 7]
        k0, k1 = cache[slots[r], start:stop], cache[slots[r + 1], start:stop]
        k2, k3 = cache[slots[r + 2], start:stop], cache[slots[r + 3], start:stop]
        k4, k5 = cache[slots[r + 4], start:stop], cache[slots[r + 5], start:stop]
        k6, k7 = cache[slots[r + 6], start:stop], cache[slots[r + 7], start:stop]
        for t in range(width):
            total[t] += ((w0 * k0[t] + w1 * k1[t]) + (w2 * k2[t] + w3 * k3[t])) + (
                (w4 * k4[t] + w5 * k5[t]) + (w6 * k6[t] + w7 * k7[t])
            )
        r += 8
    while r < rows:
        w0 = weights[r]
        k0 = cache[slots[r], start:stop]
        for t in range(width):
            total[t] += w0 * k0[t]
        r += 1
    for t in range(width):
        g[start + t] += total[t]
