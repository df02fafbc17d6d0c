"""Spline kernels on [0, 1]: the Sobolev space whose penalty is the integral of f^(m) squared."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import integer, one_of
from ..calculus import properties as prop
from ..calculus.domains import interval
from .line import LineKernel


@dataclass(eq=False, repr=False)
class Spline(LineKernel):
    r"""The spline kernel of order m on [0, 1].

    .. math:: k(x, y) = \sum_{j<m} \frac{x^j y^j}{(j!)^2} + \int_0^1
              \frac{(x - u)_+^{m-1} (y - u)_+^{m-1}}{((m-1)!)^2} \, du

    Its space holds the functions with m - 1 continuous derivatives and a square integrable m-th,
    with the squared norm sum_{j<m} f^(j)(0)^2 + int_0^1 f^(m)(t)^2 dt. The second term is
    reproduced by the integral alone (``polynomial=False``), a kernel of functions whose first
    m derivatives (f itself included) vanish at 0. Regression that penalises only
    int (f^(m))^2 and leaves polynomials of degree < m free gives natural splines of degree
    2m - 1: that kernel plus unpenalised polynomials.

    Parameters
    ----------
    order : int
        m >= 1: 1 for piecewise linear, 2 for cubic splines.
    polynomial : bool
        With (True) or without (False) the polynomials of degree < m.

    Examples
    --------
    >>> from mercer import Spline
    >>> Spline(order=1)([0.0, 0.5, 1.0])  # 1 + min(x, y)
    array([[1. , 1. , 1. ],
           [1. , 1.5, 1.5],
           [1. , 1.5, 2. ]])

    References
    ----------
    Wahba, *Spline Models for Observational Data*, 1990, section 1.2.
    """

    order: int = integer(2, low=1)
    polynomial: bool = one_of(True, True, False)
    because = "<g_x, g_y> in L2 of g_x(u) = (x - u)_+^(m-1) / (m-1)!, plus products of monomials"
    domain = interval(0, 1)

    def prepare(self, X: Data) -> np.ndarray:
        x = super().prepare(X)
        slack = 8 * np.finfo(x.dtype).eps  # what rescaling to [0, 1] may leave over by rounding
        outside = (x < -slack) | (x > 1 + slack)
        if outside.any():
            first = int(np.argmax(outside))
            raise DomainError(
                f"Spline: sample {first} is {x[first]:g}, but the kernel is defined on [0, 1]; "
                f"rescale X, for example (X - low) / (high - low)."
            )
        return np.clip(x, 0, 1)

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        K = _truncated_powers(X[:, None], Y[None, :], self.order - 1, self.order - 1)
        if self.polynomial:
            K += sum(_monomials(X, Y, j, j) for j in range(self.order))
        return K

    def diag(self, X: np.ndarray) -> np.ndarray:
        m = self.order
        d = X ** (2 * m - 1) / ((2 * m - 1) * factorial(m - 1) ** 2)
        if self.polynomial:
            d += sum(X ** (2 * j) / factorial(j) ** 2 for j in range(m))
        return d

    def grad_input(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        m = self.order
        if m == 1:
            raise NotImplementedError("Spline(order=1) is not differentiable where x = y.")
        D = _truncated_powers(X[:, None], Y[None, :], m - 2, m - 1)
        if self.polynomial:
            D += sum(_monomials(X, Y, j - 1, j) for j in range(1, m))
        return np.sum(W * D, axis=1)[:, None]

    @property
    def properties(self) -> prop.Properties:
        m = self.order
        facts = {
            "bounded": prop.yes("continuous on a compact interval"),
            "stationary": prop.no("k(x, x) grows with x"),
            "smooth": prop.Smoothness(
                m - 1, m - 1, f"the derivative of order {m - 1} in x and in y holds min(x, y)"
            ),
        }
        if self.polynomial:
            facts["universal"] = prop.yes("H_k holds every polynomial, and they are dense")
        else:
            vanishing = "every f in H_k vanishes at 0"
            facts["strictly_pd"] = prop.no(f"{vanishing}, so k(0, 0) = 0")
            facts["positive_diag"] = prop.no("k(0, 0) = 0")
            facts["finite_dim"] = prop.no("H_k holds every polynomial times x^m")
            facts["characteristic"] = prop.yes(
                "H_k is dense in the continuous functions that vanish at 0, and two probability "
                "measures that agree on these agree at 0 too, since both have mass 1"
            )
        return self._stated(**facts)


def _monomials(X: np.ndarray, Y: np.ndarray, p: int, q: int) -> np.ndarray:
    """[x^p y^q / (p! q!)]."""
    return np.multiply.outer(X**p / factorial(p), Y**q / factorial(q))


def _truncated_powers(x: np.ndarray, y: np.ndarray, p: int, q: int) -> np.ndarray:
    """The integral over u in [0, 1] of (x - u)_+^p (y - u)_+^q / (p! q!), x and y broadcast.

    With s = min(x, y) and the gap d = |x - y| it is that of v^a (v + d)^b over v in [0, s], where b
    is the power of the larger point: a sum of non-negative terms, so nothing cancels.
    """
    s, d = np.minimum(x, y), np.abs(x - y)

    def expanded(a: int, b: int) -> np.ndarray:
        terms = (comb(b, j) / (a + j + 1) * d ** (b - j) * s ** (a + j + 1) for j in range(b + 1))
        return sum(terms, start=np.zeros_like(s)) / (factorial(p) * factorial(q))

    return expanded(p, q) if p == q else np.where(x >= y, expanded(q, p), expanded(p, q))
