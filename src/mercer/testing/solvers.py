"""The shipped check of solvers of ridge regression."""

from __future__ import annotations

import warnings
from inspect import signature
from typing import Any

import numpy as np

from ..data import Data, length, take
from ..exceptions import DenseWarning
from ..gram.base import Gram
from ..gram.plan import Plan
from ..gram.tiles import evaluate, multiply
from ..kernels.base import Kernel
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from ..solvers.auto import Solver
from ..solvers.base import Solution
from .promises import agree, require

_SAMPLES, _TARGETS = 90, 3
_WELL, _ILL = 0.5, 1e-5  # alpha of a problem that is easy, and of one that is not
_TOL = 1e-8


def check_solver(
    solver: Solver,
    *,
    kernel: Kernel | None = None,
    plan: Plan | None = None,
    matrix_free: bool = True,
    rng: Any = 0,
) -> None:
    """Check a solver of ridge regression: a function that ``KernelRidge(solver=...)`` takes.

    Its coefficients solve (K + alpha W^-1) c = y, for several targets at once, with and without
    weights, of well- and ill-conditioned K; its certificate is true, and it stops where ``tol``
    and ``max_iter`` say. It writes into nothing that it is given, gives the same answer twice, and
    forms no K that is not stored without saying so (``gram.dense``).

    Parameters
    ----------
    solver : callable
        ``solver(gram, Y, alpha, weights, *, tol, rng)``, which returns a
        :class:`~mercer.solvers.Solution`. If it has a parameter ``max_iter``, that is checked too.
    kernel : Kernel, optional
        A kernel on R^3, by default Gaussian: for solvers that need features, one that has some.
    plan : Plan, optional
        Where K lives in the first problems, for solvers that need it in one form.
    matrix_free : bool
        Whether it accepts any Gram operator. It is then also tested with one that only has products
        and blocks.
    rng : int or Generator
        The seed of the problems.

    Raises
    ------
    AssertionError
        With the first promise that is broken.

    Examples
    --------
    >>> from functools import partial
    >>> from mercer.solvers import solve_ridge
    >>> from mercer.testing import check_solver
    >>> check_solver(partial(solve_ridge, solver="cg"))
    """
    rng = as_generator(rng)
    X = rng.standard_normal((_SAMPLES, 3))
    Y = rng.standard_normal((_SAMPLES, _TARGETS))
    Y[:, -1] = 0  # a target of zeros has the answer zero
    weights = rng.uniform(0.2, 2.0, _SAMPLES)
    kernel = Gaussian(1.5) if kernel is None else kernel
    for alpha in (_WELL, _ILL):
        for w in (None, weights):
            gram = kernel.gram(X, plan)
            _solves(solver, gram, kernel(X), Y, alpha, w)
    _stops(solver, lambda: kernel.gram(X, plan), kernel(X), Y)
    _zero_weights(solver, lambda: kernel.gram(X, plan), kernel(X), Y, weights)
    if matrix_free:
        K = kernel(X)
        watched = _Watched(kernel, kernel.prepare(X))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _solves(solver, watched, K, Y, _WELL, weights)
        said = any(issubclass(each.category, DenseWarning) for each in caught)
        formed = watched.largest >= _SAMPLES**2 and not said
        require(
            not formed, "all of a matrix-free K is formed silently: use products, or gram.dense"
        )


def _solves(
    solver: Solver,
    gram: Gram,
    K: np.ndarray,
    Y: np.ndarray,
    alpha: float,
    weights: np.ndarray | None,
) -> None:
    W = np.ones(len(Y)) if weights is None else weights
    kept = Y.copy(), W.copy()
    solution = _call(solver, gram, Y, alpha, weights)
    where = f"alpha={alpha:g}, {'no ' if weights is None else ''}weights"
    require(isinstance(solution, Solution), "a solver returns a mercer.solvers.Solution")
    coef = np.asarray(solution.coef)
    require(coef.shape == Y.shape, f"coef has shape {coef.shape}, not {Y.shape}")
    require(np.all(np.isfinite(coef)), f"coef is not finite ({where})")
    same = np.array_equal(kept[0], Y) and np.array_equal(kept[1], W)
    require(same, "targets or weights were modified; work on a copy")
    residual, floor = _residual(K, coef, Y, alpha, weights)
    _certified(solution, residual, floor, _TOL, where)
    require(solution.converged, f"it did not converge ({where}): {solution.message}")
    exact = np.linalg.solve(K + np.diag(alpha / W), Y)
    size = float(np.linalg.norm(Y, axis=0).max())
    tol = (100 * _TOL + 10 * floor) * size
    agree(K @ coef, K @ exact, tol, f"predictions differ from a dense solution ({where})")
    again = _call(solver, gram, Y, alpha, weights)
    agree(again.coef, coef, 1e-12 + tol * float(np.abs(coef).max()), "a second call differs")


