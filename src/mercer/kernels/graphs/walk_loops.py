"""Compiled loops of kernels that sum over walks; all release the interpreter lock.

Walks on two graphs at once are walks on their product, whose nodes are pairs of nodes with
something in common. The product is never formed: of a vector x over pairs (v, v'), the sum over all
steps is taken along the arcs of one graph first, and then along those of the other.
"""

from __future__ import annotations

import numpy as np

from ..._compiled import njit

P, Q, TURN, ROOT, U = range(5)  # rows of what is known of nodes
START, SIZE, ONE_WAY = range(3)  # and of graphs
_SUMS = {"reassoc", "nsz", "contract"}  # sums may be added up in any order
_FEW = 1e-16  # of a sum: what is left out of it


@njit(cache=True, nogil=True)
def _step(G, a, b, scale, x, y):
    """y[v] = scale * sum over arcs v -> w of |weight| x[w], for the nodes of a graph."""
    for v in range(a, b):
        total = 0.0
        for k in range(G.indptr[v], G.indptr[v + 1]):
            total += G.bounds[k] * x[G.indices[k]]
        y[v] = scale * total


@njit(cache=True, nogil=True)
def _copy(x, y, a, b):
    for v in range(a, b):
        y[v] = x[v]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _inner(x, y, n):
    total = 0.0
    for k in range(n):
        total += x[k] * y[k]
    return total


@njit(cache=True, nogil=True)
def moments(G, start, size, radius, u, scale, exponential, k, room, norm, phi, count):
    """phi[g, l] = sqrt(c_(k + l)) 1' A^(k + l) 1, until the rest is nothing but rounding.

    ``room`` holds the vectors that were reached in k steps, and place for others; ``count`` is how
    many terms there are, and one more than there is place for if that does not suffice.
    """
    x, y = room
    for g in range(start.size):
        a, b = start[g], start[g] + size[g]
        total = 0.0
        for v in range(a, b):
            total += u[v]
        count[g] = phi.shape[1] + 1
        for l in range(phi.shape[1]):
            value, rest = 0.0, 0.0
            for v in range(a, b):
                value += x[v]
                rest = max(rest, x[v] / u[v])
            phi[g, l] = value
            norm[g] += value * value
            factor = scale / np.sqrt(k + l + 1.0) if exponential else scale
            h = factor * radius[g]
            enough = _FEW * np.sqrt(norm[g])
            if value == 0.0 or (h < 1.0 and rest * total * h <= (1.0 - h) * enough):
                count[g] = l + 1
                break
            _step(G, a, b, factor, x, y)
            _copy(y, x, a, b)


