"""Compiled losses of online learning: their values, and slopes before a step or where one ends.

Sums and products of arrays are written as loops: in compiled code each expression with arrays would
bring along a loop of its own and all that it takes to say which shapes do not fit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .._compiled import njit

_TINY = 1e-300
_STEPS = 60  # of Newton's method for one sample, at most
PIECEWISE, LOGISTIC, POISSON, MULTINOMIAL = range(4)


class Targets(NamedTuple):
    """The loss of each sample of a block, by the numbers of its conjugate (losses.base.Dual)."""

    code: int
    target: np.ndarray  # (n, outputs): of losses that are not piecewise, y itself
    lower: np.ndarray
    upper: np.ndarray
    soft_low: float
    soft_high: float


@njit(cache=True, nogil=True)
def find_losses(targets, outside, i, scores, tubes, out):
    """The losses of sample i by all lengths of steps, summed over outputs."""
    each = scores.size // out.size
    for c in range(out.size):
        if targets.code == MULTINOMIAL:
            first, top, mass = c * each, -np.inf, 0.0
            for j in range(first, first + each):
                top = max(top, scores[j])
            for j in range(first, first + each):
                mass += math.exp(scores[j] - top)
            out[c] = top + math.log(mass) - scores[first + int(targets.target[i, 0])]
            continue
        total = max(outside, 0.0) * tubes[c]
        for j in range(each):
            y, v = targets.target[i, j], scores[c * each + j]
            if targets.code == LOGISTIC:
                total += max(-y * v, 0.0) + math.log1p(math.exp(-abs(v)))
            elif targets.code == POISSON:
                total += math.exp(min(v, 700.0)) - y * v
            else:  # the largest u d - soft u^2 / 2 with u between the bounds
                d = v - y
                excess = math.copysign(max(abs(d) - tubes[c], 0.0), d)
                soft = targets.soft_low if excess < 0 else targets.soft_high
                end = targets.lower[i, j] if excess < 0 else targets.upper[i, j]
                u = end
                if soft > 0 and abs(excess) < soft * abs(end):
                    u = excess / soft
                if excess != 0:
                    total += u * excess - soft * u * u / 2
        out[c] = total


@njit(cache=True, nogil=True)
def piecewise_slope(d, low, high, soft_low, soft_high, tube, reach):
    """Slope of a loss of straight and parabolic pieces, where a step ends; at d if reach is 0."""
    excess = math.copysign(max(abs(d) - tube, 0.0), d)
    soft = soft_low if excess < 0 else soft_high
    if soft + reach > 0:
        return min(max(excess / max(soft + reach, _TINY), low), high)
    # the middle of all slopes where there is a kink
    left = high if d > tube else (0.0 if d > -tube else low)
    right = high if d >= tube else (0.0 if d >= -tube else low)
    return (left + right) / 2


@njit(cache=True, nogil=True)
def logistic_slope(y, v, reach):
    """-y p with p = 1 / (1 + exp(y v + reach p)): Newton's method, inside a bracket."""
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
    # where reach is large, the slopes at v are too steep to begin with
    softmax_gap(v, 0.0, trial, code, p, gap)
    for j in range(k):
        u[j] = gap[j] if reach <= 0 else 0.0
    if reach <= 0:
        return
    size = _norm(gap)
    for _ in range(_STEPS):
        if size <= 1e-14:
            break
        # gap + (I + reach (diag p - p p')) step = 0, by Sherman and Morrison
        pull, mass = 0.0, 0.0
        for j in range(k):
            weight = 1 / (1 + reach * p[j])
            pull += p[j] * weight * gap[j]
            mass += p[j] * p[j] * weight
        pull /= max(1 - reach * mass, _TINY)
        length, better = 1.0, False
        for _ in range(30):
            for j in range(k):
                weight = 1 / (1 + reach * p[j])
                trial[j] = u[j] + length * weight * (gap[j] + reach * p[j] * pull)
            softmax_gap(v, reach, trial, code, p, gap)
            now = _norm(gap)
            if now < size:
                better = True
                break
            length /= 2
            softmax_gap(v, reach, u, code, p, gap)
        if not better:
            break
        for j in range(k):
            u[j] = trial[j]
        size = now


@njit(cache=True, nogil=True)
def softmax_gap(v, reach, u, code, p, gap):
    """p = softmax(v - reach u), and by how much the slopes there, p - e_y, differ from u."""
    top, total, others = -np.inf, 0.0, 0.0
    for j in range(v.size):
        p[j] = v[j] - reach * u[j]
        top = max(top, p[j])
    for j in range(v.size):
        p[j] = math.exp(p[j] - top)
        total += p[j]
    for j in range(v.size):
        p[j] /= total
        gap[j] = p[j] - u[j]
        others += 0.0 if j == code else p[j]
    gap[code] = -others - u[code]  # 1 - p would lose digits


@njit(cache=True, nogil=True)
def _norm(x):
    total = 0.0
    for j in range(x.size):
        total += x[j] ** 2
    return math.sqrt(total)
