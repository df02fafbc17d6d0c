r"""Ridge regression through M features of any number of samples, which are never stored.

.. math:: \min_v \sum_i w_i (y_i - \langle v, \phi(x_i) \rangle)^2 + \alpha \|v\|^2

(Phi' W Phi + alpha) v = Phi' W y is solved by conjugate gradients, each step of which is one pass
over the samples, preconditioned by the matrix of a few of them (:mod:`mercer.solvers.sampled`); or,
where M is small, with the matrix of all of them, from one pass, and then for any alpha. Passes may
be in single precision: their residual is recomputed in double precision, and corrections are solved
for, until the certificate holds.

References: Rudi, Carratino & Rosasco, *FALKON: An optimal large scale kernel method*, NIPS 2017;
Meanti, Carratino, Rosasco & Rudi, *Kernel methods through the roof*, NeurIPS 2020.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..chunks.base import Chunk, Sums
from ..engine.memory import require_memory
from ..gram.phi import FewPhi, StreamedPhi
from ..gram.streamed import as_they_are
from .base import Solution
from .sampled import Preconditioner, Search, conjugate_gradients
from .watch import State, Watch

STEPS = 200  # of conjugate gradients, at most
PRECISIONS = (np.float32, None, np.float64)  # of passes: one after the other, as they are needed
ROUGH = 1e-7  # by which passes in single precision may reduce what is left, squared
ROUNDING = 1e-15  # of what is explained: no objective is known better
_ROUNDS = 12
_LITTLE = 0.25  # of what was left, or more, is left again: the next precision
_DIRECT = 1200  # operations per entry that solving by passes takes, about; 2 M for all of Phi' Phi
_SMALL = 2e11  # operations that take no noticeable time
_KNOWN = 100  # samples by which a problem is told from others
_MOST = 8000  # features whose matrix is formed


class Left(NamedTuple):
    """Residuals of the normal equations, and the corresponding excess of the objective."""

    R: np.ndarray
    size: np.ndarray  # |Phi' W y|
    residual: np.ndarray  # |R|, as a part of it
    objective: np.ndarray
    explained: np.ndarray  # by how much the objective is lower than that of f = 0


@dataclass
class Errors:
    """U = w (y - F), and beside it w y where that is asked for; sums of squares."""

    targets: bool = True

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        Y = targets(chunk)
        w = 1.0 if chunk.weight is None else chunk.weight[:, None]
        E = Y - F
        U = np.hstack([w * E, w * Y]) if self.targets else w * E
        return U, ((w * E * E).sum(axis=0), (w * Y * Y).sum(axis=0))

    def on_device(self, F: Any, chunk: Any) -> tuple[Any, tuple[Any, ...]]:
        """The same of tensors."""
        Y = chunk.y.reshape(len(F), -1)
        w = 1.0 if chunk.weight is None else chunk.weight[:, None]
        E = Y - F
        U = F.new_empty((len(F), (1 + self.targets) * F.shape[1]))
        U[:, : F.shape[1]] = w * E
        if self.targets:
            U[:, F.shape[1] :] = w * Y
        return U, ((w * E * E).sum(0), (w * Y * Y).sum(0))


def targets(chunk: Chunk) -> np.ndarray:
    """Numbers y, one column for each target."""
    y = np.asarray(chunk.y, dtype=np.float64)
    return y.reshape(len(chunk), int(np.prod(y.shape[1:])))  # of no samples, too


def direct(phi: StreamedPhi, outputs: int) -> bool:
    """Is Phi' W Phi worth forming? Two operations for M entries, instead of several passes."""
    few = 2 * phi.size <= _DIRECT + 48 * outputs
    return phi.size <= _MOST and (few or float(phi.n) * phi.size**2 <= _SMALL)