# ---- pairs of graphs ---------------------------------------------------------------------------
@njit(cache=True, nogil=True)
def pairs(
    series, slopes, X, Y, i, j, values, places, table, rule, state, ranges, V, scalars, out, most
):
    """Fill in values of pairs of graphs, up to ``most`` operations, and slopes unless it is None.

    ``state`` holds the pair that is next, how many iterations are done for it, whether it is in a
    second round, for its slope, and whether the system is symmetric and has signs; the next call
    goes on there. Returns whether all pairs are done. A pair that does not come to an end has the
    value NaN. (``series`` is None if all systems are known to be symmetric; what is None is not
    even compiled.)
    """
    done = 0
    while state[0] < i.size:
        t, g, h = state[0], i[state[0]], j[state[0]]
        a, p, b, q = X.graphs[START, g], X.graphs[SIZE, g], Y.graphs[START, h], Y.graphs[SIZE, h]
        at = (a, p, b, q)
        gain = rule.decay * X.radius[g] * Y.radius[h]
        arcs = X.indptr[a + p] - X.indptr[a] + Y.indptr[b + q] - Y.indptr[b]
        if state[1] == 0:
            symmetric = not (rule.series or X.graphs[ONE_WAY, g] or Y.graphs[ONE_WAY, h])
            _begin(X, Y, at, values, places[t], symmetric, state, ranges, V, scalars)
        n = ranges[2][p]
        finished = n == 0
        while not finished and done <= most:
            if series is not None and not state[3]:
                finished = _advance(X, Y, at, table, rule, gain, state, ranges, V, scalars)
            else:
                quick = rule.even and slopes is None
                finished = _conjugate(X, Y, at, table, rule, gain, quick, state, ranges, V, scalars)
            done += 20 * n + arcs * (n // max(p, q) + 1)
        if not finished:
            return False
        done += p + q
        if state[2] == 0:
            out[t] = scalars[2] if n else 0.0
        again = False
        if slopes is not None and n > 0:
            again = _finish(X, Y, at, t, rule, state, ranges, V, scalars, slopes)
        state[1], state[2] = 0, again
        state[0] += not again
    return True


@njit(cache=True, nogil=True)
def _begin(X, Y, at, values, place, symmetric, state, ranges, V, scalars):
    """Find the pairs of nodes that match, and write down the system.

    Of a node of one graph, partners in the other are those of the same label, which stand in one
    row. V has a row for each vector: where walks start, the solution, the residual (or the walks
    of a length), directions, two for steps, and factors of a step to the left and to the right.
    """
    a, p, b, q = at
    lo, hi, off = ranges
    s, n = 0, 0
    for v in range(p):
        while s < q and Y.labels[b + s] < X.labels[a + v]:
            s += 1
        t = s
        while t < q and Y.labels[b + t] == X.labels[a + v]:
            t += 1
        lo[v], hi[v], off[v] = s, t, n - s
        n += t - s
    off[p] = n
    signed = False
    for v in range(p):
        for c in range(lo[v], hi[v]):
            V[6, off[v] + c] = values[place + v * q + c] if values.size else 1.0
            signed |= V[6, off[v] + c] < 0.0
    if state[2] == 0:
        state[3], state[4] = symmetric and not signed, signed
    for v in range(p):
        for c in range(lo[v], hi[v]):
            k = off[v] + c
            V[7, k] = 1.0 if signed else np.sqrt(V[6, k])
            V[6, k] = V[6, k] if signed else V[7, k]
            V[0, k] = V[7, k] * X.nodes[P, a + v] * Y.nodes[P, b + c]
            V[2, k] = V[6, k] * X.nodes[Q, a + v] * Y.nodes[Q, b + c]
            if state[2] and state[3]:
                V[8, k], V[2, k] = V[1, k], V[0, k]
            elif state[2]:
                V[2, k] *= X.nodes[TURN, a + v] + Y.nodes[TURN, b + c]
            V[1, k], V[3, k] = 0.0, V[2, k]
    scalars[0] = _inner(V[2], V[2], n)
    scalars[1] = _inner(V[0], V[0], n)
    scalars[2], scalars[3] = 0.0, 0.0


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _apply(X, Y, at, table, ranges, V, source):
    """V[5] = left * (sum over steps in both graphs of right * x), for x in another row of V."""
    a, p, b, q = at
    lo, hi, off = ranges
    z, y, row = V[4], V[5], V[9]
    for k in range(off[p]):
        z[k] = V[7, k] * V[source, k]
        y[k] = 0.0
    for v in range(p):
        k, end = X.indptr[a + v], X.indptr[a + v + 1]
        here = y[off[v] + lo[v] : off[v] + hi[v]]
        while k < end and here.size:
            mark = X.marks[k]
            for c in range(q):
                row[c] = 0.0
            while k < end and X.marks[k] == mark:
                w, weight = X.indices[k] - a, X.weights[k]
                there = row[lo[w] : hi[w]]
                walks = z[off[w] + lo[w] : off[w] + hi[w]]
                for c in range(walks.size):
                    there[c] += weight * walks[c]
                k += 1
            l = Y.indptr[b + lo[v]]
            for c in range(here.size):
                total, last = 0.0, Y.indptr[b + lo[v] + c + 1]
                while l < last:
                    if table.size:
                        total += table[mark, Y.marks[l]] * Y.weights[l] * row[Y.indices[l] - b]
                    elif Y.marks[l] == mark:
                        total += Y.weights[l] * row[Y.indices[l] - b]
                    l += 1
                here[c] += total
    for k in range(off[p]):
        y[k] *= V[6, k]


@njit(cache=True, nogil=True, fastmath=_SUMS)
def _conjugate(X, Y, at, table, rule, gain, quick, state, ranges, V, scalars):
    """One iteration of conjugate gradients for (I - decay S) x = b; is it done?

    No eigenvalue of the matrix is below 1 - gain, so that the error of x is at most |r| / (1 -
    gain), and that of b'x, from below, at most |r|^2 / (1 - gain).
    """
    n = ranges[2][at[1]]
    _apply(X, Y, at, table, ranges, V, 3)
    curved = 0.0
    for k in range(n):
        V[5, k] = V[3, k] - rule.decay * V[5, k]
        curved += V[3, k] * V[5, k]
    before = scalars[0]
    alpha = before / curved if curved > 0.0 else 0.0
    after, value = 0.0, 0.0
    for k in range(n):
        V[1, k] += alpha * V[3, k]
        V[2, k] -= alpha * V[5, k]
        after += V[2, k] * V[2, k]
        value += V[0, k] * V[1, k]
    for k in range(n):
        V[3, k] = V[2, k] + (after / before if before > 0.0 else 0.0) * V[3, k]
    scalars[0], scalars[2] = after, value
    state[1] += 1
    room = 1.0 - gain
    if quick:
        settled = after <= 1e-15 * room * value
    else:
        settled = np.sqrt(after * scalars[1]) <= (1e-13 * room + 1e-15) * abs(value)
    if not settled and state[1] > 1000 + 100 / np.sqrt(room):
        scalars[2] = np.nan
        return True
    return settled or after == 0.0


@njit(cache=True, nogil=True)
def _advance(X, Y, at, table, rule, gain, state, ranges, V, scalars):
    """The walks of one more step; is what is left of the sum negligible?

    Weighted by u, walks shrink from step to step by the factor h at least.
    """
    a, p, b, q = at
    lo, hi, off = ranges
    k, n = state[1], off[p]
    term = _inner(V[0], V[3], n)
    scalars[2] += term
    scalars[3] += k * term
    state[1] = k + 1
    if k == rule.steps:
        return True
    factor = rule.decay / (k + 1.0) if rule.exponential else rule.decay
    h = gain / (k + 1.0) if rule.exponential else gain
    if h < 1.0:
        largest, one, other = 0.0, 0.0, 0.0
        for v in range(p):
            row = 0.0
            for c in range(lo[v], hi[v]):
                weight = Y.nodes[U, b + c] * (Y.nodes[ROOT, b + c] if state[4] else 1.0)
                row = max(row, abs(V[3, off[v] + c]) / weight) if weight > 0.0 else row
            weight = X.nodes[U, a + v] * (X.nodes[ROOT, a + v] if state[4] else 1.0)
            largest = max(largest, row / weight) if weight > 0.0 else largest
            one += X.nodes[P, a + v] * X.nodes[ROOT, a + v] * X.nodes[U, a + v]
        for c in range(q):
            other += Y.nodes[P, b + c] * Y.nodes[ROOT, b + c] * Y.nodes[U, b + c]
        rest = largest * one * other * h / (1.0 - h) * (k + 1.0 / (1.0 - h))
        if rest <= _FEW * max(abs(scalars[2]), scalars[1]):
            return True
    if k > 1000000:
        scalars[2] = np.nan
        return True
    _apply(X, Y, at, table, ranges, V, 3)
    largest = 0.0
    for l in range(n):
        V[3, l] = factor * V[5, l]
        largest = max(largest, abs(V[3, l]))
    if not largest < 1e300:
        scalars[2] = np.inf
        return True
    return False


@njit(cache=True, nogil=True)
def _finish(X, Y, at, t, rule, state, ranges, V, scalars, slopes):
    """Write down the slope; is a second system needed for it?

    With k = a'x and (I - decay S) x = b, the slope is turn a'z + a'w, where z and w solve the
    system with decay S x = x - b and db on the right. Where it is symmetric, the solution with a
    on the right serves for both.
    """
    a, p, b, _ = at
    lo, hi, off = ranges
    if state[2] == 0:
        slopes[t] = rule.turn * scalars[3]
        if not (state[3] and rule.even):
            return state[3] == 1 or not rule.even
    elif not state[3]:
        slopes[t] += scalars[2]
        return False
    solved = V[1] if rule.even else V[8]
    slopes[t] = 0.0
    for v in range(p):
        for c in range(lo[v], hi[v]):
            k = off[v] + c
            right = V[6, k] * X.nodes[Q, a + v] * Y.nodes[Q, b + c]
            moved = X.nodes[TURN, a + v] + Y.nodes[TURN, b + c]
            slopes[t] += V[1, k] * (rule.turn * (solved[k] - right) + moved * right)
    return False
