"""Does a sample come from a given density? Kernel Stein discrepancy and a test by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, Zipped, as_vectors
from ..gram.tiles import multiply
from ..kernels.base import Kernel, Tile
from ..kernels.distances import SquaredDistances, centre
from ..kernels.radial import Gaussian, Radial, RationalQuadratic
from ..kernels.vectors import VectorKernel
from ..params import parameter
from .nulls import STRETCH, check_memory, permutation_pvalue, wild_signs
from .result import TestResult

Score = Callable[[np.ndarray], Any]


@dataclass(eq=False, repr=False)
class Stein(VectorKernel):
    r"""The Stein kernel of a density p: its functions have mean 0 under p.

    .. math:: k_p(x, y) = s(x)'s(y)\, k(x, y) + s(x)' \nabla_y k(x, y) + s(y)' \nabla_x k(x, y)
              + \operatorname{tr} \nabla_x \nabla_y k(x, y), \qquad s = \nabla \log p

    The score s does not depend on how p is normalised.

    Parameters
    ----------
    kernel : Gaussian or RationalQuadratic
        The kernel k; a rational quadratic one with alpha = 1/2 is the inverse multiquadric.
    score : callable
        From an (n, d) array to the (n, d) array of gradients of log p.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Stein
    >>> k = Stein(Gaussian(), lambda x: -x)  # the standard normal distribution
    >>> k([[0.0], [1.0]]).round(4)
    array([[ 1.    , -0.6065],
           [-0.6065,  2.    ]])

    References
    ----------
    Liu, Lee & Jordan, *A kernelized Stein discrepancy*, ICML 2016; Chwialkowski, Strathmann &
    Gretton, *A kernel test of goodness of fit*, ICML 2016.
    """

    kernel: Any = parameter(check=lambda k: _smooth(k))
    score: Any = parameter(check=lambda s: None if callable(s) else "a function")
    because = "<xi(x), xi(y)> with xi(x) = s(x) k(x, .) + grad k(x, .)"

    def prepare(self, X: Data) -> Zipped:
        V: Any = as_vectors(X, "Stein")
        V = V.toarray() if sp.issparse(V) else V
        return Zipped(V, _checked_score(self.score(V), V))

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        everything = slice(None)
        return self.tiles(X, Y)(everything, everything)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (V, S), (W, T) = X.parts, Y.parts
        k = self.kernel
        scale = np.broadcast_to(np.asarray(k.lengthscale, dtype=np.float64), V.shape[1])
        origin = centre(W)
        V, W = (V - origin) / scale, (W - origin) / scale  # in units of the lengthscale
        S, T = S * scale, T * scale
        weight = 1 / scale**2
        squared = SquaredDistances(V, W, exact=True)
        stretched = SquaredDistances(V / scale, W / scale, exact=True)

        def tile(rows: slice, cols: slice) -> np.ndarray:
            R2 = squared(rows, cols)
            x, y, s, t = V[rows], W[cols], S[rows], T[cols]
            ws, wt = s * weight, t * weight
            along = (ws * x).sum(axis=1)[:, None] - ws @ y.T  # s(x)'(x - y) / l^2
            along -= x @ wt.T - (wt * y).sum(axis=1)  # less s(y)'(x - y) / l^2
            value, slope, curvature = _CURVATURE[type(k)](k, R2)
            out = (ws @ t.T) * value
            out -= 2 * slope * along
            out -= 2 * slope * weight.sum()
            out -= 4 * curvature * stretched(rows, cols)
            return out

        return tile

    def resolve(self, X: Data) -> Kernel:
        return self.replace(kernel=self.kernel.resolve(X))


def _smooth(k: Any) -> str | None:
    return None if type(k) in _CURVATURE else "a Gaussian or RationalQuadratic kernel"


def _gaussian(k: Gaussian, R2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    value = np.exp(-0.5 * R2)
    return value, -0.5 * value, 0.25 * value


def _rational(k: RationalQuadratic, R2: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    base = 1 + R2 / (2 * k.alpha)
    value = base**-k.alpha
    slope = -0.5 * value / base
    return value, slope, -0.5 * (k.alpha + 1) / k.alpha * slope / base


# the kernel, and its first and second derivative with respect to the squared distance
_CURVATURE: dict[type[Radial], Any] = {Gaussian: _gaussian, RationalQuadratic: _rational}


def ksd(X: Data, score: Any, kernel: Any = None, *, biased: bool = False) -> float:
    r"""The squared kernel Stein discrepancy between a sample and a density.

    .. math:: \mathrm{KSD}^2 = E\, k_p(x, x')

    with the Stein kernel of :class:`Stein`: 0 if and only if x is distributed as p. Only the
    gradient of log p is needed, not its normalising constant, and no draws from p.

    Parameters
    ----------
    X : array of shape (n, d)
        The sample.
    score : callable or array of shape (n, d)
        The gradient of log p, as a function of an (n, d) array, or its values at the sample.
    kernel : Gaussian or RationalQuadratic, optional
        The kernel; by default the inverse multiquadric one, ``RationalQuadratic("median", 0.5)``,
        whose discrepancy also sees mass that escapes to infinity.
    biased : bool
        Over all pairs, which is never negative, instead of pairs of distinct samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, ksd
    >>> from scipy.stats import norm
    >>> x = norm.ppf((np.arange(1000) + 0.5) / 1000, loc=0.5)  # quantiles of N(0.5, 1)
    >>> round(ksd(x, lambda x: -x, Gaussian(), biased=True), 3)
    0.144
    >>> round(0.5**2 / 3**0.5, 3)  # the exact value
    0.144

    References
    ----------
    Gorham & Mackey, *Measuring sample quality with kernels*, ICML 2017 (inverse multiquadric).
    """
    k, P, n = _prepared(X, score, kernel)
    if n < 2 and not biased:
        raise ValueError("ksd needs at least 2 samples, or biased=True.")
    total = float(multiply(k, P, P, np.ones((n, 1))).sum())
    return total / n**2 if biased else (total - float(k.diag(P).sum())) / (n * (n - 1))


def goodness_of_fit_test(
    X: Data,
    score: Any,
    kernel: Any = None,
    *,
    n_draws: int = 999,
    rng: Any = None,
    memory: float | None = None,
) -> TestResult:
    """Test whether a sample comes from a density that is known up to a constant.

    The statistic is the (biased) kernel Stein discrepancy; its null distribution is drawn by the
    wild bootstrap, with random signs as weights of the samples. It is approximate: at the 5 % level
    it holds for 30 independent samples, and for chains of 40 times their memory.

    Parameters
    ----------
    X : array of shape (n, d)
        The sample.
    score : callable or array of shape (n, d)
        The gradient of log p, as a function of an (n, d) array, or its values at the sample.
    kernel : Gaussian or RationalQuadratic, optional
        The kernel; by default ``RationalQuadratic("median", 0.5)``, the inverse multiquadric.
    n_draws : int
        Draws of the bootstrap.
    rng : None, int or Generator
        The source of randomness.
    memory : float, optional
        For the output of a Markov chain: the number of lags after which its autocorrelations are
        below .05. By default samples are taken to be independent.

    Returns
    -------
    TestResult
        The statistic is KSD^2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import goodness_of_fit_test
    >>> x = np.random.default_rng(0).standard_t(3, 500)
    >>> print(goodness_of_fit_test(x, lambda x: -x, rng=0))  # the normal distribution?
    goodness-of-fit test, KSD^2 (wild bootstrap, 999 draws)
      statistic 0.02271, p-value 0.004 (95 % interval 0.00062 to 0.0088)
      At the 5 % level: evidence against "the sample comes from the density".
    >>> goodness_of_fit_test(x, lambda x: -4 * x / (3 + x**2), rng=0).pvalue > 0.05
    True

    References
    ----------
    Chwialkowski, Strathmann & Gretton, *A kernel test of goodness of fit*, ICML 2016; Liu, Lee &
    Jordan, *A kernelized Stein discrepancy*, ICML 2016.
    """
    rng = np.random.default_rng(rng)
    if isinstance(n_draws, bool) or int(n_draws) != n_draws or n_draws < 1:
        raise ValueError(f"n_draws must be an integer >= 1, got {n_draws!r}.")
    k, P, n = _prepared(X, score, kernel)
    if n < 2:
        raise ValueError(f"a goodness-of-fit test needs at least 2 samples, got {n}.")
    lags = None if memory is None else STRETCH * check_memory(memory)
    W = np.column_stack([np.ones(n), wild_signs(n, n_draws, rng, lags)])
    values = np.einsum("ij,ij->j", W, multiply(k, P, P, W)) / n**2
    found = permutation_pvalue(float(values[0]), values[1:])
    return TestResult(
        statistic=float(values[0]),
        pvalue=found.pvalue,
        method=f"goodness-of-fit test, KSD^2 (wild bootstrap, {n_draws} draws)",
        hypothesis="the sample comes from the density",
        null=found.draws,
        n_permutations=n_draws,
        pvalue_interval=found.interval,
        kernel=k.kernel,
    )


def _prepared(X: Data, score: Any, kernel: Any) -> tuple[Any, Zipped, int]:
    """The Stein kernel, the sample prepared for it, and its size."""
    V: Any = as_vectors(X, "ksd")
    V = V.toarray() if sp.issparse(V) else V
    base = RationalQuadratic("median", alpha=0.5) if kernel is None else kernel
    values = None if callable(score) else np.array(score, dtype=np.float64)
    k = Stein(base, score if values is None else lambda _: values).resolve(V)
    return k, k.prepare(V), len(V)


def _checked_score(values: Any, V: np.ndarray) -> np.ndarray:
    S = np.asarray(values, dtype=np.float64)
    S = S[:, None] if S.ndim == 1 and V.shape[1] == 1 else S
    if S.shape != V.shape:
        raise ValueError(
            f"score must give one gradient per sample, shape {V.shape}, got shape {S.shape}."
        )
    if not np.all(np.isfinite(S)):
        raise ValueError("score is not finite at some samples: is the density positive there?")
    return S
