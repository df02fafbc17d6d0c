"""Compiled loops that keep an online model within its budget: what to remove or merge.

The arguments are those of :mod:`mercer.solvers.online_loops`.
"""

from __future__ import annotations

import numpy as np

from .._compiled import njit

_FAST = {"nsz", "reassoc", "contract"}
OLDEST, SMALLEST, MERGE = range(3)
_RUN = 32


@njit(cache=True, nogil=True)
def place(values, i):
    """The place of sample i of a block."""
    return values.block.shape[1] - values.block.shape[0] + i


@njit(cache=True, nogil=True)
def kept(absent):
    """The number of kept samples."""
    count = 0
    for a in range(absent.size):
        count += absent[a] == 0
    return count


@njit(cache=True, nogil=True)
def first(absent):
    """The oldest sample."""
    a = 0
    while absent[a] > 0:
        a += 1
    return a


@njit(cache=True, nogil=True)
def remove(rule, values, state, new):
    """Merge two samples, or drop the one whose term has the smallest norm."""
    energy, end = state.energy, new + 1
    energy[:end] = 0.0
    measure(state.coef, state.mean, rule.scale.size, end, energy)
    weigh(values.diag, state.absent, end, energy)
    other = lowest(energy, new)
    if state.absent[other] > 0:  # squares that overflow are not compared
        other = first(state.absent)
    if rule.removal == MERGE:
        merge(values, state, new, other)
    else:
        forget(state, other)


@njit(cache=True, nogil=True, fastmath=_FAST)
def measure(coefs, means, lengths, end, energy):
    """Squared coefficients of each term, over outputs, of the iterate and its average.

    With several step sizes, each contributes in proportion to its sum.
    """
    each = coefs.shape[0] // lengths
    for c in range(lengths):
        total = 0.0
        if lengths > 1:
            for j in range(c * each, (c + 1) * each):
                coef = coefs[j]
                for a in range(end):
                    total += coef[a] * coef[a]
        unit = 1 / total if total > 0 else 1.0
        for j in range(c * each, (c + 1) * each):
            add_squares(coefs[j], unit, end, energy)
            if means.shape[1]:
                add_squares(means[j], unit, end, energy)


@njit(cache=True, nogil=True, fastmath=_FAST)
def weigh(diag, absent, end, energy):
    """||a k(x, .)||^2 from squared coefficients; infinite for removed samples."""
    for a in range(end):
        energy[a] = energy[a] * diag[a] + absent[a]


@njit(cache=True, nogil=True, fastmath=_FAST)
def add_squares(coef, unit, end, out):
    """Add ``unit`` times the squared coefficients to ``out``."""
    for a in range(end):
        out[a] += unit * coef[a] * coef[a]


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "reassoc"})
def lowest(numbers, end):
    """The first place before ``end`` with the smallest number: minima of runs, which are fast."""
    least, start = np.inf, 0
    for run in range(0, end, _RUN):
        low = np.inf
        for a in range(run, min(run + _RUN, end)):
            low = numbers[a] if numbers[a] < low else low
        if low < least:
            least, start = low, run
    a = start
    while numbers[a] != least and a < end - 1:
        a += 1
    return a


@njit(cache=True, nogil=True)
def merge(values, state, new, other):
    """Project the term of the new sample, or the smallest other one, onto its nearest neighbour.

    The neighbour of the smallest other term is remembered for as long as that term stays.
    """
    known = state.near
    if known[0] != other:
        known[0] = other
        known[1], known[2] = nearest(values, state, other, new)
    near_other, far_other = int(known[1]), known[2]
    k = kernel_value(values, other, new)
    apart = sine(k * k * values.inverse[new] * values.inverse[other])
    if apart < far_other:
        near_other, far_other = new, apart
    near_new, far_new = nearest(values, state, new, new)
    gone, near = new, near_new
    if not state.energy[new] * far_new <= state.energy[other] * far_other:
        gone, near = other, near_other
        known[0] = -1
    if values.diag[near] > 0:
        ratio = kernel_value(values, gone, near) / values.diag[near]
        for j in range(state.coef.shape[0]):
            state.coef[j, near] += ratio * state.coef[j, gone]
            if state.mean.shape[1]:
                state.mean[j, near] += ratio * state.mean[j, gone]
    forget(state, gone)


@njit(cache=True, nogil=True, fastmath=_FAST)
def nearest(values, state, a, end):
    """The sample before ``end`` whose feature has the smallest angle to that of a.

    Also the squared sine of that angle, infinite if there is no other sample.
    """
    row, absent, inverse, m = state.row, state.absent, values.inverse, place(values, 0)
    if a >= m:
        own = values.block[a - m]
        for c in range(end):
            row[c] = own[c]
    else:
        near = values.gram[values.slots[a]]
        for c in range(m):
            row[c] = near[values.slots[c]]
        for c in range(m, end):
            row[c] = values.block[c - m, a] if absent[c] == 0 else 0.0
    for c in range(end):  # minus the squared cosine, but for a factor
        row[c] = absent[c] - row[c] * row[c] * inverse[c]
    row[a] = np.inf
    c = lowest(row, end)
    return c, np.inf if row[c] == np.inf else sine(-row[c] * inverse[a])


@njit(cache=True, nogil=True)
def sine(cosine):
    """The squared sine, from a squared cosine that rounding may have moved beyond 1."""
    return 1 - min(max(cosine, 0.0), 1.0)


@njit(cache=True, nogil=True)
def kernel_value(values, a, c):
    """The kernel value of two places."""
    m, low, high = place(values, 0), min(a, c), max(a, c)
    if high < m:
        return values.gram[values.slots[low], values.slots[high]]
    return values.block[high - m, low]


@njit(cache=True, nogil=True)
def forget(state, a):
    """Remove a sample."""
    state.absent[a] = np.inf
    for j in range(state.coef.shape[0]):
        state.coef[j, a] = 0.0
        if state.mean.shape[1]:
            state.mean[j, a] = 0.0


@njit(cache=True, nogil=True)
def settle(values, places, slots, gram):
    """Write the kernel values of newly kept samples, and their slots, into the Gram matrix.

    Rows first, then columns, by rows of the matrix: entries of a column are far apart.
    """
    m = place(values, 0)
    old = 0
    while old < len(places) and places[old] < m:
        old += 1
    for i in range(old, len(places)):
        row, own = gram[slots[i]], values.block[places[i] - m]
        for j in range(i):
            row[slots[j]] = own[places[j]]
        row[slots[i]] = values.diag[places[i]]
    for j in range(len(places)):
        row = gram[slots[j]]
        for i in range(max(old, j + 1), len(places)):
            row[slots[i]] = values.block[places[i] - m, places[j]]
