"""Pre-images by iteration: the fixed point of radial kernels, and descent along gradients.

Both lower E(z) = k(z, z) - 2 psi(z) = ||phi(z) - psi||^2 - ||psi||^2, for many psi at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import Data, as_dense, as_vectors, evenly
from ..gram.tiles import check_cancelled, run, slices
from ..kernels.base import Kernel
from ..solvers.lbfgs import minimise_rows
from .attraction import attraction
from .function import RKHSFunction

_BLOCK = 2**20  # kernel values that one thread holds at a time
_VANISHING = 1e-9  # a denominator this small, relative to its terms, has no digits left
_FLAT = 1e-12  # k(z, x), relative to k(x, x), below which a centre x is not felt at z
_LONGEST = 2.0  # the longest step of a fixed point, in spreads of the centres
_SOON = 50  # iterations of a fixed point after which gradients are faster
_STARTS = 1000  # centres, evenly spaced, among which starting points are looked for
_OWN = 32  # samples whose k(z, z) are differentiated together


@dataclass
class Found:
    """Where each search ended: the point, E there, and how it ended.

    ``lost`` marks searches that broke down: weights that cancel, or no centre in sight.
    """

    x: np.ndarray
    value: np.ndarray
    converged: np.ndarray
    lost: np.ndarray
    n_iter: np.ndarray


class Limits(NamedTuple):
    """When to stop, and how often to restart."""

    tol: float
    max_iter: int
    n_restarts: int


class Goal:
    """Functions psi_1..psi_m = sum_i coef[:, i] k(x_i, .), to be met by features phi(z)."""

    def __init__(self, kernel: Kernel, points: np.ndarray, coef: np.ndarray) -> None:
        self.kernel, self.points, self.coef = kernel, points, coef
        self.prepared = kernel.prepare(points)
        own = kernel.diag(self.prepared).astype(np.float64)
        self.unit = float(np.mean(own)) or 1.0
        spread = float(np.sqrt(np.mean(np.sum((points - points.mean(axis=0)) ** 2, axis=1))))
        self.scale = spread or float(np.abs(points).max()) or 1.0
        self._level = kernel.properties.stationary.value is True  # is k(z, z) constant?
        self._open = self._level and kernel.domain.whole.kind == "vectors"  # is there a far away?

    def value(self, P: Data, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """E of prepared points, from the kernel values between them and the centres."""
        own = self.kernel.diag(P).astype(np.float64)
        return own - 2 * np.einsum("ij,ij->i", self.coef[rows], K)

    def unseen(self, K: np.ndarray) -> np.ndarray:
        """Is a point so far from all centres that a stationary kernel vanishes there?"""
        if not self._open:
            return np.zeros(len(K), dtype=bool)
        return np.asarray(np.abs(K).max(axis=1) <= _FLAT * self.unit)

    def repelled(self, P: Data, value: np.ndarray) -> np.ndarray:
        """Would a point at infinity do as well, since psi <= 0 at this one?"""
        return np.asarray(self._open & (value >= self.kernel.diag(P)))

    def descent(self, Z: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E / unit and its gradient; infinite outside the domain of the kernel."""
        check_cancelled()
        f, g = np.full(len(Z), np.inf), np.zeros(Z.shape)
        inside = np.flatnonzero(self._inside(Z))
        if not len(inside):
            return f, g
        P, C = self.kernel.prepare(Z[inside]), self.coef[rows[inside]]
        f[inside] = self.value(P, self.kernel.pairwise(P, self.prepared), rows[inside])
        g[inside] = -2 * self.kernel.grad_input(P, self.prepared, C)
        if not self._level:
            g[inside] += _own_gradient(self.kernel, Z[inside])
        return f / self.unit, g / self.unit

    def _inside(self, Z: np.ndarray) -> np.ndarray:
        domain = self.kernel.domain.whole
        if domain.kind == "ball":
            return np.asarray(np.einsum("ij,ij->i", Z, Z) < domain.extent[0] ** 2)
        if domain.kind == "interval":
            low, high = domain.extent
            return np.asarray(np.all((low <= Z) & (high >= Z), axis=1))
        return np.ones(len(Z), dtype=bool)


Search = Callable[[Goal, np.ndarray, np.ndarray, float, int], Found]


def fixed_point(goal: Goal, rows: np.ndarray, Z: np.ndarray, tol: float, max_iter: int) -> Found:
    r"""Mika's iteration for radial kernels k(x, y) = g(||x - y||^2).

    .. math:: z \leftarrow \sum_i w_i x_i \Big/ \sum_i w_i, \qquad
              w_i = -\gamma_i\, g'(\|z - x_i\|^2)

    With sum_i w_i > 0 the step points downhill, and it is halved until E does not grow. Without,
    the iteration is lost.
    """
    Z = np.array(Z, dtype=np.float64)
    f, n_iter = np.full(len(Z), np.inf), np.zeros(len(Z), dtype=int)
    step = np.zeros(Z.shape)
    converged, lost = np.zeros(len(Z), dtype=bool), np.zeros(len(Z), dtype=bool)
    active = np.arange(len(Z))
    for _ in range(max_iter + 1):
        check_cancelled()
        trial = Z[active] + step[active]
        P = goal.kernel.prepare(trial)
        K, A = attraction(goal.kernel, P, goal.prepared)
        value = goal.value(P, K, rows[active])
        down = value <= f[active]
        at = active[down]
        Z[at], f[at] = trial[down], value[down]
        W = goal.coef[rows[at]] * A[down]
        total, terms = W.sum(axis=1), np.abs(W).sum(axis=1)
        lost[at] = (total <= _VANISHING * terms) | goal.unseen(K[down])
        fine = ~lost[at]
        step[at[fine]] = W[fine] @ goal.points / total[fine, None] - Z[at[fine]]
        step[active[~down]] /= 2
        moves = np.linalg.norm(step[active], axis=1)
        converged[active] = (moves <= tol * goal.scale) & ~lost[active]
        step[active] *= np.minimum(1, _LONGEST * goal.scale / np.maximum(moves, 1e-300))[:, None]
        active = active[~(converged[active] | lost[active])]
        n_iter[active] += 1
        if not len(active):
            break
    return Found(Z, f, converged, lost, np.minimum(n_iter, max_iter))


