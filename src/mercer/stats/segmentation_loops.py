"""The dynamic programme over segmentations, a strip of ends at a time, compiled.

A segment [s, e) of items costs T - A / N: the sum of the diagonal of K over it, less the sum of K
over all pairs of its items divided by the number of samples in them. Both sums are kept for every
start s, and grow with e, so that what lies outside a segment never enters into its cost, not
even by rounding.
"""

from __future__ import annotations

import numpy as np

from .._compiled import njit

_STARTS = 64  # of a chunk, whose costs stay in the innermost cache with
_ENDS = 16  # these many ends


@njit(cache=True, nogil=True)
def earlier_starts(
    K: np.ndarray,  # rows: items of the strip, columns: all items up to its end
    above: np.ndarray,  # of each row, the sum of K over items from the last start of here on
    starts: np.ndarray,  # the first start, and one after the last
    own: np.ndarray,  # K of each item of the strip with itself
    trace: np.ndarray,  # sums of the diagonal of K over its samples
    counts: np.ndarray,  # of samples before each item
    least: int,  # items of a segment
    V: np.ndarray,  # the least cost of d segments up to each item
    A: np.ndarray,
    T: np.ndarray,
    bounds: np.ndarray,  # (ends, numbers of segments): costs that some start is known to attain
    best: np.ndarray,
    where: np.ndarray,
) -> None:
    """The best last segments among those that begin before the strip, in some range of starts."""
    ends, levels = best.shape
    first = K.shape[1] - ends
    cost, before = np.full((_ENDS, _STARTS), np.inf), np.zeros(_STARTS)
    top = starts[1]
    while top > starts[0]:
        low = max(top - _STARTS, starts[0])
        width = top - low
        for some in range(0, ends, _ENDS):
            until = min(some + _ENDS, ends)
            for e in range(some, until):
                row, seen, total = cost[e - some], counts[first + e + 1], above[e]
                for s in range(width - 1, -1, -1):
                    total += K[e, low + s]
                    row[s] = total
                above[e] = total
                for s in range(width):
                    A[low + s] += 2 * row[s] + own[e]
                    T[low + s] += trace[e]
                    row[s] = T[low + s] - A[low + s] / (seen - counts[low + s])
                for s in range(min(max(first + e + 2 - least - low, 0), width), _STARTS):
                    row[s] = np.inf
            for d in range(levels):
                if d * least >= top:  # no place for d segments before
                    break
                if d == 0 and low > 0:
                    continue
                for s in range(width):
                    before[s] = V[d, low + s]
                for e in range(some, until):
                    row, bound, hits = cost[e - some], bounds[e, d], 0
                    for s in range(_STARTS):  # comparisons become vectors, which minima do not
                        hits += before[s] + row[s] <= bound
                    if hits:
                        for s in range(_STARTS - 1, -1, -1):
                            value = before[s] + row[s]
                            if value <= bound:
                                bound, where[e, d] = value, low + s
                        best[e, d] = bounds[e, d] = bound
        top = low


@njit(cache=True, nogil=True)
def later_starts(
    K: np.ndarray,
    own: np.ndarray,
    trace: np.ndarray,
    counts: np.ndarray,
    least: int,
    V: np.ndarray,
    A: np.ndarray,
    T: np.ndarray,
    best: np.ndarray,
    where: np.ndarray,
    path: np.ndarray,  # (numbers of segments, ends): where the last one begins
) -> None:
    """The same for starts inside the strip, end by end; completes V."""
    ends, levels = best.shape
    first = K.shape[1] - ends
    cost = np.empty(ends)
    for e in range(ends):
        end, total = first + e + 1, 0.0
        for s in range(e, -1, -1):
            at = first + s
            if s < e:
                total += K[e, at]
            A[at] += 2 * total + own[e]
            T[at] += trace[e]
            cost[s] = T[at] - A[at] / (counts[end] - counts[at])
        for d in range(levels):
            smallest, found = best[e, d], where[e, d]
            for s in range(max(d * least - first, 0), e + 2 - least):
                value = V[d, first + s] + cost[s]
                if value < smallest:
                    smallest, found = value, first + s
            V[d + 1, end], path[d, end] = smallest, found
