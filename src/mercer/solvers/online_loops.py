"""Compiled steps of online learning: scores, slopes, one step, and keeping to a budget.

Places 0..m-1 are the samples that are kept, places m.. those of a block that follows them. What
has been removed has coefficients of zero, so scores are plain sums over all places before a sample.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._compiled import njit

_FAST = {"nsz", "reassoc", "contract"}
_TINY = 1e-300
_STEPS = 60  # of Newton's method for one sample, at most
PIECEWISE, LOGISTIC, POISSON, MULTINOMIAL = range(4)
OLDEST, SMALLEST, MERGE = range(3)


class Rule(NamedTuple):
    """What does not change along a stream: eta_t = scale t^-power, ..."""

    scale: float
    power: float
    alpha: float
    implicit: bool
    intercept: bool
    lean: float  # an extra slope of the intercept: nu, for novelty
    outside: float  # the share of samples outside of a tube that adapts; -1 if it does not
    window: float  # time over which iterates are averaged; 0 if they are not
    budget: int
    removal: int


class Targets(NamedTuple):
    """The loss of each sample of a block, by the numbers of its conjugate (losses.base.Dual)."""

    code: int
    target: np.ndarray  # (n, outputs): of losses that are not piecewise, y itself
    lower: np.ndarray
    upper: np.ndarray
    soft_low: float
    soft_high: float


class Values(NamedTuple):
    """Kernel values: a block with the kept samples and with itself, and of those that are kept."""

    cross: np.ndarray  # (n, m)
    within: np.ndarray  # (n, n)
    diag: np.ndarray  # (m + n,)
    gram: np.ndarray  # of kept samples, by their slots; only to merge
    slots: np.ndarray  # (m,)


class Iterate(NamedTuple):
    """What changes: coefficients and their average, one row per output, intercepts, the clock."""

    coef: np.ndarray  # (outputs, m + n)
    mean: np.ndarray  # the same, or (outputs, 0)
    intercept: np.ndarray
    mean_intercept: np.ndarray
    clock: np.ndarray  # the sum of weights so far, the half width of the tube, and its average
    alive: np.ndarray  # (m + n,)
    energy: np.ndarray  # room for numbers of all places
    row: np.ndarray


@njit(cache=True, nogil=True)
def walk(rule, targets, values, weights, state):
    """Take in all samples of a block, one after the other."""
    outputs = state.coef.shape[0]
    scores, slopes = np.empty(outputs), np.empty(outputs)
    alive = int(state.alive.sum())
    for i in range(len(weights)):
        if weights[i] > 0:
            eta, shrink, reach = begin(rule, values, weights[i], state, i)
            score(values, state, i, scores)
            find_slopes(rule, targets, state, i, shrink, reach, eta, scores, slopes)
            alive = finish(rule, values, weights[i], state, i, eta, shrink, slopes, alive)


@njit(cache=True, nogil=True)
def begin(rule, values, weight, state, i):
    """The step of a sample, by what f is multiplied, and how far a slope of one moves f(x) + b."""
    state.clock[0] += weight
    eta = weight * rule.scale * state.clock[0] ** -rule.power
    shrink = 1 / (1 + eta * rule.alpha) if rule.implicit else 1 - eta * rule.alpha
    reach = eta * shrink * values.diag[values.cross.shape[1] + i]
    if rule.intercept:
        reach += eta
        state.intercept[:] -= eta * rule.lean
    return eta, shrink, reach


@njit(cache=True, nogil=True, fastmath=_FAST)
def score(values, state, i, out):
    """f(x_i), without the intercept, before the sample itself."""
    m = values.cross.shape[1]
    for j in range(out.size):
        total = 0.0
        for a in range(m):
            total += values.cross[i, a] * state.coef[j, a]
        for a in range(i):
            total += values.within[i, a] * state.coef[j, m + a]
        out[j] = total


@njit(cache=True, nogil=True)
def find_slopes(rule, targets, state, i, shrink, reach, eta, scores, out):
    """The slopes u of the loss, at f(x) + b before the step, or where an implicit step ends."""
    if rule.implicit:
        scores *= shrink
    scores += state.intercept
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
            out[j] = piecewise_slope(rule, targets, state, i, j, v, reach, eta)


@njit(cache=True, nogil=True)
def piecewise_slope(rule, targets, state, i, j, v, reach, eta):
    """Slope of a loss of straight and parabolic pieces; its tube, if there is one, adapts."""
    low, high = targets.lower[i, j], targets.upper[i, j]
    tube, d = state.clock[1], v - targets.target[i, j]
    adapts = rule.outside >= 0
    if adapts and rule.implicit:
        tube = max(tube - eta * rule.outside, 0.0)
        reach += eta
    excess = math.copysign(max(abs(d) - tube, 0.0), d)
    soft = targets.soft_low if excess < 0 else targets.soft_high
    if rule.implicit:
        u = min(max(excess / max(soft + reach, _TINY), low), high)
    elif soft > 0:
        u = min(max(excess / soft, low), high)
    else:  # the middle of all slopes where there is a kink
        left = high if d > tube else (0.0 if d > -tube else low)
        right = high if d >= tube else (0.0 if d >= -tube else low)
        u = (left + right) / 2
    if adapts:
        lean = 0.0 if rule.implicit else eta * rule.outside
        state.clock[1] = max(tube + eta * abs(u) - lean, 0.0)
    return u


@njit(cache=True, nogil=True)
def logistic_slope(y, v, reach):
    """-y p with p = 1 / (1 + exp(y v + reach p)): Newton's method, inside of a bracket."""
    z, low, high = y * v, 0.0, 1.0
    p = 1 / (1 + math.exp(min(z, 700.0)))
    for _ in range(_STEPS):
        q = 1 / (1 + math.exp(min(z + reach * p, 700.0)))
        gap = p - q
        if abs(gap) <= 1e-15 * p:
            break
        if gap > 0:
            high = p
        else:
            low = p
        new = p - gap / (1 + reach * q * (1 - q))
        if not low < new < high:
            new = (low + high) / 2
        p = new
    return -y * p


