"""Features that share a lengthscale: how much they differ, and one for each instead."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, as_vectors, columns
from ..exceptions import DomainError
from ..kernels.algebra.transforms import On, Pullback
from ..kernels.base import Kernel
from ..kernels.vectors.radial import Radial


def per_feature(kernel: Kernel, X: Data) -> Kernel:
    """The kernel with a lengthscale for each feature wherever it has one for several.

    They are in proportion to the spread of the features, and leave the mean squared distance of
    the samples as it was.
    """
    if isinstance(kernel, Radial):
        spread = _spread_of_shared(kernel, X)
        if spread is None:
            return kernel
        varies = spread > 0
        size = np.sqrt(np.mean(spread[varies] ** 2)) if varies.any() else 1.0
        scales = kernel.lengthscale * np.where(varies, spread / size, 1.0)
        return kernel.replace(lengthscale=scales)
    return kernel.replace(**{name: per_feature(part, Z) for name, part, Z in _parts(kernel, X)})


def disparity(kernel: Kernel, X: Data) -> float:
    """How often the smallest spread of features with one lengthscale goes into the largest."""
    if isinstance(kernel, Radial):
        spread = None
        with suppress(DomainError):  # a kernel on points of a bag, say, sees no features here
            spread = _spread_of_shared(kernel, X)
        varying = () if spread is None else spread[spread > 0]
        return float(max(varying) / min(varying)) if len(varying) else 1.0
    return max((disparity(part, Z) for _, part, Z in _parts(kernel, X)), default=1.0)


def _parts(kernel: Kernel, X: Data) -> Iterator[tuple[str, Kernel, Data]]:
    """The kernels that a kernel is made of, by name, with the data that they see."""
    if isinstance(kernel, On):
        X = columns(X, kernel.columns)
    if isinstance(kernel, Pullback):
        X = kernel.map(X)
    for name, value in kernel.get_params(deep=False).items():
        if isinstance(value, Kernel):
            yield name, value, X


def _spread_of_shared(kernel: Radial, X: Data) -> np.ndarray | None:
    """Standard deviations of the features; None unless several share the lengthscale."""
    V: Any = as_vectors(X, type(kernel).__name__)
    if np.ndim(kernel.lengthscale) or V.shape[1] == 1:
        return None
    return spreads(V)


def spreads(V: Any) -> np.ndarray:
    """Standard deviations of columns, dense or sparse; 0, and no rounding error, of constants."""
    mean = np.ravel(V.mean(axis=0, dtype=float))
    if sp.issparse(V):
        present = V.tocsc(copy=True)
        counts = np.diff(present.indptr)
        present.data = (present.data - np.repeat(mean, counts)) ** 2
        squares = np.ravel(present.sum(axis=0)) + (V.shape[0] - counts) * mean**2
        most, least = (np.ravel(m.toarray()) for m in (V.max(axis=0), V.min(axis=0)))
    else:
        squares = np.sum((V - mean) ** 2, axis=0, dtype=float)
        most, least = V.max(axis=0), V.min(axis=0)
    return np.where(most > least, np.sqrt(squares / V.shape[0]), 0.0)
