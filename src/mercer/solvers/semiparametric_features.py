r"""Least squares with free functions where K = Phi Phi' is a product of few features.

With B = Z' W^1/2 Phi = U S V', what is left of K is M = B B', and for each penalty

.. math:: (M + \alpha I)^{-1} = U \left((S^2 + \alpha)^{-1} - \alpha^{-1}\right) U'
          + \alpha^{-1} I,

so that one thin singular value decomposition gives all of them in n r^2 operations, and no matrix
of n x n numbers is ever there. Notation is that of :mod:`mercer.solvers.semiparametric`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as sla

from ..data import as_dense
from ..engine.lapack import lapack, side
from ..engine.memory import require_memory
from ..gram.base import Gram
from .eigen import beside
from .semiparametric import SemiparametricProblem
from .smoother import Smoother

_NEXT_TO_NONE = 1e-3  # of the smallest eigenvalue: a penalty that changes nothing
_EXACT = 1e-7  # of the largest eigenvalue


class FeatureProblem(SemiparametricProblem):
    """A problem whose K is a product of features, which is not stored.

    Parameters are those of :class:`~mercer.solvers.semiparametric.SemiparametricProblem`.
    """

    features: np.ndarray  # Z' W^1/2 Phi

    def _reduce(self, gram: Gram) -> None:
        k = len(self.P)
        require_memory(6 * 8.0 * k * (gram.rank or 1), f"a problem of {k} points", gram.limit)
        self.K = gram
        phi = as_dense(gram.features)
        B = np.array(self.root * phi[self.used], dtype=float, order="F")
        largest = float(np.einsum("ij,ij->i", B, B).max(initial=0.0))
        self.noise = len(B) * float(np.finfo(phi.dtype).eps) * largest
        self.features = self.elimination.rotate(B)[self.elimination.m :]

    def factor(self, alpha: float) -> Smoother:
        return self._warned(Thin(self, alpha))

    def at(self, alpha: float) -> Smoother:
        return Thin(self, alpha)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """s, V = Z U and U'Z'W^1/2 y for the r eigenvalues s that need not be zero."""
        rows = side(*self.features.shape, self.features.shape[1])
        U, roots, _ = lapack(rows, sla.svd, self.features, full_matrices=False)
        return roots**2, self.elimination.orthogonal(U), U.T @ self.target

    @property
    def lowest(self) -> float:
        """With fewer features than samples, residuals divided by it are still exact enough."""
        s = self.spectrum[0]
        if len(s) == self.freedom or not s.any():
            return super().lowest
        return max(_NEXT_TO_NONE * float(s[s > self.noise].min(initial=s.max())), _EXACT * s.max())


class Thin(Smoother):
    """By singular vectors of the features, and alpha alone in all other directions."""

    method = "svd"

    def __init__(self, problem: FeatureProblem, alpha: float) -> None:
        super().__init__(problem, alpha)
        s, self._V, self._target = problem.spectrum
        keep = s + alpha >= problem.noise
        self._others = problem.freedom - len(s)
        self._rest = 1.0 / alpha if self._others and alpha >= problem.noise else 0.0
        self.dropped = int(np.sum(~keep)) + (self._others if self._rest == 0 else 0)
        self._inverse = np.divide(1.0, s + alpha, out=np.zeros_like(s), where=keep)

    def b(self) -> np.ndarray:
        own = self._V @ (self._inverse[:, None] * self._target)
        if self._rest == 0:
            return own
        whole = self.problem.elimination.orthogonal(self.problem.target)
        return own + self._rest * beside(self._V, whole)

    @property
    def squares(self) -> float:
        own = np.sum(self._target**2)
        left = max(float(np.sum(self.problem.target**2) - own), 0.0)
        return float(np.sum((self._inverse[:, None] * self._target) ** 2) + self._rest**2 * left)

    @cached_property
    def diagonal(self) -> np.ndarray:
        seen = self._V**2 @ (self._inverse - self._rest)
        return seen + self._rest * (1 - self.problem.elimination.leverage)

    @property
    def trace(self) -> float:
        return float(self._inverse.sum()) + self._rest * self._others


def problem_of(
    gram: Gram,
    basis: np.ndarray,
    Y: np.ndarray,
    weights: np.ndarray | None = None,
    rows: np.ndarray | None = None,
) -> SemiparametricProblem:
    """The problem, by features where these are fewer than half of the samples."""
    few = gram.features is not None and 2 * (gram.rank or 0) < len(gram)
    return (FeatureProblem if few else SemiparametricProblem)(gram, basis, Y, weights, rows)
