"""Products of sparse feature maps: inverted lists for rare columns, BLAS for frequent ones.

A column that occurs in t of n samples costs t^2 additions by inverted lists (which samples hold
it, and how often) and n^2 multiplications in a dense product. Additions all over a block are
slower than a matrix product by a large factor, so each column goes where it is cheaper.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .sparse import common_columns

_SMALL = 128 * 128  # blocks up to this size are left to scipy: loading compiled code takes longer
_DENSE = 50.0  # how much longer an addition all over a block takes than one inside BLAS
_EXACT = 2.0**24  # whole numbers up to this are exact in single precision


def products(A: sp.csr_matrix, B: sp.csr_matrix) -> Any:
    """A function (rows, cols) -> A[rows] @ B[cols].T, a fresh array.

    A and B may have enormously many columns; rows and cols are slices or integer arrays.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from mercer.features.inverted import products
    >>> phi = sp.csr_matrix(([1.0, 2.0, 1.0], ([0, 0, 1], [3, 2**50, 3])), shape=(2, 2**56))
    >>> products(phi, phi)(slice(0, 2), slice(0, 1))
    array([[5.],
           [1.]])
    """
    if A.shape[0] * B.shape[0] > _SMALL:
        return Inverted(A, B).block
    small, other = common_columns(A, B)
    return lambda rows, cols: (small[rows] @ other[cols].T).toarray()


class Inverted:
    """Two sparse matrices, arranged so that blocks of A @ B.T are cheap.

    Columns that only one of them holds are left out.
    """

    def __init__(self, A: sp.csr_matrix, B: sp.csr_matrix) -> None:
        from .inverted_loops import invert, number, recall

        self.shape, self.dtype = (A.shape[0], B.shape[0]), np.result_type(A.dtype, B.dtype)
        same = A is B
        table, right = number(_indices(B))
        left = right if same else recall(_indices(A), table)
        width = int(right.max(initial=-1)) + 1
        pairs = _occurrences(left, width) * _occurrences(right, width)
        frequent = _DENSE * pairs >= self.shape[0] * self.shape[1]
        dtype = np.float32 if _whole(A) and _whole(B) else np.float64
        place, count = _places(frequent)
        self._left = _dense(A, place[left], count, dtype)
        self._right = self._left if same else _dense(B, place[right], count, dtype)
        place, count = _places(~frequent & (pairs > 0))
        self._rows = _kept(A, place[left])
        self._lists = invert(*(self._rows if same else _kept(B, place[right])), count)

    def block(self, rows: Any, cols: Any) -> np.ndarray:
        """A[rows] @ B[cols].T."""
        from .inverted_loops import add_products

        n, m = self.shape
        out = (self._left[rows] @ self._right[cols].T).astype(np.float64)
        rows, cols = np.arange(n)[rows], np.arange(m)[cols]
        if not out.size:
            return out.astype(self.dtype)
        first, stop, place = int(cols.min()), int(cols.max()) + 1, None
        if stop - first > len(cols) or np.any(np.diff(cols) != 1):
            distinct, back = np.unique(cols, return_inverse=True)
            if len(distinct) < len(cols):
                return self.block(rows, distinct)[:, back]
            place = np.full(stop - first, -1)
            place[cols - first] = np.arange(len(cols))
        add_products(out, rows, *self._rows, *self._lists, first, stop, place)
        return out.astype(self.dtype, copy=False)


def _indices(phi: sp.csr_matrix) -> np.ndarray:
    return phi.indices.astype(np.int64, copy=False)


def _occurrences(numbers: np.ndarray, width: int) -> np.ndarray:
    """In how many rows each column occurs; -1 stands for none."""
    return np.bincount(numbers + 1, minlength=width + 1)[1:].astype(np.float64)


def _places(chosen: np.ndarray) -> tuple[np.ndarray, int]:
    """0, 1, ... for the chosen columns and -1 for the others, that of number -1 among them."""
    place = np.full(len(chosen) + 1, -1, np.int64)
    count = int(chosen.sum())
    place[:-1][chosen] = np.arange(count)
    return place, count


def _dense(phi: sp.csr_matrix, place: np.ndarray, count: int, dtype: Any) -> np.ndarray:
    """The columns that have a place, as an array."""
    out = np.zeros((phi.shape[0], count), dtype)
    at = np.flatnonzero(place >= 0)
    row = np.repeat(np.arange(phi.shape[0]), np.diff(phi.indptr))
    out[row[at], place[at]] = phi.data[at]
    return out


def _kept(phi: sp.csr_matrix, place: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The columns that have a place: ends of the rows, columns, values."""
    kept = place >= 0
    ends = np.concatenate([[0], np.cumsum(kept)])[phi.indptr]
    return ends, place[kept].astype(np.int32), phi.data[kept]


def _whole(phi: sp.csr_matrix) -> bool:
    """Are the entries whole numbers, and their products exact in single precision?"""
    if not np.array_equal(phi.data, np.rint(phi.data)):
        return False
    row = np.repeat(np.arange(phi.shape[0]), np.diff(phi.indptr))
    return bool(np.bincount(row, weights=phi.data**2).max(initial=0) <= _EXACT)
