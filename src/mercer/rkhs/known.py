"""Mean embeddings of distributions that are known, not sampled: closed forms and quadrature."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data
from ..kernels.base import Kernel
from ..kernels.distributions.normal import NormalMixture, as_mixture
from ..kernels.vectors.radial import Gaussian
from .function import RKHSFunction, require_resolved, require_same_space
from .measures import Measure, Normals, Uniform
from .quadrature import embed


class KnownEmbedding:
    r"""The mean embedding of a known distribution, an element of the space H_k.

    .. math:: \mu_P(x) = E\, k(x, Z), \qquad \langle \mu_P, f \rangle = E\, f(Z), \qquad Z \sim P

    For the Gaussian kernel there are closed forms for normal distributions, mixtures of them and
    uniform distributions on an interval. For any other kernel on the line, and for any other
    distribution of one variable, expectations are sums over nodes that are chosen until they are
    accurate.

    Parameters
    ----------
    kernel : Kernel
        The kernel k, with all parameters resolved to numbers.
    distribution : object
        A distribution of ``scipy.stats`` with its parameters, such as ``norm(0, 1)``,
        ``multivariate_normal(mean, cov)`` or ``uniform(0, 2)``; a pair (mean, covariance), a
        :class:`mercer.NormalMixture`, or a fitted ``GaussianMixture`` of scikit-learn.
    tol : float
        The error of values that quadrature aims at.

    Attributes
    ----------
    error : float
        The estimated error of values and of inner products with distributions, from two rules of
        different accuracy; 0 for closed forms.

    Examples
    --------
    The distance between a sample and the distribution that it should come from, squared, is the
    maximum mean discrepancy:

    >>> import numpy as np
    >>> from scipy.stats import norm
    >>> from mercer import Gaussian, KnownEmbedding, mean_embedding
    >>> k = Gaussian(1.0)
    >>> standard = KnownEmbedding(k, norm(0, 1))
    >>> standard([[0.0], [1.0]]).round(4)  # exp(-x^2 / 4) / sqrt(2)
    array([0.7071, 0.5507])
    >>> X = np.random.default_rng(0).normal(0.5, 1, (200, 1))
    >>> round(standard.distance(mean_embedding(k, X)), 2)
    0.24

    References
    ----------
    Smola, Gretton, Song & Schölkopf, *A Hilbert space embedding for distributions*, ALT 2007;
    Briol, Oates, Girolami, Osborne & Sejdinovic, *Probabilistic integration*, 2019, table 1.
    """

    __array_ufunc__ = None

    def __init__(self, kernel: Kernel, distribution: Any, tol: float = 1e-8) -> None:
        require_resolved(kernel, "KnownEmbedding")
        self.kernel, self.distribution = kernel, distribution
        self.error = 0.0
        self._measure: Measure | None = None
        self._sum: RKHSFunction | None = None
        mixture = as_mixture(distribution)
        if type(kernel) is Gaussian:
            self._measure = _closed(distribution, mixture)
        if self._measure is not None:
            self._square = self._metric(self._measure.dimension)
            return
        if mixture is not None and mixture.dimension > 1:
            raise NotImplementedError(
                "KnownEmbedding: distributions of several variables are embedded by the Gaussian "
                f"kernel only, got {kernel!r}; draw a sample and use mean_embedding."
            )
        self._sum, self.error = embed(kernel, _line(distribution, mixture), tol)

    def _metric(self, d: int) -> np.ndarray:
        """The matrix S of k(x, y) = exp(-(x - y)' S^-1 (x - y) / 2)."""
        scale = np.asarray(getattr(self.kernel, "lengthscale", 1.0), dtype=np.float64)
        if scale.ndim and len(scale) not in (1, d):
            raise ValueError(
                f"KnownEmbedding: the kernel has {len(scale)} lengthscales, but the distribution "
                f"has {d} variables."
            )
        return np.eye(d) * scale**2

    def __call__(self, X: Data) -> np.ndarray:
        """The embedding at each sample of X, E k(x, Z)."""
        if self._sum is not None:
            return self._sum(X)
        assert self._measure is not None
        return self._measure.mean(self._measure.read(X), self._square)

    def inner(self, other: Any) -> Any:
        """The inner product with another known embedding, or with functions of the space."""
        require_same_space(self.kernel, other.kernel)
        if isinstance(other, RKHSFunction):
            products = other.coef.T @ self(other.points)
            return float(products) if products.ndim == 0 else products
        if other._sum is not None:
            return self.inner(other._sum)
        if self._sum is not None:
            return other.inner(self._sum)
        assert self._measure is not None
        if self._measure.dimension != other._measure.dimension:
            raise ValueError(
                f"distributions of {self._measure.dimension} and of {other._measure.dimension} "
                f"variables have no inner product."
            )
        return self._measure.inner(other._measure, self._square)

    def __matmul__(self, other: Any) -> Any:
        known = isinstance(other, KnownEmbedding | RKHSFunction)
        return self.inner(other) if known else NotImplemented

    __rmatmul__ = __matmul__

    def norm(self) -> float:
        """The norm of the embedding, sqrt(E k(Z, Z'))."""
        return float(np.sqrt(max(self.inner(self), 0.0)))

    def distance(self, other: Any) -> float:
        """The distance to another embedding: the maximum mean discrepancy (not squared)."""
        theirs = other.inner(other)
        return float(np.sqrt(max(self.inner(self) + theirs - 2 * self.inner(other), 0.0)))

    def __repr__(self) -> str:
        name = getattr(getattr(self.distribution, "dist", None), "name", None)
        return f"KnownEmbedding({name or type(self.distribution).__name__}, k = {self.kernel!r})"


def in_closed_form(distribution: Any) -> bool:
    """Has the Gaussian kernel a closed form for the mean embedding of this distribution?"""
    return _closed(distribution, as_mixture(distribution)) is not None


def _closed(distribution: Any, mixture: NormalMixture | None) -> Measure | None:
    if mixture is not None:
        return Normals(mixture)
    if getattr(getattr(distribution, "dist", None), "name", None) == "uniform":
        return Uniform(*map(float, distribution.support()))
    return None


def _line(distribution: Any, mixture: NormalMixture | None) -> Any:
    """A distribution of one variable with quantiles."""
    if not (hasattr(distribution, "ppf") and hasattr(distribution, "isf")):
        if mixture is not None and len(mixture.weights) == 1:
            from scipy.stats import norm

            return norm(
                float(np.ravel(mixture.means)[0]), float(np.sqrt(mixture.matrices[0, 0, 0]))
            )
        raise TypeError(
            f"KnownEmbedding: distribution must be one of scipy.stats with its parameters, such as "
            f"norm(0, 1), a pair (mean, covariance) or a NormalMixture, got a "
            f"{type(distribution).__name__}."
        )
    return distribution
