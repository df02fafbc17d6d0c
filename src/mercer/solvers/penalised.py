r"""Penalties of the norm other than its square, by a search for one number.

.. math:: \min_{f, b} \sum_i w_i L(y_i, f(x_i) + b) + \alpha\, r(\|f\|)

Where r has a slope, f also solves the problem with the penalty :math:`\lambda \|f\|^2 / 2` and
:math:`\lambda \|f\| = \alpha r'(\|f\|)`. Along the solutions of these problems the norm t falls
with lambda, and lambda t rises, so that for convex r there is one such lambda. The dual value of
the same coefficients c,

.. math:: -\sum_i w_i L^*(y_i, u_i) - \alpha r^*(\lambda t / \alpha), \qquad
          u_i = -\lambda c_i / w_i,

is a lower bound of the objective, which proves how good f is. The constraint \|f\| <= R is the
case of an r that is 0 up to R.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import DomainError
from ..gram.base import Gram
from ..losses.base import Loss
from ..losses.penalties import Penalty
from .representer import MachineSolution, Problem, solve_representer

_STEPS = 80
_FACTOR = 8.0  # by which lambda goes until it is enclosed
_FAR = 1e14  # and at most in all
_FINER = 4  # times a problem is solved more finely, if its own gap is large
_CLOSE = 100  # times the gap that is asked for: with more, a solver that stopped is not asked again
_FAILED = 3  # problems in a row with a larger gap, after which the search ends


def solve_penalised(
    gram: Gram,
    y: np.ndarray,
    loss: Loss,
    alpha: float,
    penalty: Penalty,
    weights: np.ndarray | None = None,
    *,
    tol: float = 1e-5,
    **options: Any,
) -> MachineSolution:
    """Minimise sum_i w_i L(y_i, f(x_i) + b) + alpha r(||f||) over f in H_k and b.

    Parameters
    ----------
    gram, y, loss, weights
        As for :func:`mercer.solvers.representer.solve_representer`, which also takes ``options``.
    alpha, penalty : float, Penalty
        alpha and r.
    tol : float
        The duality gap, relative to the loss of the best constant, at which to stop.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.losses import NormBall, Squared
    >>> X = np.linspace(0, 3, 30)
    >>> gram = Gaussian().gram(X)
    >>> found = solve_penalised(gram, np.sin(X), Squared(), 1.0, NormBall(0.5))
    >>> round(float(found.stats["norm"]), 4)
    0.5
    """
    search = _Multiplier(gram, y, loss, alpha, penalty, weights, tol, options)
    best = _search(search.position, search.enough, float(np.log(max(alpha, 1e-300))))
    return search.result(best)


class _Found(NamedTuple):
    """What the problem with one lambda says: a solution, its place, and both bounds."""

    solution: MachineSolution
    position: float
    gap: float


class _Multiplier:
    """The problems with the squared norm, and what they imply for that with the penalty."""

    def __init__(
        self,
        gram: Gram,
        y: np.ndarray,
        loss: Loss,
        alpha: float,
        penalty: Penalty,
        weights: np.ndarray | None,
        tol: float,
        options: dict[str, Any],
    ) -> None:
        self.args, self.options, self.tol = (gram, y, loss), options, tol
        self.gram, self.alpha, self.penalty, self.weights = gram, alpha, penalty, weights
        self.problem = Problem(gram, y, loss, alpha, weights, options.get("intercept", True))
        self.goal = tol * self.problem.size
        self.found: dict[float, _Found] = {}
        self.failed = 0

    def position(self, log_lambda: float) -> float:
        """How far to the right of the solution: log(lambda t) - log(alpha r'(t)), rising."""
        near = min(self.found, key=lambda known: abs(known - log_lambda), default=None)
        lam, tol, start = float(np.exp(log_lambda)), self.tol, None
        if near is not None:  # the dual point stays as it is
            known = self.found[near].solution
            start = known.coef * (known.stats["multiplier"] / lam), known.intercept
        for _ in range(_FINER):
            try:
                solution = solve_representer(
                    *self.args, lam, self.weights, tol=tol, start=start, **self.options
                )
            except DomainError:  # sums that overflow, with a lambda so small
                if near is None:
                    raise
                self.failed = _FAILED
                self.found[log_lambda] = self.found[near]._replace(gap=np.inf)
                return self.found[near].position
            left = solution.stats.get("gap", np.inf)
            if left <= self.goal / 4 or not (solution.converged or left <= _CLOSE * self.goal):
                break
            start, tol = (solution.coef, solution.intercept), tol / 10
        self.failed = 0 if solution.converged or left <= self.goal else self.failed + 1
        return self._keep(log_lambda, lam, solution)

    def _keep(self, log_lambda: float, lam: float, solution: MachineSolution) -> float:
        C, b, r, problem = solution.coef, solution.intercept, self.penalty, self.problem
        KC = self.gram @ C
        t = float(np.sqrt(max(np.sum(C * KC), 0.0)))
        # f is scaled into the ball, and the dual point to slopes that the penalty has
        shrunk = min(1.0, r.largest / t) if t > 0 else 1.0
        eased = min(1.0, self.alpha * r.steepest / (lam * t)) if t > 0 else 1.0
        primal = problem.loss_at(shrunk * KC + b) + self.alpha * float(r.value(shrunk * t))
        used = problem.w[:, 0] > 0
        conjugate = problem.loss.conjugate(
            problem.y[used], -eased * lam * C[used] / problem.w[used]
        )
        gap = np.inf
        if conjugate is not None:
            s = eased * lam * t / self.alpha
            dual = -float(problem.w[used, 0] @ conjugate.reshape(-1))
            gap = primal - dual + self.alpha * r.conjugate(s, t)
        if np.isfinite(r.largest):
            position = np.log(r.largest) - np.log(max(t, 1e-300))
        else:
            slope = max(self.alpha * r.slope(t), 1e-300)
            position = np.log(max(lam * t, 1e-300)) - np.log(slope)
        stats = solution.stats | {
            "objective": primal, "gap": gap, "multiplier": lam, "norm": shrunk * t,
        }  # fmt: skip
        kept = replace(solution, coef=shrunk * C, stats=stats)
        self.found[log_lambda] = _Found(kept, float(position), gap)
        return float(position)

    def enough(self, log_lambda: float) -> bool:
        """Is the gap within the tolerance, or are problems too hard to continue?"""
        return self.fine(log_lambda) or self.failed >= _FAILED

    def fine(self, log_lambda: float) -> bool:
        return self.found[log_lambda].gap <= self.goal

    def result(self, best: float) -> MachineSolution:
        if not self.fine(best):
            best = min(self.found, key=lambda known: self.found[known].gap)
        solution = self.found[best].solution
        total = sum(part.solution.n_iter for part in self.found.values())
        solution = replace(solution, n_iter=total, converged=self.fine(best), message="optimal")
        solution.stats["problems"] = len(self.found)
        if not solution.converged:
            solution.message = (
                f"the multiplier of the penalty was not found: after {len(self.found)} problems "
                f"a gap of {solution.stats['gap']:.1e} is left; raise tol, or scale the data."
            )
        return solution


def _search(at: Any, enough: Any, begin: float) -> float:
    """Where a rising function is 0, or beyond its last change: by bisection and secants."""
    x, value = begin, at(begin)
    if enough(x):
        return x
    step, far = np.log(_FACTOR), np.log(_FAR)
    other = x
    while True:  # enclose it
        other += -step if value > 0 else step
        there = at(other)
        if enough(other) or (there > 0) != (value > 0):
            break
        if abs(other - begin) > far:
            return other
    if enough(other):
        return other
    (low, below), (high, above) = sorted([(x, value), (other, there)])
    for _ in range(_STEPS):
        share = below / (below - above) if np.isfinite(below) and np.isfinite(above) else 0.5
        middle = low + min(max(share, 0.05), 0.95) * (high - low)
        value = at(middle)
        if enough(middle) or high - low < 1e-14 * (1 + abs(middle)):
            return middle
        if value > 0:
            high, above = middle, value
            below /= 2  # so that both ends move (the Illinois rule)
        else:
            low, below = middle, value
            above /= 2
    return middle
