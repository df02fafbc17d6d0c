"""Compiled sweeps of dual coordinate descent, and products with features."""

from __future__ import annotations

import numpy as np

from .._compiled import intrinsic, njit

_FAST = {"nsz", "reassoc", "contract", "arcp"}

# What is known of a variable is a row of eight numbers, one line of the processor's cache:
# variables are visited in random order, and each array more would be one more wait for memory.
TARGET, LOWER, UPPER, RIDGE, SQUARE, BETA, START, STOP = range(8)
# What a sweep carries along and finds.
TOTAL, LEVEL, WORST, GAP, LINEAR = range(5)
_AHEAD = 3  # visits: memory is asked for what the next but so many need
_LINE = 64  # bytes that come at once
_LINES = 128  # of a row of features that are asked for: what follows comes by itself


@intrinsic
def _fetch(typing, array, index):
    """Prefetch the cache line of an element of a contiguous array."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils

    def generate(context, builder, signature, args):
        data = context.make_array(array)(context, builder, args[0]).data
        byte, flag = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        place = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(function, [place, flag(0), flag(3), flag(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@njit(cache=True, nogil=True, inline="always")
def fetch_row(numbers, i, width):
    """Ask for the beginning of row i of a matrix, whose numbers are given as one vector."""
    step = _LINE // numbers.itemsize
    for c in range(i * width, i * width + min(width, _LINES * step), step):
        _fetch(numbers, c)


@njit(cache=True, nogil=True, inline="always")
def excess(g, b, low, high, epsilon, ridge):
    """By how much b falls short of the best value for a slope g: a term of the duality gap.

    max_s (-g s - epsilon |s| - ridge s^2 / 2) over low <= s <= high, less the same at b.
    """
    best = 0.0
    if ridge > 0:
        if g < -epsilon:
            best = (-g - epsilon) / ridge
        elif g > epsilon:
            best = (epsilon - g) / ridge
    elif g < -epsilon:
        best = high
    elif g > epsilon:
        best = low
    best = min(max(best, low), high)
    return g * (b - best) + epsilon * (abs(b) - abs(best)) + 0.5 * ridge * (b - best) * (b + best)


@njit(cache=True, nogil=True, inline="always")
def _visit(row, g, epsilon, penalty, threshold, state):
    """The step of one variable with the slope g; its change, and whether it stays in view."""
    b, low, high, ridge = row[BETA], row[LOWER], row[UPPER], row[RIDGE]
    state[GAP] += excess(g, b, low, high, epsilon, ridge)
    g += ridge * b
    left = g + (epsilon if b > 0 else -epsilon)  # slopes of the objective to either side
    right = g + (epsilon if b >= 0 else -epsilon)
    if (b <= low or left < -threshold) and (b >= high or right > threshold):
        return 0.0, False
    if b < high:
        state[WORST] = max(state[WORST], -right)
    if b > low:
        state[WORST] = max(state[WORST], left)
    curvature = row[SQUARE] + penalty + ridge
    if curvature <= 0:  # a sample without features: the best value is at an end
        trial = low if left > 0 else (high if right < 0 else b)
    else:
        trial = b - (g + epsilon) / curvature
        if trial < 0:
            trial = min(0.0, b - (g - epsilon) / curvature)
    trial = min(max(trial, low), high)
    row[BETA] = trial
    state[TOTAL] += trial - b
    state[LINEAR] += (trial - b) * (row[TARGET] - 0.5 * ridge * (trial + b))
    state[LINEAR] -= epsilon * (abs(trial) - abs(b))
    return trial - b, True


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_dense(phi, order, table, epsilon, penalty, threshold, w, state):
    """Visit variables in this order; ``order`` then begins with those that stay in view.

    Returns their number. The values in ``table``, w and ``state`` change.
    """
    kept, width = 0, w.size
    numbers = phi.reshape(phi.size)
    for k in range(order.size):
        if k + 2 < order.size:
            _fetch(table, 8 * order[k + 2])
        if k + 1 < order.size:
            fetch_row(numbers, order[k + 1], width)
        i = order[k]
        features, row = phi[i], table[i]
        g = state[LEVEL] + penalty * state[TOTAL] - row[TARGET]
        for c in range(width):
            g += features[c] * w[c]
        change, seen = _visit(row, g, epsilon, penalty, threshold, state)
        if seen:
            order[kept] = i
            kept += 1
        if change != 0:
            for c in range(width):
                w[c] += change * features[c]
    return kept


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_sparse(data, indices, order, table, epsilon, penalty, threshold, w, state):
    """As :func:`sweep_dense`, for rows of a CSR matrix with unsigned indices."""
    kept, step = 0, _LINE // data.itemsize
    for k in range(order.size):
        if k + 2 * _AHEAD < order.size:
            _fetch(table, 8 * order[k + 2 * _AHEAD])
        if k + _AHEAD < order.size:
            after = table[order[k + _AHEAD]]
            for c in range(np.int64(after[START]), np.int64(after[STOP]), step):
                _fetch(data, c)
                _fetch(indices, c)
        i = order[k]
        row = table[i]
        start, stop = np.int64(row[START]), np.int64(row[STOP])
        values, columns = data[start:stop], indices[start:stop]
        g = state[LEVEL] + penalty * state[TOTAL] - row[TARGET]
        for c in range(values.size):
            g += values[c] * w[columns[c]]
        change, seen = _visit(row, g, epsilon, penalty, threshold, state)
        if seen:
            order[kept] = i
            kept += 1
        if change != 0:
            for c in range(values.size):
                w[columns[c]] += change * values[c]
    return kept


@njit(cache=True, nogil=True)
def gap_terms(g, beta, lower, upper, epsilon, ridge):
    """The sum of :func:`excess` over all variables."""
    total = 0.0
    for i in range(g.size):
        total += excess(g[i], beta[i], lower[i], upper[i], epsilon, ridge[i])
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def squares_dense(phi, out, start, stop):
    """Squared lengths of the rows phi[start:stop] in double precision."""
    for i in range(start, stop):
        features = phi[i]
        total = 0.0
        for c in range(features.size):
            total += np.float64(features[c]) * features[c]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=_FAST)
def squares_sparse(data, indptr, out, start, stop):
    """Squared lengths of rows of a CSR matrix."""
    for i in range(start, stop):
        total = 0.0
        for c in range(indptr[i], indptr[i + 1]):
            total += np.float64(data[c]) * data[c]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores_dense(phi, w, out, start, stop):
    """out[start:stop] = phi[start:stop] @ w in double precision."""
    for i in range(start, stop):
        features = phi[i]
        total = 0.0
        for c in range(w.size):
            total += features[c] * w[c]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=_FAST)
def scores_sparse(data, indices, indptr, w, out, start, stop):
    """out[start:stop] = phi[start:stop] @ w for a CSR matrix."""
    for i in range(start, stop):
        total = 0.0
        for c in range(indptr[i], indptr[i + 1]):
            total += data[c] * w[indices[c]]
        out[i] = total


@njit(cache=True, nogil=True, fastmath=_FAST)
def combine_dense(phi, beta, out, start, stop):
    """out += phi[start:stop]' @ beta[start:stop] in double precision."""
    for i in range(start, stop):
        b = beta[i]
        if b != 0:
            features = phi[i]
            for c in range(out.size):
                out[c] += b * features[c]


@njit(cache=True, nogil=True, fastmath=_FAST)
def combine_sparse(data, indices, indptr, beta, out, start, stop):
    """out += phi[start:stop]' @ beta[start:stop] for a CSR matrix."""
    for i in range(start, stop):
        b = beta[i]
        if b != 0:
            for c in range(indptr[i], indptr[i + 1]):
                out[indices[c]] += b * data[c]
