"""Kernel ridge regression by the solver that fits: primal, Cholesky, or conjugate gradients."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..exceptions import IndefiniteKernelWarning, NumericalWarning, warn
from ..gram.base import Gram
from ..kernels.indefinite import is_negative, negative_eigenvalue
from .base import Solution
from .cg import Systems, solve_systems
from .cholesky import CholeskyFactor, NotPositiveDefiniteError
from .eigen import RidgeSpectrum
from .primal import solve_primal
from .watch import Watch
from .weight_space import device_factor

Solver = Callable[..., Solution]
PRIMAL_LIMIT = 8000  # more features than this are not factorised


def choose(gram: Gram, alpha: float) -> str:
    """The solver for K + alpha I: "primal", "cholesky" or "cg"."""
    if gram.rank is not None and not gram.streamed:
        small = gram.rank <= min(len(gram), PRIMAL_LIMIT)
        # c = (y - Phi w) / alpha loses digits when alpha is tiny next to K
        resolved = alpha > 1e-8 * max(float(np.mean(gram.diag())), 1e-300)
        if small and resolved:
            return "primal"
    return "cg" if gram.matrix_free and not gram.fits(2) else "cholesky"


def solve_ridge(
    gram: Gram,
    Y: np.ndarray,
    alpha: float | np.ndarray,
    weights: np.ndarray | None = None,
    *,
    solver: str | Solver = "auto",
    tol: float = 1e-8,
    rng: np.random.Generator | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Minimise sum_i w_i (y_i - f(x_i))^2 + alpha ||f||^2 over f = sum_i c_i k(x_i, .).

    Solves (W^1/2 K W^1/2 + alpha I) b = W^1/2 y and returns c = W^1/2 b, for one alpha or one for
    each target. A solver is a function of a Gram operator, targets of shape (n, t), alpha, weights
    or None, and the keywords tol and rng, that returns a :class:`Solution`. What iterates lets
    ``watch`` look on.
    """
    start = time.perf_counter()
    alphas = np.broadcast_to(np.asarray(alpha, dtype=float), Y.shape[1:])
    options: dict[str, Any] = {"tol": tol, "rng": rng or np.random.default_rng(0)}
    solver = choose(gram, float(alphas.min(initial=np.inf))) if solver == "auto" else solver
    if solver == "cg":
        solution = _solve_cg(gram, Y, alphas, weights, watch=watch, **options)
    else:
        chosen = SOLVERS[solver] if isinstance(solver, str) else solver
        solution = _one_by_one(chosen, gram, Y, alphas, weights, options)
    solution.stats["seconds"] = time.perf_counter() - start
    return solution


def _one_by_one(
    solver: Solver,
    gram: Gram,
    Y: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None,
    options: dict[str, Any],
) -> Solution:
    """A system for each alpha; the certificate is that of the worst."""
    found = {}
    for alpha in np.unique(alphas).tolist():
        targets = Y[:, alphas == alpha]
        found[alpha] = solver(gram, targets, alpha, weights, **options)
        _check(found[alpha], targets, getattr(solver, "__name__", type(solver).__name__))
    worst = min(found.values(), key=lambda solution: solution.converged)
    if len(found) == 1:
        return worst
    coef = np.empty(Y.shape, np.result_type(*(solution.coef for solution in found.values())))
    for alpha, solution in found.items():
        coef[:, alphas == alpha] = solution.coef
    return replace(worst, coef=coef, n_iter=max(solution.n_iter for solution in found.values()))


def _check(solution: Any, Y: np.ndarray, name: str) -> None:
    """Reject the result of a user-defined solver if it is not a valid solution."""
    if not isinstance(solution, Solution):
        raise ValueError(
            f"solver={name} must return a mercer.solvers.Solution, got a {type(solution).__name__}."
        )
    coef = np.asarray(solution.coef)
    if coef.shape != Y.shape or coef.dtype.kind != "f":
        raise ValueError(
            f"solver={name} must return coefficients of shape {Y.shape}, floating point numbers, "
            f"got {coef.dtype} of shape {coef.shape}."
        )


def _solve_primal(
    gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None, **_: Any
) -> Solution:
    if gram.features is None:
        raise ValueError('solver="primal" needs a kernel with a finite feature map.')
    if alpha <= 0:
        raise ValueError('solver="primal" needs alpha > 0.')
    return solve_primal(gram, Y, alpha, weights)


