"""The matrix of polyharmonic splines, positive definite only on the complement of polynomials."""

from __future__ import annotations

from math import factorial, gamma, perm, pi

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import xlogy

from ..data import Rows
from .base import Gram


class PolyharmonicGram(Gram):
    """[e(|z_i - z_j|)]: the conditionally positive definite kernel of the spline of order m.

    ``derivative`` is that of e with respect to the rows, for one variable.
    """

    matrix_free = False  # splines are solved by a factorisation

    def __init__(
        self, Z: np.ndarray, order: int, other: np.ndarray | None = None, *, derivative: int = 0
    ) -> None:
        self.Z = Z
        self.order = order
        self._other = Z if other is None else other
        self.symmetric = other is None
        self.derivative = derivative
        self.shape = (len(Z), len(self._other))
        self.dtype = np.dtype(float)

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        m, d = self.order, self.Z.shape[1]
        power = 2 * m - d - self.derivative
        left, right = self.Z[rows], self._other[cols]
        R = cdist(left, right)
        if d % 2 == 0:
            sign = (-1) ** (m + 1 + d // 2)
            size = 2 ** (2 * m - 1) * pi ** (d // 2) * factorial(m - 1) * factorial(m - d // 2)
            return xlogy(R**power, R) * (sign / size)
        E = R**power * (gamma(d / 2 - m) / (2 ** (2 * m) * pi ** (d / 2) * factorial(m - 1)))
        if self.derivative:
            E *= perm(2 * m - 1, self.derivative) * np.sign(left - right.T) ** self.derivative
        return E

    def cross(self, X_new: np.ndarray) -> PolyharmonicGram:
        return PolyharmonicGram(X_new, self.order, self.Z)
