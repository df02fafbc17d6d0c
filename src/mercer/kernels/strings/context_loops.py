"""The recursion of the context-tree kernel, compiled; all loops release the interpreter lock."""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def either(a, b):
    """log(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -inf else high + log1p(exp(low - high))


@njit(cache=True, nogil=True)
def _leaf(x, i0, i1, wx, y, j0, j1, wy, letters, prior, counts):
    """log kappa of the letters x[i0:i1] and y[j0:j1] with their weights."""
    value = lgamma(letters * prior) - lgamma(letters * prior + wx * (i1 - i0) + wy * (j1 - j0))
    for i in range(i0, i1):
        counts[x[i]] += wx
    for j in range(j0, j1):
        counts[y[j]] += wy
    at_zero = lgamma(prior)
    for i in range(i0, i1):
        if counts[x[i]] > 0:
            value += lgamma(prior + counts[x[i]]) - at_zero
            counts[x[i]] = 0.0
    for j in range(j0, j1):
        if counts[y[j]] > 0:
            value += lgamma(prior + counts[y[j]]) - at_zero
            counts[y[j]] = 0.0
    return value


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
    bx, x, ax, i0, i1, wx, by, y, ay, j0, j1, wy, letters, prior, branch, counts, store
):  # fmt: skip
    """log K of the tree of two samples, depth first: nodes that one of them has come from ``a``.

    With ``store`` the second sample is empty, and the values of the first are filled in.
    """
    depth = bx.shape[1] if branch > 0 else 0
    first, i, i_end = (
        np.empty(depth + 1, np.int64),
        np.empty(depth + 1, np.int64),
        np.empty(depth + 1, np.int64),
    )
    j, j_end = np.empty(depth + 1, np.int64), np.empty(depth + 1, np.int64)
    leaf, below = np.empty(depth + 1), np.empty(depth + 1)
    level = 0
    first[0], i[0], i_end[0], j[0], j_end[0], below[0] = i0, i0, i1, j0, j1, 0.0
    leaf[0] = _leaf(x, i0, i1, wx, y, j0, j1, wy, letters, prior, counts)
    while True:
        if level == depth or (i[level] == i_end[level] and j[level] == j_end[level]):
            value = leaf[level]
            if level < depth:
                value = below[level]
                if branch < 1:
                    value = either(log(1 - branch) + leaf[level], log(branch) + below[level])
            if store:
                ax[first[level], level] = value
            if level == 0:
                return value
            level -= 1
            below[level] += value
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
            leaf[level] = _leaf(x, p, p_end, wx, y, q, q_end, wy, letters, prior, counts)


@njit(cache=True, nogil=True)
def alone(before, letter, ends, letters, scale, prior, branch):
    """log K of every subtree of every sample by itself."""
    out, counts = np.zeros((letter.size, before.shape[1] + 1)), np.zeros(letters)
    for n in range(ends.size - 1):
        start, end = ends[n], ends[n + 1]
        if start < end:
            _walk(
                before, letter, out, start, end, scale / (end - start), before, letter, out, 0, 0,
                0.0, letters, prior, branch, counts, True,
            )  # fmt: skip
    return out


@njit(cache=True, nogil=True)
def together(
    bx, x, ex, ax, by, y, ey, ay, rows, cols, letters, scale, prior, branch
):  # fmt: skip
    """log k of pairs of samples; one without letters has likelihood 1."""
    out, counts = np.zeros(rows.size), np.zeros(letters)
    for p in range(rows.size):
        i0, i1, j0, j1 = ex[rows[p]], ex[rows[p] + 1], ey[cols[p]], ey[cols[p] + 1]
        if i0 == i1 or j0 == j1:
            out[p] = (ax[i0, 0] if i0 < i1 else 0.0) + (ay[j0, 0] if j0 < j1 else 0.0)
        else:
            out[p] = _walk(
                bx, x, ax, i0, i1, scale / (i1 - i0), by, y, ay, j0, j1, scale / (j1 - j0),
                letters, prior, branch, counts, False,
            )  # fmt: skip
    return out
