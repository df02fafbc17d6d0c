"""Kernels on what can be taken apart: sums over all decompositions of two samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, as_samples, is_frame, join, length, take
from ...exceptions import DomainError
from ...features.labels import COLUMNS
from ...features.products import hashed_product
from ...frames import records
from ...params import parameter
from ..algebra.composed import Composed
from ..algebra.constant import is_kernel
from ..algebra.sums import Product, tensor
from ..algebra.transforms import On
from ..bags.stacked import Bags, stack
from ..bags.sums import SetSum
from ..base import Kernel
from ..calculus import properties as prop
from ..calculus.domains import ANY
from .decompositions import NAMED

_LOOKED_AT = 1000  # decompositions whose features tell how long those of all are
_LONGER = 2  # how many times as long as those of their factors features may be, to pay


@dataclass(eq=False, repr=False)
class DecompositionSum(SetSum):
    """A sum over pairs of decompositions, with features wherever all parts have some."""

    def point_features(self, points: Data) -> Any | None:
        if self.kernel.n_features(points) is not None:
            return self.kernel.features(points)
        maps = [kernel.features(part) for kernel, part in _factors(self.kernel, points)]
        if any(phi is None for phi in maps):
            return None
        return reduce(hashed_product, map(sp.csr_matrix, maps))

    def n_features(self, X: Bags) -> int | None:
        count = super().n_features(X)
        if count is not None or X.points is None:
            return count
        counts = [kernel.n_features(part) for kernel, part in _factors(self.kernel, X.points)]
        return None if None in counts else COLUMNS

    def features_pay(self, X: Bags) -> bool:
        """Not where the rows of a product get much longer than those of its factors."""
        if X.points is None or self.kernel.n_features(X.points) is not None:
            return super().features_pay(X)
        if self.n_features(X) is None:
            return False
        first = take(X.points, slice(0, _LOOKED_AT))
        parts = _factors(self.kernel, first)
        rows = [np.diff(sp.csr_matrix(kernel.features(part)).indptr) for kernel, part in parts]
        return bool(np.prod(rows, axis=0).sum() <= _LONGER * np.sum(rows))


def _factors(kernel: Kernel, X: Data) -> list[tuple[Kernel, Data]]:
    """The kernels that a product consists of, with what each has prepared."""
    if not isinstance(kernel, Product):
        return [(kernel, X)]
    sides = zip((kernel.left, kernel.right), X.parts, strict=True)
    return [factor for side, part in sides for factor in _factors(side, part)]


def _count(kernel: Kernel) -> int | None:
    """How many parts a product of kernels has, if each of them is on one part."""
    if isinstance(kernel, Product):
        left, right = _count(kernel.left), _count(kernel.right)
        return None if left is None or right is None else left + right
    return 1 if isinstance(kernel, On) and type(kernel.columns) is int else None


def _is_decomposition(value: Any) -> str | None:
    if callable(value) or (isinstance(value, str) and value in NAMED):
        return None
    return (
        f"a function from a sample to its decompositions, or one of {', '.join(map(repr, NAMED))}"
    )


@dataclass(eq=False, repr=False)
class Convolution(Composed):
    r"""Haussler's convolution: a sum over all decompositions of both samples.

    .. math:: k(x, y) = \sum_{(x_1, \ldots, x_D) \in R^{-1}(x)} \; \sum_{(y_1, \ldots, y_D) \in
              R^{-1}(y)} \; \prod_{d=1}^D k_d(x_d, y_d)

    :math:`R^{-1}(x)` lists all ways to decompose x into D parts; if there is none, k = 0.

    Parameters
    ----------
    decompose : callable or str
        From one sample to the list of its decompositions, each a tuple of D parts (or, if
        ``kernels`` is a single kernel, anything that it accepts). By name, of strings and other
        sequences: ``"items"`` and ``"pieces"`` (all x[i:j]) for a single kernel, ``"neighbours"``,
        ``"pairs"`` (each item with each later one) and ``"splits"`` (a beginning and the rest) for
        two, ``"contexts"`` (before, item, after) for three. Kernels with functions are not
        stored in files; those with names are.
    kernels : list of Kernel, or Kernel
        One kernel for each part. A list becomes the product of its kernels, each on its part:
        ``Convolution("splits", [a, b])`` is ``Convolution("splits", a.on(0) * b.on(1))``, so the
        parameters of the first of two kernels are ``kernels__left__kernel__...``.

    Examples
    --------
    >>> from mercer import Categorical, Convolution, Gaussian
    >>> Convolution("neighbours", [Categorical(), Categorical()])(["abab", "ab"])  # 2-mers
    array([[5., 2.],
           [2., 1.]])
    >>> def moves(path):  # (where, by how much), for each step
    ...     return [(a, b - a) for a, b in zip(path, path[1:])]
    >>> k = Convolution(moves, [Gaussian(2.0), Gaussian(0.5)])
    >>> k([[0.0, 1.0, 2.0], [0.0, 1.0, 0.0]]).round(3)
    array([[3.765, 1.883],
           [1.883, 2.001]])

    References
    ----------
    Haussler, *Convolution kernels on discrete structures*, UCSC-CRL-99-10, 1999.
    """

    decompose: str | Callable[[Any], Sequence[Any]] = parameter(check=_is_decomposition)
    kernels: Any = parameter(check=is_kernel)
    because = "an inner product of sums over decompositions of tensor products of features"

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "kernels" and isinstance(value, list | tuple):
            wrong = [k for k in value if is_kernel(k)]
            if wrong or not value:
                raise ValueError(
                    f"Convolution: kernels must hold one kernel for each part, got {value!r}."
                )
            value = tensor(*value)
        super().__setattr__(name, value)

    @property
    def form(self) -> Kernel:
        return DecompositionSum(self.kernels)

    def prepare(self, X: Data) -> Bags:
        return stack(self._decomposed(X), self.kernels.prepare)

    def resolve(self, X: Data) -> Kernel:
        filled = [parts for parts in self._decomposed(X) if parts]
        return replace(self, kernels=self.kernels.resolve(join(*filled))) if filled else self

    def _decomposed(self, X: Data) -> list[list[Any]]:
        """All decompositions of each sample."""
        X = as_samples(X, "Convolution")
        if length(X) == 0:
            raise DomainError("Convolution: X has no samples.")
        samples = records(X) if is_frame(X) else list(X)
        function = NAMED[self.decompose] if isinstance(self.decompose, str) else self.decompose
        return [self._parts(function, x, place) for place, x in enumerate(samples)]

    def _parts(self, function: Callable[[Any], Sequence[Any]], x: Any, place: int) -> list[Any]:
        if isinstance(self.decompose, str) and not hasattr(x, "__getitem__"):
            kind = type(x).__name__
            raise DomainError(
                f'Convolution: decompose="{self.decompose}" takes sequences apart, but sample '
                f"{place} is a {kind}; pass a function."
            )
        found = function(x)
        if isinstance(found, str | bytes | dict) or not hasattr(found, "__iter__"):
            raise ValueError(
                f"Convolution: decompose must return a list of decompositions, but for sample "
                f"{place} it is a {type(found).__name__}."
            )
        found, wanted = list(found), _count(self.kernels) or 1
        for parts in found:
            if wanted > 1 and isinstance(parts, tuple | list) and len(parts) != wanted:
                raise DomainError(
                    f"Convolution: sample {place} has a decomposition into {len(parts)} parts, "
                    f"but there are {wanted} kernels; there must be one for each part."
                )
        return found

    @property
    def properties(self) -> prop.Properties:
        p = self.kernels.properties
        few = prop.if_yes(p.finite_dim, "its functions are sums of those of the product")
        return prop.close(prop.Properties(ANY, psd=prop.psd_of(p), finite_dim=few))
