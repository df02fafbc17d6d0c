"""Compiled steps of online learning: scores, one step, averages, and the clock.

Places 0..m-1 are the samples that are kept, places m.. those of a block that follows them. What
has been removed has coefficients of zero, so scores are plain sums over all places before a sample.

Several lengths of steps may be tried side by side. They share kernel values and the samples that
are kept; rows of coefficients belong to the first length, one for each output, then to the second.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._compiled import njit
from .online_budget import MERGE, OLDEST, first, forget, lowest, measure, merge
from .online_slopes import (
    LOGISTIC,
    MULTINOMIAL,
    POISSON,
    joint_slopes,
    logistic_slope,
    loss_value,
    piecewise_slope,
    poisson_slope,
)

_FAST = {"nsz", "reassoc", "contract"}
_DOUBT = 5.0  # standard deviations
_BACK = 4.0


class Rule(NamedTuple):
    """What does not change along a stream: eta_t = scale t^-power, for each scale, ..."""

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
    """Kernel values: a block with the kept samples and with itself, and of those that are kept."""

    cross: np.ndarray  # (n, m)
    within: np.ndarray  # (n, n)
    diag: np.ndarray  # (m + n,)
    gram: np.ndarray  # of kept samples, by their slots; only to merge
    slots: np.ndarray  # (m,)


class Iterate(NamedTuple):
    """What changes: coefficients and their average, one row per output, intercepts, the clock."""

    coef: np.ndarray  # (scales * outputs, m + n)
    mean: np.ndarray  # the same, or (scales * outputs, 0)
    intercept: np.ndarray
    mean_intercept: np.ndarray
    clock: np.ndarray  # the sum of weights so far; that of the iterates in the average
    tube: np.ndarray  # (scales,): half widths, and their average
    mean_tube: np.ndarray
    losses: np.ndarray  # (scales,): average losses of samples before they were seen
    doubt: np.ndarray  # (scales, 3): see ``doubted``
    alive: np.ndarray  # (m + n,)
    energy: np.ndarray  # room for numbers of all places
    row: np.ndarray


@njit(cache=True, nogil=True)
def walk(rule, targets, values, weights, state):
    """Take in all samples of a block, one after the other."""
    rows, count = state.coef.shape[0], rule.scale.size
    each = rows // count
    scores, means, slopes = np.empty(rows), np.empty(rows), np.empty(rows)
    alive = 0
    for a in range(state.alive.size):
        alive += state.alive[a]
    for i in range(len(weights)):
        if weights[i] > 0:
            state.clock[0] += weights[i]
            state.clock[1] += weights[i]
            score(values, state.coef, i, scores)
            if count > 1 or rule.renews:
                compare(rule, targets, values, weights[i], state, i, scores, means)
            for c in range(count):
                own = slice(c * each, (c + 1) * each)
                eta, shrink, reach = begin(rule, values, weights[i], state, i, c)
                find_slopes(
                    rule, targets, state, i, c, shrink, reach, eta, scores[own], slopes[own]
                )
                move(rule, values, state, i, c, eta, shrink, slopes)
            alive = finish(rule, values, weights[i], state, i, alive)


@njit(cache=True, nogil=True)
def foretell(rule, values, state, i, scores, out):
    """What each length of steps predicts of a sample that it has not seen."""
    if rule.window > 0:
        score(values, state.mean, i, out)
        for j in range(out.size):
            out[j] += state.mean_intercept[j]
    else:
        for j in range(out.size):
            out[j] = scores[j] + state.intercept[j]


@njit(cache=True, nogil=True)
def told(rule, state, c):
    """The half width of the tube that predictions have."""
    return state.mean_tube[c] if rule.window > 0 else state.tube[c]


@njit(cache=True, nogil=True)
def compare(rule, targets, values, weight, state, i, scores, means):
    """The losses of a sample before it is learned, by all lengths of steps and their averages."""
    count = rule.scale.size
    each = scores.size // count
    foretell(rule, values, state, i, scores, means)
    part = judged(rule, weight, state.clock[0])
    for c in range(count):
        own = slice(c * each, (c + 1) * each)
        now = loss_value(targets, told(rule, state, c), i, means[own])
        now += max(rule.outside, 0.0) * told(rule, state, c)
        state.losses[c] += part * (now - state.losses[c])
        if rule.renews:
            for j in range(c * each, (c + 1) * each):
                means[j] = scores[j] + state.intercept[j]
            other = loss_value(targets, state.tube[c], i, means[own])
            other += max(rule.outside, 0.0) * state.tube[c]
            doubted(state, c, weight, now - other)
    if rule.renews:
        renew(state)


@njit(cache=True, nogil=True)
def doubted(state, c, weight, lead):
    """By how much the last iterate has predicted better than the mean, since it last did not.

    The sum of ``lead``, that of its squares, and of the weights: S > z sqrt(Q) is rare, whatever
    the tails of the loss, if the lead is zero on average.
    """
    doubt = state.doubt[c]
    doubt[0] += weight * lead
    doubt[1] += (weight * lead) ** 2
    doubt[2] += weight
    if not (doubt[0] > 0 and doubt[1] < np.inf):
        for k in range(doubt.size):
            doubt[k] = 0.0


@njit(cache=True, nogil=True)
def renew(state):
    """Put the clock back, and begin the average anew, if the last iterate predicts better."""
    best = lowest(state.losses, state.losses.size)
    total, squares, since = state.doubt[best, 0], state.doubt[best, 1], state.doubt[best, 2]
    if total * total <= _DOUBT * _DOUBT * squares:
        return
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
def judged(rule, weight, time):
    """The share of a sample in an average: later ones count more, in proportion to t."""
    share = 2 * weight / (time + weight)
    if rule.window > 0:
        share = max(share, weight / rule.window)
    return min(share, 1.0)


@njit(cache=True, nogil=True)
def begin(rule, values, weight, state, i, c):
    """The step of a sample, by what f is multiplied, and how far a slope of one moves f(x) + b."""
    eta = weight * rule.scale[c] * state.clock[0] ** -rule.power
    shrink = 1 / (1 + eta * rule.alpha) if rule.implicit else 1 - eta * rule.alpha
    reach = eta * shrink * values.diag[values.cross.shape[1] + i]
    if rule.intercept:
        reach += eta
        each = state.intercept.size // rule.scale.size
        for j in range(c * each, (c + 1) * each):
            state.intercept[j] -= eta * rule.lean
    return eta, shrink, reach


@njit(cache=True, nogil=True, fastmath=_FAST)
def score(values, coefs, i, out):
    """Sums over all terms at x_i, before the sample itself."""
    m = values.cross.shape[1]
    for j in range(out.size):
        total, coef = 0.0, coefs[j]
        for a in range(m):
            total += values.cross[i, a] * coef[a]
        for a in range(i):
            total += values.within[i, a] * coef[m + a]
        out[j] = total


@njit(cache=True, nogil=True)
def find_slopes(rule, targets, state, i, c, shrink, reach, eta, scores, out):
    """The slopes u of the loss, at f(x) + b before the step, or where an implicit step ends."""
    for j in range(out.size):
        scores[j] *= shrink if rule.implicit else 1.0
        scores[j] += state.intercept[c * out.size + j]
    if targets.code == MULTINOMIAL:
        joint_slopes(scores, int(targets.target[i, 0]), reach if rule.implicit else 0.0, out)
        return
    for j in range(out.size):
        y, v = targets.target[i, j], scores[j]
        if targets.code == LOGISTIC:
            out[j] = logistic_slope(y, v, reach) if rule.implicit else -y / (1 + math.exp(y * v))
        elif targets.code == POISSON:
            out[j] = poisson_slope(y, v, reach) if rule.implicit else math.exp(v) - y
        else:
            out[j] = piecewise_slope(rule, targets, state.tube, c, i, j, v, reach, eta)


@njit(cache=True, nogil=True, fastmath=_FAST)
def move(rule, values, state, i, c, eta, shrink, slopes):
    """Move f and b of one length of steps."""
    new, each = values.cross.shape[1] + i, slopes.size // rule.scale.size
    for j in range(c * each, (c + 1) * each):
        coef = state.coef[j]
        for a in range(new):
            coef[a] *= shrink
        change = -eta * slopes[j]
        if rule.intercept:
            state.intercept[j] += change
        coef[new] = change * shrink if rule.implicit else change


@njit(cache=True, nogil=True, fastmath=_FAST)
def finish(rule, values, weight, state, i, alive):
    """Average, and keep to the budget; returns how many samples are kept."""
    m, new = values.cross.shape[1], values.cross.shape[1] + i
    moved = alive == 0
    for j in range(state.coef.shape[0]):
        moved = moved or state.coef[j, new] != 0
    if rule.window > 0:
        average(rule, weight, state, new)
    if not moved:
        return alive
    state.alive[new] = True
    if alive < rule.budget:
        return alive + 1
    if rule.removal == OLDEST:
        forget(state, first(state))
    else:
        measure(rule, values, state, new)
        other = lowest(state.energy, new)
        if rule.removal == MERGE:
            merge(values, state, m, new, other)
        else:
            forget(state, other)
    return alive


@njit(cache=True, nogil=True, fastmath=_FAST)
def average(rule, weight, state, new):
    """Iterates of all time, or within a window."""
    share = judged(rule, weight, state.clock[1])
    for j in range(state.coef.shape[0]):
        coef, mean = state.coef[j], state.mean[j]
        for a in range(new + 1):
            mean[a] += share * (coef[a] - mean[a])
        state.mean_intercept[j] += share * (state.intercept[j] - state.mean_intercept[j])
    for c in range(state.tube.size):
        state.mean_tube[c] += share * (state.tube[c] - state.mean_tube[c])
