r"""Any convex loss through M features of any number of samples, which are never stored.

.. math:: \min_{v, b} \sum_i w_i L(y_i, \langle v, \phi(x_i) \rangle + b) + \tfrac{\alpha}{2} \|v\|^2

Newton's method: a step solves (Phi' D Phi + alpha) d = -gradient with curvatures D by conjugate
gradients, preconditioned by the matrix of a few samples (:mod:`mercer.solvers.sampled`), from the
solution of the problem of these samples alone. Scores are recomputed wherever they are needed, so a
step of conjugate gradients is one pass, and so are the losses at several step lengths with the
gradient at the first of them. Several problems on the same samples share all passes.

A loss with corners is smoothed, by less and less, until that costs less than is asked for.

References: Marteau-Ferey, Bach & Rudi, *Globally convergent Newton methods for ill-conditioned
generalized self-concordant losses*, NeurIPS 2019; Roosta-Khorasani & Mahoney, *Sub-sampled Newton
methods*, 2019; Chapelle, *Training a support vector machine in the primal*, 2007.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chunks.base import Chunk, Sums
from ..gram.phi import Phi, StoredPhi, StreamedPhi
from .falkon import PRECISIONS, ROUNDING
from .representer import MachineSolution
from .sampled import Preconditioner, conjugate_gradients, curvatures_of, inner, sample_of
from .task import Bend, Slope, Task, weight_of
from .watch import Watch

_NEWTON = 100  # steps, at most
_INNER = 60  # steps of conjugate gradients for one of them
_LOOSE = 0.1  # of a gradient that may be left of it, in the norm of the preconditioner
_STEPS = (1.0, 0.5, 0.25, 0.1, 0.03, 0.01, 1e-3, 1e-4)
_ARMIJO = 1e-4
_HALF = 0.5  # of the excess that is left: a step is good, whatever rounding says of losses
_FACTORS = 6e7  # entries of factors beyond which problems share one
_FIRST = 0.3  # of the spread of targets, by which corners are rounded first
_SHRINK = (0.1, 0.5)  # factors of that width from one round to the next
_WIDTHS = 12  # rounds
_ROUND = 1e-3  # of what is explained: to which all but the last are solved
_FEW = 1e-4  # of what is explained: to which the problem of a few samples is solved
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
    some : StoredPhi
        Those of a few samples, for preconditioners.
    task : Task
        The losses.
    alpha : float
        The penalty.
    start : array of shape (t,)
        The best constants, with which what is explained is compared; their objectives.
    """

    def __init__(
        self, phi: Phi, some: StoredPhi, task: Task, alpha: float, start: np.ndarray
    ) -> None:
        self.phi, self.some, self.task, self.alpha, self.start = phi, some, task, alpha, start
        self.penalty, self.dtype = phi.penalty(alpha), PRECISIONS[0]
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
        matrices = [curvatures_of(some, column, self.alpha) for column in h.T]
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


