r"""How dependent variables are, as smooth functions of a rotation: contrasts of kernel ICA.

Each variable is seen through features of one number, :math:`\Phi = k(z, g)\, M` for points g of a
grid, whose products are the kernel seen through these landmarks. With the covariances C_ij of the
features of variables i and j, the contrasts are

* ``"hsic"``: :math:`\sum_{i<j} \|C_{ij}\|^2`, the sum of all HSIC,
* ``"kgv"``: :math:`\tfrac12 (\sum_i \log\det(C_{ii} + \kappa I) - \log\det(C + \kappa I))`, the
  kernel generalised variance, which is the mutual information of normal variables with these
  covariances,
* ``"kcca"``: :math:`-\tfrac12 \log \lambda`, with the smallest lambda for which :math:`(C + \kappa
  I) v = \lambda (D + \kappa I) v` and D the blocks C_ii: from the largest canonical correlation.

All are 0 for independent variables and positive otherwise, and their slopes are those of C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..kernels.base import Kernel

_RANK = 1e-5  # eigenvalues of the grid, as a part of the largest one, from which features are made
_REACH, _POINTS = 5.0, 41  # the grid, in standard deviations


class Features:
    """Features of numbers, and what slopes along them mean for the numbers."""

    def __init__(self, kernel: Kernel) -> None:
        grid = np.linspace(-_REACH, _REACH, _POINTS)[:, None]
        self.kernel, self.grid = kernel, kernel.prepare(grid)
        values, vectors = np.linalg.eigh(kernel.pairwise(self.grid, self.grid))
        kept = values > _RANK * values[-1]
        self.M = vectors[:, kept] / np.sqrt(values[kept])

    @property
    def rank(self) -> int:
        return self.M.shape[1]

    def __call__(self, z: np.ndarray) -> np.ndarray:
        return self.kernel.pairwise(self.kernel.prepare(z[:, None]), self.grid) @ self.M

    def pulled(self, z: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Slopes along z from those along its features."""
        weights = slopes @ self.M.T
        return self.kernel.grad_input(self.kernel.prepare(z[:, None]), self.grid, weights)[:, 0]


def hsic(C: np.ndarray, r: int, kappa: float) -> tuple[float, np.ndarray]:
    """The sum of squares outside the blocks, and its slope along C."""
    outside = C.copy()
    for block in _blocks(len(C), r):
        outside[block, block] = 0.0
    return float(np.sum(outside**2)) / 2, outside


def generalised_variance(C: np.ndarray, r: int, kappa: float) -> tuple[float, np.ndarray]:
    """Half the logarithm of det(D + kappa I) / det(C + kappa I), and its slope along C."""
    value, slope = _logdet(C, kappa)
    value, slope = -value / 2, -slope / 2
    for block in _blocks(len(C), r):
        own, inverse = _logdet(C[block, block], kappa)
        value += own / 2
        slope[block, block] += inverse / 2
    return value, slope


def canonical(C: np.ndarray, r: int, kappa: float) -> tuple[float, np.ndarray]:
    """Minus half the logarithm of the smallest eigenvalue, and its slope along C."""
    D = np.zeros_like(C)
    for block in _blocks(len(C), r):
        D[block, block] = C[block, block]
    ridge = kappa * np.eye(len(C))
    values, vectors = sla.eigh(C + ridge, D + ridge, subset_by_index=[0, 0])
    lam, v = float(values[0]), vectors[:, 0]
    outer = np.outer(v, v)
    slope = outer.copy()
    for block in _blocks(len(C), r):
        slope[block, block] -= lam * outer[block, block]
    return -np.log(lam) / 2, -slope / (2 * lam)


CONTRASTS: dict[str, Callable[[np.ndarray, int, float], tuple[float, np.ndarray]]] = {
    "hsic": hsic,
    "kgv": generalised_variance,
    "kcca": canonical,
}


def contrast(
    Z: np.ndarray, weights: np.ndarray, features: Features, name: str, kappa: float
) -> tuple[float, np.ndarray]:
    """The contrast of the columns of Z, and its slopes along their entries.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.uniform(-1.7, 1.7, (500, 2))
    >>> turned = Z @ [[0.8, 0.6], [-0.6, 0.8]]
    >>> weights, phi = np.full(500, 1 / 500), Features(Gaussian(0.5))
    >>> contrast(Z, weights, phi, "hsic", 0.0)[0] < contrast(turned, weights, phi, "hsic", 0.0)[0]
    True
    """
    r = features.rank
    Phi = np.hstack([features(z) for z in Z.T])
    Phi -= weights @ Phi
    weighted = weights[:, None] * Phi
    value, slope = CONTRASTS[name](Phi.T @ weighted, r, kappa)
    along = 2 * weighted @ slope
    blocks = _blocks(len(slope), r)
    pairs = zip(Z.T, blocks, strict=True)
    return value, np.column_stack([features.pulled(z, along[:, block]) for z, block in pairs])


def _blocks(total: int, r: int) -> list[slice]:
    return [slice(i, i + r) for i in range(0, total, r)]


def _logdet(C: np.ndarray, kappa: float) -> tuple[float, np.ndarray]:
    factor: Any = sla.cho_factor(C + kappa * np.eye(len(C)), lower=True)
    return 2 * float(np.log(np.diag(factor[0])).sum()), sla.cho_solve(factor, np.eye(len(C)))
