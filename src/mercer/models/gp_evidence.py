"""The evidence of a Gaussian process of several outputs, and where a search for it begins."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data
from ..engine.memory import require_memory
from ..exceptions import NumericalWarning, warn
from ..kernels.algebra.constant import Constant
from ..kernels.algebra.sums import Product, Sum
from ..kernels.base import Kernel
from ..search.estimated import estimates, slopes_of
from ..solvers import criteria
from ..solvers.iterative import rank_for
from ..solvers.pivoted import pivoted_cholesky
from ..solvers.quadrature import Draws
from ..solvers.weight_space import by_products, with_noise

_FAR = 100.0  # a factor between the mean square of y and the variance of the process


def evidences(K: np.ndarray, Y: np.ndarray, noise: np.ndarray) -> list[criteria.Criterion]:
    """The evidence of all outputs, or of each if these have separate noise."""
    outputs = [Y] if noise.shape[1] == 1 else [y[:, None] for y in Y.T]
    matrices = with_noise(K, noise)
    return [criteria.evidence(A, y) for A, y in zip(matrices, outputs, strict=True)]


def joint_evidence(K: np.ndarray, targets: np.ndarray) -> criteria.Criterion:
    """The evidence of outputs with one column of noise for each."""
    return criteria.total(evidences(K, *np.split(targets, 2, axis=1)))


def likelihood(gram: Any, kernel: Kernel, Y: np.ndarray, noise: np.ndarray, slope: bool) -> Any:
    """log p(Y), with its derivatives by theta and by the logarithm of a factor of the noise.

    Estimated, always from the same random numbers, where K is not to be stored.
    """
    n = len(gram)
    parts: list[Any]
    if by_products(gram):
        rank = rank_for(n, gram.limit)
        pivots = pivoted_cholesky(gram, rank=rank, rng=0).pivots
        draws = Draws.of(n, len(pivots), np.random.default_rng(1))
        parts = estimates(gram, Y, noise, pivots, draws)
    else:
        require_memory(16.0 * n * n, f"the likelihood of {n} samples", gram.limit)
        K = np.ascontiguousarray(gram.consume(), dtype=np.float64)
        parts = evidences(K, Y, noise)
    found = criteria.total(parts)
    if not slope:
        return -found.value
    by_noise = sum(float(d @ part.diagonal) for d, part in zip(noise.T, parts, strict=True))
    slopes = slopes_of(gram, kernel, gram.X, parts)
    return -found.value, -np.append(slopes, by_noise)


def near(kernel: Kernel, X: Data, square: float, fixed: tuple[str, ...]) -> Kernel:
    """The kernel, with weights multiplied if they are far from the scale of y.

    A search that begins at a process much smaller than y takes all for noise, and stays there.
    """
    own = float(np.mean(kernel.diag(kernel.prepare(X)), dtype=float))
    if own <= 0 or own / _FAR <= square <= own * _FAR or any(n.endswith("value") for n in fixed):
        return kernel
    scaled = rescaled(kernel, square / own)
    if scaled is kernel and square > own:
        warn(
            f"the mean square of y is {square:.2g}, but the kernel has variance {own:.2g} and no "
            "weight, so f stays small; add a weight (1 * kernel), or use normalize_y=True.",
            NumericalWarning,
        )
    return scaled


def rescaled(kernel: Kernel, factor: float) -> Kernel:
    """The kernel times a factor, taken up by the weights of its summands where they have one."""
    if isinstance(kernel, Constant):
        return kernel.replace(value=kernel.value * factor)
    if isinstance(kernel, Sum):
        left, right = rescaled(kernel.left, factor), rescaled(kernel.right, factor)
        return kernel.replace(left=left, right=right)
    if isinstance(kernel, Product):
        side = "right" if isinstance(kernel.right, Constant) else "left"
        return kernel.replace(**{side: rescaled(getattr(kernel, side), factor)})
    return kernel
