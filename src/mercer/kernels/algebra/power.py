"""Powers of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ...data import Data
from ...features.products import MAX_DENSE, khatri_rao
from ...params import integer, parameter
from ..base import Kernel, Tile
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..formula import Formula
from ..formula_nodes import Raised, combined, power
from .constant import is_kernel


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

    base: Kernel = parameter(check=is_kernel)
    exponent: int = integer(2, low=1)
    because = "an integer power is a repeated product of kernels"
    binding = 3

    def prepare(self, X: Data) -> Data:
        return self.base.prepare(X)

    def pairwise(self, X: Data, Y: Data) -> np.ndarray:
        return power(self.base.pairwise(X, Y), self.exponent)

    def tiles(self, X: Data, Y: Data) -> Tile:
        base = self.base.tiles(X, Y)
        return lambda rows, cols: power(base(rows, cols), self.exponent)

    def diag(self, X: Data) -> np.ndarray:
        return self.base.diag(X) ** self.exponent

    def formula(self, X: Data) -> Formula | None:
        return combined(lambda base: Raised(base, self.exponent), self.base.formula(X))

    def log_tiles(self, X: Data, Y: Data) -> Tile | None:
        base = self.base.log_tiles(X, Y)
        return None if base is None else lambda rows, cols: base(rows, cols) * self.exponent

    def log_diag(self, X: Data) -> np.ndarray | None:
        logs = self.base.log_diag(X)
        return None if logs is None else logs * self.exponent

    def log_offsets(self, X: Data) -> np.ndarray:
        return self.base.log_offsets(X) * self.exponent

    def grad_log_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        return self.base.grad_log_theta(X, Y, W) * self.exponent

    def grad_log_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return self.base.grad_log_theta_diag(X, w) * self.exponent

    def grad_log_offsets(self, X: Data, w: np.ndarray) -> np.ndarray:
        return self.base.grad_log_offsets(X, w) * self.exponent

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
