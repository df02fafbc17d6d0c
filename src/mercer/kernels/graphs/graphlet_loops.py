"""Compiled loops over small connected subgraphs; all release the interpreter lock.

Arcs must be there in both directions, and those that leave a node in the order of their ends.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ...mixing import GOLDEN, mixed


@njit(cache=True, nogil=True)
def enumerate_sets(k, start, size, indptr, indices, table, out, state, room, most):
    """Count the connected sets of k nodes of each graph by their class, some steps at a time.

    A set is found once, from its smallest node (Wernicke's algorithm): nodes that may join come
    from ``ahead``, and a node goes there when the first of its neighbours joins. ``known`` tells
    for each node which members of the set are its neighbours, as bits, so that edges are not needed
    for the code of a set.

    Parameters
    ----------
    state : int64 array (3,)
        The graph, the smallest node and the number of members so far: where to go on.
    room : tuple of arrays
        Members, candidates at each depth, their numbers, codes at each depth; known neighbours.

    Returns
    -------
    Whether all is done.
    """
    members, ahead, count, code, known = room
    steps = 0
    while state[0] < start.size:
        g = state[0]
        low, high = start[g], start[g] + size[g]
        while state[1] < high:
            root, depth = state[1], state[2]
            if depth == 0:
                members[0], code[0], count[0] = root, 0, 0
                for arc in range(indptr[root], indptr[root + 1]):
                    v = indices[arc]
                    if v > root and known[v - low] == 0:
                        ahead[0, count[0]] = v
                        count[0] += 1
                    known[v - low] |= 1
                depth = 1
            while depth > 0:
                if steps > most:
                    state[2] = depth
                    return False
                d = depth - 1
                offset = depth * d // 2
                if depth == k - 1:
                    for t in range(count[d]):
                        v = ahead[d, t]
                        out[g, table[code[d] | (known[v - low] << offset)]] += 1
                    steps += count[d] + 1
                    count[d] = 0
                if count[d] == 0:
                    gone = members[d]
                    for arc in range(indptr[gone], indptr[gone + 1]):
                        known[indices[arc] - low] &= ~(1 << d)
                    depth -= 1
                    continue
                count[d] -= 1
                v = ahead[d, count[d]]
                code[depth] = code[d] | (known[v - low] << offset)
                members[depth] = v
                further = count[d]
                for t in range(further):  # a slice would take three times as long to compile
                    ahead[depth, t] = ahead[d, t]
                for arc in range(indptr[v], indptr[v + 1]):
                    w = indices[arc]
                    if w > root and w != v and known[w - low] == 0:
                        ahead[depth, further] = w
                        further += 1
                    known[w - low] |= 1 << depth
                steps += further + indptr[v + 1] - indptr[v]
                count[depth] = further
                depth += 1
            state[1], state[2] = root + 1, 0
            steps += 1
        state[0] += 1
        if state[0] < start.size:
            state[1], state[2] = start[state[0]], 0
    return True


@njit(cache=True, nogil=True)
def _next(state):
    """The next number of splitmix64, from a state that it moves on."""
    number = mixed(state[0])
    state[0] += GOLDEN
    return number


@njit(cache=True, nogil=True)
def _join(v, d, indptr, indices, members, ahead, count, known):
    """Make v the member d of a set; its neighbours may join from now on. How many may."""
    members[d] = v
    for arc in range(indptr[v], indptr[v + 1]):
        w = indices[arc]
        if known[w] == 0:
            ahead[count] = w
            count += 1
        known[w] |= 1 << d
    return count


@njit(cache=True, nogil=True)
def draw_sets(k, indptr, indices, table, orders, out, state, draws):
    """Add up estimates of the numbers of connected sets of k nodes of one graph, by their class.

    A set grows from a random arc by one of its neighbours at a time, each as likely as the others,
    up to k - 1 nodes; then all sets that one more makes of it count at once. A sequence of nodes
    that comes up with probability p counts as 1 / p, over the number of sequences that lead to the
    same set (``orders``, by its class): the mean is the number of sets.
    """
    n = indptr.size - 1
    members, ahead = np.empty(k, np.int64), np.empty(n, np.int64)
    known = np.zeros(n, np.int64)  # which members are neighbours of a node, as bits
    own = 1 << k  # the bit of members themselves
    for _ in range(draws):
        first = np.int64((_next(state) >> np.uint64(11)) % np.uint64(indices.size))
        v = np.searchsorted(indptr, first, side="right") - 1
        weight, code, count, size = 1.0, 0, 0, 0
        while True:
            code |= (known[v] & (own - 1)) << (size * (size - 1) // 2)
            known[v] |= own
            count = _join(v, size, indptr, indices, members, ahead, count, known)
            size += 1
            if size == k - 1 or count == 0:  # there may be no more nodes to reach
                break
            if size == 1:
                v, weight, t = indices[first], float(indices.size), np.int64(0)
                while ahead[t] != v:
                    t += 1
            else:
                t = np.int64((_next(state) >> np.uint64(11)) % np.uint64(count))
                v, weight = ahead[t], weight * count
            count -= 1
            ahead[t] = ahead[count]
        for v in ahead[:count]:
            c = table[code | (known[v] << (size * (size - 1) // 2))]
            out[c] += weight / orders[c]
        for d in range(size):
            known[members[d]] = 0
            for arc in range(indptr[members[d]], indptr[members[d] + 1]):
                known[indices[arc]] = 0
