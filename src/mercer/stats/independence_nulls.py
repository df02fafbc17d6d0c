"""Null distributions of HSIC without permutations, for one kernel of each of two variables."""

from __future__ import annotations

import numpy as np

from ..data import take
from .mixtures import ChiSquareMixture
from .moments import permutation_moments
from .nulls import (
    check_memory,
    fitted,
    gamma_null,
    permutation_pvalue,
    wild_correlations,
    wild_signs,
)
from .pearson import pearson_curve
from .problems import ROUNDING, Dependence, Null, Outcome, centred_matrix
from .smoothers import u_centred
from .two_sample_nulls import spectrum_of, strays

_EIGENVALUES = 1000  # samples whose eigenvalues stand for those of the operators
_WEIGHTS = 5000  # products of eigenvalues that are told apart; the others are normal together


def spectrum(problem: Dependence, rng: np.random.Generator) -> Outcome:
    """The limit sum_ij lambda_i mu_j (z_ij^2 - 1) of n HSIC; the biased estimate has a larger mean.

    Eigenvalues are those of kernel matrices without their diagonals, as for two samples. The
    variance is that over permutations of n observations: that of the limit times n / (n - 3), or
    (n - 3) / n for the biased estimate.
    """
    n, some, (K, L) = problem.n, None, problem.centred
    if n > _EIGENVALUES:
        some = rng.choice(n, _EIGENVALUES, replace=False)
    matrices, values = [], []
    for matrix, k, X in zip((K, L), problem.kernels, problem.data, strict=True):
        part = matrix if some is None else centred_matrix(k, take(X, some))
        matrices.append(u_centred(part))
        values.append(spectrum_of(matrices[-1]))
    freedom = float(np.sqrt(n * (n - 3)))
    weights = np.multiply.outer(*values).ravel() * (
        freedom / n**2 if problem.biased else 1 / freedom
    )
    weights = weights[np.argsort(-np.abs(weights))]
    kept, rest = weights[:_WEIGHTS], weights[_WEIGHTS:]
    mean = np.trace(K) * np.trace(L) / (n**2 * (n - 1)) if problem.biased else 0.0
    limit = ChiSquareMixture(kept, mean - float(kept.sum()), 2 * float(np.sum(rest**2)))
    value = problem.observed
    how = "the limit distribution, from the spectra of the kernels"
    exact = permutation_moments(*matrices)
    lacks = strays(matrices, exact, len(matrices[0]) / n)
    p = limit.sf(value - problem.rounding)  # ties count as at least as large
    return Outcome(value, p, how, distribution=limit, strays=lacks)


def gamma(problem: Dependence, rng: np.random.Generator) -> Outcome:
    """A gamma distribution with the exact permutation mean and variance of the biased HSIC."""
    moments, scale = permutation_moments(*problem.centred), problem.n**2
    mean, variance = moments.mean / scale, moments.variance / scale**2
    null = fitted(gamma_null, mean, variance, rounding=problem.rounding)
    K, L = problem.centred
    lacks = strays([u_centred(K), u_centred(L)], moments)
    value = problem.observed
    how = "a gamma distribution with the exact mean and variance over permutations"
    p = float(null.sf(value - problem.rounding))
    return Outcome(value, p, how, distribution=null, strays=lacks)


def pearson(problem: Dependence, rng: np.random.Generator) -> Outcome:
    """A Pearson curve with the exact mean, variance, skewness and kurtosis over permutations."""
    n, value, (K, L) = problem.n, problem.observed, problem.centred
    scale = float(n**2)
    if not problem.biased:
        K, L, scale = u_centred(K), u_centred(L), float(n * (n - 3))
    moments = permutation_moments(K, L)
    mean, variance = moments.mean / scale, moments.variance / scale**2
    more = moments.skewness, moments.kurtosis
    null = fitted(pearson_curve, mean, variance, *more, rounding=problem.rounding)
    how = "a Pearson curve with four exact moments over permutations"
    p = float(null.sf(value - problem.rounding))
    return Outcome(value, p, how, distribution=null)


def wild(problem: Dependence, rng: np.random.Generator) -> Outcome:
    r"""The wild bootstrap: sum_ts w_t w_s K_ts L_ts with random signs, or a series, w.

    If the variables are independent, the terms of the statistic have the mean (1 + b) times that of
    the draws, because both kernels are centred on the sample; with the correlations rho of w,

    .. math:: b = \frac{\sum \rho_{ts} K_{ts} \sum \rho_{ts} L_{ts}}
                        {n^2 \sum \rho_{ts} K_{ts} L_{ts}}

    which is about 1 / n for independent observations. Draws are multiplied by 1 + b. Products of
    two independent series forget faster than each of them, so w needs no longer memory than theirs.
    """
    n, n_draws, (K, L) = problem.n, problem.n_draws, problem.centred
    memory = None if problem.blocks is None else check_memory(problem.blocks)
    rho = wild_correlations(n, memory)
    W = wild_signs(n, n_draws, rng, memory)
    apart = _lagged_sum(K, rho) * _lagged_sum(L, rho)
    terms = K * L
    together = _lagged_sum(terms, rho)
    value = float(terms.sum()) / n**2
    b = apart / (n**2 * together) if together > 0 else 0.0
    draws = (1 + b) * np.einsum("ij,ij->j", W, terms @ W) / n**2
    found = permutation_pvalue(value, draws, ROUNDING * problem.size)
    how = f"wild bootstrap, {n_draws} draws"
    return Outcome(value, found.pvalue, how, found.draws, interval=found.interval)


def _lagged_sum(K: np.ndarray, rho: np.ndarray) -> float:
    """sum_ts rho(t - s) K_ts of a symmetric matrix."""
    lags = enumerate(rho[1:], start=1)
    return float(np.trace(K) + 2 * sum(r * np.trace(K, offset=h) for h, r in lags))


NULLS = {
    "spectrum": Null(spectrum),
    "gamma": Null(gamma, ("v",)),
    "pearson": Null(pearson),
    "wild": Null(wild, ("v",), series=True),
}
