"""Steps of Newton's method for losses of features, on all samples or on a few that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gram.phi import FewPhi, Phi
from .falkon import PRECISIONS
from .sampled import Preconditioner, conjugate_gradients, inner
from .task import Bend, Slope, Task
from .watch import Watch

_INNER = 60  # steps of conjugate gradients for one of them
_LOOSE = 0.1  # of a gradient that may be left of it, in the norm of the preconditioner
_STEPS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4)
_ARMIJO = 1e-4
_HALF = 0.5  # of the excess that is left: a step is good, whatever rounding says of losses
_FACTORS = 6e7  # entries of factors beyond which problems share one
_CHANGED = 0.1  # of all curvatures, at which a preconditioner is made anew
_FLOOR = 1e-4  # of the mean curvature, that constants have at least in a preconditioner


@dataclass
class State:
    """Where a minimisation is."""

    V: np.ndarray
    G: np.ndarray  # the gradient of all
    value: np.ndarray  # the objectives
    start: np.ndarray  # those of constants
    excess: np.ndarray  # of the objectives over their minima, as the preconditioner sees it
    n_iter: int = 0

    def violation(self) -> np.ndarray:
        """The excess as a part of what is explained."""
        size = np.maximum(self.start - self.value, 1e-15 * np.abs(self.start))
        return self.excess / np.where(size > 0, size, 1.0)


class Minimiser:
    """Newton's method for one task, on all samples or on a few that are stored.

    Parameters
    ----------
    phi : Phi
        The features, beside targets and weights.
    some : FewPhi
        Those of a few samples, for preconditioners.
    task : Task
        The losses.
    alpha : float
        The penalty.
    start : array of shape (t,)
        The best constants, with which what is explained is compared; their objectives.
    """

    def __init__(self, phi: Phi, some: FewPhi, task: Task, alpha: float, start: np.ndarray) -> None:
        self.phi, self.some, self.task, self.alpha, self.start = phi, some, task, alpha, start
        self.penalty = phi.penalty(alpha)
        self.dtype: Any = PRECISIONS[0]
        self.kept: tuple[np.ndarray, Preconditioner] | None = None

    def gradient(self, V: np.ndarray, dtype: Any, corners: bool = False) -> tuple[Any, Any, Any]:
        """Gradient, objectives, and what corners cost, in one pass."""
        between = Slope(self.task, corners=corners)
        G, (values, extra) = self.phi.through(V, between, V.shape[1], dtype)
        return G + self.penalty * V, values[0] + self._norms(V, V), extra

    def _norms(self, V: np.ndarray, D: np.ndarray) -> np.ndarray:
        """alpha <v, d> / 2 of each problem."""
        each = np.einsum("ij,ij->j", V, self.penalty * D) / 2
        return np.atleast_1d(each.sum()) if self.task.joint else each

    def precondition(self, V: np.ndarray) -> Preconditioner:
        """From the curvatures at the scores of the few samples; kept while these hardly change."""
        some, scale = self.some, self.phi.n / self.some.n
        h = scale * self.task.typical_curvature(some.chunk, some.scores(V))
        if h.shape[1] * some.size**2 > _FACTORS:
            h = h.mean(axis=1, keepdims=True)
        if self.kept is None or np.abs(h - self.kept[0]).sum() > _CHANGED * h.sum():
            self.kept = h, self._factors(h, V.shape[1])
        return self.kept[1]

    def _factors(self, h: np.ndarray, t: int) -> Preconditioner:
        some = self.some
        matrices = [some.curvatures(column, self.alpha) for column in h.T]
        floor = _FLOOR * max(float(h.sum()) / h.shape[1], self.alpha)
        return Preconditioner(self.phi, matrices, np.full(t, self.alpha), floor)

    def run(self, V: np.ndarray, goal: float, most: int, watch: Watch, n_iter: int = 0) -> State:
        """Steps until the violation is at most ``goal``, or nothing gets better."""
        G, value, _ = self.gradient(V, self.dtype)
        P = self.precondition(V)
        state = State(V, G, value, self.start, self.excess(P, G), n_iter)
        while float(state.violation().max(initial=0.0)) > goal and state.n_iter < most:
            new = self._step(state, P, goal)
            if new is None:
                break
            state = new
            P = self.precondition(state.V)
            state.excess = self.excess(P, state.G)
            error = float(state.violation().max(initial=0.0))
            if watch(state.n_iter, error, goal, {"coef": state.V}):
                break
        return state

    def excess(self, P: Preconditioner, G: np.ndarray) -> np.ndarray:
        joint = self.task.joint
        return inner(G, P(G), joint)[: 1 if joint else None] / 2

    def _step(self, state: State, P: Preconditioner, goal: float) -> State | None:
        """One Newton step; None if it makes nothing better."""
        joint, V, G = self.task.joint, state.V, state.G
        violation = np.broadcast_to(state.violation(), V.shape[1])
        excess = np.broadcast_to(state.excess, V.shape[1])
        needed = 0.3 * goal / np.maximum(violation, goal)
        enough = 2 * excess * np.maximum(needed, np.minimum(_LOOSE, violation) * _LOOSE)
        enough = np.where(violation > goal, enough, np.inf)  # others have converged

        def product(D: np.ndarray, at: np.ndarray) -> np.ndarray:
            between = Bend(self.task.part(at), None if joint else at)
            both = np.hstack([V[:, at], D])
            return self.phi.through(both, between, len(at), self.dtype)[0] + self.penalty * D

        D, _ = conjugate_gradients(product, P, -G, enough, _INNER, joint=joint)
        between = Slope(self.task, _STEPS)
        new, (values, _) = self.phi.through(np.hstack([V, D]), between, V.shape[1], self.dtype)
        new = new + self.penalty * (V + D)
        slope, bend = 2 * self._norms(V, D), self._norms(D, D)
        t = np.array(_STEPS)[:, None]
        values = values + self._norms(V, V) + t * slope + t * t * bend
        fall = inner(G, D, joint)[: len(state.excess)]
        fine = values <= state.value + _ARMIJO * t * fall
        fine[0] |= self.excess(P, new) <= _HALF * state.excess
        moves = np.broadcast_to(violation > goal, V.shape[1])[: len(state.excess)]
        first = np.argmax(fine, axis=0)
        length = np.where(fine.any(axis=0), np.array(_STEPS)[first], 0.0)
        if not np.any(length[moves] > 0):
            return None
        length = np.broadcast_to(np.where(moves, length, 0.0), V.shape[1])
        V = V + length * D
        found = State(V, new, values[0], state.start, state.excess, state.n_iter + 1)
        if np.any((length < 1) & np.any(D, axis=0)):
            found.G, found.value, _ = self.gradient(V, self.dtype)
        return found
