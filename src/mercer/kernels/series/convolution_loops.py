"""Convolutions of series with three weights 2 and six weights -1, compiled; no interpreter lock.

With pad[t + j h] the nine points around time t, such a convolution is -sum_j pad[t + j h], the same
for all 84 arrangements, plus three times the three points whose weight is 2.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def _spread(values, start, size, step, pad, base):
    """Each channel with 4 h zeros at either end, and minus the sum of nine points around t."""
    for c in range(values.shape[1]):
        for t in range(4 * step):
            pad[c, t] = pad[c, 4 * step + size + t] = 0.0
        for t in range(size):
            pad[c, 4 * step + t] = values[start + t, c]
            base[c, t] = 0.0
        for j in range(9):
            for t in range(size):
                base[c, t] -= pad[c, t + j * step]


@njit(cache=True, nogil=True)
def _convolve(pad, base, size, step, triple, channels, line):
    """The sum over some channels of one convolution."""
    a, b, c = triple[0] * step, triple[1] * step, triple[2] * step
    for t in range(size):
        line[t] = 0.0
    for channel in channels:
        points, rest = pad[channel], base[channel]
        for t in range(size):
            line[t] += rest[t] + 3.0 * (points[t + a] + points[t + b] + points[t + c])


@njit(cache=True, nogil=True)
def _inside(size, step, shortened):
    """The times that count: all, or only those whose nine points lie in the series, if any."""
    if shortened and size > 8 * step:
        return 4 * step, size - 4 * step
    return 0, size


@njit(cache=True, nogil=True)
def shares(values, start, size, triples, added, order, step, parity, thresholds, out):
    """The share of times at which each convolution exceeds its thresholds, for some series.

    Convolution k adds up the channels order[k, :added[k]]; those of one parity stop short of the
    ends. Thresholds are those of the first convolution, then of the second, ...
    """
    count, longest = thresholds.size // len(triples), 0
    for p in range(size.size):
        longest = max(longest, size[p])
    pad = np.empty((values.shape[1], longest + 8 * step))
    base, line = np.empty((values.shape[1], longest)), np.empty(longest)
    for p in range(start.size):
        _spread(values, start[p], size[p], step, pad, base)
        for k in range(len(triples)):
            _convolve(pad, base, size[p], step, triples[k], order[k, : added[k]], line)
            low, high = _inside(size[p], step, (k + parity) % 2 == 1)
            for f in range(k * count, (k + 1) * count):
                above, threshold = 0, thresholds[f]
                for t in range(low, high):
                    above += line[t] > threshold
                out[p, f] = above / (high - low)


@njit(cache=True, nogil=True)
def convolved(values, start, size, triple, channels, step, shortened):
    """One convolution of one series, at the times that count."""
    pad = np.empty((values.shape[1], size + 8 * step))
    base, line = np.empty((values.shape[1], size)), np.empty(size)
    _spread(values, start, size, step, pad, base)
    _convolve(pad, base, size, step, triple, channels, line)
    low, high = _inside(size, step, shortened)
    return line[low:high]
