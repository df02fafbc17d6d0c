r"""Any convex loss through M features of any number of samples, which are never stored.

.. math:: \min_{v, b} \sum_i w_i L(y_i, \langle v, \phi(x_i) \rangle + b)
          + \tfrac{\alpha}{2} \|v\|^2

Newton's method: a step solves (Phi' D Phi + alpha) d = -gradient with curvatures D by conjugate
gradients, preconditioned by the matrix of a few samples (:mod:`mercer.solvers.sampled`), from the
solution of the problem of these samples alone. Scores are recomputed wherever they are needed, so a
step of conjugate gradients is one pass, and so are the losses at several step lengths with the
gradient at the first of them. Several problems on the same samples share all passes.

The corners of a loss are rounded, by less and less, until the cost is within the tolerance
(:mod:`mercer.solvers.corners`).

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
from ..gram.phi import FewPhi, StreamedPhi
from .corners import Near, Path
from .falkon import PRECISIONS, ROUNDING
from .inexact_newton import Minimiser
from .representer import MachineSolution, spread_of
from .streamed_gap import proven_gap
from .task import Task, weight_of
from .watch import Watch

_NEWTON = 100  # steps, at most
_FIRST = 0.1  # of the spread of targets, by which corners are rounded first
_ZERO = 1e-9  # of that spread: losses that are as good as none
_FEW = 1e-4  # of what is explained: to which the problem of a few samples is solved
_ROUGH = 1e-3  # of the objective: the same, with corners


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
        The features, with targets and weights: one column of targets for each problem, or one for
        all, or codes of classes.
    losses : list of Loss
        One for each problem, or one for all.
    alpha : float
        The penalty, > 0.
    scores : int, optional
        The number of columns; by default one for each loss.
    tol : float
        By how much an objective may exceed its minimum: relative to what f explains, for a
        smooth loss; of the objective, for one with corners.
    max_iter : int, optional
        Maximum number of Newton steps, by default 100.
    rng : numpy.random.Generator, optional
        Used to draw the samples of the preconditioner.
    limit : float
        Bytes that may be used.
    watch : Watch, optional
        Monitoring of the solver.
    start : array of shape (M, t), optional
        Coefficients to begin with, such as those of another penalty.

    Returns
    -------
    MachineSolution
        Coefficients of features in ``weights``. ``stats`` has the certificate, from last passes in
        double precision: ``violation``, what is compared with tol, g' P^-1 g / 2 for the gradient g
        and the preconditioner P, over the smallest eigenvalue of P^-1 H that steps have seen, and
        what corners cost; ``gap``, a proven bound of the excess
        (:func:`mercer.solvers.streamed_gap.proven_gap`).

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
    task, t = Task(losses, losses[0].targets == "classes"), scores or len(losses)
    some = phi.few(rng, limit, 1 if task.smooth else t)
    constant, spread = _constants(task, some, t)
    constant = constant if phi.intercept else np.zeros(t)
    with watch:
        kept = watch.resume(
            "newton", repr(phi.gram.kernel), phi.n, phi.size, alpha, repr(losses),
            task.targets(some.chunk),
        )  # fmt: skip
        n_iter, V, width = 0, start, np.full(t, _FIRST * spread)
        if kept is not None:
            n_iter, V, width = kept[0], kept[1]["coef"], kept[1].get("width", width)
        elif V is None:
            V = np.zeros((phi.size, t))
            if phi.intercept:
                V[-1] = constant
        most, few = n_iter + (max_iter or _NEWTON), kept is None and start is None
        search = Search(phi, some, alpha, most, watch)
        if task.smooth:
            (known,) = phi.chunks.reduce(AtConstants(task, constant))
            found = search.smooth(task, V, known, tol, n_iter, few)
        else:
            known = np.full(t, _ZERO * spread * phi.n * float(weight_of(some.chunk).mean()))
            found = search.sharp(task.rounded(width), V, known, tol, n_iter, few, rng)
    return _solution(found, phi, tol, watch, begin)


@dataclass
class Found:
    """Coefficients with their certificate, problem by problem."""

    V: np.ndarray
    n_iter: int
    value: np.ndarray
    violation: np.ndarray
    gap: np.ndarray


class Search:
    """A task on all samples, from a few of them, with a certificate at the end.

    Parameters
    ----------
    phi : StreamedPhi
        The features of all samples.
    some : FewPhi
        Those of a few.
    alpha : float
        The penalty.
    most : int
        The most Newton steps.
    watch : Watch
        Monitoring of the solver.
    """

    def __init__(
        self, phi: StreamedPhi, some: FewPhi, alpha: float, most: int, watch: Watch
    ) -> None:
        self.phi, self.some, self.alpha, self.most, self.watch = phi, some, alpha, most, watch

    def smooth(
        self, task: Task, V: np.ndarray, known: np.ndarray, goal: float, n_iter: int, few: bool
    ) -> Found:
        """A smooth task, optionally starting from the solution for the few samples."""
        if few:
            V = self._alone(task, V, known, max(goal, _FEW))
        whole = Minimiser(self.phi, self.some, task, self.alpha, known)
        return self._found(whole, V, goal, n_iter)

    def sharp(
        self,
        task: Task,
        V: np.ndarray,
        known: np.ndarray,
        tol: float,
        n_iter: int,
        few: bool,
        rng: np.random.Generator,
    ) -> Found:
        """A task with corners, along a path of problems with ever narrower ones."""
        if few:
            V = self._alone(task, V, known, _ROUGH)
        near = Near(self.phi, self.some, rng)
        whole = Minimiser(self.phi, self.some, task, self.alpha, known, near)
        return self._found(whole, V, tol, n_iter, Path(task.width, tol))  # type: ignore[arg-type]

    def _alone(self, task: Task, V: np.ndarray, known: np.ndarray, goal: float) -> np.ndarray:
        """The solution for the few samples, if these are not all."""
        share = self.some.n / self.phi.n
        if share == 1:
            return V
        part = Minimiser(self.some, self.some, task, self.alpha * share, known * share)
        with Watch() as alone:
            return part.run(V, goal, _NEWTON, alone).V

    def _found(
        self, whole: Minimiser, V: np.ndarray, tol: float, n_iter: int, path: Path | None = None
    ) -> Found:
        """Solve in increasing precision until a pass in double precision confirms it."""
        for dtype in PRECISIONS:
            whole.dtype = dtype
            state = whole.run(V, 0.5 * tol, self.most, self.watch, n_iter, path)
            V, n_iter = state.V, state.n_iter
            if self.watch.best is not None:
                V = self.watch.best["coef"]
            whole.dtype = np.float64
            state = whole.at(V)
            whole.judge(state)
            violation = state.violation() + state.corners
            if violation.max(initial=0.0) <= tol or self.watch.stopped or n_iter >= self.most:
                break
        gap = proven_gap(self.phi, whole.task, V, self.alpha)
        value = state.value if path is None else state.size  # without what rounding adds
        return Found(V, n_iter, value, violation, gap)


@dataclass
class AtConstants:
    """A pass over targets alone: the losses at constants."""

    task: Task
    constant: np.ndarray

    def __call__(self, chunk: Chunk) -> Sums:
        F = np.broadcast_to(self.constant, (len(chunk), len(self.constant)))
        return (self.task.values(self.task.targets(chunk), F, weight_of(chunk)),)


def _constants(task: Task, some: FewPhi, t: int) -> tuple[np.ndarray, float]:
    """The best constants for a few samples, and the spread of their targets."""
    y, w = task.targets(some.chunk), weight_of(some.chunk)
    real = task.losses[0].targets == "real"
    spread = spread_of(y, w) if real else 1.0
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
            f"where tol={tol:g} was requested; raise alpha, tol or max_iter, or scale the data."
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
        "objectives": found.value,
        "gaps": found.gap,
        "seconds": time.perf_counter() - begin,
    }
    nothing = np.zeros((0, t))
    return MachineSolution(nothing, converged, found.n_iter, message, stats, b, weights=weights)
