"""The quadratic programme of all support vector machines: problem, solution, certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np
from scipy.optimize import brentq

BLOCKED = np.inf  # the slope of a variable that a bound stops
_ZERO = 1e-9  # a sum that is only rounding, as a part of the sum of all its terms in size


@dataclass
class BoxProblem:
    """The quadratic programme, without its kernel."""

    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    start: np.ndarray
    epsilon: float = 0.0
    groups: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.target)

    def grouping(self) -> tuple[np.ndarray, int]:
        """The group of each variable, and the number of groups."""
        groups = np.zeros(len(self), np.int64) if self.groups is None else self.groups
        return groups, int(groups.max(initial=0)) + 1

    @property
    def balanced(self) -> bool:
        """Do the variables add up to zero, so that constants added to rows of K do not matter?"""
        return abs(float(self.start.sum())) <= _ZERO * float(np.abs(self.start).sum())


@dataclass
class BoxSolution:
    """A solution with its certificate: the largest violation of optimality."""

    beta: np.ndarray
    gradient: np.ndarray  # K beta - target
    violation: float
    converged: bool
    n_iter: int
    message: str
    stats: dict[str, Any] = field(default_factory=dict)
    multiplier: float | None = None  # of the sum, from solvers that find the best one

    @property
    def trouble(self) -> str:
        """Why it did not converge; empty if it did."""
        return "" if self.converged else self.message


def slopes(
    problem: BoxProblem, beta: np.ndarray, gradient: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The slopes of the objective upwards and downwards; ±BLOCKED where a bound stops."""
    epsilon = problem.epsilon
    up = gradient + np.where(beta >= 0, epsilon, -epsilon)
    down = gradient + np.where(beta > 0, epsilon, -epsilon)
    return np.where(beta < problem.upper, up, BLOCKED), np.where(
        beta > problem.lower, down, -BLOCKED
    )


def largest_violation(problem: BoxProblem, beta: np.ndarray, gradient: np.ndarray) -> float:
    """By how much a slope downwards exceeds one upwards in the same group."""
    groups, count = problem.grouping()
    rise, fall = slopes(problem, beta, gradient)
    parts = [groups == t for t in range(count)]
    return float(max(fall[g].max(initial=-BLOCKED) - rise[g].min(initial=BLOCKED) for g in parts))


def multiplier(problem: BoxProblem, solution: BoxSolution, group: int = 0) -> float:
    """The multiplier of the sum constraint, from complementary slackness.

    The mean slope over free variables; without any, the middle of the interval it is known to
    lie in.
    """
    if solution.multiplier is not None:
        return solution.multiplier
    rise, fall = slopes(problem, solution.beta, solution.gradient)
    inside = problem.grouping()[0] == group
    free = inside & (rise == fall)
    if free.any():
        return float(rise[free].mean())
    low, high = fall[inside].max(initial=-BLOCKED), rise[inside].min(initial=BLOCKED)
    if low == -BLOCKED:
        return float(high)
    return float(low) if high == BLOCKED else float(low + high) / 2


def best_multiplier(problem: BoxProblem, g: np.ndarray, ridge: np.ndarray) -> float:
    r"""The multiplier m of a sum of zero with the least primal value, for a slope g.

    It minimises :math:`\sum_i \max_{l_i \le b \le u_i} ((m - g_i) b - \epsilon |b| - r_i b^2 / 2)`,
    whose slope in m, the sum of the maximisers, grows with m: in steps at :math:`g_i \pm \epsilon`,
    or, where r > 0, without.
    """
    lower, upper, epsilon = problem.lower, problem.upper, problem.epsilon
    if ridge.any():
        curved = ridge > 0
        g, r, bounds = g[curved], ridge[curved], (lower[curved], upper[curved])

        def slope(m: float) -> float:
            beyond = np.sign(m - g) * np.maximum(np.abs(m - g) - epsilon, 0.0)
            return float(np.clip(beyond / r, *bounds).sum())

        return float(brentq(slope, g.min() - epsilon, g.max() + epsilon, xtol=1e-300))
    zero = np.clip(0.0, lower, upper)
    places = np.concatenate([g - epsilon, g + epsilon])
    jumps = np.concatenate([zero - lower, upper - zero])
    order = np.argsort(places, kind="stable")
    places, jumps = places[order], jumps[order]
    after = lower.sum() + np.cumsum(jumps)  # the slope behind each place
    rounding = _ZERO * float(jumps.sum())
    first = min(int(np.searchsorted(after, -rounding)), len(after) - 1)
    last = min(int(np.searchsorted(after, rounding, side="right")), len(after) - 1)
    return float(places[first] + places[last]) / 2


def bounds_of_optimum(
    problem: BoxProblem, solution: BoxSolution, multipliers: Sequence[float]
) -> tuple[float, float]:
    r"""Values of the primal and the dual, between which the optimum lies, for K >= 0.

    The dual is the negative objective of the programme, D = t'beta - beta'K beta / 2 - epsilon
    ||beta||_1. For any multipliers m of the sums s,

    .. math:: P = \tfrac12 \beta'K\beta - m's + \sum_i \max_{l_i \le b \le u_i}
              \left((m - g_i) b - \epsilon |b|\right), \qquad g = K\beta - t,

    which is the regularised loss of the machine with intercept -m (hinge, tube, ...), is no smaller
    than the optimum. Bounds that are infinite are those of a hard margin: f is then scaled until
    all samples have a margin of 1.
    """
    beta, g = solution.beta, solution.gradient
    squared = float(beta @ (g + problem.target))  # beta' K beta
    dual = float(beta @ problem.target - problem.epsilon * np.abs(beta).sum()) - squared / 2
    group = np.zeros(len(problem), int) if problem.groups is None else problem.groups
    m = np.asarray(multipliers, dtype=np.float64)[group]
    if np.isinf(problem.lower).any() or np.isinf(problem.upper).any():
        margin = float(np.min(problem.target * (g + problem.target - m)))
        return (squared / margin**2 / 2 if margin > 0 else np.inf), dual
    nearest = np.minimum(np.maximum(0.0, problem.lower), problem.upper)  # to 0
    ends = (problem.lower, problem.upper, nearest)
    loss = reduce(np.maximum, [(m - g) * b - problem.epsilon * np.abs(b) for b in ends])
    return squared / 2 + float(loss.sum()) - float(beta @ m), dual
