r"""Least squares with a kernel and free functions: splines, and any kernel plus a basis.

.. math:: \min_{f = h + \sum_j d_j p_j,\ h \in H_k}
          \sum_i w_i (y_i - f(x_i))^2 + \alpha \|h\|^2

By the semi-parametric representer theorem f = sum_i c_i k(x_i, .) + sum_j d_j p_j with

.. math:: \begin{pmatrix} K + \alpha W^{-1} & P \\ P' & 0 \end{pmatrix}
          \begin{pmatrix} c \\ d \end{pmatrix} = \begin{pmatrix} y \\ 0 \end{pmatrix}.

The system is indefinite, and K itself may be, as long as it is positive definite on the vectors
orthogonal to P (thin-plate splines). So P is eliminated first: with W^1/2 P = Q1 T, Z an
orthonormal basis of the vectors orthogonal to Q1, and M = Z' W^1/2 K W^1/2 Z,

    (M + alpha I) g = Z' W^1/2 y,    c = W^1/2 Z g,    T d = Q1' W^1/2 (y - K c).

M is symmetric and positive (semi)definite. One Cholesky factor of M + alpha I gives the solution
at one alpha, one eigendecomposition of M those at all.
"""

from __future__ import annotations

import time
import warnings
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.linalg as sla

from ..exceptions import NumericalWarning
from ..gram.base import Gram
from ..gram.memory import require_memory
from ..gram.tiles import one_blas_thread
from .base import Solution
from .cholesky import CholeskyFactor, NotPositiveDefiniteError
from .eigen import _THREADED

_EPS = float(np.finfo(float).eps)
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


class Elimination:
    """P = Q1 T for an n x m matrix P, with Q = [Q1 Z] orthogonal and kept as m reflections.

    Parameters
    ----------
    P : ndarray of shape (n, m)
        Values of the free functions; refused if its columns are linearly dependent.
    """

    def __init__(self, P: np.ndarray) -> None:
        n, self.m = P.shape
        norms = np.linalg.norm(P, axis=0)
        self._norms = np.where(norms > 0, norms, 1.0)
        rank = n
        if n >= self.m:
            scaled = P / self._norms
            (self._raw, self._tau), self._T, self._order = sla.qr(scaled, mode="raw", pivoting=True)
            rank = int(np.sum(np.abs(np.diagonal(self._T)) > 8 * n * _EPS))
        if rank < self.m:
            raise ValueError(
                f"the {self.m} free functions are not determined by the data: at least {self.m} "
                f"distinct points of positive weight, on which they are linearly independent, are "
                f"needed; n_samples = {n}, of rank {rank}. Add samples or drop functions."
            )

    def rotate(self, B: np.ndarray, *, back: bool = False, right: bool = False) -> np.ndarray:
        """Q'B; with ``back`` QB, with ``right`` BQ. An F-ordered B is overwritten."""
        (ormqr,) = sla.get_lapack_funcs(("ormqr",), (self._raw, B))
        side, trans = ("R", "N") if right else ("L", "N" if back else "T")
        lwork = 64 * max(B.shape)
        return ormqr(side, trans, self._raw, self._tau, B, lwork, overwrite_c=True)[0]

    def orthogonal(self, G: np.ndarray) -> np.ndarray:
        """Z G."""
        padded = np.zeros((self.m + len(G), G.shape[1]), order="F")
        padded[self.m :] = G
        return self.rotate(padded, back=True)

    def coefficients(self, R: np.ndarray) -> np.ndarray:
        """d with P d closest to R."""
        rotated = self.rotate(np.array(R, order="F"))[: self.m]
        d = np.empty_like(rotated)
        d[self._order] = sla.solve_triangular(self._T, rotated)
        return d / self._norms[:, None]

    @cached_property
    def leverage(self) -> np.ndarray:
        """The diagonal of Q1 Q1', shape (n,)."""
        first = np.eye(len(self._raw), self.m, order="F")
        return np.sum(self.rotate(first, back=True) ** 2, axis=1)


