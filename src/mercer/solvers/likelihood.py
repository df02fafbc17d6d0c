r"""Criteria by which hyper-parameters of logistic regression are chosen, with their gradients.

The model of K (divided by alpha) has scores F = K c + b that minimise

.. math:: -\sum_i w_i \log p(y_i \mid F_i) + \tfrac12 c' K c,

one score for two classes, k for more. With S and W of :mod:`mercer.solvers.hessian` there:

===================  ============================================================================
evidence             the minimum + log det(I + K W) / 2: Laplace's approximation of -log p(y) given
                     b (were any b equally likely a priori, separable classes would have a
                     likelihood without bound)
leave-one-out        the mean of -log p(y_i | .) at F_i + S_i (I - W_i S_i)^-1 g_i, the scores
                     without sample i (:mod:`mercer.solvers.held_out`)
validation           the mean of -log p(y_i | F_i) over held-out samples
===================  ============================================================================

Each is a :class:`~mercer.solvers.criteria.Criterion`: a change dK changes it by sum_ij T_ij dK_ij.
What a criterion feels of F enters through dF = (I - S W) dK c.

References: Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, sections 3.5 and
5.5; Rad & Maleki, *A scalable estimate of the out-of-sample prediction error via approximate
leave-one-out cross-validation*, JRSS B 2020.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, softmax

from ..losses.classification import Logistic, Multinomial
from .criteria import Criterion
from .hessian import Hessian
from .newton import dense_system, minimise
from .representer import Problem

_TOL = 1e-9  # violation of the optimality conditions: gradients assume that there is none
_FAILED = 1e-4
_STEPS = 100


@dataclass(frozen=True)
class Labels:
    """Which likelihood: the joint one of several classes or that of two, and the intercept."""

    several: bool
    intercept: bool

    def evidence(self, K: np.ndarray, Y: np.ndarray) -> Criterion:
        """The negative logarithm of the approximate evidence.

        Parameters
        ----------
        K : ndarray of shape (n, n)
            The kernel matrix divided by alpha.
        Y : ndarray of shape (n, 3)
            Codes of the classes, weights in training, and weights in validation.
        """
        mode = Mode(self, K, Y)
        S = mode.hessian.blocks(free=False)
        G = mode.hessian.sum_of_curves()
        norm = float(np.sum(mode.C * (mode.F - mode.b)))
        value = mode.loss(mode.F, mode.w) + norm / 2 + mode.hessian.logdet / 2

        def tile(rows: slice, cols: slice) -> np.ndarray:
            return (G[rows, cols] - mode.C[rows] @ mode.C[cols].T) / 2

        diagonal = (np.diagonal(G) - np.sum(mode.C**2, axis=1)) / 2
        return mode.criterion(value, tile, diagonal, mode.third(S) / 2)

    def leave_one_out(self, K: np.ndarray, Y: np.ndarray) -> Criterion:
        """The log loss of approximate leave-one-out scores; parameters as in :meth:`evidence`."""
        mode = Mode(self, K, Y)
        S, total = mode.hessian.blocks(), float(mode.w.sum())
        rest = np.eye(S.shape[1]) - mode.W @ S
        t = np.linalg.solve(rest, mode.slopes(mode.F, mode.w)[:, :, None])
        left = mode.F + (S @ t)[:, :, 0]
        u = np.linalg.solve(rest, mode.slopes(left, mode.w)[:, :, None] / total)
        # a change of S, W and F changes the value by sum_i u_i' dS_i t_i + (S u)_i' dW_i (S t)_i
        # + u_i' dF_i, where in turn dS = (I - S W) dK (I - W S) - S dW S
        (T, b), (U, d) = (mode.hessian.pull_diagonal(v[:, :, 0]) for v in (t, u))
        direct = np.sum([one @ other.T for one, other in zip(U, T, strict=True)], axis=0)
        direct = (direct + direct.T) / 2
        X = (S @ u) @ (S @ t).transpose(0, 2, 1)
        ST = K @ T + b[:, None]
        for c, one in enumerate(U):
            X[:, c] -= np.einsum("ij,dij->id", K @ one + d[c], ST)
        return mode.criterion(
            mode.loss(left, mode.w) / total,
            lambda rows, cols: direct[rows, cols],
            np.diagonal(direct),
            u[:, :, 0] + mode.third((X + X.transpose(0, 2, 1)) / 2),
        )

    def validation(self, K: np.ndarray, Y: np.ndarray) -> Criterion:
        """The log loss of samples with a weight in validation, usually 0 in training."""
        mode = Mode(self, K, Y)
        total = float(Y[:, 2].sum())
        nothing = np.zeros(len(K))
        return mode.criterion(
            mode.loss(mode.F, Y[:, 2]) / total,
            lambda rows, cols: np.zeros((len(nothing[rows]), len(nothing[cols]))),
            nothing,
            mode.slopes(mode.F, Y[:, 2]) / total,
        )


class Mode:
    """The scores that minimise the penalised loss, and the curvature there."""

    def __init__(self, labels: Labels, K: np.ndarray, Y: np.ndarray) -> None:
        self.several, self.w = labels.several, Y[:, 1]
        present, codes = np.unique(Y[:, 0], return_inverse=True)
        k = len(present) if self.several else 1
        self.y = codes if self.several else np.where(codes == 1, 1.0, -1.0)
        self.likelihood = Multinomial() if self.several else Logistic()
        problem = Problem(None, self.y, self.likelihood, 1.0, self.w, labels.intercept, k)
        self.C, self.b, _ = minimise(problem, dense_system(K), _TOL, _STEPS)
        self.F = K @ self.C + self.b
        if not problem.violation(self.C, self.F, 0.0) <= _FAILED:
            raise np.linalg.LinAlgError("the scores could not be computed.")
        weight = self.w[:, None]
        if self.several:
            self.p = softmax(self.F, axis=1)
            D = weight * self.p
            self.W = D[:, :, None] * (np.eye(k) - self.p[:, None, :])
        else:
            self.p = expit(self.F)
            D = weight * self.p * (1 - self.p)
            self.W = D[:, :, None]
        self.hessian = Hessian(K, D, labels.intercept)

    def loss(self, F: np.ndarray, w: np.ndarray) -> float:
        """The weighted sum of -log p(y_i | F_i)."""
        y = self.y if self.several else self.y[:, None]
        return float(w @ self.likelihood.value(y, F).reshape(-1))

    def slopes(self, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Its derivatives, shape (n, k)."""
        y = self.y if self.several else self.y[:, None]
        return w[:, None] * self.likelihood.slope(y, F)

    def third(self, X: np.ndarray) -> np.ndarray:
        """The derivatives of sum_i tr(W_i X_i) with respect to F, for symmetric X_i."""
        if not self.several:
            return self.hessian.D * (1 - 2 * self.p) * X[:, 0]
        p = self.p
        V = np.einsum("icc->ic", X) - 2 * np.einsum("icd,id->ic", X, p)
        return self.hessian.D * (V - np.sum(p * V, axis=1, keepdims=True))

    def criterion(
        self,
        value: float,
        tile: Callable[[slice, slice], np.ndarray],
        diagonal: np.ndarray,
        felt: np.ndarray,
    ) -> Criterion:
        """A criterion that depends on K directly and, with slopes ``felt``, through F."""
        moved = self.hessian.pull(felt.T[:, :, None])[0][:, :, 0].T

        def whole(rows: slice, cols: slice) -> np.ndarray:
            outer = moved[rows] @ self.C[cols].T + self.C[rows] @ moved[cols].T
            return tile(rows, cols) + outer / 2

        return Criterion(value, whole, diagonal + np.sum(moved * self.C, axis=1))
