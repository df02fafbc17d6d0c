"""Matrices of M features as solvers use them, wherever they are: factors, and what is factorised.

Vectors of M numbers are arrays; what has M x M numbers may be an array, or on a device.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from ..engine.lapack import lapack, side
from ..engine.routines import solve_cholesky, solve_lower

_JITTER = 1e-14  # of the trace, if there is no factor; a hundred times as much if there is none yet

Solve = Callable[[np.ndarray], np.ndarray]


class Factor(ABC):
    """L, lower triangular, with k(Z, Z) = L L': the features of x are L^-1 k(Z, x)."""

    @abstractmethod
    def solve(self, B: np.ndarray, transposed: bool = False) -> np.ndarray:
        """L^-1 B, or L'^-1 B."""

    def of(self, dtype: Any) -> Factor:
        """In another precision, if it can have one."""
        return self


class HostFactor(Factor):
    """As an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def solve(self, B: np.ndarray, transposed: bool = False) -> np.ndarray:
        rows = side(len(self.array), *B.shape)
        return lapack(rows, solve_lower, self.array, B, transposed=transposed)

    def of(self, dtype: Any) -> HostFactor:
        """In another precision."""
        return HostFactor(self.array.astype(dtype, copy=False))


class Curvatures(ABC):
    """A = Phi' H Phi: symmetric, positive semi-definite; the last feature may be a constant."""

    @abstractmethod
    def factor(self, penalty: np.ndarray, place: int) -> Solve:
        """R -> (A + diag(penalty))^-1 R, with as little more on the diagonal as that needs.

        ``penalty`` is one number for all features but the last one. On a device there is room for
        few factors: one that was made in the same ``place`` before is made again when it is used.
        """


class HostCurvatures(Curvatures):
    """As an array."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def factor(self, penalty: np.ndarray, place: int) -> Solve:
        A, jitter = self.array, 0.0
        trace = max(float(np.trace(A)), np.finfo(float).tiny)
        while True:
            B = A.copy()
            B.flat[:: len(B) + 1] += penalty + jitter
            try:
                L = lapack(len(B), np.linalg.cholesky, B)
            except np.linalg.LinAlgError:
                if not jitter <= trace:
                    raise
                jitter = max(100 * jitter, _JITTER * trace)
            else:
                return lambda R: lapack(len(R), solve_cholesky, L, R)