def _solve_cg(
    gram: Gram,
    Y: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None,
    *,
    tol: float,
    rng: np.random.Generator,
    watch: Watch | None = None,
) -> Solution:
    """All alphas and targets at once; samples of weight 0 drop out."""
    if np.any(alphas <= 0):
        raise ValueError("the iterative solver needs alpha > 0 (K alone may be singular).")
    if weights is not None and np.any(weights == 0):
        used, coef = np.flatnonzero(weights), np.zeros(Y.shape)
        found = _solve_cg(
            gram.subset(used), Y[used], alphas, weights[used], tol=tol, rng=rng, watch=watch
        )
        coef[used] = found.coef
        return replace(found, coef=coef)
    root = None if weights is None else np.sqrt(weights)
    return solve_systems(gram, Systems.of(Y, alphas), root, tol=tol, rng=rng, watch=watch)


def _solve_dense(
    gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None, **_: Any
) -> Solution:
    if gram.fits(2):
        found = _solve_there(gram, Y, alpha, weights)
        if found is not None:
            return found

    def system(dtype: np.dtype | None) -> np.ndarray:
        A = np.ascontiguousarray(gram.dense(f"the factor of {len(gram)} samples"), dtype=dtype)
        if weights is not None:
            root = np.sqrt(weights).astype(A.dtype)
            A *= root[:, None]
            A *= root[None, :]
        A.flat[:: len(A) + 1] += A.dtype.type(alpha)
        return A

    rhs = Y if weights is None else np.sqrt(weights)[:, None] * Y
    stats: dict = {"method": "cholesky", "dtype": str(gram.dtype)}
    try:
        b = CholeskyFactor(system(None)).solve(rhs.astype(gram.dtype, copy=False))
    except NotPositiveDefiniteError:
        b = _solve_singular(system(np.dtype(np.float64)), rhs, alpha, stats)
    coef = b if weights is None else np.sqrt(weights)[:, None] * b
    return Solution(coef, stats=stats)


def _solve_there(
    gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None
) -> Solution | None:
    """By a factor on the device of K, in double precision; None if there is none."""
    used = np.arange(len(Y)) if weights is None else np.flatnonzero(weights)
    part = gram if len(used) == len(Y) else gram.subset(used)
    coef = np.zeros(Y.shape)
    try:
        factor = device_factor(part, alpha if weights is None else alpha / weights[used])
    except NotPositiveDefiniteError:
        return None
    coef[used] = factor.solve(np.asarray(Y[used], dtype=np.float64))
    return Solution(coef, stats={"method": "cholesky", "dtype": "float64", "device": gram.device})


def _solve_projected(
    gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None, **_: Any
) -> Solution:
    """The solution with K replaced by its projection on the positive semi-definite matrices."""
    spectrum = RidgeSpectrum(gram, weights)
    positive = spectrum.s > len(gram) * np.finfo(float).eps * spectrum.s.max(initial=0.0)
    root = 1.0 if spectrum.root is None else spectrum.root[:, None]
    U = spectrum.U[:, positive]
    coef = root * (U @ ((U.T @ (root * Y)) / (spectrum.s[positive, None] + alpha)))
    return Solution(coef, stats={"method": "eigen", "rank": int(positive.sum())})


def _solve_singular(A: np.ndarray, rhs: np.ndarray, alpha: float, stats: dict) -> np.ndarray:
    """The least-squares solution of smallest norm, when Cholesky fails."""
    s, U = lapack(len(A), eigh, A.T, overwrite=True)
    keep = np.abs(s) > len(s) * np.finfo(float).eps * np.abs(s).max()
    stats |= {"method": "eigh", "dtype": "float64", "dropped": int(np.sum(~keep))}
    if is_negative(s[0] - alpha, np.abs(s - alpha).max()):
        warn(
            f"{negative_eigenvalue(s[0] - alpha, s[-1] - alpha)}, or a penalty (alpha, 1 / C) > "
            f"{alpha - s[0]:.2g}, or KernelRidge(solver='eigen'), which takes negative "
            "eigenvalues as zero. The solution satisfies (K + alpha I) c = y, but is not a "
            "minimum.",
            IndefiniteKernelWarning,
        )
    else:
        warn(
            f"K + alpha I is not positive definite to working precision (alpha={alpha:g}, smallest "
            f"eigenvalue {s[0]:.1e}); the least-squares solution of smallest norm is used. "
            f"Raise alpha.",
            NumericalWarning,
        )
    return U[:, keep] @ ((U[:, keep].T @ rhs) / s[keep, None])


SOLVERS: dict[str, Solver] = {
    "cholesky": _solve_dense,
    "primal": _solve_primal,
    "cg": _solve_cg,
    "eigen": _solve_projected,
}
