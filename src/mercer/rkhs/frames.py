"""Finite systems of elements of an RKHS, from which operators of finite rank are built."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..data import Data, length
from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..gram.tiles import TILE, row_means, run, slices
from ..kernels.base import Kernel, Tile
from ..ownership import owned
from .function import RKHSFunction, require_same_space


class Frame(ABC):
    """Elements F_1..F_r of H_k."""

    kernel: Kernel
    size: int

    @abstractmethod
    def along(self, f: RKHSFunction) -> np.ndarray:
        """The inner products [<F_i, f>]; shape (r,), or (r, T) for T functions."""

    @abstractmethod
    def combine(self, coef: np.ndarray) -> RKHSFunction:
        """The function sum_i coef_i F_i; T functions for coef of shape (r, T)."""

    @abstractmethod
    def products(self, other: Frame) -> Tile:
        """Blocks of the matrix [<F_i, G_j>] of inner products with another frame."""

    def magnitude(self) -> float:
        """The size of the numbers that products are differences of, for what is rounding in them.

        0 where products are what they are computed from.
        """
        return 0.0


class Family(Frame):
    """T functions that share their centres."""

    def __init__(self, functions: RKHSFunction) -> None:
        coef = functions.coef.reshape(len(functions.coef), -1)
        self.kernel, self.size = functions.kernel, coef.shape[1]
        self.functions = functions.with_coef(coef)

    def along(self, f: RKHSFunction) -> np.ndarray:
        return self.functions.inner(f)

    def combine(self, coef: np.ndarray) -> RKHSFunction:
        return self.functions.with_coef(self.functions.coef @ coef)

    def products(self, other: Frame) -> Tile:
        matrix = other.along(self.functions).T
        return lambda rows, cols: matrix[rows, cols]


class Features(Frame):
    """The features k(x_i, .) of a sample, or with ``center`` those minus their mean.

    Nothing of size n x n is stored: products are computed block by block.
    """

    def __init__(self, kernel: Kernel, X: Data, center: bool = False) -> None:
        if length(X) == 0:
            raise ValueError("a covariance needs at least one sample, but X has none.")
        self.kernel = kernel.resolve(X) if kernel.unresolved else kernel
        self.X, self.size, self.center = owned(X), length(X), center

    @cached_property
    def prepared(self) -> Data:
        """The sample, prepared for the kernel."""
        return self.kernel.prepare(self.X)

    def _centered(self, values: np.ndarray) -> np.ndarray:
        return values - values.mean(axis=0) if self.center else values

    def along(self, f: RKHSFunction) -> np.ndarray:
        require_same_space(self.kernel, f.kernel)
        return self._centered(f(self.X))

    def combine(self, coef: np.ndarray) -> RKHSFunction:
        return RKHSFunction(self.kernel, self.X, self._centered(coef))

    def products(self, other: Frame) -> Tile:
        if not isinstance(other, Features):
            transposed = other.products(self)
            return lambda rows, cols: transposed(cols, rows).T
        k, P, Q = self.kernel, self.prepared, other.prepared
        block = k.tiles(P, Q)
        if not (self.center or other.center):
            return block
        left = row_means(k, P, Q) if other.center else np.zeros(self.size)
        top = row_means(k, Q, P) if self.center else np.zeros(other.size)
        grand = left.mean() if self.center else 0.0
        return lambda rows, cols: block(rows, cols) - left[rows, None] - (top[cols] - grand)

    def magnitude(self) -> float:
        if not self.center:
            return 0.0
        return 4 * float(np.abs(self.kernel.diag(self.prepared)).max())  # a value and three means


def dense(F: Frame, G: Frame) -> np.ndarray:
    """The matrix [<F_i, G_j>] as an array."""
    matrix, block = np.empty((F.size, G.size)), F.products(G)

    def fill(at: tuple[slice, slice]) -> None:
        matrix[at] = block(*at)

    run(fill, [(r, c) for r in slices(F.size, TILE) for c in slices(G.size, TILE)])
    return matrix


def orthonormal(frames: Sequence[Frame]) -> tuple[np.ndarray, np.ndarray]:
    """An orthonormal basis b of the span of all frames: (coordinates Q, combinations S).

    Element i is sum_k Q[i, k] b_k, and b_k is the combination S[:, k] of the elements. Directions
    in which the span is flat to rounding are left out: all of them, if a sample is constant.
    """
    K = np.block([[dense(F, G) for G in frames] for F in frames])
    s, E = lapack(len(K), eigh, (K + K.T) / 2)
    largest = max(float(s[-1]), *(F.magnitude() for F in frames))
    kept = s > len(s) * np.finfo(float).eps * largest
    root = np.sqrt(s[kept])
    return E[:, kept] * root, E[:, kept] / root


def combine(frames: Sequence[Frame], coef: np.ndarray) -> RKHSFunction:
    """The functions sum_i coef_i F_i over the elements of all frames, in order."""
    ends = np.cumsum([F.size for F in frames])[:-1]
    parts: Any = [F.combine(c) for F, c in zip(frames, np.split(coef, ends), strict=True)]
    return sum(parts[1:], start=parts[0])
