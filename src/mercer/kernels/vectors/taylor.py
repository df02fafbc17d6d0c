"""Any power series in the inner product with coefficients >= 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from numbers import Rational, Real
from typing import Any

import numpy as np

from ...data import Data
from ...exceptions import DomainError, NotAKernelError
from ...params import parameter, positive
from ..calculus import properties as prop
from ..calculus.domains import Domain, ball
from ..formula import INNER, Atom, Profile, prepared_by
from .base import VectorKernel, Vectors, squared_norms
from .dot import _UNBOUNDED, Dot
from .kind import VECTORS

_GAP = 1000  # coefficients of 0 in a row that are the end of a series


_LOOKED_AT = 16  # coefficients that a statement about all of them is held against
_ALL = "all a_n > 0, as stated: H_k holds all polynomials (Steinwart & Christmann, 4.57)"


def _series(coefficients: Any) -> str | None:
    """A check of coefficients: the sentence about a negative one says what it would break."""
    wanted = "a list of finite numbers >= 0 or a function of n"
    if callable(coefficients):
        return None
    try:
        values = np.asarray(coefficients, dtype=float)
    except (TypeError, ValueError):
        return wanted
    if values.ndim != 1 or not values.size or not np.all(np.isfinite(values)):
        return wanted
    if (values < 0).any():
        raise NotAKernelError(
            "Taylor: every coefficient must be >= 0; a negative one would subtract a kernel."
        )
    return None


def _log(a: Any) -> float:
    """log a; of a fraction also if it is too small for a float."""
    if isinstance(a, Rational):
        return log(a.numerator) - log(a.denominator)
    return log(a)


@dataclass(eq=False, repr=False)
class Taylor(Dot):
    r"""A power series in the inner product.

    .. math:: k(x, y) = \sum_{n \ge 0} a_n \langle x, y \rangle^n, \quad a_n \ge 0, \;
              \|x\|^2, \|y\|^2 < r

    Parameters
    ----------
    coefficients : list of float, or callable
        a_0, a_1, ...; a finite list is a polynomial. A callable gives a_n for every n, and then the
        radius of convergence must be given; it may return a :class:`fractions.Fraction` where a
        float would be 0, as 1 / n! is from n = 178 on.
    radius : float, optional
        The series is used for ||x||^2 < radius. Infinite for a finite list.
    all_positive : bool
        For a callable, assert that all its coefficients are positive, which cannot be verified: the
        kernel is then universal on compact subsets of the open ball ||x||^2 < radius.
    tol : float
        A series is summed until further terms change the value by less than this, in relative
        terms.

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

    coefficients: list | np.ndarray | Callable[[int], float] = parameter(check=_series)
    radius: float | None = parameter(  # type: ignore[assignment]
        None,
        check=lambda r: None if r is None or (isinstance(r, Real) and float(r) > 0) else "positive",
    )
    tol: float = positive(1e-15, tuned=False)
    all_positive: bool = parameter(
        False, check=lambda a: None if isinstance(a, bool) else "True or False"
    )
    profile_name = "power series"
    because = "a power series in <x, y> with coefficients >= 0 is a limit of sums of products"
    _most_terms = 100_000

    def __post_init__(self) -> None:
        self._check_radius()

    def _check_radius(self) -> None:
        if callable(self.coefficients) and self.radius is None:
            raise ValueError(
                "Taylor: radius must be given for an infinite series (numpy.inf if it "
                "converges everywhere)."
            )
        if not self.all_positive:
            return
        if not callable(self.coefficients):
            raise ValueError(
                "Taylor: all_positive is a statement about an infinite series; for a list of "
                "coefficients, which is a polynomial, it must be False."
            )
        for n in range(_LOOKED_AT):
            if not self._coefficient(n) > 0:
                raise ValueError(f"Taylor: all_positive is stated, but a_{n} is 0.")

    def prepare(self, X: Data) -> Vectors:
        self._check_radius()  # set_params may have changed one of the two
        X = VectorKernel.prepare(self, X)
        if self.radius is not None and np.isfinite(self.radius):
            outside = squared_norms(X) >= self.radius
            if outside.any():
                raise DomainError(
                    f"Taylor: sample {int(np.argmax(outside))} has ||x||^2 >= {self.radius:g}, the "
                    f"radius of convergence; rescale X."
                )
        return X

    def formula(self, X: Vectors) -> Atom:
        return Atom(INNER, X, Profile.of(self), path=prepared_by(self, Taylor))

    def _coefficient(self, n: int) -> Any:
        if callable(self.coefficients):
            a = self.coefficients(n)
            if not a >= 0:
                raise NotAKernelError(f"Taylor: coefficient a_{n} = {float(a):g} must be >= 0.")
            return a
        return float(self.coefficients[n]) if n < len(self.coefficients) else 0.0

    def _series(self, T: np.ndarray, weight: Callable[[int], Any]) -> np.ndarray:
        """sum_n weight(n) T^n, until it settles.

        Powers are those of T / max |T|, and the rest of each term, weight(n) max |T|^n, comes from
        logarithms: a large power times a small coefficient is neither infinite nor 0.
        """
        largest = float(np.abs(T).max(initial=0))
        ratio = T / largest if largest > 0 else T
        rate = np.log(largest) if largest > 0 else 0.0
        most = np.log(np.finfo(T.dtype).max)
        total, power = np.zeros_like(T), np.ones_like(T)
        finite = None if callable(self.coefficients) else len(self.coefficients)
        quiet = zeros = 0
        for n in range(self._most_terms if finite is None else finite):
            a = weight(n)
            if a:
                exponent = _log(a) + n * rate
                if not exponent < most:
                    raise DomainError(
                        f"Taylor: the values of the kernel are too large to be represented, since "
                        f"some |<x, y>| is {largest:.3g}; rescale X."
                    )
                term = np.exp(exponent) * power
                total += term
                settled = np.all(np.abs(term) <= self.tol * np.abs(total))
                quiet, zeros = quiet + 1 if settled else 0, 0
            else:
                zeros += 1
            if finite is None and (quiet >= 3 or (zeros >= _GAP and quiet)):
                return total
            if finite is None and zeros >= _GAP and n > _GAP:
                raise DomainError(
                    f"Taylor: coefficients from a_{n - zeros + 1} on are 0, or too small for "
                    f"a float, but terms still matter where |<x, y>| is {largest:.3g}; rescale "
                    f"X, or let coefficients be fractions.Fraction."
                )
            power = power * ratio
        if finite is None:
            raise DomainError(
                f"Taylor: the series has not converged to tol={self.tol:g} after "
                f"{self._most_terms} terms; some ||x||^2 is too close to radius={self.radius}."
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
            if any(a > 0 for a in self.coefficients[1:]):
                facts["stationary"] = prop.no("k(x, x) is not constant")
                unbounded = self.domain == VECTORS
                facts["bounded"] = (
                    prop.no(_UNBOUNDED) if unbounded else prop.yes("a polynomial on a bounded set")
                )
        elif self.all_positive:
            facts["universal"] = prop.yes(_ALL)
        positive = self._coefficient(0) > 0
        facts["positive_diag"] = (
            prop.yes("k(x, x) >= a_0 > 0") if positive else prop.no("k(0, 0) = 0")
        )
        return self._stated(**facts)
