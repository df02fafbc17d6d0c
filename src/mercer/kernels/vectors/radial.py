"""Kernels of the distance, all with one parameter: k(x, y) = g(|| (x - y) / lengthscale ||).

========================  =================================================  ===================
kernel                    formula, r = ||(x - y) / lengthscale||             functions in H_k
========================  =================================================  ===================
:class:`Gaussian`         exp(-r^2 / 2)                                      analytic
:class:`Laplacian`        exp(-r)                                            continuous
:class:`Matern`           Matérn of order nu = 1/2, 3/2, 5/2 or any nu > 0   C^m, m < nu
:class:`RationalQuadratic`  (1 + r^2 / 2 alpha)^(-alpha)                     C^inf
========================  =================================================  ===================

``lengthscale`` is a positive number, an array with one per feature, ``"median"`` (the median
distance between samples) or ``"scale"`` (sqrt(d var(X) / 2), scikit-learn's ``gamma="scale"``);
the last two become numbers when the kernel is resolved on data. The Gaussian under the other
parametrisations in use: :meth:`Gaussian.from_gamma`, :meth:`Gaussian.from_sigma`,
:meth:`Gaussian.from_width`, :meth:`Gaussian.from_variance`, :meth:`Gaussian.from_bandwidth`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, as_dense, as_vectors
from ...params import one_of, positive
from ..base import Kernel, Tile, Tiled, no_gradient, not_resolved, weigh
from ..calculus import properties as prop
from ..formula import SQUARED, TAXICAB, Atom, Profile, prepared_by
from .base import VectorKernel, Vectors, inner_products
from .bessel import matern_slope
from .distances import SquaredDistances, median_distance, variance_scale

_ROUNDED = 2.0**-16  # by how much of a lengthscale rounding may move a sample in single precision


@dataclass(eq=False, repr=False)
class Radial(VectorKernel, Tiled):
    """A function of the scaled distance; subclasses give it as a function of stretch * r^2."""

    lengthscale: Any = positive(1.0, arrays=True, choices=("median", "scale"))
    kinked = True  # is g(r) not a smooth function of r^2, so that cancellation at 0 would show?
    cusped = False  # is the slope infinite at r = 0, so that there is no gradient where x = y?

    @property
    def stretch(self) -> float:
        """A factor that saves :meth:`profile` a pass over the block."""
        return 1.0

    @abstractmethod
    def profile(self, D: np.ndarray) -> np.ndarray:
        """g as a function of D = stretch * r^2, computed in place where possible."""

    def slope(self, R2: np.ndarray) -> np.ndarray:
        """dg/d(r^2); 0 at r = 0 where it is infinite, since r^2 dg/d(r^2) is 0 there."""
        raise NotImplementedError(f"{type(self).__name__} has no derivatives.")

    def theta_slopes(self, R2: np.ndarray) -> Iterable[np.ndarray]:
        """dg/dtheta for what comes after the lengthscale in theta, one block per entry."""
        if len(self.theta) > np.size(self.lengthscale):
            raise no_gradient(self)
        return ()

    def prepare(self, X: Data) -> Vectors:
        X = super().prepare(X)
        if isinstance(self.lengthscale, str):
            raise not_resolved(self)
        scale = np.asarray(self.lengthscale, dtype=X.dtype)
        if scale.ndim > 1 or (scale.ndim == 1 and len(scale) not in (1, X.shape[1])):
            raise ValueError(
                f"{type(self).__name__}: lengthscale has shape {scale.shape}, but X has "
                f"{X.shape[1]} features; give one number or one per feature."
            )
        if X.dtype == np.float32 and _rounds(X, scale):
            X, scale = X.astype(np.float64), np.asarray(self.lengthscale, dtype=float)
        return _divided(X, scale)

    def tiles(self, X: Vectors, Y: Vectors) -> Tile:
        distances = SquaredDistances(X, Y, weight=self.stretch, exact=self.kinked)
        return lambda rows, cols: self.profile(distances(rows, cols))

    def diag(self, X: Vectors) -> np.ndarray:
        return np.ones(X.shape[0], dtype=X.dtype)

    def formula(self, X: Vectors) -> Atom:
        profile = Profile.of(self, self.stretch, "lengthscale")
        scale = np.array(self.lengthscale, dtype=float)
        return Atom(SQUARED, X, profile, scale, prepared_by(self, Radial))

    def resolve(self, X: Data) -> Kernel:
        if not isinstance(self.lengthscale, str):
            return self
        X = as_vectors(X, type(self).__name__)
        rule = {"median": median_distance, "scale": variance_scale}[self.lengthscale]
        return replace(self, lengthscale=rule(X))

    def grad_input(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        if self.cusped:
            raise NotImplementedError(f"{self!r} is not differentiable where x = y.")
        R2 = SquaredDistances(X, Y, exact=True)(slice(None), slice(None))
        direction = SquaredDistances(X, Y).pull(2 * W * self.slope(R2))
        return direction / np.asarray(self.lengthscale, dtype=float)

    def grad_theta(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        distances = SquaredDistances(X, Y, exact=self.kinked)
        return self._slopes(distances, distances(slice(None), slice(None)), W)

    def weighed(self, X: Vectors, Y: Vectors, W: np.ndarray) -> tuple[float, np.ndarray]:
        distances = SquaredDistances(X, Y, exact=self.kinked)
        R2 = distances(slice(None), slice(None))
        slopes = self._slopes(distances, R2, W)
        return float(np.vdot(W, self.profile(np.multiply(R2, self.stretch, out=R2)))), slopes

    def _slopes(self, distances: SquaredDistances, R2: np.ndarray, W: np.ndarray) -> np.ndarray:
        """By d(r^2)/d(log l_d) = -2 (x_d - y_d)^2 / l_d^2."""
        V = self.slope(R2)
        V = np.multiply(V, W, out=V) if V.dtype == np.float64 else V * np.asarray(W, np.float64)
        common = np.size(self.lengthscale) == 1
        stretched = np.vdot(V, R2) if common else distances.by_column(V, R2)
        return np.append(-2 * stretched, weigh(W, self.theta_slopes(R2)))

    def grad_theta_diag(self, X: Vectors, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))

    def _radial(self, smooth: prop.Smoothness, analytic: prop.Fact, spectrum: str) -> Any:
        return self._stated(
            stationary=prop.yes("a function of x - y"),
            continuous=prop.yes("a continuous function of the distance"),
            smooth=smooth,
            analytic=analytic,
            characteristic=prop.yes(f"stationary, and {spectrum}, so supported on all of R^d"),
            vanishing=prop.yes("it tends to 0 as the distance grows"),
            positive_diag=prop.yes("k(x, x) = 1"),
        )


def _divided(X: Vectors, scale: np.ndarray) -> Vectors:
    if sp.issparse(X):
        return sp.csr_matrix(X @ sp.diags(np.broadcast_to(1 / scale, X.shape[1])), dtype=X.dtype)
    return X if scale.ndim == 0 and scale == 1 else X / scale


def _rounds(X: Vectors, scale: np.ndarray) -> bool:
    """Does dividing X in single precision move samples by a noticeable part of a lengthscale?"""
    if np.all(np.frexp(scale)[0] == 0.5) or not np.prod(X.shape):
        return False  # divided by powers of two, nothing is rounded
    largest = np.ravel(as_dense(abs(X).max(axis=0)))
    return not np.finfo(np.float32).eps * np.max(largest / scale.astype(float)) <= _ROUNDED


@dataclass(eq=False, repr=False)
class Gaussian(Radial):
    r"""The Gaussian kernel.

    .. math:: k(x, y) = \exp\left(-\tfrac12 \sum_j (x_j - y_j)^2 / \ell_j^2\right)

    Parameters
    ----------
    lengthscale : float, array, "median" or "scale"
        The length l over which functions vary; one number or one per feature.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> Gaussian(lengthscale=2)([[0.0], [2.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])

    References
    ----------
    Steinwart & Christmann, *Support Vector Machines*, 2008, section 4.4.
    """

    kinked = False
    profile_name = "exp"
    because = "its Fourier transform is a Gaussian, which is positive (Bochner)"
    stretch = -0.5

    @classmethod
    def from_gamma(cls, gamma: float) -> Gaussian:
        """exp(-gamma ||x - y||^2), as in scikit-learn and LIBSVM."""
        return cls(lengthscale=float(1 / np.sqrt(2 * gamma)))

    @classmethod
    def from_sigma(cls, sigma: float) -> Gaussian:
        """exp(-||x - y||^2 / (2 sigma^2)): sigma is the lengthscale."""
        return cls(lengthscale=sigma)

    @classmethod
    def from_width(cls, gamma: float) -> Gaussian:
        """exp(-||x - y||^2 / gamma^2)."""
        return cls(lengthscale=float(gamma / np.sqrt(2)))

    @classmethod
    def from_variance(cls, sigma: float) -> Gaussian:
        """exp(-||x - y||^2 / sigma)."""
        return cls(lengthscale=float(np.sqrt(sigma / 2)))

    @classmethod
    def from_bandwidth(cls, h: float) -> Gaussian:
        """exp(-||x - y||^2 / (2 h))."""
        return cls(lengthscale=float(np.sqrt(h)))

    def profile(self, D: np.ndarray) -> np.ndarray:
        return np.exp(D, out=D)

    def slope(self, R2: np.ndarray) -> np.ndarray:
        found = np.multiply(R2, -0.5)
        return np.multiply(np.exp(found, out=found), -0.5, out=found)

    def spread(self, rng: np.random.Generator, m: int) -> np.ndarray:
        """One Gaussian alone."""
        return np.ones(m)

    @property
    def properties(self) -> prop.Properties:
        return self._radial(
            prop.Smoothness(np.inf, np.inf, "the exponential of a polynomial"),
            prop.yes("the exponential of a polynomial"),
            "its spectral density is a Gaussian",
        )


@dataclass(eq=False, repr=False)
class Laplacian(Radial):
    r"""The Laplacian kernel.

    .. math:: k(x, y) = \exp\left(-\|(x - y) / \ell\|_p\right)

    Parameters
    ----------
    lengthscale : float, array, "median" or "scale"
        The length l; with ``p=2`` and gamma = 1/l this is exp(-gamma ||x - y||).
    p : 1 or 2
        The norm. scikit-learn's ``laplacian_kernel`` is p=1.

    Examples
    --------
    >>> from mercer import Laplacian
    >>> Laplacian()([[0.0], [1.0]]).round(4)
    array([[1.    , 0.3679],
           [0.3679, 1.    ]])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.2.
    """

    p: int = one_of(2, 1, 2)
    cusped = True
    profile_name = "laplacian"
    because = "its Fourier transform is positive (Bochner): multivariate Cauchy densities"

    @classmethod
    def from_gamma(cls, gamma: float, p: int = 2) -> Laplacian:
        """exp(-gamma ||x - y||_p)."""
        return cls(lengthscale=float(1 / gamma), p=p)

    def tiles(self, X: Vectors, Y: Vectors) -> Tile:
        if self.p == 2:
            return super().tiles(X, Y)
        from scipy.spatial.distance import cdist

        inner_products(X[:1], Y[:1])  # raises, if the two widths differ
        X, Y = (as_dense(Z) for Z in (X, Y))

        def tile(rows: slice, cols: slice) -> np.ndarray:
            D = cdist(X[rows], Y[cols], "cityblock").astype(X.dtype, copy=False)
            return np.exp(np.negative(D, out=D), out=D)

        return tile

    def formula(self, X: Vectors) -> Atom:
        squared = super().formula(X)
        if self.p == 2:
            return squared
        taxicab = Profile("exp", (), -1.0, lambda D: np.exp(D, out=D))
        return replace(squared, metric=TAXICAB, profile=taxicab)

    def profile(self, D: np.ndarray) -> np.ndarray:
        np.sqrt(D, out=D)
        np.negative(D, out=D)
        return np.exp(D, out=D)

    def slope(self, R2: np.ndarray) -> np.ndarray:
        return matern_slope(R2, 0.5)

    def spread(self, rng: np.random.Generator, m: int) -> np.ndarray:
        """For p = 2: frequencies of the Matérn kernel of order 1/2."""
        return 1 / np.sqrt(rng.chisquare(1, m))

    grad_input, grad_theta_diag = Radial.grad_input, Radial.grad_theta_diag

    def grad_theta(self, X: Vectors, Y: Vectors, W: np.ndarray) -> np.ndarray:
        if self.p == 2:
            return super().grad_theta(X, Y, W)
        V = W * self.pairwise(X, Y)
        X, Y = (as_dense(Z) for Z in (X, Y))
        pairs = zip(X.T, Y.T, strict=True)
        columns = weigh(V, (np.abs(np.subtract.outer(x, y)) for x, y in pairs))
        return columns if np.size(self.lengthscale) > 1 else columns.sum(keepdims=True)

    @property
    def properties(self) -> prop.Properties:
        return self._radial(
            prop.Smoothness(0, 0, "exp(-r) has a kink at r = 0"),
            prop.no("a kink at x = y"),
            "its spectral density is a positive power of 1 / (1 + |w|^2)"
            if self.p == 2
            else "its spectral density is a product of Cauchy densities",
        )


@dataclass(eq=False, repr=False)
class RationalQuadratic(Radial):
    r"""The rational quadratic kernel: a mixture of Gaussian kernels with many lengthscales.

    .. math:: k(x, y) = \left(1 + \frac{r^2}{2\alpha}\right)^{-\alpha},
              \quad r = \|(x - y) / \ell\|

    Parameters
    ----------
    lengthscale : float, array, "median" or "scale"
        The length l over which functions vary.
    alpha : float
        How concentrated the mixture is; the Gaussian kernel is the limit of large alpha.

    Examples
    --------
    >>> from mercer import RationalQuadratic
    >>> RationalQuadratic(alpha=1)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6667],
           [0.6667, 1.    ]])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.2.
    """

    alpha: float = positive(1.0)
    kinked = False
    profile_name = "rational quadratic"
    because = "a mixture of Gaussian kernels over a Gamma density of inverse squared lengthscales"

    @property
    def stretch(self) -> float:
        return 1 / (2 * float(self.alpha))

    def profile(self, D: np.ndarray) -> np.ndarray:
        if self.alpha == 1:
            D += 1
            return np.reciprocal(D, out=D)
        np.log1p(D, out=D)
        D *= -self.alpha
        return np.exp(D, out=D)

    def slope(self, R2: np.ndarray) -> np.ndarray:
        return -0.5 * np.exp((-self.alpha - 1) * np.log1p(R2 / (2 * self.alpha)))

    def spread(self, rng: np.random.Generator, m: int) -> np.ndarray:
        """Inverse squared lengthscales are Gamma variables of mean 1."""
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, m))

    def theta_slopes(self, R2: np.ndarray) -> Iterable[np.ndarray]:
        S = R2 / (2 * self.alpha)
        growth = np.log1p(S)
        yield self.alpha * np.exp(-self.alpha * growth) * (S / (1 + S) - growth)

    @property
    def properties(self) -> prop.Properties:
        return self._radial(
            prop.Smoothness(np.inf, np.inf, "a smooth function of r^2"),
            prop.yes("an analytic function of r^2 >= 0"),
            "its spectral density is a mixture of Gaussians",
        )
