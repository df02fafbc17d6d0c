"""The compiled parts of a round of decomposition between the tasks of all threads.

On many cores these would take most of the time: small array operations, whose overhead in Python
exceeds the work.
"""

from __future__ import annotations

import numpy as np

from .._compiled import njit
from .smo_loops import BLOCKED, _smaller

FEW = 32  # variables that are looked at together for violators
_EXACT = {"nnan", "nsz"}


@njit(cache=True, nogil=True)
def worst(rise, fall, ends, group, among, share, lowest, places, values):
    """The worst violators of each group from both sides, of those among which to look.

    At most this many from each side. They are removed from the others.
    """
    chosen = np.empty(2 * ends.shape[0] * share, np.int64)
    count = 0
    for t in range(ends.shape[0]):
        for downwards in range(2):
            side, sign, bound = (fall, -1.0, -ends[t, 0]) if downwards else (rise, 1.0, ends[t, 1])
            _lowest_of_chunks(side, sign, group, t, among, lowest)
            limit = bound
            if share <= lowest.size:  # so many chunks have one that is no worse than that
                limit = min(bound, _in_order(lowest, share - 1))
            found = _find(side, sign, bound, limit, group, t, among, lowest, places, values)
            last, equal = bound, 0
            if found > share:
                last = _in_order(values[:found], share - 1)
                equal = share
                for r in range(found):
                    equal -= values[r] < last
            for r in range(found):
                tie = values[r] == last and equal > 0
                if values[r] < last or tie:
                    chosen[count] = places[r]
                    among[places[r]] = False
                    count += 1
                    equal -= tie
    return chosen[:count]


@njit(cache=True, nogil=True)
def _in_order(values, place):
    """The number at this place in sorted order (Hoare's selection)."""
    numbers = values.copy()
    first, last = 0, numbers.size - 1
    while first < last:
        pivot, low, high = numbers[(first + last) // 2], first, last
        while low <= high:
            while numbers[low] < pivot:
                low += 1
            while pivot < numbers[high]:
                high -= 1
            if low <= high:
                numbers[low], numbers[high] = numbers[high], numbers[low]
                low, high = low + 1, high - 1
        if place <= high:
            last = high
        elif place >= low:
            first = low
        else:
            break
    return numbers[place]


@njit(cache=True, nogil=True, fastmath=_EXACT)
def _lowest_of_chunks(side, sign, group, t, among, lowest):
    """The lowest of ``sign * side`` in each chunk, among the candidate variables."""
    n, chunk = np.uint64(side.size), np.uint64(FEW)
    start = np.uint64(0)
    for c in range(lowest.size):
        least = BLOCKED
        for k in range(start, min(n, start + chunk)):
            there = among[k] & (group[k] == t)
            least = _smaller(least, sign * side[k] if there else BLOCKED)
        lowest[c] = least
        start += chunk


@njit(cache=True, nogil=True)
def _find(side, sign, bound, limit, group, t, among, lowest, places, values):
    """Where ``sign * side`` is below the bound and up to the limit, and its values; how many."""
    count = 0
    for c in range(lowest.size):
        if lowest[c] < bound and lowest[c] <= limit:
            for k in range(c * FEW, min(side.size, (c + 1) * FEW)):
                value = sign * side[k]
                places[count], values[count] = k, value
                below = (value < bound) & (value <= limit)
                count += below & among[k] & (group[k] == t)
    return count


@njit(cache=True, nogil=True)
def gathered(members, g, b, lower, upper, diagonal, group):
    """The parts of these arrays that belong to the working set, and the largest size in g."""
    m = members.size
    here, point, least, most = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    curved, groups, largest = np.empty(m, diagonal.dtype), np.empty(m, group.dtype), 0.0
    for r in range(m):
        k = members[r]
        here[r], point[r], least[r], most[r] = g[k], b[k], lower[k], upper[k]
        curved[r], groups[r] = diagonal[k], group[k]
        largest = max(largest, abs(g[k]))
    return here, point, least, most, curved, groups, largest


@njit(cache=True, nogil=True)
def moved(members, active, point, b, beta, g, slot, repeats, enough):
    """Record the new values of the variables of the working set.

    Returns the places of those that have moved, their old values and slopes; these variables, first
    those whose rows are needed once, then those whose rows are to be kept but missing, then the
    others; their changes; and the numbers of the first and the second. Rows are kept after a given
    number of changes without one.
    """
    places = np.empty(members.size, np.int64)
    ranks = np.empty(members.size, np.int64)
    counts = np.zeros(3, np.int64)
    count = 0
    for r in range(members.size):
        k = members[r]
        if point[r] != b[k]:
            v, rank = active[k], 2
            if slot[v] < 0:
                repeats[v] += 1
                rank = 1 if repeats[v] >= enough else 0
            places[count], ranks[count] = r, rank
            counts[rank] += 1
            count += 1
    which, before, slopes = np.empty(count, np.int64), np.empty(count), np.empty(count)
    variables, change = np.empty(count, np.int64), np.empty(count)
    ends = np.array([0, counts[0], counts[0] + counts[1]])
    for r in range(count):
        k = members[places[r]]
        which[r], before[r], slopes[r] = k, b[k], g[k]
        b[k] = beta[active[k]] = point[places[r]]
        at = ends[ranks[r]]
        ends[ranks[r]] += 1
        variables[at], change[at] = active[k], b[k] - before[r]
    return which, before, slopes, variables, change, counts[0], counts[1]


@njit(cache=True, nogil=True, error_model="numpy")
def fall_of(which, before, slopes, b, g, epsilon):
    """The decrease of the objective, from the old values of some variables and slopes."""
    fall = 0.0
    for r in range(which.size):
        now = b[which[r]]
        fall += (before[r] - now) * (slopes[r] + g[which[r]]) / 2  # of a quadratic function
        fall += epsilon * (abs(before[r]) - abs(now))
    return fall
