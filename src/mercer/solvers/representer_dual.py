"""Losses of straight and parabolic pieces by the quadratic programme of support vector machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..engine.memory import require_memory
from ..gram.base import Gram
from ..gram.rows import FeatureRowGram, RowGram
from ..losses.base import Dual, Loss
from ..losses.classification import Logistic
from .box import BoxProblem, slopes
from .coordinate import solve_coordinate
from .dual import solve_dual, watched
from .logistic_coordinate import solve_logistic_coordinate

if TYPE_CHECKING:
    from .representer import Problem

_FEW = 2000  # samples whose K is stored, however few its features are
_CACHE = 200e6  # bytes for kernel rows of the dual solver, or
_SHARE = 1 / 3  # of what the plan allows, if that is less: the rest is for blocks and products


def quadratic(loss: Loss, y: np.ndarray) -> Dual | None:
    """The conjugate, if it is one quadratic function with a penalty |u|."""
    dual = loss.dual(y)
    return None if dual is None or dual.soft[0] != dual.soft[1] else dual


def _box(problem: Problem, solver: str) -> tuple[BoxProblem, np.ndarray]:
    """min c' (K + h alpha / W) c / 2 - t' c + epsilon ||c||_1 with alpha c / w between bounds.

    The programme, and what is added to the diagonal of K.
    """
    dual = quadratic(problem.loss, problem.flat.astype(np.float64))
    if dual is None:
        raise ValueError(f'solver="{solver}" cannot be used with {problem.loss!r}; use "auto".')
    w, alpha = problem.w[:, 0], problem.alpha
    used = w > 0
    with np.errstate(invalid="ignore"):
        lower = np.where(used, -w * dual.upper / alpha, 0.0)
        upper = np.where(used, -w * dual.lower / alpha, 0.0)
    ridge = np.where(used, dual.soft[0] * alpha / np.where(used, w, 1.0), 0.0)
    return BoxProblem(dual.target, lower, upper, np.zeros(len(w)), dual.epsilon), ridge


def solve_by_coordinates(
    problem: Problem, tol: float, max_iter: int | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Coefficients, intercept and steps of coordinate descent on the features of K."""
    gram = problem.gram
    if gram.features is None:
        raise ValueError(
            'solver="coordinate" needs K as a product of features; approximate the kernel, for '
            "example with plan=Plan(features=Landmarks(1000)), or use another solver."
        )
    logistic = isinstance(problem.loss, Logistic)
    box, ridge = (None, None) if logistic else _box(problem, "coordinate")
    phi, level, K = gram.features, None, None
    if problem.intercept and not sp.issparse(phi):
        K = FeatureRowGram(phi, workers=gram.workers).centred()
        phi, level = K.features, K.level
    watch = watched(problem.watch, problem.held_out, K)
    if box is None:
        known = solve_logistic_coordinate(
            phi, problem.y[:, 0], problem.w[:, 0] / problem.alpha, intercept=problem.intercept,
            tol=tol, max_iter=max_iter, workers=gram.workers, watch=watch,
        )  # fmt: skip
        beta, b = known.point.beta, known.point.intercept
        b -= level(beta) if level else 0.0
        return beta[:, None], np.array([b]), known.sweeps
    found = solve_coordinate(
        phi, box, ridge=ridge, intercept=problem.intercept, tol=tol, max_iter=max_iter,
        workers=gram.workers, watch=watch,
    )  # fmt: skip
    assert found.multiplier is not None
    b = -found.multiplier - (level(found.beta) if level else 0.0)
    return found.beta[:, None], np.array([b]), found.n_iter


def solve_by_dual(
    problem: Problem, tol: float, max_iter: int | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """Coefficients, intercept and steps of the decomposition, for any K."""
    box, ridge = _box(problem, "dual")
    n, spare = len(box), 0 if problem.intercept else 2
    if problem.start is not None and problem.intercept:
        start = problem.start[0][:, 0]
        rounding = 1e-9 * np.abs(start).max(initial=0.0)
        near = np.clip(start, box.lower, box.upper)
        if np.abs(near - start).max(initial=0.0) <= rounding:
            box.start = near
    if spare:  # two samples that k does not see take up any sum, at no cost: no intercept is left
        box = BoxProblem(
            np.append(box.target, [box.epsilon, -box.epsilon]),
            np.append(box.lower, [0.0, -np.inf]),
            np.append(box.upper, [np.inf, 0.0]),
            np.zeros(n + spare),
            box.epsilon,
        )
    found = solve_dual(
        _blocks(problem.gram, ridge, spare),
        box,
        solver="decomposition",
        tol=tol * problem.spread,
        cache=min(_CACHE, _SHARE * problem.gram.limit),
        max_iter=max_iter,
        workers=problem.gram.workers,
    )
    C = found.beta[:n, None]
    if spare:
        return C, np.zeros(1), found.n_iter
    rise, fall = slopes(box, found.beta, found.gradient)
    ends = [end for end in (rise.min(), fall.max()) if np.isfinite(end)]
    return C, np.array([-float(np.mean(ends)) if ends else 0.0]), found.n_iter


def _blocks(gram: Gram, ridge: np.ndarray, spare: int) -> RowGram:
    """K + diag(ridge) for the dual solver, with some samples more for which k is 0."""
    n = len(gram)
    phi = gram.features
    if phi is not None and not ridge.any():
        more = (spare, phi.shape[1])
        if sp.issparse(phi):
            phi = sp.vstack([phi, sp.csr_matrix(more)], format="csr")
        else:
            phi = np.vstack([phi, np.zeros(more)])
        return FeatureRowGram(phi, workers=gram.workers)
    few = phi is not None and n > _FEW and 2 * phi.shape[1] < n  # K is not worth its memory
    if not gram.matrix_free and not few:
        changed = bool(spare or ridge.any())
        require_memory(8.0 * (1 + changed) * n * n, f"K of {n} samples, in double", gram.limit)
        K = np.ascontiguousarray(gram.to_dense(), dtype=np.float64)
        if changed:
            K = np.pad(K, (0, spare))
            K.flat[:: n + spare + 1] += np.append(ridge, np.zeros(spare))
        block = lambda rows, cols: K[rows][:, cols]  # noqa: E731
        return RowGram(block, np.diagonal(K).copy(), matrix=K, workers=gram.workers)
    inner, everything = gram.shift(ridge) if ridge.any() else gram, np.arange(n + spare)

    def padded(rows: Any, cols: Any) -> np.ndarray:
        i, j = everything[rows], everything[cols]
        out = np.zeros((len(i), len(j)))
        some, others = i < n, j < n
        if some.any() and others.any():  # not every kernel has values of no samples
            out[np.ix_(some, others)] = inner.block(i[some], j[others])
        return out

    block = padded if spare else inner.block
    found = RowGram(block, np.append(inner.diag(), np.zeros(spare)), workers=gram.workers)
    found.limit = gram.limit
    return found
