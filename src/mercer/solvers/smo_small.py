"""Small problems with a Gaussian kernel, from rows to solution in one compiled call.

A multiclass problem has hundreds of small two-class problems, each of which needs few kernel rows
and few steps: what costs there is going back and forth between Python and compiled code.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from .exponential import exp_rows
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
            exp_rows(left, right, runs, sample, new[:count], rows, used)
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
