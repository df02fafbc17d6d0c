"""Compiled loops of the multiscale Laplacian kernel: small dense factorisations, many of them.

A ball is a set of nodes of a graph. With the Laplacian L of its induced subgraph and a kernel
matrix K of its nodes, B = L + eta I + K / (2 gamma) = Q Q'. The kernel of two balls is

    c c' / sqrt(det(I - Z'Z)),    Z = Q^-1 K_12 Q'^-T / (2 gamma),

where c depends on one ball alone (see ``laplacian.py``).
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit


@njit(cache=True, nogil=True)
def balls(indptr, indices, first, last, radius, ends, members):
    """The nodes at most ``radius`` steps away from each of some nodes of a graph, in order.

    Arcs are numbered from the first node of the graph. Without room for members, only count them.
    """
    n = last - first
    seen, queue = np.full(n, -1, np.int64), np.empty(n, np.int64)
    for v in range(n):
        queue[0], seen[v], head, tail = v, v, 0, 1
        for _ in range(radius):
            level = tail
            while head < level:
                w = queue[head]
                for k in range(indptr[first + w], indptr[first + w + 1]):
                    u = indices[k] - first
                    if seen[u] != v:
                        seen[u], queue[tail] = v, u
                        tail += 1
                head += 1
        if members.size:
            k = ends[first + v]
            for u in range(n):
                if seen[u] == v:
                    members[k] = u
                    k += 1
        else:
            ends[first + v + 1] = tail


@njit(cache=True, nogil=True)
def _cholesky(B, m):
    """B = Q Q' in place, with the inverses of the diagonal of Q in it; log det B."""
    logarithm = 0.0
    for i in range(m):
        for j in range(i):
            total = B[i, j]
            for k in range(j):
                total -= B[i, k] * B[j, k]
            B[i, j] = total * B[j, j]
        total = B[i, i]
        for k in range(i):
            total -= B[i, k] * B[i, k]
        logarithm += np.log(total)
        B[i, i] = 1.0 / np.sqrt(total)
    return logarithm


@njit(cache=True, nogil=True)
def _forward(factors, place, m, W, width):
    """W = Q^-1 W in place, for the factor Q that begins at a place."""
    for i in range(m):
        for k in range(i):
            factor = factors[place + i * m + k]
            for c in range(width):
                W[i, c] -= factor * W[k, c]
        factor = factors[place + i * m + i]
        for c in range(width):
            W[i, c] *= factor


@njit(cache=True, nogil=True)
def factorise(S, at, count, A, K, eta, gamma, room):
    """Fill in the factors Q and constants c of balls, from a graph and a kernel on its nodes."""
    B = room[0]
    for ball in range(at, at + count):
        low, m = S.ends[ball], S.ends[ball + 1] - S.ends[ball]
        total = 0.0
        for turn in range(3):  # without K, with K / gamma, with K / (2 gamma)
            scale = (0.0, 1.0 / gamma, 0.5 / gamma)[turn]
            for i in range(m):
                u, degree = S.members[low + i], 0.0
                for j in range(m):
                    w = S.members[low + j]
                    degree += A[u, w]
                    B[i, j] = scale * K[u, w] - A[u, w]
                B[i, i] += degree + eta
            total += (0.25, 0.25, -0.5)[turn] * _cholesky(B, m)
        S.constants[ball] = total
        place = S.squares[ball]
        for i in range(m):
            for j in range(i + 1):
                S.factors[place + i * m + j] = B[i, j]


@njit(cache=True, nogil=True)
def across(S, at, T, of, others, first, last, K, gamma, room, out):
    """The kernel of balls ``first`` to ``last`` of a graph with all balls of another one.

    K is the kernel of their nodes.
    """
    W, Z, E = room
    q, half = K.shape[1], 0.5 / gamma
    for v in range(first, last):
        low, m = S.ends[at + v], S.ends[at + v + 1] - S.ends[at + v]
        for i in range(m):
            u = S.members[low + i]
            for c in range(q):
                W[i, c] = half * K[u, c]
        _forward(S.factors, S.squares[at + v], m, W, q)
        for w in range(others):
            below, l = T.ends[of + w], T.ends[of + w + 1] - T.ends[of + w]
            for i in range(l):
                c = T.members[below + i]
                for j in range(m):
                    Z[i, j] = W[j, c]
            _forward(T.factors, T.squares[of + w], l, Z, m)
            if m <= l:
                for i in range(m):
                    for j in range(i + 1):
                        E[i, j] = 0.0
                for k in range(l):
                    for i in range(m):
                        for j in range(i + 1):
                            E[i, j] -= Z[k, i] * Z[k, j]
            else:
                for i in range(l):
                    for j in range(i + 1):
                        total = 0.0
                        for k in range(m):
                            total -= Z[i, k] * Z[j, k]
                        E[i, j] = total
            size = min(m, l)
            for i in range(size):
                E[i, i] += 1.0
            constant = S.constants[at + v] + T.constants[of + w]
            out[v, w] = np.exp(constant - 0.5 * _cholesky(E, size))
