"""Compiled loops of tree kernels; all release the interpreter lock and run on our own pool.

The value of a kernel on two trees is a sum over pairs of nodes. Only pairs with the same code are
visited (the same production, or the same label): the nodes of each tree are sorted by code, so
that partners are neighbours. Children come before parents, so a table of values fills up in order.
"""

from __future__ import annotations

import numpy as np

from .._compiled import njit


@njit(cache=True, nogil=True)
def _mix(z):
    """The 64-bit mixing step of splitmix64 (Steele, Lea & Flood 2014), a bijection."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True)
def tuple_codes(label, first, count, children, origin):
    """A code of (label, labels of the children) for every node; leaves get a code of their own."""
    codes = np.empty(label.size, np.int64)
    for v in range(label.size):
        z = _mix(np.uint64(label[v]) ^ _mix(np.uint64(count[v])))
        for k in range(first[v], first[v] + count[v]):
            z = _mix(z ^ np.uint64(label[origin[v] + children[k]]))
        codes[v] = np.int64(z >> np.uint64(2))
    return codes


@njit(cache=True, nogil=True)
def subtree_codes(label, first, count, children, origin):
    """A code of the whole tree below every node, and how many nodes of it have children."""
    codes, internal = np.empty(label.size, np.int64), np.zeros(label.size, np.int64)
    for v in range(label.size):
        z = _mix(np.uint64(label[v]) ^ _mix(np.uint64(count[v])))
        internal[v] = count[v] > 0
        for k in range(first[v], first[v] + count[v]):
            w = origin[v] + children[k]
            z = _mix(z ^ np.uint64(codes[w]))
            internal[v] += internal[w]
        codes[v] = np.int64(z >> np.uint64(7))
    return codes, internal


@njit(cache=True, nogil=True)
def _partners(code_x, order_x, a, m, code_y, order_y, b, n, low, high):
    """For every node of a tree, where its partners are among the sorted nodes of another."""
    s = 0
    for r in range(m):
        v = order_x[a + r]
        code = code_x[a + v]
        while s < n and code_y[b + order_y[b + s]] < code:
            s += 1
        t = s
        while t < n and code_y[b + order_y[b + t]] == code:
            t += 1
        low[v], high[v] = s, t


@njit(cache=True, nogil=True)
def block(kind, X, start_x, size_x, Y, start_y, size_y, by_label, decay, span, out):
    """Fill in the kernel values of all pairs of trees.

    ``kind`` is 0 for subset trees, 1 for partial trees, 2 for rigid and 3 for elastic matching. The
    values are polynomials in decay and span: with a complex one of them, ``out`` is complex.
    """
    room = _room(X, size_x.max(), Y, size_y.max(), out.dtype)
    none = np.zeros(0, out.dtype)
    for i in range(start_x.size):
        for j in range(start_y.size):
            at = start_x[i], size_x[i], start_y[j], size_y[j]
            out[i, j] = _pair(kind, X, Y, at, by_label, decay, span, room, none, 0.0)


@njit(cache=True, nogil=True)
def own(kind, X, start, size, by_label, decay, span, out):
    """Fill in the kernel values of trees with themselves."""
    room = _room(X, size.max(), X, size.max(), out.dtype)
    none = np.zeros(0, out.dtype)
    for i in range(start.size):
        at = start[i], size[i], start[i], size[i]
        out[i] = _pair(kind, X, X, at, by_label, decay, span, room, none, 0.0)


@njit(cache=True, nogil=True)
def gains(kind, X, start_x, size_x, Y, start_y, size_y, by_label, decay, span, coef, out):
    """Add to ``out``, node by node of one tree x, sum_j coef[j] sum_w C(v, w) over w in y_j."""
    room = _room(X, size_x, Y, size_y.max(), out.dtype)
    for j in range(start_y.size):
        at = start_x, size_x, start_y[j], size_y[j]
        _pair(kind, X, Y, at, by_label, decay, span, room, out, coef[j])


@njit(cache=True, nogil=True)
def _room(X, m, Y, n, dtype):
    """Tables for trees of at most m and n nodes: of values (zero between pairs), of children."""
    widest = 1 + max(X.arity.max(), Y.arity.max())
    S, T = np.empty((widest, widest), dtype), np.empty((widest, widest), dtype)
    return np.zeros((m, n), dtype), S, T, np.empty(m, np.int64), np.empty(m, np.int64)


@njit(cache=True, nogil=True)
def _pair(kind, X, Y, at, by_label, decay, span, room, nodes, factor):
    """The sum of C(v, w) over two trees; that of each v, times factor, is added to ``nodes``."""
    a, p, b, q = at
    table, S, T, low, high = room
    if kind == 3:
        return _elastic(X, a, p, Y, b, q, decay, table, S, nodes, factor)
    if by_label:
        _partners(X.label, X.by_label, a, p, Y.label, Y.by_label, b, q, low, high)
        order = Y.by_label
    else:
        code, other = X.production, Y.production
        _partners(code, X.by_production, a, p, other, Y.by_production, b, q, low, high)
        order = Y.by_production
    total = 0.0 * decay
    for v in range(p):
        row = 0.0 * decay
        for t in range(low[v], high[v]):
            w = order[b + t]
            if kind == 0:
                value = _subset(X, a, v, Y, b, w, decay, table)
            elif kind == 1:
                value = _partial(X, a, v, Y, b, w, decay, span, table, S, T)
            else:
                value = decay * _ordered(X, a, v, Y, b, w, table, S)
            table[v, w] = value
            row += value
        total += row
        if nodes.size:
            nodes[v] += factor * row
    for v in range(p):
        for t in range(low[v], high[v]):
            table[v, order[b + t]] = 0.0
    return total


@njit(cache=True, nogil=True, inline="always")
def _subset(X, a, v, Y, b, w, decay, table):
    """decay * prod over children of (1 + value), where productions are the same; 0 for leaves."""
    first, count = X.first[a + v], X.arity[a + v]
    if count == 0:
        return 0.0
    other = Y.first[b + w]
    value = decay
    for k in range(count):
        value *= 1.0 + table[X.children[first + k], Y.children[other + k]]
    return value


@njit(cache=True, nogil=True)
def _partial(X, a, v, Y, b, w, decay, span, table, S, T):
    """decay (span^2 + common subsequences of children, each gap or member costing span).

    S[k, l] holds the sums over pairs of subsequences of one length that end at children k and l;
    T those that end at or before them, discounted by the distance.
    """
    x, m = X.first[a + v], X.arity[a + v]
    y, n = Y.first[b + w], Y.arity[b + w]
    square = span * span
    total = square
    any_left = False
    for k in range(m):
        for l in range(n):
            S[k, l] = square * table[X.children[x + k], Y.children[y + l]]
            total += S[k, l]
            any_left |= S[k, l] != 0.0
    for _ in range(1, min(m, n)):
        if not any_left:
            break
        any_left = False
        T[0, : n + 1] = 0.0
        for k in range(1, m + 1):
            T[k, 0] = 0.0
            for l in range(1, n + 1):
                T[k, l] = (
                    S[k - 1, l - 1] + span * (T[k - 1, l] + T[k, l - 1]) - square * T[k - 1, l - 1]
                )
        for k in range(m):
            for l in range(n):
                match = table[X.children[x + k], Y.children[y + l]]
                S[k, l] = match * square * T[k, l] if match != 0.0 else 0.0
                total += S[k, l]
                any_left |= S[k, l] != 0.0
    return decay * total


@njit(cache=True, nogil=True)
def _ordered(X, a, v, Y, b, w, table, S):
    """1 + common subsequences of children of any length, with the product of their values."""
    x, m = X.first[a + v], X.arity[a + v]
    y, n = Y.first[b + w], Y.arity[b + w]
    for l in range(n + 1):
        S[0, l] = 1.0
    for k in range(1, m + 1):
        S[k, 0] = 1.0
        for l in range(1, n + 1):
            match = table[X.children[x + k - 1], Y.children[y + l - 1]]
            S[k, l] = S[k - 1, l] + S[k, l - 1] + S[k - 1, l - 1] * (match - 1.0)
    return S[m, n]


@njit(cache=True, nogil=True)
def _elastic(X, a, p, Y, b, q, decay, inside, S, nodes, factor):
    """Children may be matched by any of their descendants: ``inside`` adds those up."""
    total = 0.0 * decay
    for v in range(p):
        x, m = X.first[a + v], X.arity[a + v]
        row = 0.0 * decay
        for w in range(q):
            y, n = Y.first[b + w], Y.arity[b + w]
            below = 0.0 * decay
            if X.label[a + v] == Y.label[b + w]:
                below = decay * _ordered(X, a, v, Y, b, w, inside, S)
            row += below
            for k in range(m):
                below += inside[X.children[x + k], w]
            for l in range(n):
                c = Y.children[y + l]
                below += inside[v, c]
                for k in range(m):
                    below -= inside[X.children[x + k], c]
            inside[v, w] = below
        total += row
        if nodes.size:
            nodes[v] += factor * row
    inside[:p, :q] = 0.0
    return total
