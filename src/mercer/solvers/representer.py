r"""Any convex loss with the norm of a reproducing kernel Hilbert space.

.. math:: \min_{f \in H_k,\, b} \sum_i w_i L(y_i, f(x_i) + b) + \tfrac{\alpha}{2} \|f\|^2

By the representer theorem f = sum_i c_i k(x_i, .). With F = K c + b the solution is where

.. math:: \alpha c_i \in -w_i\, \partial L(y_i, F_i) \text{ for all } i, \qquad
          \sum_i c_i = 0 \text{ if there is an intercept } b.

The distance from this condition is the certificate, whichever solver was used.

``"newton"``, for smooth losses (:mod:`mercer.solvers.newton`).

``"dual"``, for piecewise linear or quadratic losses: the quadratic programme of support vector
machines (:mod:`mercer.solvers.smo`).

``"coordinate"``, for the same losses and the logistic one, and K that is a product of features:
dual coordinate descent (:mod:`mercer.solvers.coordinate`,
:mod:`mercer.solvers.logistic_coordinate`), until the duality gap is small.

``"admm"``, for any loss with a proximal step: alternating directions, with one Cholesky factor for
many iterations. Slow if high accuracy is required.

References: Schölkopf, Herbrich & Smola, *A generalized representer theorem*, COLT 2001; Chapelle,
*Training a support vector machine in the primal*, 2007; Boyd, Parikh, Chu, Peleato & Eckstein,
*Distributed optimization and statistical learning via ADMM*, 2011.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..gram.base import Gram
from ..losses.base import Loss
from .auto import choose
from .base import Solution
from .dual import LARGE, HeldOut
from .newton import FLAT, Preconditioner, solve_newton, system_of
from .representer_dual import quadratic, solve_by_coordinates, solve_by_dual
from .watch import Watch

SOLVERS = ("auto", "newton", "dual", "admm", "coordinate")
_ADMM_STEPS = 5000
_FEW = 100  # features up to which a Newton step takes less than many of another solver
_RELAXATION = 1.6
_TINY, _LEAST = 1e-100, 1e-250  # targets, and their loss, that squares turn into 0


@dataclass
class MachineSolution(Solution):
    """A :class:`Solution` with an intercept; ``stats`` holds the certificate.

    ``violation`` is the largest distance of alpha c_i from -w_i times a subgradient at F_i,
    relative to the largest slope at the best constant; ``gap`` the duality gap, where the conjugate
    of the loss is known; ``objective`` the value reached.
    """

    intercept: np.ndarray = field(default_factory=lambda: np.zeros(1))


def choose_solver(loss: Loss, gram: Gram | None = None, alpha: float | None = None) -> str:
    """The solver for a loss: "newton", "dual", "admm"; "coordinate" on features of many samples.

    If the loss is smooth and features are so few that Newton steps cost almost nothing, these are
    used for any alpha: other solvers need more steps the smaller alpha is.

    Examples
    --------
    >>> from mercer.losses import Hinge, Logistic
    >>> choose_solver(Logistic()), choose_solver(Hinge())
    ('newton', 'dual')
    """
    dual = quadratic(loss, np.ones(1))
    if dual is None:
        return "newton" if loss.smooth else "admm"
    if loss.smooth and gram is not None and _has_few(gram, alpha):
        return "newton"
    bounded = np.all(np.isfinite(dual.lower)) and np.all(np.isfinite(dual.upper))
    if bounded and gram is not None and len(gram) >= LARGE and gram.features is not None:
        return "coordinate"
    return "dual" if bounded or not loss.smooth else "newton"


def _has_few(gram: Gram, alpha: float | None) -> bool:
    """Are there so few features that a system of their size takes almost no time?"""
    few = gram.rank is not None and gram.rank <= _FEW
    return few and alpha is not None and choose(gram, alpha) == "primal"


def matrices_of(loss: Loss, solver: str, intercept: bool) -> int:
    """How many n x n matrices in double precision a solver holds at once, K included.

    The dual solver works on K itself, unless something is added to it.

    Examples
    --------
    >>> from mercer.losses import Hinge, Logistic
    >>> matrices_of(Logistic(), "auto", True), matrices_of(Hinge(), "auto", True)
    (2, 1)
    """
    dual = quadratic(loss, np.ones(1))
    method = choose_solver(loss) if solver == "auto" else solver
    return 1 if method == "dual" and intercept and dual is not None and dual.soft[0] == 0 else 2


def solve_representer(
    gram: Gram,
    y: np.ndarray,
    loss: Loss,
    alpha: float,
    weights: np.ndarray | None = None,
    *,
    intercept: bool = True,
    solver: str = "auto",
    tol: float = 1e-6,
    max_iter: int | None = None,
    start: tuple[np.ndarray, np.ndarray] | None = None,
    watch: Watch | None = None,
    held_out: HeldOut | None = None,
) -> MachineSolution:
    """Minimise sum_i w_i L(y_i, f(x_i) + b) + alpha ||f||^2 / 2 over f in H_k and b.

    Parameters
    ----------
    gram : Gram
        The operator K.
    y : array of shape (n,)
        Targets, of the kind the loss requires.
    loss : Loss
        What errors cost.
    alpha : float
        Strength of the penalty, > 0.
    weights : array of shape (n,), optional
        Weights of the samples, >= 0.
    intercept : bool
        Whether to fit a constant b, which is not penalised.
    solver : {"auto", "newton", "dual", "admm", "coordinate"}
        ``"auto"`` depends on what the loss declares, and on whether K is a product of features.
    tol : float
        Violation of optimality at which to stop. Scores within tol times the spread of the targets
        count as being at a kink (:func:`spread_of`). For ``"coordinate"`` the duality gap, relative
        to the objective; for ``"newton"`` as well, if rounding keeps the violation above tol.
    max_iter : int, optional
        Most Newton steps (100), ADMM steps (5000) or steps of the dual solvers.
    start : tuple (coef, intercept), optional
        The solution of a problem that differs in K only, for the first two solvers.
    watch, held_out : Watch, HeldOut, optional
        Monitoring of ``"coordinate"``, and held-out samples for early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.losses import Huber
    >>> X = np.linspace(0, 3, 30)
    >>> found = solve_representer(Gaussian().gram(X), np.sin(X), Huber(0.1), alpha=0.01)
    >>> found.converged, found.stats["violation"] < 1e-6
    (True, True)
    """
    begin = time.perf_counter()
    problem = Problem(gram, y, loss, alpha, weights, intercept)
    problem.start = start
    problem.watch, problem.held_out = watch or Watch(), held_out
    method = choose_solver(loss, gram, alpha) if solver == "auto" else solver
    C, b, n_iter = _SOLVE[method](problem, tol, max_iter)
    KC = gram @ C
    violation = problem.violation(C, KC + b, 0.0 if method == "newton" else tol * problem.spread)
    values = problem.values(C, KC, b)
    converged = bool(violation <= 1.01 * tol)
    if method == "coordinate":
        converged = values.get("gap", np.inf) <= 1.01 * tol * values["objective"]
        converged = converged or bool(problem.watch.stopped)
    if method == "newton":  # which rounding may keep from what was asked for
        converged = converged or values.get("gap", np.inf) <= tol * abs(values["objective"])
    stuck = method in ("newton", "coordinate") and not converged and max_iter is None
    if stuck and solver == "auto" and quadratic(loss, np.ones(1)) is not None:
        # the loss is almost not smooth, or the features are few and alpha small
        return solve_representer(
            gram, y, loss, alpha, weights, intercept=intercept, solver="dual", tol=tol
        )
    message = (
        problem.watch.stopped or "optimal"
        if converged
        else f'solver "{method}" stopped after {n_iter} steps with '
        f"{_shortfall(violation, values)} where tol={tol:g} was requested; raise alpha, tol "
        "or max_iter, or scale the data."
    )
    stats = {"method": method, "violation": violation} | values
    stats["seconds"] = time.perf_counter() - begin
    return MachineSolution(C, converged, n_iter, message, stats, b)


def spread_of(y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """The median distance of targets from their median, without those at it; 1 for constants.

    Unlike a standard deviation, it is robust to outliers, and ignores targets of weight 0.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.solvers.representer import spread_of
    >>> spread_of(np.array([1.0, 2.0, 3.0, 4.0, 1e9]))
    1.0
    """
    y = y if weights is None else y[weights > 0]
    middle = np.median(y)
    with np.errstate(over="ignore"):
        apart = np.abs(y - middle)
        apart = np.sort(apart[apart > 4 * np.finfo(float).eps * np.abs(middle)])
        found = float(apart[(len(apart) - 1) // 2]) if len(apart) else 1.0
    return found if np.isfinite(found) else float(np.finfo(float).max)


class Problem:
    """The objective, its slopes, and the distance of coefficients from optimality."""

    start: tuple[np.ndarray, np.ndarray] | None = None  # coefficients and intercept to begin with
    watch: Watch
    held_out: HeldOut | None = None

    def __init__(
        self,
        gram: Any,
        y: np.ndarray,
        loss: Loss,
        alpha: float,
        weights: np.ndarray | None,
        intercept: bool,
        scores: int | None = None,
    ) -> None:
        several = loss.targets == "classes"
        self.gram, self.loss, self.alpha, self.intercept = gram, loss, alpha, intercept
        self.flat = np.asarray(y)
        self.y = self.flat if several else self.flat.astype(np.float64)[:, None]
        self.w = np.ones((len(y), 1)) if weights is None else weights.astype(float)[:, None]
        self.scores = scores or (int(y.max()) + 1 if several else 1)
        if loss.targets == "real":
            self._check_size()
        with np.errstate(over="ignore"):
            self.b = loss.constant(self.flat, self.w[:, 0]) if intercept else np.zeros(self.scores)
            start = np.broadcast_to(self.b, (len(y), self.scores))
            ends = np.abs(loss.subgradient_range(self.y, start))
        self.largest = float(np.max(self.w * ends)) or 1.0
        self.spread = spread_of(self.flat, weights) if loss.targets == "real" else 1.0

    def _check_size(self) -> None:
        """The loss of targets of extreme size may overflow, or be 0, whatever the scores."""
        used = self.w[:, 0] > 0
        if not used.any():
            return
        y = self.flat[used]
        with np.errstate(over="ignore", invalid="ignore"):
            loss = self.loss.value(self.y[used], np.full((len(y), 1), np.median(y)))
            size = float(self.w[used, 0] @ np.abs(loss.reshape(-1)))
        if not size < np.inf:
            raise ValueError("y is so large that its loss overflows; divide it by a constant.")
        if 0 < np.abs(y).max() < _TINY and size < _LEAST:
            raise ValueError("y is so small that its loss underflows; multiply it by a constant.")

    def part(self, index: np.ndarray) -> Problem:
        """The same problem on some of the samples, with as much penalty per sample."""
        share = float(self.w[index].sum() / self.w.sum())
        return Problem(
            self.gram, self.flat[index], self.loss, self.alpha * share, self.w[index, 0],
            self.intercept, self.scores,
        )  # fmt: skip

    def slopes(self, F: np.ndarray) -> np.ndarray:
        return self.w * self.loss.slope(self.y, F)

    def loss_at(self, F: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return float(self.w[:, 0] @ self.loss.value(self.y, F).reshape(-1))

    @property
    def size(self) -> float:
        """The size of the loss at the best constant, to which gaps are relative; > 0."""
        F = np.broadcast_to(self.b, (len(self.w), self.scores))
        with np.errstate(over="ignore"):
            terms = np.abs(self.loss.value(self.y, F).reshape(-1))
        return max(float(self.w[:, 0] @ terms), 1e-300)

    def curvature(
        self, F: np.ndarray, least: np.ndarray
    ) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """A curvature per sample, and the product with all of them.

        It is 0 where the loss has none, and elsewhere at least the given value.
        """
        h = self.w[:, 0] * self.loss.curvature(self.y, F).sum(axis=1) / max(1, self.scores - 1)
        if not h.any():  # then as if it were that of a parabola through the data
            h = self.w[:, 0] * self.largest / self.spread
            return h, lambda V: h[:, None] * V
        curved = h > FLAT * h.max()
        masked, more = self.w * curved[:, None], np.maximum(least - h, 0) * curved

        def product(V: np.ndarray) -> np.ndarray:
            return masked * self.loss.curvature_times(self.y, F, V) + more[:, None] * V

        return h * curved + more, product

    def violation(self, C: np.ndarray, F: np.ndarray, slack: float) -> float:
        """How far -alpha c is from w times the subgradients within ``slack`` of F."""
        u = -self.alpha * C
        with np.errstate(over="ignore"):
            low = self.w * self.loss.subgradient_range(self.y, F - slack)[0]
            high = self.w * self.loss.subgradient_range(self.y, F + slack)[1]
        worst = max(float(np.max(low - u)), float(np.max(u - high)), 0.0)
        if self.intercept:
            worst = max(worst, float(np.abs(u.sum(axis=0)).max()) / len(u))
        return worst / self.largest

    def values(self, C: np.ndarray, KC: np.ndarray, b: np.ndarray) -> dict[str, float]:
        """The objective and, if the conjugate is known, the gap to the dual one.

        By the inequality of Fenchel and Young it is sum_i w_i (L(F_i) + L*(u_i) - u_i F_i).
        """
        F, used = KC + b, self.w[:, 0] > 0
        w, y = self.w[used, 0], self.y[used]
        losses = self.loss.value(self.y, F).reshape(-1)[used]
        found = {"objective": float(w @ losses + self.alpha * np.sum(C * KC) / 2)}
        u = -self.alpha * C[used] / self.w[used]
        conjugate = self.loss.conjugate(y, u)
        if conjugate is not None:
            terms = losses + conjugate.reshape(-1) - np.sum(u * F[used], axis=1)
            gap = float(w @ terms)
            found |= {"gap": gap} if np.isfinite(gap) else {}
        return found


# ---- alternating directions ----------------------------------------------------------------------
def _solve_admm(
    problem: Problem, tol: float, max_iter: int | None
) -> tuple[np.ndarray, np.ndarray, int]:
    """ADMM: scores F = K c + b are made to agree with their copies Z, to which the loss applies."""
    if problem.loss.targets == "classes":
        raise ValueError(f'solver="admm" cannot be used with {problem.loss!r}; use "newton".')
    if problem.gram.matrix_free:
        raise ValueError(
            'solver="admm" needs K in memory; give the plan more memory, or use a smooth loss.'
        )
    system, w = system_of(problem.gram, problem.alpha), problem.w
    used = w > 0
    rho = problem.largest / (problem.spread * float(w.max()))
    slack, precondition = tol * problem.spread, None
    Z = np.broadcast_to(problem.b, w.shape).copy()
    U = np.zeros_like(Z)
    most = max_iter or _ADMM_STEPS
    for n_iter in range(1, most + 1):
        if precondition is None:
            weight = rho * w
            precondition = Preconditioner(
                system, weight[:, 0], problem.alpha, problem.intercept, exact=True
            )
        R = weight * (Z - U)
        C, b = precondition(R, R.sum(axis=0))
        F = Z - U - np.where(used, problem.alpha * C / np.where(used, weight, 1.0), 0.0)
        if n_iter % 10 == 0 and problem.violation(C, F, slack) <= tol:
            break
        mixed = _RELAXATION * F + (1 - _RELAXATION) * Z
        before, Z = Z, problem.loss.prox(problem.y, mixed + U, 1 / rho)
        U = U + mixed - Z
        if n_iter in (20, 50, 100, 200, 400, 800):  # balance the two kinds of error
            apart = _norm(F - Z) / max(_norm(F), _norm(Z))
            moved = _norm(weight * (Z - before)) / (problem.alpha * _norm(C))
            change = float(np.clip(np.sqrt(apart / moved), 0.1, 10.0))
            if change > 2 or change < 0.5:
                rho, U, precondition = rho * change, U / change, None
    return C, b, n_iter


_SOLVE = {
    "newton": solve_newton,
    "dual": solve_by_dual,
    "admm": _solve_admm,
    "coordinate": solve_by_coordinates,
}


def _shortfall(violation: float, values: dict[str, float]) -> str:
    """The remaining violation, in words."""
    gap = f" (a gap of {values['gap']:.1e})" if "gap" in values else ""
    return f"a violation of {violation:.1e}{gap}"


def _norm(V: np.ndarray) -> float:
    return max(float(np.linalg.norm(V)), 1e-300)
