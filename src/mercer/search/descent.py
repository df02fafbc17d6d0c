"""Hyper-parameters by gradients: the penalty and every number in the kernel at once, no grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Data, length, take
from ..engine.memory import free_memory, require_memory
from ..engine.threads import quiet_blas
from ..gram.plan import Plan
from ..gram.tiles import contract, evaluate
from ..kernels.algebra.constant import Constant
from ..kernels.algebra.power import Power
from ..kernels.algebra.sums import Binary
from ..kernels.base import Kernel
from ..kernels.given.precomputed import Precomputed
from ..params import parameter
from ..solvers.criteria import Criterion
from .lengthscales import disparity
from .objective import Objective, Posed
from .outcome import Tuning, ends

SAMPLE = 500  # samples with which a search begins, if there are many more
_AROUND = float(np.log(100))  # the start, where restarts are drawn: bounds are ten orders apart
_UNLIKE = 100.0  # spreads of features with one lengthscale: the small ones need an alpha near zero
LOGISTIC = np.pi**2 / 3  # the variance of the noise that makes labels of the sign of f + noise
_REMEMBERED = 0.25  # of the free memory may hold matrices of kernels without free numbers

Measure = Callable[[np.ndarray, np.ndarray], Criterion]


def search(
    posed: Posed,
    measure: Measure,
    *,
    n_restarts: int = 0,
    rng: np.random.RandomState,
    begin_small: bool = True,
    matrices: float = 3,
    plan: Plan | None = None,
) -> Tuning:
    """The kernel and alpha that make ``measure`` of K + alpha diag(scale) smallest.

    With many samples the search, restarts included, begins on 500 of them: a factorisation costs
    n^3, and what is best for a part is close to what is best for all. Curvatures found there are
    used to continue with all. What does not matter on a part may run off to where every slope is
    zero (the lengthscale of a feature, to infinity): with all samples it starts again. ``matrices``
    says how many n x n arrays a measure needs. A ``plan`` limits memory and threads.
    """
    n, plan = length(posed.X), plan or Plan()
    needs = matrices * 8.0 * n * n
    require_memory(needs, f"the gradient of a criterion on {n} samples", plan.limit)
    room = plan.workers, plan.limit - needs
    whole = DenseObjective(posed, measure, *room)
    around = np.clip([whole.start - _AROUND, whole.start + _AROUND], *whole.bounds.T)
    starts = [whole.start, *(rng.uniform(*around) for _ in range(n_restarts))]
    if begin_small and n >= 2 * SAMPLE:
        some = np.sort(rng.choice(n, SAMPLE, replace=False))
        part = DenseObjective(part_of(posed, some), measure, *room)
        found = part.settle(min((part.descend(s) for s in starts), key=lambda r: r.fun)).x
        best = whole.go_on(part, found)
    else:
        best = whole.settle(min((whole.descend(s) for s in starts), key=lambda r: r.fun))
    return conclude(whole, best)


def part_of(posed: Posed, rows: np.ndarray) -> Posed:
    """The same for some of the samples."""
    X = rows_of(posed.kernel, posed.X, rows)
    return replace(posed, X=X, Y=posed.Y[rows], scale=posed.scale[rows])


def conclude(objective: Objective, best: Any) -> Tuning:
    """The result of a search, with warnings."""
    posed, (kernel, alpha) = objective.posed, objective.at(best.x)
    X, fixed, (least, most) = posed.X, posed.fixed, posed.noise
    noise = float(np.mean(posed.scale)) or LOGISTIC if np.any(posed.Y) else np.inf  # per alpha
    converged = bool(best.success) and bool(np.isfinite(best.fun))
    bounds, unneeded = ends(kernel, fixed, X, alpha * noise, posed.unit)
    if "alpha" not in fixed and alpha >= 0.999 * most:
        bounds = (*bounds, f"alpha = {most:g}")
    if "alpha" not in fixed and alpha <= 1.001 * least:
        smallest = (f"alpha = {least:g}",)
        if disparity(kernel, X) >= _UNLIKE:
            bounds += smallest
        else:
            unneeded += smallest
    outcome = float(best.fun), objective.count, converged, str(best.message)
    return Tuning(kernel, alpha, *outcome, bounds, unneeded)


class DenseObjective(Objective):
    """A criterion of K + alpha diag(scale), all of it in memory."""

    def __init__(
        self, posed: Posed, measure: Measure, workers: int | None = None, spare: float = np.inf
    ) -> None:
        super().__init__(posed)
        self.measure, self.workers = measure, workers
        self.quick = _remember(self.kernel, self.X, workers, spare)

    def _threads(self) -> Any:
        return quiet_blas()

    def _evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        theta = self._theta(free)
        kernel, alpha = self.quick.with_theta(theta[:-1]), float(np.exp(theta[-1]))
        P = kernel.prepare(self.X)
        K = evaluate(kernel, P, P, workers=self.workers)
        A = np.ascontiguousarray(K, dtype=np.float64)
        A.flat[:: len(A) + 1] += alpha * self.scale
        self.count += 1
        found = self.measure(A, self.Y)
        slopes = contract(kernel, P, found.tile, workers=self.workers)
        slope = np.append(slopes, alpha * (self.scale @ found.diagonal))
        return found.value, slope[self.free]


# ---- what does not change is computed once -------------------------------------------------------
@dataclass(eq=False, repr=False)
class _Remembered(Kernel):
    """The matrix of a kernel without free parameters on the samples of a search."""

    matrix: np.ndarray = parameter()

    def prepare(self, X: Data) -> np.ndarray:
        return np.arange(length(X))

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self.matrix[np.ix_(X, Y)]

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.diagonal(self.matrix)[X]


def _remember(kernel: Kernel, X: Data, workers: int | None, spare: float) -> Kernel:
    """The same kernel on X; summands and factors without free parameters become matrices.

    Sums, products and powers pass X on as it is, so a part gets the same X as the whole kernel.
    ``spare`` is the memory that matrices may take, by halves.
    """
    if isinstance(kernel, Constant):
        return kernel
    if not kernel.hyperparameters():
        size = 8.0 * length(X) ** 2
        if size > spare or size > _REMEMBERED * free_memory():
            return kernel
        P = kernel.prepare(X)
        return _Remembered(evaluate(kernel, P, P, workers=workers))
    if isinstance(kernel, Binary):
        parts = {"left": kernel.left, "right": kernel.right}
        return kernel.replace(**{k: _remember(v, X, workers, spare / 2) for k, v in parts.items()})
    if isinstance(kernel, Power):
        return kernel.replace(base=_remember(kernel.base, X, workers, spare))
    return kernel


def is_matrix(kernel: Any) -> bool:
    """Is the kernel, but for factors and summands, a matrix of the user?"""
    while isinstance(kernel, Binary):
        kernel = kernel.left if isinstance(kernel.right, Constant) else kernel.right
    return isinstance(kernel, Precomputed) or (isinstance(kernel, str) and kernel == "precomputed")


def rows_of(kernel: Any, X: Data, rows: np.ndarray) -> Data:
    """Some samples; those of a given matrix are rows and columns of it."""
    if not is_matrix(kernel):
        return take(X, rows)
    return (X if hasattr(X, "dtype") else np.asarray(X))[np.ix_(rows, rows)]
