"""Compiled steps of online learning: scores, one step, averages, and the clock.

Places 0..m-1 are the samples that are kept, places m.. those of a block that follows them. Removed
samples have coefficients of zero, so scores are plain sums over all places before a sample. Several
step sizes may be tried side by side. They share kernel values and kept samples; rows of
coefficients belong to the first step size, one for each output, then to the second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._compiled import njit
from .online_budget import OLDEST, first, forget, kept, place, remove
from .online_slopes import (
    LOGISTIC,
    MULTINOMIAL,
    POISSON,
    find_losses,
    joint_slopes,
    logistic_slope,
    piecewise_slope,
    poisson_slope,
)

_FAST = {"nsz", "reassoc", "contract"}
_DOUBT = 5.0  # standard deviations
_BACK = 4.0
_TINY = 1e-300


class Rule(NamedTuple):
    """The constants of a stream: eta_t = scale t^-power, for each scale, ..."""

    scale: np.ndarray
    power: float
    alpha: float
    implicit: bool
    intercept: bool
    lean: float  # an extra slope of the intercept: nu, for novelty
    outside: float  # the share of samples outside of a tube that adapts; -1 if it does not
    window: float  # time over which iterates are averaged; 0 if they are not
    renews: (
        bool  # whether the clock is put back when the last iterate predicts better than the mean
    )
    budget: int
    removal: int


class Values(NamedTuple):
    """Kernel values of a block with the kept samples and with itself, and of the kept samples."""

    block: np.ndarray  # (n, m + n): of each sample of the block, with all places
    diag: np.ndarray  # (m + n,)
    inverse: np.ndarray  # of the diagonal, and 0 where that is 0
    gram: np.ndarray  # of kept samples, by their slots; only to merge
    slots: np.ndarray  # (m,)


class Iterate(NamedTuple):
    """The variables: coefficients and their average, one row per output, intercepts, the clock."""

    coef: np.ndarray  # (scales * outputs, m + n)
    mean: np.ndarray  # the same, or (scales * outputs, 0)
    intercept: np.ndarray
    mean_intercept: np.ndarray
    clock: np.ndarray  # the sum of weights so far; that of the iterates in the average
    tube: np.ndarray  # (scales,): half widths, and their average
    mean_tube: np.ndarray
    losses: np.ndarray  # (scales,): average losses of samples before they were seen
    doubt: np.ndarray  # (scales, 3): see ``doubted``
    absent: np.ndarray  # (m + n,): 0 where a sample is kept, infinite elsewhere
    energy: np.ndarray  # room for numbers of all places
    row: np.ndarray
    near: np.ndarray  # (3,): a place, the nearest other one, and how far it is; see ``merge``


@njit(cache=True, nogil=True)
def walk(rule, targets, values, weights, state):
    """Learn from all samples of a block, one after the other."""
    count, rows = rule.scale.size, state.coef.shape[0]
    scores, means, last, slopes = np.empty(rows), np.empty(rows), np.empty(rows), np.empty(rows)
    eta, shrink, reach = np.empty(count), np.empty(count), np.empty(count)
    told, other = np.empty(count), np.empty(count)
    begun, alive = place(values, 0), kept(state.absent)
    for i in range(len(weights)):
        weight, new = weights[i], begun + i
        if weight > 0:
            state.clock[0] += weight
            state.clock[1] += weight
            row = values.block[i]
            score(row, state.coef, new, scores)
            if count > 1 or rule.renews:
                shift(scores, state.intercept, last)
                if rule.window > 0:
                    score(row, state.mean, new, means)
                    shift(means, state.mean_intercept, means)
                    find_losses(targets, rule.outside, i, means, state.mean_tube, told)
                else:
                    find_losses(targets, rule.outside, i, last, state.tube, told)
                compare(rule.window, weight, state.clock[0], told, state.losses)
            if rule.renews:
                find_losses(targets, rule.outside, i, last, state.tube, other)
                doubt(state.doubt, weight, told, other)
                if surpassed(state.doubt, state.losses):
                    renew(state)
            diag = values.diag[new]
            begin(rule, weight, state.clock[0], diag, state.intercept, eta, shrink, reach)
            find_slopes(
                rule, targets, i, state.intercept, state.tube, eta, shrink, reach, scores, slopes
            )
            move(rule, new, state.coef, state.intercept, eta, shrink, slopes)
            alive = finish(rule, values, weight, state, new, alive)


@njit(cache=True, nogil=True, fastmath=_FAST)
def score(row, coefs, end, out):
    """Sums over all terms before a sample, by its kernel values."""
    for j in range(out.size):
        total, coef = 0.0, coefs[j]
        for a in range(end):
            total += row[a] * coef[a]
        out[j] = total


@njit(cache=True, nogil=True)
def shift(scores, intercept, out):
    """f + b."""
    for j in range(out.size):
        out[j] = scores[j] + intercept[j]


@njit(cache=True, nogil=True)
def compare(window, weight, time, told, losses):
    """Average the losses of a sample before it is learned, for each step size."""
    share = judged(window, weight, time)
    for c in range(losses.size):
        losses[c] += share * (told[c] - losses[c])


@njit(cache=True, nogil=True)
def judged(window, weight, time):
    """The share of a sample in an average: later ones count more, in proportion to t."""
    share = 2 * weight / (time + weight)
    if window > 0:
        share = max(share, weight / window)
    return min(share, 1.0)


@njit(cache=True, nogil=True)
def doubt(sums, weight, told, other):
    """The lead of the last iterates over the averages, since the last time that they fell behind.

    Three sums: of the leads, of their squares, and of the weights. S > z sqrt(Q) is rare, whatever
    the tails of the loss, if the lead is zero on average.
    """
    for c in range(told.size):
        lead = weight * (told[c] - other[c])
        sums[c, 0] += lead
        sums[c, 1] += lead**2
        sums[c, 2] += weight
        if not (sums[c, 0] > 0 and sums[c, 1] < np.inf):
            sums[c] = 0.0


@njit(cache=True, nogil=True)
def surpassed(sums, losses):
    """Has the last iterate of the best step size predicted better, beyond doubt?"""
    c = np.argmin(losses)
    return sums[c, 0] ** 2 > _DOUBT**2 * sums[c, 1]


@njit(cache=True, nogil=True)
def renew(state):
    """Set the clock back, and restart the average."""
    since = state.doubt[np.argmin(state.losses), 2]
    state.clock[0] = min(max(state.clock[0] / _BACK, since), state.clock[0])
    state.clock[1] = 0.0
    for j in range(state.coef.shape[0]):
        state.mean_intercept[j] = state.intercept[j]
        for a in range(state.coef.shape[1]):
            state.mean[j, a] = state.coef[j, a]
    for c in range(state.tube.size):
        state.mean_tube[c] = state.tube[c]
        for k in range(3):
            state.doubt[c, k] = 0.0


@njit(cache=True, nogil=True)
def begin(rule, weight, time, diag, intercept, eta, shrink, reach):
    """Step sizes for a sample, the factors of f, and how far a slope of one moves f(x) + b."""
    step, each = weight * time**-rule.power, intercept.size // eta.size
    for c in range(eta.size):
        eta[c] = step * rule.scale[c]
        shrink[c] = 1 / (1 + eta[c] * rule.alpha) if rule.implicit else 1 - eta[c] * rule.alpha
        reach[c] = eta[c] * shrink[c] * diag
        if rule.intercept:
            reach[c] += eta[c]
            for j in range(c * each, (c + 1) * each):
                intercept[j] -= eta[c] * rule.lean


@njit(cache=True, nogil=True)
def find_slopes(rule, targets, i, intercept, tube, eta, shrink, reach, scores, out):
    """The slopes u of the loss, at f(x) + b before the step, or where an implicit step ends."""
    each = out.size // eta.size
    for c in range(eta.size):
        far = max(reach[c], _TINY) if rule.implicit else 0.0
        for j in range(c * each, (c + 1) * each):
            if rule.implicit:
                scores[j] *= shrink[c]
            scores[j] += intercept[j]
        if targets.code == MULTINOMIAL:
            own = slice(c * each, (c + 1) * each)
            joint_slopes(scores[own], int(targets.target[i, 0]), far, out[own])
            continue
        for k in range(each):
            y, v = targets.target[i, k], scores[c * each + k]
            if targets.code == LOGISTIC:
                u = logistic_slope(y, v, far)
            elif targets.code == POISSON:
                u = poisson_slope(y, v, far)
            else:
                low, high, lean = targets.lower[i, k], targets.upper[i, k], 0.0
                if rule.outside >= 0:
                    lean = eta[c] * rule.outside
                    if rule.implicit:
                        tube[c], far, lean = max(tube[c] - lean, 0.0), reach[c] + eta[c], 0.0
                u = piecewise_slope(
                    v - y, low, high, targets.soft_low, targets.soft_high, tube[c], far
                )
                if rule.outside >= 0:
                    tube[c] = max(tube[c] + eta[c] * abs(u) - lean, 0.0)
            out[c * each + k] = u


@njit(cache=True, nogil=True, fastmath=_FAST)
def move(rule, new, coefs, intercept, eta, shrink, slopes):
    """Move f and b."""
    each = slopes.size // eta.size
    for c in range(eta.size):
        for j in range(c * each, (c + 1) * each):
            coef = coefs[j]
            for a in range(new):
                coef[a] *= shrink[c]
            change = -eta[c] * slopes[j]
            if rule.intercept:
                intercept[j] += change
            coef[new] = change * shrink[c] if rule.implicit else change


# inlined: to hand over all arrays of an iterate takes longer than many a step
@njit(cache=True, nogil=True, forceinline=True)
def finish(rule, values, weight, state, new, alive):
    """Update the averages and enforce the budget; returns the number of kept samples."""
    moved = alive == 0
    for j in range(state.coef.shape[0]):
        moved = moved or state.coef[j, new] != 0
    if rule.window > 0:
        share = judged(rule.window, weight, state.clock[1])
        for j in range(state.coef.shape[0]):
            average(share, state.coef[j], state.mean[j], new + 1)
        average(share, state.intercept, state.mean_intercept, state.intercept.size)
        average(share, state.tube, state.mean_tube, state.tube.size)
    if not moved:
        return alive
    state.absent[new] = 0.0
    if alive < rule.budget:
        return alive + 1
    if rule.removal == OLDEST:
        forget(state, first(state.absent))
    else:
        remove(rule, values, state, new)
    return alive


@njit(cache=True, nogil=True, fastmath=_FAST)
def average(share, numbers, means, end):
    """Iterates of all time, or within a window."""
    for a in range(end):
        means[a] += share * (numbers[a] - means[a])
