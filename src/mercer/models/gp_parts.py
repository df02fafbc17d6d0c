"""The parts of a Gaussian process whose covariance is a sum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..checks import check_count
from ..data import Data
from ..engine.lapack import lapack
from ..kernels.algebra.sums import Sum
from ..kernels.base import Kernel
from ..randomness import as_random_state
from .common import check_data, covariance
from .gp_posterior import NewSamples

if TYPE_CHECKING:
    from .gp import GaussianProcessRegressor


class ProcessPart:
    r"""The posterior of one summand f_j of a Gaussian process f = f_1 + ... + f_p.

    .. math:: E f_j(x) = k_j(x, X)\, c, \qquad
              Cov(f_j(x), f_j(x')) = k_j(x, x') - k_j(x, X) (K + \alpha I)^{-1} k_j(X, x')

    with the coefficients c of the whole. The means add up to that of f; the variances do not,
    because the parts are correlated given the data. Made by :meth:`GaussianProcessRegressor.parts`.

    Attributes
    ----------
    kernel : Kernel
        The summand k_j, with the hyper-parameters of the fitted process.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessRegressor, Periodic
    >>> x = np.linspace(0, 8, 80)
    >>> kernel = 1.0 * Gaussian(4.0) + 1.0 * Periodic(period=1.0)
    >>> model = GaussianProcessRegressor(kernel, alpha=0.01, optimizer=None)
    >>> trend, season = model.fit(x[:, None], 0.5 * x + np.sin(2 * np.pi * x)).parts()
    >>> trend.kernel
    1 * Gaussian(lengthscale=4.0)
    >>> season.predict([[2.25], [2.75]]).round(1)
    array([ 1., -1.])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 5.4.3.
    """

    def __init__(self, process: GaussianProcessRegressor, kernel: Kernel) -> None:
        self.kernel = kernel
        self._process = process
        self._gram = kernel.gram(process._points, process.plan)

    def predict(self, X: Data, return_std: bool = False, return_cov: bool = False) -> Any:
        """The posterior mean of the part, and its standard deviation or covariance.

        Shapes are those of :meth:`GaussianProcessRegressor.predict`. Neither the mean of y nor
        the noise belongs to a part.
        """
        if return_std and return_cov:
            raise ValueError("at most one of return_std and return_cov can be True.")
        process = self._process
        X = check_data(process, X, covariance(process.kernel), reset=False)
        new = NewSamples(self._gram.cross(X), self.kernel, self.kernel.prepare(X), own=False)
        mean, spread = process._posterior(new, return_std, return_cov)
        return mean if spread is None else (mean, spread)

    def sample_y(self, X: Data, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Draws of the part at X from the posterior: shape (m, n_samples) or (m, t, n_samples)."""
        mean, cov = self.predict(X, return_cov=True)
        return draw(mean, cov, n_samples, random_state)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.kernel!r})"


def summands(kernel: Kernel) -> list[Kernel]:
    """The terms of a sum as it is written; a kernel that is not a sum is its only term."""
    if not isinstance(kernel, Sum):
        return [kernel]
    return [*summands(kernel.left), *summands(kernel.right)]


def draw(mean: np.ndarray, cov: np.ndarray, n_samples: int, random_state: Any) -> np.ndarray:
    """Samples of normal variables, one set for each column of means: the last axis of the result.

    From eigenvalues, those below zero by rounding taken as zero: covariances of functions at
    close points have no Cholesky factor.
    """
    check_count("n_samples", n_samples)
    rng = as_random_state(random_state)
    means = mean.reshape(len(mean), -1)
    covs = cov.reshape(len(mean), len(mean), -1)
    draws = np.empty((*means.shape, n_samples))
    for t in range(means.shape[1]):
        values, vectors = lapack(len(covs), np.linalg.eigh, covs[:, :, t])
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        draws[:, t] = means[:, t : t + 1] + root @ rng.standard_normal((len(mean), n_samples))
    return draws[:, 0] if mean.ndim == 1 else draws
