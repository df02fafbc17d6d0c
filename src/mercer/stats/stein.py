"""Does a sample come from a given density? Kernel Stein discrepancy and a test by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import check_count
from ..data import Data, Zipped, as_dense, as_vectors
from ..engine.memory import require_memory
from ..gram.plan import LEAN, Plan
from ..kernels.base import Kernel, Tile, Tiled
from ..kernels.vectors.base import VectorKernel
from ..kernels.vectors.distances import SquaredDistances, centre
from ..kernels.vectors.radial import Gaussian, Radial, RationalQuadratic
from ..params import parameter
from ..randomness import as_generator
from .nulls import STRETCH, check_memory, permutation_pvalue, wild_signs
from .planned import planned, threads
from .result import TestResult, resampled
from .samples import plain

_ROUNDING = 1e-12  # of the mean of k_p(x, x): draws closer than this are equal
Score = Callable[[np.ndarray], Any]


@dataclass(eq=False, repr=False)
class Stein(VectorKernel, Tiled):
    r"""The Stein kernel of a density p: its functions have mean 0 under p.

    .. math:: k_p(x, y) = s(x)'s(y)\, k(x, y) + s(x)' \nabla_y k(x, y) + s(y)' \nabla_x k(x, y)
              + \operatorname{tr} \nabla_x \nabla_y k(x, y), \qquad s = \nabla \log p

    The score s does not depend on how p is normalised.

    The mean is 0 only if the density vanishes at the boundary of its domain. If it does not, like
    that of the exponential distribution at 0, pass the domain as ``support``; functions are then
    multiplied by weights that vanish at the boundary, one for each coordinate i:

    .. math:: k_p(x, y) = \sum_i \left( s_i(x) + \frac{\partial}{\partial x_i} \right)
              \left( s_i(y) + \frac{\partial}{\partial y_i} \right)
              \omega_i(x_i)\, \omega_i(y_i)\, k(x, y)

    with omega(x) = t / (1 + t), where t is the distance from the boundary in lengthscales (for
    intervals the product of that for both ends).

    Parameters
    ----------
    kernel : Gaussian or RationalQuadratic
        The kernel k; a rational quadratic one with alpha = 1/2 is the inverse multiquadric.
    score : callable
        From an (n, d) array to the (n, d) array of gradients of log p.
    support : (low, high), optional
        The boundaries of p in each coordinate: numbers or arrays of shape (d,), infinite where
        there is none. By default p is positive everywhere.

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
    Gretton, *A kernel test of goodness of fit*, ICML 2016; Xu, *Generalised kernel Stein
    discrepancy*, AISTATS 2022 (weights for densities on domains with a boundary).
    """

    kernel: Any = parameter(check=lambda k: _smooth(k))
    score: Any = parameter(check=lambda s: None if callable(s) else "a function")
    support: Any = parameter(None, check=lambda b: _bounds(b))
    because = "<xi(x), xi(y)> with xi(x) = s(x) k(x, .) + grad k(x, .)"

    def prepare(self, X: Data) -> Zipped:
        V = as_dense(as_vectors(X, "Stein"))
        weight, slope = self._weights(V)
        return Zipped(V, _checked_score(self.score(V), V) * weight + slope, weight)

    def _weights(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """omega and its derivative in each coordinate; 1 and 0 where there is no boundary."""
        weight, slope = np.ones(V.shape), np.zeros(V.shape)
        if self.support is None:
            return weight, slope
        scale = np.broadcast_to(np.asarray(self.kernel.lengthscale, dtype=np.float64), V.shape[1])
        for end, sign in zip(self.support, (1.0, -1.0), strict=True):
            end = np.asarray(end, dtype=np.float64)
            if end.shape not in ((), (1,), (V.shape[1],)):
                raise ValueError(
                    f"support must hold numbers or arrays of shape ({V.shape[1]},), got an array "
                    f"of shape {end.shape}."
                )
            end = np.broadcast_to(end, V.shape[1])
            t = sign * (V - end) / scale
            if np.any(t < 0):
                where = int(np.argmax(np.any(t < 0, axis=0)))
                raise ValueError(
                    f"support: samples lie outside it in column {where}, beyond {end[where]:g}; "
                    "the density is 0 there."
                )
            bounded = np.isfinite(end)
            t = np.where(bounded, t, 0.0)
            factor = np.where(bounded, t / (1 + t), 1.0)
            change = np.where(bounded, sign / scale / (1 + t) ** 2, 0.0)
            weight, slope = weight * factor, slope * factor + weight * change
        return weight, slope

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (V, S, A), (W, T, B) = X.parts, Y.parts  # with S = omega s + omega', and omega itself
        k = self.kernel
        scale = np.broadcast_to(np.asarray(k.lengthscale, dtype=np.float64), V.shape[1])
        origin = centre(W)
        V, W = (V - origin) / scale, (W - origin) / scale  # in units of the lengthscale
        S, T = S * scale, T * scale
        with np.errstate(over="ignore", divide="ignore"):
            unit = 1 / scale**2
        squared = SquaredDistances(V, W, exact=True)
        stretched = SquaredDistances(V / scale, W / scale, exact=True)

        @np.errstate(over="ignore", invalid="ignore")  # values that are no numbers are refused
        def tile(rows: slice, cols: slice) -> np.ndarray:
            R2 = squared(rows, cols)
            x, y, s, t, a, b = V[rows], W[cols], S[rows], T[cols], A[rows], B[cols]
            us, ut = s * unit, t * unit
            along = (us * x) @ b.T - us @ (b * y).T  # sum_i s_i(x) omega_i(y) (x - y)_i / l_i^2
            along -= (a * x) @ ut.T - a @ (ut * y).T  # less the same with x and y exchanged
            value, slope, curvature = _CURVATURE[type(k)](k, R2)
            out = (us @ t.T) * value
            out -= 2 * slope * along
            if self.support is None:
                out -= 2 * slope * unit.sum()
                out -= 4 * curvature * stretched(rows, cols)
            else:
                out -= 2 * slope * ((a * unit) @ b.T)
                for i in range(a.shape[1]):
                    apart = np.subtract.outer(x[:, i] / scale[i], y[:, i] / scale[i])
                    out -= 4 * curvature * np.multiply.outer(a[:, i], b[:, i]) * apart**2
            return out

        return tile

    def resolve(self, X: Data) -> Kernel:
        return self.replace(kernel=self.kernel.resolve(X))


def _smooth(k: Any) -> str | None:
    return None if type(k) in _CURVATURE else "a Gaussian or RationalQuadratic kernel"


def _bounds(support: Any) -> str | None:
    if support is None:
        return None
    try:
        low, high = (np.asarray(end, dtype=np.float64) for end in support)
        if not np.any(np.isnan(low) | np.isnan(high)) and np.all(low < high):
            return None
    except (TypeError, ValueError):
        pass
    return "None or a pair (low, high) of numbers or arrays, the first below the second"


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


@planned
def ksd(
    X: Data,
    score: Any,
    kernel: Any = None,
    *,
    biased: bool = False,
    support: Any = None,
    plan: Plan | None = None,
) -> float:
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
    support : (low, high), optional
        Boundaries of the density, where it does not vanish at them (:class:`Stein`).
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

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
    k, V = stein_kernel(X, score, kernel, support)
    n = len(V)
    if n < 2 and not biased:
        raise ValueError("ksd needs at least 2 samples, or biased=True.")
    gram = k.gram(V, plan or LEAN)
    total = float((gram @ np.ones(n)).sum())
    return total / n**2 if biased else (total - float(gram.diag().sum())) / (n * (n - 1))


@planned
def goodness_of_fit_test(
    X: Data,
    score: Any,
    kernel: Any = None,
    *,
    n_draws: int = 999,
    rng: Any = None,
    memory: float | None = None,
    support: Any = None,
    plan: Plan | None = None,
) -> TestResult:
    """Test whether a sample comes from a density that is known up to a constant.

    The statistic is the (biased) kernel Stein discrepancy; its null distribution is drawn by the
    wild bootstrap, with random signs as weights of the samples. It is approximate: at the 5 % level
    it is valid for 30 independent samples, and for chains of 40 times their memory.

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
        below .05. By default samples are assumed to be independent.
    support : (low, high), optional
        The boundaries of the density in each coordinate: numbers or arrays of shape (d,), infinite
        if there is none. Without it, the test is only valid for densities that vanish at the
        boundary of their domain; for others, such as the uniform and the exponential density, it
        rejects every large enough sample.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Returns
    -------
    TestResult
        The statistic is KSD^2. A note says if the score points out of the sample, as it does at a
        boundary that was not given.

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
    >>> waiting = np.random.default_rng(0).exponential(size=200)
    >>> goodness_of_fit_test(waiting, lambda x: -np.ones_like(x), support=(0, np.inf), rng=0).pvalue
    0.111

    References
    ----------
    Chwialkowski, Strathmann & Gretton, *A kernel test of goodness of fit*, ICML 2016; Liu, Lee &
    Jordan, *A kernelized Stein discrepancy*, ICML 2016.
    """
    rng = as_generator(rng)
    check_count("n_draws", n_draws)
    k, V = stein_kernel(X, score, kernel, support)
    n = len(V)
    if n < 2:
        raise ValueError(f"a goodness-of-fit test needs at least 2 samples, got {n}.")
    lags = None if memory is None else STRETCH * check_memory(memory)
    require_memory(24.0 * n * (n_draws + 1), f"{n_draws} draws of {n} signs")
    W = np.column_stack([np.ones(n), wild_signs(n, n_draws, rng, lags)])
    gram = k.gram(V, plan or LEAN)
    values = np.einsum("ij,ij->j", W, gram @ W) / n**2
    found = permutation_pvalue(float(values[0]), values[1:], float(_ROUNDING * gram.diag().mean()))
    return resampled(
        float(values[0]),
        found,
        f"goodness-of-fit test, KSD^2 (wild bootstrap, {n_draws} draws)",
        "the sample comes from the density",
        kernel=k.kernel,
        notes=_open_ends(k.prepare(V)) if support is None else (),
        computation=f"{gram.explain().splitlines()[0]}; {threads(plan)}",
    )


def _open_ends(P: Zipped) -> tuple[str, ...]:
    """Where a score points out of the sample: the density does not vanish there."""
    V, S, _ = P.parts
    columns = np.arange(V.shape[1])
    for rows, sign, word in ((V.argmin(axis=0), 1, "smallest"), (V.argmax(axis=0), -1, "largest")):
        out = np.flatnonzero(sign * S[rows, columns] <= 0)
        if len(out):
            return (
                f"at the {word} value of column {out[0]} the score does not point back to the "
                "others: if the density has a boundary there, pass it as support=(low, high).",
            )
    return ()


def stein_kernel(X: Data, score: Any, kernel: Any, support: Any) -> tuple[Any, np.ndarray]:
    """The Stein kernel, and the sample as an array."""
    V = as_dense(as_vectors(plain(X, "X"), "ksd"))
    base = RationalQuadratic("median", alpha=0.5) if kernel is None else kernel
    values: Any = None if callable(score) else plain(score, "score")
    values = None if values is None else np.array(values, dtype=np.float64)
    k = Stein(base, score if values is None else lambda _: values, support).resolve(V)
    return k, V


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
