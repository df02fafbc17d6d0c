"""Mutual information near independence: from covariances, and from smoothed distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data
from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..gram.plan import LEAN, Plan
from ..kernels.base import Kernel
from ..rkhs.operator import cross_covariance
from .bank import not_finite
from .planned import planned, require_stored
from .variables import Variables

_LEAST = 4
_ONE = 1e-12  # of a squared correlation: as near to 1 as rounding allows


@planned
def kernel_mutual_information(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    scale: str = "trace",
    plan: Plan | None = None,
) -> float:
    r"""The kernel mutual information (KMI): the whole spectrum of COCO in one number.

    .. math:: -\frac12 \log\det\left(I - \frac{K_c L_c}{\nu_x \nu_y}\right)
              = -\frac12 \sum_i \log\left(1 - \frac{n^2 \gamma_i^2}{\nu_x \nu_y}\right)

    with centred Gram matrices and the singular values :math:`\gamma_i` of the cross-covariance, of
    which the largest is :func:`coco`. It is 0 where these are, for independent variables only if
    the kernels are universal. :func:`kernel_generalized_variance` is the same sum over canonical
    correlations.

    Parameters
    ----------
    X, Y, kernel_x, kernel_y
        As for :func:`coco`.
    scale : {"trace", "rows"}
        What :math:`\nu` is. ``"trace"``: the trace of K, which is n if k(x, x) = 1; the value is
        finite for all data. ``"rows"``: the smallest row sum of K, as in the derivation: with
        windows k that are densities, the value is then an upper bound, near independence, of the
        mutual information of the smoothed variables (:func:`parzen_mutual_information`). It is
        loose, and inf for variables that are far from independent.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: as n x n matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import coco, kernel_mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 200))
    >>> found = kernel_mutual_information(x, x + e)
    >>> found > 10 * kernel_mutual_information(x, e)
    True
    >>> round(float(-0.5 * np.log1p(-(coco(x, x + e).spectrum ** 2)).sum() / found), 10)
    1.0

    References
    ----------
    Gretton, Herbrich, Smola, Bousquet & Schölkopf, *Kernel methods for measuring independence*,
    JMLR 2005.
    """
    if scale not in ("trace", "rows"):
        raise ValueError(f"scale must be 'trace' or 'rows', got {scale!r}.")
    pair = Variables(X, Y)
    what = "the kernel mutual information"
    require_stored(plan, what, pair.n)
    require_memory(4 * 8.0 * pair.n**2, what)
    kernels = pair.kernels([kernel_x, kernel_y])
    scales = [_scale(k, V, scale) for k, V in zip(kernels, pair.data, strict=True)]
    covariances = cross_covariance(kernels[0], X, kernels[1], Y).singular_values()
    squares = (pair.n * covariances) ** 2 / np.prod(scales)
    if squares.max(initial=0) >= 1:
        return float("inf")
    return float(-0.5 * np.sum(np.log1p(-squares)))


def _scale(kernel: Kernel, X: Data, scale: str) -> float:
    """The trace of K, or its smallest row sum."""
    gram = kernel.gram(X, LEAN)
    if scale == "trace":
        return float(np.sum(gram.diag(), dtype=np.float64))
    least = float(np.min(gram @ np.ones(len(gram))))
    if not least > 0:
        raise ValueError(
            f"scale='rows' needs kernels that are densities, but {kernel!r} has row sums <= 0; use "
            f"a Gaussian or Laplacian kernel, or scale='trace'."
        )
    return least


@planned
def parzen_mutual_information(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    plan: Plan | None = None,
) -> float:
    r"""The mutual information of smoothed variables, as if their correlations were all there is.

    .. math:: -\frac12 \sum_i \log\left(1 - \rho_i^2\right)

    with the canonical correlations of the kernel (Parzen window) estimate of the joint
    distribution, on the grid of all sample points: with columns of K and L divided by their sums,
    P = K L' / n is a distribution on this grid, and the correlations are the singular values of
    :math:`D_X^{-1/2} (P - p q') D_Y^{-1/2}`, where p and q are its margins and D have them on their
    diagonals. It is 0 for independent variables, whose P is p q', and approximates the mutual
    information near independence. Kernels must not be negative, and their width matters: the
    narrower they are, the larger is the value, for independent variables too.

    Parameters
    ----------
    X, Y, kernel_x, kernel_y
        As for :func:`hsic`, with kernels that are never negative.
    plan : Plan, optional
        Memory and threads to use, and how K is stored: as n x n matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import parzen_mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 200))
    >>> parzen_mutual_information(x, x + e) > 5 * parzen_mutual_information(x, e)
    True

    References
    ----------
    Gretton, Herbrich, Smola, Bousquet & Schölkopf, *Kernel methods for measuring independence*,
    JMLR 2005, who go on from here to a bound that needs no grid
    (:func:`kernel_mutual_information`).
    """
    pair = Variables(X, Y, least=_LEAST)
    what = "the mutual information of smoothed variables"
    require_stored(plan, what, pair.n)
    require_memory(5 * 8.0 * pair.n**2, what)
    sides = []
    for k, V in zip(pair.kernels([kernel_x, kernel_y]), pair.data, strict=True):
        P = k.prepare(V)
        K = k.pairwise(P, P).astype(np.float64)
        if not np.all(np.isfinite(K)):
            raise not_finite(repr(k))
        if K.min() < 0 or not np.all(np.diagonal(K) > 0):
            raise ValueError(
                f"{what} needs kernels that are densities, but {k!r} has negative values, or is 0 "
                f"at (x, x); use a Gaussian or Laplacian kernel."
            )
        A = K / K.sum(axis=0)
        p = A.mean(axis=1)
        A -= p[:, None]
        A /= np.sqrt(p)[:, None]
        sides.append(A)
    C = sides[0] @ sides[1].T / pair.n
    rho = lapack(pair.n, np.linalg.svd, C, compute_uv=False)
    return float(-0.5 * np.sum(np.log1p(-np.minimum(rho**2, 1 - _ONE))))
