r"""Dual coordinate descent in the space of explicit features: a start close to the optimum.

For K = Phi Phi' the gradient of one variable of the dual needs only w = Phi' beta, so a sweep over
all variables costs as much as reading Phi once; no kernel entry is ever computed. The constraint
that beta sums to zero is met by the method of multipliers: the penalty acts as one more constant
feature, and its multiplier becomes the intercept. The result is made feasible and handed to the
decomposition of :mod:`mercer.solvers.smo`, which finishes and certifies it.

References: Hsieh, Chang, Lin, Keerthi & Sundararajan, *A dual coordinate descent method for
large-scale linear SVM*, ICML 2008; Ho & Lin, *Large-scale linear support vector regression*, JMLR
2012.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from .box import BoxProblem
from .coordinate_loops import sweep_dense, sweep_sparse

_SWEEPS = 200
_FEW = 2000  # problems up to this size need no such start


def warm_start(phi: Any, problem: BoxProblem, tol: float = 1e-3, seed: int = 0) -> BoxProblem:
    """The problem with a starting point from coordinate descent, where that is of use."""
    free = np.all(problem.start == 0) and problem.groups is None
    if len(problem) <= _FEW or not free or not np.all(np.isfinite(problem.upper)):
        return problem
    start = descend(phi, problem, tol, seed)
    # sums that overflow leave nothing to start from
    return replace(problem, start=start) if np.isfinite(start).all() else problem


def descend(phi: Any, problem: BoxProblem, tol: float, seed: int) -> np.ndarray:
    """Feasible beta near the optimum of the programme with K = Phi Phi' and sum zero."""
    rng = np.random.default_rng(seed)
    n = len(problem)
    sparse = sp.issparse(phi)
    phi = sp.csr_matrix(phi, dtype=np.float64) if sparse else np.ascontiguousarray(phi, np.float64)
    squares = phi.multiply(phi).sum(axis=1) if sparse else np.einsum("ij,ij->i", phi, phi)
    squares = np.asarray(squares, dtype=np.float64).ravel()
    penalty = max(float(squares.mean()), 1e-12)
    curvature = squares + penalty
    beta, w = np.zeros(n), np.zeros(phi.shape[1])
    state = np.zeros(2)  # sum of beta, multiplier
    bounds = problem.lower, problem.upper
    target, epsilon = problem.target.astype(np.float64), float(problem.epsilon)
    goal = None
    for _ in range(_SWEEPS):
        order = rng.permutation(n)
        if sparse:
            worst = sweep_sparse(
                phi.data, phi.indices, phi.indptr, order, target, *bounds, epsilon, curvature,
                penalty, beta, w, state,
            )  # fmt: skip
        else:
            worst = sweep_dense(
                phi, order, target, *bounds, epsilon, curvature, penalty, beta, w, state
            )
        state[1] += penalty * state[0]
        goal = worst if goal is None else goal
        if worst < max(tol, 1e-4 * goal):
            break
    return _balanced(beta, *bounds)


def _balanced(beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """beta moved within its bounds so that it sums to zero: free variables first."""
    excess = beta.sum()
    for candidates in ((beta > lower) & (beta < upper), np.ones(len(beta), bool)):
        room = np.where(candidates, beta - lower if excess > 0 else upper - beta, 0.0)
        total = room.sum()
        if total > 0:
            share = min(1.0, abs(excess) / total)
            beta = beta - np.sign(excess) * share * room
            excess = beta.sum()
        if abs(excess) <= 1e-12 * max(1.0, np.abs(beta).sum()):
            break
    return np.clip(beta, lower, upper)
