"""Compiled loops over a tile of kernel values: its sums over units, and of squares."""

from __future__ import annotations

import numpy as np

from .._compiled import njit
from ..gram.exponential import exp

_FAST = {"nsz", "reassoc", "contract"}
_ADDED = 16  # rows that are added up in the precision of the tile


@njit(cache=True, nogil=True, fastmath=_FAST)
def exp_sums(D, weights, rows, cols, diagonal, sums, squares):
    """Add up exp(weights[k] D) for all k, in single precision; it must be <= 1.

    Parameters
    ----------
    D : array of shape (n, m)
        Distances.
    weights : array of shape (k,)
        Factors of the distances.
    rows, cols : arrays of int
        Where the units of the rows and columns begin, and where the last one ends.
    diagonal : bool
        Is the tile one of the diagonal of K, which does not count?
    sums : array of shape (k, units, units)
        The accumulators.
    squares : array of shape (k,)
        Likewise, by the squares of all values.
    """
    m, kernels = D.shape[1], weights.size
    x, values = np.empty(m, np.float32), np.empty(m, np.float32)
    added = np.zeros((kernels, m), np.float32)
    for a in range(rows.size - 1):
        for i in range(rows[a], rows[a + 1]):
            for k in range(kernels):
                for j in range(m):
                    x[j] = np.float32(D[i, j] * weights[k])
                exp(x, values)
                if diagonal:
                    values[i] = 0
                squares[k] += _add(values, added[k])
            if i == rows[a + 1] - 1 or (i - rows[a]) % _ADDED == _ADDED - 1:
                for k in range(kernels):
                    _add_up(added[k], cols, sums[k, a])


@njit(cache=True, nogil=True, fastmath=_FAST)
def unit_sums(T, rows, cols, diagonal, sums, squares):
    """The same for a tile of one kernel: ``sums`` is a matrix, ``squares`` has one entry."""
    added = np.zeros(T.shape[1], T.dtype)
    for a in range(rows.size - 1):
        for i in range(rows[a], rows[a + 1]):
            if diagonal:
                T[i, i] = 0
            squares[0] += _add(T[i], added)
            if i == rows[a + 1] - 1 or (i - rows[a]) % _ADDED == _ADDED - 1:
                _add_up(added, cols, sums[a])


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add(values, added):
    """Add one row to another; the sum of its squares."""
    total = values[0] * 0
    for j in range(values.size):
        added[j] += values[j]
        total += values[j] * values[j]
    return np.float64(total)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _add_up(added, cols, sums):
    """Add the sums of columns to those of their units, and reset them to 0."""
    for b in range(cols.size - 1):
        total = 0.0
        for j in range(cols[b], cols[b + 1]):
            total += added[j]
        sums[b] += total
    added[:] = 0