class SemiparametricProblem:
    """Data, targets and weights, with the free functions eliminated.

    Parameters
    ----------
    gram : Gram of shape (k, k)
        K at k points; its stored array, if any, is used up. It has to be positive definite only
        on the vectors orthogonal to the basis.
    basis : array of shape (k, m)
        Values of the free functions at these points.
    Y : array of shape (n, t)
        Targets.
    weights : array of shape (n,), optional
        Sample weights >= 0; samples of weight 0 have no influence.
    rows : integer array of shape (n,), optional
        The point each sample was taken at; by default each has its own. Samples at one point
        are merged into their weighted mean, which changes neither f nor what follows from it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Spline
    >>> from mercer.solvers.semiparametric import SemiparametricProblem
    >>> x = np.linspace(0, 1, 5)
    >>> P = np.column_stack([np.ones(5), x])
    >>> problem = SemiparametricProblem(Spline(2, polynomial=False).gram(x), P, x[:, None] ** 2)
    >>> problem.factor(alpha=0.01).solve().null_coef.shape
    (2, 1)
    >>> [round(problem.at(alpha).dof(), 2) for alpha in (1e-9, 1e-2, 1e3)]
    [5.0, 2.86, 2.0]

    References
    ----------
    Wahba, *Spline Models for Observational Data*, 1990, sections 1.3 and 4.5.
    Schölkopf, Herbrich & Smola, *A generalized representer theorem*, COLT 2001.
    """

    def __init__(
        self,
        gram: Gram,
        basis: np.ndarray,
        Y: np.ndarray,
        weights: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        self.P = np.asarray(basis, dtype=float)
        if self.P.ndim != 2 or len(self.P) != len(gram) or not self.P.shape[1]:
            raise ValueError(
                f"basis must give an array of shape ({len(gram)}, m) with m >= 1, got shape "
                f"{self.P.shape}."
            )
        if not np.all(np.isfinite(self.P)):
            raise ValueError("basis must be finite on the data, but has NaN or infinite values.")
        self.Y = np.asarray(Y, dtype=float)
        self.rows = np.arange(len(gram)) if rows is None else np.asarray(rows)
        self.weights = np.ones(len(self.Y)) if weights is None else np.asarray(weights, dtype=float)
        self.n = int(np.sum(self.weights > 0))
        self._merge()
        self.elimination = Elimination(self.root * self.P[self.used])
        require_memory(24 * len(gram) ** 2, f"a problem of {len(gram)} points")
        self.K = gram.consume()
        A = np.array(self.K[np.ix_(self.used, self.used)], dtype=float, order="F")
        A *= self.root
        A *= self.root.T
        self.noise = float(len(A) * np.finfo(self.K.dtype).eps * np.abs(A).max())
        m = self.elimination.m
        A = self.elimination.rotate(self.elimination.rotate(A), right=True)
        self.M = np.ascontiguousarray(A[m:, m:])
        self.target = self.elimination.rotate(np.array(self.root * self.means, order="F"))[m:]

    def _merge(self) -> None:
        """Points of positive weight, the roots of their weights, and the mean targets there."""
        mass = np.bincount(self.rows, self.weights, minlength=len(self.P))
        sums = np.zeros((len(self.P), self.Y.shape[1]))
        np.add.at(sums, self.rows, self.weights[:, None] * self.Y)
        self.used = np.flatnonzero(mass > 0)
        self.means = sums[self.used] / mass[self.used, None]
        self.root = np.sqrt(mass[self.used])[:, None]
        position = np.full(len(self.P), -1)
        position[self.used] = np.arange(len(self.used))
        self.position = position[self.rows]  # of the point of each sample among those used, or -1
        counts = self.weights > 0
        self.share = np.zeros(len(self.Y))  # of each sample in the weight of its point
        self.share[counts] = self.weights[counts] / mass[self.rows[counts]]
        spread = self.Y[counts] - self.means[self.position[counts]]
        self.within = float(np.sum(self.weights[counts] @ spread**2))

    def factor(self, alpha: float) -> Smoother:
        """The solution at one alpha >= 0, by a Cholesky factor of M + alpha I."""
        A = self.M.copy()
        A.flat[:: len(A) + 1] += alpha
        try:
            return _Factored(self, alpha, A)
        except NotPositiveDefiniteError:
            smoother = self.at(alpha)
        warnings.warn(
            f"the kernel matrix is singular to working precision (alpha={alpha:g}); the "
            f"least-squares solution of smallest norm is used. Raise alpha.",
            NumericalWarning,
            stacklevel=3,
        )
        return smoother

    def at(self, alpha: float) -> Smoother:
        """The solution at any alpha, from one eigendecomposition of M made at the first call."""
        return _Spectral(self, alpha)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, V = Z U and U'Z'W^1/2 y, where M = U diag(s) U'."""
        if not len(self.M):
            return np.empty(0), np.empty((len(self.used), 0)), self.target
        with one_blas_thread() if len(self.M) > _THREADED else nullcontext():
            s, U = sla.eigh(self.M, driver="evd", check_finite=False)
        if s[0] < -10 * self.noise:
            raise ValueError(
                f"kernel: the matrix is not positive definite beside the basis, its smallest "
                f"eigenvalue there is {s[0]:.2g} and the largest {s[-1]:.2g}. Use a positive "
                f"definite kernel, more basis functions, or a larger alpha."
            )
        return np.maximum(s, 0), self.elimination.orthogonal(U), U.T @ self.target

    def penalties(self) -> np.ndarray:
        """Alphas from interpolation to free functions alone, evenly spaced on the log scale."""
        s = self.spectrum[0]
        top = max(float(s.max(initial=0)), self.noise) or 1.0
        low = max(float(s.min(initial=top)) / 10, self.noise) or 1e-3
        return np.geomspace(low, 1e4 * top, 1 + int(4 * np.log10(1e4 * top / low)))


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
        squares, trace = float(np.sum(self.g**2)), self.trace
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


class _Factored(Smoother):
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


class _Spectral(Smoother):
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


def solve_semiparametric(
    gram: Gram,
    basis: np.ndarray,
    Y: np.ndarray,
    alpha: float,
    weights: np.ndarray | None = None,
) -> SemiparametricSolution:
    """Minimise sum_i w_i (y_i - f(x_i))^2 + alpha ||h||^2 over f = h + sum_j d_j p_j.

    For alpha >= 0; the other arguments are those of :class:`SemiparametricProblem`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.solvers.semiparametric import solve_semiparametric
    >>> x = np.linspace(0, 3, 30)
    >>> solution = solve_semiparametric(
    ...     Gaussian().gram(x), np.ones((30, 1)), 5 + np.sin(x)[:, None], alpha=0.1
    ... )
    >>> bool(abs(solution.coef.sum()) < 1e-10), solution.stats["residual"] < 1e-12
    (True, True)
    """
    start = time.perf_counter()
    solution = SemiparametricProblem(gram, basis, Y, weights).factor(alpha).solve()
    solution.stats["seconds"] = time.perf_counter() - start
    return solution


def _relative(residual: np.ndarray, reference: np.ndarray) -> float:
    """The largest ratio of the norms of two columns."""
    size = np.maximum(np.linalg.norm(reference, axis=0), 1e-300)
    return float(np.max(np.linalg.norm(residual, axis=0) / size, initial=0))