def solve_falkon(
    phi: StreamedPhi,
    alphas: np.ndarray,
    *,
    method: str = "auto",
    tol: float = 1e-8,
    max_iter: int | None = None,
    rng: np.random.Generator,
    limit: float = np.inf,
    watch: Watch | None = None,
) -> Solution:
    """Coefficients v of the features, in ``weights``, for targets that come with the samples.

    Parameters
    ----------
    phi : StreamedPhi
        The features, with targets and weights.
    alphas : array of shape (t,)
        The penalty of each target.
    method : {"auto", "falkon", "primal"}
        ``"primal"`` forms Phi' W Phi, ``"falkon"`` does not; by default what takes less work.
    tol : float
        By how much the objective may exceed its minimum, relative to what f explains; for samples
        in single precision, no less than its rounding, 1.2e-7.
    max_iter : int, optional
        Maximum number of steps of conjugate gradients, by default 200.
    rng : numpy.random.Generator
        Used to draw the samples of the preconditioner.
    limit : float
        Bytes that may be used.
    watch : Watch, optional
        Monitoring of the solver.

    Returns
    -------
    Solution
        ``stats`` has the certificate: ``violation``, what is compared with tol, r' P^-1 r by the
        preconditioner P, over the smallest eigenvalue of P^-1 A that steps have seen; ``gap``, a
        proven bound of the excess, |r|^2 / alpha; ``residual``, |r| / |Phi' W y|. All from
        residuals r in double precision.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Nystrom
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.implicit import ImplicitGram
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> k = Nystrom(Gaussian(1.0), X[::50])
    >>> phi = ImplicitGram(k, ArrayChunks(X), X).stream(np.sin(X[:, 0]))
    >>> found = solve_falkon(phi, np.array([1e-3]), rng=np.random.default_rng(0))
    >>> found.weights.shape, found.converged
    ((20, 1), True)
    """
    t = len(alphas)
    form = direct(phi, t) if method == "auto" else method == "primal"
    name = "primal" if form else "falkon"
    some: FewPhi = phi.sample(_KNOWN, rng) if form else phi.few(rng, limit)
    goal = max(tol, float(np.finfo(np.result_type(some.dtype, np.float32)).eps))
    if form:
        require_memory(24.0 * phi.size**2, f"the matrix of {phi.size} features", limit)
        moments = phi.moments()
        matrix = phi.of_moments(moments)
    else:
        scale = phi.n / some.n
        w = np.ones(some.n) if some.chunk.weight is None else some.chunk.weight
        matrix = some.curvatures(scale * w, float(alphas.min()))
    P = Preconditioner(phi, [matrix], alphas, floor=0.0)
    watch = watch or Watch()
    with watch:
        problem = name, repr(phi.gram.kernel), phi.n, phi.size, alphas, targets(some.chunk)
        kept = watch.resume(*problem)
        V, n_iter = (np.zeros((phi.size, t)), 0) if kept is None else (kept[1]["coef"], kept[0])
        if kept is None and not form:  # what the few samples alone would give
            V = P(some.through(V, Errors(targets=False), t)[0]) * scale
        V, n_iter, left, violation, lowest = _refine(
            phi, P, V, n_iter, alphas, goal, max_iter, watch, None if kept is None else kept[1]
        )
        if watch.best is not None and not np.array_equal(watch.best["coef"], V):
            V = watch.best["coef"]
            left = _left(phi, V, alphas, np.float64, left.size)
            violation = _violation(P, left) / lowest
    return _solution(
        V, n_iter, left, violation, alphas, goal, name, watch, moments if form else None
    )


def _refine(
    phi: StreamedPhi,
    P: Preconditioner,
    V: np.ndarray,
    n_iter: int,
    alphas: np.ndarray,
    goal: float,
    max_iter: int | None,
    watch: Watch,
    state: State | None = None,
) -> tuple[np.ndarray, int, Left, np.ndarray, np.ndarray]:
    """Conjugate gradients for the residual, until it is small enough in double precision.

    With the ``state`` of a checkpoint they continue in the same directions.
    """
    most = n_iter + (max_iter or STEPS)
    run, search = _Run.of(state, len(alphas))
    for again in range(_ROUNDS + 1):
        if search is None:
            left = _left(phi, V, alphas, np.float64 if again else PRECISIONS[0], run.size)
            violation = _violation(P, left) / run.lowest
            worst = float(violation.max(initial=0.0))
            enough = worst <= goal or n_iter >= most or bool(watch.stopped)
            if (again and enough) or again == _ROUNDS or not run.renew(left, violation, goal):
                break

        def product(D: np.ndarray, at: np.ndarray) -> np.ndarray:
            dtype = PRECISIONS[run.level]
            return phi.through(D, as_they_are, len(at), dtype)[0] + phi.penalty(alphas[at]) * D

        def look(X: np.ndarray, search: Search, V: np.ndarray = V) -> bool:
            nonlocal n_iter
            n_iter += 1
            error = float(np.max(search.left / run.unit))
            return watch(n_iter, error, goal, run.state(V + X, search))

        X, _ = conjugate_gradients(
            product, P, np.zeros_like(V) if search else left.R, run.enough, most - n_iter,
            lowest=run.lowest, look=look, start=search,
        )  # fmt: skip
        V, search = V + X, None
    return V, n_iter, left, violation, run.lowest


