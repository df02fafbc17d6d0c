"""The rules of MMD-FUSE and MMDAgg with the kernels of our grid.

Both packages need JAX and are not on the package index, and the rates their authors published are
of other samples. Here their rules are applied to the same samples, kernels and permutations as the
test without a kernel. Their own grids differ a little from ours: ten bandwidths evenly spaced from
half of the 5 % quantile of distances to twice that of 95 %, without units for columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp
from scipy.stats import rankdata

from mercer import Kernel, kernel_grid
from mercer.data import take
from mercer.stats.nulls import permutation_pvalue
from mercer.stats.permutations import exchange_samples
from mercer.stats.samples import Samples, relabelled


def pvalues_of_rules(X: Any, Y: Any, n_permutations: int, seed: Any) -> dict[str, float]:
    """P-values of both rules on the permutations of ``two_sample_test(X, Y, rng=seed)``."""
    samples = Samples(X, Y)
    kernels, statistics = labellings(samples, n_permutations, seed)
    sizes = norms(kernels, samples)
    return {
        "MMD-FUSE": fuse_pvalue(statistics, sizes, min(samples.sizes)),
        "MMDAgg": aggregated_pvalue(statistics),
    }


def labellings(samples: Samples, n_permutations: int, seed: Any) -> tuple[list[Kernel], np.ndarray]:
    """The default kernels and their unbiased MMD^2, shape (kernels, 1 + permutations).

    The first column is that of the observed labels. Random numbers are drawn in the order in which
    :func:`mercer.two_sample_test` draws them, so that kernels and permutations are the same; it
    permutes single samples as long as there are no more than 3000.
    """
    rng = np.random.default_rng(seed)
    kernels = kernel_grid(take(samples.data, rng.permutation(len(samples))), rng=rng)
    units = exchange_samples(samples.sizes)
    drawn = units.shuffled(samples.labels, n_permutations, rng)
    labels = np.concatenate([samples.labels[None], drawn])
    n, m = samples.sizes
    statistics = relabelled(kernels, samples, units, labels, workers=1).values
    return kernels, (n + m) ** 2 / (n * m) * statistics


def norms(kernels: Sequence[Kernel], samples: Samples) -> np.ndarray:
    r"""What MMD-FUSE divides MMD^2 by, which no permutation changes.

    .. math:: N_k^2 = \frac1{n (n - 1)} \sum_{i \ne j} k(z_i, z_j)^2

    over pairs of both samples together, n being the size of the smaller one.
    """
    n = min(samples.sizes)
    total = []
    for kernel in kernels:
        K = kernel(samples.data)
        np.fill_diagonal(K, 0)
        total.append(np.sum(K**2, dtype=np.float64))
    return np.sqrt(np.array(total) / (n * (n - 1)))


def fuse_pvalue(statistics: np.ndarray, sizes: np.ndarray, n: int) -> float:
    r"""The p-value of MMD-FUSE, a soft maximum of normalized statistics.

    .. math:: T = \frac1\lambda \log \frac1K \sum_k \exp \frac{\lambda\, \mathrm{MMD}_k^2}{N_k},
              \qquad \lambda = \sqrt{n (n - 1)}

    Parameters
    ----------
    statistics : array of shape (kernels, 1 + permutations)
        Unbiased MMD^2; first that of the observed labels.
    sizes : array of shape (kernels,)
        N_k (:func:`norms`).
    n : int
        The size of the smaller sample.

    References
    ----------
    Biggs, Schrab & Gretton, *MMD-FUSE: learning and combining kernels for two-sample testing
    without data splitting*, NeurIPS 2023.
    """
    scale = np.sqrt(n * (n - 1))
    values = logsumexp(scale * statistics / sizes[:, None], axis=0, b=1 / len(sizes)) / scale
    return permutation_pvalue(float(values[0]), values[1:]).pvalue


def aggregated_pvalue(statistics: np.ndarray) -> float:
    r"""The p-value of MMDAgg with permutations and equal weights, the smallest of many p-values.

    MMDAgg rejects if the statistic of some kernel exceeds its (1 - u w_k) quantile over
    permutations, and u is the largest correction for which this happens in at most 5 % of
    permutations. With w_k = 1/K that is the permutation test of

    .. math:: \min_k p_k, \qquad p_k(b) = \frac{\#\{b' : T_k(b') \ge T_k(b)\}}{B + 1},

    here with quantiles and correction from the same permutations, of which the observed labelling
    is one like any other; MMDAgg draws others for the correction. Ranks have ties, so a few hundred
    permutations cost this rule some power, which its authors avoid by 2000.

    References
    ----------
    Schrab, Kim, Albert, Laurent, Guedj & Gretton, *MMD aggregated two-sample test*, JMLR 2023.
    """
    ranks = rankdata(-statistics, method="max", axis=1).min(axis=0)
    return float(np.mean(ranks <= ranks[0]))
