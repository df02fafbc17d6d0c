"""Kernels from distances: energy distance and distance covariance as statistics of an RKHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Zipped, as_dense
from ...params import number, parameter
from ..base import Tile, Tiled
from ..calculus import properties as prop
from .base import VectorKernel, squared_norms
from .distances import SQUARABLE, SquaredDistances

_FAR, _NEAR = 1e150, 1e-140  # distances beyond these have no squares, or lose digits of them


def power_of_distance() -> Any:
    """The power of a distance that is of negative type."""
    return number(1.0, "a number in (0, 2]", lambda v: 0 < v <= 2)


def _point(value: Any) -> str | None:
    if value is None:
        return None
    array = np.asarray(value)
    fine = array.dtype.kind in "iuf" and array.ndim <= 1 and bool(np.all(np.isfinite(array)))
    return None if fine else "None or a vector of finite numbers"


def induced(D: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(a_i + b_j - D_ij) / 2 in the memory of D: inner products from squared distances."""
    np.negative(D, out=D)
    D += left[:, None]
    D += right[None, :]
    D /= 2
    return D


def _lengths(V: Any) -> np.ndarray:
    """Lengths of vectors of any size."""
    V = as_dense(V)
    largest = np.abs(V).max(axis=1, initial=np.finfo(float).tiny)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(largest * np.linalg.norm(V / largest[:, None], axis=1))


@dataclass(eq=False, repr=False)
class Distance(VectorKernel, Tiled):
    r"""The kernel induced by a power of the Euclidean distance.

    .. math:: k(x, y) = \tfrac12 \left( \|x - z\|^\beta + \|y - z\|^\beta - \|x - y\|^\beta \right)

    Distances to a power up to 2 are of negative type, which makes k positive definite for any
    base point z. Neither MMD nor HSIC depend on z: twice the biased MMD^2 is the energy distance,
    and four times the biased HSIC the distance covariance. For beta = 1 on the line this is the
    covariance of Brownian motion, and min(x, y) on the positive half.

    Parameters
    ----------
    exponent : float
        beta in (0, 2]; with 2 the kernel is linear.
    origin : array of shape (d,), optional
        The base point z; 0 by default.

    Examples
    --------
    >>> from mercer import Distance
    >>> Distance()([[1.0], [2.0], [5.0]])
    array([[1., 1., 1.],
           [1., 2., 2.],
           [1., 2., 5.]])

    References
    ----------
    Sejdinovic, Sriperumbudur, Gretton & Fukumizu, *Equivalence of distance-based and RKHS-based
    statistics in hypothesis testing*, Annals of Statistics 2013.
    """

    exponent: float = power_of_distance()
    origin: Any = parameter(None, check=_point)
    because = "a power of at most 2 of the Euclidean distance is of negative type (Schoenberg)"

    def prepare(self, X: Data) -> Zipped:
        V = super().prepare(X)
        if self.origin is not None:
            z = np.asarray(self.origin, dtype=V.dtype)
            if z.ndim == 1 and len(z) not in (1, V.shape[1]):
                raise ValueError(
                    f"Distance: origin has {len(z)} entries, but X has {V.shape[1]} features."
                )
            V = as_dense(V) - z
        largest = float(abs(V).max()) if V.shape[0] and V.shape[1] else 0.0
        if V.dtype == np.float32 and largest and not 1 / SQUARABLE < largest < SQUARABLE:
            V = V.astype(np.float64)
        far = largest > _FAR or largest < _NEAR
        lengths = _lengths(V) ** self.exponent if far else self._power(squared_norms(V))
        return Zipped(V, lengths.astype(V.dtype))

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (V, a), (W, b) = X.parts, Y.parts
        largest = max(float(abs(Z).max()) if min(Z.shape) else 0.0 for Z in (V, W))
        near, unit = 0 < largest < _NEAR, 1.0
        if near:
            unit = max(float(np.exp2(np.floor(np.log2(largest)))), float(np.finfo(float).tiny))
            V, W = V / unit, W / unit
        distances = SquaredDistances(V, W, exact=True)
        far = distances.in_doubt and largest > _FAR

        def tile(rows: Any, cols: Any) -> np.ndarray:
            D = self._power(distances(rows, cols))
            if near:
                D *= unit**self.exponent
            if far:  # distances have a limit, as their squares have
                i, j = np.nonzero(_FAR**self.exponent <= D)
                with np.errstate(over="ignore"):
                    D[i, j] = _lengths(V[rows][i] - W[cols][j]) ** self.exponent
            return induced(D, a[rows], b[cols])

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        return np.array(X.parts[1])

    def grad_input(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        if self.exponent <= 1:
            raise NotImplementedError(f"{self!r} is not differentiable where x = y.")
        V, U = (Z.parts[0].toarray() if sp.issparse(Z.parts[0]) else Z.parts[0] for Z in (X, Y))
        slopes = W * self._slope(SquaredDistances(V, U, exact=True)(slice(None), slice(None)))
        outward = W.sum(axis=1) * self._slope(squared_norms(V))
        return np.asarray((outward - slopes.sum(axis=1))[:, None] * V + slopes @ U)

    def _power(self, squared: np.ndarray) -> np.ndarray:
        """||.||^beta from squared distances, in place where possible."""
        if self.exponent == 1:
            return np.sqrt(squared, out=squared)
        return np.power(squared, self.exponent / 2, out=squared)

    def _slope(self, squared: np.ndarray) -> np.ndarray:
        """beta/2 r^(beta - 2), 0 at 0, where it is multiplied by 0."""
        away = squared > 0
        power = np.power(squared, self.exponent / 2 - 1, where=away, out=np.zeros_like(squared))
        return self.exponent / 2 * power

    @property
    def properties(self) -> prop.Properties:
        facts: dict[str, Any] = {
            "bounded": prop.no("k(x, x) grows with ||x - z||"),
            "stationary": prop.no("k(x, x) is not constant"),
            "positive_diag": prop.no("k(z, z) = 0"),
        }
        if self.exponent == 2:
            facts["analytic"] = prop.yes("it is the inner product of x - z and y - z")
            facts["finite_dim"] = prop.yes("linear functions on R^d")
        else:
            facts["continuous"] = prop.yes("a continuous function of distances")
            facts["finite_dim"] = prop.no(
                "Gram matrices of any number of distinct points other than z are non-singular"
            )
            facts["smooth"] = prop.Smoothness(0, 0, "the distance has a kink at x = y")
            facts["characteristic"] = prop.yes(
                "powers below 2 of the Euclidean distance are of strong negative type"
            )
        return self._stated(**facts)
