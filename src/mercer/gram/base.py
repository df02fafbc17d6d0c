"""The Gram operator: a kernel matrix that may be stored, computed on the fly, or factorised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import Any

import numpy as np

from ..data import Data, Rows
from ..exceptions import not_finite

_STRIP = 1_000_000  # entries of a strip of rows, where it has at least 256 of them


class Gram(ABC):
    """A linear operator with provenance: it knows how it was made and how to meet new data.

    Only :meth:`block` is required of a subclass. ``rows`` and ``cols`` are slices or integer
    arrays.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    symmetric: bool = True
    limit: float = float("inf")  # bytes that a plan allows for K and what solvers make of it

    @abstractmethod
    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        """K[rows, cols] as an array."""

    def __matmul__(self, V: Any) -> np.ndarray:
        """K @ V for a vector or matrix V; the n x n matrix is never formed unless it is stored."""
        V = np.asarray(V)
        if V.shape[:1] != self.shape[1:]:
            raise ValueError(f"cannot multiply K of shape {self.shape} with V of shape {V.shape}.")
        product = self._matmul(V[:, None] if V.ndim == 1 else V)
        if not np.all(np.isfinite(product)) and np.all(np.isfinite(V)):
            raise not_finite(getattr(self, "kernel", self))
        return product[:, 0] if V.ndim == 1 else product

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        step = 512
        everything = slice(0, self.shape[1])
        starts = range(0, self.shape[0], step)
        return np.concatenate([self.block(slice(i, i + step), everything) @ V for i in starts])

    def diag(self) -> np.ndarray:
        """The diagonal of a square K."""
        step = 64
        blocks = [slice(i, min(i + step, len(self))) for i in range(0, len(self), step)]
        return np.concatenate([np.diagonal(self.block(b, b)) for b in blocks])

    def to_dense(self) -> np.ndarray:
        """K as an array (a fresh one, or the stored one: do not write into it)."""
        return self.block(slice(0, self.shape[0]), slice(0, self.shape[1]))

    def by_rows(self) -> list[slice]:
        """All rows in strips, of which no block with all columns is large."""
        size = max(_STRIP // max(self.shape[1], 1), 256)
        return [slice(i, min(i + size, len(self))) for i in range(0, len(self), size)]

    def consume(self) -> np.ndarray:
        """K as an array the caller may overwrite; a stored one is handed over, not copied."""
        return self.to_dense()

    def detached(self) -> Gram:
        """The same operator without the array it stores, for whoever consumes what others use.

        A fitted model may be asked by several threads at once: none of them may write into an
        array that another one reads.
        """
        return self

    def cross(self, X_new: Data) -> Gram:
        """The operator K(X_new, X) that belongs to this one: same kernel, same approximation."""
        raise TypeError(f"{type(self).__name__} does not know the data it came from.")

    @property
    def nbytes(self) -> int:
        """The memory the operator needs once it is in use."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def explain(self) -> str:
        """How K is stored, and what that costs."""
        return f"{type(self).__name__}: {self.shape[0]} x {self.shape[1]}, {self.dtype}"

    # ---- algebra -------------------------------------------------------------------------
    def center(self) -> Gram:
        """H K H with H = I - 11'/n: the Gram matrix of centred features."""
        from .algebra import CenteredGram

        return CenteredGram(self)

    def shift(self, value: float | np.ndarray) -> Gram:
        """K + value * I, or K + diag(value)."""
        from .algebra import ShiftedGram

        return ShiftedGram(self, value)

    def __add__(self, other: Any) -> Gram:
        from .algebra import SumGram

        return SumGram([self, other], [1.0, 1.0]) if isinstance(other, Gram) else NotImplemented

    def __mul__(self, weight: Any) -> Gram:
        from .algebra import SumGram

        return SumGram([self], [float(weight)]) if isinstance(weight, Real) else NotImplemented

    __rmul__ = __mul__

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return self.explain()
