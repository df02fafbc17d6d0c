"""Hyper-parameters by gradients: the penalty and every number in the kernel at once, no grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ..data import Data, length, take
from ..engine.memory import free_memory, require_memory
from ..engine.threads import blas_for
from ..exceptions import DomainError
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
from .outcome import Tuning, bounded, ends

_ALPHA = (1e-10, 1e6)  # bounds of the noise or penalty
SAMPLE = 500  # samples with which a search begins, if there are many more
_DIFFERENCE = 1e-3  # of logarithms, for curvatures
_FLATTEST = 1e-2  # curvature, as a part of the largest one, below which directions are alike
_RETRIES = 5
_AROUND = float(np.log(100))  # the start, where restarts are drawn: bounds are ten orders apart
_PRECISION = 1e-10  # relative improvement of a step at which a search ends
_PRECISION_DIRECTED = 1e-6  # the same along good directions, where steps are as good as their goal
_PROMISE = 1e-7  # relative improvement that slopes have to promise there
_NEGLIGIBLE = 1e-7  # relative improvement by which it is not begun again
_FAR = 3.0  # from the start, as a logarithm
_GIVEN_UP = 1e-3  # of what a search gained: what is not worth more is not needed
_UNLIKE = 100.0  # spreads of features with one lengthscale: the small ones need an alpha near zero
LOGISTIC = np.pi**2 / 3  # the variance of the noise that makes labels of the sign of f + noise
_REMEMBERED = 0.25  # of the free memory may hold matrices of kernels without free numbers

Measure = Callable[[np.ndarray, np.ndarray], Criterion]


def search(
    kernel: Kernel,
    X: Data,
    Y: np.ndarray,
    alpha: float,
    measure: Measure,
    *,
    scale: np.ndarray,
    fixed: tuple[str, ...] = (),
    n_restarts: int = 0,
    rng: np.random.RandomState,
    begin_small: bool = True,
    matrices: float = 3,
    least: float = _ALPHA[0],
    unit: float = 1.0,
    plan: Plan | None = None,
) -> Tuning:
    """The kernel and alpha that make ``measure`` of K + alpha diag(scale) smallest.

    With many samples the search, restarts included, begins on 500 of them: a factorisation costs
    n^3, and what is best for a part is close to what is best for all. Curvatures found there are
    used to go on with all. What does not matter on a part may run off to where every slope is zero
    (the lengthscale of a feature, to infinity): with all samples it begins again.
    ``matrices`` says how many n x n arrays a measure needs, ``least`` how small alpha may become.
    Where the criterion depends on the size of K, ``unit`` is the variance of y: bounds of alpha and
    of weights in the kernel are multiples of it. A ``plan`` limits memory and threads.
    """
    n, plan = length(X), plan or Plan()
    needs = matrices * 8.0 * n * n
    require_memory(needs, f"the gradient of a criterion on {n} samples", plan.limit)
    most, least = _ALPHA[1] * unit, least * unit
    limits = (least, most), unit, plan.workers, plan.limit - needs
    whole = _Objective(kernel, X, Y, alpha, measure, scale, fixed, *limits)
    around = np.clip([whole.start - _AROUND, whole.start + _AROUND], *whole.bounds.T)
    starts = [whole.start, *(rng.uniform(*around) for _ in range(n_restarts))]
    if begin_small and n >= 2 * SAMPLE:
        some = np.sort(rng.choice(n, SAMPLE, replace=False))
        few = rows_of(kernel, X, some)
        part = _Objective(kernel, few, Y[some], alpha, measure, scale[some], fixed, *limits)
        found = part.settle(min((part.descend(s) for s in starts), key=lambda r: r.fun)).x
        best = whole.go_on(part, found)
    else:
        best = whole.settle(min((whole.descend(s) for s in starts), key=lambda r: r.fun))
    kernel, alpha = whole.at(best.x)
    converged = bool(best.success) and bool(np.isfinite(best.fun))
    noise = alpha * (float(np.mean(scale)) or LOGISTIC) if np.any(Y) else np.inf
    bounds, unneeded = ends(kernel, fixed, X, noise, unit)
    if "alpha" not in fixed and alpha >= 0.999 * most:
        bounds = (*bounds, f"alpha = {most:g}")
    if "alpha" not in fixed and alpha <= 1.001 * least:
        smallest = (f"alpha = {least:g}",)
        if disparity(kernel, X) >= _UNLIKE:
            bounds += smallest
        else:
            unneeded += smallest
    outcome = float(best.fun), whole.count, converged, str(best.message)
    return Tuning(kernel, alpha, *outcome, bounds, unneeded)


class _Objective:
    """A criterion as a function of the hyper-parameters that are not fixed."""

    def __init__(
        self,
        kernel: Kernel,
        X: Data,
        Y: np.ndarray,
        alpha: float,
        measure: Measure,
        scale: np.ndarray,
        fixed: tuple[str, ...],
        noise: tuple[float, float],
        unit: float,
        workers: int | None = None,
        spare: float = np.inf,
    ) -> None:
        self.kernel, self.X, self.Y, self.measure, self.scale = kernel, X, Y, measure, scale
        self.workers = workers
        self.quick = _remember(kernel, X, workers, spare)
        check_names(fixed, kernel)
        known = bounded(kernel, unit)
        names = [h.name for h in known]
        self.full = np.append(kernel.theta, np.log(alpha))
        sizes = [np.size(h.value) for h in known]
        each = np.repeat(np.array([*names, "alpha"]), [*sizes, 1])
        self.free = ~np.isin(each, fixed)
        self.lengths = np.char.endswith(each[self.free], "lengthscale")
        ranges = [np.log(h.bounds) if h.log else np.array(h.bounds) for h in known]
        everything = np.repeat(np.array([*ranges, np.log(noise)]), [*sizes, 1], axis=0)
        self.bounds = everything[self.free]
        self.start = np.clip(self.full[self.free], *self.bounds.T)
        self.count = 0
        self.latest: tuple[np.ndarray, float, np.ndarray] | None = None

    def at(self, free: np.ndarray) -> tuple[Kernel, float]:
        """The kernel and alpha at a point."""
        theta = self._theta(free)
        return self.kernel.with_theta(theta[:-1]), float(np.exp(theta[-1]))

    def _theta(self, free: np.ndarray) -> np.ndarray:
        theta = self.full.copy()
        theta[self.free] = free
        return theta

    def go_on(self, part: _Objective, found: np.ndarray) -> Any:
        """A minimum near ``found``, the one on a part of the samples.

        What a part of the data did not need ran off to where slopes vanish: the lengthscale of a
        feature to infinity, say. All of them may need it, but from there no slope says so. So it
        begins again where it began, unless that leads to something worse.
        """
        numbers = np.arange(len(found)) < int(self.free[:-1].sum())
        idle = part.idle(found, numbers)  # but not the noise, which any part of the data shows
        ways = [np.where(idle, self.start, found), found] if idle.any() else [found]
        best: Any = None
        for start in ways:
            if best is None or best.fun > self(found)[0]:
                again = self._along(start, part.curvature(start), np.zeros(len(start), dtype=bool))
                best = again if best is None else min(best, again, key=lambda r: r.fun)
        return best

    def settle(self, found: Any) -> Any:
        """The minimum that was found, or a lower one that is reached once no length has collapsed.

        A long step may carry a lengthscale so far down that samples which differ there are
        strangers to each other. No slope leads back from that, so it begins again from its start.
        """
        if not np.isfinite(found.fun):
            return found
        collapsed = self.idle(found.x, self.lengths & (found.x < self.start))
        if not collapsed.any():
            return found
        again = self.descend(np.where(collapsed, self.start, found.x))
        return min(found, again, key=lambda r: r.fun)

    def idle(self, point: np.ndarray, among: np.ndarray) -> np.ndarray:
        """Which of these coordinates went far from the start, and might as well be on a bound."""
        idle = among & (np.abs(point - self.start) > _FAR)
        if not idle.any():
            return idle
        best = self(point)[0]
        most = best + _GIVEN_UP * abs(self(self.start)[0] - best)
        for j in np.flatnonzero(idle):
            at = point.copy()
            at[j] = self.bounds[j, int(point[j] > self.start[j])]
            idle[j] = self(at)[0] <= most
        return idle

    def _along(self, start: np.ndarray, H: np.ndarray, held: np.ndarray) -> Any:
        """A minimum near ``start``, looked for along good directions; what is held stays.

        A search along directions that are not the axes cannot slide along a bound. Where it would
        go beyond one it stops, and begins again from that bound, on which it stays.
        """
        best = found = self._descend(start, _directions(H, held))
        while found.beyond.any() and np.isfinite(found.fun):
            held = held | found.beyond
            start = np.where(found.beyond, found.bound, found.x)
            if held.all():
                break
            found = self._descend(start, _directions(H, held))
            best = min(best, found, key=lambda r: r.fun)
        return best if best.success else self.descend(best.x)

    def curvature(self, point: np.ndarray) -> np.ndarray:
        """Second derivatives, from differences of slopes; 1 on the diagonal if there are none."""
        slope = self(point)[1]
        steps = _DIFFERENCE * np.eye(len(point))
        H = np.array([self(point + step)[1] - slope for step in steps]) / _DIFFERENCE
        return (H + H.T) / 2 if np.all(np.isfinite(H)) else np.eye(len(point))

    def descend(self, start: np.ndarray) -> Any:
        """A minimum near ``start``, looked for along the axes.

        Next to where a matrix becomes singular a line search may fail. Then the search begins
        again from where it got to, until that leads no further.
        """
        if not len(start):
            raise ValueError("no hyper-parameter is left to tune: all are fixed.")
        best = self._descend(start, None)
        for _ in range(_RETRIES):
            if best.success or not np.isfinite(best.fun):
                break
            again = self._descend(best.x, None)
            if again.fun > best.fun - _NEGLIGIBLE * max(1.0, abs(best.fun)):
                best.success, best.message = True, "no descent in working precision"
            else:
                best = again
        return best

    def _descend(self, start: np.ndarray, directions: np.ndarray | None) -> Any:
        """L-BFGS on the criterion in units in which its slope at the start has length 1.

        So the first step has length 1: along the axes, no logarithm changes by more.
        """
        D = np.eye(len(start)) if directions is None else directions
        worst, slope = self(start)
        bound, beyond = start, np.zeros(len(start), dtype=bool)
        unit = float(np.linalg.norm(slope @ D)) or 1.0
        if not np.isfinite(worst):
            message = "the matrix is singular at the start"
            failed = {"x": start, "fun": np.inf, "success": False, "message": message}
            return OptimizeResult(**failed, bound=bound, beyond=beyond)

        options = {"ftol": _PRECISION}
        if directions is not None:  # along them, curvatures are 1: a slope g gains g^2 / 2
            promising = np.sqrt(2 * _PROMISE * max(1.0, abs(worst)))
            options = {"ftol": _PRECISION_DIRECTED, "gtol": float(promising) / unit}

        def place(z: np.ndarray) -> np.ndarray:
            return np.clip(start + D @ z, *self.bounds.T)

        def scaled(z: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal worst, bound, beyond
            free = place(z)
            value, slope = self(free)
            inside = free == start + D @ z  # nothing changes beyond a bound
            if not inside.all():
                bound, beyond = free, ~inside
            if not np.isfinite(value):  # worse than all, but not so much as to mislead the search
                return worst / unit + 10, slope @ D
            worst = max(worst, value)
            return value / unit, (slope * inside) @ D / unit

        def stop_on_bound(z: np.ndarray) -> None:
            if directions is not None and beyond.any():
                raise StopIteration

        found = minimize(
            scaled,
            np.zeros(D.shape[1]),
            jac=True,
            method="L-BFGS-B",
            bounds=self.bounds - start[:, None] if directions is None else None,
            callback=stop_on_bound,
            options=options,
        )
        found.x = place(found.x)
        found.fun *= unit
        found.bound, found.beyond = bound, beyond
        return found

    def __call__(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and slope; infinite where there is no matrix, or no Cholesky factor of it."""
        if self.latest is not None and np.array_equal(self.latest[0], free):
            return self.latest[1], self.latest[2]
        with blas_for(length(self.X)):
            value, slope = self._evaluate(free)
        self.latest = free.copy(), value, slope
        return value, slope

    def _evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        theta = self._theta(free)
        kernel, alpha = self.quick.with_theta(theta[:-1]), float(np.exp(theta[-1]))
        try:
            P = kernel.prepare(self.X)
            K = evaluate(kernel, P, P, workers=self.workers)
            A = np.ascontiguousarray(K, dtype=np.float64)
        except DomainError:
            if not self.count:
                raise
            return np.inf, np.zeros(len(free))  # values too large for a number, but not at first
        A.flat[:: len(A) + 1] += alpha * self.scale
        self.count += 1
        try:
            found = self.measure(A, self.Y)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros(len(free))
        slopes = contract(kernel, P, found.tile, workers=self.workers)
        slope = np.append(slopes, alpha * (self.scale @ found.diagonal))
        return found.value, slope[self.free]


