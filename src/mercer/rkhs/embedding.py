"""Distributions as points of an RKHS: mean embeddings, and the distance between two of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data, join, length
from ..kernels.base import Kernel
from .function import RKHSFunction


def mean_embedding(kernel: Kernel, X: Data, weights: Any = None) -> RKHSFunction:
    r"""The mean of the features of a sample, a function in H_k.

    .. math:: \mu(\cdot) = \sum_i w_i\, k(x_i, \cdot), \qquad
              \langle \mu, f \rangle = \sum_i w_i f(x_i)

    so the inner product with any f in H_k is its expectation under the sample. The difference of
    two embeddings is the witness function: largest where the first sample has more mass.

    Parameters
    ----------
    kernel : Kernel
        The kernel; parameters such as "median" are computed from X.
    X : data
        The sample.
    weights : array of shape (n,), optional
        The weights w, used as they are, signed or not normalised; 1/n each by default.

    Examples
    --------
    >>> from mercer import Linear, mean_embedding
    >>> mu = mean_embedding(Linear(), [[1.0], [3.0], [5.0]])
    >>> f = 2 * Linear().at([1.0])  # f(x) = 2 x
    >>> round(mu @ f, 10)  # its mean over the sample
    6.0

    References
    ----------
    Smola, Gretton, Song & Schölkopf, *A Hilbert space embedding for distributions*, ALT 2007.
    """
    n = length(X)
    w = np.full(n, 1.0 / max(n, 1)) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"weights must hold one number per sample, ({n},), got shape {w.shape}.")
    return RKHSFunction(kernel.resolve(X) if kernel.unresolved else kernel, X, w)


def distance_of_means(kernel: Kernel, X: Data, Y: Data) -> float:
    r"""The distance between the means of two samples in feature space.

    .. math:: \|\mu_X - \mu_Y\|^2 = \frac1{n^2} \sum_{ij} k(x_i, x_j)
              + \frac1{m^2} \sum_{ij} k(y_i, y_j) - \frac2{nm} \sum_{ij} k(x_i, y_j)

    This is the maximum mean discrepancy of the samples themselves: as an estimate for the
    distributions they come from, its square is biased upwards.

    Parameters
    ----------
    kernel : Kernel
        The kernel; parameters such as "median" are computed from both samples together.
    X, Y : data
        The samples, of any two sizes.

    Examples
    --------
    >>> from mercer import Linear, distance_of_means
    >>> round(distance_of_means(Linear(), [[0.0], [2.0]], [[4.0], [5.0], [6.0]]), 10)
    4.0

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012.
    """
    k = kernel.resolve(join(X, Y)) if kernel.unresolved else kernel
    return mean_embedding(k, X).distance(mean_embedding(k, Y))
