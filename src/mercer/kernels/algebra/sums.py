"""Sums and products of kernels: the closure rules that are written as operators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...data import Data, Zipped, take
from ...features.products import MAX_COLUMNS, MAX_DENSE, khatri_rao, side_by_side
from ...params import parameter
from ..base import Kernel, Tile, Tiled, no_gradient
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..formula import Formula
from ..formula_nodes import Plus, Times, combined, into
from .constant import Constant, is_kernel, number


@dataclass(eq=False, repr=False)
class Binary(Tiled):
    """What sums and products share: two kernels on the same samples."""

    left: Kernel = parameter(check=is_kernel)
    right: Kernel = parameter(check=is_kernel)

    symbol: ClassVar[str] = ""
    combine: ClassVar[np.ufunc]
    node: ClassVar[Any]  # of formulas

    def prepare(self, X: Data) -> Zipped:
        return Zipped(self.left.prepare(X), self.right.prepare(X))

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        left, right, combine = self.left, self.right, self.combine
        if isinstance(right, Constant) and not isinstance(left, Constant):
            a, value = left.tiles(xl, yl), right.value
            return lambda rows, cols: into(combine, a(rows, cols), value)
        b = right.tiles(xr, yr)
        if isinstance(left, Constant):
            value = left.value
            return lambda rows, cols: into(combine, b(rows, cols), value)
        a = left.tiles(xl, yl)
        return lambda rows, cols: into(combine, a(rows, cols), b(rows, cols))

    def diag(self, X: Zipped) -> np.ndarray:
        left, right = self._sides(X)
        return self.combine(self.left.diag(left), self.right.diag(right))

    def formula(self, X: Zipped) -> Formula | None:
        left, right = self._sides(X)
        return combined(self.node, self.left.formula(left), self.right.formula(right))

    def _log_tiles(self, X: Zipped, Y: Zipped) -> tuple[Tile, Tile] | None:
        """Those of both kernels, if both have logarithms."""
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        a = self.left.log_tiles(xl, yl)
        b = None if a is None else self.right.log_tiles(xr, yr)
        return None if a is None or b is None else (a, b)

    def _log_diags(self, X: Zipped) -> tuple[np.ndarray, np.ndarray] | None:
        left, right = self._sides(X)
        a = self.left.log_diag(left)
        b = None if a is None else self.right.log_diag(right)
        return None if a is None or b is None else (a, b)

    def _log_offsets(self, X: Zipped) -> tuple[np.ndarray, np.ndarray]:
        left, right = self._sides(X)
        return self.left.log_offsets(left), self.right.log_offsets(right)

    def features_pay(self, X: Zipped) -> bool:
        left, right = self._sides(X)
        return self.n_features(X) is not None and (
            self.left.features_pay(left) and self.right.features_pay(right)
        )

    @property
    def domain(self) -> Domain:
        return self.properties.domain

    def _sides(self, X: Zipped) -> tuple[Data, Data]:
        return X.parts[0], X.parts[1]

    def __repr__(self) -> str:
        left, right = self.left, self.right
        shown = [left._wrapped(self.binding), right._wrapped(self.binding + 1)]
        if isinstance(left, Constant) and not isinstance(right, Constant):
            shown[0] = number(left, self.symbol)
        elif isinstance(right, Constant):
            shown[1] = number(right, self.symbol)
        return f"{shown[0]} {self.symbol} {shown[1]}"


@dataclass(eq=False, repr=False)
class Sum(Binary):
    """k1(x, y) + k2(x, y): features side by side.

    Parameters
    ----------
    left, right : Kernel
        The summands; written ``left + right``.

    Examples
    --------
    >>> from mercer import Gaussian, Linear
    >>> Gaussian() + Linear() + 1
    Gaussian() + Linear() + 1
    """

    because = "a sum of kernels is a kernel (stack the feature maps)"
    binding = 1
    symbol = "+"
    combine, node = np.add, Plus

    def log_tiles(self, X: Zipped, Y: Zipped) -> Tile | None:
        """The offset is the larger one: logarithms of each kernel are shifted to it, then added."""
        tiles = self._log_tiles(X, Y)
        if tiles is None:
            return None
        (a, b), x, y = tiles, self._shifts(X), self._shifts(Y)

        def tile(rows: Any, cols: Any) -> np.ndarray:
            shifts = [left[rows, None] + right[cols] for left, right in zip(x, y, strict=True)]
            return np.logaddexp(*_shifted([a(rows, cols), b(rows, cols)], shifts))

        return tile

    def log_diag(self, X: Zipped) -> np.ndarray | None:
        logs = self._log_diags(X)
        return None if logs is None else np.logaddexp(*_shifted(logs, self._shifts(X, 2)))

    def log_offsets(self, X: Zipped) -> np.ndarray:
        return np.maximum(*self._log_offsets(X))

    def _shifts(self, X: Zipped, times: int = 1) -> list[np.ndarray]:
        """Each offset minus the larger one; 0 for the larger one, even if it is infinite."""
        a, b = self._log_offsets(X)
        with np.errstate(invalid="ignore"):
            return [np.where(a >= b, 0.0, times * (a - b)), np.where(b >= a, 0.0, times * (b - a))]

    def grad_log_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        tiles = self._log_tiles(X, Y)
        if tiles is None:
            raise no_gradient(self)
        every, x, y = slice(None), self._shifts(X), self._shifts(Y)
        shifts = [left[:, None] + right for left, right in zip(x, y, strict=True)]
        V = _shares(W, *_shifted([tile(every, every) for tile in tiles], shifts))
        parts = []
        for side, kernel in enumerate((self.left, self.right)):
            P, Q, mine, others = X.parts[side], Y.parts[side], V[side], V[1 - side]
            rows = np.where(x[side], mine.sum(axis=1), -others.sum(axis=1))
            cols = np.where(y[side], mine.sum(axis=0), -others.sum(axis=0))
            moved = kernel.grad_log_offsets(P, rows) + kernel.grad_log_offsets(Q, cols)
            parts.append(kernel.grad_log_theta(P, Q, mine) + moved)
        return np.concatenate(parts)

    def grad_log_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        logs = self._log_diags(X)
        if logs is None:
            raise no_gradient(self)
        shifts = self._shifts(X, 2)
        v, parts = _shares(w, *_shifted(logs, shifts)), []
        for side, kernel in enumerate((self.left, self.right)):
            x, moved = X.parts[side], np.where(shifts[side], v[side], -v[1 - side])
            parts.append(
                kernel.grad_log_theta_diag(x, v[side]) + 2 * kernel.grad_log_offsets(x, moved)
            )
        return np.concatenate(parts)

    def grad_log_offsets(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        (left, right), (by_left, by_right) = self._sides(X), self._shifts(X)
        return np.append(
            self.left.grad_log_offsets(left, np.where(by_left, 0, w)),
            self.right.grad_log_offsets(right, np.where(by_right, 0, w)),
        )

    def features(self, X: Zipped) -> Any | None:
        left, right = self._sides(X)
        a = self.left.features(left)
        b = None if a is None else self.right.features(right)
        if a is None or b is None:
            return None
        if sp.issparse(a) or sp.issparse(b):
            if a.shape[1] + b.shape[1] > MAX_COLUMNS:
                return None
            return side_by_side(sp.csr_matrix(a), sp.csr_matrix(b))
        return np.hstack([a, b])

    def n_features(self, X: Zipped) -> int | None:
        counts = [k.n_features(x) for k, x in zip((self.left, self.right), X.parts, strict=True)]
        total = None if None in counts else sum(c for c in counts if c is not None)
        return total if total is not None and total <= MAX_COLUMNS else None

    def grad_input(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        return self.left.grad_input(xl, yl, W) + self.right.grad_input(xr, yr, W)

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        return np.append(self.left.grad_theta(xl, yl, W), self.right.grad_theta(xr, yr, W))

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        left, right = self._sides(X)
        return np.append(self.left.grad_theta_diag(left, w), self.right.grad_theta_diag(right, w))

    @property
    def properties(self) -> prop.Properties:
        return prop.of_sum(self.left.properties, self.right.properties)


@dataclass(eq=False, repr=False)
class Product(Binary):
    """k1(x, y) * k2(x, y): tensor product of the features, and scalar multiples.

    Parameters
    ----------
    left, right : Kernel
        The factors; written ``left * right``.

    Examples
    --------
    >>> from mercer import Gaussian, Linear
    >>> 2 * (Gaussian() + 1) * Linear()
    2 * (Gaussian() + 1) * Linear()
    """

    because = "a product of kernels is a kernel (Schur; multiply the features pair by pair)"
    binding = 2
    symbol = "*"
    combine, node = np.multiply, Times

    def log_tiles(self, X: Zipped, Y: Zipped) -> Tile | None:
        tiles = self._log_tiles(X, Y)
        if tiles is None:
            return None
        a, b = tiles
        return lambda rows, cols: into(np.add, a(rows, cols), b(rows, cols))

    def log_diag(self, X: Zipped) -> np.ndarray | None:
        logs = self._log_diags(X)
        return None if logs is None else logs[0] + logs[1]

    def log_offsets(self, X: Zipped) -> np.ndarray:
        return np.add(*self._log_offsets(X))

    def grad_log_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        return np.append(self.left.grad_log_theta(xl, yl, W), self.right.grad_log_theta(xr, yr, W))

    def grad_log_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        left, right = self._sides(X)
        return np.append(
            self.left.grad_log_theta_diag(left, w), self.right.grad_log_theta_diag(right, w)
        )

    def grad_log_offsets(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        left, right = self._sides(X)
        return np.append(self.left.grad_log_offsets(left, w), self.right.grad_log_offsets(right, w))

    def features(self, X: Zipped) -> Any | None:
        if self.n_features(X) is None:
            return None
        left, right = self._sides(X)
        return khatri_rao(self.left.features(left), self.right.features(right))

    def n_features(self, X: Zipped) -> int | None:
        a, b = (k.n_features(x) for k, x in zip((self.left, self.right), X.parts, strict=True))
        if a is None or b is None:
            return None
        if a * b <= MAX_DENSE:
            return a * b
        # A sparse map times a few columns stays sparse; rows of other products may get long.
        wide, x = (self.left, X.parts[0]) if a > b else (self.right, X.parts[1])
        short = min(a, b) <= 100 and a * b <= MAX_COLUMNS
        return a * b if short and sp.issparse(wide.features(take(x, slice(0, 1)))) else None

    def grad_input(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        return self.left.grad_input(xl, yl, W * self.right.pairwise(xr, yr)) + (
            self.right.grad_input(xr, yr, W * self.left.pairwise(xl, yl))
        )

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        left = right = np.zeros(0)
        if isinstance(self.left, Constant) and self.left.hyperparameters() and self.left.value:
            total, right = self.right.weighed(xr, yr, W * self.left.value)
            return np.append(total, right)  # the derivative by log c of c k is c k
        if self.left.hyperparameters():
            left = self.left.grad_theta(xl, yl, _times(W, self.right, xr, yr))
        if self.right.hyperparameters():
            right = self.right.grad_theta(xr, yr, _times(W, self.left, xl, yl))
        return np.append(left, right)

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        left, right = self._sides(X)
        return np.append(
            self.left.grad_theta_diag(left, w * self.right.diag(right)),
            self.right.grad_theta_diag(right, w * self.left.diag(left)),
        )

    @property
    def properties(self) -> prop.Properties:
        if isinstance(self.left, Constant):
            return prop.of_scaled(self.right.properties, self.left.value)
        if isinstance(self.right, Constant):
            return prop.of_scaled(self.left.properties, self.right.value)
        if self.left == self.right:
            return prop.of_power(self.left.properties, 2)
        return prop.of_product(self.left.properties, self.right.properties)


def tensor(*kernels: Kernel) -> Kernel:
    """k1(x1, y1) * ... * kM(xM, yM) on samples that are tuples (x1, ..., xM).

    Examples
    --------
    >>> from mercer import Gaussian, Spectrum, tensor
    >>> tensor(Gaussian(), Spectrum(2))
    Gaussian().on(0) * Spectrum(k=2).on(1)
    """
    return reduce(Product, [k.on(i) for i, k in enumerate(kernels)])


def direct_sum(*kernels: Kernel) -> Kernel:
    """k1(x1, y1) + ... + kM(xM, yM) on samples that are tuples (x1, ..., xM).

    Examples
    --------
    >>> from mercer import Gaussian, Spectrum, direct_sum
    >>> direct_sum(Gaussian(), Spectrum(2))
    Gaussian().on(0) + Spectrum(k=2).on(1)
    """
    return reduce(Sum, [k.on(i) for i, k in enumerate(kernels)])


# ---- blocks -------------------------------------------------------------------------------
def _shifted(logs: Iterable[np.ndarray], shifts: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Each of the logarithms plus its shift, in the precision of the finer ones."""
    logs = list(logs)
    dtype = np.result_type(*logs)
    return [log + by.astype(dtype) for log, by in zip(logs, shifts, strict=True)]


def _shares(W: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[np.ndarray]:
    """W times the share of e^a in e^a + e^b, and times that of e^b; 0 where both are 0."""
    total = np.logaddexp(a, b)
    total = np.where(total > -np.inf, total, 0)
    return [W * np.exp(log - total) for log in (a, b)]


def _times(W: np.ndarray, kernel: Kernel, X: Data, Y: Data) -> np.ndarray:
    """W times the block of a kernel, entry by entry."""
    if isinstance(kernel, Constant):
        return W * kernel.value
    return into(np.multiply, kernel.pairwise(X, Y), W)
