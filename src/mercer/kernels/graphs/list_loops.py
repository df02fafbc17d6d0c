"""Compiled loops over what two samples have in common; all release the interpreter lock."""

from __future__ import annotations

from math import exp

from ..._compiled import njit


@njit(cache=True, nogil=True)
def add_matches(out, ends, columns, left, starts, rows, places, right):
    """Add s_i s_j min(a_i, a_j) min(b_i, b_j) for all codes in common, with numbers (s, a, b)."""
    for i in range(ends.size - 1):
        for t in range(ends[i], ends[i + 1]):
            column = columns[t]
            if column < 0:
                continue
            s, a, b = left[t, 0], left[t, 1], left[t, 2]
            for q in range(starts[column], starts[column + 1]):
                p = places[q]
                out[i, rows[q]] += s * right[p, 0] * min(a, right[p, 1]) * min(b, right[p, 2])


@njit(cache=True, nogil=True)
def add_decays(out, ends, columns, left, starts, rows, places, right, gamma, sloped):
    """Add m_i m_j exp(-gamma w) for all codes in common, with numbers (m, f_1, ..., f_l).

    w is the sum of all abs(f_i - f_j); ``sloped`` adds the derivative in log(gamma) instead.
    """
    width = left.shape[1]
    for i in range(ends.size - 1):
        for t in range(ends[i], ends[i + 1]):
            column = columns[t]
            if column < 0:
                continue
            for q in range(starts[column], starts[column + 1]):
                p = places[q]
                w = 0.0
                for l in range(1, width):
                    w += abs(left[t, l] - right[p, l])
                w *= gamma
                value = left[t, 0] * right[p, 0] * (exp(-w) if w > 0.0 else 1.0)
                out[i, rows[q]] += -w * value if sloped else value
