"""Null distributions of HSIC without permutations, for one kernel of each of two variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data, length, take
from ..engine.memory import require_memory
from ..gram.tiles import evaluate
from ..kernels.base import Kernel
from .dependence import from_centred
from .mixtures import ChiSquareMixture
from .moments import permutation_moments
from .nulls import check_memory, gamma_null, permutation_pvalue, wild_correlations, wild_signs
from .pearson import pearson_curve
from .samples import from_mean
from .smoothers import centre_in_place, u_centred
from .two_sample_nulls import ROUNDING, Outcome, spectrum_of, strays

_EIGENVALUES = 1000  # samples whose eigenvalues stand for those of the operators
_WEIGHTS = 5000  # products of eigenvalues that are told apart; the others are normal together


class Pair:
    """The centred kernel matrices of two variables, and their HSIC."""

    def __init__(self, kernels: list[Kernel], data: tuple[Data, ...]) -> None:
        moved = [from_mean(k, X) for k, X in zip(kernels, data, strict=True)]
        self.kernels, self.data, self.n = (
            [k for k, _ in moved],
            [X for _, X in moved],
            length(data[0]),
        )
        require_memory(4 * 8 * self.n**2, "a null distribution from whole kernel matrices")
        self.K, self.L = (centred_matrix(k, X) for k, X in moved)
        sizes = [np.abs(k.diag(k.prepare(X))).mean() for k, X in moved]
        self.size = float(np.prod(sizes))

    def hsic(self, biased: bool) -> float:
        """The statistic."""
        K, L = self.K, self.L
        own, traces = float(np.vdot(K.diagonal(), L.diagonal())), np.trace(K) * np.trace(L)
        return float(from_centred(float(np.vdot(K, L)), own, traces, self.n, biased))


def spectrum(pair: Pair, biased: bool, rng: np.random.Generator) -> Outcome:
    """The limit sum_ij lambda_i mu_j (z_ij^2 - 1) of n HSIC; the biased estimate has a larger mean.

    Eigenvalues are those of kernel matrices without their diagonals, as for two samples. The
    variance is that over permutations of n observations: that of the limit times n / (n - 3), or
    (n - 3) / n for the biased estimate.
    """
    n, some = pair.n, None
    if n > _EIGENVALUES:
        some = rng.choice(n, _EIGENVALUES, replace=False)
    matrices, values = [], []
    for matrix, k, X in zip((pair.K, pair.L), pair.kernels, pair.data, strict=True):
        part = matrix if some is None else centred_matrix(k, take(X, some))
        matrices.append(u_centred(part))
        values.append(spectrum_of(matrices[-1]))
    freedom = float(np.sqrt(n * (n - 3)))
    weights = np.multiply.outer(*values).ravel() * (freedom / n**2 if biased else 1 / freedom)
    weights = weights[np.argsort(-np.abs(weights))]
    kept, rest = weights[:_WEIGHTS], weights[_WEIGHTS:]
    mean = np.trace(pair.K) * np.trace(pair.L) / (n**2 * (n - 1)) if biased else 0.0
    limit = ChiSquareMixture(kept, mean - float(kept.sum()), 2 * float(np.sum(rest**2)))
    value = pair.hsic(biased)
    how = "the limit distribution, from the spectra of the kernels"
    exact = permutation_moments(*matrices)
    lacks = strays(matrices, exact, len(matrices[0]) / n)
    return Outcome(value, limit.sf(value), how, distribution=limit, strays=lacks)


def gamma(pair: Pair) -> Outcome:
    """A gamma distribution with the exact permutation mean and variance of the biased HSIC."""
    moments, scale = permutation_moments(pair.K, pair.L), pair.n**2
    fitted = gamma_null(moments.mean / scale, moments.variance / scale**2)
    lacks = strays([u_centred(pair.K), u_centred(pair.L)], moments)
    value = pair.hsic(True)
    how = "a gamma distribution with the exact mean and variance over permutations"
    return Outcome(value, float(fitted.sf(value)), how, distribution=fitted, strays=lacks)


def pearson(pair: Pair, biased: bool) -> Outcome:
    """A Pearson curve with the exact mean, variance, skewness and kurtosis over permutations."""
    n, value = pair.n, pair.hsic(biased)
    matrices, scale = (pair.K, pair.L), float(n**2)
    if not biased:
        matrices, scale = (u_centred(pair.K), u_centred(pair.L)), float(n * (n - 3))
    moments = permutation_moments(*matrices)
    mean, variance = moments.mean / scale, moments.variance / scale**2
    fitted = pearson_curve(mean, variance, moments.skewness, moments.kurtosis)
    how = "a Pearson curve with four exact moments over permutations"
    return Outcome(value, float(fitted.sf(value)), how, distribution=fitted)


def wild(pair: Pair, n_draws: int, rng: np.random.Generator, memory: Any) -> Outcome:
    r"""The wild bootstrap: sum_ts w_t w_s K_ts L_ts with random signs, or a series, w.

    If the variables are independent, the terms of the statistic have the mean (1 + b) times that of
    the draws, because both kernels are centred on the sample; with the correlations rho of w,

    .. math:: b = \frac{\sum \rho_{ts} K_{ts} \sum \rho_{ts} L_{ts}}
                        {n^2 \sum \rho_{ts} K_{ts} L_{ts}}

    which is about 1 / n for independent observations. Draws are multiplied by 1 + b. Products of
    two independent series forget faster than each of them, so w needs no longer memory than theirs.
    """
    n = pair.n
    memory = None if memory is None else check_memory(memory)
    rho = wild_correlations(n, memory)
    W = wild_signs(n, n_draws, rng, memory)
    apart = _lagged_sum(pair.K, rho) * _lagged_sum(pair.L, rho)
    pair.K *= pair.L
    together = _lagged_sum(pair.K, rho)
    value = float(pair.K.sum()) / n**2
    b = apart / (n**2 * together) if together > 0 else 0.0
    draws = (1 + b) * np.einsum("ij,ij->j", W, pair.K @ W) / n**2
    found = permutation_pvalue(value, draws, ROUNDING * pair.size)
    how = f"wild bootstrap, {n_draws} draws"
    return Outcome(value, found.pvalue, how, found.draws, interval=found.interval)


def _lagged_sum(K: np.ndarray, rho: np.ndarray) -> float:
    """sum_ts rho(t - s) K_ts of a symmetric matrix."""
    lags = enumerate(rho[1:], start=1)
    return float(np.trace(K) + 2 * sum(r * np.trace(K, offset=h) for h, r in lags))


def centred_matrix(kernel: Kernel, X: Data) -> np.ndarray:
    """H K H as a fresh array in double precision."""
    P = kernel.prepare(X)
    return centre_in_place(evaluate(kernel, P, P).astype(np.float64, copy=False))
