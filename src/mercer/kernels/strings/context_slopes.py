r"""Derivatives of the context-tree kernel, compiled: the same walk over contexts as for values.

Every node has a row (log K, and its slopes by log scale, log prior and branch). With L = log kappa,
B the sum of log K over the children and v = log K = log((1 - b) e^L + b e^B),

.. math:: dv = (1 - b)\, e^{L - v}\, dL + b\, e^{B - v}\, dB + (e^{B - v} - e^{L - v})\, db,

and dL has digamma functions in place of the logarithms of gamma functions. Values alone, which are
needed far more often, cost a quarter of it (``context_loops.py``).
"""

from __future__ import annotations

from math import exp, lgamma, log

import numpy as np

from ..._compiled import njit
from .context_loops import either, next_context


@njit(cache=True, nogil=True)
def _digamma(x):
    """d log Gamma(x) / dx for x > 0: moved beyond 10, then Stirling's series."""
    shift = 0.0
    while x < 10:
        shift -= 1 / x
        x += 1
    r = 1 / (x * x)
    tail = r * (1 / 12 - r * (1 / 120 - r * (1 / 252 - r * (1 / 240 - r / 132))))
    return shift + log(x) - 0.5 / x - tail


@njit(cache=True, nogil=True)
def _add_letter(row, n, prior, at_zero):
    """What a letter of weight n adds to the row of a leaf."""
    slope = _digamma(prior + n)
    row[0] += lgamma(prior + n) - at_zero[0]
    row[1] += n * slope
    row[2] += prior * (slope - at_zero[1])


@njit(cache=True, nogil=True)
def _leaf(row, x, i0, i1, wx, y, j0, j1, wy, letters, prior, counts):
    """The row of log kappa of the letters x[i0:i1] and y[j0:j1] with their weights."""
    total, all_priors = wx * (i1 - i0) + wy * (j1 - j0), letters * prior
    slope = _digamma(all_priors + total)
    row[0] = lgamma(all_priors) - lgamma(all_priors + total)
    row[1] = -total * slope
    row[2] = all_priors * (_digamma(all_priors) - slope)
    row[3] = 0.0
    for i in range(i0, i1):
        counts[x[i]] += wx
    for j in range(j0, j1):
        counts[y[j]] += wy
    at_zero = (lgamma(prior), _digamma(prior))
    for i in range(i0, i1):
        if counts[x[i]] > 0:
            _add_letter(row, counts[x[i]], prior, at_zero)
            counts[x[i]] = 0.0
    for j in range(j0, j1):
        if counts[y[j]] > 0:
            _add_letter(row, counts[y[j]], prior, at_zero)
            counts[y[j]] = 0.0


@njit(cache=True, nogil=True)
def _mix(leaf, below, branch):
    """The row of a node that may be divided, in place of ``leaf``."""
    if branch == 0:
        value = leaf[0]
    elif branch == 1:
        value = below[0]
    else:
        value = either(log(1 - branch) + leaf[0], log(branch) + below[0])
    undivided, divided = exp(leaf[0] - value), exp(below[0] - value)
    for t in range(1, 4):
        leaf[t] = (1 - branch) * undivided * leaf[t] + branch * divided * below[t]
    leaf[0] = value
    leaf[3] += divided - undivided


@njit(cache=True, nogil=True)
def _walk(
    bx, x, ax, i0, i1, wx, by, y, ay, j0, j1, wy, letters, prior, branch, counts, store, out
):  # fmt: skip
    """The row of the tree of two samples into ``out``: see the walk for values."""
    depth = bx.shape[1]
    first, i, i_end, j, j_end = np.zeros((5, depth + 1), np.int64)
    leaf, below = np.zeros((2, depth + 1, 4))
    level = 0
    first[0], i[0], i_end[0], j[0], j_end[0] = i0, i0, i1, j0, j1
    _leaf(leaf[0], x, i0, i1, wx, y, j0, j1, wy, letters, prior, counts)
    while True:
        if level == depth or (i[level] == i_end[level] and j[level] == j_end[level]):
            if level < depth:
                _mix(leaf[level], below[level], branch)
            if store:
                ax[first[level], level] = leaf[level]
            if level == 0:
                out[:] = leaf[0]
                return
            level -= 1
            below[level] += leaf[level + 1]
            continue
        p, q, here, there = next_context(bx, i, i_end, by, j, j_end, level)
        if here and not there and not store:
            below[level] += ax[p, level + 1]
        elif there and not here:
            below[level] += ay[q, level + 1]
        else:
            p_end, q_end = i[level], j[level]
            level += 1
            first[level], i[level], i_end[level], j[level], j_end[level] = p, p, p_end, q, q_end
            below[level] = 0.0
            _leaf(leaf[level], x, p, p_end, wx, y, q, q_end, wy, letters, prior, counts)


@njit(cache=True, nogil=True)
def alone(before, letter, ends, letters, scale, prior, branch):
    """The rows of every subtree of every sample by itself."""
    out, counts = np.zeros((letter.size, before.shape[1] + 1, 4)), np.zeros(letters)
    row = np.empty(4)
    for n in range(ends.size - 1):
        start, end = ends[n], ends[n + 1]
        if start < end:
            _walk(
                before, letter, out, start, end, scale / (end - start), before, letter, out, 0, 0,
                0.0, letters, prior, branch, counts, True, row,
            )  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def together(
    bx, x, ex, ax, by, y, ey, ay, rows, cols, letters, scale, prior, branch
):  # fmt: skip
    """The rows (log k, and its slopes) of pairs of samples."""
    out, counts = np.zeros((rows.size, 4)), np.zeros(letters)
    for p in range(rows.size):
        i0, i1, j0, j1 = ex[rows[p]], ex[rows[p] + 1], ey[cols[p]], ey[cols[p] + 1]
        if i0 == i1 or j0 == j1:
            if i0 < i1:
                out[p] += ax[i0, 0]
            if j0 < j1:
                out[p] += ay[j0, 0]
        else:
            _walk(
                bx, x, ax, i0, i1, scale / (i1 - i0), by, y, ay, j0, j1, scale / (j1 - j0),
                letters, prior, branch, counts, False, out[p],
            )  # fmt: skip
    return out