def solve_streamed(
    phi: StreamedPhi,
    losses: list[Any],
    alpha: float,
    *,
    scores: int | None = None,
    tol: float = 1e-6,
    max_iter: int | None = None,
    rng: np.random.Generator | None = None,
    limit: float = np.inf,
    watch: Watch | None = None,
    start: np.ndarray | None = None,
) -> MachineSolution:
    """Minimise sum_i w_i L(y_i, f(x_i) + b) + alpha ||f||^2 / 2, for one or several columns.

    Parameters
    ----------
    phi : StreamedPhi
        The features, beside targets and weights: one column of targets for each problem, or one
        for all, or codes of classes.
    losses : list of Loss
        One for each problem, or one for all.
    alpha : float
        The penalty, > 0.
    scores : int, optional
        The number of columns; by default one for each loss.
    tol : float
        By how much an objective may exceed its minimum: as a part of what f explains, for a
        smooth loss; of the objective, for one with corners.
    max_iter : int, optional
        Most Newton steps, by default 100.
    rng : numpy.random.Generator, optional
        Draws the samples of the preconditioner.
    limit : float
        Bytes that may be used.
    watch : Watch, optional
        What goes on beside.
    start : array of shape (M, t), optional
        Coefficients to begin with, such as those of another penalty.

    Returns
    -------
    MachineSolution
        Coefficients of features in ``weights``. ``stats`` has the certificate, from a last pass in
        double precision: ``violation``, what is compared with tol; ``gap``, the duality gap, a
        proven bound of the excess: |gradient|^2 / (2 alpha), for slopes of the loss are a point of
        the dual, and what corners cost, sum_i w_i (L(F) + L*(u) - u F).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Nystrom
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.implicit import ImplicitGram
    >>> from mercer.losses import Logistic
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> K = ImplicitGram(Nystrom(Gaussian(1.0), X[::50]), ArrayChunks(X), X)
    >>> found = solve_streamed(K.stream(np.sign(np.sin(X[:, 0]) + 0.1)), [Logistic()], 0.1)
    >>> found.converged, found.weights.shape
    (True, (10, 1))
    """
    begin, rng, watch = time.perf_counter(), rng or np.random.default_rng(0), watch or Watch()
    some = sample_of(phi, rng, limit)
    task, t = Task(losses, losses[0].targets == "classes"), scores or len(losses)
    constant, spread = _constants(task, some, t)
    constant = constant if phi.intercept else np.zeros(t)
    with watch:
        kept = watch.resume(
            "newton", phi.n, phi.size, alpha, repr(losses), task.targets(some.chunk)
        )
        n_iter, V = 0, start
        if kept is not None:
            n_iter, V = kept[0], kept[1]["coef"]
        elif V is None:
            V = np.zeros((phi.size, t))
            if phi.intercept:
                V[-1] = constant
        most, few = n_iter + (max_iter or _NEWTON), kept is None and start is None
        search = Search(phi, some, alpha, constant, most, watch)
        if task.smooth:
            found = search.smooth(task, V, tol, n_iter, few)
        else:
            found = search.sharp(task, V, tol, n_iter, spread)
    return _solution(found, phi, tol, watch, begin)


@dataclass
class Found:
    """Coefficients with their certificate, problem by problem."""

    V: np.ndarray
    n_iter: int
    value: np.ndarray
    violation: np.ndarray
    gap: np.ndarray
    corners: np.ndarray
    start: np.ndarray


