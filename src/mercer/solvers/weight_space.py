"""K + diag(noise) of a K with few features, through a matrix of the features only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..engine.memory import require_memory
from ..gram.base import Gram
from .cholesky import CholeskyFactor, NotPositiveDefiniteError
from .iterative import IterativeFactor


class FeatureFactor:
    r"""What :class:`~mercer.solvers.cholesky.CholeskyFactor` does, for A = Phi Phi' + D.

    .. math:: A^{-1} = D^{-1} - D^{-1} \Phi B^{-1} \Phi' D^{-1}, \qquad
              B = I + \Phi' D^{-1} \Phi

    B is the precision of the weights of the features given the data: the variance of f at x that
    the data leave is phi(x)' B^-1 phi(x), a square that nothing is subtracted from. Their mean,
    w = B^-1 Phi' D^-1 y, is Phi' times A^-1 y: where rounding divided by D has left something
    between the two, the difference is added (:func:`~mercer.solvers.primal.solve_primal`).

    Parameters
    ----------
    phi : array or CSR matrix of shape (n, m)
        The features.
    noise : array of shape (n,)
        The diagonal of D, > 0.
    """

    def __init__(self, phi: Any, noise: np.ndarray) -> None:
        self.phi, self.noise = phi.astype(np.float64, copy=False), noise
        B: Any = self.phi.T @ scaled(self.phi, 1 / noise)
        B = np.ascontiguousarray(B if isinstance(B, np.ndarray) else B.toarray())
        B.flat[:: len(B) + 1] += 1
        self._inner = CholeskyFactor(B)

    def solve(self, Y: np.ndarray) -> np.ndarray:
        """A^-1 Y."""
        D = self.noise if Y.ndim == 1 else self.noise[:, None]
        w = self._inner.solve(np.asarray(self.phi.T @ (Y / D)))
        found = (Y - np.asarray(self.phi @ w)) / D
        lacking = self._inner.solve(w - np.asarray(self.phi.T @ found))
        return found + np.asarray(self.phi @ lacking) / D

    def among_features(self, V: np.ndarray) -> np.ndarray:
        """B^-1 V."""
        return self._inner.solve(V)

    def logdet(self) -> float:
        """log det A."""
        return self._inner.logdet() + float(np.log(self.noise).sum())

    def root(self, phi: Any) -> np.ndarray:
        """R with R'R = phi B^-1 phi': what is left of the covariance at these features."""
        columns = phi.T.astype(np.float64, copy=False)
        dense = columns if isinstance(columns, np.ndarray) else columns.toarray()
        return self._inner.half_solve(dense)


Factor = CholeskyFactor | FeatureFactor | IterativeFactor


def pays(gram: Gram) -> bool:
    """Has K so few features that a matrix of their number is much smaller than K?"""
    return gram.rank is not None and 2 * gram.rank <= len(gram)


def by_products(gram: Gram) -> bool:
    """Is K neither to be stored, nor a product of few features?"""
    return gram.matrix_free and not pays(gram)


def factors_of(gram: Gram, noise: np.ndarray) -> list[Factor]:
    """Factors of K + diag(d) for each column d of the noise.

    Of matrices of the features if these are few, else of K: a stored array is used up, and one that
    is not to be formed has products take the place of a factor.
    """
    if gram.fits(noise.shape[1] + 1):
        return [device_factor(gram, d) for d in noise.T]
    if by_products(gram):
        return [IterativeFactor(gram, d) for d in noise.T]
    if not pays(gram):
        what = f"the factor of {len(gram)} samples"
        size = 8.0 * noise.shape[1] * len(gram) ** 2
        K = np.ascontiguousarray(gram.dense(what, size), dtype=np.float64)
        return [CholeskyFactor(A) for A in with_noise(K, noise)]
    require_room(gram, noise.shape[1])
    return [FeatureFactor(gram.features, d) for d in noise.T]


def device_factor(gram: Gram, noise: float | np.ndarray) -> Any:
    """The factor of K + diag(noise) on the device of K."""
    try:
        return gram.factored(noise)
    except np.linalg.LinAlgError as error:
        raise NotPositiveDefiniteError(str(error)) from error


def require_room(gram: Gram, factors: int) -> None:
    """Refuse features whose factors take more memory than there is, or than a plan allows."""
    n, m = len(gram), int(gram.rank or 0)
    what = f"the factor of {m} features of {n} samples"
    require_memory(8.0 * m * (factors * m + 2 * n), what, gram.limit)


def with_noise(K: np.ndarray, noise: np.ndarray) -> Iterator[np.ndarray]:
    """K + diag(d) for each column d of the noise; K is overwritten."""
    for place, d in enumerate(noise.T, start=1):
        A = K if place == noise.shape[1] else K.copy()
        A.flat[:: len(A) + 1] += d
        yield A


def scaled(phi: Any, factors: np.ndarray) -> Any:
    """The rows of phi, multiplied."""
    if isinstance(phi, np.ndarray):
        return phi * factors[:, None]
    return phi.multiply(factors[:, None]).tocsr()