@njit(cache=True, nogil=True)
def poisson_slope(y, v, reach):
    """exp(v') - y at v' = v - reach (exp(v') - y), by w + log w = z with w = reach exp(v')."""
    if reach <= _TINY:
        return math.exp(v) - y
    z = v + reach * y + math.log(reach)
    w = math.exp(z) if z < 0 else (1.0 if z < 1 else z - math.log(z))
    for _ in range(_STEPS):
        if w <= _TINY:
            break
        step = (z - w - math.log(w)) / (1 + 1 / w)
        w = w + step if w + step > 0 else w / 2
        if abs(step) <= 1e-15 * w:
            break
    return w / reach - y


@njit(cache=True, nogil=True)
def joint_slopes(v, code, reach, u):
    """softmax(v') - e_y at v' = v - reach u: damped Newton steps; reach = 0 is the slope at v."""
    k = v.size
    p, gap, trial = np.empty(k), np.empty(k), np.zeros(k)
    softmax_slopes(v, code, p, u)
    if reach <= 0:
        return
    u[:] = 0.0  # the slopes at v are too steep to begin with where reach is large
    softmax_slopes(v, code, p, gap)
    size = math.sqrt((gap**2).sum())
    for _ in range(_STEPS):
        if size <= 1e-14:
            break
        # gap + (I + reach (diag p - p p')) step = 0, by Sherman and Morrison
        weights = 1 / (1 + reach * p)
        pull = (p * weights * gap).sum() / max(1 - reach * (p * p * weights).sum(), _TINY)
        length, better = 1.0, False
        for _ in range(30):
            trial[:] = u + length * weights * (gap + reach * p * pull)
            softmax_slopes(v - reach * trial, code, p, gap)
            gap -= trial
            now = math.sqrt((gap**2).sum())
            if now < size:
                better = True
                break
            length /= 2
            softmax_slopes(v - reach * u, code, p, gap)
            gap -= u
        if not better:
            break
        u[:] = trial
        size = now


@njit(cache=True, nogil=True)
def softmax_slopes(v, code, p, u):
    """Probabilities, and by how much they differ from the label."""
    p[:] = np.exp(v - v.max())
    p /= p.sum()
    u[:] = p
    u[code] = 0.0
    u[code] = -u.sum()


@njit(cache=True, nogil=True, fastmath=_FAST)
def finish(rule, values, weight, state, i, eta, shrink, slopes, alive):
    """Move f and b, average, and keep to the budget; returns how many samples are kept."""
    m, new = values.cross.shape[1], values.cross.shape[1] + i
    moved = alive == 0
    for j in range(slopes.size):
        coef = state.coef[j]
        for a in range(new):
            coef[a] *= shrink
        change = -eta * slopes[j]
        if rule.intercept:
            state.intercept[j] += change
        coef[new] = change * shrink if rule.implicit else change
        moved = moved or change != 0
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
        measure(values, state, new)
        other = lowest(state.energy, new)
        if rule.removal == MERGE:
            merge(values, state, m, new, other)
        else:
            forget(state, other)
    return alive


@njit(cache=True, nogil=True, fastmath=_FAST)
def average(rule, weight, state, new):
    """Later iterates count more, in proportion to t; of all time, or within a window."""
    time = state.clock[0]
    share = min(max(2 * weight / (time + weight), weight / rule.window), 1.0)
    for j in range(state.coef.shape[0]):
        coef, mean = state.coef[j], state.mean[j]
        for a in range(new + 1):
            mean[a] += share * (coef[a] - mean[a])
        state.mean_intercept[j] += share * (state.intercept[j] - state.mean_intercept[j])
    state.clock[2] += share * (state.clock[1] - state.clock[2])


@njit(cache=True, nogil=True)
def first(state):
    """The oldest sample."""
    a = 0
    while not state.alive[a]:
        a += 1
    return a


@njit(cache=True, nogil=True, fastmath=_FAST)
def measure(values, state, new):
    """||a k(x, .)||^2 of each term, over outputs, of the iterate and its average."""
    energy = state.energy
    energy[: new + 1] = 0.0
    for j in range(state.coef.shape[0]):
        coef = state.coef[j]
        for a in range(new + 1):
            energy[a] += coef[a] * coef[a]
        if state.mean.shape[1]:
            mean = state.mean[j]
            for a in range(new + 1):
                energy[a] += mean[a] * mean[a]
    for a in range(new + 1):
        energy[a] = energy[a] * values.diag[a] if state.alive[a] else np.inf


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