def _certified(solution: Solution, residual: float, floor: float, tol: float, where: str) -> None:
    """Check that the certificate of a solution is true."""
    if solution.converged:
        fine = residual <= max(10 * tol, floor)
        require(
            fine, f"converged is claimed, but the relative residual is {residual:.2g} ({where})"
        )
    else:
        told = bool(solution.message) and solution.message != "solved"
        require(told, "converged is False, but message does not say what happened, and what to do")
    stated = solution.stats.get("residual")
    if stated is not None:
        close = abs(stated - residual) <= 0.1 * residual + floor
        require(close, f"stats say residual={stated:.2g}, but it is {residual:.2g} ({where})")


def _stops(solver: Solver, gram: Any, K: np.ndarray, Y: np.ndarray) -> None:
    for tol in (1e-2, 1e-6):
        solution = _call(solver, gram(), Y, _ILL, None, tol=tol)
        residual, floor = _residual(K, solution.coef, Y, _ILL, None)
        _certified(solution, residual, floor, tol, f"tol={tol:g}")
    if "max_iter" not in _parameters(solver):
        return
    solution = _call(solver, gram(), Y, _ILL, None, tol=1e-14, max_iter=1)
    require(solution.n_iter <= 1, f"max_iter=1 was asked for, it made {solution.n_iter} steps")
    residual, floor = _residual(K, solution.coef, Y, _ILL, None)
    _certified(solution, residual, floor, 1e-14, "max_iter=1")


def _zero_weights(
    solver: Solver, gram: Any, K: np.ndarray, Y: np.ndarray, weights: np.ndarray
) -> None:
    """A sample of weight 0 is as good as absent; or it is rejected in words."""
    weights = weights.copy()
    weights[:3] = 0
    try:
        coef = np.asarray(_call(solver, gram(), Y, _WELL, weights).coef)
    except ValueError:
        return
    used = weights > 0
    noise = np.diag(_WELL / weights[used])
    exact = np.linalg.solve(K[np.ix_(used, used)] + noise, Y[used])
    tol = 1e-5 * float(np.abs(exact).max())
    agree(coef[~used], np.zeros_like(coef[~used]), tol, "a sample of weight 0 has a coefficient")
    agree(coef[used], exact, tol, "samples of weight 0 are not ignored")


def _residual(
    K: np.ndarray, coef: np.ndarray, Y: np.ndarray, alpha: float, weights: np.ndarray | None
) -> tuple[float, float]:
    """The largest relative residual of a target, and what rounding may make of it."""
    A = K + np.diag(np.full(len(K), alpha) if weights is None else alpha / weights)
    size = np.linalg.norm(Y, axis=0)
    size[size == 0] = 1
    worst = float((np.linalg.norm(Y - A @ coef, axis=0) / size).max())
    spread = float(np.linalg.norm(A, 2) * (np.linalg.norm(coef, axis=0) / size).max())
    return worst, 100 * float(np.finfo(float).eps) * len(K) * spread


def _call(
    solver: Any, gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None, **options: Any
) -> Solution:
    given = {"tol": _TOL, "rng": np.random.default_rng(0), **options}
    found: Solution = solver(gram, Y, alpha, weights, **given)
    return found


def _parameters(solver: Any) -> set[str]:
    try:
        return set(signature(solver).parameters)
    except (TypeError, ValueError):
        return set()


class _Watched(Gram):
    """K of a kernel, with products and blocks, that records the largest requested block."""

    def __init__(self, kernel: Kernel, X: Data) -> None:
        self.kernel, self.X, self.largest = kernel, X, 0
        self.shape, self.dtype = (length(X), length(X)), np.dtype(float)

    def block(self, rows: Any, cols: Any) -> np.ndarray:
        K = evaluate(self.kernel, take(self.X, rows), take(self.X, cols))
        self.largest = max(self.largest, K.size)
        return K

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return multiply(self.kernel, self.X, self.X, V)
