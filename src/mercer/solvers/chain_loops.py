"""Compiled sums over all labellings of sequences, and the best of them."""

from __future__ import annotations

import numpy as np

from .._compiled import njit


@njit(cache=True, nogil=True)
def _log_sum(values):
    """log of the sum of exponentials."""
    top = values[0]
    for v in values:
        top = max(top, v)
    total = 0.0
    for v in values:
        total += np.exp(v - top)
    return top + np.log(total)


@njit(cache=True, nogil=True)
def _shares(values):
    """Exponentials, divided by their sum: in place."""
    top, total = values[0], 0.0
    for v in values:
        top = max(top, v)
    for i in range(values.size):
        values[i] = np.exp(values[i] - top)
        total += values[i]
    for i in range(values.size):
        values[i] /= total


@njit(cache=True, nogil=True)
def chain_sums(F, T, starts, marginals, pairs):
    """Logarithms of the sums of all labellings, one for each sequence.

    Of a sequence the score is that of its labels, F[i, a], and of each pair of neighbours, T[a, b];
    the last row of T is for the first labels. Written are the probabilities of labels, and, added
    up over all sequences, those of pairs. They are divided by their sums, which are 1 but for the
    rounding of large scores.
    """
    L = F.shape[1]
    out = np.empty(len(starts) - 1)
    pairs[:] = 0.0
    part, joint = np.empty(L), np.empty(L * L)
    for s in range(len(starts) - 1):
        begin, end = starts[s], starts[s + 1]
        ahead, behind = np.empty((end - begin, L)), np.zeros((end - begin, L))
        for a in range(L):
            ahead[0, a] = T[L, a] + F[begin, a]
        for t in range(1, end - begin):
            for b in range(L):
                for a in range(L):
                    part[a] = ahead[t - 1, a] + T[a, b]
                ahead[t, b] = _log_sum(part) + F[begin + t, b]
        out[s] = _log_sum(ahead[end - begin - 1])
        for t in range(end - begin - 2, -1, -1):
            for a in range(L):
                for b in range(L):
                    part[b] = T[a, b] + F[begin + t + 1, b] + behind[t + 1, b]
                    joint[a * L + b] = ahead[t, a] + part[b]
                behind[t, a] = _log_sum(part)
            _shares(joint)
            for c in range(L * L):
                pairs[c // L, c % L] += joint[c]
        for t in range(end - begin):
            for a in range(L):
                marginals[begin + t, a] = ahead[t, a] + behind[t, a]
            _shares(marginals[begin + t])
        for a in range(L):
            pairs[L, a] += marginals[begin, a]
    return out


@njit(cache=True, nogil=True)
def best_labels(F, T, starts):
    """The labelling of the largest score, for each sequence."""
    L = F.shape[1]
    best = np.empty(len(F), np.int64)
    for s in range(len(starts) - 1):
        begin, end = starts[s], starts[s + 1]
        before = np.empty((end - begin, L), np.int64)
        score = T[L] + F[begin]
        for t in range(1, end - begin):
            new = np.empty(L)
            for b in range(L):
                top, at = -np.inf, 0
                for a in range(L):
                    value = score[a] + T[a, b]
                    if value > top:
                        top, at = value, a
                new[b] = top + F[begin + t, b]
                before[t, b] = at
            score = new
        label = 0
        for a in range(L):
            if score[a] > score[label]:
                label = a
        for t in range(end - begin - 1, -1, -1):
            best[begin + t] = label
            label = before[t, label]
    return best