def _directions(H: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Directions, as columns, along which slopes change equally fast; what is held stays."""
    free = np.flatnonzero(~held)
    curvatures, directions = np.linalg.eigh(H[np.ix_(free, free)])
    least = _FLATTEST * np.abs(curvatures).max() or 1.0
    found = np.zeros((len(H), len(free)))
    found[free] = directions / np.sqrt(np.maximum(curvatures, least))
    return found


def check_names(fixed: tuple[str, ...], kernel: Kernel) -> None:
    """Refuse names that are not those of hyper-parameters."""
    names = [*(h.name for h in kernel.hyperparameters()), "alpha"]
    unknown = [name for name in fixed if name not in names]
    if unknown:
        raise ValueError(
            f"fixed names {unknown[0]!r}, but the hyper-parameters are {', '.join(names)}."
        )


# ---- what does not change is computed once -------------------------------------------------------
@dataclass(eq=False, repr=False)
class _Remembered(Kernel):
    """The matrix of a kernel without free numbers on the samples of a search."""

    matrix: np.ndarray = parameter()

    def prepare(self, X: Data) -> np.ndarray:
        return np.arange(length(X))

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self.matrix[np.ix_(X, Y)]

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.diagonal(self.matrix)[X]


def _remember(kernel: Kernel, X: Data, workers: int | None, spare: float) -> Kernel:
    """The same kernel on X; summands and factors without free numbers, strings say, as matrices.

    Sums, products and powers hand X on as it is: a part sees what the whole kernel sees. ``spare``
    is the memory that matrices may take, by halves.
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
