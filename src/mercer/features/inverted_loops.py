"""Compiled loops of sparse products; all release the interpreter lock."""

from __future__ import annotations

import numpy as np

from .._compiled import njit

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_LINEAR = 8  # in lists up to this length the beginning is looked for one by one


@njit(cache=True, nogil=True)
def _slot(code, codes, numbers, bits):
    """Where a code is in the hash table, or should be."""
    slot = np.int64((np.uint64(code) * _SPREAD) >> np.uint64(64 - bits))
    last = (1 << bits) - 1
    while numbers[slot] >= 0 and codes[slot] != code:
        slot = (slot + 1) & last
    return slot


@njit(cache=True, nogil=True)
def number(codes):
    """Number the distinct codes in the order of their first occurrence.

    Returns
    -------
    The table (codes, numbers, bits) for :func:`recall`, and the number of every code.
    """
    bits, count = 10, 0
    known, numbers = np.empty(1 << bits, np.int64), np.full(1 << bits, -1, np.int32)
    out = np.empty(codes.size, np.int32)
    for t in range(codes.size):
        slot = _slot(codes[t], known, numbers, bits)
        if numbers[slot] < 0:
            known[slot], numbers[slot] = codes[t], count
            count += 1
            if 2 * count > numbers.size:
                before, of = known, numbers
                bits += 2
                known, numbers = np.empty(1 << bits, np.int64), np.full(1 << bits, -1, np.int32)
                for s in range(of.size):
                    if of[s] >= 0:
                        new = _slot(before[s], known, numbers, bits)
                        known[new], numbers[new] = before[s], of[s]
                out[t] = count - 1
                continue
        out[t] = numbers[slot]
    return (known, numbers, bits), out


@njit(cache=True, nogil=True)
def recall(codes, table):
    """The numbers of the codes; -1 for those that are not in the table."""
    known, numbers, bits = table
    out = np.empty(codes.size, np.int32)
    for t in range(codes.size):
        out[t] = numbers[_slot(codes[t], known, numbers, bits)]
    return out


@njit(cache=True, nogil=True)
def invert(ends, columns, values, width):
    """For every column the rows that hold it, in ascending order, with their values."""
    starts = np.zeros(width + 1, np.int64)
    for t in range(columns.size):
        starts[columns[t] + 1] += 1
    for f in range(width):
        starts[f + 1] += starts[f]
    free = starts.copy()
    rows, entries = np.empty(columns.size, np.int32), np.empty(columns.size, values.dtype)
    for r in range(ends.size - 1):
        for t in range(ends[r], ends[r + 1]):
            q = free[columns[t]]
            rows[q], entries[q] = r, values[t]
            free[columns[t]] = q + 1
    return starts, rows, entries


@njit(cache=True, nogil=True)
def _first(rows, low, end, bound):
    """The first place in rows[low:end], which ascend, with a number >= bound."""
    while end - low > _LINEAR:
        middle = (low + end) // 2
        if rows[middle] < bound:
            low = middle + 1
        else:
            end = middle
    while low < end and rows[low] < bound:
        low += 1
    return low


@njit(cache=True, nogil=True)
def add_products(out, chosen, ends, columns, values, starts, rows, entries, first, stop, place):
    """Add the products of the chosen rows with the rows from ``first`` to ``stop``.

    ``place`` is where the latter go in ``out``, -1 for nowhere; None puts them side by side. If
    the chosen rows have more entries than there are columns, the part of each list that matters
    is looked up once.
    """
    width, visits = starts.size - 1, 0
    for i in chosen:
        visits += ends[i + 1] - ends[i]
    known = width if width < visits else 0
    begin, final = np.empty(known, np.int64), np.empty(known, np.int64)
    for f in range(known):
        begin[f] = _first(rows, starts[f], starts[f + 1], first)
        final[f] = _first(rows, begin[f], starts[f + 1], stop)
    for i in range(chosen.size):
        line = out[i]
        for t in range(ends[chosen[i]], ends[chosen[i] + 1]):
            column, value = columns[t], values[t]
            if known:
                low, end = begin[column], final[column]
            else:
                low = _first(rows, starts[column], starts[column + 1], first)
                end = _first(rows, low, starts[column + 1], stop)
            for q in range(low, end):
                if place is None:
                    line[rows[q] - first] += value * entries[q]
                elif place[rows[q] - first] >= 0:
                    line[place[rows[q] - first]] += value * entries[q]
