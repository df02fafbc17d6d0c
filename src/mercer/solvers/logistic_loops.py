"""Compiled sweeps of dual coordinate descent for logistic regression."""

from __future__ import annotations

import numpy as np

from .._compiled import njit
from .coordinate_loops import fetch_row

_FAST = {"nsz", "reassoc", "contract", "arcp"}
TOTAL, LEVEL, GAP, LOSS = range(4)  # what a sweep carries along, and finds
_STEPS = 50


@njit(cache=True, nogil=True, inline="always")
def _softplus(t):
    """log(1 + exp(t))."""
    return t + np.log1p(np.exp(-t)) if t > 0 else np.log1p(np.exp(t))


@njit(cache=True, nogil=True, inline="always")
def _step(row, f, penalty, state):
    """Move one variable to its best value, with f = <w, phi> + b at its sample; its change, signed.

    A row holds y, C, |phi|^2 and a.
    """
    y, C, a = row[0], row[1], row[3]
    q, m = row[2] + penalty, y * f
    s = np.log(a) - np.log(C - a)
    state[LOSS] += C * _softplus(-m)
    # Fenchel and Young: with a = C / (1 + exp(-s)) the entropies are -C softplus(-s) - (C - a) s
    state[GAP] += C * (_softplus(-m) - _softplus(-s)) - (C - a) * s + a * m
    low, high = -m - q * (C - a), -m + q * a
    s = min(max(s, low), high)
    for _ in range(_STEPS):
        share = 1 / (1 + np.exp(-s)) if s >= 0 else np.exp(s) / (1 + np.exp(s))
        h = s + q * (C * share - a) + m
        if h > 0:
            high = s
        else:
            low = s
        trial = s - h / (1 + q * C * share * (1 - share))
        if not low < trial < high:
            trial = 0.5 * (low + high)
        done = abs(trial - s) <= 1e-12 * max(1.0, abs(s))
        s = trial
        if done:
            break
    s = min(max(s, -27.0), 27.0)  # within rounding of 0 and C
    best = C / (1 + np.exp(-s))
    row[3] = best
    change = y * (best - a)
    state[TOTAL] += change
    return change


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_dense(phi, order, table, penalty, w, state):
    """Visit variables in this order; the last column of ``table``, w and ``state`` change."""
    width, numbers = w.size, phi.reshape(phi.size)
    for k in range(order.size):
        if k + 1 < order.size:
            fetch_row(numbers, order[k + 1], width)
        i = order[k]
        features = phi[i]
        f = state[LEVEL] + penalty * state[TOTAL]
        for c in range(width):
            f += features[c] * w[c]
        change = _step(table[i], f, penalty, state)
        for c in range(width):
            w[c] += change * features[c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_sparse(data, indices, indptr, order, table, penalty, w, state):
    """As :func:`sweep_dense`, for rows of a CSR matrix with unsigned indices."""
    for k in range(order.size):
        i = order[k]
        start, stop = indptr[i], indptr[i + 1]
        values, columns = data[start:stop], indices[start:stop]
        f = state[LEVEL] + penalty * state[TOTAL]
        for c in range(values.size):
            f += values[c] * w[columns[c]]
        change = _step(table[i], f, penalty, state)
        for c in range(values.size):
            w[columns[c]] += change * values[c]
