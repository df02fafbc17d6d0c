"""Small problems with all of K stored: two-variable steps without working sets or caches.

numba takes longer to load than many a small problem to solve. So the first steps of a process are
taken in NumPy, and compiled loops take over if many are needed. Both do the same operations in the
same order: results are the same to the last bit.

Where K is nearly singular, as of hulls that all but meet, steps in two variables take millions to
get anywhere. After ten thousand of them they take turns with Newton steps in all variables between
their bounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from ..engine.lapack import lapack
from .box import BoxProblem, BoxSolution, largest_violation
from .smo_loops import BLOCKED, steps_guided_by

LARGEST = 400  # samples
_FIRST = 10_000  # steps, of which nearly all problems take fewer
_BURST = 2000  # steps between Newton steps, which look at the gradient, too
_MOST = 100_000  # steps
_NEWTON = 20  # Newton steps in a row: each but the last one ends at a bound
_TINY = 1e-12  # curvatures are not below it
_PATIENCE = 3000  # steps that take NumPy no longer than it takes to load numba

_patience = _PATIENCE  # what is left of it in this process


def solve(
    K: np.ndarray, problem: BoxProblem, tol: float, max_iter: int | None = None
) -> BoxSolution | None:
    """The solution for a symmetric matrix K, or None where it takes more than few steps.

    The gradient and the violation are recomputed at the end. Where these do not bear out what the
    steps have reached (values that are not finite, or rounded by too much), the general solver,
    which handles that, takes over.
    """
    start = time.perf_counter()
    beta = problem.start.astype(np.float64)
    with np.errstate(all="ignore"):  # what is not finite shows in the violation
        limit = _MOST if max_iter is None else min(max_iter, _MOST)
        steps, burst, violation = 0, _FIRST, np.inf
        while not violation < tol:
            g = K @ beta - problem.target
            taken = _take_steps(K, g, beta, problem, tol, min(burst, limit - steps))
            steps += taken
            g = K @ beta - problem.target
            violation = largest_violation(problem, beta, g)
            if violation < tol:
                break
            if taken < burst or not np.isfinite(violation):
                return None
            _newton_steps(K, g, beta, problem)
            burst = _BURST
    counts = {"rounds": 1, "shrunk": 0, "reconstructions": 0, "rows": len(beta)}
    stats = {**counts, "seconds": time.perf_counter() - start}
    return BoxSolution(beta, g, violation, True, steps, "optimal", stats)


def _take_steps(
    K: np.ndarray, g: np.ndarray, beta: np.ndarray, problem: BoxProblem, tol: float, limit: int
) -> int:
    """Steps until the violation is below tol; beta and g are updated."""
    global _patience
    steps, task = 0, (problem.lower, problem.upper, float(problem.epsilon), *problem.grouping())
    diagonal = np.diagonal(K).copy()
    patience = 0 if steps_guided_by.ready else min(limit, max(0, _patience))
    if patience:
        steps = plain_steps(g, K, diagonal, beta, *task, tol, patience)
        _patience -= steps
        if steps < patience:
            return steps
    rows = np.arange(len(beta))
    return steps + int(steps_guided_by(g, K, rows, diagonal, beta, *task, tol, limit - steps, None))


def _newton_steps(K: np.ndarray, g: np.ndarray, beta: np.ndarray, problem: BoxProblem) -> None:
    """Newton steps in the variables between their bounds, each to its end or to the next bound.

    The objective falls in each, also where K is singular or, by rounding, indefinite: curvatures
    are those of the matrix with eigenvalues |e|, no smaller than their rounding. g and beta are
    updated.
    """
    groups, count = problem.grouping()
    for _ in range(_NEWTON):
        kink = problem.epsilon > 0  # no step crosses 0 then
        lower = np.where(kink & (beta > 0), 0.0, problem.lower)
        upper = np.where(kink & (beta < 0), 0.0, problem.upper)
        free = np.flatnonzero((lower < beta) & (beta < upper) & ~(kink & (beta == 0)))
        if len(free) < 2:
            return
        member = (groups[free] == np.arange(count)[:, None]).astype(np.float64)
        member = member[member.any(axis=1)]
        member /= np.sqrt(member.sum(axis=1))[:, None]

        def within(V: np.ndarray, member: np.ndarray = member) -> np.ndarray:
            """The part of V that leaves the sums of all groups as they are."""
            return V - member.T @ (member @ V)

        curved = K[np.ix_(free, free)]
        values, vectors = lapack(len(free), np.linalg.eigh, within(within(curved).T))
        slope = within(g[free] + problem.epsilon * np.sign(beta[free]))
        rounding = np.finfo(np.float64).eps * np.abs(curved).max()
        step = -within(vectors @ ((vectors.T @ slope) / np.maximum(np.abs(values), rounding)))
        falls, bends = float(slope @ step), float(step @ (curved @ step))
        if not falls < 0:
            return
        whole = -falls / bends if bends > 0 else np.inf
        ends = np.where(step > 0, upper[free], lower[free])
        moving = step != 0
        reach = np.full(len(free), np.inf)
        reach[moving] = (ends[moving] - beta[free][moving]) / step[moving]
        first = int(reach.argmin())
        size = min(whole, float(reach[first]))
        beta[free] = np.clip(beta[free] + size * step, lower[free], upper[free])
        if size < whole:
            beta[free[first]] = ends[first]
        g[:] = K @ beta - problem.target
        if size == whole:
            return


def plain_steps(
    g: np.ndarray,
    K: np.ndarray,
    diagonal: np.ndarray,
    beta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    epsilon: float,
    groups: np.ndarray,
    n_groups: int,
    goal: float,
    limit: int,
) -> int:
    """:func:`~mercer.solvers.smo_loops.steps_guided_by` for all of K, in NumPy.

    A step goes up in i, whose slope upwards is the lowest of its group, and down in the j of the
    same group that would let the objective fall most if there were no bounds.
    """
    up, down = np.full((n_groups, len(beta)), BLOCKED), np.full((n_groups, len(beta)), -BLOCKED)
    changed: Iterable[int] = range(len(beta))
    steps = 0
    while True:
        for k in changed:
            t, b = groups[k], beta[k]
            up[t, k] = (epsilon if b >= 0 else -epsilon) if b < upper[k] else BLOCKED
            down[t, k] = (epsilon if b > 0 else -epsilon) if b > lower[k] else -BLOCKED
        violation, low, of, i = -BLOCKED, 0.0, 0, 0
        for t in range(n_groups):
            rise = g + up[t]
            k = rise.argmin()
            worst = (g + down[t]).max() - rise[k]
            if worst > violation:
                violation, low, of, i = worst, rise[k], t, k
        if violation < goal or steps >= limit:
            return steps
        excess = np.maximum(g + down[of] - low, 0.0)
        curvature = np.maximum(diagonal[i] + diagonal - 2.0 * K[i], _TINY)
        j = (excess * excess / curvature).argmax()
        to_i = 0.0 if epsilon > 0 and beta[i] < 0 else upper[i]
        to_j = 0.0 if epsilon > 0 and beta[j] > 0 else lower[j]
        room_i, room_j = to_i - beta[i], beta[j] - to_j
        step = min((g[j] + down[of, j] - low) / curvature[j], room_i, room_j)
        beta[i] = to_i if step == room_i else beta[i] + step
        beta[j] = to_j if step == room_j else beta[j] - step
        g += step * (K[i] - K[j])
        changed, steps = (i, j), steps + 1
