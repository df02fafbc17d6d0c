"""Sums, products and powers of kernels: the closure rules that are written as operators."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..data import Data, Zipped, length, take
from ..exceptions import NotAKernelError
from ..features.products import MAX_COLUMNS, MAX_DENSE, khatri_rao, side_by_side
from ..params import integer, nonnegative, parameter
from . import properties as prop
from .base import _NEGATIVE, Kernel, Tile
from .domains import EVERYTHING, Domain


def as_operand(other: Any) -> Kernel | None:
    """A kernel as it is, a non-negative number as a constant kernel, else None."""
    if isinstance(other, Kernel):
        return other
    if isinstance(other, Real) and not isinstance(other, bool):
        if float(other) < 0:
            raise NotAKernelError(_NEGATIVE.format(other))
        return Constant(other)  # type: ignore[arg-type]
    return None


def _is_kernel(value: Any) -> str | None:
    return None if isinstance(value, Kernel) else "a kernel"


@dataclass(eq=False, repr=False)
class Constant(Kernel):
    """k(x, y) = c, the kernel of the constant functions.

    Written as a number in an expression: ``Gaussian() + 1`` is ``Gaussian() + Constant(1)`` and
    ``2 * Gaussian()`` is ``Constant(2) * Gaussian()``.

    Parameters
    ----------
    value : float
        The constant c >= 0.

    Examples
    --------
    >>> from mercer import Constant, Linear
    >>> (Linear() + 1)([[1.0], [2.0]])
    array([[2., 3.],
           [3., 5.]])
    """

    value: float = nonnegative(1.0)
    because = "c = <sqrt(c), sqrt(c)>"

    def prepare(self, X: Data) -> np.ndarray:
        return np.empty((length(super().prepare(X)), 0), np.float32)

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        return np.full((len(X), len(Y)), self.value, dtype=np.float64)

    def diag(self, X: Data) -> np.ndarray:
        return np.full(len(X), self.value, dtype=np.float64)

    def features(self, X: Data) -> np.ndarray:
        return np.full((len(X), 1), np.sqrt(self.value))

    def n_features(self, X: Data) -> int:
        return 1

    def grad_input(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        return np.zeros((len(X), 1))

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        return self.grad_theta_diag(X, np.sum(W, axis=1))

    def grad_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return np.array([self.value * np.sum(w)]) if self.value else np.zeros(0)

    @property
    def domain(self) -> Domain:
        return EVERYTHING

    @property
    def properties(self) -> prop.Properties:
        base = self._stated(
            bounded=prop.yes("constant"),
            analytic=prop.yes("constant"),
            stationary=prop.yes("constant"),
            strictly_pd=prop.no("constant: two points already have a singular Gram matrix"),
            universal=prop.no("H_k holds constant functions only"),
            characteristic=prop.no("every distribution has the same embedding"),
            finite_dim=prop.yes("dimension 1"),
            positive_diag=prop.yes("c > 0"),
        )
        return prop.of_scaled(base, self.value)


@dataclass(eq=False, repr=False)
class Binary(Kernel):
    """What sums and products share: two kernels on the same samples."""

    left: Kernel = parameter(check=_is_kernel)
    right: Kernel = parameter(check=_is_kernel)

    symbol: ClassVar[str] = ""
    combine: ClassVar[np.ufunc]

    def prepare(self, X: Data) -> Zipped:
        return Zipped(self.left.prepare(X), self.right.prepare(X))

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        everything = slice(None)
        return self.tiles(X, Y)(everything, everything)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        (xl, xr), (yl, yr) = self._sides(X), self._sides(Y)
        left, right, combine = self.left, self.right, self.combine
        if isinstance(right, Constant) and not isinstance(left, Constant):
            a, value = left.tiles(xl, yl), right.value
            return lambda rows, cols: _into(combine, a(rows, cols), value)
        b = right.tiles(xr, yr)
        if isinstance(left, Constant):
            value = left.value
            return lambda rows, cols: _into(combine, b(rows, cols), value)
        a = left.tiles(xl, yl)
        return lambda rows, cols: _into(combine, a(rows, cols), b(rows, cols))

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
            shown[0] = _number(left, self.symbol)
        elif isinstance(right, Constant):
            shown[1] = _number(right, self.symbol)
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
    combine = np.add

    def diag(self, X: Zipped) -> np.ndarray:
        left, right = self._sides(X)
        return self.left.diag(left) + self.right.diag(right)

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
    combine = np.multiply

    def diag(self, X: Zipped) -> np.ndarray:
        left, right = self._sides(X)
        return self.left.diag(left) * self.right.diag(right)

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


@dataclass(eq=False, repr=False)
class Power(Kernel):
    """k(x, y)^p for an integer p >= 1: a repeated product.

    Parameters
    ----------
    base : Kernel
        The kernel k.
    exponent : int
        The integer p; written ``base ** p``.

    Examples
    --------
    >>> from mercer import Linear
    >>> (Linear() + 1) ** 2
    (Linear() + 1) ** 2
    """

    base: Kernel = parameter(check=_is_kernel)
    exponent: int = integer(2, low=1)
    because = "an integer power is a repeated product of kernels"
    binding = 3

    def prepare(self, X: Data) -> Data:
        return self.base.prepare(X)

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        return _power(self.base.pairwise(X, Y), self.exponent)

    def tiles(self, X: Data, Y: Data) -> Tile:
        base = self.base.tiles(X, Y)
        return lambda rows, cols: _power(base(rows, cols), self.exponent)

    def diag(self, X: Data) -> np.ndarray:
        return self.base.diag(X) ** self.exponent

    def features(self, X: Data) -> Any | None:
        if self.n_features(X) is None:
            return None
        phi = self.base.features(X)
        return reduce(khatri_rao, [phi] * self.exponent)

    def n_features(self, X: Data) -> int | None:
        count = self.base.n_features(X)
        total = None if count is None else count**self.exponent
        return total if total is not None and total <= MAX_DENSE else None

    def grad_input(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        p = self.exponent
        return self.base.grad_input(X, Y, W * p * self.base.pairwise(X, Y) ** (p - 1))

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        p = self.exponent
        return self.base.grad_theta(X, Y, W * p * self.base.pairwise(X, Y) ** (p - 1))

    def grad_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        p = self.exponent
        return self.base.grad_theta_diag(X, w * p * self.base.diag(X) ** (p - 1))

    @property
    def domain(self) -> Domain:
        return self.base.domain

    @property
    def properties(self) -> prop.Properties:
        return prop.of_power(self.base.properties, self.exponent)

    def __repr__(self) -> str:
        return f"{self.base._wrapped(self.binding + 1)} ** {self.exponent}"


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


def _number(constant: Constant, symbol: str) -> str:
    """A constant as the number it was written as; ``k + 0`` would read back as ``k``."""
    value = float(constant.value)
    short = f"{value:g}"
    if value == 0 and symbol == "+":
        return repr(constant)
    return short if float(short) == value else repr(value)


# ---- blocks -------------------------------------------------------------------------------
def _into(combine: np.ufunc, block: np.ndarray, other: Any) -> np.ndarray:
    """combine(block, other), reusing the memory of the block where the type allows."""
    keeps = isinstance(other, Real) or np.result_type(block, other) == block.dtype
    return combine(block, other, out=block if keeps else None)


def _times(W: np.ndarray, kernel: Kernel, X: Data, Y: Data) -> np.ndarray:
    """W times the block of a kernel, entry by entry."""
    if isinstance(kernel, Constant):
        return W * kernel.value
    return _into(np.multiply, kernel.pairwise(X, Y), W)


def _power(block: np.ndarray, exponent: int) -> np.ndarray:
    """Integer power by repeated squaring."""
    result = None
    while True:
        if exponent & 1:
            result = block if result is None else np.multiply(result, block, out=result)
        exponent >>= 1
        if not exponent:
            assert result is not None
            return result
        block = np.multiply(block, block, out=None if result is block else block)
