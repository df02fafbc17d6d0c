"""Mutual information near independence, from canonical correlations of smoothed distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data
from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..gram.plan import Plan
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
    plan: Plan | None = None,
) -> float:
    r"""The kernel mutual information: that of a Gaussian pair with the same correlations.

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
    >>> from mercer import kernel_mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 200))
    >>> kernel_mutual_information(x, x + e) > 5 * kernel_mutual_information(x, e)
    True

    References
    ----------
    Gretton, Herbrich, Smola, Bousquet & Schölkopf, *Kernel methods for measuring independence*,
    JMLR 2005, who replace D by a bound that needs no grid; Bach & Jordan, *Kernel independent
    component analysis*, JMLR 2002 (the kernel generalised variance).
    """
    pair = Variables(X, Y, least=_LEAST)
    what = "the kernel mutual information"
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
