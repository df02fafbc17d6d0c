"""Steps of Newton's method for losses of features, on all samples or on a few that are stored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gram.factors import Solve
from ..gram.phi import FewPhi, Phi
from .corners import Near, Path
from .falkon import PRECISIONS, ROUNDING
from .sampled import Preconditioner, conjugate_gradients, inner
from .task import Bend, Slope, Task
from .watch import Watch

_INNER = 60  # steps of conjugate gradients for one of them
_LOOSE = 0.1  # of a gradient that may be left of it, in the norm of the preconditioner
_STEPS = tuple(0.25**i for i in range(8))
_ARMIJO = 1e-4
_HALF = 0.5  # of the excess that is left: a step is good, whatever rounding says of losses
_FACTORS = 6e7  # entries of factors beyond which problems share one
_CHANGED = 0.1  # a preconditioner is recomputed when this part of the curvatures has changed
_FLOOR = 1e-4  # of the mean curvature, that constants have at least in a preconditioner


@dataclass
class State:
    """Where a minimisation is: arrays with an entry, or a column, for each problem."""

    V: np.ndarray
    G: np.ndarray  # the gradient of all
    value: np.ndarray  # the objectives
    size: np.ndarray  # what the excess is compared with
    corners: np.ndarray  # what it costs that corners are rounded, as a part of that
    excess: np.ndarray  # of the objectives over their minima, as the preconditioner sees it
    n_iter: int = 0

    def violation(self) -> np.ndarray:
        """The relative excess."""
        return self.excess / self.size

    def some(self, at: np.ndarray) -> State:
        """That of some problems, each of which has one column."""
        return State(
            self.V[:, at], self.G[:, at], self.value[at], self.size[at], self.corners[at],
            self.excess[at],
        )  # fmt: skip

    def put(self, at: np.ndarray, new: State) -> None:
        """Some problems are where another state is."""
        self.V[:, at], self.G[:, at] = new.V, new.G
        self.value[at], self.size[at], self.corners[at] = new.value, new.size, new.corners


class Minimiser:
    """Newton's method for one task, on all samples or on a few that are stored.

    Parameters
    ----------
    phi : Phi
        The features, with targets and weights.
    some : FewPhi
        Those of a few samples, for preconditioners.
    task : Task
        The losses; how much their corners are rounded may become less.
    alpha : float
        The penalty.
    known : array of shape (t,)
        The objectives at the best constants: what is explained is the improvement on them. With
        corners, the objectives that are as good as 0.
    near : Near, optional
        Draws samples near to corners for preconditioners.
    """

    def __init__(
        self,
        phi: Phi,
        some: FewPhi,
        task: Task,
        alpha: float,
        known: np.ndarray,
        near: Near | None = None,
    ) -> None:
        self.phi, self.some, self.task, self.alpha = phi, some, task, alpha
        self.known, self.near = known, near
        self.penalty = phi.penalty(alpha)
        self.dtype: Any = PRECISIONS[0]
        self.curved: np.ndarray | None = None
        self.solves: list[Solve] = []
        # eigenvalues of P^-1 H: the smallest seen by steps, if there were any; and has P been
        # recomputed since?
        self.lowest, self.seen, self.anew = np.ones(0), *np.zeros((2, 0), dtype=bool)

    # ---- where a minimisation is -------------------------------------------------------------
    def at(self, V: np.ndarray, n_iter: int = 0, columns: np.ndarray | None = None) -> State:
        """Gradient, objectives, and what corners cost, in one pass; of some columns."""
        task = self.task if columns is None else self.task.part(columns)
        between = Slope(task, columns)
        G, (values, extra) = self.phi.through(V, between, V.shape[1], self.dtype)
        return self._state(V, G, values[0], extra, columns, n_iter)

    def _state(
        self,
        V: np.ndarray,
        G: np.ndarray,
        value: np.ndarray,
        extra: np.ndarray,
        columns: np.ndarray | None,
        n_iter: int,
    ) -> State:
        known = self.known if columns is None else self.known[columns]
        norms = self._norms(V, V)
        value = value + norms
        if self.task.width is None:
            size = np.maximum(known - value, 1e-15 * np.abs(known))
        else:
            size = np.maximum(extra[0] + norms, known)
        size = np.where(size > 0, size, 1.0)
        corners = np.maximum(extra[1], 0.0) / size
        nothing = np.zeros(len(value))
        return State(V.copy(), G + self.penalty * V, value, size, corners, nothing, n_iter)

    def _norms(self, V: np.ndarray, D: np.ndarray) -> np.ndarray:
        """alpha <v, d> / 2 of each problem."""
        each = np.einsum("ij,ij->j", V, self.penalty * D) / 2
        return np.atleast_1d(each.sum()) if self.task.joint else each

    def judge(self, state: State) -> Preconditioner:
        """The excess, g' P^-1 g / 2 over the smallest eigenvalue of P^-1 H; P is returned."""
        P = self.precondition(state.V)
        state.excess = self._excess(state.G, P(state.G), np.arange(state.V.shape[1]))
        state.excess = state.excess[: len(state.value)]
        return P

    def _excess(self, G: np.ndarray, Z: np.ndarray, at: np.ndarray) -> np.ndarray:
        return inner(G, Z, self.task.joint) / (2 * self.lowest[at])

    # ---- preconditioners -----------------------------------------------------------------------
    def precondition(self, V: np.ndarray) -> Preconditioner:
        """From the curvatures at the scores of the few samples; kept where these hardly change."""
        some, t = self.some, V.shape[1]
        if len(self.lowest) != t:
            self.lowest, self.seen, self.anew = np.ones(t), *np.zeros((2, t), dtype=bool)
        if self.near is None:
            scale = self.phi.n / some.n
            h = scale * self.task.curvature(some.chunk, some.scores(V))
        else:
            some, h, new = self.near.samples(self.task, V)
            if new:
                self.curved = None
        if h.shape[1] * some.size**2 > _FACTORS:
            h = h.mean(axis=1, keepdims=True)
        if self.curved is None:
            self.curved, self.solves = np.full_like(h, np.inf), [lambda R: R] * h.shape[1]
        moved = np.abs(h - self.curved).sum(axis=0) > _CHANGED * h.sum(axis=0)
        for j in np.flatnonzero(moved):
            penalty = self.phi.penalty(self.alpha)[:, 0]
            if self.phi.intercept:
                penalty[-1] = _FLOOR * max(float(h[:, j].sum()), self.alpha)
            self.solves[j] = some.curvatures(h[:, j], self.alpha).factor(penalty, int(j))
        self.curved[:, moved] = h[:, moved]
        self.anew |= moved
        return Preconditioner.of(self.solves, t)

    # ---- steps ---------------------------------------------------------------------------------
    def run(
        self,
        V: np.ndarray,
        goal: float,
        most: int,
        watch: Watch,
        n_iter: int = 0,
        path: Path | None = None,
    ) -> State:
        """Steps until the violation is at most ``goal``, or nothing gets better.

        Along a ``path``, problems that have reached its goal continue with narrower corners. It
        ends: a round either takes one of at most ``most`` steps, or narrows a problem, which a path
        does a limited number of times.
        """
        state = self.at(V, n_iter)
        P, goals = self.judge(state), np.full(len(state.value), goal)
        while True:
            if path is not None:
                narrowed = path.narrow(self.task, state.violation(), state.corners)
                if len(narrowed):
                    state.put(narrowed, self.at(state.V[:, narrowed], n_iter, narrowed))
                    P = self.judge(state)
                    continue
                goals = path.goals(state.corners)
            # without a step on P^-1 H, the quality of the preconditioner is unknown
            unseen = ~self.seen[: len(goals)] & (state.excess > ROUNDING * state.size)
            wanted = np.flatnonzero((state.violation() > goals) | unseen)
            if not len(wanted) or state.n_iter >= most:
                break
            new = self._step(state, P, goals, wanted)
            if new is None:
                break
            state, P = new, self.judge(new)
            worst = np.argmax(state.violation() / goals)
            kept = {"coef": state.V} if path is None else {"coef": state.V, "width": path.width}
            if watch(state.n_iter, float(state.violation()[worst]), float(goals[worst]), kept):
                break
        return state

    def _step(
        self, state: State, P: Preconditioner, goals: np.ndarray, wanted: np.ndarray
    ) -> State | None:
        """One Newton step of some problems; None if it makes nothing better."""
        joint, t = self.task.joint, state.V.shape[1]
        at = np.arange(t) if joint else wanted
        violation, excess = state.violation()[wanted], state.excess[wanted]
        needed = 0.3 * np.minimum(goals[wanted] / violation, 1.0)
        share = np.maximum(needed, np.minimum(_LOOSE, violation) * _LOOSE)
        # an eigenvalue of another preconditioner says nothing of this one
        lowest = np.where(self.anew, 1.0, self.lowest)
        goal = np.full(t, np.inf)  # others have converged
        goal[at] = 2 * excess * share * (self.lowest / lowest)[at]

        def product(D: np.ndarray, here: np.ndarray) -> np.ndarray:
            between = Bend(self.task.part(here), None if joint else here)
            both = np.hstack([state.V[:, here], D])
            return self.phi.through(both, between, len(here), self.dtype)[0] + self.penalty * D

        D, _ = conjugate_gradients(product, P, -state.G, goal, _INNER, joint=joint, lowest=lowest)
        excess = excess * (self.lowest / lowest)[at][: len(wanted)]
        self.lowest[at], self.seen[at], self.anew[at] = lowest[at], True, False
        V, G, D = state.V[:, at], state.G[:, at], D[:, at]
        own = None if joint else at
        between = Slope(self.task.part(at), own, _STEPS)
        U, (values, extra) = self.phi.through(np.hstack([V, D]), between, len(at), self.dtype)
        steps = np.array(_STEPS)[:, None]
        values = values + self._norms(V, V) + 2 * steps * self._norms(V, D)
        values += steps**2 * self._norms(D, D)
        fall = inner(G, D, joint)[: len(wanted)]
        fine = values <= state.value[wanted] + _ARMIJO * steps * fall
        new = self._state(V + D, U, values[0] - self._norms(V + D, V + D), extra, own, 0)
        left = self._excess(new.G, P(new.G, at), at)[: len(wanted)]
        fine[0] |= left <= _HALF * excess
        best = np.argmin(np.where(fine, values, np.inf), axis=0)
        length = np.where(fine.any(axis=0), np.array(_STEPS)[best], 0.0)
        if not np.any(length > 0):
            return None
        found = State(
            state.V.copy(), state.G.copy(), state.value.copy(), state.size.copy(),
            state.corners.copy(), state.excess, state.n_iter + 1,
        )  # fmt: skip
        if joint:
            if length[0] == 1:
                new.n_iter = found.n_iter
                return new
            return self.at(V + length * D, found.n_iter)
        whole, part = np.flatnonzero(length == 1), np.flatnonzero((length < 1) & (length > 0))
        found.put(at[whole], new.some(whole))
        if len(part):
            V = V[:, part] + length[part] * D[:, part]
            found.put(at[part], self.at(V, columns=at[part]))
        return found
