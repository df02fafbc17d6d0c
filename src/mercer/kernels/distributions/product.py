"""The probability product kernel: integrals of products of powers of two densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data
from ...params import integer, one_of, positive
from ..base import Kernel, Tile, Tiled
from ..calculus.domains import Domain


@dataclass(eq=False, repr=False)
class ProbabilityProduct(Tiled):
    r"""The inner product of powers of two densities.

    .. math:: k(p, q) = \int p(x)^\rho\, q(x)^\rho\, dx

    For rho = 1/2 it is the Bhattacharyya coefficient, 1 for p = q; for rho = 1 the expectation of
    one distribution under the other.

    ===============================================  ==============================================
    samples                                          k
    ===============================================  ==============================================
    rows of numbers >= 0: histograms, multinomials   sum_i (p_i q_i)^rho
    rows of probabilities, ``family="bernoulli"``    prod_i (p_i q_i)^rho + ((1-p_i)(1-q_i))^rho
    normal distributions                             closed form, any rho
    bags of points, (m, d) arrays                    that of normal distributions fitted to them
    mixtures of normal distributions                 sums over pairs of components, rho = 1
    hidden Markov models                             sums over pairs of paths, see below
    ===============================================  ==============================================

    A normal distribution is ``scipy.stats.norm(...)`` or ``multivariate_normal(...)``, a pair
    (mean, covariance), or a :class:`mercer.NormalMixture`; a mixture is one of these, or a fitted
    ``GaussianMixture`` of scikit-learn. Hidden Markov models are :class:`mercer.DiscreteHMM`,
    :class:`mercer.GaussianHMM`, or those of hmmlearn, and stand for distributions of sequences of
    ``length`` observations. For them, only the emission densities are raised to the power,

    .. math:: k(p, q) = \sum_{s, u} p(s)\, q(u) \prod_t \int p(x|s_t)^\rho\, q(x|u_t)^\rho\, dx

    over all paths s and u of hidden states, which for rho = 1 is the integral above.

    Values are computed as logarithms where they are products, and ``normalize()`` works with these:
    nothing underflows.

    Parameters
    ----------
    rho : float
        The power.
    family : {"auto", "bernoulli"}
        What rows of numbers are: histograms, or probabilities of independent events.
    ridge : float
        Added to the covariance of a bag, relative to the mean of its variances (or in absolute
        terms if all points of the bag are equal).
    length : int
        The number of observations, for hidden Markov models.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> from mercer import ProbabilityProduct
    >>> ProbabilityProduct()([norm(0, 1), norm(1, 2)]).round(4)
    array([[1.    , 0.8508],
           [0.8508, 1.    ]])
    >>> ProbabilityProduct()([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    array([[1. , 0.5],
           [0.5, 1. ]])

    References
    ----------
    Jebara, Kondor & Howard, *Probability product kernels*, JMLR 2004.
    """

    rho: float = positive(0.5, tuned=False)
    family: str = one_of("auto", "auto", "bernoulli")
    ridge: float = positive(1e-3, tuned=False)
    length: int = integer(10, low=1)
    because = "an inner product of the functions p^rho"
    domain = Domain("bags", "distributions: histograms, normal distributions, Markov models")

    def prepare(self, X: Data) -> Any:
        from .families import read

        return read(X, self.rho, self.family, self.ridge, self.length)

    def tiles(self, X: Any, Y: Any) -> Tile:
        if type(X) is not type(Y):
            raise ValueError(
                f"ProbabilityProduct: {type(X).__name__} cannot be compared with "
                f"{type(Y).__name__}."
            )
        logs = self.log_tiles(X, Y)
        if logs is None:
            return lambda rows, cols: X[rows].values(Y[cols], self.rho)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            with np.errstate(over="ignore"):
                return np.exp(logs(rows, cols))

        return tile

    def diag(self, X: Any) -> np.ndarray:
        logs = self.log_diag(X)
        if logs is None:
            return Kernel.diag(self, X)
        with np.errstate(over="ignore"):
            return np.exp(logs)

    def log_tiles(self, X: Any, Y: Any) -> Tile | None:
        if not hasattr(X, "logs"):
            return None
        return lambda rows, cols: X[rows].logs(Y[cols], self.rho)

    def log_diag(self, X: Any) -> np.ndarray | None:
        if not hasattr(X, "logs"):
            return None
        each = (X[i : i + 1] for i in range(len(X)))
        return np.array([float(x.logs(x, self.rho)[0, 0]) for x in each])

    def features(self, X: Any) -> Any | None:
        return getattr(X, "powers", None)

    def n_features(self, X: Any) -> int | None:
        powers = getattr(X, "powers", None)
        return None if powers is None else int(powers.shape[1])
