"""Constants as kernels, and other operands of operators."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...data import Data, length
from ...exceptions import NotAKernelError
from ...params import nonnegative
from ..base import Kernel, Tile
from ..calculus import properties as prop
from ..calculus.domains import EVERYTHING
from ..formula_nodes import Number
from ..operators import NEGATIVE


def as_operand(other: Any) -> Kernel | None:
    """A kernel as it is, a non-negative number as a constant kernel, else None."""
    if isinstance(other, Kernel):
        return other
    if isinstance(other, Real) and not isinstance(other, bool):
        if float(other) < 0:
            raise NotAKernelError(NEGATIVE.format(other))
        return Constant(other)  # type: ignore[arg-type]
    return None


def is_kernel(value: Any) -> str | None:
    """What a parameter should have been; None if it is a kernel."""
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
    domain = EVERYTHING

    def prepare(self, X: Data) -> np.ndarray:
        return np.empty((length(super().prepare(X)), 0), np.float32)

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        return np.full((len(X), len(Y)), self.value, dtype=np.float64)

    def diag(self, X: Data) -> np.ndarray:
        return np.full(len(X), self.value, dtype=np.float64)

    def formula(self, X: Data) -> Number:
        return Number(float(self.value))

    def log_tiles(self, X: Data, Y: Data) -> Tile:
        log = 0.0 if self.value else -np.inf
        return lambda rows, cols: np.full((len(X[rows]), len(Y[cols])), log)

    def log_diag(self, X: Data) -> np.ndarray:
        return np.full(len(X), 0.0 if self.value else -np.inf)

    def log_offsets(self, X: Data) -> np.ndarray:
        return np.full(len(X), np.log(self.value) / 2 if self.value else 0.0)

    def grad_log_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))

    def grad_log_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))

    def grad_log_offsets(self, X: Data, w: np.ndarray) -> np.ndarray:
        return np.array([np.sum(w) / 2]) if self.value else np.zeros(0)

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


def number(constant: Constant, symbol: str) -> str:
    """A constant as the number it was written as; ``k + 0`` would read back as ``k``."""
    value = float(constant.value)
    short = f"{value:g}"
    if value == 0 and symbol == "+":
        return repr(constant)
    return short if float(short) == value else repr(value)
