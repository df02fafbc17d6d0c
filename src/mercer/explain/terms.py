"""The function of a fitted model as a sum over the kernels that its kernel is made of."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Data, columns
from ..kernels.algebra.constant import Constant
from ..kernels.algebra.rescaled import Normalized
from ..kernels.algebra.sums import Product, Sum
from ..kernels.algebra.tfidf import TfIdf
from ..kernels.algebra.transforms import On
from ..kernels.base import Kernel
from ..rkhs.function import RKHSFunction


@dataclass
class Term:
    """sum_i coef_i e^scale_i k(points_i, .) for one kernel k, as part of a larger one.

    ``outer`` are the normalisations, columns and weights around it, from the outside in; ``scale``
    holds the logarithms of the factors of normalisations, which may be too small for a number.
    """

    kernel: Kernel
    points: Data
    coef: np.ndarray
    outer: tuple[Kernel, ...]
    scale: np.ndarray

    @property
    def scaled(self) -> np.ndarray:
        """The coefficients with the factors of normalisations."""
        return self.coef * np.exp(self.scale)

    def column_weights(self, phi: Any) -> tuple[np.ndarray, np.ndarray]:
        """The columns of the sparse features ``phi`` of the points, sorted, and their weights."""
        values = phi.data * np.repeat(self.scaled, np.diff(phi.indptr))
        columns, place = np.unique(phi.indices, return_inverse=True)
        sums = np.bincount(place, weights=values, minlength=len(columns))
        for idf in (k for k in self.outer if isinstance(k, TfIdf)):
            sums = sums * idf.weigh(columns) ** 2
        return columns, sums

    def seen(self, X: Data) -> tuple[Data, np.ndarray]:
        """What the kernel sees of samples, and log of the factors of normalisations around it."""
        scale = np.zeros(1)
        for outer in self.outer:
            if isinstance(outer, On):
                X = columns(X, outer.columns)
            elif isinstance(outer, Normalized):
                scale = scale + outer.log_factors(X)
        return X, scale


def function_of(model: Any, output: int) -> RKHSFunction:
    """The function of a model, without its intercept."""
    function = model if isinstance(model, RKHSFunction) else getattr(model, "rkhs_function_", None)
    if isinstance(function, list):  # a classifier by processes has a kernel for each class
        return function[output]
    if function is None:
        raise TypeError(
            f"model must be a fitted kernel model or an RKHSFunction, got a {type(model).__name__}."
        )
    return function if function.coef.ndim == 1 else function[output]


def by_column(f: RKHSFunction, column: Hashable, kinds: Any, what: str, known: str) -> list[Term]:
    """The terms of f that use one column of a table, or samples that are not tables.

    ``kinds`` are the classes of kernels that can be explained, ``known`` their names, and ``what``
    names their data. There must be some in that column, and no others; other columns do not
    matter.
    """
    found: dict[Any, list[Term]] = {}
    for term in terms_of(f):
        names = [outer.columns for outer in term.outer if isinstance(outer, On)]
        found.setdefault(_hashable(names[-1]) if names else None, []).append(term)
    good = {
        name: terms
        for name, terms in found.items()
        if any(isinstance(term.kernel, kinds) for term in terms)
    }
    if column is not None and column not in good:
        held = ", ".join(map(repr, good))
        raise ValueError(f"no kernel on {what} uses the column {column!r}; they use {held}.")
    if column is None and len(good) > 1:
        raise ValueError(
            f"the kernel uses {what} in several columns ({', '.join(map(repr, good))}); choose "
            "one: column=..."
        )
    chosen = good[column] if column is not None else next(iter(good.values()), [])
    if not chosen or not all(isinstance(term.kernel, kinds) for term in chosen):
        raise TypeError(
            f"{f.kernel!r} is not made of {known} by sums, multiples and normalisation, so its "
            "functions are not sums over parts of a sample."
        )
    return chosen


def look_up(columns: np.ndarray, weights: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The weights of some codes; 0 for those that are none of the columns."""
    if not len(columns):
        return np.zeros(codes.shape)
    at = np.minimum(np.searchsorted(columns, codes), len(columns) - 1)
    return np.where(columns[at] == codes, weights[at], 0.0)


def _hashable(name: Any) -> Hashable:
    return name if isinstance(name, Hashable) and not isinstance(name, slice) else str(name)


def terms_of(f: RKHSFunction) -> Iterator[Term]:
    """f as a sum, as far as its kernel is made by sums, multiples, columns and normalisation.

    Constants are left out; products of kernels and everything else are terms of their own.
    """
    return _split(f.kernel, f.points, f.coef)


def _split(
    kernel: Kernel,
    points: Data,
    coef: np.ndarray,
    outer: tuple[Kernel, ...] = (),
    scale: np.ndarray | float = 0.0,
) -> Iterator[Term]:
    if isinstance(kernel, Sum):
        yield from _split(kernel.left, points, coef, outer, scale)
        yield from _split(kernel.right, points, coef, outer, scale)
    elif isinstance(kernel, Product) and isinstance(kernel.left, Constant):
        yield from _split(kernel.right, points, kernel.left.value * coef, outer, scale)
    elif isinstance(kernel, Product) and isinstance(kernel.right, Constant):
        yield from _split(kernel.left, points, kernel.right.value * coef, outer, scale)
    elif isinstance(kernel, Normalized):
        scale = scale + kernel.log_factors(points)
        yield from _split(kernel.kernel, points, coef, (*outer, kernel), scale)
    elif isinstance(kernel, On):
        seen = columns(points, kernel.columns)
        yield from _split(kernel.kernel, seen, coef, (*outer, kernel), scale)
    elif isinstance(kernel, TfIdf):
        yield from _split(kernel.kernel, points, coef, (*outer, kernel), scale)
    elif not isinstance(kernel, Constant):
        yield Term(kernel, points, coef, outer, np.broadcast_to(scale, len(coef)))
