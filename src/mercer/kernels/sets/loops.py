"""Sums of minima over the elements that two weighted sets share, compiled."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def shared_minima(left, right, width):
    """out[i, j] = the sum over elements of the smaller of their weights in row i and in row j.

    Rows are given as (ends, columns, values), with columns below ``width``.
    """
    ends, columns, values = left
    others, other_columns, other_values = right
    out = np.zeros((ends.size - 1, others.size - 1))
    weights = np.zeros(width)
    for i in range(ends.size - 1):
        for t in range(ends[i], ends[i + 1]):
            weights[columns[t]] = values[t]
        for j in range(others.size - 1):
            total = 0.0
            for t in range(others[j], others[j + 1]):
                total += min(weights[other_columns[t]], other_values[t])
            out[i, j] = total
        for t in range(ends[i], ends[i + 1]):
            weights[columns[t]] = 0.0
    return out
