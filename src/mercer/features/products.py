"""Feature maps of sums and products, from those of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..mixing import scatter

MAX_COLUMNS = 2**62  # of a sparse feature map: columns are int64 codes
MAX_DENSE = 10**6  # of a dense one


def khatri_rao(A: Any, B: Any) -> Any:
    """Row by row Kronecker product: features of a product from those of its factors."""
    if not (sp.issparse(A) or sp.issparse(B)):
        return np.einsum("ij,ik->ijk", A, B).reshape(len(A), -1)
    A, B = sp.csr_matrix(A), sp.csr_matrix(B)
    indptr, i, j = _pairs(A, B)
    columns = A.indices[i].astype(np.int64) * B.shape[1] + B.indices[j]
    return _csr(A.data[i] * B.data[j], columns, indptr, (A.shape[0], A.shape[1] * B.shape[1]))


def hashed_product(A: sp.csr_matrix, B: sp.csr_matrix) -> sp.csr_matrix:
    """:func:`khatri_rao` of maps with very many columns, whose pairs are hashed to 57 bits."""
    indptr, i, j = _pairs(A, B)
    columns = scatter(scatter(A.indices[i].astype(np.uint64)) ^ B.indices[j].astype(np.uint64))
    columns = (columns >> np.uint64(7)).astype(np.int64)
    return _csr(A.data[i] * B.data[j], columns, indptr, (A.shape[0], 2**57))


def _pairs(A: sp.csr_matrix, B: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where the rows of the product begin, and for its entries those of A and of B."""
    rows_a, rows_b = np.diff(A.indptr), np.diff(B.indptr)
    counts = rows_a.astype(np.int64) * rows_b
    indptr = np.concatenate([[0], np.cumsum(counts)])
    row = np.repeat(np.arange(A.shape[0]), counts)
    place = np.arange(indptr[-1]) - indptr[row]
    return indptr, A.indptr[row] + place // rows_b[row], B.indptr[row] + place % rows_b[row]


def side_by_side(A: sp.csr_matrix, B: sp.csr_matrix) -> sp.csr_matrix:
    """scipy's hstack, without its conversion of indices to int32 in between."""
    na, nb = np.diff(A.indptr), np.diff(B.indptr)
    indptr = np.concatenate([[0], np.cumsum(na + nb)]).astype(np.int64)
    columns, values = np.empty(indptr[-1], np.int64), np.empty(indptr[-1])
    at_a = np.repeat(indptr[:-1] - A.indptr[:-1], na) + np.arange(A.nnz)
    at_b = np.repeat(indptr[:-1] + na - B.indptr[:-1], nb) + np.arange(B.nnz)
    columns[at_a], values[at_a] = A.indices, A.data
    columns[at_b], values[at_b] = B.indices.astype(np.int64) + A.shape[1], B.data
    return _csr(values, columns, indptr, (A.shape[0], A.shape[1] + B.shape[1]))


def _csr(values: Any, columns: Any, indptr: Any, shape: tuple[int, int]) -> sp.csr_matrix:
    matrix = sp.csr_matrix(shape, dtype=np.float64)
    matrix.data, matrix.indices, matrix.indptr = values, columns, indptr
    return matrix
