"""Polynomials of points of the plane, by their features.

===============  ==================================================
kernel           phi(x)
===============  ==================================================
:class:`XOR`     x1, x2, x1 x2
:class:`Conic`   x1^2, x2^2, sqrt2 x1 x2, sqrt2 x1, sqrt2 x2, 1
===============  ==================================================
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...data import Data, as_dense, as_vectors
from ...exceptions import DomainError
from ..calculus import properties as prop
from .explicit import Differentiable
from .kind import VECTORS

_ROOT2 = float(np.sqrt(2))


@dataclass(eq=False, repr=False)
class Planar(Differentiable):
    """Features of points of the plane; subclasses list them."""

    domain = VECTORS

    @abstractmethod
    def columns(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        """The features of the points (a, b)."""

    def prepare(self, X: Data) -> np.ndarray:
        owner = type(self).__name__
        X = as_vectors(X, owner)
        if X.shape[1] != 2:
            raise DomainError(
                f"{owner} works on points of the plane, but X has {X.shape[1]} columns; select "
                "two with .on([first, second])."
            )
        X = as_dense(X)
        return np.stack(self.columns(X[:, 0], X[:, 1]), axis=1)

    def _polynomials(self, positive_diag: prop.Fact) -> prop.Properties:
        return self._stated(
            bounded=prop.no("k(x, x) grows with ||x||"),
            analytic=prop.yes("a polynomial"),
            stationary=prop.no("k(x, x) is not constant"),
            finite_dim=prop.yes("spanned by the features"),
            positive_diag=positive_diag,
        )


@dataclass(eq=False, repr=False)
class XOR(Planar):
    """Features (x1, x2, x1 x2): a plane in them separates the XOR pattern.

    Examples
    --------
    >>> from mercer import XOR
    >>> XOR()([[1.0, 1.0], [1.0, -1.0]])
    array([[ 3., -1.],
           [-1.,  3.]])
    """

    def columns(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        return [a, b, a * b]

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        a, b, zero = phi[:, 0], phi[:, 1], np.zeros_like(phi[:, 0])
        one = zero + 1
        return _stack([[one, zero, b], [zero, one, a]])

    @property
    def properties(self) -> prop.Properties:
        return self._polynomials(prop.no("k(0, 0) = 0"))


@dataclass(eq=False, repr=False)
class Conic(Planar):
    """Features (x1^2, x2^2, sqrt2 x1 x2, sqrt2 x1, sqrt2 x2, 1): conic sections are linear in them.

    The kernel is (<x, y> + 1)^2 in the plane. Every ellipse, parabola or hyperbola is the set where
    one linear function of the features vanishes.

    Examples
    --------
    >>> from mercer import Conic
    >>> Conic()([[1.0, 0.0], [1.0, 1.0]])
    array([[4., 4.],
           [4., 9.]])
    """

    def columns(self, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
        return [a * a, b * b, _ROOT2 * a * b, _ROOT2 * a, _ROOT2 * b, np.ones_like(a)]

    def jacobian(self, phi: np.ndarray) -> np.ndarray:
        a, b, zero = phi[:, 3], phi[:, 4], np.zeros_like(phi[:, 0])
        root = zero + _ROOT2
        return _stack(
            [[_ROOT2 * a, zero, b, root, zero, zero], [zero, _ROOT2 * b, a, zero, root, zero]]
        )

    @property
    def properties(self) -> prop.Properties:
        return self._polynomials(prop.yes("k(x, x) >= 1"))


def _stack(rows: list[list[np.ndarray]]) -> np.ndarray:
    return np.stack([np.stack(row, axis=1) for row in rows], axis=1)
