"""Radial expressions: kernels under which every centre pulls along the line that leads to it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data import Data
from ..kernels.algebra.constant import Constant
from ..kernels.algebra.power import Power
from ..kernels.algebra.sums import Binary, Product, Sum
from ..kernels.base import Kernel
from ..kernels.vectors.distances import SquaredDistances
from ..kernels.vectors.radial import Radial

_CUSP = 1e-12  # r^2 below which an infinite slope is taken to be that at this r^2


def is_radial(kernel: Kernel) -> bool:
    """Is k(x, y) a function of Euclidean distances ||x - y|| of one common metric?

    Sums, products and powers of such kernels, and of constants, are.
    """
    parts = [leaf for leaf in _leaves(kernel) if not isinstance(leaf, Constant)]
    if not parts or not all(isinstance(k, Radial) and getattr(k, "p", 2) == 2 for k in parts):
        return False
    scales = [np.ravel(k.lengthscale) for k in parts]  # type: ignore[attr-defined]
    return all(len(s) == 1 for s in scales) or all(np.array_equal(s, scales[0]) for s in scales)


def attraction(kernel: Kernel, X: Data, Y: Data) -> tuple[np.ndarray, np.ndarray]:
    """[k(x_i, y_j)] and weights A with dk(x_i, y_j)/dx_i = A_ij M (y_j - x_i), of prepared X, Y.

    M is the common metric: diag(1 / l^2) for an array of lengthscales l, otherwise the identity.
    """
    if isinstance(kernel, Constant):
        K = kernel.pairwise(X, Y)
        return K, np.zeros_like(K)
    if isinstance(kernel, Power):
        K, A = attraction(kernel.base, X, Y)
        lower = K ** (kernel.exponent - 1)
        return lower * K, kernel.exponent * lower * A
    if isinstance(kernel, Binary):
        (K, A), (L, B) = (
            attraction(side, x, y)
            for side, x, y in zip((kernel.left, kernel.right), X.parts, Y.parts, strict=True)
        )
        return (K + L, A + B) if isinstance(kernel, Sum) else (K * L, K * B + L * A)
    assert isinstance(kernel, Radial)
    R2 = SquaredDistances(X, Y, exact=kernel.kinked)(slice(None), slice(None))
    if kernel.cusped:
        np.maximum(R2, _CUSP, out=R2)
    A = kernel.slope(R2)
    A *= -2 if np.size(kernel.lengthscale) > 1 else -2 / float(np.ravel(kernel.lengthscale)[0]) ** 2
    R2 *= kernel.stretch
    return kernel.profile(R2), A


def _leaves(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, Sum | Product):
        yield from _leaves(kernel.left)
        yield from _leaves(kernel.right)
    elif isinstance(kernel, Power):
        yield from _leaves(kernel.base)
    else:
        yield kernel
