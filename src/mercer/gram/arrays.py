"""Where the vectors of iterations are stored: on the device of their operator.

A solver written for these few functions, operators (``+ * @``) and slices runs on arrays of NumPy,
and on tensors of a device (:class:`~mercer.gram.device.arrays.DeviceArrays`) whose operator
computes there: nothing of the size of the data is moved between two products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.lapack import lapack, side
from ..engine.routines import eigh, solve_lower


class Arrays:
    """Arrays of NumPy, in double precision."""

    def put(self, array: Any) -> Any:
        """An array, there."""
        return np.asarray(array, dtype=np.float64)

    def get(self, array: Any) -> np.ndarray:
        """What is there, as an array."""
        return np.asarray(array)

    def zeros(self, *shape: int) -> Any:
        """Zeros of a shape."""
        return np.zeros(shape)

    def dots(self, A: Any, B: Any) -> np.ndarray:
        """The inner product of each column of A with that of B, as an array of NumPy."""
        return np.einsum("ij,ij->j", A, B)

    def sums(self, A: Any, B: Any) -> np.ndarray:
        """The inner product of each row of A with that of B, as an array of NumPy."""
        return np.einsum("ij,ij->i", A, B)

    def largest(self, A: Any, count: int) -> np.ndarray:
        """Where the largest entries of each column are, in no order, shape (count, columns)."""
        rows = np.ascontiguousarray(A.T)
        return np.stack([np.argpartition(row, len(row) - count)[-count:] for row in rows], axis=1)

    def beside(self, *parts: Any) -> Any:
        """Matrices side by side."""
        return np.hstack(parts)

    def shifted(self, A: Any, value: float) -> Any:
        """A square matrix plus a multiple of the identity, in its memory."""
        A.flat[:: len(A) + 1] += value
        return A

    def cholesky(self, A: Any) -> Any:
        """The lower triangular factor of a positive definite matrix."""
        return lapack(len(A), np.linalg.cholesky, A)

    def eigh(self, A: Any, k: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The k largest eigenvalues, by default all, in ascending order, and eigenvectors.

        As arrays of NumPy, of a symmetric matrix that is overwritten.
        """
        return lapack(len(A), eigh, A.T, k, overwrite=True)

    def solve_lower(self, L: Any, B: Any) -> Any:
        """L^-1 B for a lower triangular L."""
        return lapack(side(*B.shape, len(L)), solve_lower, L, B)

    def product(self, gram: Any, V: Any) -> Any:
        """K V."""
        return gram @ V

    def columns(self, gram: Any, index: np.ndarray) -> Any:
        """Columns of K."""
        return gram.block(np.arange(len(gram)), index).astype(np.float64, copy=False)


HOST_ARRAYS = Arrays()
