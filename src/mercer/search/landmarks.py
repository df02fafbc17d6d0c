"""Hyper-parameters, noise and landmarks of a Gaussian process, by a bound on its evidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from ..data import Data, length, take
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..gram.stored import TiledGram
from ..gram.tiles import GROUPS, check_cancelled, evaluate, run
from ..kernels.base import Kernel
from ..solvers.fitc import Conditional
from ..solvers.variational import Bound, Whitened
from .objective import Objective, Posed

APPROXIMATIONS: dict[str, type[Bound]] = {"variational": Bound, "fitc": Conditional}
_STEPS = 150  # of a search: landmarks go on moving long after that pays


class LandmarkObjective(Objective):
    """The bound as a function of free hyper-parameters, and of where the landmarks are.

    Coordinates of landmarks come after alpha, in units of the spread of the samples, and stay in
    the range of these.

    Parameters
    ----------
    posed : Posed
        With a scale of shape (n, s).
    Z : data
        Landmarks, not prepared by a kernel.
    moves : bool
        Do landmarks move?
    approximation : {"variational", "fitc"}
        How variance that the landmarks miss is treated.
    """

    precision: ClassVar[dict[str, Any]] = {"ftol": 1e-6, "maxiter": _STEPS}

    def __init__(
        self,
        posed: Posed,
        Z: Data,
        *,
        moves: bool,
        plan: Plan,
        approximation: str = "variational",
    ) -> None:
        super().__init__(posed)
        self.Z, self.plan, X = Z, plan, self.X
        self.numbers, self.moves, self.approximation = len(self.start), moves, approximation
        if moves:
            size = np.abs(X).max(axis=0)
            units = np.where(size > 0, size, 1.0)  # in which squares do not overflow
            self.spread = np.where(np.ptp(X, axis=0) > 0, units * (X / units).std(axis=0), 1.0)
            ends = np.stack([X.min(axis=0), X.max(axis=0)]) / self.spread
            limits = np.repeat(ends.T[None], len(Z), axis=0).reshape(-1, 2)
            places = np.clip((Z / self.spread).ravel(), *limits.T)
            self.bounds = np.concatenate([self.bounds, limits])
            self.start = np.concatenate([self.start, places])
            self.lengths = np.concatenate([self.lengths, np.zeros(len(places), dtype=bool)])

    def landmarks(self, free: np.ndarray) -> Data:
        """The landmarks at a point."""
        return free[self.numbers :].reshape(self.Z.shape) * self.spread if self.moves else self.Z

    def _theta(self, free: np.ndarray) -> np.ndarray:
        return super()._theta(free[: self.numbers])

    def _evaluate(self, free: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, alpha = self.at(free)
        P, Z = kernel.prepare(self.X), kernel.prepare(self.landmarks(free))
        parts = bounds(kernel, P, Z, self.Y, alpha * self.scale, self.plan, self.approximation)
        self.count += 1
        strips, inner = parts[0].whitened.strips, _sum(part.inner_weights() for part in parts)
        theta, moved = _contract(
            kernel,
            P,
            Z,
            strips,
            lambda place: _sum(part.cross_weights(place) for part in parts),
            inputs=self.moves,
            workers=self.plan.workers,
        )
        theta = theta + kernel.grad_theta(Z, Z, inner)
        theta = theta + kernel.grad_theta_diag(P, _sum(part.diagonal_weights() for part in parts))
        slope = np.append(theta, sum(part.by_noise for part in parts))[self.free]
        if self.moves:
            moved = moved + 2 * kernel.grad_input(Z, Z, inner)
            slope = np.append(slope, (moved * self.spread).ravel())
        return sum(part.value for part in parts), slope


def bounds(
    kernel: Kernel,
    P: Data,
    Z: Data,
    Y: np.ndarray,
    noise: np.ndarray,
    plan: Plan,
    approximation: str = "variational",
) -> list[Bound]:
    """The bound of all targets, or of each if these have separate noise; P, Z are prepared."""
    n, m = length(P), length(Z)
    few = 8.0 * m * (16 * m + 6000)  # accumulators, and a strip or two
    require_memory(few, f"a process of {m} landmarks", plan.limit)
    keep = few + 8.0 * n * m <= plan.room
    cross = TiledGram(kernel, P, Z, workers=plan.workers)
    inner = evaluate(kernel, Z, Z, workers=plan.workers)
    whitened = Whitened(cross, inner, kernel.diag(P).astype(np.float64), keep)
    targets = [Y] if noise.shape[1] == 1 else [y[:, None] for y in Y.T]
    kind = APPROXIMATIONS[approximation]
    return [kind(whitened, y, d) for y, d in zip(targets, noise.T, strict=True)]


def _sum(parts: Iterable[np.ndarray]) -> np.ndarray:
    return reduce(np.add, parts)


def movable(kernel: Kernel, X: Data) -> bool:
    """Can landmarks move: are samples rows of numbers with respect to which k is differentiable?"""
    if not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"):
        return False
    first = take(X, slice(0, 1))
    P = kernel.prepare(first)
    try:
        return bool(np.shape(kernel.grad_input(P, P, np.ones((1, 1)))) == first.shape)
    except NotImplementedError:
        return False


def _contract(
    kernel: Kernel,
    X: Data,
    Z: Data,
    strips: list[slice],
    weights: Callable[[int], np.ndarray],
    *,
    inputs: bool = False,
    workers: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """sum_ij W_ij dk(x_i, z_j)/dtheta, and for ``inputs`` sum_i W_ij dk(x_i, z_j)/dz_j.

    X and Z are prepared, ``weights(i)`` is W of the samples in strip i, and derivatives by the z
    are with respect to raw ones.
    """
    theta = np.zeros((len(strips), len(kernel.theta)))
    groups = min(GROUPS, len(strips))
    moved: list[Any] = [0.0] * groups

    def group(g: int) -> None:
        for place in range(g, len(strips), groups):
            check_cancelled()
            some, W = take(X, strips[place]), weights(place)
            if theta.shape[1]:
                theta[place] = kernel.grad_theta(some, Z, W)
            if inputs:
                moved[g] = moved[g] + kernel.grad_input(Z, some, W.T)

    run(group, range(groups), workers)
    return theta.sum(axis=0), np.sum(moved, axis=0)
