"""Sparse feature maps with an enormous number of columns: hashed words, k-mers, subtrees.

Such a map is a CSR matrix whose columns are codes of up to 62 bits. Only columns that occur are
ever touched: nothing here, or in code that uses it, may transpose or convert an uncompressed
matrix, because that allocates one number per column.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import scipy.sparse as sp


def stable_codes(strings: Iterable[str | bytes], bits: int = 62) -> np.ndarray:
    """One int64 code in [0, 2^bits) per string, the same in every process and on every machine.

    Two of n distinct strings share a code with probability below n^2 / 2^(bits + 1).

    Examples
    --------
    >>> from mercer.features.sparse import stable_codes
    >>> stable_codes(["kernel", "method", "kernel"], bits=16)
    array([10047, 11215, 10047])
    """
    digests = b"".join(blake2b(_bytes(s), digest_size=8).digest() for s in strings)
    return (np.frombuffer(digests, dtype="<u8") >> np.uint64(64 - bits)).astype(np.int64)


def occurring(phi: sp.csr_matrix) -> np.ndarray:
    """The columns that have entries, in order.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from mercer.features.sparse import occurring
    >>> occurring(sp.csr_matrix([[0.0, 1.0, 0.0], [0.0, 2.0, 3.0]]))
    array([1, 2])
    """
    if _few(phi):
        return np.flatnonzero(np.bincount(phi.indices, minlength=phi.shape[1]))
    return np.unique(phi.indices)


def compress(phi: sp.csr_matrix, columns: np.ndarray) -> sp.csr_matrix:
    """The given (sorted) columns of a CSR matrix that may have an enormous number of them."""
    if _few(phi):  # a table is quicker than a search
        table = np.full(phi.shape[1], -1, phi.indices.dtype)
        there = columns[columns < phi.shape[1]]
        table[there] = np.arange(len(there))
        place = table[phi.indices]
        if len(there) and place.min(initial=0) >= 0:  # all of them, as in training
            shape = (phi.shape[0], len(columns))
            return sp.csr_matrix((phi.data.copy(), place, phi.indptr), shape=shape)
        known = place >= 0
    else:
        place = np.searchsorted(columns, phi.indices)
        place[place == len(columns)] = 0
        known = columns[place] == phi.indices if len(columns) else np.zeros(phi.nnz, bool)
    ends = np.concatenate([[0], np.cumsum(known)])[phi.indptr]
    shape = (phi.shape[0], max(len(columns), 1))
    return sp.csr_matrix((phi.data[known], place[known], ends), shape=shape)


def common_columns(A: sp.csr_matrix, B: sp.csr_matrix) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """A and B restricted to the columns that occur in both: A @ B.T is unchanged."""
    columns = occurring(A)
    if B is not A:
        columns = np.intersect1d(columns, occurring(B), assume_unique=True)
    small = compress(A, columns)
    return small, small if B is A else compress(B, columns)


def sparse_block(A: sp.csr_matrix, B: sp.csr_matrix) -> np.ndarray:
    """A @ B.T as a fresh dense array, for CSR matrices that may have enormously many columns."""
    A, B = common_columns(A, B)
    return (A @ B.T).toarray()


def _few(phi: sp.csr_matrix) -> bool:
    """Has a matrix no more columns than a table of them may have entries?"""
    return phi.shape[1] <= max(phi.nnz, 1000)


def _bytes(string: str | bytes) -> bytes:
    return string if isinstance(string, bytes) else string.encode("utf-8", "surrogatepass")
