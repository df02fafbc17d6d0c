r"""Support vector machines by an accelerated stochastic subgradient method on features.

.. math:: \min_{w, b} F(w, b) = \tfrac12 \|w\|^2 + \sum_i L_i(\langle w, \phi(x_i) \rangle + b)

for losses of straight pieces. A stage takes mini-batches in random order from the best point so
far. No number has to be tuned, because F is strongly convex: with the duality gap e of the point
that a stage starts from,

* the minimiser is no further than D = sqrt(2 e), so iterates are kept within that ball;
* with T steps and stochastic gradients of mean square G^2, measured at that point, the step that
  makes the bound D^2 / (2 s T) + s G^2 / 2 of what is left smallest is s = D / (G sqrt(T)).

A stage ends with averages: the mean subgradient of each sample, over its visits, is a dual variable
within its bounds, and w = Phi' beta with these, made to add up to zero, is the mean of the iterates
but for their drift. The gap of that point is computed from all samples in double precision. A stage
is one pass; one that leaves more than three quarters of the gap is followed by one twice as long.

It is here as a method of the literature. On the one problem where both were measured (ijcnn1,
20,000 samples, 300 landmarks), coordinate descent needed 4 passes where this needed 79 (C = 1, a
gap of a tenth), and reached gaps that this did not in 200 passes.

References: Tanji, Della Vecchia, Glineur & Villa, *Snacks: a fast large-scale kernel SVM solver*,
ECC 2023; Xu, Lin & Yang, *Stochastic convex optimization: faster local growth implies faster global
convergence*, ICML 2017.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ..gram.tiles import check_cancelled, slices
from .box import BoxProblem, BoxSolution
from .coordinate import Certified, balanced, certify, violation_of
from .feature_rows import FeatureRows
from .watch import Watch

_BATCH = 64  # samples of a step
_PASSES = 200  # at most
_PROGRESS = 0.75  # of the gap, above which a stage was too short


def solve_snacks(
    phi: Any,
    problem: BoxProblem,
    *,
    intercept: bool = True,
    tol: float = 1e-3,
    max_iter: int | None = None,
    workers: int | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> BoxSolution:
    """Solve the programme with K = Phi Phi' through its primal.

    Parameters
    ----------
    phi, problem, intercept, tol, workers, seed
        See :func:`mercer.solvers.coordinate.solve_coordinate`; bounds are finite.
    max_iter : int, optional
        Most visits of samples; by default 200 for each.
    watch : Watch, optional
        Called with the duality gap after each stage.
    """
    begin, n = time.perf_counter(), len(problem)
    rows, rng = FeatureRows.of(phi, workers), np.random.default_rng(seed)
    squares = rows.squares()
    constant = float(np.sqrt(np.median(squares))) or 1.0  # the feature whose weight is b
    budget = _PASSES * n if max_iter is None else max_iter
    passes, visits, stages = 1, 0, 0
    beta = problem.start.astype(np.float64)
    with watch or Watch() as looked_at:
        known = looked_at.resume("snacks", problem.target, problem.lower, problem.upper, squares)
        if known is not None:
            stages, beta = known[0], known[1]["beta"]
        best = certify(rows, problem, beta, intercept)
        while True:
            primal = best.dual + best.gap
            converged = best.gap <= tol * primal
            error = best.gap / primal if primal > 0 else 0.0
            state = {"beta": best.beta, "w": best.w, "level": np.array([-best.multiplier])}
            stop = stages > 0 and looked_at(stages, error, tol, state)
            if converged or stop or visits >= budget:
                break
            found = _stage(rows, problem, best, squares, constant, passes, intercept, rng)
            visits, stages = visits + passes * n, stages + 1
            passes *= 1 if found.gap <= _PROGRESS * best.gap else 2
            passes = max(1, min(passes, (budget - visits) // n))
            best = found if found.gap < best.gap else best
        if looked_at.best is not None:  # of samples held out
            best = certify(rows, problem, looked_at.best["beta"], intercept)
        why = looked_at.stopped or f"stopped after {visits // n} passes"
    message = "optimal"
    if not converged:
        message = (
            f"stochastic subgradients: {why}, with a duality gap of {error:.1e} of the objective "
            f'where tol={tol:g} was requested; raise tol or max_iter, or use solver="coordinate".'
        )
    stats = {"stages": stages, "gap": best.gap, "seconds": time.perf_counter() - begin}
    return BoxSolution(
        best.beta, best.gradient, violation_of(problem, best, intercept), converged, visits,
        message, stats, best.multiplier,
    )  # fmt: skip


def _stage(
    rows: FeatureRows,
    problem: BoxProblem,
    start: Certified,
    squares: np.ndarray,
    constant: float,
    passes: int,
    intercept: bool,
    rng: np.random.Generator,
) -> Certified:
    """Some passes from a point; the point that their average margins make."""
    n, single = len(problem), rows.phi.dtype
    centre = np.append(start.w, -start.multiplier / constant)
    v = centre.copy()
    chosen = _subgradients(problem, start.gradient - start.multiplier, slice(None))
    slope = np.append(start.w - rows.combine(chosen), -constant * chosen.sum())
    noise = n / _BATCH * float(chosen**2 @ (squares + constant**2))
    steps = passes * -(-n // _BATCH)
    radius = np.sqrt(2 * start.gap)
    size = radius / np.sqrt(max(float(slope @ slope) + noise, 1e-300) * steps)
    beta = np.zeros(n)
    for _ in range(passes):
        order = rng.permutation(n)
        for at in slices(n, _BATCH):
            check_cancelled()
            batch = order[at]
            part = rows.phi[batch]
            scores = part @ v[:-1].astype(single) + constant * v[-1]
            some = _subgradients(problem, scores - problem.target[batch], batch)
            beta[batch] += some
            share = n / len(batch)
            slope[:-1] = v[:-1] - share * (part.T @ some.astype(single))
            slope[-1] = -share * constant * some.sum() if intercept else 0.0
            v -= size * slope
            moved = v - centre
            distance = float(np.linalg.norm(moved[:-1]))
            if distance > radius:
                v[:-1] = centre[:-1] + moved[:-1] * (radius / distance)
    beta = np.clip(beta / passes, problem.lower, problem.upper)
    if intercept:
        beta = balanced(beta, problem.lower, problem.upper)
    return certify(rows, problem, beta, intercept)


def _subgradients(problem: BoxProblem, s: np.ndarray, at: Any) -> np.ndarray:
    """The slopes of the losses, with a minus, where scores exceed the targets by s."""
    low, high = problem.lower[at], problem.upper[at]
    beyond = np.where(s > problem.epsilon, low, np.clip(0.0, low, high))
    return np.where(s < -problem.epsilon, high, beyond)
