"""Which solver the quadratic programme of a support vector machine gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..gram.rows import RowGram
from ..progress import ticker
from .box import BoxProblem, BoxSolution
from .coordinate import solve_coordinate
from .device_smo import solve_boxes
from .smo import solve_box
from .snacks import solve_snacks
from .watch import State, Watch

# those that need K as a product of features
ON_FEATURES: dict[str, Any] = {"coordinate": solve_coordinate, "snacks": solve_snacks}
SOLVERS = ("auto", "decomposition", *ON_FEATURES)
LARGE = 10_000  # samples from which on coordinate descent is not only a start, but the solver
_FEW = 2000  # samples up to which the decomposition needs no start
_SWEEPS = 200  # of coordinate descent, after which the decomposition goes on
_START = 1e-3  # the gap of a start


class HeldOut(NamedTuple):
    """Held-out samples: their features, and the loss of their scores."""

    phi: Any
    loss: Callable[[np.ndarray], float]


def watched(watch: Watch, held_out: HeldOut | None, K: Any) -> Watch:
    """The watch of a solver on the features of K, which may be centred, with held-out samples."""
    if held_out is not None:
        origin = getattr(K, "origin", None)

        def error(state: State) -> float:
            w = state["w"]
            shift = float(state["level"][0]) - (0.0 if origin is None else float(origin @ w))
            return held_out.loss(np.asarray(held_out.phi @ w).ravel() + shift)

        watch.validation = error
    return watch


def solve_dual(
    K: RowGram,
    problem: BoxProblem,
    *,
    solver: str = "auto",
    tol: float = 1e-3,
    cache: float = 200e6,
    max_iter: int | None = None,
    shrinking: bool = True,
    workers: int | None = None,
    verbose: bool = False,
    watch: Watch | None = None,
    held_out: HeldOut | None = None,
) -> BoxSolution:
    """Solve the programme of a machine for a kernel given by its rows or its features.

    Parameters
    ----------
    K, problem, cache, max_iter, shrinking, workers
        See :func:`mercer.solvers.smo.solve_box`.
    solver : {"auto", "decomposition", "coordinate", "snacks"}
        ``"decomposition"`` (:mod:`mercer.solvers.smo`) starts from coordinate descent where K is a
        product of features. ``"auto"`` leaves it at that for 10,000 samples and more, if the gap is
        small after 200 sweeps.
    tol : float
        Largest violation of optimality for the decomposition; for solvers on features the duality
        gap relative to the primal value. A violation of tol allows a gap of tol times the sum of
        all bounds, which is no smaller.
    verbose : bool
        Show progress.
    watch : Watch, optional
        Monitoring of a solver on features.
    held_out : HeldOut, optional
        Samples on which such a solver has to get better, or stops.
    """
    n, K = len(problem), K.centred() if problem.balanced else K
    if solver in ON_FEATURES or _starts(K, problem):
        sweeps = None if solver in ON_FEATURES else _SWEEPS * n
        final = solver != "decomposition" and n >= LARGE
        found = ON_FEATURES.get(solver, solve_coordinate)(
            K.features,
            problem,
            tol=tol if final or solver in ON_FEATURES else _START,
            max_iter=min((most for most in (max_iter, sweeps) if most is not None), default=None),
            workers=workers,
            watch=watched(watch or Watch(verbose=verbose), held_out, K),
        )
        if solver in ON_FEATURES or (final and found.converged):
            level = K.level(found.beta)
            assert found.multiplier is not None
            return replace(
                found, gradient=found.gradient + level, multiplier=found.multiplier + level
            )
        problem = replace(problem, start=found.beta)
    with ticker(verbose, "rounds") as tick:
        told = (lambda v: tick(f"violation {v:.1e}, goal {tol:.0e}")) if verbose else None
        if K.card is not None:
            return solve_boxes(K, [problem], tol=tol, max_iter=max_iter, watch=told)[0]
        return solve_box(
            K,
            problem,
            tol=tol,
            cache=cache,
            workers=workers,
            max_iter=max_iter,
            shrinking=shrinking,
            watch=told,
        )


def _starts(K: RowGram, problem: BoxProblem) -> bool:
    """Is a start by coordinate descent of use?"""
    plain = problem.groups is None and not problem.start.any()
    finite = np.all(np.isfinite(problem.upper)) and np.all(np.isfinite(problem.lower))
    known = K.features is not None and np.isfinite(K.diagonal).all()
    return bool(len(problem) > _FEW and plain and finite and known)
