"""Compiled loops of tree kernels; all release the interpreter lock and run on our own pool.

The value of a kernel on two trees is a sum over pairs of nodes. Only pairs with the same code are
visited (the same production, or the same label): the nodes of each tree are sorted by code, so
that partners are neighbours. Children come before parents, so a table of values fills up in order.
The recursions are written for plain and for wide numbers alike (``wide.py``).
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ..pairs.wide import get, like, plus, put, times


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
def pairs(kind, X, start_x, size_x, Y, start_y, size_y, i, j, by_label, decay, span, room, out):
    """Fill in the kernel values of pairs of trees, given by their numbers.

    ``kind`` is 0 for subset trees, 1 for partial trees and rigid matching, and 2 for elastic
    matching. The values are polynomials in decay and span: with a complex one of them, ``out`` is
    complex.
    """
    total, nodes = out[:1].copy(), out[:0]
    for t in range(i.size):
        at = start_x[i[t]], size_x[i[t]], start_y[j[t]], size_y[j[t]]
        total[0] = 0.0
        begin(X, Y, at, by_label, room)
        rows(kind, X, Y, at, 0, at[1], by_label, decay, span, room, (total,), (nodes,))
        end(kind, Y, at, by_label, room)
        out[t] = total[0]


@njit(cache=True, nogil=True)
def begin(X, Y, at, by_label, room):
    """Find the partners of all nodes of a tree in another."""
    a, p, b, q = at
    low, high = room[3], room[4]
    if by_label:
        _partners(X.label, X.by_label, a, p, Y.label, Y.by_label, b, q, low, high)
    else:
        code, other = X.production, Y.production
        _partners(code, X.by_production, a, p, other, Y.by_production, b, q, low, high)


@njit(cache=True, nogil=True)
def end(kind, Y, at, by_label, room):
    """Put the table back to zeros. (Elastic matching overwrites all that it looks at.)"""
    _, p, b, _ = at
    order = Y.by_label if by_label else Y.by_production
    table, low, high = room[0], room[3], room[4]
    if kind == 2:
        return
    for v in range(p):
        for t in range(low[v], high[v]):
            table[0][v, order[b + t]] = 0.0


@njit(cache=True, nogil=True)
def heights(arity, start, size):
    """For each tree, how many nodes wait for their parents at most, as nodes come one by one."""
    out = np.zeros(start.size, np.int64)
    for t in range(start.size):
        waiting = 0
        for v in range(start[t], start[t] + size[t]):
            out[t] = max(out[t], waiting + 1)
            waiting += 1 - arity[v]
    return out


@njit(cache=True, nogil=True)
def rows(kind, X, Y, at, first, last, by_label, decay, span, room, total, nodes):
    """Add C(v, w) over the nodes v from ``first`` to ``last`` of a tree, and all w of another.

    The sum of each v is put into ``nodes``, if that has room for it.
    """
    a, _, b, q = at
    table, row, S, low, high, stack = room
    order = Y.by_label if by_label else Y.by_production
    zero, one, factor = like(total, 0.0 * decay), like(total, 0.0 * decay + 1.0), like(total, decay)
    step = like(total, span + 0.0 * decay)
    if first == 0:
        stack[0] = 0
    everything = get(total, 0)
    for v in range(first, last):
        if kind == 2:
            found = _elastic(X, a, v, Y, b, q, factor, zero, one, table, row, S, stack)
        else:
            found = zero
            for t in range(low[v], high[v]):
                w = order[b + t]
                if kind == 0:
                    value = _subset(X, a, v, Y, b, w, factor, zero, one, table)
                else:
                    value = _matched(X, a, v, -1, Y, b, w, step, zero, one, table, S)
                    value = times(factor, value)
                put(table, (v, w), value)
                found = plus(found, value)
        everything = plus(everything, found)
        if nodes[0].size:
            put(nodes, v, found)
    put(total, 0, everything)


@njit(cache=True, nogil=True)
def _subset(X, a, v, Y, b, w, decay, zero, one, table):
    """decay * prod over children of (1 + value), where productions are the same; 0 for leaves."""
    first, count = X.first[a + v], X.arity[a + v]
    if count == 0:
        return zero
    other = Y.first[b + w]
    value = decay
    for k in range(count):
        below = get(table, (X.children[first + k], Y.children[other + k]))
        value = times(value, plus(one, below))
    return value


@njit(cache=True, nogil=True)
def _matched(X, a, v, slot, Y, b, w, span, zero, one, table, S):
    """span^2 + the sum over common subsequences of children, of the product of their values.

    Each child from the first to the last of a subsequence costs span, in either tree. S[l] holds
    the sum over those that end before child l of w, discounted by the distance. From ``slot`` on
    the table has the rows of the children of v; if it is -1, each has the row of its own number.
    """
    x, m = X.first[a + v], X.arity[a + v]
    y, n = Y.first[b + w], Y.arity[b + w]
    square = times(span, span)
    total = square
    if m == 0 or n == 0:
        return total
    for l in range(n + 1):
        put(S, l, zero)
    for k in range(m):
        child = X.children[x + k] if slot < 0 else slot + k
        run, before = zero, get(S, 0)
        for l in range(n):
            match = get(table, (child, Y.children[y + l]))
            new = times(times(match, square), plus(one, before))
            total = plus(total, new)
            run = plus(times(run, span), new)
            before = get(S, l + 1)
            put(S, l + 1, plus(times(before, span), run))
    return total


@njit(cache=True, nogil=True)
def _elastic(X, a, v, Y, b, q, decay, zero, one, table, row, S, stack):
    """The row of a node v for elastic matching, where descendants count as children do.

    Children come right before their parent, so the nodes that wait for theirs are a stack, and the
    table has a row for each of them only: the sums over all nodes below v and below w. ``row``
    holds those over the nodes below w alone, for this v.
    """
    m = X.arity[a + v]
    slot = stack[0] - m
    found = zero
    for w in range(q):
        y, n = Y.first[b + w], Y.arity[b + w]
        below = zero
        if X.label[a + v] == Y.label[b + w]:
            below = times(decay, _matched(X, a, v, slot, Y, b, w, one, zero, one, table, S))
            found = plus(found, below)
        for l in range(n):
            below = plus(below, get(row, Y.children[y + l]))
        put(row, w, below)
    for w in range(q):
        below = get(row, w)
        for k in range(m):
            below = plus(below, get(table, (slot + k, w)))
        put(table, (slot, w), below)
    stack[0] = slot + 1
    return found
