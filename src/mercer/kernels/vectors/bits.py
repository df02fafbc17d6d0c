"""Vectors with two values as bits: squared distances are numbers of bits that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._compiled import intrinsic, njit
from ...data import as_dense

_FIRST = 8  # rows that tell most other vectors apart
_WORD = 32  # bits
_ROWS = 1000  # of sparse vectors that are written out at a time
_FAR = 1e30  # more than any exponent needs, and finite in single precision, times any count
_MOST = 2048  # columns of sparse vectors that are written out


class DifferingBits:
    r"""exp(weight ||x_i - y_j||^2) in tiles, for vectors with entries of two values.

    With entries a and b, :math:`\|x - y\|^2 = (a - b)^2 \times` the number of entries in which x
    and y differ: an exclusive or and a count of bits, for 32 entries at a time.

    Parameters
    ----------
    X, Y : arrays or CSR matrices
        Vectors with no entries but these two.
    values : tuple of two floats
        The two.
    weight : float
        The factor of squared distances.

    Attributes
    ----------
    left, right : arrays of uint32, of shape (n, words)
        The entries as bits.
    unit : float
        What each bit that differs adds to the exponent.
    error, in_doubt : 0.0, False
        Counts are exact (see :class:`~mercer.kernels.vectors.distances.SquaredDistances`).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.vectors.bits import DifferingBits, two_values
    >>> X = np.array([[0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> bits = DifferingBits(X, X, two_values(X), -0.5)
    >>> bits.exp(slice(0, 2), slice(0, 2)).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """

    error, in_doubt = 0.0, False

    def __init__(self, X: Any, Y: Any, values: tuple[float, float], weight: float) -> None:
        low, high = values
        self.unit = max(weight * min(high - low, _FAR) ** 2, -_FAR)
        self.left = pack(X, high)
        self.right = self.left if Y is X else pack(Y, high)
        self._table = np.exp(self.unit * np.arange(X.shape[1] + 1))

    def exp(self, rows: Any, cols: Any) -> np.ndarray:
        """A tile of the kernel matrix."""
        return np.asarray(look_up(self._table, self.left[rows], self.right[cols]))


def two_values(*samples: Any) -> tuple[float, float] | None:
    """The two values of which all entries of vectors are, the lower one first; None if not so.

    Zeros that sparse vectors leave out count; those of very many columns are ignored.
    """
    found: set[float] = set()
    for X in samples:
        if sp.issparse(X):
            if X.shape[1] > _MOST:
                return None
            found |= {0.0, *_some_values(X.data)}
        else:
            found |= _some_values(X)
        if len(found) > 2:
            return None
    return (min(found), max(found)) if len(found) == 2 else None


def _some_values(entries: np.ndarray) -> set[float]:
    """The values of the entries, or three of them if there are more."""
    first = np.unique(entries[:_FIRST])
    if len(first) > 2 or not entries.size:
        return set(first[:3].tolist())
    low, high = entries.min(), entries.max()
    others = entries[(entries != low) & (entries != high)]
    return {float(low), float(high), *others[:1].tolist()}


def pack(X: Any, high: float) -> np.ndarray:
    """One bit for each entry: is it the higher value?"""
    n, d = X.shape
    packed = np.zeros((n, -(-d // _WORD) * (_WORD // 8)), np.uint8)
    for start in range(0, n, _ROWS):
        part = as_dense(X[start : start + _ROWS])
        packed[start : start + _ROWS, : -(-d // 8)] = np.packbits(part == high, axis=1)
    return packed.view(np.uint32)


@intrinsic
def ones(typing, word):
    """How many bits of a word are set."""
    from numba import types

    def generate(context, builder, signature, args):
        return builder.ctpop(args[0])

    return (types.int32(types.uint32), generate) if word == types.uint32 else None


@njit(cache=True, nogil=True)
def differing(row, columns, count):
    """count[j] = the number of bits in which the row and column j, all words of it, differ."""
    count[:] = 0
    for w in range(row.size):
        word, others = row[w], columns[w]
        for j in range(count.size):
            count[j] += ones(np.uint32(word ^ others[j]))


@njit(cache=True, nogil=True)
def look_up(table, left, right):
    """table[the number of bits in which row i of left and row j of right differ]."""
    columns = right.T.copy()
    count = np.empty(right.shape[0], np.int32)
    out = np.empty((left.shape[0], right.shape[0]))
    for i in range(left.shape[0]):
        differing(left[i], columns, count)
        for j in range(count.size):
            out[i, j] = table[count[j]]
    return out
