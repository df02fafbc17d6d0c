"""Small problems with a Gaussian kernel, from rows to solution in one compiled call.

A multiclass problem has hundreds of small two-class problems, each of which needs few kernel rows
and few steps: what costs there is going back and forth between Python and compiled code.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from .smo_loops import BIG, slopes, take_steps

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
_AT_ONCE = 32  # rows at least that are computed together
_SHARE = 0.3  # of the violation to which steps go on before more rows are computed
_BISECTIONS = 12


@njit(cache=True, nogil=True)
def solve_small(
    left, right, runs, rows, slot, owner, used, diagonal, g, beta, lower, upper, epsilon, groups,
    n_groups, tol, limit,
):  # fmt: skip
    """Two-variable steps with K = exp(left @ right') until the violation is below tol.

    Parameters
    ----------
    left, right : arrays
        Factors of the exponent, of all samples.
    runs : array of shape (r, 2)
        The samples of this problem: start and end of runs of them.
    rows : array
        Where kernel rows are kept.
    slot, owner : arrays
        Row of each variable, variable of each row; -1 if none.
    used : int
        How many rows are there already.

    Returns
    -------
    steps, rows used, fall of the objective.
    """
    n = beta.size
    rise, fall = np.empty(n), np.empty(n)
    sample = np.empty(n, np.int64)
    k = 0
    for r in range(runs.shape[0]):
        for s in range(runs[r, 0], runs[r, 1]):
            sample[k] = s
            k += 1
    steps, gained = 0, 0.0
    new = np.empty(rows.shape[0], np.int64)
    while True:
        slopes(g, beta, lower, upper, epsilon, rise, fall)
        violation, count = 0.0, 0
        room = min(max(_AT_ONCE, used // 4), rows.shape[0] - used)
        for t in range(n_groups):
            low, high = BIG, -BIG
            for k in range(n):
                if groups[k] == t:
                    low, high = min(low, rise[k]), max(high, fall[k])
            violation = max(violation, high - low)
            for side, sign, bound in ((rise, 1.0, high), (fall, -1.0, -low)):
                share = min(max(1, room // (2 * n_groups)), room - count)
                count = _pick(side, sign, bound, slot, groups, t, share, new, count)
        if violation < tol or steps >= limit:
            return steps, used, gained
        if count:
            _rows(left, right, runs, sample, new[:count], rows, used)
            for r in range(count):
                owner[used + r], slot[new[r]] = new[r], used + r
            used += count
        goal = max(tol, _SHARE * violation) if count else tol
        taken, gain = take_steps(
            rows, slot, diagonal, g, beta, lower, upper, epsilon, groups, n_groups, goal,
            limit - steps,
        )  # fmt: skip
        steps += taken
        gained += gain
        if taken == 0 and count == 0:
            return steps, used, gained


@njit(cache=True, nogil=True, fastmath=_FAST)
def _pick(slope, sign, bound, slot, groups, group, share, new, count):
    """Append the variables without a row whose sign * slope is lowest, and below ``bound``."""
    n, lowest, among = slope.size, BIG, 0
    for k in range(n):
        if slot[k] == -1 and groups[k] == group and sign * slope[k] < bound:
            lowest = min(lowest, sign * slope[k])
            among += 1
    below, above = lowest, bound  # as many as wanted lie between the lowest and these two
    if among > share:
        for _ in range(_BISECTIONS):
            middle = (below + above) / 2
            inside = 0
            for k in range(n):
                inside += slot[k] == -1 and groups[k] == group and sign * slope[k] < middle
            if inside > share:
                above = middle
            else:
                below = middle
    else:
        below = bound
    last = count + share
    for k in range(n):
        if slot[k] == -1 and groups[k] == group and sign * slope[k] < below:
            new[count] = k
            slot[k] = -2
            count += 1
    stride = max(1, among // max(share, 1))
    for start in range(stride):  # those about as low, from all over the data
        for k in range(start, n, stride):
            if count < last and slot[k] == -1 and groups[k] == group and sign * slope[k] < above:
                new[count] = k
                slot[k] = -2
                count += 1
    return count


@njit(cache=True, nogil=True, fastmath=_FAST)
def _rows(left, right, runs, sample, new, rows, used):
    """rows[used:] = the kernel rows of these variables."""
    some = np.empty((new.size, left.shape[1]), left.dtype)
    for r in range(new.size):
        some[r] = left[sample[new[r]]]
    start = 0
    for r in range(runs.shape[0]):
        width = runs[r, 1] - runs[r, 0]
        exponent = np.dot(some, right[runs[r, 0] : runs[r, 1]].T)
        for a in range(new.size):
            _exp(exponent[a], rows[used + a, start : start + width])
        start += width


@intrinsic
def _float_of_bits(typing, bits):
    def generate(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return (types.float32(bits), generate) if bits == types.int32 else None


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz", "contract"})
def _exp(x, out):
    """exp of numbers <= 0 in single precision.

    2^n times a polynomial of what is left, which lies between -log(2)/2 and log(2)/2.
    """
    real = np.float32
    for k in range(x.size):
        v = max(x[k], real(-87.0))
        n = np.int32(v * real(1.44269504) - real(0.5))
        r = v - real(n) * real(0.693359375) + real(n) * real(2.12194440e-4)
        p = real(1.0 / 5040.0)
        p = p * r + real(1.0 / 720.0)
        p = p * r + real(1.0 / 120.0)
        p = p * r + real(1.0 / 24.0)
        p = p * r + real(1.0 / 6.0)
        p = p * r + real(0.5)
        p = p * r + real(1.0)
        p = p * r + real(1.0)
        out[k] = p * _float_of_bits(np.int32((n + np.int32(127)) << np.int32(23)))
