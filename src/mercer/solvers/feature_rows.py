"""Features, dense or sparse, for solvers that go through them row by row, or all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..gram.tiles import run, slices
from . import coordinate_loops as loops

_GROUPS = 8  # independent accumulators of a product with Phi', whatever the number of threads
_STRIP = 2000  # rows of a product that are one job
_LARGEST = 1e18  # of numbers whose squares single precision holds


class FeatureRows(ABC):
    """Phi, of which loops visit rows, and products with it in double precision.

    Parameters
    ----------
    phi : array or sparse matrix
        In single precision they stay so; everything else becomes double.
    workers : int, optional
        Threads of the products.
    """

    def __init__(self, phi: Any, workers: int | None = None) -> None:
        self.phi: Any = self._stored(phi, np.float32 if phi.dtype == np.float32 else np.float64)
        self.workers = workers

    @classmethod
    def of(cls, phi: Any, workers: int | None = None) -> FeatureRows:
        """The rows of an array or a sparse matrix."""
        return (SparseRows if sp.issparse(phi) else DenseRows)(phi, workers)

    @property
    def shape(self) -> tuple[int, int]:
        return self.phi.shape

    @property
    def double(self) -> bool:
        return self.phi.dtype == np.float64

    @property
    @abstractmethod
    def values(self) -> np.ndarray:
        """All numbers that are stored."""

    def rounded(self, squares: np.ndarray) -> FeatureRows:
        """The same in single precision; unchanged where rows are too long for that."""
        if not self.double or not squares.max(initial=0.0) < _LARGEST**2:
            return self
        return type(self)(self._single(), self.workers)

    def _single(self) -> Any:
        return self.phi.astype(np.float32)

    def squares(self) -> np.ndarray:
        """k(x, x) of each row; rejected where it is not finite."""
        out = np.empty(self.shape[0])
        run(lambda at: self._squares(out, at.start, at.stop), self._strips(), self.workers)
        if not np.isfinite(out).all():
            raise ValueError(
                "features are not finite, or so large that their squares are not; scale the data."
            )
        return out

    def scores(self, w: np.ndarray) -> np.ndarray:
        """Phi w."""
        out = np.empty(self.shape[0])
        run(lambda at: self._scores(w, out, at.start, at.stop), self._strips(), self.workers)
        return out

    def combine(self, beta: np.ndarray) -> np.ndarray:
        """Phi' beta; what is added to what does not depend on the number of threads."""
        n, m = self.shape
        parts = np.zeros((_GROUPS, m))
        ends = np.linspace(0, n, _GROUPS + 1).astype(int)
        run(
            lambda j: self._combine(beta, parts[j], ends[j], ends[j + 1]),
            range(_GROUPS),
            self.workers,
        )
        return parts.sum(axis=0)

    def _strips(self) -> list[slice]:
        return list(slices(self.shape[0], _STRIP))

    @abstractmethod
    def _stored(self, phi: Any, dtype: Any) -> Any:
        """Phi in the form for compiled loops."""

    @abstractmethod
    def locate(self, table: np.ndarray) -> None:
        """Write where rows begin and end, for loops that have to know."""

    @abstractmethod
    def sweep(self, order: np.ndarray, table: np.ndarray, *args: Any) -> int:
        """Visit variables, see :func:`~mercer.solvers.coordinate_loops.sweep_dense`."""

    _squares: Callable[..., None]
    _scores: Callable[..., None]
    _combine: Callable[..., None]


class DenseRows(FeatureRows):
    """Rows of an array."""

    def _stored(self, phi: Any, dtype: Any) -> np.ndarray:
        return np.ascontiguousarray(phi, dtype)

    @property
    def values(self) -> np.ndarray:
        return self.phi

    def _single(self) -> np.ndarray:
        out = np.empty(self.shape, np.float32)

        def strip(at: slice) -> None:
            out[at] = self.phi[at]

        run(strip, self._strips(), self.workers)
        return out

    def locate(self, table: np.ndarray) -> None:
        """Row i of an array is its row i."""

    def sweep(self, order: np.ndarray, table: np.ndarray, *args: Any) -> int:
        return int(loops.sweep_dense(self.phi, order, table, *args))

    def _squares(self, *args: Any) -> None:
        loops.squares_dense(self.phi, *args)

    def _scores(self, *args: Any) -> None:
        loops.scores_dense(self.phi, *args)

    def _combine(self, *args: Any) -> None:
        loops.combine_dense(self.phi, *args)


class SparseRows(FeatureRows):
    """Rows of a CSR matrix."""

    def _stored(self, phi: Any, dtype: Any) -> Any:
        found = sp.csr_matrix(phi, dtype=dtype)
        # unsigned: numba looks at each signed index for whether it counts from the end
        wide = found.indices.dtype.itemsize
        self._columns = found.indices.view(np.uint32 if wide == 4 else np.uint64)
        return found

    @property
    def values(self) -> np.ndarray:
        return self.phi.data

    def locate(self, table: np.ndarray) -> None:
        table[:, loops.START], table[:, loops.STOP] = self.phi.indptr[:-1], self.phi.indptr[1:]

    def sweep(self, order: np.ndarray, table: np.ndarray, *args: Any) -> int:
        return int(loops.sweep_sparse(self.phi.data, self._columns, order, table, *args))

    def _squares(self, *args: Any) -> None:
        loops.squares_sparse(self.phi.data, self.phi.indptr, *args)

    def _scores(self, *args: Any) -> None:
        loops.scores_sparse(self.phi.data, self._columns, self.phi.indptr, *args)

    def _combine(self, *args: Any) -> None:
        loops.combine_sparse(self.phi.data, self._columns, self.phi.indptr, *args)
