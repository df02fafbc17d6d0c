"""Several variables observed together: one kernel each, from its own data, and centred tiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, evenly, length, take
from ..gram.base import Gram
from ..gram.plan import LEAN, Plan
from ..gram.tiles import TILE, slices, symmetric_sum
from ..kernels.base import Kernel
from ..kernels.notation.named import as_kernel
from ..kernels.vectors.radial import Gaussian
from .bank import not_finite
from .samples import explicit, from_mean, plain

_SAME = 32  # roundings: what differs by no more of them is the same
_FEATURES = 2**22  # entries of features of the variables multiplied at once
_PROBE = 200  # samples on which the size of a kernel is judged


class Variables:
    """Observations of two or more variables: entry i of each belongs to the same subject.

    Attributes
    ----------
    data : tuple of data
        The variables.
    n : int
        The number of observations.

    Examples
    --------
    >>> from mercer.stats.variables import Variables
    >>> pair = Variables([0.0, 1.0, 2.0, 3.0], ["a", "b", "b", "a"])
    >>> pair.n, len(pair)
    (4, 2)
    """

    def __init__(self, *variables: Data, least: int = 2) -> None:
        if len(variables) < 2:
            raise ValueError(f"at least two variables are needed, got {len(variables)}.")
        variables = tuple(plain(v, f"variable {place}") for place, v in enumerate(variables))
        sizes = [length(variable) for variable in variables]
        if len(set(sizes)) > 1:
            listed = ", ".join(map(str, sizes))
            raise ValueError(f"variables must have the same number of observations, got {listed}.")
        if sizes[0] < least:
            raise ValueError(f"at least {least} observations are needed, got {sizes[0]}.")
        self.data, self.n = variables, sizes[0]

    def __len__(self) -> int:
        return len(self.data)

    def kernel(self, place: int, kernel: Any = None) -> Kernel:
        """A kernel of one variable, its parameters from the data of that variable alone."""
        k = as_kernel(Gaussian("median") if kernel is None else kernel, self.data[place])
        return k.resolve(self.data[place])

    def kernels(self, kernels: Any = None) -> list[Kernel]:
        """One kernel for each variable, from one for all or a list."""
        given = self.each(kernels)
        return [self.kernel(place, kernel) for place, kernel in enumerate(given)]

    def each(self, kernels: Any = None) -> Sequence[Any]:
        """The value for each variable: the entries of a list, or the same for all."""
        if not isinstance(kernels, list | tuple):
            return [kernels] * len(self)
        if len(kernels) != len(self):
            raise ValueError(
                f"kernels must hold one entry for each of the {len(self)} variables, got "
                f"{len(kernels)}."
            )
        return kernels

    def from_means(self, kernels: list[list[Kernel]]) -> tuple[Variables, list[list[Kernel]]]:
        """Variables with one kernel each and of the same HSIC (:func:`from_mean`)."""
        pairs = [from_mean(k, X) for (k,), X in zip(kernels, self.data, strict=True)]
        return Variables(*(X for _, X in pairs)), [[k] for k, _ in pairs]

    def grams(
        self, kernels: Any = None, plan: Plan | None = None, *, moved: bool = True
    ) -> list[Gram]:
        """The Gram operator of each variable, not stored unless the plan says so.

        If ``moved``, for statistics of centred operators, relative to an origin in the middle of
        the features.
        """
        pairs = list(zip(self.kernels(kernels), self.data, strict=True))
        if moved:
            pairs = [from_mean(kernel, X) for kernel, X in pairs]
        return [kernel.gram(X, plan or LEAN) for kernel, X in pairs]


def cross_sum(K: Gram, L: Gram) -> float:
    """sum_ij K_ij L_ij of two centred operators of one size, tile by tile or from features."""
    left, right = (_features(gram) for gram in (K, L))
    if left is not None and right is not None:
        n = len(left)
        step = max(1, _FEATURES // (left.shape[1] + right.shape[1]))
        product: Any = sum(left[at].T @ right[at] for at in slices(n, step))
        return float(np.sum(np.square(product)))

    def tile(rows: slice, cols: slice) -> float:
        A = K.block(rows, cols).astype(np.float64, copy=False)
        return float(np.vdot(A, A if L is K else L.block(rows, cols)))

    return symmetric_sum(len(K), tile)


def is_constant(kernel: Kernel, X: Data) -> bool:
    """Are all samples the same for the kernel, up to rounding?

    Dense features are compared directly: small differences of large numbers, such as time stamps,
    are lost in products, but not in the numbers themselves.
    """
    first = kernel.prepare(take(X, slice(0, 1)))
    by_features = dense_features(kernel, X) or explicit(kernel, X)
    origin: Any = kernel.features(first) if by_features else None
    norm = float(kernel.diag(first)[0])
    for part in slices(length(X), TILE):
        P = kernel.prepare(take(X, part))
        if origin is not None:
            phi: Any = kernel.features(P)
            apart, size, rounding = np.abs(phi - origin), np.abs(phi), phi.dtype
        else:
            own = np.asarray(kernel.diag(P))
            block = kernel.pairwise(P, first)
            apart = np.abs(own.astype(np.float64) + norm - 2 * block[:, 0])
            size, rounding = np.abs(own), block.dtype
        if not np.all(np.isfinite(size)):
            raise not_finite(repr(kernel))
        if np.any(apart > _SAME * np.finfo(rounding).eps * size.max()):
            return False
    return True


def in_unit(kernel: Kernel, X: Data) -> tuple[Kernel, Data]:
    """A kernel and data with the same centred kernel matrix, but for a factor: values about 1.

    Products of several kernel values are then finite, whatever the units of the kernel.
    """
    moved, Z = from_mean(kernel, X)
    if moved is not kernel:
        return moved, Z / (float(np.abs(Z).max()) or 1.0)
    size = float(np.abs(kernel.diag(kernel.prepare(X))).max())
    if not np.isfinite(size):
        raise not_finite(repr(kernel))
    return 2.0 ** -float(np.frexp(size)[1]) * kernel, X


def about_one(kernel: Kernel, X: Data, factors: int) -> Kernel:
    """The kernel, divided by a power of two if products of its values would overflow or underflow.

    That changes no p-value. ``factors`` is the number of factors in products.
    """
    largest = 10.0 ** (280 / factors)
    n = length(X)
    some = take(X, evenly(n, _PROBE))
    with np.errstate(over="ignore"):
        size = float(np.abs(kernel.diag(kernel.prepare(some))).max(initial=0.0))
    if size == 0 or not np.isfinite(size) or 1 / largest < size < largest:
        return kernel
    return 2.0 ** float(min(-np.frexp(size)[1], 1000)) * kernel


def too_few_to_vary(n: int) -> ValueError:
    """The error of an alignment whose denominator is not known to be positive."""
    return ValueError(
        f"{n} observations are too few to estimate how much the variables vary under their "
        f"kernels; use more observations, or wider kernels."
    )


def require_spread(kernel: Kernel, X: Data, what: str, null: str) -> None:
    """Reject a null distribution that would be fitted to rounding errors."""
    if is_constant(kernel, X):
        raise ValueError(
            f'{what} constant for {kernel!r}, so null="{null}" has nothing to fit; '
            'null="permutation" gives 1.'
        )


def dense_features(kernel: Kernel, X: Data) -> bool:
    """Has the kernel a finite feature map, dense and of fewer columns than there are samples?"""
    first = kernel.prepare(take(X, slice(0, 1)))
    count = kernel.n_features(first)
    return count is not None and 4 * count <= length(X) and not sp.issparse(kernel.features(first))


def _features(gram: Gram) -> np.ndarray | None:
    """Centred features of a centred low-rank operator, if they are dense."""
    inner = getattr(gram, "inner", None)
    if inner is None or inner.features is None or sp.issparse(inner.features):
        return None
    phi = np.asarray(inner.features, dtype=np.float64)
    return phi - phi.mean(axis=0)
