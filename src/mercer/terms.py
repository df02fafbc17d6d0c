"""The function of a fitted model as a sum over the kernels that its kernel is made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import Data, columns
from .kernels.algebra import Product, Sum
from .kernels.base import Kernel
from .kernels.constant import Constant
from .kernels.tfidf import TfIdf
from .kernels.transforms import Normalized, On
from .rkhs.function import RKHSFunction


@dataclass
class Term:
    """sum_i coef_i k(points_i, .) for one kernel k, as part of a larger one.

    ``outer`` are the normalisations, columns and weights around it, from the outside in.
    """

    kernel: Kernel
    points: Data
    coef: np.ndarray
    outer: tuple[Kernel, ...]

    def seen(self, X: Data) -> tuple[Data, np.ndarray]:
        """What the kernel sees of samples, and the factors of the normalisations around it."""
        scale = np.ones(1)
        for outer in self.outer:
            if isinstance(outer, On):
                X = columns(X, outer.columns)
            elif isinstance(outer, Normalized):
                scale = scale * outer.prepare(X).parts[1]
        return X, scale


def function_of(model: Any, output: int) -> RKHSFunction:
    """The function of a model, without its intercept."""
    if isinstance(model, RKHSFunction):
        function = model
    elif hasattr(model, "_functions"):  # a support vector machine keeps its support vectors
        function = RKHSFunction(model.kernel_, model.support_vectors_, model._functions().T)
    elif hasattr(model, "X_fit_"):
        function = RKHSFunction(model.kernel_, model.X_fit_, model.dual_coef_)
    else:
        raise TypeError(
            f"a fitted kernel model or an RKHSFunction is needed, got a {type(model).__name__}."
        )
    return function if function.coef.ndim == 1 else function[output]


def terms_of(f: RKHSFunction) -> Iterator[Term]:
    """f as a sum, as far as its kernel is made by sums, multiples, columns and normalisation.

    Constants are left out; products of kernels and everything else are terms of their own.
    """
    return _split(f.kernel, f.points, f.coef)


def _split(
    kernel: Kernel, points: Data, coef: np.ndarray, outer: tuple[Kernel, ...] = ()
) -> Iterator[Term]:
    if isinstance(kernel, Sum):
        yield from _split(kernel.left, points, coef, outer)
        yield from _split(kernel.right, points, coef, outer)
    elif isinstance(kernel, Product) and isinstance(kernel.left, Constant):
        yield from _split(kernel.right, points, kernel.left.value * coef, outer)
    elif isinstance(kernel, Product) and isinstance(kernel.right, Constant):
        yield from _split(kernel.left, points, kernel.right.value * coef, outer)
    elif isinstance(kernel, Normalized):
        scaled = coef * kernel.prepare(points).parts[1]
        yield from _split(kernel.kernel, points, scaled, (*outer, kernel))
    elif isinstance(kernel, On):
        seen = columns(points, kernel.columns)
        yield from _split(kernel.kernel, seen, coef, (*outer, kernel))
    elif isinstance(kernel, TfIdf):
        yield from _split(kernel.kernel, points, coef, (*outer, kernel))
    elif not isinstance(kernel, Constant):
        yield Term(kernel, points, coef, outer)
