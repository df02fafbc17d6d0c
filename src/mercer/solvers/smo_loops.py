"""Compiled loops of the SMO solver; all release the interpreter lock and run on our own pool."""

from __future__ import annotations

import numpy as np
from numba import njit

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
BIG = 1e300


@njit(cache=True, nogil=True, fastmath=_FAST)
def offsets(beta, lower, upper, epsilon, rise, fall):
    """What to add to the gradient for the slope upwards and downwards; BIG where a bound stops."""
    for k in range(beta.size):
        b = beta[k]
        rise[k] = (epsilon if b >= 0 else -epsilon) if b < upper[k] else BIG
        fall[k] = (epsilon if b > 0 else -epsilon) if b > lower[k] else -BIG


@njit(cache=True, nogil=True, fastmath=_FAST)
def solve_block(K, diagonal, g, beta, lower, upper, epsilon, groups, n_groups, tol, factor, limit):
    """Two-variable steps of second order on a small dense block; beta and g are updated.

    Stops when the violation is below max(tol, factor * first violation). Returns the number of
    steps.
    """
    m = beta.size
    rise = np.full((n_groups, m), BIG)
    fall = np.full((n_groups, m), -BIG)
    gain = np.empty(m, K.dtype)
    tiny, two = K.dtype.type(1e-12), K.dtype.type(2.0)
    for k in range(m):
        _set_offsets(k, beta, lower, upper, epsilon, groups, rise, fall)
    steps, goal = 0, -1.0
    while steps < limit:
        violation, i, low = -BIG, 0, 0.0
        of = 0
        for t in range(n_groups):
            smallest, largest = BIG, -BIG
            up, down = rise[t], fall[t]
            for k in range(m):
                smallest = min(smallest, g[k] + up[k])
                largest = max(largest, g[k] + down[k])
            if largest - smallest > violation:
                violation, low, of = largest - smallest, smallest, t
        if goal < 0:
            goal = max(tol, factor * violation)
        if violation < goal:
            break
        up, down = rise[of], fall[of]
        for k in range(m):
            if g[k] + up[k] == low:
                i = k
                break
        Ki, kii, best = K[i], diagonal[i], -tiny
        for k in range(m):
            excess = K.dtype.type(max(g[k] + down[k] - low, 0.0))
            curvature = max(kii + diagonal[k] - two * Ki[k], tiny)
            value = excess * excess / curvature
            gain[k] = value
            best = max(best, value)
        j = 0
        for k in range(m):
            if gain[k] == best:
                j = k
                break
        Kj = K[j]
        curvature = max(kii + diagonal[j] - two * Ki[j], tiny)
        step = (g[j] + down[j] - low) / curvature
        room_i = -beta[i] if epsilon > 0 and beta[i] < 0 else upper[i] - beta[i]
        room_j = beta[j] if epsilon > 0 and beta[j] > 0 else beta[j] - lower[j]
        step = min(step, min(room_i, room_j))
        to_i = 0.0 if epsilon > 0 and beta[i] < 0 else upper[i]
        to_j = 0.0 if epsilon > 0 and beta[j] > 0 else lower[j]
        beta[i] = to_i if step == room_i else beta[i] + step
        beta[j] = to_j if step == room_j else beta[j] - step
        _set_offsets(i, beta, lower, upper, epsilon, groups, rise, fall)
        _set_offsets(j, beta, lower, upper, epsilon, groups, rise, fall)
        for k in range(m):
            g[k] += step * (Ki[k] - Kj[k])
        steps += 1
    return steps


@njit(cache=True, nogil=True, inline="always")
def _set_offsets(k, beta, lower, upper, epsilon, groups, rise, fall):
    t, b = groups[k], beta[k]
    rise[t, k] = (epsilon if b >= 0 else -epsilon) if b < upper[k] else BIG
    fall[t, k] = (epsilon if b > 0 else -epsilon) if b > lower[k] else -BIG


@njit(cache=True, nogil=True)
def gather(cache, slots, columns, out):
    """out = cache[slots][:, columns]."""
    for r in range(slots.size):
        row = cache[slots[r]]
        for c in range(columns.size):
            out[r, c] = row[columns[c]]


@njit(cache=True, nogil=True)
def scatter(block, cache, slots, start):
    """cache[slots, start : start + width] = block."""
    for r in range(slots.size):
        row = cache[slots[r]]
        for c in range(block.shape[1]):
            row[start + c] = block[r, c]


@njit(cache=True, nogil=True)
def compact(cache, slots, columns):
    """Move the given (sorted) columns of the given rows to the front, in place."""
    for r in range(slots.size):
        row = cache[slots[r]]
        for c in range(columns.size):
            row[c] = row[columns[c]]


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_rows(g, cache, slots, weights, start, stop):
    """g[start:stop] += weights @ cache[slots, start:stop], a few rows at a time."""
    width = stop - start
    total = np.zeros(width)
    r, rows = 0, slots.size
    while r + 3 < rows:
        w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
        k0 = cache[slots[r], start:stop]
        k1 = cache[slots[r + 1], start:stop]
        k2 = cache[slots[r + 2], start:stop]
        k3 = cache[slots[r + 3], start:stop]
        for t in range(width):
            total[t] += (w0 * k0[t] + w1 * k1[t]) + (w2 * k2[t] + w3 * k3[t])
        r += 4
    while r < rows:
        w0 = weights[r]
        k0 = cache[slots[r], start:stop]
        for t in range(width):
            total[t] += w0 * k0[t]
        r += 1
    for t in range(width):
        g[start + t] += total[t]
