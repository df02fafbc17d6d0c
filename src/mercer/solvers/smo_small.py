"""Small problems with a Gaussian kernel, from rows to solution in one compiled call.

A multiclass problem has hundreds of small two-class problems, each of which needs few kernel rows
and few steps: most of the cost is the calls between Python and compiled code.
"""

from __future__ import annotations

import numpy as np

from .._compiled import njit
from ..gram.exponential import exp_rows
from .smo_loops import BLOCKED, guiding, slopes, steps_guided_by

_FAST = {"nnan", "nsz", "reassoc", "contract", "arcp"}
_AT_ONCE = 32  # rows at least that are computed together
_SHARE = 0.3  # of the violation to which steps go on before more rows are computed
_BISECTIONS = 12


def solve_small(
    left: np.ndarray,
    right: np.ndarray,
    unit: np.float32,
    runs: np.ndarray,
    rows: np.ndarray,
    slot: np.ndarray,
    owner: np.ndarray,
    used: int,
    diagonal: np.ndarray,
    g: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    epsilon: float,
    groups: np.ndarray,
    n_groups: int,
    tol: float,
    limit: int,
) -> tuple[int, int]:
    """Two-variable steps with K = exp(exponents) until the violation is below tol.

    Parameters
    ----------
    left, right : arrays
        Factors of the exponents, of all samples.
    unit : float
        What a bit that differs adds, if factors are words of bits.
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
    steps, rows used.
    """
    with guiding(g, rows, slot, beta, tol) as guide:
        steps, used = _solve(
            guide, left, right, unit, runs, rows, slot, owner, used, diagonal, beta, lower, upper,
            epsilon, groups, n_groups, tol, limit,
        )  # fmt: skip
    return int(steps), int(used)


@njit(cache=True, nogil=True)
def _solve(
    g, left, right, unit, runs, rows, slot, owner, used, diagonal, beta, lower, upper, epsilon,
    groups, n_groups, tol, limit,
):  # fmt: skip
    n = beta.size
    rise, fall = np.empty(n), np.empty(n)
    sample = np.empty(n, np.int64)
    k = 0
    for r in range(runs.shape[0]):
        for s in range(runs[r, 0], runs[r, 1]):
            sample[k] = s
            k += 1
    steps = 0
    new, candidates, values = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    while True:
        low, high = slopes(g, beta, lower, upper, epsilon, rise, fall)
        violation, count = high - low, 0
        room = min(max(_AT_ONCE, used // 4), rows.shape[0] - used)
        for t in range(n_groups):
            if n_groups > 1:
                low, high = BLOCKED, -BLOCKED
                for k in range(n):
                    if groups[k] == t:
                        low, high = min(low, rise[k]), max(high, fall[k])
                violation = high - low if t == 0 else max(violation, high - low)
            for side, sign, bound in ((rise, 1.0, high), (fall, -1.0, -low)):
                share = min(max(1, room // (2 * n_groups)), room - count)
                among = 0
                for k in range(n):
                    candidates[among], values[among] = k, sign * side[k]
                    among += slot[k] == -1 and groups[k] == t and values[among] < bound
                found = _pick(values[:among], candidates[:among], bound, share, new[count:])
                for r in range(count, count + found):
                    slot[new[r]] = -2
                count += found
        if violation < tol or steps >= limit:
            for r in range(count):  # they get their rows another time
                slot[new[r]] = -1
            return steps, used
        if count:
            exp_rows(left, right, unit, runs, sample, new[:count], rows, used)
            for r in range(count):
                owner[used + r], slot[new[r]] = new[r], used + r
            used += count
        goal = max(tol, _SHARE * violation) if count else tol
        taken = steps_guided_by(
            g, rows, slot, diagonal, beta, lower, upper, epsilon, groups, n_groups, goal,
            limit - steps, None,
        )  # fmt: skip
        steps += taken
        if taken == 0 and count == 0:
            return steps, used


@njit(cache=True, nogil=True, fastmath=_FAST)
def _pick(values, candidates, bound, share, chosen):
    """Choose about ``share`` candidates of the lowest values, all below ``bound``; how many."""
    among = values.size
    if among <= share:
        for k in range(among):
            chosen[k] = candidates[k]
        return among
    below, above = values[0], bound  # as many as wanted lie below something between these two
    for k in range(among):
        below = min(below, values[k])
    for _ in range(_BISECTIONS):
        middle = (below + above) / 2
        inside = 0
        for k in range(among):
            inside += values[k] < middle
        if inside > share:
            above = middle
        else:
            below = middle
    count = 0
    for k in range(among):
        if values[k] < below:
            chosen[count] = candidates[k]
            count += 1
    stride = max(1, among // share)
    for start in range(stride):  # those about as low, from all over the data
        for k in range(start, among, stride):
            if count < share and below <= values[k] < above:
                chosen[count] = candidates[k]
                count += 1
    return count
