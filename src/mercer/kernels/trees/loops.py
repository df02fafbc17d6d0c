"""Compiled loops of tree kernels; all release the interpreter lock and run on our own pool.

The value of a kernel on two trees is a sum over pairs of nodes. Only pairs with the same code are
visited (the same production, or the same label): the nodes of each tree are sorted by code, so
that partners are neighbours. Children come before parents, so a table of values fills up in order.
The recursions are written for plain and for wide numbers alike (``wide.py``).
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit
from ...mixing import mixed
from ..pairs.wide import get, like, plus, put, times


@njit(cache=True, nogil=True)
def node_codes(label, first, count, children, origin):
    """Codes of every node, and how many nodes below and including it have children.

    The first code is that of (label, labels of the children), where leaves have one of their own;
    the second is that of the whole tree below.
    """
    production, complete = np.empty(label.size, np.int64), np.empty(label.size, np.int64)
    internal = np.empty(label.size, np.int64)
    for v in range(label.size):
        y = z = mixed(np.uint64(label[v]) ^ mixed(np.uint64(count[v])))
        internal[v] = count[v] > 0
        for k in range(first[v], first[v] + count[v]):
            w = origin[v] + children[k]
            y = mixed(y ^ np.uint64(label[w]))
            z = mixed(z ^ np.uint64(complete[w]))
            internal[v] += internal[w]
        production[v] = np.int64(y >> np.uint64(2))
        complete[v] = np.int64(z >> np.uint64(7))
    return production, complete, internal


@njit(cache=True, nogil=True)
def _partners(codes_x, order_x, codes_y, low, high):
    """For every node of a tree, where its partners are among the sorted nodes of another."""
    s, n = 0, codes_y.size
    for r in range(order_x.size):
        code = codes_x[r]
        while s < n and codes_y[s] < code:
            s += 1
        t = s
        while t < n and codes_y[t] == code:
            t += 1
        low[order_x[r]], high[order_x[r]] = s, t


@njit(cache=True, nogil=True)
def pairs(
    subset, elastic, X, start_x, size_x, Y, start_y, size_y, i, j, decay, span, alike, room, out
):  # fmt: skip
    """Fill in the kernel values of pairs of trees, given by their numbers.

    By ``subset`` trees or by ``elastic`` matching, unless they are None; if both are, by partial
    trees and rigid matching. (What is None is not even compiled.) The values are polynomials in
    decay, span and the numbers of ``alike``: if these are complex, ``out`` is complex.
    """
    total, nodes = np.empty(1, out.dtype), out[:0]
    for t in range(i.size):
        at = start_x[i[t]], size_x[i[t]], start_y[j[t]], size_y[j[t]]
        total[0] = 0.0
        begin(X, Y, at, alike, room)
        add(subset, elastic, X, Y, at, decay, span, alike, room, (total,), (nodes,), 2**62)
        if elastic is None:  # which overwrites all that it looks at
            end(Y, at, room)
        out[t] = total[0]


@njit(cache=True, nogil=True)
def begin(X, Y, at, alike, room):
    """Find the partners of all nodes of a tree in another; all, if labels may be ``alike``."""
    a, p, b, q = at
    low, high, state = room[4], room[5], room[6]
    if alike is None:
        _partners(X.codes[a : a + p], X.order[a : a + p], Y.codes[b : b + q], low, high)
    else:
        for v in range(p):
            low[v], high[v] = 0, q
    state[0], state[1], state[2], state[3] = 0, -1, 0, 0


@njit(cache=True, nogil=True)
def end(Y, at, room):
    """Put the table back to zeros."""
    _, p, b, _ = at
    table, low, high = room[0], room[4], room[5]
    for v in range(p):
        for t in range(low[v], high[v]):
            table[0][v, Y.order[b + t]] = 0.0


@njit(cache=True, nogil=True, inline="always")
def _alike(alike, label, other):
    """How much two labels are alike: as a table says of those it holds, numbered -1, -2, ..."""
    table, same, different = alike
    if label < 0 and other < 0:
        return table[-1 - label, -1 - other]
    return same if label == other else different


@njit(cache=True, nogil=True)
def add(subset, elastic, X, Y, at, decay, span, alike, room, total, nodes, most):
    """Add C(v, w) over the nodes v of a tree and w of another, up to ``most`` steps; is that all?

    The next call goes on where this one stops: ``state`` holds the node v, which of its partners
    is next, the child of v, and how many nodes wait for their parents (see :func:`_gather`); in
    ``partial`` are the sum of v and that of its partner, so far. The sum of each v is put into
    ``nodes``, if that has room for it. Unless ``alike`` is None, every C(v, w) is multiplied by how
    much the labels of v and w are alike; otherwise only equal ones count.
    """
    a, p, b, q = at
    table, row, S, partial, low, high, state = room
    zero, one, factor = like(total, 0.0 * decay), like(total, 0.0 * decay + 1.0), like(total, decay)
    step = like(total, span + 0.0 * decay)
    v, t, k = state[0], state[1], state[2]
    everything, found, inside = get(total, 0), get(partial, 0), get(partial, 1)
    done, limit = 0, 2 * q
    while v < p and done <= most:
        m, label = X.arity[a + v], X.label[a + v]
        slot = state[3] - m
        if t < 0:
            t, found = 0, zero
            if elastic is None:
                t = low[v]
        if subset is not None:
            for place in range(t, high[v] if m > 0 else t):  # leaves have no fragments
                w = Y.order[b + place]
                value = _subset(X, a, v, Y, b, w, factor, one, table)
                put(table, (v, w), value)
                found = plus(found, value)
            done += m * (1 + high[v] - low[v])
            t = limit = high[v]
        elif elastic is None:
            limit = high[v]
            while t < limit and done <= most:
                w, weight = Y.order[b + t], factor
                if alike is not None:
                    likeness = _alike(alike, label, Y.label[b + w])
                    if likeness == 0.0:
                        t, done = t + 1, done + 1
                        continue
                    weight = times(factor, like(total, likeness))
                stop = _reach(m, Y.arity[b + w], k, most)
                inside = _matched(X, a, v, -1, k, stop, Y, b, w, step, zero, one, table, S, inside)
                done += 1 + (stop - k) * Y.arity[b + w]
                k = stop
                if k == m:
                    value = times(weight, inside)
                    put(table, (v, w), value)
                    found = plus(found, value)
                    k, t = 0, t + 1
        else:
            for w in range(t, q):
                y, n, below = Y.first[b + w], Y.arity[b + w], zero
                visited, weight = label == Y.label[b + w], factor
                if alike is not None:
                    likeness = _alike(alike, label, Y.label[b + w])
                    visited, weight = likeness != 0.0, times(factor, like(total, likeness))
                if visited:
                    stop = _reach(m, n, k, most)
                    inside = _matched(
                        X, a, v, slot, k, stop, Y, b, w, step, zero, one, table, S, inside
                    )
                    done += (stop - k) * n
                    k = stop
                    if k < m:
                        break
                    k, below = 0, times(weight, inside)
                    found = plus(found, below)
                for l in range(n):
                    below = plus(below, get(row, Y.children[y + l]))
                put(row, w, below)
                t = w + 1
                if done > most:
                    break
            if t >= q:
                stop = min(q, t - q + 1 + max(most - done, 0) // (m + 1))
                _gather(t - q, stop, m, slot, table, row)
                done += (stop - (t - q)) * (m + 1)
                t = q + stop
        if t < limit:
            break
        everything = plus(everything, found)
        if nodes[0].size:
            put(nodes, v, found)
        state[3] = slot + 1
        v, t, done = v + 1, -1, done + 1
    state[0], state[1], state[2] = v, t, k
    put(partial, 0, found)
    put(partial, 1, inside)
    put(total, 0, everything)
    return v == p


@njit(cache=True, nogil=True, inline="always")
def _reach(m, n, k, most):
    """Up to which of m children, beginning with child k, about ``most`` steps of n each lead."""
    return m if m * n <= most else min(m, k + 1 + most // n)


@njit(cache=True, nogil=True, inline="always")
def _subset(X, a, v, Y, b, w, decay, one, table):
    """decay * prod over children of (1 + value), where productions are the same."""
    first, other, value = X.first[a + v], Y.first[b + w], decay
    for k in range(X.arity[a + v]):
        below = get(table, (X.children[first + k], Y.children[other + k]))
        value = times(value, plus(one, below))
    return value


@njit(cache=True, nogil=True, inline="always")
def _matched(X, a, v, slot, start, stop, Y, b, w, span, zero, one, table, S, total):
    """span^2 + the sum over common subsequences of children, of the product of their values.

    Each child from the first to the last of a subsequence costs span, in either tree. S[l] holds
    the sum over those that end before child l of w, discounted by the distance. From ``slot`` on
    the table has the rows of the children of v; if it is -1, each has the row of its own number.
    Children of v from ``start`` to ``stop`` are added to the ``total`` of those before.
    """
    x, y, n = X.first[a + v], Y.first[b + w], Y.arity[b + w]
    square = times(span, span)
    if start == 0:
        total = square
        for l in range(n + 1):
            put(S, l, zero)
    for k in range(start, stop if n > 0 else start):
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
def _gather(first, last, m, slot, table, row):
    """For elastic matching, where descendants count as children do: add up what is below v and w.

    Children come right before their parent, so the nodes that wait for theirs are a stack, and the
    table has a row for each of them only: the sums over all nodes below v and below w. ``row``
    holds those over the nodes below w alone, for this v.
    """
    for w in range(first, last):
        below = get(row, w)
        for k in range(m):
            below = plus(below, get(table, (slot + k, w)))
        put(table, (slot, w), below)
