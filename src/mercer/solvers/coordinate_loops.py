"""Compiled sweeps of dual coordinate descent."""

from __future__ import annotations

from .._compiled import njit


@njit(cache=True, nogil=True, inline="always")
def _step(g, b, low, high, epsilon, curvature):
    """The best value of one variable, and how much its optimality was violated."""
    up, down = g + epsilon, g - epsilon
    violation = 0.0
    if b < high:
        violation = max(violation, -(up if b >= 0 else down))
    if b > low:
        violation = max(violation, up if b > 0 else down)
    trial = b - up / curvature
    if trial < 0:
        trial = min(0.0, b - down / curvature)
    return min(max(trial, low), high), violation


@njit(cache=True, nogil=True, fastmath={"nsz", "reassoc", "contract", "arcp"})
def sweep_dense(phi, order, target, lower, upper, epsilon, curvature, penalty, beta, w, state):
    """One pass over all variables; beta, w and state[0] = sum(beta) change. Largest violation."""
    worst, total, b0 = 0.0, state[0], state[1]
    width = w.size
    for i in order:
        row = phi[i]
        g = b0 + penalty * total - target[i]
        for c in range(width):
            g += row[c] * w[c]
        new, violation = _step(g, beta[i], lower[i], upper[i], epsilon, curvature[i])
        worst = max(worst, violation)
        change = new - beta[i]
        if change != 0:
            beta[i] = new
            total += change
            for c in range(width):
                w[c] += change * row[c]
    state[0] = total
    return worst


@njit(cache=True, nogil=True, fastmath={"nsz", "reassoc", "contract", "arcp"})
def sweep_sparse(
    data, indices, indptr, order, target, lower, upper, epsilon, curvature, penalty, beta, w, state
):
    """One pass over all variables; beta, w and state[0] = sum(beta) change. Largest violation."""
    worst, total, b0 = 0.0, state[0], state[1]
    for i in order:
        start, stop = indptr[i], indptr[i + 1]
        g = b0 + penalty * total - target[i]
        for c in range(start, stop):
            g += data[c] * w[indices[c]]
        new, violation = _step(g, beta[i], lower[i], upper[i], epsilon, curvature[i])
        worst = max(worst, violation)
        change = new - beta[i]
        if change != 0:
            beta[i] = new
            total += change
            for c in range(start, stop):
                w[indices[c]] += change * data[c]
    state[0] = total
    return worst
