"""Stationary kernels as characteristic functions: spectral measures, and MMD in frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln, kve

from ..checks import check_count
from ..data import Data, as_dense, as_vectors
from ..kernels.base import Kernel
from ..kernels.vectors.matern import Matern
from ..kernels.vectors.radial import Gaussian, Laplacian, RationalQuadratic
from ..randomness import as_generator
from .function import require_resolved

_BLOCK = 2**22  # entries of phases held at once


class SpectralMeasure:
    r"""The distribution of frequencies whose characteristic function is a kernel (Bochner).

    .. math:: k(x, y) = \int \cos \langle \omega, x - y \rangle\, d\Lambda(\omega)

    A probability distribution on R^d, since k(x, x) = 1: normal for the Gaussian kernel, Student's
    with 2 nu degrees of freedom for the Matérn kernel, a product of Cauchy distributions for the
    Laplacian kernel of the taxicab distance, and a scale mixture of normal ones for the rational
    quadratic kernel.

    Parameters
    ----------
    kernel : Gaussian, Laplacian, Matern or RationalQuadratic
        The kernel, with all parameters resolved to numbers.
    dimension : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, SpectralMeasure
    >>> spectrum = SpectralMeasure(Gaussian(2.0), 1)
    >>> spectrum.density([[0.0]]).round(4)  # of N(0, 1/4)
    array([0.7979])
    >>> spectrum.sample(3, rng=0).shape
    (3, 1)

    References
    ----------
    Rahimi & Recht, *Random features for large-scale kernel machines*, NIPS 2007; Sriperumbudur,
    Gretton, Fukumizu, Schölkopf & Lanckriet, *Hilbert space embeddings and metrics on probability
    measures*, JMLR 2010, corollary 4 (MMD in frequencies).
    """

    def __init__(self, kernel: Kernel, dimension: int) -> None:
        if type(kernel) not in (Gaussian, Laplacian, Matern, RationalQuadratic):
            raise ValueError(
                f"SpectralMeasure: kernel must be a Gaussian, Laplacian, Matern or "
                f"RationalQuadratic kernel, got {kernel!r}."
            )
        require_resolved(kernel, "SpectralMeasure")
        check_count("SpectralMeasure: dimension", dimension)
        known: Any = kernel
        scale = np.asarray(known.lengthscale, dtype=np.float64)
        if scale.ndim and len(scale) not in (1, dimension):
            raise ValueError(
                f"SpectralMeasure: the kernel has {len(scale)} lengthscales, but dimension is "
                f"{dimension}."
            )
        self.kernel, self.dimension = kernel, int(dimension)
        self._scale = np.broadcast_to(scale, self.dimension)

    def density(self, frequencies: Any) -> np.ndarray:
        """The density of the measure at frequencies, shape (m, d)."""
        w = self._read(frequencies)
        u, d, k = w * self._scale, self.dimension, self.kernel
        square = np.sum(u**2, axis=1)
        units = float(np.sum(np.log(self._scale)))
        if type(k) is Gaussian:
            logs = -0.5 * square - 0.5 * d * np.log(2 * np.pi)
        elif type(k) is Laplacian and k.p == 1:
            logs = -np.sum(np.log(np.pi * (1 + u**2)), axis=1)
        elif type(k) is RationalQuadratic:
            logs = _scale_mixture(square, d, float(k.alpha))
        else:
            nu = float(getattr(k, "nu", 0.5))
            logs = gammaln(nu + d / 2) - gammaln(nu) - 0.5 * d * np.log(2 * nu * np.pi)
            logs = logs - (nu + d / 2) * np.log1p(square / (2 * nu))
        return np.asarray(np.exp(logs + units))

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """n frequencies drawn from the measure, shape (n, d)."""
        rng = as_generator(rng)
        k: Any = self.kernel
        if type(k) is Laplacian and k.p == 1:
            return rng.standard_cauchy((n, self.dimension)) / self._scale
        spread = k.spread(rng, n)[:, None]
        return np.asarray(spread * rng.standard_normal((n, self.dimension)) / self._scale)

    def gap(self, X: Data, Y: Data, frequencies: Any) -> np.ndarray:
        """The squared distance of the characteristic functions of two samples, at frequencies."""
        w = self._read(frequencies)
        one, other = (_characteristic(self._read(Z), w) for Z in (X, Y))
        return np.asarray(np.abs(one - other) ** 2)

    def mmd(self, X: Data, Y: Data, n: int = 10_000, rng: Any = None) -> float:
        r"""MMD^2 in frequencies, the mean of :meth:`gap` over n random ones.

        .. math:: \mathrm{MMD}^2 = \int \left| \hat P(\omega) - \hat Q(\omega) \right|^2
                  d\Lambda(\omega)

        with the characteristic functions of both samples: the biased estimate of
        :func:`mercer.mmd`, up to an error of one over the square root of n.
        """
        return float(np.mean(self.gap(X, Y, self.sample(n, rng))))

    def _read(self, X: Any) -> np.ndarray:
        V = np.asarray(as_dense(as_vectors(X, "SpectralMeasure")), dtype=np.float64)
        if V.shape[1] != self.dimension:
            raise ValueError(
                f"SpectralMeasure: {self.dimension} columns are needed, got {V.shape[1]}."
            )
        return V

    def __repr__(self) -> str:
        return f"SpectralMeasure({self.kernel!r}, dimension={self.dimension})"


def _characteristic(X: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The mean of exp(i <w, x>) over a sample, at each frequency."""
    step = max(1, _BLOCK // len(w))
    total = np.zeros(len(w), dtype=complex)
    for i in range(0, len(X), step):
        total += np.exp(1j * (X[i : i + step] @ w.T)).sum(axis=0)
    return total / len(X)


def _scale_mixture(square: np.ndarray, d: int, alpha: float) -> np.ndarray:
    """The logarithm of the density of sqrt(g) z, with g a Gamma variable of mean 1 and shape alpha.

    At 0 it is finite only for alpha > d / 2.
    """
    order = alpha - d / 2
    z = np.sqrt(2 * alpha * np.maximum(square, 1e-300))
    constant = np.log(2) + alpha * np.log(alpha) - gammaln(alpha) - 0.5 * d * np.log(2 * np.pi)
    logs = constant + order * (np.log(z) - np.log(2 * alpha)) + np.log(kve(order, z)) - z
    if order <= 0:
        return np.where(square > 0, logs, np.inf)
    limit = gammaln(order) - gammaln(alpha) + 0.5 * d * np.log(alpha / (2 * np.pi))
    return np.where(square > 1e-200, logs, limit)
