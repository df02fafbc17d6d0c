"""Compiled loops that keep an online machine to its budget: what to remove, and where it goes.

The arguments are those of :mod:`mercer.solvers.online_loops`.
"""

from __future__ import annotations

import numpy as np

from .._compiled import njit

_FAST = {"nsz", "reassoc", "contract"}
OLDEST, SMALLEST, MERGE = range(3)


@njit(cache=True, nogil=True)
def first(state):
    """The oldest sample."""
    a = 0
    while not state.alive[a]:
        a += 1
    return a


@njit(cache=True, nogil=True, fastmath=_FAST)
def measure(rule, values, state, new):
    """||a k(x, .)||^2 of each term, over outputs, of the iterate and its average.

    Those of several lengths of steps are parts of the sum of each.
    """
    energy, count = state.energy, rule.scale.size
    each = state.coef.shape[0] // count
    for a in range(new + 1):
        energy[a] = 0.0
    for c in range(count):
        total = 0.0
        if count > 1:
            for j in range(c * each, (c + 1) * each):
                total += squares(state.coef[j], new)
        unit = 1 / total if total > 0 else 1.0
        for j in range(c * each, (c + 1) * each):
            add_squares(state.coef[j], unit, energy, new)
            if state.mean.shape[1]:
                add_squares(state.mean[j], unit, energy, new)
    for a in range(new + 1):
        energy[a] = energy[a] * values.diag[a] if state.alive[a] else np.inf


@njit(cache=True, nogil=True, fastmath=_FAST)
def squares(coef, new):
    """Their sum."""
    total = 0.0
    for a in range(new + 1):
        total += coef[a] * coef[a]
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(coef, unit, out, new):
    """Add them to what is there."""
    for a in range(new + 1):
        out[a] += unit * coef[a] * coef[a]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def lowest(numbers, end):
    """The first place before ``end`` with the smallest number: two passes, which are fast."""
    least = np.inf
    for a in range(end):
        least = numbers[a] if numbers[a] < least else least
    a = 0
    while numbers[a] != least and a < end - 1:
        a += 1
    return a


@njit(cache=True, nogil=True)
def merge(values, state, m, new, other):
    """Project the term of the new sample, or the smallest other one, on that of its nearest."""
    near_new, far_new = nearest(values, state, m, new, new)
    near_other, far_other = nearest(values, state, m, other, new)
    gone, near = other, near_other
    if state.energy[new] * far_new <= state.energy[other] * far_other:
        gone, near = new, near_new
    if values.diag[near] > 0:
        ratio = kernel_value(values, m, gone, near) / values.diag[near]
        for j in range(state.coef.shape[0]):
            state.coef[j, near] += ratio * state.coef[j, gone]
            if state.mean.shape[1]:
                state.mean[j, near] += ratio * state.mean[j, gone]
    forget(state, gone)


@njit(cache=True, nogil=True, fastmath=_FAST)
def nearest(values, state, m, a, new):
    """The other sample whose feature has the smallest angle with that of a; its squared sine."""
    row, diag, alive = state.row, values.diag, state.alive
    if a >= m:
        near, inside = values.cross[a - m], values.within[a - m]
        for c in range(m):
            row[c] = near[c]
        for c in range(m, new + 1):
            row[c] = inside[c - m]
    else:
        near = values.gram[values.slots[a]]
        for c in range(m):
            row[c] = near[values.slots[c]]
        for c in range(m, new + 1):
            if alive[c]:
                row[c] = values.cross[c - m, a]
    for c in range(new + 1):  # minus the squared cosine, but for a factor
        row[c] = -row[c] * row[c] / diag[c] if alive[c] and diag[c] > 0 else 1.0
    row[a] = 1.0
    c = lowest(row, new + 1)
    cosine = -row[c] / diag[a] if diag[a] > 0 else 1.0
    return c, 1 - min(max(cosine, 0.0), 1.0)


@njit(cache=True, nogil=True, inline="always")
def kernel_value(values, m, a, c):
    """k of two places."""
    low, high = min(a, c), max(a, c)
    if high < m:
        return values.gram[values.slots[low], values.slots[high]]
    if low < m:
        return values.cross[high - m, low]
    return values.within[high - m, low - m]


@njit(cache=True, nogil=True)
def forget(state, a):
    """Remove a sample."""
    state.alive[a] = False
    for j in range(state.coef.shape[0]):
        state.coef[j, a] = 0.0
        if state.mean.shape[1]:
            state.mean[j, a] = 0.0


@njit(cache=True, nogil=True)
def settle(values, places, slots, gram):
    """Write the kernel values of newly kept samples, and their slots, into the Gram matrix."""
    m = values.cross.shape[1]
    for i in range(len(places)):
        if places[i] >= m:
            for j in range(len(places)):
                a, c = places[i], places[j]
                k = values.diag[a] if a == c else kernel_value(values, m, a, c)
                gram[slots[i], slots[j]] = k
                gram[slots[j], slots[i]] = k
