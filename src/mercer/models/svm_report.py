"""Certificates of support vector machines: how near to the optimum a solution is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..solvers.box import BoxProblem, BoxSolution, bounds_of_optimum

REST = "rest"  # the negative class of a machine for one class against all others


@dataclass(frozen=True)
class DualReport:
    """The certificate of one problem: a pair of classes, or all of a regression.

    Attributes
    ----------
    classes : tuple
        The two classes, the negative one first; empty if there are none.
    primal, dual : float
        Values of the two problems at the solution; the optimum lies between them. The primal is NaN
        if the kernel matrix is not positive semi-definite: the problem has none then.
    gap : float
        primal - dual.
    margin : float
        2 / ||w||, of a classifier the width of the margin.
    free, bounded : int
        Support vectors on the margin (the edge of the tube, of the region), and beyond it.
    intercept : float
        b, from complementary slackness.
    violation : float
        Largest violation of the optimality conditions; in the nu form that of its own problem, in
        which the margin is not yet scaled to 1.
    n_iter : int
        Two-variable steps taken.
    rho : float or None
        The level that scores are compared with, where the machine finds it: of the nu form and of
        novelty detection, in units of their primal. None elsewhere.
    """

    classes: tuple[Any, ...]
    primal: float
    dual: float
    gap: float
    margin: float
    free: int
    bounded: int
    intercept: float
    violation: float
    n_iter: int
    rho: float | None = None


def report_of(
    problem: BoxProblem,
    solution: BoxSolution,
    multipliers: Sequence[float],
    intercept: float,
) -> DualReport:
    """The certificate of a solution, from its gradient: no kernel value is computed."""
    beta = solution.beta
    primal, dual = bounds_of_optimum(problem, solution, multipliers)
    if solution.stats.get("indefinite"):
        primal = np.nan
    squared = float(beta @ (solution.gradient + problem.target))
    bounded = int(np.sum((beta != 0) & ((beta <= problem.lower) | (beta >= problem.upper))))
    return DualReport(
        classes=(),
        primal=primal,
        dual=dual,
        gap=primal - dual,
        margin=float(2 / np.sqrt(squared)) if squared > 0 else np.inf,
        free=int(np.sum(beta != 0)) - bounded,
        bounded=bounded,
        intercept=intercept,
        violation=max(0.0, solution.violation),
        n_iter=solution.n_iter,
    )
