"""Derivatives of inner products of signatures by the values D(i, j) they are made of, compiled.

With R_rq(i, j) as in ``signature_loops.py``, R_rq = D Z_rq for a Z_rq that comes
from earlier cells. Let L_rq(i, j) be what the inner product gains for each unit of R_rq(i, j):

    L_rq(i, j) = 1 + sum over i' > i, j' > j of D(i', j') L_11(i', j')
                   + sum over j' > j of D(i, j') / (r + 1) L_(r+1)1(i, j')           for r < order
                   + sum over i' > i of D(i', j) / (q + 1) L_1(q+1)(i', j)           for q < order
                   + D(i, j) / ((r + 1)(q + 1)) L_(r+1)(q+1)(i, j)              for r, q < order

Then the derivative by D(i, j) is the sum of L_rq Z_rq. The Z of all cells are kept: this is for
paths lifted by a kernel, whose values at all pairs of points are kept as well. With a number of
levels, there is one of everything for each length, and L of a length comes from what is one longer.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def _factors(D, shares, levels, step, Z):
    """Fill in Z_rq(i, j), at [i, j, level, r, q]."""
    order, (m, n) = len(shares), D.shape
    total, above = np.zeros((n + 1, levels)), np.zeros((n + 1, levels))  # A(i, j), at j + 1
    cols = np.zeros((n, levels, order))
    for i in range(m):
        rows, everything = np.zeros((levels, order)), np.zeros(levels)
        for j in range(n):
            z, d = Z[i, j], D[i, j]
            for level in range(levels):
                z[level] = 0.0
                if level == 0:
                    z[level, 0, 0] = 1.0
                if level >= step:
                    shorter = level - step
                    z[level, 0, 0] += above[j, shorter]
                    for k in range(1, order):
                        z[level, k, 0] = shares[k] * rows[shorter, k - 1]
                        z[level, 0, k] = shares[k] * cols[j, shorter, k - 1]
                    for r in range(1, order):
                        for q in range(1, order):
                            before = d * z[shorter, r - 1, q - 1]
                            z[level, r, q] = shares[r] * shares[q] * before
            for level in range(levels):
                for r in range(order):
                    for q in range(order):
                        value = d * z[level, r, q]
                        rows[level, r] += value
                        cols[j, level, q] += value
                        everything[level] += value
                total[j + 1, level] = above[j + 1, level] + everything[level]
        for j in range(n + 1):
            for level in range(levels):
                above[j, level] = total[j, level]


@njit(cache=True, nogil=True)
def _derivatives(D, shares, levels, step, Z, out):
    """The derivatives by D(i, j), from the last cells to the first."""
    order, (m, n) = len(shares), D.shape
    total, below = np.zeros((n + 1, levels)), np.zeros((n + 1, levels))
    cols, L = np.zeros((n, levels, order)), np.zeros((levels, order, order))
    for i in range(m - 1, -1, -1):
        rows, everything = np.zeros((levels, order)), np.zeros(levels)
        for j in range(n - 1, -1, -1):
            d, out[i, j] = D[i, j], 0.0
            for level in range(levels - 1, -1, -1):
                longer = level + step
                for r in range(order - 1, -1, -1):
                    for q in range(order - 1, -1, -1):
                        gain = 1.0
                        if longer < levels:
                            gain += below[j + 1, longer]
                            if r < order - 1:
                                gain += shares[r + 1] * rows[longer, r + 1]
                            if q < order - 1:
                                gain += shares[q + 1] * cols[j, longer, q + 1]
                            if r < order - 1 and q < order - 1:
                                weight = shares[r + 1] * shares[q + 1]
                                gain += d * weight * L[longer, r + 1, q + 1]
                        L[level, r, q] = gain
                        out[i, j] += gain * Z[i, j, level, r, q]
            for level in range(levels):
                everything[level] += d * L[level, 0, 0]
                total[j, level] = below[j, level] + everything[level]
                for k in range(1, order):
                    rows[level, k] += d * L[level, k, 0]
                    cols[j, level, k] += d * L[level, 0, k]
        for j in range(n + 1):
            for level in range(levels):
                below[j, level] = total[j, level]


@njit(cache=True, nogil=True)
def lifted_weights(values, start, size, weights, shares, depth):
    """What sum_p weights[p] k(x, y_p) gains for each unit of the values of a kernel on points.

    ``values`` holds that kernel between the points of the path x, by rows, and those of the paths
    y_p, each from column ``start[p]`` on.
    """
    levels, step, m = max(depth, 1), min(depth, 1), len(values) - 1
    out, order, most = np.zeros(values.shape), len(shares), 0
    for p in range(size.size):
        most = max(most, size[p] - 1)
    Z = np.empty((m, most, levels, order, order))
    moved = np.empty((m, most))
    for p in range(start.size):
        first, n = start[p], size[p] - 1
        if m == 0 or n == 0:
            continue
        V = values[:, first : first + n + 1]
        D = V[1:, 1:] - V[1:, :-1] - (V[:-1, 1:] - V[:-1, :-1])
        _factors(D, shares, levels, step, Z)
        _derivatives(D, shares, levels, step, Z, moved)
        for i in range(m):
            for j in range(n):
                weight = weights[p] * moved[i, j]
                out[i + 1, first + j + 1] += weight
                out[i + 1, first + j] -= weight
                out[i, first + j + 1] -= weight
                out[i, first + j] += weight
    return out