@dataclass
class _Run:
    """Runs of conjugate gradients, each for the residual of the one before.

    Attributes
    ----------
    level : int
        The precision of products.
    before : float
        The violation at the beginning.
    lowest, unit, enough : arrays of shape (t,)
        The smallest eigenvalue that was seen; what violations are parts of; where a run ends.
    size : array of shape (t,), optional
        |Phi' W y|.
    """

    level: int
    before: float
    lowest: np.ndarray
    unit: np.ndarray
    enough: np.ndarray
    size: np.ndarray | None = None

    @classmethod
    def of(cls, state: State | None, t: int) -> tuple[_Run, Search | None]:
        """From the state of a checkpoint, or the first one."""
        if state is None:
            return cls(0, np.inf, *np.ones((3, t))), None
        left, carried, *own = state["columns"]
        level, before = state["run"]
        search = Search(state["residual"], state["direction"], left, carried)
        return cls(int(level), float(before), *own), search

    def state(self, V: np.ndarray, search: Search) -> State:
        """The contents of a checkpoint, as arrays that no longer change."""
        assert self.size is not None  # from the first renewal on
        own = search.left, search.carried, self.lowest, self.unit, self.enough, self.size
        return {
            "coef": V, "residual": search.R.copy(), "direction": search.D.copy(),
            "columns": np.stack(own), "run": np.array([self.level, self.before]),
        }  # fmt: skip

    def renew(self, left: Left, violation: np.ndarray, goal: float) -> bool:
        """Set out for what is left, more precisely if little was gained; False at the end."""
        worst = float(violation.max(initial=0.0))
        self.level += worst > _LITTLE * self.before
        if self.level == len(PRECISIONS):
            return False
        self.before, self.unit, self.size = worst, 2 * _reference(left), left.size
        rough = ROUGH * violation if self.level == 0 else np.zeros_like(violation)
        self.enough = np.maximum(0.5 * goal, rough) * self.unit
        return True


def _left(
    phi: StreamedPhi, V: np.ndarray, alphas: np.ndarray, dtype: Any, size: Any = None
) -> Left:
    """In one pass; of (sum of squares + alpha |v|^2) / 2. |Phi' W y| is computed if not given."""
    t, new = V.shape[1], size is None
    product, (squares, whole) = phi.through(V, Errors(new), 2 * t if new else t, dtype)
    penalty = phi.penalty(alphas) * V
    R = product[:, :t] - penalty
    size = np.linalg.norm(product[:, t:], axis=0) if new else size
    objective = (squares + np.einsum("ij,ij->j", V, penalty)) / 2
    residual = np.linalg.norm(R, axis=0) / np.where(size > 0, size, 1.0)
    return Left(R, size, residual, objective, np.maximum(whole / 2 - objective, 1e-15 * whole))


def _reference(left: Left) -> np.ndarray:
    return np.where(left.explained > 0, left.explained, 1.0)


def _violation(P: Preconditioner, left: Left) -> np.ndarray:
    """The excess of the objective, by the preconditioner, relative to what is explained."""
    return np.einsum("ij,ij->j", left.R, P(left.R)) / (2 * _reference(left))


def _solution(
    V: np.ndarray,
    n_iter: int,
    left: Left,
    violation: np.ndarray,
    alphas: np.ndarray,
    tol: float,
    name: str,
    watch: Watch,
    moments: np.ndarray | None,
) -> Solution:
    worst = float(violation.max(initial=0.0))
    squares = np.einsum("ij,ij->j", left.R, left.R)
    gap = np.divide(squares, alphas, where=alphas > 0, out=np.full(len(alphas), np.inf))
    stats = {
        "method": name,
        "violation": worst,
        "residual": float(left.residual.max(initial=0.0)),
        "gap": float(np.where(squares > 0, gap, 0.0).max(initial=0.0)),
        "objective": float(2 * left.objective.sum()),
    }
    converged = worst <= max(tol, ROUNDING) or bool(watch.stopped)
    message = watch.stopped or "solved"
    if not converged:
        message = (
            f"passes stopped after {n_iter} steps with an objective above its minimum by "
            f"{worst:.1e} of what is explained, tol={tol:g} was requested; raise alpha or tol, or "
            "use samples in double precision."
        )
    nothing = np.zeros((0, V.shape[1]))
    return Solution(nothing, converged, n_iter, message, stats, moments=moments, weights=V)
