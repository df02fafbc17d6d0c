"""Compiled loops of string kernels; all release the interpreter lock."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit

_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def count_codes(codes, lengths, weights):
    """The distinct codes of each sample in the order of their first occurrence, and how often.

    Sample i has the next ``lengths[i]`` codes. Each sample is counted in a hash table with at
    least twice as many slots as it has codes. With ``weights``, unless they are None, each code
    counts as its own says.

    Returns
    -------
    codes, times, number of distinct codes of each sample.
    """
    n, longest = lengths.size, 0
    for i in range(n):
        longest = max(longest, lengths[i])
    bits = 1
    while (1 << bits) < 2 * longest:
        bits += 1
    owner = np.full(1 << bits, -1, np.int64)  # the sample that has used a slot last
    slot_of = np.empty(1 << bits, np.int64)  # and where its code is in the result
    found, times = np.empty(codes.size, np.int64), np.empty(codes.size)
    distinct = np.zeros(n, np.int64)
    start, end = 0, 0
    for i in range(n):
        used = 1
        while (1 << used) < 2 * lengths[i]:
            used += 1
        shift = np.uint64(64 - used)
        last = (1 << used) - 1
        first = end
        for t in range(start, start + lengths[i]):
            code = codes[t]
            slot = np.int64((np.uint64(code) * _SPREAD) >> shift)
            while owner[slot] == i and found[slot_of[slot]] != code:
                slot = (slot + 1) & last
            weight = 1.0
            if weights is not None:
                weight = weights[t]
            if owner[slot] == i:
                times[slot_of[slot]] += weight
            else:
                owner[slot], slot_of[slot] = i, end
                found[end], times[end] = code, weight
                end += 1
        distinct[i] = end - first
        start += lengths[i]
    return found[:end].copy(), times[:end].copy(), distinct


# ---- windows that agree at some places --------------------------------------------------------
@njit(cache=True, nogil=True)
def _values(digits, starts, letters, kept, codes):
    """What each window shows at the kept places, as a number to the base ``letters``."""
    for w in range(starts.size):
        code = 0
        for place in kept:
            code = code * letters + digits[starts[w] + place]
        codes[w] = code


@njit(cache=True, nogil=True)
def count_values(out, digits, starts, ends, letters, kept, lengths, weights):
    """Add the weight of each pattern to ``out`` at what the windows of each row show."""
    first = 0
    for p in range(lengths.size):
        for i in range(ends.size - 1):
            for w in range(ends[i], ends[i + 1]):
                code = 0
                for place in kept[p, : lengths[p]]:
                    code = code * letters + digits[starts[w] + place]
                out[i, first + code] += weights[p]
        first += letters ** lengths[p]


@njit(cache=True, nogil=True)
def _numbered(codes, others):
    """Number both by the distinct values of ``others``, in place; -1 for what is not there."""
    bits = 1
    while (1 << bits) < 2 * others.size:
        bits += 1
    shift, last = np.uint64(64 - bits), (1 << bits) - 1
    known, numbers = np.empty(1 << bits, np.int64), np.empty(1 << bits, np.int64)
    for place in range(numbers.size):
        numbers[place] = -1
    count = 0
    for w in range(others.size):
        slot = np.int64((np.uint64(others[w]) * _SPREAD) >> shift)
        while numbers[slot] >= 0 and known[slot] != others[w]:
            slot = (slot + 1) & last
        if numbers[slot] < 0:
            known[slot], numbers[slot] = others[w], count
            count += 1
        others[w] = numbers[slot]
    for w in range(codes.size):
        slot = np.int64((np.uint64(codes[w]) * _SPREAD) >> shift)
        while numbers[slot] >= 0 and known[slot] != codes[w]:
            slot = (slot + 1) & last
        codes[w] = numbers[slot]
    return count


@njit(cache=True, nogil=True)
def add_agreements(
    out, digits, starts, ends, others, other_starts, other_ends, letters, kept, lengths, weights
):  # fmt: skip
    """Add weight_p for every pair of windows that agree at the kept places, for all patterns p."""
    codes = np.empty(starts.size, np.int64)
    other_codes = np.empty(other_starts.size, np.int64)
    holders = np.empty(other_starts.size, np.int32)
    direct = 4 * (starts.size + other_starts.size) + 1024
    for p in range(lengths.size):
        places = kept[p, : lengths[p]]
        _values(digits, starts, letters, places, codes)
        _values(others, other_starts, letters, places, other_codes)
        values = 1
        for _ in range(lengths[p]):
            values = min(values * letters, direct + 1)
        if values > direct:
            values = _numbered(codes, other_codes)
        first, free = np.empty(values + 1, np.int32), np.empty(values, np.int32)
        for v in range(values + 1):
            first[v] = 0
        for w in range(other_starts.size):
            first[other_codes[w] + 1] += 1
        for v in range(values):
            free[v] = first[v]
            first[v + 1] += first[v]
        for j in range(other_ends.size - 1):
            for w in range(other_ends[j], other_ends[j + 1]):
                holders[free[other_codes[w]]] = j
                free[other_codes[w]] += 1
        for i in range(ends.size - 1):
            for w in range(ends[i], ends[i + 1]):
                if codes[w] >= 0:
                    for q in range(first[codes[w]], first[codes[w] + 1]):
                        out[i, holders[q]] += weights[p]


@njit(cache=True, nogil=True)
def own_agreements(digits, starts, ends, letters, kept, lengths, weights):
    """The same sums for each sample with itself."""
    codes, times = np.empty(starts.size, np.int64), np.empty(starts.size, np.int64)
    out = np.empty(ends.size - 1)
    for i in range(out.size):
        out[i] = 0.0
    for p in range(lengths.size):
        _values(digits, starts, letters, kept[p, : lengths[p]], codes)
        for v in range(_numbered(codes[:0], codes)):
            times[v] = 0
        for i in range(out.size):
            squares = 0  # the sum of the squares of times
            for w in range(ends[i], ends[i + 1]):
                squares += 2 * times[codes[w]] + 1
                times[codes[w]] += 1
            for w in range(ends[i], ends[i + 1]):
                times[codes[w]] = 0
            out[i] += weights[p] * squares
    return out
