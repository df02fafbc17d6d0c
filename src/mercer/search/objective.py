"""A criterion as a function of the hyper-parameters that are free, and its minima."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ..data import Data
from ..engine.threads import one_blas_thread
from ..exceptions import DomainError
from ..kernels.base import Kernel
from .outcome import bounded

ALPHA = (1e-10, 1e6)  # bounds of the noise or penalty
_DIFFERENCE = 1e-3  # of logarithms, for curvatures
_FLATTEST = 1e-2  # curvature, as a part of the largest one, below which directions are alike
_RETRIES = 5
LIMIT = 1  # the status of a search that took as many steps as it may
_PRECISION = 1e-10  # relative improvement of a step at which a search ends
_PRECISION_DIRECTED = 1e-6  # the same along good directions, where steps are as good as their goal
_PROMISE = 1e-7  # relative improvement that slopes have to promise there
_NEGLIGIBLE = 1e-7  # relative improvement by which it is not begun again
_FAR = 3.0  # from the start, as a logarithm
_GIVEN_UP = 1e-3  # of what a search gained: what is not worth more is not needed


@dataclass
class Posed:
    """Where a search begins, and within which bounds it stays.

    Parameters
    ----------
    kernel : Kernel
        The first one.
    X : data
        Samples, as they are before any kernel prepares them.
    Y : ndarray of shape (n, t)
        Targets.
    alpha : float
        The first noise or penalty.
    scale : ndarray of shape (n,) or (n, s)
        The factor of alpha: for all targets, or for each.
    fixed : tuple of str
        Names of what stays.
    noise : tuple of two floats
        Bounds of alpha.
    unit : float
        The variance that bounds of weights in the kernel are multiples of.
    """

    kernel: Kernel
    X: Data
    Y: np.ndarray
    alpha: float
    scale: np.ndarray
    fixed: tuple[str, ...] = ()
    noise: tuple[float, float] = ALPHA
    unit: float = 1.0


class Objective(ABC):
    """A criterion as a function of the hyper-parameters that are not fixed; alpha comes last."""

    precision: ClassVar[dict[str, Any]] = {"ftol": _PRECISION}  # at which a search along axes ends

    def __init__(self, posed: Posed) -> None:
        self.posed, self.kernel, self.X = posed, posed.kernel, posed.X
        self.Y, self.scale = posed.Y, posed.scale
        check_names(posed.fixed, posed.kernel)
        known = bounded(posed.kernel, posed.unit)
        names = [h.name for h in known]
        self.full = np.append(posed.kernel.theta, np.log(posed.alpha))
        sizes = [np.size(h.value) for h in known]
        each = np.repeat(np.array([*names, "alpha"]), [*sizes, 1])
        self.free = ~np.isin(each, posed.fixed)
        self.lengths = np.char.endswith(each[self.free], "lengthscale")
        ranges = [np.log(h.bounds) if h.log else np.array(h.bounds) for h in known]
        everything = np.repeat(np.array([*ranges, np.log(posed.noise)]), [*sizes, 1], axis=0)
        self.bounds = everything[self.free]
        self.start = np.clip(self.full[self.free], *self.bounds.T)
        self.count = 0
        self.latest: tuple[np.ndarray, float, np.ndarray] | None = None

    @abstractmethod
    def _evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and slope at a point; counts those where there is a matrix."""

    def _threads(self) -> Any:
        """A context with threads of BLAS that suit: all that is large runs on the pool."""
        return one_blas_thread()

    def evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and slope at a point; infinite where there is no matrix, or no factor of it."""
        try:
            with self._threads():
                return self._evaluate(free)
        except (DomainError, np.linalg.LinAlgError):
            if not self.count:  # values too large for a number, and at first
                raise
            return np.inf, np.zeros(len(free))

    def __call__(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        """The same, not computed twice in a row at one point."""
        if self.latest is not None and np.array_equal(self.latest[0], free):
            return self.latest[1], self.latest[2]
        value, slope = self.evaluate(free)
        self.latest = free.copy(), value, slope
        return value, slope

    def at(self, free: np.ndarray) -> tuple[Kernel, float]:
        """The kernel and alpha at a point."""
        theta = self._theta(free)
        return self.kernel.with_theta(theta[:-1]), float(np.exp(theta[-1]))

    def _theta(self, free: np.ndarray) -> np.ndarray:
        theta = self.full.copy()
        theta[self.free] = free
        return theta

    def go_on(self, part: Objective, found: np.ndarray) -> Any:
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
            if best.success or not np.isfinite(best.fun) or best.get("status") == LIMIT:
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

        options = dict(self.precision)
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
