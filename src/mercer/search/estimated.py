"""Hyper-parameters of a Gaussian process by estimates of its evidence: few steps, all samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

from ..data import Data, length
from ..gram.base import HOST
from ..gram.plan import Plan
from ..gram.tiles import contract
from ..kernels.base import Kernel
from ..solvers import criteria, whole
from ..solvers.pivoted import pivoted_cholesky
from ..solvers.quadrature import PROBES, Draws, PivotPreconditioner, estimate
from .objective import Objective, Posed

_EVALUATIONS = 20  # of the estimate, at most
_PER_SAMPLE = 3e-4  # of the evidence: what a further step has to promise
_FLATTEST = 0.01  # curvature per sample: no step trusts less
_SINGLE = 1e-5  # of the largest value of K: an error that single precision may make
_ROUNDED = 0.05  # of the noise: errors of products with K that change evidence by 1e-4 per sample
_SOME = 300  # samples that stand for all


class EstimatedObjective(Objective):
    """The negative evidence, estimated from products with K, as a function of free numbers.

    All estimates use the same random numbers, and the same samples for the preconditioner.

    Parameters
    ----------
    posed : Posed
        With a scale of shape (n, s).
    rank : int
        That of the preconditioner.
    """

    def __init__(self, posed: Posed, *, rank: int, plan: Plan, rng: np.random.RandomState) -> None:
        super().__init__(posed)
        self.plan, kernel, X, Y = plan, self.kernel, self.X, self.Y
        self.rough = _in_single(kernel, X)
        gram = plan.unstored(kernel, kernel.prepare(X))
        seeds = [np.random.default_rng(rng.randint(2**31)) for _ in range(2)]
        self.pivots = pivoted_cholesky(gram, rank=rank, rng=seeds[0]).pivots
        probes = PROBES if gram.device == HOST else max(PROBES - Y.shape[1], PROBES // 2)
        self.draws = Draws.of(length(X), len(self.pivots), seeds[1], probes)
        self.error = np.inf  # the standard error of the latest value

    def _evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, alpha = self.at(free)
        P, noise = kernel.prepare(self.X), alpha * self.scale
        gram = self.plan.unstored(kernel, P)
        fast = self._fast(gram, kernel, float(noise.min()))
        parts = estimates(gram, self.Y, noise, self.pivots, self.draws, fast)
        self.count += 1
        self.error = float(np.linalg.norm([part.error for part in parts]))
        slopes = slopes_of(fast, kernel, P, parts)
        by_noise = sum(
            alpha * (d @ part.diagonal) for d, part in zip(self.scale.T, parts, strict=True)
        )
        return sum(part.value for part in parts), np.append(slopes, by_noise)[self.free]

    def _fast(self, gram: Any, kernel: Kernel, noise: float) -> Any:
        """K for products: in single precision if its errors are small relative to the noise.

        They are about eps |K|, most of it along the first eigenvectors, and whatever they add to
        the small eigenvalues of K counts as noise.
        """
        if self.rough is self.X:
            return gram
        top = len(self.X) / _SOME * float(np.linalg.norm(kernel(_some(self.X)), 2))
        if float(np.finfo(np.float32).eps) * top > _ROUNDED * noise:
            return gram
        if gram.device != HOST:
            return gram.products(np.float32)
        return self.plan.unstored(kernel, kernel.prepare(self.rough))


def estimates(
    gram: Any,
    Y: np.ndarray,
    noise: np.ndarray,
    pivots: np.ndarray,
    draws: Draws,
    fast: Any = None,
) -> list[Any]:
    """The evidence of all targets, or of each if these have separate noise.

    ``fast`` is K for products, in a precision of its own, by default the same. All of K is used
    where it fits a device.
    """
    fast = gram if fast is None else fast
    targets = [Y] if noise.shape[1] == 1 else [y[:, None] for y in Y.T]
    if whole.pays(gram, len(targets)):
        return [whole.evidence(gram, y, d) for y, d in zip(targets, noise.T, strict=True)]
    return [
        estimate(fast, y, d, PivotPreconditioner(gram, d, pivots), draws)
        for y, d in zip(targets, noise.T, strict=True)
    ]


def slopes_of(gram: Any, kernel: Kernel, P: Data, parts: list[Any]) -> np.ndarray:
    """The derivatives of estimates by theta; P are the samples, prepared, in full precision."""
    found = None
    if gram.device != HOST:  # where W has to be there as a product, not tile by tile
        to = gram.arrays
        left = to.beside(*(M for part in parts for M in (part.left, part.middle)))
        right = to.beside(*(M for part in parts for M in (part.right, -part.middle)))
        found = gram.slopes(left, right, np.sum([part.own for part in parts], axis=0))
    if found is None:
        return contract(kernel, P, criteria.total(parts).tile, workers=gram.workers)
    return np.asarray(found)


def refine(objective: EstimatedObjective, H: np.ndarray) -> OptimizeResult:
    """A minimum near the start by quasi-Newton steps; H are second derivatives to begin with.

    It ends where a step promises less than 3e-4 per sample, or than the estimate can tell. A step
    counts if the estimate falls, or as far as that cannot tell, if slopes along it do; if not, the
    next one is a quarter as long.
    """
    x, n, radius = objective.start, length(objective.X), 1.0
    value, slope = objective(x)
    if not np.isfinite(value):
        return OptimizeResult(x=x, fun=value, success=False, message="K is singular at the start")
    success, message = False, f"{_EVALUATIONS} evaluations were not enough"
    while objective.count < _EVALUATIONS:
        step = _step(objective, x, slope, H, _FLATTEST * n, radius)
        if -float(slope @ step) / 2 <= max(_PER_SAMPLE * n, objective.error / 4):
            success, message = True, "the expected gain of a further step is too small"
            break
        trial = np.clip(x + step, *objective.bounds.T)
        there, slope_there = objective(trial)
        flatter = abs(slope_there @ step) < abs(slope @ step)
        size = float(np.abs(step).max())
        if there <= value or (flatter and there <= value + objective.error):
            H = _updated(H, trial - x, slope_there - slope)
            x, value, slope, radius = trial, there, slope_there, min(1.0, 2 * size)
        else:
            radius = size / 4
    return OptimizeResult(x=x, fun=value, success=success, message=message)


def _step(
    objective: Objective,
    x: np.ndarray,
    slope: np.ndarray,
    H: np.ndarray,
    flattest: float,
    radius: float,
) -> np.ndarray:
    """Newton's step of what is not held by a bound, within a radius.

    No curvature is taken for less than ``flattest``: along flat directions slopes are noise.
    """
    low, high = objective.bounds.T
    free = ~(((x <= low) & (slope > 0)) | ((x >= high) & (slope < 0)))
    step = np.zeros(len(x))
    if free.any():
        values, vectors = np.linalg.eigh(H[np.ix_(free, free)])
        step[free] = -vectors @ ((vectors.T @ slope[free]) / np.maximum(np.abs(values), flattest))
    return step * min(1.0, radius / (float(np.abs(step).max(initial=0.0)) or 1.0))


def _updated(H: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """The matrix of BFGS, damped so that it stays positive definite."""
    Hs = H @ step
    curvature, seen = float(step @ Hs), float(step @ change)
    if curvature <= 0:
        return H
    share = 1.0 if seen >= 0.2 * curvature else 0.8 * curvature / (curvature - seen)
    change = share * change + (1 - share) * Hs
    return H - np.outer(Hs, Hs) / curvature + np.outer(change, change) / float(step @ change)


def _in_single(kernel: Kernel, X: Data) -> Data:
    """X in single precision, where values of K, seen on some samples, are much the same."""
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64):
        return X
    some = _some(X)
    K = kernel(some)
    with np.errstate(over="ignore", invalid="ignore"):
        single = some.astype(np.float32)
        try:  # neither its values differ, nor is a sample told apart from what rounding makes of it
            others = kernel(single), kernel(some, single.astype(np.float64))
        except ValueError:
            return X
    error = max(float(np.abs(other - K).max()) for other in others)
    return X.astype(np.float32) if error <= _SINGLE * float(np.abs(K).max()) else X


def _some(X: np.ndarray) -> np.ndarray:
    return X[np.linspace(0, len(X) - 1, _SOME).astype(int)]
