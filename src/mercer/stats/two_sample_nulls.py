"""Null distributions of the two-sample statistic without permutations, for one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import length, take
from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..gram.tiles import multiply, one_blas_thread
from ..kernels.base import Kernel
from .discrepancy import block_terms, group_sums, linear_terms
from .mixtures import ChiSquareMixture
from .moments import Moments, permutation_moments
from .nulls import (
    STRETCH,
    check_memory,
    fitted,
    gamma_null,
    permutation_pvalue,
    wild_correlations,
    wild_signs,
)
from .pearson import pearson_curve
from .problems import ROUNDING, Comparison, Null, Outcome, centred_matrix
from .smoothers import u_centred

_EIGENVALUES = 2000  # samples whose eigenvalues stand for those of the operator
_SKEW, _KURTOSIS = 0.25, 0.5  # that a limit may lack: 0.7 % too often at the 5 % level, .3 % at 1 %


def spectrum(problem: Comparison, rng: np.random.Generator) -> Outcome:
    """The limit sum_l lambda_l (z_l^2 - 1) of nm/N MMD^2; the biased estimate has a larger mean.

    The eigenvalues are those of the kernel matrix without its diagonal, so centred that rows add up
    to 0: the sum of their squares estimates that of the operator without bias. With its diagonal,
    the noise of many dimensions would be taken for spread of the statistic. The variance is that of
    samples of this size, a little more than in the limit.
    """
    kernel, samples, biased = problem.kernel, problem.samples, problem.biased
    n, m = samples.sizes
    value = _statistic(problem)
    some = samples.data
    if len(samples) > _EIGENVALUES:
        some = take(some, rng.choice(len(samples), _EIGENVALUES, replace=False))
    K = _centred(kernel, some)
    trace, size = float(np.trace(K)), len(K)
    U = u_centred(K)
    scaled = n * m / (n + m)
    own = [(k - 1) / k**3 if biased else 1 / (k * (k - 1)) for k in (n, m)]
    weights = spectrum_of(U) * scaled * np.sqrt(sum(own) + 2 / (n * m))
    limit = ChiSquareMixture(weights, trace / (size - 1) if biased else 0.0)
    how = "the limit distribution, from the spectrum of the kernel"
    first = int(np.clip(round(size * n / (n + m)), 2, size - 2))
    exact = permutation_moments(U, _weights(np.arange(size) >= first, False))
    return Outcome(
        value,
        limit.sf(scaled * (value - _rounding(problem))),  # ties count as at least as large
        how,
        distribution=_Scaled(limit, scaled),
        strays=strays([U], exact, size / len(samples)),
    )


def _rounding(problem: Comparison) -> float:
    """By how much rounding may separate two values of the statistic that are equal."""
    kernel = problem.kernel
    return ROUNDING * float(np.abs(kernel.diag(kernel.prepare(problem.samples.data))).mean())


def too_narrow(what: str, null: str) -> str:
    """A note on permutations in the place of a limit that strays."""
    return (
        f"{what}: so few pairs of these observations are close that the distribution of "
        f'null="{null}" would be wrong; the p-value is from permutations.'
    )


def strays(matrices: Sequence[np.ndarray], exact: Moments, share: float = 1.0) -> bool:
    """Lacks the limit of a statistic the skewness or the kurtosis that it has over permutations?

    A kernel far narrower than the data is nearly 0 but for the few pairs that are close. Their
    count has the long tail of a Poisson variable, which is lost in a limit where there are many.

    Parameters
    ----------
    matrices : list of array of shape (n, n)
        Kernel matrices without diagonal and with row sums 0, of each variable.
    exact : Moments
        Those over permutations.
    share : float
        The share of all samples that these are of. What a limit lacks goes with 1 / n.
    """
    second = third = fourth = 1.0
    for U in matrices:
        square = lapack(len(U), np.matmul, U, U)
        second *= float(np.trace(square))
        third *= float(np.vdot(square, U))
        fourth *= float(np.vdot(square, square))
    skewness, kurtosis = 8 * third / (2 * second) ** 1.5, 3 + 48 * fourth / (2 * second) ** 2
    lacks = share * (exact.skewness - skewness), share * (exact.kurtosis - kurtosis)
    return bool(lacks[0] > _SKEW or lacks[1] > _KURTOSIS)


def spectrum_of(U: np.ndarray) -> np.ndarray:
    """Eigenvalues of an operator, from a kernel matrix without diagonal and with row sums 0.

    They add up to 0, and their squares, on average, to those of the operator.
    """
    n = len(U)
    if n < 6:
        raise ValueError(f'null="spectrum" needs at least 6 samples, got {n}; use permutations.')
    with one_blas_thread():
        values = lapack(n, np.linalg.eigvalsh, U)
    return np.asarray((values - values.mean()) / np.sqrt(n * (n - 3)))


def gamma(problem: Comparison, rng: np.random.Generator) -> Outcome:
    """A gamma distribution with the exact permutation mean and variance of the biased MMD^2."""
    value, samples = _statistic(problem), problem.samples
    K, B = _centred(problem.kernel, samples.data), _weights(samples.labels, True)
    moments = permutation_moments(K, B)
    rounding = _rounding(problem)
    null = fitted(gamma_null, moments.mean, moments.variance, rounding=rounding)
    how = "a gamma distribution with the exact mean and variance over permutations"
    p = float(null.sf(value - rounding))
    return Outcome(value, p, how, distribution=null, strays=strays([u_centred(K)], moments))


def pearson(problem: Comparison, rng: np.random.Generator) -> Outcome:
    """A Pearson curve with the exact mean, variance, skewness and kurtosis over permutations."""
    value, samples, biased = _statistic(problem), problem.samples, problem.biased
    K = _centred(problem.kernel, samples.data, diagonal=biased)
    moments, rounding = permutation_moments(K, _weights(samples.labels, biased)), _rounding(problem)
    null = fitted(pearson_curve, *moments, rounding=rounding)
    how = "a Pearson curve with four exact moments over permutations"
    return Outcome(value, float(null.sf(value - rounding)), how, distribution=null)


def wild(problem: Comparison, rng: np.random.Generator) -> Outcome:
    """The wild bootstrap of the biased MMD^2: centred embeddings with random signs as weights.

    Features are centred on the mean of both samples together, which takes from the variance of
    each sample its share of that mean. It is given back: on average, draws are as large as the
    statistic is if both distributions are the same.
    """
    kernel, samples, n_draws = problem.kernel, problem.samples, problem.n_draws
    P, columns = kernel.prepare(samples.data), []
    lags = None if problem.blocks is None else STRETCH * check_memory(problem.blocks)
    for size in samples.sizes:
        W = wild_signs(size, n_draws, rng, lags)
        lost = _variance_of_mean(wild_correlations(size, lags), size) * size / len(samples)
        columns.append(W / (size * np.sqrt(1 - lost)))
    draws = np.concatenate([columns[0], -columns[1]])
    draws -= draws.mean(axis=0)
    observed = np.where(samples.labels == 0, 1 / samples.sizes[0], -1 / samples.sizes[1])
    U = np.column_stack([observed, draws])
    values = np.einsum("ij,ij->j", U, multiply(kernel, P, P, U))
    found = permutation_pvalue(float(values[0]), values[1:], _rounding(problem))
    how = f"wild bootstrap, {n_draws} draws"
    return Outcome(float(values[0]), found.pvalue, how, found.draws, interval=found.interval)


def normal(problem: Comparison, rng: np.random.Generator) -> Outcome:
    """The normal limit of the linear-time or the block estimate, a mean of independent terms.

    Terms are of neighbours, and independent only if neighbours are: both samples are shuffled.
    """
    from scipy.stats import norm

    estimator, samples = problem.estimator, problem.samples.shuffled(rng)
    terms = (linear_terms if estimator == "linear" else block_terms)(problem.kernel, samples)
    if len(terms) < 2:
        raise ValueError(
            f'statistic="{estimator}" needs at least two terms to estimate its variance, got '
            f'{len(terms)}; use statistic="u".'
        )
    value, error = float(terms.mean()), float(terms.std(ddof=1) / np.sqrt(len(terms)))
    if not error > ROUNDING * float(np.abs(terms).max()):
        raise ValueError("all terms of the statistic are equal: are all samples equal?")
    limit = norm(0, error)
    how = f"the normal limit of a mean of {len(terms)} independent terms"
    return Outcome(value, float(limit.sf(value)), how, distribution=limit)


def _variance_of_mean(correlations: np.ndarray, n: int) -> float:
    """The variance of the mean of n terms of a stationary series of variance 1."""
    lags = np.arange(1, len(correlations))
    return float(n + 2 * np.sum((n - lags) * correlations[1:])) / n**2


class _Scaled:
    """The distribution of T / factor."""

    def __init__(self, base: ChiSquareMixture, factor: float) -> None:
        self.base, self.factor = base, factor

    def sf(self, x: Any) -> Any:
        return self.base.sf(np.asarray(x) * self.factor)


def _statistic(problem: Comparison) -> float:
    """The statistic tile by tile: K is not formed for it."""
    return group_sums(problem.kernel, problem.samples).mmd(problem.biased)


def _centred(kernel: Kernel, X: Any, diagonal: bool = True) -> np.ndarray:
    require_memory(3 * 8 * length(X) ** 2, "a null distribution from the whole kernel matrix")
    return centred_matrix(kernel, X, diagonal)


def _weights(labels: np.ndarray, biased: bool) -> np.ndarray:
    """B with MMD^2 = sum_ij K_ij B_ij; its rows add up to 0."""
    first = labels == 0
    n, m = int(first.sum()), int((~first).sum())
    w = np.where(first, 1 / n, -1 / m)
    B = np.multiply.outer(w, w)
    if not biased:
        B[np.ix_(first, first)] = 1 / (n * (n - 1))
        B[np.ix_(~first, ~first)] = 1 / (m * (m - 1))
        np.fill_diagonal(B, 0)
    return B


NULLS = {
    "spectrum": Null(spectrum),
    "gamma": Null(gamma, ("v",)),
    "pearson": Null(pearson),
    "wild": Null(wild, ("v",), series=True),
    "normal": Null(normal, ("block", "linear")),
}
