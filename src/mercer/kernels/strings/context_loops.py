r"""The recursion of the context-tree kernel, compiled; all loops release the interpreter lock.

Where there is room for slopes (else None, and nothing of them is compiled), the derivatives by log
scale, log prior and branch are carried along. With L = log kappa, B the sum of log K over the
children and v = log K = log((1 - b) e^L + b e^B),

.. math:: dv = (1 - b)\, e^{L - v}\, dL + b\, e^{B - v}\, dB + (e^{B - v} - e^{L - v})\, db,

and dL has digamma functions in place of the logarithms of gamma functions.
"""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p
from typing import Any

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def either(a, b):
    """log(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -inf else high + log1p(exp(low - high))


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
def _add_letters(value, x, start, end, prior, at_zero, counts, slopes, level):
    """Add what letters with these counts are worth to log kappa, and to its slopes."""
    by_scale, by_prior = 0.0, 0.0
    for i in range(start, end):
        n = counts[x[i]]
        if n > 0:
            value += lgamma(prior + n) - at_zero[0]
            counts[x[i]] = 0.0
            if slopes is not None:
                slope = _digamma(prior + n)
                by_scale += n * slope
                by_prior += prior * (slope - at_zero[1])
    if slopes is not None:
        slopes[level, 0] += by_scale
        slopes[level, 1] += by_prior
    return value


@njit(cache=True, nogil=True)
def _leaf(x, i0, i1, wx, y, j0, j1, wy, letters, prior, counts, slopes, level):
    """log kappa of the letters x[i0:i1] and y[j0:j1] with their weights; its slopes at a level."""
    value = lgamma(letters * prior) - lgamma(letters * prior + wx * (i1 - i0) + wy * (j1 - j0))
    for i in range(i0, i1):
        counts[x[i]] += wx
    for j in range(j0, j1):
        counts[y[j]] += wy
    at_zero, slope_at_zero = lgamma(prior), 0.0
    if slopes is not None:
        slope_at_zero, total = _digamma(prior), wx * (i1 - i0) + wy * (j1 - j0)
        slope = _digamma(letters * prior + total)
        slopes[level, 0] = -total * slope
        slopes[level, 1] = letters * prior * (_digamma(letters * prior) - slope)
        slopes[level, 2] = 0.0
    zero = (at_zero, slope_at_zero)
    value = _add_letters(value, x, i0, i1, prior, zero, counts, slopes, level)
    return _add_letters(value, y, j0, j1, prior, zero, counts, slopes, level)


@njit(cache=True, nogil=True)
def _mix(leaf, below, branch, d_leaf, d_below, level):
    """log K of a node that may be divided; its slopes take the place of those of the leaf."""
    value = leaf if branch == 0 else below
    if 0 < branch < 1:
        value = either(log(1 - branch) + leaf, log(branch) + below)
    if d_leaf is not None:
        undivided, divided = exp(leaf - value), exp(below - value)
        for t in range(3):
            slope = (1 - branch) * undivided * d_leaf[level, t]
            d_leaf[level, t] = slope + branch * divided * d_below[level, t]
        d_leaf[level, 2] += divided - undivided
    return value


@njit(cache=True, nogil=True)
def _add(slopes, level, others):
    if slopes is not None:
        for t in range(3):
            slopes[level, t] += others[t]


@njit(cache=True, nogil=True)
def _run(before, start, end, level):
    """The end of the run of equal letters at a level of the contexts, from ``start`` on."""
    stop = start + 1
    while stop < end and before[stop, level] == before[start, level]:
        stop += 1
    return stop


@njit(cache=True, nogil=True)
def next_context(bx, i, i_end, by, j, j_end, level):
    """Where the next child of a node begins in both samples, and which of them have it.

    The places ``i`` and ``j`` move on to the end of that child.
    """
    p, p_end, q, q_end = i[level], i_end[level], j[level], j_end[level]
    here = p < p_end and (q == q_end or bx[p, level] <= by[q, level])
    there = q < q_end and (p == p_end or by[q, level] <= bx[p, level])
    i[level] = _run(bx, p, p_end, level) if here else p
    j[level] = _run(by, q, q_end, level) if there else q
    return p, q, here, there


@njit(cache=True, nogil=True)
def _walk(
    bx, x, ax, dx, i0, i1, wx, by, y, ay, dy, j0, j1, wy, letters, prior, branch, counts, store, out
):  # fmt: skip
    """log K of the tree of two samples, depth first, and its slopes into ``out``.

    Values and slopes of nodes that one of them has come from ``a`` and ``d``. With ``store`` the
    second sample is empty, and those of the first are filled in.
    """
    depth = bx.shape[1] if branch > 0 or out is not None else 0
    first, i, i_end = (
        np.empty(depth + 1, np.int64),
        np.empty(depth + 1, np.int64),
        np.empty(depth + 1, np.int64),
    )
    j, j_end = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    leaf, below = np.empty(depth + 1), np.empty(depth + 1)
    d_leaf: Any = None if out is None else np.zeros((depth + 1, 3))
    d_below: Any = None if out is None else np.zeros((depth + 1, 3))
    level = 0
    first[0], i[0], i_end[0], j[0], j_end[0], below[0] = i0, i0, i1, j0, j1, 0.0
    leaf[0] = _leaf(x, i0, i1, wx, y, j0, j1, wy, letters, prior, counts, d_leaf, 0)
    while True:
        if level == depth or (i[level] == i_end[level] and j[level] == j_end[level]):
            value = leaf[level]
            if level < depth:
                value = _mix(value, below[level], branch, d_leaf, d_below, level)
            if store:
                ax[first[level], level] = value
                if out is not None:
                    for t in range(3):
                        dx[first[level], level, t] = d_leaf[level, t]
            if level == 0:
                if out is not None:
                    for t in range(3):
                        out[t] = d_leaf[0, t]
                return value
            level -= 1
            below[level] += value
            if out is not None:
                _add(d_below, level, d_leaf[level + 1])
            continue
        p, q, here, there = next_context(bx, i, i_end, by, j, j_end, level)
        if here and not there and not store:
            below[level] += ax[p, level + 1]
            if out is not None:
                _add(d_below, level, dx[p, level + 1])
        elif there and not here:
            below[level] += ay[q, level + 1]
            if out is not None:
                _add(d_below, level, dy[q, level + 1])
        else:
            p_end, q_end = i[level], j[level]
            level += 1
            first[level], i[level], i_end[level], j[level], j_end[level] = p, p, p_end, q, q_end
            below[level] = 0.0
            leaf[level] = _leaf(
                x, p, p_end, wx, y, q, q_end, wy, letters, prior, counts, d_leaf, level
            )
            if out is not None:
                d_below[level] = 0.0


@njit(cache=True, nogil=True)
def alone(before, letter, ends, letters, scale, prior, branch, slopes):
    """log K of every subtree of every sample by itself; ``slopes`` is None or filled in."""
    out, counts = np.zeros((letter.size, before.shape[1] + 1)), np.zeros(letters)
    row = None if slopes is None else np.empty(3)
    for n in range(ends.size - 1):
        start, end = ends[n], ends[n + 1]
        if start < end:
            _walk(
                before, letter, out, slopes, start, end, scale / (end - start),
                before, letter, out, slopes, 0, 0, 0.0, letters, prior, branch, counts, True, row,
            )  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def together(
    bx, x, ex, ax, dx, by, y, ey, ay, dy, rows, cols, letters, scale, prior, branch, slopes
):  # fmt: skip
    """log k of pairs of samples; one without letters has likelihood 1.

    ``slopes`` is None, as are ``dx`` and ``dy``, or filled in.
    """
    out, counts = np.zeros(rows.size), np.zeros(letters)
    for p in range(rows.size):
        i0, i1, j0, j1 = ex[rows[p]], ex[rows[p] + 1], ey[cols[p]], ey[cols[p] + 1]
        if i0 == i1 or j0 == j1:
            out[p] = (ax[i0, 0] if i0 < i1 else 0.0) + (ay[j0, 0] if j0 < j1 else 0.0)
            if slopes is not None:
                slopes[p] = 0.0
                if i0 < i1:
                    _add(slopes, p, dx[i0, 0])
                if j0 < j1:
                    _add(slopes, p, dy[j0, 0])
        else:
            out[p] = _walk(
                bx, x, ax, dx, i0, i1, scale / (i1 - i0), by, y, ay, dy, j0, j1,
                scale / (j1 - j0), letters, prior, branch, counts, False,
                None if slopes is None else slopes[p],
            )  # fmt: skip
    return out
