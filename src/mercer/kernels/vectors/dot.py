"""Kernels of the inner product: linear, polynomial, exponential, binomial.

k(x, y) = f(<x, y>) with f(t) = sum_n a_n t^n is a kernel where the series converges if every
a_n >= 0: powers of <x, y> are kernels, and so are their non-negative sums and limits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from math import comb

import numpy as np

from ...data import Data, as_dense
from ...exceptions import DomainError
from ...features.products import MAX_DENSE
from ...params import integer, nonnegative, positive
from ..base import Tile, no_gradient, weigh
from ..calculus import properties as prop
from ..calculus.domains import Domain, ball
from ..formula import INNER, Atom, Profile, prepared_by
from ..formula_nodes import power
from .base import VectorKernel, Vectors, inner_products, squared_norms
from .distances import SquaredDistances
from .kind import VECTORS

_UNBOUNDED = "k(x, x) grows with ||x||"


@dataclass(eq=False, repr=False)
class Dot(VectorKernel):
    """A function of <x, y>; subclasses give it as a function of the block of inner products."""

    @abstractmethod
    def profile(self, T: np.ndarray) -> np.ndarray:
        """f of the inner products, computed in place where possible."""

    @abstractmethod
    def slope(self, T: np.ndarray) -> np.ndarray:
        """f' of the inner products."""

    def theta_slopes(self, T: np.ndarray) -> Iterable[np.ndarray]:
        """df/dtheta of the inner products, one block per entry of theta."""
        raise no_gradient(self)

    @property
    def radius(self) -> float:
        """<x, y> must stay below this number: ||x||^2 < radius."""
        return np.inf

    def prepare(self, X: Data) -> Vectors:
        X = super().prepare(X)
        if np.isfinite(self.radius):
            outside = squared_norms(X) >= self.radius
            if outside.any():
                raise DomainError(
                    f"{type(self).__name__}: sample {int(np.argmax(outside))} has norm >= "
                    f"{np.sqrt(self.radius):g}, but the kernel is defined on the open ball of that "
                    f"radius; rescale X."
                )
        return X

    def pairwise(self, X: Vectors, Y: Vectors) -> np.ndarray:
        return self.profile(inner_products(X, Y))

    def tiles(self, X: Vectors, Y: Vectors) -> Tile:
        return lambda rows, cols: self.profile(inner_products(X[rows], Y[cols]))

    def diag(self, X: Vectors) -> np.ndarray:
        return self.profile(squared_norms(X).astype(X.dtype))

    def formula(self, X: Vectors) -> Atom:
        return Atom(INNER, X, Profile.of(self), path=prepared_by(self, Dot))

    def grad_input(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        return np.asarray((W * self.slope(inner_products(X, Y))) @ Y)

    def grad_theta(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        return weigh(W, self.theta_slopes(inner_products(X, Y)))

    def grad_theta_diag(self, X: Vectors, w: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        return weigh(w, self.theta_slopes(squared_norms(X)))

    @property
    def domain(self) -> Domain:
        finite = np.isfinite(self.radius)
        return ball(np.sqrt(self.radius)) if finite else VECTORS


@dataclass(eq=False, repr=False)
class Linear(Dot):
    r"""The linear kernel.

    .. math:: k(x, y) = \langle x, y \rangle

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

    profile_name = "linear"
    because = "<x, y> is an inner product"

    def profile(self, T: np.ndarray) -> np.ndarray:
        return T

    def slope(self, T: np.ndarray) -> np.ndarray:
        return np.ones_like(T)

    def features(self, X: Vectors) -> Vectors:
        return X

    def n_features(self, X: Vectors) -> int:
        return int(X.shape[1])

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no(_UNBOUNDED),
            analytic=prop.yes("a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            finite_dim=prop.yes("linear functions on R^d"),
            positive_diag=prop.no("k(0, 0) = 0"),
        )


@dataclass(eq=False, repr=False)
class Polynomial(Dot):
    r"""The polynomial kernel.

    .. math:: k(x, y) = (\gamma \langle x, y \rangle + c)^p

    Parameters
    ----------
    degree : int
        The degree p >= 1.
    offset : float
        c >= 0; with c = 0 only monomials of degree exactly p occur.
    scale : float
        gamma > 0.

    Examples
    --------
    >>> from mercer import Polynomial
    >>> Polynomial(degree=2)([[1.0], [2.0]])
    array([[ 4.,  9.],
           [ 9., 25.]])

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, lemma 4.7.
    """

    degree: int = integer(3, low=1)
    offset: float = nonnegative(1.0)
    scale: float = positive(1.0)
    profile_name = "polynomial"
    because = "a polynomial in <x, y> with coefficients >= 0"

    def profile(self, T: np.ndarray) -> np.ndarray:
        if self.scale != 1:
            T *= self.scale
        if self.offset:
            T += self.offset
        return power(T, int(self.degree))

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self.degree * self.scale * (self.scale * T + self.offset) ** (self.degree - 1)

    def theta_slopes(self, T: np.ndarray) -> Iterable[np.ndarray]:
        slope = self.slope(T)
        if self.offset:
            yield slope * (self.offset / self.scale)
        yield slope * T

    def n_features(self, X: Vectors) -> int | None:
        d, p = X.shape[1], self.degree
        count = comb(d + p, p) if self.offset else comb(d + p - 1, p)
        return count if count <= MAX_DENSE else None

    def features(self, X: Vectors) -> np.ndarray | None:
        """Monomials x^a, |a| <= p, each with the root of its multinomial coefficient."""
        if self.n_features(X) is None:
            return None
        X = as_dense(X)
        p, d = self.degree, X.shape[1]
        level = np.ones((len(X), 1))  # monomials of degree q, as ordered lists of their factors
        last, run, orders = np.zeros(1, int), np.zeros(1, int), np.ones(1)
        blocks = []
        for q in range(p + 1):
            weight = comb(p, q) * self.scale**q * self.offset ** (p - q)
            if weight:
                blocks.append(level * np.sqrt(weight * orders))
            if q < p:  # times each x_j that does not come before the last factor
                longer = [np.flatnonzero(last <= j) for j in range(d)]
                old, new = np.concatenate(longer), np.repeat(np.arange(d), list(map(len, longer)))
                run = np.where(last[old] == new, run[old] + 1, 1)
                level, last, orders = level[:, old] * X[:, new], new, orders[old] * (q + 1) / run
        return np.hstack(blocks).astype(X.dtype, copy=False)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no(_UNBOUNDED),
            analytic=prop.yes("a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            finite_dim=prop.yes("polynomials of bounded degree"),
            positive_diag=prop.yes("k(x, x) >= c^p > 0") if self.offset else prop.no("k(0, 0) = 0"),
        )


@dataclass(eq=False, repr=False)
class Exponential(Dot):
    r"""The exponential kernel.

    .. math:: k(x, y) = \exp(\gamma \langle x, y \rangle)

    Parameters
    ----------
    scale : float
        gamma > 0.

    Examples
    --------
    >>> from mercer import Exponential
    >>> Exponential()([[0.0], [1.0]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 2.7183]])

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, example 4.9.
    """

    scale: float = positive(1.0)
    profile_name = "exponential"
    because = "a power series in <x, y> with coefficients gamma^n / n! >= 0"

    def profile(self, T: np.ndarray) -> np.ndarray:
        T *= self.scale
        with np.errstate(over="ignore"):  # values that are not finite are refused in words
            return np.exp(T, out=T)

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self.scale * np.exp(self.scale * T)

    def theta_slopes(self, T: np.ndarray) -> Iterable[np.ndarray]:
        yield T * self.slope(T)

    def log_tiles(self, X: Vectors, Y: Vectors) -> Tile:
        """<x, y> - ||x||^2 / 2 - ||y||^2 / 2, times the scale."""
        return SquaredDistances(X, Y, weight=-self.scale / 2)

    def log_diag(self, X: Vectors) -> np.ndarray:
        return np.zeros(X.shape[0], X.dtype)

    def log_offsets(self, X: Vectors) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.scale / 2 * squared_norms(X)

    def grad_log_theta(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        everything = slice(None)
        return weigh(W, [self.log_tiles(X, Y)(everything, everything)])

    def grad_log_theta_diag(self, X: Vectors, w: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def grad_log_offsets(self, X: Vectors, w: np.ndarray) -> np.ndarray:
        return weigh(w, [self.log_offsets(X)])

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no(_UNBOUNDED),
            analytic=prop.yes("the exponential of a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            universal=prop.yes("a Taylor kernel whose coefficients are all positive"),
            integrally_pd=prop.yes("the embedding is a Laplace transform, which is injective"),
            positive_diag=prop.yes("an exponential"),
        )


@dataclass(eq=False, repr=False)
class Binomial(Dot):
    r"""The binomial kernel on the open unit ball.

    .. math:: k(x, y) = (1 - \langle x, y \rangle)^{-\alpha}, \quad \|x\|, \|y\| < 1

    Parameters
    ----------
    alpha : float
        The exponent alpha > 0.

    Examples
    --------
    >>> from mercer import Binomial
    >>> Binomial(alpha=1)([[0.0], [0.5]]).round(4)
    array([[1.    , 1.    ],
           [1.    , 1.3333]])

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, example 4.11.
    """

    alpha: float = positive(1.0)
    profile_name = "binomial"
    because = "a power series in <x, y> with coefficients alpha (alpha+1) ... (alpha+n-1) / n! >= 0"
    radius = 1.0

    def profile(self, T: np.ndarray) -> np.ndarray:
        np.subtract(1, T, out=T)
        if self.alpha == 1:
            return np.reciprocal(T, out=T)
        return np.power(T, -self.alpha, out=T)

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self.alpha * (1 - T) ** (-self.alpha - 1)

    def theta_slopes(self, T: np.ndarray) -> Iterable[np.ndarray]:
        yield -self.alpha * np.log1p(-T) * (1 - T) ** -self.alpha

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows without limit as ||x|| approaches 1"),
            analytic=prop.yes("analytic inside the ball"),
            stationary=prop.no("k(x, x) is not constant"),
            universal=prop.yes("a Taylor kernel whose coefficients are all positive"),
            integrally_pd=prop.yes("the embedding holds all moments of a bounded distribution"),
            positive_diag=prop.yes("k(x, x) >= 1"),
        )