class Search:
    """A task on all samples, from a few of them, with a certificate at the end.

    Parameters
    ----------
    phi : StreamedPhi
        The features of all samples.
    some : StoredPhi
        Those of a few.
    alpha : float
        The penalty.
    constant : array of shape (t,)
        The best constants.
    most : int
        The most Newton steps.
    watch : Watch
        What goes on beside.
    """

    def __init__(
        self,
        phi: StreamedPhi,
        some: StoredPhi,
        alpha: float,
        constant: np.ndarray,
        most: int,
        watch: Watch,
    ) -> None:
        self.phi, self.some, self.alpha, self.constant = phi, some, alpha, constant
        self.most, self.watch = most, watch

    def smooth(self, task: Task, V: np.ndarray, goal: float, n_iter: int, few: bool) -> Found:
        """A smooth task, from the solution of the few samples if that is asked for."""
        phi, some, watch = self.phi, self.some, self.watch
        (start,) = phi.chunks.reduce(AtConstants(task, self.constant))
        if few and some.n < phi.n:
            share = some.n / phi.n
            part = Minimiser(some, some, task, self.alpha * share, start * share)
            with Watch() as alone:
                V = part.run(V, max(goal, _FEW), _NEWTON, alone).V
        whole = Minimiser(phi, some, task, self.alpha, start)
        for level in range(len(PRECISIONS)):
            whole.dtype = PRECISIONS[level]
            state = whole.run(V, 0.5 * goal, self.most, watch, n_iter)
            V, n_iter = state.V, state.n_iter
            if watch.best is not None:
                V = watch.best["coef"]
            G, value, corners = whole.gradient(V, np.float64, corners=task.width is not None)
            violation = State(V, G, value, start, whole.excess(whole.precondition(V), G)).violation()
            if violation.max(initial=0.0) <= goal or watch.stopped or n_iter >= self.most:
                break
        squares = inner(G, G, task.joint)[: len(value)]
        gap = squares / (2 * self.alpha) + corners
        return Found(V, n_iter, value, violation, gap, corners, start)

    def sharp(self, task: Task, V: np.ndarray, tol: float, n_iter: int, spread: float) -> Found:
        """A task with corners: smoothed by less and less, until that costs a third of tol."""
        width, few, goal = _FIRST * spread, True, _ROUND
        for _ in range(_WIDTHS):
            found = self.smooth(task.smoothed(width), V, goal, n_iter, few)
            V, n_iter, few = found.V, found.n_iter, False
            size = np.maximum(np.abs(found.value), np.finfo(float).tiny)
            costs = float(np.max(found.corners / size))
            share = float(np.min(size / np.maximum(found.start - found.value, 1e-3 * size)))
            least = 0.3 * tol * max(share, 1.0)  # the same excess, as a part of what is explained
            done = costs <= 0.5 * tol
            if (done and goal <= least) or self.watch.stopped or n_iter >= self.most:
                break
            goal = least if done else max(least, min(_ROUND, 0.1 * costs))
            # what corners cost falls with the width, or with its square
            width *= 1.0 if done else float(np.clip(0.4 * tol / costs, *_SHRINK))
        found.violation = np.maximum(found.corners / size, 0.0) + found.violation / max(share, 1.0)
        return found


@dataclass
class AtConstants:
    """A pass over targets alone: the losses at constants."""

    task: Task
    constant: np.ndarray

    def __call__(self, chunk: Chunk) -> Sums:
        F = np.broadcast_to(self.constant, (len(chunk), len(self.constant)))
        return (self.task.values(self.task.targets(chunk), F, weight_of(chunk)),)


def _constants(task: Task, some: StoredPhi, t: int) -> tuple[np.ndarray, float]:
    """The best constants for a few samples, and the spread of their targets."""
    y, w = task.targets(some.chunk), weight_of(some.chunk)
    real = task.losses[0].targets == "real"
    spread = (float(np.std(y)) or 1.0) if real else 1.0
    if task.joint:
        logs = np.log(np.bincount(y, w, minlength=t) + 0.5)
        return logs - logs.mean(), spread
    losses = task.losses * (t if len(task.losses) == 1 else 1)
    columns = (y[:, j % y.shape[1]] for j in range(t))
    each = [loss.constant(c, w)[0] for loss, c in zip(losses, columns, strict=True)]
    return np.asarray(each), spread


def _solution(
    found: Found, phi: StreamedPhi, tol: float, watch: Watch, begin: float
) -> MachineSolution:
    worst = float(found.violation.max(initial=0.0))
    converged = worst <= max(tol, ROUNDING) or bool(watch.stopped)
    message = watch.stopped or "optimal"
    if not converged:
        message = (
            f"passes stopped after {found.n_iter} Newton steps with a violation of {worst:.1e} "
            f"where tol={tol:g} was asked for; raise alpha, tol or max_iter, or scale the data."
        )
    t = found.V.shape[1]
    weights, b = found.V, np.zeros(t)
    if phi.intercept:
        weights, b = weights[:-1], weights[-1]
    stats = {
        "method": "passes",
        "violation": worst,
        "gap": float(found.gap.max(initial=0.0)),
        "objective": float(found.value.sum()),
        "seconds": time.perf_counter() - begin,
    }
    nothing = np.zeros((0, t))
    return MachineSolution(nothing, converged, found.n_iter, message, stats, b, weights=weights)
