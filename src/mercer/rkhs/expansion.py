"""The Mercer expansion of the Gaussian kernel under a Gaussian measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data import Data
from ..kernels.base import Tile
from ..kernels.calculus import properties as prop
from ..kernels.vectors.line import LineKernel, one_column
from ..params import integer, positive

_LOG_HUGE = 230.0  # numbers above exp(230) are rescaled before the next step of the recurrence


@dataclass(eq=False, repr=False)
class MercerExpansion(LineKernel):
    r"""The first terms of the eigen-expansion of the Gaussian kernel on the line.

    .. math:: k_m(x, y) = \sum_{k<m} \lambda_k e_k(x) e_k(y), \qquad
              \int e^{-(x-y)^2/2\ell^2} e_k(y) \, d\mu(y) = \lambda_k e_k(x)

    The measure mu is N(0, s^2), with density exp(-x^2 / 2 s^2) / (sqrt(2 pi) s); s^2 = 1/2 gives
    exp(-x^2) / sqrt(pi). The e_k are orthonormal in L2(mu). With a = 1/(4 s^2), b = 1/(2 l^2),
    c = sqrt(a^2 + 2ab) and A = a + b + c,

    .. math:: \lambda_k = \sqrt{2a/A}\, (b/A)^k, \qquad
              e_k(x) = \frac{(c/a)^{1/4}}{\sqrt{2^k k!}} e^{-(c-a)x^2} H_k(\sqrt{2c}\, x)

    with the (physicists') Hermite polynomials H_k. All eigenvalues together sum to 1; those left
    out sum to (b/A)^m, which is the mean of k(x, x) - k_m(x, x) under mu.

    Parameters
    ----------
    lengthscale : float
        The lengthscale l of the Gaussian kernel.
    measure_scale : float
        The standard deviation s of the measure: the expansion is accurate where it has its mass.
    n_terms : int
        The number m of terms.

    Examples
    --------
    >>> from mercer import MercerExpansion
    >>> k = MercerExpansion(lengthscale=1.0, n_terms=4)
    >>> k.eigenvalues.round(4)
    array([0.618 , 0.2361, 0.0902, 0.0344])
    >>> k([0.0, 0.5]).round(4)
    array([[0.9916, 0.883 ],
           [0.883 , 0.9967]])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.3.
    """

    lengthscale: float = positive(1.0)
    measure_scale: float = positive(1.0)
    n_terms: int = integer(20, low=1)
    because = "<phi(x), phi(y)> with the features sqrt(lambda_k) e_k(x)"

    def _constants(self) -> tuple[float, float, float, float]:
        """a, c, c - a (without cancellation) and the ratio b / A of consecutive eigenvalues."""
        a = 0.25 / float(self.measure_scale) ** 2
        b = 0.5 / float(self.lengthscale) ** 2
        c = float(np.sqrt(a * (a + 2 * b)))
        return a, c, 2 * a * b / (a + c), b / (a + b + c)

    @property
    def eigenvalues(self) -> np.ndarray:
        """lambda_0 > lambda_1 > ... of the terms kept."""
        ratio = self._constants()[3]
        return (1 - ratio) * ratio ** np.arange(self.n_terms)

    @property
    def remainder(self) -> float:
        """The sum of the eigenvalues left out."""
        return float(self._constants()[3] ** self.n_terms)

    def eigenfunctions(self, X: Data) -> np.ndarray:
        """[e_k(x_i)], an (n, n_terms) array, of raw X."""
        return self._eigenfunctions(one_column(X, "MercerExpansion"))

    def _eigenfunctions(self, x: np.ndarray) -> np.ndarray:
        """By the three-term recurrence of normalised Hermite functions.

        Far out e_0 underflows long before e_k does, so the recurrence runs on numbers of size 1
        with a logarithm of their common scale per sample.
        """
        a, c, decay, _ = self._constants()
        x = x.astype(np.float64)
        z = np.sqrt(2 * c) * x
        log_scale = 0.25 * np.log(c / a) - decay * x * x
        before, now = np.zeros_like(x), np.ones_like(x)
        out = np.empty((len(x), self.n_terms))
        for k in range(self.n_terms):
            out[:, k] = now * np.exp(log_scale)
            before, now = now, z * np.sqrt(2 / (k + 1)) * now - np.sqrt(k / (k + 1)) * before
            large = np.abs(now) > np.exp(_LOG_HUGE)
            if large.any():
                shrink = np.where(large, np.exp(-_LOG_HUGE), 1.0)
                before, now = before * shrink, now * shrink
                log_scale = log_scale + np.where(large, _LOG_HUGE, 0.0)
        return out

    def features(self, X: np.ndarray) -> np.ndarray:
        phi = self._eigenfunctions(X) * np.sqrt(self.eigenvalues)
        return phi.astype(X.dtype, copy=False)

    def n_features(self, X: np.ndarray) -> int:
        return int(self.n_terms)

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self.features(X) @ self.features(Y).T

    def tiles(self, X: np.ndarray, Y: np.ndarray) -> Tile:
        A = self.features(X)
        B = A if Y is X else self.features(Y)
        return lambda rows, cols: A[rows] @ B[cols].T

    def diag(self, X: np.ndarray) -> np.ndarray:
        phi = self.features(X)
        return np.einsum("ij,ij->i", phi, phi)

    def grad_input(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        """From e_k' = -2 (c - a) x e_k + 2 sqrt(c k) e_{k-1}."""
        _, c, decay, _ = self._constants()
        e = self._eigenfunctions(X)
        slopes = -2 * decay * X[:, None] * e
        slopes[:, 1:] += 2 * np.sqrt(c * np.arange(1, self.n_terms)) * e[:, :-1]
        slopes *= np.sqrt(self.eigenvalues)
        return np.sum(slopes * (W @ self.features(Y)), axis=1)[:, None]

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("a polynomial times exp(-2 (c - a) x^2) on the diagonal"),
            analytic=prop.yes("a polynomial times the exponential of one"),
            stationary=prop.no("k(x, x) tends to 0 far from 0"),
            finite_dim=prop.yes(f"dimension {self.n_terms}"),
            positive_diag=prop.yes("e_0 is positive"),
        )
