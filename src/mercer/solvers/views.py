"""One view of paired samples as canonical correlations see it: a Gram matrix, or a factor of it.

Samples have weights p, which sum to one. With D = n diag(p) and features centred on their weighted
mean, a view is A = (1/n) D^(1/2) K D^(1/2) = U diag(s) U': the s are the variances of the principal
components in feature space. Functions of the view are given by coefficients: dual ones for a Gram
matrix, weights of the columns for a factor.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..data import Rows
from ..engine.lapack import lapack
from ..engine.routines import eigh, solve_lower
from ..gram.arrays import HOST_ARRAYS
from .cholesky import CholeskyFactor

FORMS = ("ridge", "squared")
_CLOSE = 1e-6  # a factor with singular values closer to zero than this is orthogonalised twice


def shrinkage(s: np.ndarray, regularization: float, form: str) -> np.ndarray:
    """What is left of each principal direction: sqrt(s / (s + r)), or s / (s + r / 2).

    The square root of s^2 / b for b = s^2 + r s ("ridge") or b = (s + r / 2)^2 ("squared"). A
    direction without a penalty has s = inf, and all of it is left.
    """
    if form == "ridge":
        return np.sqrt(1 / (1 + regularization / s))
    return 1 / (1 + regularization / (2 * s))


class Spectrum(NamedTuple):
    """The positive eigenvalues of A in ascending order, and their vectors as columns."""

    s: np.ndarray
    U: np.ndarray


class Smoother(NamedTuple):
    """P = A^2 B^-1 as a function of blocks, and what finds the coefficients of the function P u.

    B is A^2 + r A ("ridge") or (A + r I / 2)^2 ("squared"): P u holds the values at the samples
    of the function that is closest to u, under the penalty.
    """

    values: Callable[[np.ndarray], np.ndarray]
    coef: Callable[[np.ndarray], np.ndarray]


class View(ABC):
    """What both kinds of views share: the weights, and which rows of the data are used.

    Parameters
    ----------
    data : ndarray
        K of shape (n, n), or G of shape (n, r) with K = G G'; neither weighted nor centred.
    weights : ndarray of shape (n,), optional
        Weights of the samples, >= 0.
    rows : integers, optional
        The samples that are used; all by default.
    """

    def __init__(
        self,
        data: np.ndarray,
        weights: np.ndarray | None = None,
        rows: np.ndarray | None = None,
    ) -> None:
        self.data, self.weights, self.rows = data, weights, rows
        self._at: Rows = slice(None) if rows is None else rows
        self.n = len(data) if rows is None else len(rows)
        w = np.ones(self.n) if weights is None else np.asarray(weights, dtype=float)[self._at]
        self.p = w / w.sum()
        self.root = np.sqrt(self.n * self.p)[:, None]

    def restrict(self, rows: np.ndarray) -> View:
        """The same view of some of the samples."""
        return type(self)(self.data, self.weights, rows)

    @cached_property
    @abstractmethod
    def spectrum(self) -> Spectrum:
        """The eigendecomposition of A."""

    @abstractmethod
    def smoother(self, regularization: float, form: str) -> Smoother:
        """P for one regularization."""

    @abstractmethod
    def coef(self, E: np.ndarray, shrink: np.ndarray) -> np.ndarray:
        """Coefficients of the functions with values sqrt(n) U diag(shrink) E at the samples."""

    @abstractmethod
    def evaluate(self, coef: np.ndarray, rows: Rows = slice(None)) -> np.ndarray:
        """The functions, not centred, at some rows of all the data."""

    @abstractmethod
    def scale(self) -> tuple[float, float]:
        """The variance tr A, and the mean square of the features, not centred."""

    def offset(self, coef: np.ndarray) -> np.ndarray:
        """The weighted means of the functions over the samples in use."""
        return self.p @ self.evaluate(coef, self._at)


class GramView(View):
    """A view given by its Gram matrix; functions are sum_i c_i k(x_i, .) with sum_i c_i = 0.

    Attributes
    ----------
    arrays : Arrays
        Where it is decomposed.
    """

    arrays = HOST_ARRAYS

    def restrict(self, rows: np.ndarray) -> View:
        some = GramView(self.data, self.weights, rows)
        some.arrays = self.arrays
        return some

    def centered(self) -> np.ndarray:
        """A, as a fresh array."""
        K = self.data if self.rows is None else self.data[np.ix_(self.rows, self.rows)]
        A = np.array(K, dtype=np.float64, order="C")
        means = A @ self.p
        A -= means[:, None]
        A -= means[None, :] - self.p @ means
        if self.weights is not None:
            A *= self.root
            A *= self.root.T
        A /= self.n
        return A

    @cached_property
    def spectrum(self) -> Spectrum:
        s, U = self.arrays.eigh(self.centered())
        noise = 4 * np.sqrt(self.n) * np.finfo(self.data.dtype).eps * self.scale()[1]
        kept = s > max(_rounding(self.n) * s[-1], noise)
        return Spectrum(s[kept], U[:, kept])

    def smoother(self, regularization: float, form: str) -> Smoother:
        A = self.centered()
        shift = regularization if form == "ridge" else regularization / 2
        A.flat[:: self.n + 1] += shift
        solve = CholeskyFactor(A).solve

        def hat(V: np.ndarray) -> np.ndarray:
            return V - shift * solve(V)

        if form == "ridge":
            return Smoother(hat, lambda V: self._dual(solve(V)))
        return Smoother(lambda V: hat(hat(V)), lambda V: self._dual(solve(hat(V))))

    def coef(self, E: np.ndarray, shrink: np.ndarray) -> np.ndarray:
        s, U = self.spectrum
        return self._dual(U @ ((shrink / s)[:, None] * E))

    def _dual(self, V: np.ndarray) -> np.ndarray:
        C = self.root * V / np.sqrt(self.n)
        return C - np.outer(self.p, C.sum(axis=0))

    def evaluate(self, coef: np.ndarray, rows: Rows = slice(None)) -> np.ndarray:
        return self.data[rows][:, self._at] @ coef

    def scale(self) -> tuple[float, float]:
        K = self.data
        raw = float(self.p @ np.diagonal(K)[self._at])
        return raw - float(self.p @ (K[self._at][:, self._at] @ self.p)), raw


class FactorView(View):
    """A view given by features, or a factor G of its Gram matrix; functions are g(x)' a."""

    @cached_property
    def _decomposition(self) -> tuple[Spectrum, np.ndarray]:
        """The spectrum of A, and the V of U diag(sqrt(s)) V' = (D/n)^(1/2) (G - mean)."""
        G = np.array(self.data[self._at], dtype=np.float64)
        G -= self.p @ G
        G *= self.root / np.sqrt(self.n)
        s, U, V = thin_decomposition(G)
        return Spectrum(s, U), V

    @cached_property
    def spectrum(self) -> Spectrum:
        return self._decomposition[0]

    def smoother(self, regularization: float, form: str) -> Smoother:
        s, U = self.spectrum
        w = shrinkage(s, regularization, form)[:, None]
        return Smoother(
            lambda u: U @ (w**2 * (U.T @ u)), lambda u: self.coef(w * (U.T @ u), w[:, 0])
        )

    def coef(self, E: np.ndarray, shrink: np.ndarray) -> np.ndarray:
        (s, _), V = self._decomposition
        return V @ ((shrink / np.sqrt(s))[:, None] * E)

    def dual(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients c of the samples with sum_i c_i g(x_i) = a and sum_i c_i = 0."""
        (s, U), V = self._decomposition
        return self.root * (U @ ((V.T @ coef) / np.sqrt(s)[:, None])) / np.sqrt(self.n)

    def evaluate(self, coef: np.ndarray, rows: Rows = slice(None)) -> np.ndarray:
        return self.data[rows] @ coef

    def scale(self) -> tuple[float, float]:
        G = self.data[self._at]
        raw = float(self.p @ np.einsum("ij,ij->i", G, G))
        return raw - float(np.sum((self.p @ G) ** 2)), raw


class SemiparametricView(FactorView):
    """A view given by features of which the first are free, that is, carry no penalty.

    What the other features share with the free ones is theirs without a penalty, too: the
    directions are those of the free features, with s = inf, and the principal components of what a
    regression on these leaves of the others.

    Parameters
    ----------
    data, weights, rows
        As in :class:`View`.
    free : int
        How many of the columns are free.
    """

    def __init__(
        self,
        data: np.ndarray,
        weights: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        *,
        free: int,
    ) -> None:
        super().__init__(data, weights, rows)
        self.free = free

    def restrict(self, rows: np.ndarray) -> SemiparametricView:
        return SemiparametricView(self.data, self.weights, rows, free=self.free)

    @cached_property
    def _parts(self) -> tuple[Spectrum, np.ndarray]:
        """The spectrum, and the coefficients of the functions with values sqrt(n) U."""
        G = np.array(self.data[self._at], dtype=np.float64)
        G -= self.p @ G
        G *= self.root / np.sqrt(self.n)
        F, G = np.split(G, [self.free], axis=1)
        f, Q, V = thin_decomposition(F)
        inverse = V / np.sqrt(f)  # Q = F inverse
        noise = _rounding(self.n) * float(np.sum(G**2))
        shared = Q.T @ G
        s, U, W = thin_decomposition(G - Q @ shared)
        kept = s > noise
        s, U, W = s[kept], U[:, kept], W[:, kept] / np.sqrt(s[kept])
        U = np.hstack([U, Q])
        coef = np.block([[-inverse @ (shared @ W), inverse], [W, np.zeros((len(W), len(f)))]])
        return Spectrum(np.concatenate([s, np.full(len(f), np.inf)]), U), coef

    @cached_property
    def spectrum(self) -> Spectrum:
        return self._parts[0]

    def coef(self, E: np.ndarray, shrink: np.ndarray) -> np.ndarray:
        return self._parts[1] @ (shrink[:, None] * E)

    def dual(self, coef: np.ndarray) -> np.ndarray:
        raise NotImplementedError("unpenalised functions are not sums over samples.")


def thin_decomposition(G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The s, U and V of G = U diag(sqrt(s)) V', without singular values that are rounding errors.

    By the eigendecomposition of G'G. Where that would leave U far from orthogonal, its columns
    are made orthogonal once more, which costs less than a singular value decomposition of G.
    """
    n, r = G.shape
    if r > n:
        s, V, U = thin_decomposition(G.T)
        return s, U, V
    if not r:
        return np.zeros(0), np.zeros((n, 0)), np.zeros((0, 0))
    s, V = lapack(r, eigh, G.T @ G)
    kept = s > 4 * _rounding(r) * s[-1]
    s, V = s[kept], V[:, kept]
    if not len(s):
        return s, np.zeros((n, 0)), V
    U = G @ (V / np.sqrt(s))
    if s[0] < _CLOSE * s[-1]:
        L = lapack(r, np.linalg.cholesky, U.T @ U)
        W, singular, Zt = lapack(r, np.linalg.svd, L.T * np.sqrt(s))
        U = U @ lapack(r, solve_lower, L, W, transposed=True)
        s, V = singular**2, V @ Zt.T
    return s, U, V


def _rounding(n: int) -> float:
    return n * float(np.finfo(float).eps)
