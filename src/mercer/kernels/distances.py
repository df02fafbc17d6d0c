"""Squared distances in tiles by one matrix product, and lengthscales read off data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import length, take
from .vectors import Vectors, inner_products, squared_norms

_MEDIAN_SAMPLES = 1000  # the median distance is taken over at most this many samples


class SquaredDistances:
    """weight * ||x_i - y_j||^2 in tiles, by one matrix product of augmented coordinates.

    Coordinates are centred first, so that a common offset of the data does not cancel away the
    digits; the result is clipped to the right sign. With ``exact``, entries so small that
    cancellation would show are computed again from the differences.
    """

    unit = 1.0  # the products are the distances already

    def __init__(self, X: Vectors, Y: Vectors, weight: float = 1.0, exact: bool = False) -> None:
        self.weight, self.exact = weight, exact
        self.sparse = sp.issparse(X) or sp.issparse(Y)
        if self.sparse:
            self.X, self.Y = X, Y
            self.nx, self.ny = squared_norms(X), squared_norms(Y)
        else:
            if X.shape[1] != Y.shape[1]:
                inner_products(X[:1], Y[:1])  # raises, with the two widths
            origin = Y.mean(axis=0, dtype=np.float64).astype(Y.dtype)
            d, dtype = X.shape[1], np.result_type(X, Y)
            self.left = np.empty((len(X), d + 2), dtype)
            self.right = np.empty((len(Y), d + 2), dtype)
            self.Y = np.subtract(Y, origin, out=self.right[:, :d])
            self.X = self.Y if Y is X else X - origin
            self.nx = squared_norms(self.X)
            self.ny = self.nx if Y is X else squared_norms(self.Y)
            np.multiply(self.X, -2 * weight, out=self.left[:, :d])
            self.left[:, d], self.left[:, d + 1] = weight * self.nx, 1
            self.right[:, d], self.right[:, d + 1] = 1, weight * self.ny
        size = max(self.nx.max(initial=0), self.ny.max(initial=0))
        self.blurred = 256 * np.finfo(np.result_type(X, Y)).eps * size

    def exp(self, rows: Any, cols: Any) -> np.ndarray:
        """exp of a tile; where rounding makes the exponent positive, that is left in it."""
        D = self.left[rows] @ self.right[cols].T
        return np.exp(D, out=D)

    def __call__(self, rows: Any, cols: Any) -> np.ndarray:
        if self.sparse:
            D = inner_products(self.X[rows], self.Y[cols])
            D *= -2 * self.weight
            D += (self.weight * self.nx[rows]).astype(D.dtype)[:, None]
            D += (self.weight * self.ny[cols]).astype(D.dtype)[None, :]
        else:
            D = self.left[rows] @ self.right[cols].T
        if not self.exact:
            bound = np.maximum if self.weight > 0 else np.minimum
            return bound(D, 0, out=D)
        small = self.weight * self.blurred > D
        if small.any():  # what cancellation made negative is among these
            i, j = np.nonzero(small)
            difference = self.X[rows][i] - self.Y[cols][j]
            D[i, j] = self.weight * squared_norms(difference)
        return D

    def by_column(self, V: np.ndarray, D: np.ndarray) -> np.ndarray:
        """[sum_ij V_ij (x_id - y_jd)^2] for every column d, by one product with V.

        D is the whole block of squared distances (of weight 1): with ``exact``, it tells which
        pairs are so close that their differences are taken one by one.
        """
        near: Any = 0.0
        if self.exact:
            close = (D > 0) & (self.blurred > D)
            if close.any():
                i, j = np.nonzero(close)
                near = V[i, j] @ _squares(self.X[i] - self.Y[j])
                V = np.where(close, 0, V)
        mixed = V @ self.Y
        mixed = self.X.multiply(mixed) if sp.issparse(self.X) else self.X * mixed
        own = V.sum(axis=1) @ _squares(self.X) + V.sum(axis=0) @ _squares(self.Y)
        return np.asarray(own - 2 * np.asarray(mixed.sum(axis=0)).ravel() + near)


def _squares(Z: Vectors) -> Any:
    return Z.multiply(Z) if sp.issparse(Z) else np.square(np.asarray(Z))


def median_distance(X: Vectors) -> float:
    """The median Euclidean distance between distinct samples (of at most 1000, evenly spaced)."""
    n = length(X)
    if n > _MEDIAN_SAMPLES:
        X = take(X, np.linspace(0, n - 1, _MEDIAN_SAMPLES).astype(int))
    everything = slice(None)
    D = SquaredDistances(X, X, exact=True)(everything, everything)
    between = D[np.triu_indices(len(D), 1)]
    between = between[between > 0]
    return float(np.median(np.sqrt(between))) if len(between) else 1.0


def variance_scale(X: Vectors) -> float:
    """sqrt(d var(X) / 2): the lengthscale of scikit-learn's ``gamma="scale"``."""
    if sp.issparse(X):
        variance = float(X.multiply(X).mean() - X.mean() ** 2)
    else:
        variance = float(np.var(X, dtype=np.float64))
    return float(np.sqrt(X.shape[1] * variance / 2)) if variance > 0 else 1.0
