"""Sums over all pairs of points of two bags, compiled."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def add_segments(block, rows, cols, out):
    """out[a, b] += the sum of the block over segment a of its rows and segment b of its columns.

    Segments are given by where they begin, and the end of the last one; they may be empty.
    """
    line = np.empty(block.shape[1])
    for a in range(rows.size - 1):
        line[:] = 0.0
        for i in range(rows[a], rows[a + 1]):
            for j in range(block.shape[1]):
                line[j] += block[i, j]
        for b in range(cols.size - 1):
            total = 0.0
            for j in range(cols[b], cols[b + 1]):
                total += line[j]
            out[a, b] += total
