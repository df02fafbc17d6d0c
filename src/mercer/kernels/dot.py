"""Kernels of the inner product: linear, polynomial, exponential, binomial, any power series.

k(x, y) = f(<x, y>) with f(t) = sum_n a_n t^n is a kernel where the series converges if every
a_n >= 0: powers of <x, y> are kernels, and so are their non-negative sums and limits.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data
from ..exceptions import DomainError, NotAKernelError
from ..params import integer, nonnegative, parameter, positive
from . import properties as prop
from .algebra import _power
from .base import Tile
from .domains import VECTORS, Domain, ball
from .vectors import VectorKernel, Vectors, inner_products, squared_norms

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

    def grad_input(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        return np.asarray((W * self.slope(inner_products(X, Y))) @ Y)

    @property
    def domain(self) -> Domain:
        finite = np.isfinite(self.radius)
        return ball(np.sqrt(self.radius)) if finite else VECTORS


@dataclass(eq=False, repr=False)
class Linear(Dot):
    """The linear kernel k(x, y) = <x, y>.

    Examples
    --------
    >>> from mercer import Linear
    >>> Linear()([[1.0, 2.0], [3.0, 4.0]])
    array([[ 5., 11.],
           [11., 25.]])
    """

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
    because = "a polynomial in <x, y> with coefficients >= 0"

    def profile(self, T: np.ndarray) -> np.ndarray:
        if self.scale != 1:
            T *= self.scale
        if self.offset:
            T += self.offset
        return _power(T, int(self.degree))

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self.degree * self.scale * (self.scale * T + self.offset) ** (self.degree - 1)

    def n_features(self, X: Vectors) -> int:
        d, p = X.shape[1], self.degree
        return comb(d + p, p) if self.offset else comb(d + p - 1, p)

    def features(self, X: Vectors) -> np.ndarray | None:
        """Monomials x^a, |a| <= p, each with the root of its multinomial coefficient."""
        if self.n_features(X) > 10**6:
            return None
        X = X.toarray() if sp.issparse(X) else X
        n, d = X.shape
        low = 0 if self.offset else self.degree
        columns = []
        for q in range(low, self.degree + 1):
            weight = comb(self.degree, q) * self.scale**q * self.offset ** (self.degree - q)
            for chosen in combinations_with_replacement(range(d), q):
                repeats = [factorial(chosen.count(j)) for j in set(chosen)]
                size = np.sqrt(weight * factorial(q) / prod(repeats))
                columns.append(size * np.prod(X[:, list(chosen)], axis=1, initial=1))
        return np.stack(columns, axis=1).astype(X.dtype, copy=False)

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
    because = "a power series in <x, y> with coefficients gamma^n / n! >= 0"

    def profile(self, T: np.ndarray) -> np.ndarray:
        T *= self.scale
        return np.exp(T, out=T)

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self.scale * np.exp(self.scale * T)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no(_UNBOUNDED),
            analytic=prop.yes("the exponential of a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            universal=prop.yes("a Taylor kernel whose coefficients are all positive"),
            characteristic=prop.yes("the embedding is the moment generating function of gamma x"),
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
    because = "a power series in <x, y> with coefficients alpha (alpha+1) ... (alpha+n-1) / n! >= 0"

    @property
    def radius(self) -> float:
        return 1.0

    def profile(self, T: np.ndarray) -> np.ndarray:
        np.subtract(1, T, out=T)
        if self.alpha == 1:
            return np.reciprocal(T, out=T)
        return np.power(T, -self.alpha, out=T)

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self.alpha * (1 - T) ** (-self.alpha - 1)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows without limit as ||x|| approaches 1"),
            analytic=prop.yes("analytic inside the ball"),
            stationary=prop.no("k(x, x) is not constant"),
            universal=prop.yes("a Taylor kernel whose coefficients are all positive"),
            positive_diag=prop.yes("k(x, x) >= 1"),
        )


@dataclass(eq=False, repr=False)
class Taylor(Dot):
    r"""A power series in the inner product.

    .. math:: k(x, y) = \sum_{n \ge 0} a_n \langle x, y \rangle^n, \quad a_n \ge 0, \;
              \|x\|^2, \|y\|^2 < r

    Parameters
    ----------
    coefficients : list of float, or callable
        a_0, a_1, ...; a finite list is a polynomial. A callable gives a_n for every n, and then
        the radius of convergence has to be given.
    radius : float, optional
        The series is used for ||x||^2 < radius. Infinite for a finite list.
    tol : float
        A series is summed until its next terms no longer change the value relative to this.

    Examples
    --------
    >>> from mercer import Taylor
    >>> Taylor([1, 0, 2])([[1.0], [2.0]])
    array([[ 3.,  9.],
           [ 9., 33.]])
    >>> def geometric(n):
    ...     return 1.0
    >>> Taylor(geometric, radius=1)([[0.5]])  # 1 / (1 - 1/4)
    array([[1.33333333]])

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, lemma 4.8.
    """

    coefficients: list | np.ndarray | Callable[[int], float] = parameter(
        check=lambda a: (
            None if callable(a) or len(np.shape(a)) == 1 else "a list or a function of n"
        )
    )
    radius: float | None = parameter(  # type: ignore[assignment]
        None,
        check=lambda r: None if r is None or (isinstance(r, Real) and float(r) > 0) else "positive",
    )
    tol: float = positive(1e-15)
    because = "a power series in <x, y> with coefficients >= 0 is a limit of sums of products"
    _most_terms = 100_000

    def __post_init__(self) -> None:
        if callable(self.coefficients):
            if self.radius is None:
                raise ValueError(
                    "Taylor: radius must be given for an infinite series (numpy.inf if it "
                    "converges everywhere)."
                )
        elif np.any(np.asarray(self.coefficients, dtype=float) < 0):
            raise NotAKernelError(
                "Taylor: every coefficient must be >= 0; a negative one would subtract a kernel."
            )

    def prepare(self, X: Data) -> Vectors:
        X = VectorKernel.prepare(self, X)
        if self.radius is not None and np.isfinite(self.radius):
            outside = squared_norms(X) >= self.radius
            if outside.any():
                raise DomainError(
                    f"Taylor: sample {int(np.argmax(outside))} has ||x||^2 >= {self.radius:g}, the "
                    f"radius of convergence; rescale X."
                )
        return X

    def _coefficient(self, n: int) -> float:
        if callable(self.coefficients):
            a = float(self.coefficients(n))
            if not a >= 0:
                raise NotAKernelError(f"Taylor: coefficient a_{n} = {a:g} must be >= 0.")
            return a
        return float(self.coefficients[n]) if n < len(self.coefficients) else 0.0

    def _series(self, T: np.ndarray, weight: Callable[[int], float]) -> np.ndarray:
        """sum_n weight(n) T^n, until it settles."""
        total, power = np.zeros_like(T), np.ones_like(T)
        finite = None if callable(self.coefficients) else len(self.coefficients)
        quiet = 0
        for n in range(self._most_terms if finite is None else finite):
            term = weight(n) * power
            total += term
            settled = np.all(np.abs(term) <= self.tol * np.abs(total))
            quiet = quiet + 1 if settled and weight(n) else (quiet if not weight(n) else 0)
            if finite is None and quiet >= 3:
                return total
            power = power * T
        if finite is None:
            raise DomainError(
                f"Taylor: the series has not settled to tol={self.tol:g} after {self._most_terms} "
                f"terms; some ||x||^2 is too close to radius={self.radius}."
            )
        return total

    def profile(self, T: np.ndarray) -> np.ndarray:
        return self._series(T, self._coefficient)

    def slope(self, T: np.ndarray) -> np.ndarray:
        return self._series(T, lambda n: (n + 1) * self._coefficient(n + 1))

    @property
    def domain(self) -> Domain:
        finite = self.radius is not None and np.isfinite(self.radius)
        return ball(float(np.sqrt(self.radius or 1))) if finite else VECTORS

    @property
    def properties(self) -> prop.Properties:
        facts: dict[str, Any] = {"analytic": prop.yes("a power series inside its radius")}
        if not callable(self.coefficients):
            facts["finite_dim"] = prop.yes("a polynomial in <x, y>")
        if self._coefficient(0) > 0:
            facts["positive_diag"] = prop.yes("k(x, x) >= a_0 > 0")
        return self._stated(**facts)
