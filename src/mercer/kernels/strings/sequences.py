"""Samples of string kernels as integers: a flat array of symbols, and where samples begin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Rows, is_frame
from ...exceptions import DomainError

_LARGEST = 2**63 - 1
_TEXT = "USTO"  # kinds of arrays of strings: of a fixed width, of bytes, of any width, objects

Alphabet = str | bytes | Sequence[int] | np.ndarray


class Sequences:
    """Sequences of integers, one after the other.

    Parameters
    ----------
    symbols : int64 array
        The symbols of all samples: code points of strings, bytes, the integers themselves, or
        codes of words.
    ends : int64 array of shape (n + 1,)
        Sample i is ``symbols[ends[i] : ends[i + 1]]``.
    """

    def __init__(self, symbols: np.ndarray, ends: np.ndarray) -> None:
        self.symbols, self.ends = symbols, ends

    def __len__(self) -> int:
        return len(self.ends) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of symbols of each sample."""
        return np.diff(self.ends)

    def __getitem__(self, rows: Rows) -> Sequences:
        if isinstance(rows, slice) and rows.step in (None, 1):
            start, stop, _ = rows.indices(len(self))
            ends = self.ends[start : max(start, stop) + 1]
            return Sequences(self.symbols[ends[0] : ends[-1]], ends - ends[0])
        chosen = np.arange(len(self))[rows]
        lengths = self.lengths[chosen]
        places = np.repeat(self.ends[chosen], lengths) + counted(lengths)
        return Sequences(self.symbols[places], _ends(lengths))

    def one(self, place: int) -> np.ndarray:
        """The symbols of one sample."""
        return self.symbols[self.ends[place] : self.ends[place + 1]]

    def windows(self, span: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the windows of a length begin in ``symbols``, and how many each sample holds."""
        counts = np.maximum(self.lengths - span + 1, 0)
        return np.repeat(self.ends[:-1], counts) + counted(counts), counts

    def known_windows(self, span: int) -> tuple[np.ndarray, np.ndarray]:
        """The same for windows without symbols that are unknown, which are numbered -1."""
        starts, counts = self.windows(span)
        unknown = self.symbols < 0
        if not unknown.any():
            return starts, counts
        before = np.concatenate([[0], np.cumsum(unknown)])
        fine = before[starts + span] == before[starts]
        rows = np.repeat(np.arange(len(counts)), counts)
        return starts[fine], np.bincount(rows[fine], minlength=len(counts))


def read(X: Data, owner: str) -> Sequences:
    """A data set of strings as integers; one clear error for anything else."""
    samples = _samples(X, owner)
    if all(isinstance(x, str) for x in samples):
        lengths = np.fromiter(map(len, samples), np.int64, len(samples))
        return Sequences(_letters("".join(samples)), _ends(lengths))
    arrays = [_integers(x, i, owner) for i, x in enumerate(samples)]
    lengths = np.array([len(a) for a in arrays], dtype=np.int64)
    return Sequences(np.concatenate(arrays), _ends(lengths))


def counted(counts: np.ndarray) -> np.ndarray:
    """0..c-1 for every count c, one after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts, counts)


# ---- alphabets -------------------------------------------------------------------------------
def check_alphabet(value: Any) -> str | None:
    """What an alphabet must be, for a field of a kernel; None if this is one."""
    wanted = "None, or distinct symbols: a string, or a list of integers"
    if value is None:
        return None
    try:
        letters = alphabet_symbols(value)
    except (TypeError, ValueError, DomainError):
        return wanted
    return None if len(letters) and len(np.unique(letters)) == len(letters) else wanted


def alphabet_symbols(alphabet: Alphabet) -> np.ndarray:
    """The symbols of an alphabet as integers, in the given order."""
    return _integers(alphabet, 0, "alphabet")


def discover(X: Data, owner: str) -> str | list[int]:
    """The symbols that occur in a data set, sorted: a string, or integers if not all are text."""
    samples = _samples(X, owner)
    if all(isinstance(x, str) for x in samples):
        found = "".join(sorted(set().union(*samples)))
        return found or " "
    return [int(c) for c in np.unique(read(X, owner).symbols)] or [0]


def places(symbols: np.ndarray, letters: np.ndarray) -> np.ndarray:
    """The place of each symbol in an alphabet; -1 for those it does not hold."""
    order = np.argsort(letters)
    at = np.minimum(np.searchsorted(letters[order], symbols), len(letters) - 1)
    return np.where(letters[order][at] == symbols, order[at], -1)


# ---- from samples to integers ----------------------------------------------------------------
def _samples(X: Data, owner: str) -> list:
    if isinstance(X, str | bytes):
        raise DomainError(
            f"{owner} works on a list of strings, got a single {type(X).__name__}; wrap it: [x]."
        )
    if is_frame(X) or sp.issparse(X):
        raise DomainError(
            f"{owner} works on one column of strings, got a table; select one with .on(column)."
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in _TEXT:
        if X.shape[1] != 1:
            raise DomainError(
                f"{owner} works on one column of strings, got an array of {X.shape[1]} columns; "
                "select one with .on(column), or pass sequences of words as lists."
            )
        X = X[:, 0]
    samples = X.tolist() if isinstance(X, np.ndarray) and X.dtype.kind in _TEXT else list(X)
    if not samples:
        raise DomainError(f"{owner}: X has no samples.")
    return samples


def _integers(x: Any, place: int, owner: str) -> np.ndarray:
    if isinstance(x, str):
        return _letters(x)
    if isinstance(x, bytes):
        return np.frombuffer(x, np.uint8).astype(np.int64)
    if isinstance(x, Sequence | np.ndarray) and len(x) and all(isinstance(w, str) for w in x):
        return _words(x)
    if is_missing(x):
        raise DomainError(
            f'{owner}: sample {place} is missing ({x!r}); drop it, or replace it by "".'
        )
    array = np.asarray(x) if _is_flat(x) else np.zeros(())
    if array.dtype.kind == "u" and array.size and array.max() > _LARGEST:
        raise DomainError(f"{owner}: sample {place} has symbols beyond 2^63 - 1; renumber them.")
    if array.ndim != 1 or (array.dtype.kind not in "iu" and len(array)):
        raise DomainError(
            f"{owner}: sample {place} is a {type(x).__name__}, but samples must be str, bytes, "
            f"sequences of integers or lists of words; drop or convert it."
        )
    return array.astype(np.int64)


def is_missing(x: Any) -> bool:
    """Is this None, NaN, pandas' NA, or masked, as a whole or in part?"""
    if isinstance(x, np.ndarray):
        return np.ma.is_masked(x)
    return x is None or type(x).__name__ in ("NAType", "NaTType") or (
        isinstance(x, float | np.floating) and bool(np.isnan(x))
    )  # fmt: skip


def _is_flat(x: Any) -> bool:
    """Is this a sequence, but of no sequences?"""
    if isinstance(x, np.ndarray):
        return True
    return isinstance(x, Sequence) and not any(isinstance(item, Sequence) for item in x)


def _words(words: Sequence[str] | np.ndarray) -> np.ndarray:
    """Codes of words, the same in every data set; a word of one letter is that letter."""
    return np.array([ord(w) if len(w) == 1 else _code(str(w)) for w in words], dtype=np.int64)


@lru_cache(maxsize=100_000)
def _code(word: str) -> int:
    """A number from 2^62 on, above all letters."""
    text = word.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest()) >> 2 | 1 << 62


def _letters(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.int64)


def _ends(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
