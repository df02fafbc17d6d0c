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

from functools import cached_property
from typing import Any

import numpy as np

from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..engine.routines import eigh
from ..exceptions import NumericalWarning, warn
from ..gram.base import Gram
from .cholesky import NotPositiveDefiniteError
from .elimination import Elimination
from .smoother import Factored, Smoother, Spectral

_EPS = float(np.finfo(float).eps)


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
        self.limit = gram.limit
        self._reduce(gram)
        self.target = self.elimination.rotate(np.array(self.root * self.means, order="F"))
        self.target = self.target[self.elimination.m :]

    def _reduce(self, gram: Gram) -> None:
        """K, what is left of it beside the free functions, and how well that is known."""
        self.K: Any = gram.dense(f"a problem of {len(self.P)} points", 5 * 8.0 * len(self.P) ** 2)
        A = np.asarray(self.K[np.ix_(self.used, self.used)].T, dtype=float, order="F")
        A *= self.root
        A *= self.root.T
        self.noise = float(len(A) * np.finfo(self.K.dtype).eps * np.abs(A).max())
        m = self.elimination.m
        A = self.elimination.rotate(self.elimination.rotate(A), right=True)
        self.M = A[m:, m:]

    @property
    def freedom(self) -> int:
        """Directions that free functions leave: the size of M."""
        return len(self.used) - self.elimination.m

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
        A = np.array(self.M, order="C")
        A.flat[:: len(A) + 1] += alpha
        try:
            return Factored(self, alpha, A)
        except NotPositiveDefiniteError:
            return self._warned(self.at(alpha), always=True)

    def _warned(self, smoother: Smoother, always: bool = False) -> Smoother:
        """Warn if a solution is not unique."""
        if always or smoother.dropped:
            warn(
                f"the kernel matrix is singular to working precision (alpha={smoother.alpha:g}); "
                f"the least-squares solution of smallest norm is used. Raise alpha.",
                NumericalWarning,
            )
        return smoother

    def at(self, alpha: float) -> Smoother:
        """The solution at any alpha, from one eigendecomposition of M made at the first call."""
        return Spectral(self, alpha)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, V = Z U and U'Z'W^1/2 y, where M = U diag(s) U'."""
        if not len(self.M):
            return np.empty(0), np.empty((len(self.used), 0)), self.target
        n = len(self.P)
        require_memory(6 * 8.0 * n * n, f"a problem of {n} points", self.limit)
        s, U = lapack(len(self.M), eigh, self.M)
        if s[0] < -10 * self.noise:
            raise ValueError(
                "kernel: the matrix is not positive definite on the complement of the basis: its "
                f"smallest eigenvalue there is {s[0]:.2g} and the largest {s[-1]:.2g}. Use a "
                "positive definite kernel, more basis functions, or a larger alpha."
            )
        return np.maximum(s, 0), self.elimination.orthogonal(U), U.T @ self.target

    @property
    def lowest(self) -> float:
        """A penalty below which there is next to none."""
        s = self.spectrum[0]
        return max(float(s.min(initial=float(s.max(initial=0)))) / 10, self.noise) or 1e-3

    def penalties(self) -> np.ndarray:
        """Alphas from interpolation to free functions alone, evenly spaced on the log scale."""
        s = self.spectrum[0]
        top = max(float(s.max(initial=0)), self.noise) or 1.0
        low = min(self.lowest, top)
        return np.geomspace(low, 1e4 * top, 1 + int(4 * np.log10(1e4 * top / low)))
