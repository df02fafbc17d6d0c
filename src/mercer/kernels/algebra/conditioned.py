"""The covariance that is left of a Gaussian process once it has been observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, Zipped, in_double
from ...engine.lapack import lapack
from ...engine.routines import solve_lower
from ...params import parameter, show
from ..base import Tile
from ..calculus import properties as prop
from ..calculus.transformed import of_conditioned
from ..overrides import by_tiles
from .anchored import Anchored


def _is_noise(value: Any) -> str | None:
    noise = np.asarray(value)
    fine = noise.dtype.kind in "iuf" and noise.ndim <= 1 and bool(np.all(noise >= 0))
    return None if fine else "a number >= 0, or one for each sample of the reference"


@dataclass(eq=False, repr=False)
class Without(Anchored):
    """k(x, y) - <h(x), h(y)>: prepared samples are those of k, and h."""

    def _matrix(self) -> np.ndarray:
        """Kernel values between samples of the reference, in double precision."""
        from ...gram.tiles import evaluate

        Z = self.kernel.prepare(in_double(self.reference))
        return evaluate(self.kernel, Z, Z).astype(np.float64, copy=False)

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return by_tiles(self, Without, X, Y)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        inner, hx, hy = self.kernel.tiles(X.parts[0], Y.parts[0]), X.parts[1], Y.parts[1]
        return lambda rows, cols: inner(rows, cols) - hx[rows] @ hy[cols].T

    def diag(self, X: Zipped) -> np.ndarray:
        half = X.parts[1]
        left = self.kernel.diag(X.parts[0]) - np.einsum("ij,ij->i", half, half)
        return np.maximum(left, 0.0)

    def features(self, X: Zipped) -> None:
        return None

    def n_features(self, X: Zipped) -> None:
        return None


@dataclass(eq=False, repr=False)
class Conditioned(Without):
    r"""The posterior covariance given observations at z_1..z_m with noise: ``k.given(z, noise)``.

    .. math:: k(x, y) - k(x, z) (K_{zz} + N)^{-1} k(z, y)

    Without noise it is the kernel of the functions in H_k that vanish at z.

    Parameters
    ----------
    kernel : Kernel
        The prior covariance.
    reference : data, optional
        The points z; by default the data the kernel is resolved on.
    noise : float or array
        The variance N of the noise, one number or one for each point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> k = Gaussian().given(np.array([[0.0]]))
    >>> k(np.array([[0.0], [1.0]])).round(3).tolist()
    [[0.0, 0.0], [0.0, 0.632]]

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, equation 2.24.
    """

    noise: Any = parameter(0.0, check=_is_noise)
    because = "a Schur complement of a positive definite matrix is positive definite"

    def prepare(self, X: Data) -> Zipped:
        Z = self._anchors()
        K = self.kernel.pairwise(Z, Z).astype(np.float64)
        K.flat[:: len(K) + 1] += self.noise
        P = self.kernel.prepare(X)
        L = lapack(len(K), np.linalg.cholesky, K)
        cross = self.kernel.pairwise(Z, P).astype(np.float64)
        half = lapack(len(K), solve_lower, L, cross)
        return Zipped(P, half.T)

    @property
    def properties(self) -> prop.Properties:
        return of_conditioned(self.kernel.properties, bool(np.all(np.asarray(self.noise) > 0)))

    def __repr__(self) -> str:
        given = [] if self.reference is None else [show(self.reference)]
        if np.ndim(self.noise) or self.noise != 0:
            given.append(f"noise={show(self.noise)}")
        return f"{self.kernel._wrapped(9)}.given({', '.join(given)})"
