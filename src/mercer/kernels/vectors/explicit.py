"""Kernels given by their features: k(x, y) = <phi(x), phi(y)> for a phi one can write down.

=====================  ============================================================  ============
kernel                 phi(x)                                                        samples
=====================  ============================================================  ============
:class:`Monomials`     x, x^2, ..., x^l                                              numbers
:class:`Sinusoids`     sin x, cos x, ..., sin l x, cos l x                           numbers
:class:`FeatureMap`    a function of yours                                           anything
=====================  ============================================================  ============

Others have files of their own: points of the plane (``planar.py``) and documents (``words.py``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, as_vectors, length
from ...exceptions import DomainError
from ...features.inverted import products
from ...params import a_function, integer
from ..base import Tile, Tiled
from ..calculus import properties as prop
from ..calculus.domains import circle
from .base import inner_products
from .kind import VECTORS
from .line import one_column


@dataclass(eq=False, repr=False)
class Explicit(Tiled):
    """<phi(x), phi(y)>; prepared samples are the features, an (n, D) array or CSR matrix."""

    because = "<phi(x), phi(y)> is an inner product of explicit features"

    @abstractmethod
    def prepare(self, X: Data) -> Any:
        """The features phi(x), one row per sample."""

    def tiles(self, X: Any, Y: Any) -> Tile:
        if not sp.issparse(X):
            return lambda rows, cols: inner_products(X[rows], Y[cols])
        return products(X, Y)

    def diag(self, X: Any) -> np.ndarray:
        if not sp.issparse(X):
            return np.einsum("ij,ij->i", X, X)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(row, weights=X.data**2, minlength=X.shape[0]).astype(X.dtype)

    def features(self, X: Any) -> Any:
        return X

    def n_features(self, X: Any) -> int | None:
        return int(X.shape[1])


@dataclass(eq=False, repr=False)
class FeatureMap(Explicit):
    """A kernel from your own feature map: k(x, y) = <phi(x), phi(y)>.

    Parameters
    ----------
    map : callable
        phi, from a data set of n samples to an (n, D) array or CSR matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FeatureMap
    >>> def letters_and_digits(words):
    ...     return np.array([[len(w), sum(c.isdigit() for c in w)] for w in words])
    >>> FeatureMap(letters_and_digits)(["a1", "abc"])
    array([[5., 6.],
           [6., 9.]])
    """

    map: Callable[[Data], Any] = a_function("a function of a data set")

    def prepare(self, X: Data) -> Any:
        n = length(X)
        if n == 0:
            raise DomainError("FeatureMap: X has no samples.")
        phi: Any = as_vectors(self.map(X), "FeatureMap (what map returns)")
        if phi.shape[0] != n:
            raise ValueError(
                f"FeatureMap: map must return one row of features per sample, got "
                f"{phi.shape[0]} rows for {n} samples."
            )
        if sp.issparse(phi) and not phi.has_canonical_format:
            phi = phi.copy()  # the map may hold on to its matrix
            phi.sum_duplicates()
        return phi

    @property
    def properties(self) -> prop.Properties:
        return self._stated(finite_dim=prop.yes("spanned by finitely many features"))


@dataclass(eq=False, repr=False)
class Differentiable(Explicit):
    """Features of numbers whose derivatives are known from the features themselves."""

    @abstractmethod
    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        """The (n, d, D) array of derivatives of the D features with respect to the d inputs."""

    def grad_input(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        return np.einsum("ikj,ij->ik", self.jacobian(X), W @ Y)


@dataclass(eq=False, repr=False)
class Monomials(Differentiable):
    """Features (x, x^2, ..., x^l) of one variable: polynomial regression through the origin.

    Parameters
    ----------
    degree : int
        l >= 1. Add 1 to the kernel for the constant function.

    Examples
    --------
    >>> from mercer import Monomials
    >>> Monomials(degree=2)([1.0, 2.0])
    array([[ 2.,  6.],
           [ 6., 20.]])
    """

    degree: int = integer(3, low=1)
    domain = VECTORS

    def prepare(self, X: Data) -> np.ndarray:
        x = one_column(X, "Monomials")
        with np.errstate(over="ignore"):
            phi = (x[:, None] ** np.arange(1, self.degree + 1)).astype(x.dtype, copy=False)
        finite = np.isfinite(phi[:, -1])
        if not finite.all():
            raise DomainError(
                f"Monomials: x^{self.degree} overflows for sample {int(np.argmin(finite))}; "
                f"rescale X or lower the degree."
            )
        return phi

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        lower = np.hstack([np.ones_like(phi[:, :1]), phi[:, :-1]])
        return (lower * np.arange(1, self.degree + 1))[:, None, :]

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows with |x|"),
            analytic=prop.yes("a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            finite_dim=prop.yes(f"dimension {self.degree}"),
            positive_diag=prop.no("k(0, 0) = 0"),
        )


@dataclass(eq=False, repr=False)
class Sinusoids(Differentiable):
    """Features (sin x, cos x, ..., sin l x, cos l x) of one variable, in radians.

    The kernel is cos(x - y) + ... + cos(l (x - y)), that is ``Fourier([0, 1/2, ..., 1/2])``.

    Parameters
    ----------
    degree : int
        l >= 1. Add 1 to the kernel for the constant function.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Sinusoids
    >>> Sinusoids(degree=2)(np.array([0.0, np.pi])).round(4)
    array([[2., 0.],
           [0., 2.]])
    """

    degree: int = integer(3, low=1)
    domain = circle(2 * np.pi)

    def prepare(self, X: Data) -> np.ndarray:
        x = one_column(X, "Sinusoids")
        phase = x.astype(np.float64)[:, None] * np.arange(1, self.degree + 1)
        pairs = np.stack([np.sin(phase), np.cos(phase)], axis=2)
        return pairs.reshape(len(x), -1).astype(x.dtype, copy=False)

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        l = np.arange(1, self.degree + 1)
        turned = np.stack([phi[:, 1::2] * l, -phi[:, ::2] * l], axis=2)
        return turned.reshape(len(phi), 1, -1)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("k(x, x) = l"),
            analytic=prop.yes("a trigonometric polynomial"),
            stationary=prop.yes("a sum of cos(j (x - y))"),
            finite_dim=prop.yes(f"dimension {2 * self.degree}"),
            positive_diag=prop.yes("k(x, x) = l"),
        )
