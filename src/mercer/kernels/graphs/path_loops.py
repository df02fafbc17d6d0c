"""Compiled loops of shortest paths; all release the interpreter lock."""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ...mixing import mixed


@njit(cache=True, nogil=True)
def path_states(first, stop, begin, indptr, indices, marks, out):
    """A 64-bit state for each pair of nodes u != v that a path joins, and the number per source.

    Sources u are the nodes from ``first`` to ``stop``; ``begin`` is where the graph of each node
    begins. The state is made of the marks of u and v, and of the number of edges between them.
    """
    counts = np.zeros(stop - first, np.int64)
    longest = 1
    for u in range(first, stop):
        longest = max(longest, begin[1, u] - begin[0, u])
    distance, queue = np.empty(longest, np.int64), np.empty(longest, np.int64)
    place = 0
    for u in range(first, stop):
        low, high = begin[0, u], begin[1, u]
        for v in range(high - low):
            distance[v] = -1
        distance[u - low], queue[0] = 0, u
        head, tail, before = 0, 1, place
        while head < tail:
            v = queue[head]
            head += 1
            if v != u:
                there = np.uint64(distance[v - low])
                out[place] = mixed(mixed(marks[u] + there) + np.uint64(3) * marks[v])
                place += 1
            for arc in range(indptr[v], indptr[v + 1]):
                w = indices[arc]
                if distance[w - low] < 0:
                    distance[w - low] = distance[v - low] + 1
                    queue[tail] = w
                    tail += 1
        counts[u - first] = place - before
    return counts
