"""From windows of sequences to sparse features: a code for what each window shows, then counts.

A code depends on what is shown only, not on the other samples, so features of different data sets
fit together without a vocabulary. Up to 56 bits of symbols are their own code; what is longer, or
not Latin, gets a 56-bit hash above them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...mixing import mix
from .sequences import counted

_EXACT_BITS = 56
_HASHED = 2**_EXACT_BITS  # exact codes lie below, hashes in [2^56, 2^57)
COLUMNS = 2 * _HASHED
_CODE_BITS = _EXACT_BITS + 1
_PACKED = 2 ** (64 - _CODE_BITS)  # samples whose numbers fit into the other bits of a code


@dataclass
class Part:
    """Some columns of a feature map, and the windows that count towards them.

    Attributes
    ----------
    codes : int64 array of shape (windows,) or (windows, c)
        The columns to which each window adds ``weight``, sample after sample.
    counts : int64 array of shape (n,)
        The number of windows of each sample.
    starts : int64 array of shape (windows,)
        Where each window begins among the symbols of all samples.
    seen : sequence of int
        The places of the window that the columns are about.
    weight : float or array
        What one window adds to its columns; an array has the shape of the codes, or is to be
        repeated to it.
    """

    codes: np.ndarray
    counts: np.ndarray
    starts: np.ndarray
    seen: Sequence[int]
    weight: float | np.ndarray = 1.0


# ---- codes -----------------------------------------------------------------------------------
def pattern_codes(
    symbols: np.ndarray,
    starts: np.ndarray,
    kept: Sequence[int],
    *,
    index: int = 0,
    patterns: int = 1,
    width: int | None = None,
) -> np.ndarray:
    """One code per window, for the symbols at the kept places and the index of the pattern.

    Parameters
    ----------
    symbols, starts : arrays
        The symbols of all samples, and where the windows begin.
    kept : sequence of int
        The places of the window that are compared.
    index, patterns : int
        Which of how many patterns of the kernel this is: their codes do not meet.
    width : int, optional
        The largest number of places that a pattern of the kernel keeps.
    """
    width = len(kept) if width is None else width
    if not len(starts):
        return np.zeros(0, np.int64)
    if 8 * width + (patterns - 1).bit_length() > _EXACT_BITS:
        return hashed(symbols, starts, kept, _seed(kept, index))
    room = len(symbols) - max(kept, default=0)
    code = np.zeros(room, np.int64)
    for place in kept:
        code = (code << 8) | (symbols[place : place + room] & 255)
    code = code[starts] + (index << 8 * width)
    wild = (symbols < 0) | (symbols > 255)
    if wild.any():
        strange = np.zeros(len(starts), bool)
        for place in kept:
            strange |= wild[starts + place]
        code[strange] = hashed(symbols, starts[strange], kept, _seed(kept, index))
    return code


def hashed(
    symbols: np.ndarray, starts: np.ndarray, kept: Iterable[int], seed: int | np.ndarray
) -> np.ndarray:
    """Codes in [2^56, 2^57): all windows at once, where a hash in Python would take one by one."""
    state = np.broadcast_to(np.asarray(seed, np.uint64), starts.shape)
    for place in kept:
        state = mix(state ^ symbols[starts + place].astype(np.uint64))
    return as_code(state)


def _seed(kept: Sequence[int], index: int) -> int:
    """Where the hash of a pattern begins: no symbol, which is xored to it, leads to another."""
    return len(kept) ^ (int(mix(np.array([index], np.uint64))[0]) if index else 0)


def as_code(state: np.ndarray) -> np.ndarray:
    """The column of a 64-bit hash."""
    return _HASHED + (state >> np.uint64(8)).astype(np.int64)


# ---- counts ----------------------------------------------------------------------------------
def tally(parts: Iterable[Part], n: int, *, compiled: bool = False) -> sp.csr_matrix:
    """The features of n samples: how often each code occurs in each, times its weight.

    The codes of different parts must not meet. Compiled code is five times as fast, but takes a
    second to load.
    """
    counted_parts = [_count(part, n, compiled) for part in parts]
    lengths = sum((rows for _, _, rows in counted_parts), start=np.zeros(n, np.int64))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    if len(counted_parts) == 1:
        codes, sums, _ = counted_parts[0]
        return from_arrays(sums, codes, ends, n)
    columns, values, free = np.empty(ends[-1], np.int64), np.empty(ends[-1]), ends[:-1].copy()
    for codes, sums, rows in counted_parts:
        place = np.repeat(free, rows) + counted(rows)
        columns[place], values[place] = codes, sums
        free += rows
    return from_arrays(values, columns, ends, n)


def from_arrays(values: np.ndarray, columns: np.ndarray, ends: np.ndarray, n: int) -> sp.csr_matrix:
    """A CSR matrix of n rows with all columns, from its three arrays as they are."""
    matrix = sp.csr_matrix((n, COLUMNS), dtype=np.float64)
    matrix.data, matrix.indices, matrix.indptr = values, columns, ends
    return matrix


def stacked(found: list[sp.csr_matrix]) -> sp.csr_matrix:
    """The features of pieces of a data set as those of the whole."""
    if len(found) == 1:
        return found[0]
    ends = [np.zeros(1, np.int64), *(np.diff(phi.indptr) for phi in found)]
    return from_arrays(
        np.concatenate([phi.data for phi in found]),
        np.concatenate([phi.indices for phi in found]),
        np.cumsum(np.concatenate(ends)),
        sum(phi.shape[0] for phi in found),
    )


def _count(part: Part, n: int, compiled: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct codes of each sample, the sums of their weights, and how many there are."""
    per_window = part.codes.shape[1] if part.codes.ndim == 2 else 1
    codes, lengths = part.codes.ravel(), part.counts * per_window
    equal, weights = np.ndim(part.weight) == 0, None
    if not equal:
        weights = np.array(np.broadcast_to(part.weight, part.codes.shape), float).ravel()
    if compiled:
        from .loops import count_codes

        found, sums, distinct = count_codes(codes, lengths, weights)
        return found, part.weight * sums if equal else sums, distinct
    ends = np.concatenate([[0], np.cumsum(lengths)])
    rows = np.repeat(np.arange(n) % _PACKED, lengths)
    keys = (rows << _CODE_BITS).astype(np.uint64) | codes.astype(np.uint64)
    for first in range(0, n, _PACKED):
        some = slice(ends[first], ends[min(first + _PACKED, n)])
        if weights is None:
            keys[some].sort()
        else:
            order = np.argsort(keys[some])
            keys[some], weights[some] = keys[some][order], weights[some][order]
    new = np.ones(len(keys), bool)
    new[1:] = keys[1:] != keys[:-1]
    new[ends[:-1][lengths > 0]] = True  # the same code again, a multiple of _PACKED rows below
    at = np.flatnonzero(new)
    distinct = np.diff(np.concatenate([[0], np.cumsum(new)])[ends])
    if weights is None:
        sums = part.weight * np.diff(np.append(at, len(keys))).astype(np.float64)
    else:
        sums = np.add.reduceat(weights, at) if len(at) else np.zeros(0)
    return (keys[at] & np.uint64(COLUMNS - 1)).astype(np.int64), sums, distinct
