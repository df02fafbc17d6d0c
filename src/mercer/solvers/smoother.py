"""What follows from the smoother matrix of a semi-parametric problem at one penalty.

The solution with its certificate, degrees of freedom, generalised cross-validation and errors of
leaving one out: by a Cholesky factor, or from one eigendecomposition for all penalties. The
problem and its notation are those of :mod:`mercer.solvers.semiparametric`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from .base import Solution
from .cholesky import CholeskyFactor

if TYPE_CHECKING:
    from .semiparametric import SemiparametricProblem

_TRUSTED = 1e-8  # relative residual of the saddle-point system of a solution that is good
_FIXED = 1e-12  # 1 - leverage of a point at which the free functions alone determine f


@dataclass
class SemiparametricSolution(Solution):
    """Coefficients of the kernel (``coef``) and of the free functions (``null_coef``).

    ``stats["residual"]`` is the larger of the relative residuals of both rows of the saddle-point
    system: the first relative to y, P'c = 0 relative to c (with weights: after scaling by W^1/2).

    Attributes
    ----------
    null_coef : ndarray of shape (m, t)
        The coefficients d.
    """

    null_coef: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))


class Smoother(ABC):
    """The solution of a problem at one alpha, and what follows from its smoother matrix.

    With b = Z g and G = Z (M + alpha I)^-1 Z': W^1/2 (y - f) = alpha b, and the matrix A of
    W^1/2 f = A W^1/2 y is I - alpha G.
    """

    method: str
    dropped = 0  # directions in which M + alpha I is singular
    g: np.ndarray  # coordinates of b in an orthonormal basis

    def __init__(self, problem: SemiparametricProblem, alpha: float) -> None:
        self.problem = problem
        self.alpha = alpha

    @abstractmethod
    def b(self) -> np.ndarray:
        """b = W^-1/2 c, at the points of positive weight."""

    @cached_property
    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """The diagonal of G."""

    @property
    def squares(self) -> float:
        """|b|^2, summed over targets."""
        return float(np.sum(self.g**2))

    @property
    def trace(self) -> float:
        """The trace of G."""
        return float(self.diagonal.sum())

    def solve(self) -> SemiparametricSolution:
        """Coefficients of all targets, with the residual of the saddle-point system."""
        p, b = self.problem, self.b()
        coef = np.zeros((len(p.P), b.shape[1]))
        coef[p.used] = p.root * b
        P, z = p.root * p.P[p.used], p.root * p.means
        rest = z - p.root * (p.K @ coef)[p.used] - self.alpha * b
        d = p.elimination.coefficients(rest)
        orthogonality = (P / np.maximum(np.linalg.norm(P, axis=0), 1e-300)).T @ b
        residual = max(_relative(rest - P @ d, z), _relative(orthogonality, b))
        solution = SemiparametricSolution(coef, residual <= _TRUSTED, null_coef=d)
        if not solution.converged:
            solution.message = (
                f"the linear system is solved to a relative residual of {residual:.1e} only; "
                f"raise alpha (now {self.alpha:g}) or use a less smooth kernel (a lower order)."
            )
        solution.stats = {"method": self.method, "residual": residual, "dropped": self.dropped}
        return solution

    def dof(self) -> float:
        """Degrees of freedom, the trace of the smoother matrix: m + sum_i s_i / (s_i + alpha)."""
        return len(self.problem.used) - self.dropped - self.alpha * self.trace

    def gcv(self) -> float:
        """Generalised cross-validation: n sum_i w_i (y_i - f_i)^2 / (n - dof)^2, over all targets.

        n counts samples of positive weight. At alpha = 0 it is the limit, and not defined (nan)
        if K is singular or nothing is left to penalise.
        """
        p = self.problem
        squares, trace = self.squares, self.trace
        if self.dropped or not (trace > 0 or p.n > len(p.used)):
            return float("nan")
        if p.n == len(p.used):
            return p.n * squares / trace**2
        free = p.n - len(p.used) + self.alpha * trace
        return p.n * (p.within + self.alpha**2 * squares) / free**2

    def leave_one_out(self) -> np.ndarray:
        """Predictions for each sample by the model trained on all others, shape (n, t).

        They are nan where the others do not determine the free functions, or K is singular.
        """
        p = self.problem
        if self.dropped:
            return np.full_like(p.Y, np.nan)
        at, share = p.position, p.share[:, None]
        b, G = self.b()[at], self.diagonal[at, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            alone = b / (p.root[at] * G)  # alpha cancels: this is exact for interpolation, too
            residual = p.Y - p.means[at] + self.alpha * b / p.root[at]
            residual /= 1 - share + share * self.alpha * G
        residual = np.where(share == 1, alone, residual)
        fixed = 1 - p.elimination.leverage < _FIXED
        residual[(p.share == 1) & fixed[at]] = np.nan
        held_out = p.Y - residual
        if np.any(at < 0):
            solution = self.solve()
            values = p.K @ solution.coef + p.P @ solution.null_coef
            held_out[at < 0] = values[p.rows[at < 0]]
        return held_out

    def loo(self) -> float:
        """The weighted mean of squared leave-one-out errors, added up over targets."""
        p = self.problem
        squares = np.sum((p.Y - self.leave_one_out()) ** 2, axis=1)
        defined = np.isfinite(squares) & (p.weights > 0)
        if not defined.any():
            return float("nan")
        return float(np.average(squares[defined], weights=p.weights[defined]))


class Factored(Smoother):
    """By a Cholesky factor of M + alpha I, whose array is overwritten."""

    method = "cholesky"

    def __init__(self, problem: SemiparametricProblem, alpha: float, A: np.ndarray) -> None:
        super().__init__(problem, alpha)
        self._factor = CholeskyFactor(A) if len(A) else None
        self.g = self._factor.solve(problem.target) if self._factor else problem.target

    def b(self) -> np.ndarray:
        return self.problem.elimination.orthogonal(self.g)

    @cached_property
    def diagonal(self) -> np.ndarray:
        k = len(self.problem.used)
        if self._factor is None:
            return np.zeros(k)
        Zt = self.problem.elimination.rotate(np.eye(k, order="F"))[k - len(self.g) :]
        return np.sum(self._factor.half_solve(Zt) ** 2, axis=0)


class Spectral(Smoother):
    """By the eigendecomposition of M, shared by all alphas."""

    method = "eigh"

    def __init__(self, problem: SemiparametricProblem, alpha: float) -> None:
        super().__init__(problem, alpha)
        s, self._V, target = problem.spectrum
        keep = s + alpha >= problem.noise
        self.dropped = int(np.sum(~keep))
        self._inverse = np.divide(1.0, s + alpha, out=np.zeros_like(s), where=keep)
        self.g = self._inverse[:, None] * target

    def b(self) -> np.ndarray:
        return self._V @ self.g

    @cached_property
    def diagonal(self) -> np.ndarray:
        return self._V**2 @ self._inverse

    @property
    def trace(self) -> float:
        return float(self._inverse.sum())


def _relative(residual: np.ndarray, reference: np.ndarray) -> float:
    """The largest ratio of the norms of two columns."""
    size = np.maximum(np.linalg.norm(reference, axis=0), 1e-300)
    return float(np.max(np.linalg.norm(residual, axis=0) / size, initial=0))
