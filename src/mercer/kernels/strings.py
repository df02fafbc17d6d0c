"""Kernels on strings: k-mer counts, as sparse features whose columns are codes of the k-mers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, is_frame
from ..exceptions import DomainError
from ..features.sparse import common_columns, sparse_block
from ..params import integer
from . import properties as prop
from .base import Kernel, Tile
from .domains import STRINGS, Domain

_LONGEST_EXACT = 7  # k-mers of up to 7 bytes are their own code
_HASHED = 2**56  # exact codes lie below, hashes in [2^56, 2^57)
_COLUMNS = 2**57


@dataclass(eq=False, repr=False)
class Spectrum(Kernel):
    r"""The k-spectrum kernel on strings: how many substrings of length k they share.

    .. math:: k(x, y) = \sum_{u} \#_u(x)\, \#_u(y)

    over all strings u of length k, where #_u(x) counts the places at which u occurs in x. Strings
    shorter than k hold no such substring: their features are zero.

    Samples are ``str``, ``bytes`` or sequences of integers, in a list; a string is the sequence
    of its code points. Long or non-Latin substrings are told apart by a 56-bit hash.

    Parameters
    ----------
    k : int
        The length of the substrings.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> Spectrum(k=2)(["abab", "abc", "cba"])  # abab: 2 ab, 1 ba
    array([[5., 2., 1.],
           [2., 2., 0.],
           [1., 0., 2.]])

    References
    ----------
    Leslie, Eskin & Noble, *The spectrum kernel: a string kernel for SVM protein classification*,
    PSB 2002.
    """

    k: int = integer(3, low=1)
    because = "an inner product of explicit features: the counts of all substrings of length k"

    def prepare(self, X: Data) -> sp.csr_matrix:
        symbols, lengths = _symbols(_sequences(X))
        counts = np.maximum(lengths - self.k + 1, 0)
        starts = np.repeat(np.cumsum(lengths) - lengths, counts) + _places(counts)
        codes = _codes(symbols, starts, self.k)
        rows = np.repeat(np.arange(len(lengths)), counts)
        return _count(rows, codes, len(lengths))

    def pairwise(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> np.ndarray:
        return sparse_block(X, Y)

    def tiles(self, X: sp.csr_matrix, Y: sp.csr_matrix) -> Tile:
        A, B = common_columns(X, Y)
        if 4 * A.nnz > A.shape[0] * A.shape[1]:  # few k-mers, all over the place
            dense = A.toarray()
            other = dense if B is A else B.toarray()
            return lambda rows, cols: dense[rows] @ other[cols].T
        return lambda rows, cols: (A[rows] @ B[cols].T).toarray()

    def diag(self, X: sp.csr_matrix) -> np.ndarray:
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        sums = np.bincount(rows, weights=X.data**2, minlength=X.shape[0])
        return sums.astype(np.float64)  # of nothing at all, bincount makes integers

    def features(self, X: sp.csr_matrix) -> sp.csr_matrix:
        return X

    def n_features(self, X: sp.csr_matrix) -> int:
        return _COLUMNS

    @property
    def domain(self) -> Domain:
        return STRINGS

    @property
    def properties(self) -> prop.Properties:
        example = "'ab' and 'ba'" if self.k == 1 else f"all strings shorter than {self.k}"
        alike = f"strings with the same k-mer counts ({example}) have the same features"
        return self._stated(
            bounded=prop.no("k(x, x) grows with the length of x"),
            strictly_pd=prop.no(alike),
            universal=prop.no(alike),
            characteristic=prop.no(alike),
            positive_diag=prop.no(f"k(x, x) = 0 for strings shorter than {self.k}"),
        )


# ---- from samples to codes -----------------------------------------------------------------
def _sequences(X: Data) -> list:
    """The samples as a list; one clear error for what is not a data set of strings."""
    if isinstance(X, str | bytes):
        raise DomainError(
            f"Spectrum works on a list of strings, got a single {type(X).__name__}; wrap it: [x]."
        )
    if is_frame(X) or sp.issparse(X):
        raise DomainError(
            "Spectrum works on one column of strings, got a table; pick it with .on(column)."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and X.dtype.kind in "USO":
        X = X[:, 0]
    sequences = X.tolist() if isinstance(X, np.ndarray) and X.dtype.kind in "USO" else list(X)
    if not sequences:
        raise DomainError("Spectrum: X has no samples.")
    return sequences


def _symbols(sequences: list) -> tuple[np.ndarray, np.ndarray]:
    """All samples in one array of integers, and their lengths."""
    if all(isinstance(x, str) for x in sequences):
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        return _letters("".join(sequences)), lengths
    arrays = [_integers(x, i) for i, x in enumerate(sequences)]
    return np.concatenate(arrays), np.array([len(a) for a in arrays], dtype=np.int64)


def _integers(x: Any, place: int) -> np.ndarray:
    if isinstance(x, str):
        return _letters(x)
    if isinstance(x, bytes):
        return np.frombuffer(x, np.uint8).astype(np.int64)
    array = np.asarray(x) if isinstance(x, Sequence | np.ndarray) else np.zeros(())
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise DomainError(
            f"Spectrum: sample {place} is a {type(x).__name__}, but samples must be str, bytes or "
            f"sequences of integers; drop or convert it."
        )
    return array.astype(np.int64)


def _letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)


def _places(counts: np.ndarray) -> np.ndarray:
    """0..c-1 for every count c, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1]) - np.repeat(ends - counts, counts)


def _codes(symbols: np.ndarray, starts: np.ndarray, k: int) -> np.ndarray:
    """One code per window of length k, that depends on the window only."""
    exact = np.zeros(len(starts), np.int64)
    short = np.full(len(starts), k <= _LONGEST_EXACT)
    if k <= _LONGEST_EXACT:
        for j in range(k):
            symbol = symbols[starts + j]
            short &= (symbol >= 0) & (symbol < 256)
            exact = (exact << 8) | (symbol & 255)
    if not short.all():
        exact[~short] = _hash(symbols, starts[~short], k)
    return exact


def _hash(symbols: np.ndarray, starts: np.ndarray, k: int) -> np.ndarray:
    """Codes in [2^56, 2^57): all windows at once, where a hash in Python would take one by one."""
    state = np.full(len(starts), k, np.uint64)
    for j in range(k):
        state = _mix(state ^ symbols[starts + j].astype(np.uint64))
    return _HASHED + (state >> np.uint64(8)).astype(np.int64)


def _mix(z: np.ndarray) -> np.ndarray:
    """The 64-bit mixing step of splitmix64 (Steele, Lea & Flood 2014), a bijection."""
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _count(rows: np.ndarray, codes: np.ndarray, n: int) -> sp.csr_matrix:
    """How often each code occurs in each row (rows ascend), as a CSR matrix."""
    order = np.lexsort((codes, rows))
    rows, codes = rows[order], codes[order]
    new = np.ones(len(rows), bool)
    new[1:] = (rows[1:] != rows[:-1]) | (codes[1:] != codes[:-1])
    first = np.flatnonzero(new)
    counts = np.diff(np.append(first, len(rows))).astype(np.float64)
    indptr = np.searchsorted(rows[first], np.arange(n + 1))
    return sp.csr_matrix((counts, codes[first], indptr), shape=(n, _COLUMNS))