def gradient_descent(
    goal: Goal, rows: np.ndarray, Z: np.ndarray, tol: float, max_iter: int
) -> Found:
    """L-BFGS on E, for any kernel with gradients."""

    def objective(trial: np.ndarray, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return goal.descent(trial, rows[which])

    best = minimise_rows(objective, Z, scale=goal.scale, tol=tol, max_iter=max_iter)
    P, value = goal.kernel.prepare(best.x), best.value * goal.unit
    lost = goal.unseen(goal.kernel.pairwise(P, goal.prepared)) | goal.repelled(P, value)
    return Found(best.x, value, best.converged & ~lost, lost, best.n_iter)


def search(way: Search, goal: Goal, rows: np.ndarray, Z: np.ndarray, *limits: Any) -> Found:
    """The functions ``rows`` of the goal from the starts Z, in strips, on all cores."""
    strips = slices(len(rows), max(1, _BLOCK // len(goal.points)))
    parts: list[Found | None] = [None] * len(strips)

    def one(place: int) -> None:
        at = strips[place]
        parts[place] = way(goal, rows[at], Z[at], *limits)

    run(one, range(len(strips)))
    names = ("x", "value", "converged", "lost", "n_iter")
    return Found(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def from_starts(
    goal: Goal, ways: Sequence[Search], start: Any, limits: Limits, rng: np.random.Generator
) -> Found:
    """Search from the start; where that breaks down, from other starts; keep what is best.

    Searches that the first method does not finish soon are continued by the second, if there is
    one.
    """
    everyone = np.arange(len(goal.coef))
    given = start is not None
    Z = _checked(start, goal) if given else Starts(goal, everyone).best()
    most = limits.max_iter if len(ways) == 1 else min(limits.max_iter, _SOON)
    found = search(ways[0], goal, everyone, Z, limits.tol, most)
    lost = everyone[found.lost]
    starts = Starts(goal, lost) if len(lost) and limits.n_restarts else None
    for attempt in range(limits.n_restarts if starts else 0):
        assert starts is not None
        Z = starts.best() if given and attempt == 0 else starts.draw(rng)
        _keep_better(found, lost, search(ways[0], goal, lost, Z, limits.tol, most))
        starts, lost = starts.of(found.lost[lost]), lost[found.lost[lost]]
        if not len(lost):
            break
    late = everyone[~found.converged & ~found.lost]
    if len(late) and most < limits.max_iter:
        rest = limits.max_iter - most
        _keep_better(found, late, search(ways[1], goal, late, found.x[late], limits.tol, rest))
    return found


def _keep_better(found: Found, rows: np.ndarray, again: Found) -> None:
    better = again.value <= found.value[rows]
    for name in ("x", "value", "converged", "lost"):
        getattr(found, name)[rows[better]] = getattr(again, name)[better]
    found.n_iter[rows] += again.n_iter


class Starts:
    """Centres to start from: at most a thousand, with the values of the functions there."""

    def __init__(self, goal: Goal, rows: np.ndarray) -> None:
        n = len(goal.points)
        some = evenly(n, _STARTS)
        part = RKHSFunction(goal.kernel, goal.points, goal.coef[rows].T)
        self.points = goal.points[some]
        self.values = part(self.points).T
        self.own = goal.kernel.diag(goal.kernel.prepare(self.points)).astype(np.float64)

    def best(self) -> np.ndarray:
        """The nearest of these centres in H_k."""
        return np.asarray(self.points[np.argmin(self.own - 2 * self.values, axis=1)])

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """Random ones, in proportion to the values of the functions where these are positive."""
        weights = np.cumsum(np.maximum(self.values, 0) + 1e-300, axis=1)
        at = rng.uniform(size=(len(weights), 1)) * weights[:, -1:]
        return np.asarray(self.points[np.sum(weights < at, axis=1)])

    def of(self, which: np.ndarray) -> Starts:
        """The same for some of the functions."""
        part = copy(self)
        part.values = self.values[which]
        return part


def _checked(start: Any, goal: Goal) -> np.ndarray:
    Z: Any = as_vectors(start, "start")
    Z = np.array(as_dense(Z), dtype=np.float64)
    wanted = (len(goal.coef), goal.points.shape[1])
    if Z.size == wanted[1] and wanted[0] == 1:
        Z = Z.reshape(wanted)
    if Z.shape != wanted:
        raise ValueError(f"start must have shape {wanted}, one row per function, got {Z.shape}.")
    goal.kernel.prepare(Z)
    return Z


def _own_gradient(kernel: Kernel, Z: np.ndarray) -> np.ndarray:
    """The gradient of k(z, z): twice that by one argument, as k is symmetric."""
    parts = []
    for at in slices(len(Z), _OWN):
        P = kernel.prepare(Z[at])
        own = kernel.grad_input(P, P, 2 * np.eye(len(Z[at])))
        parts.append(np.broadcast_to(own, Z[at].shape))
    return np.concatenate(parts)
