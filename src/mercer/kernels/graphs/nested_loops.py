"""Compiled loops of nested complexity traces; all release the interpreter lock."""

from __future__ import annotations

from math import log

from ..._compiled import njit

_CLOSE = 1e-9  # entropies nearer to each other than this are the same


@njit(cache=True, nogil=True)
def _spread(G, first, root, distance, queue):
    """Breadth-first search: the nodes that are reached, by distance."""
    queue[0], distance[root], head, tail = root, 0, 0, 1
    while head < tail:
        v = queue[head]
        head += 1
        for k in range(G.indptr[first + v], G.indptr[first + v + 1]):
            w = G.indices[k] - first
            if distance[w] < 0:
                distance[w], queue[tail] = distance[v] + 1, w
                tail += 1
    return tail


@njit(cache=True, nogil=True)
def _entropies(G, first, count, distance, queue, degree, out):
    """The entropy of the degrees in the subgraphs within 1, 2, ... steps; how many there are."""
    place, layers = 0, max(1, distance[queue[count - 1]])
    for l in range(count):
        degree[queue[l]] = -1.0  # not in the subgraph yet
    for layer in range(1, layers + 1):
        while place < count and distance[queue[place]] <= layer:
            v, own = queue[place], 0.0
            degree[v] = 0.0
            for k in range(G.indptr[first + v], G.indptr[first + v + 1]):
                w = G.indices[k] - first
                if degree[w] >= 0.0:
                    own += G.weights[k]
                    if w != v:
                        degree[w] += G.weights[k]
            degree[v] = own
            place += 1
        volume, total = 0.0, 0.0
        for l in range(place):
            d = degree[queue[l]]
            if d > 0.0:
                volume += d
                total += d * log(d)
        out[layer - 1] = log(volume) - total / volume if volume > 0.0 else 0.0
    return layers


@njit(cache=True, nogil=True)
def _larger(one, other, layers):
    """Does the first place at which two traces differ speak for the first one?"""
    for l in range(layers):
        if abs(one[l] - other[l]) > _CLOSE:
            return one[l] > other[l]
    return False


@njit(cache=True, nogil=True)
def trace(G, first, size, start, room, state, out, most):
    """The complexity trace of one graph, in up to ``most`` steps; returns where to go on.

    Nodes from ``start`` on are visited. ``state`` holds how many nodes are reached from the best
    root so far, r^2 times the variance of the distances to them, and the length of its trace.
    """
    distance, queue, degree, found = room
    done = 0
    for root in range(start, size):
        if done > most:
            return root
        for v in range(size):
            distance[v] = -1
        count = _spread(G, first, root, distance, queue)
        sum_, squares = 0, 0
        for l in range(count):
            d = distance[queue[l]]
            sum_ += d
            squares += d * d
        spread = (count - 1) * squares - sum_ * sum_
        arcs = G.indptr[first + size] - G.indptr[first]
        done += size + arcs
        better = count > state[0] or (count == state[0] and spread < state[1])
        if better or (count == state[0] and spread == state[1]):
            layers = _entropies(G, first, count, distance, queue, degree, found)
            done += layers * count + arcs
            if better or layers > state[2] or _larger(found, out, layers):
                for l in range(layers):
                    out[l] = found[l]
                state[0], state[1], state[2] = count, spread, layers
    return size
