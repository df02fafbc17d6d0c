"""Sums over patterns: how many pairs of windows agree at the places of each, with weights.

One pass per pattern over the windows of a block; no features are kept. Where a pattern has few
possible values the windows are counted and the counts multiplied by BLAS, otherwise every window
of a row meets the windows of the columns that show the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .sequences import Sequences
from .tables import in_parts

_DENSE = 8  # values per window of a sample up to which BLAS is faster than lists
_TOGETHER = 4096  # values of patterns that are multiplied at once
_MOST = 2**25  # counts that are kept at once
_EXACT = 2.0**24  # whole numbers up to this are exact in single precision
_WORK = 5e7  # windows, and pairs of them that agree, that one compiled call looks at
LARGEST = 2**62  # numbers of values of a pattern that can be told apart


class Pattern(NamedTuple):
    """Places of a window that have to agree, and what two windows that do so count."""

    kept: Sequence[int]
    weight: float


class Windows(NamedTuple):
    """The windows of some samples: digits, where windows begin, and where those of samples end."""

    digits: np.ndarray
    starts: np.ndarray
    ends: np.ndarray

    def of(self, rows: Any) -> Windows:
        """The windows of some of the samples."""
        chosen = np.arange(len(self.ends) - 1)[rows]
        counts = np.diff(self.ends)[chosen]
        ends = np.concatenate([[0], np.cumsum(counts)])
        if isinstance(rows, slice) and rows.step in (None, 1) and len(chosen):
            return Windows(
                self.digits, self.starts[self.ends[chosen[0]] : self.ends[chosen[-1] + 1]], ends
            )
        first = np.repeat(self.ends[chosen] - ends[:-1], counts)
        return Windows(self.digits, self.starts[first + np.arange(ends[-1])], ends)


class PatternSums:
    """sum_P weight_P #{pairs of windows of x and y that agree at the places P}.

    Parameters
    ----------
    X, Y : Windows
        The windows of rows and columns, with symbols numbered alike.
    letters : int
        How many different symbols there are.
    patterns : list of Pattern
        The places, with weights of any sign.
    """

    def __init__(self, X: Windows, Y: Windows, letters: int, patterns: list[Pattern]) -> None:
        self.X, self.Y, self.letters, self.patterns = X, Y, letters, patterns
        self._windows = min(len(P.starts) / (len(P.ends) - 1) for P in (X, Y))

    def block(self, rows: Any, cols: Any) -> np.ndarray:
        """The sums for some rows and columns."""
        from ...gram.tiles import run

        X, Y = self.X.of(rows), self.Y.of(cols)
        out = np.zeros((len(X.ends) - 1, len(Y.ends) - 1))
        most = min(_DENSE * self._windows, _MOST / sum(out.shape)) if out.size else 0
        few = [p for p in self.patterns if self.letters ** len(p.kept) <= most]
        many = [p for p in self.patterns if self.letters ** len(p.kept) > most]
        groups = _grouped(few, self.letters)
        run(lambda group: self._add_dense(out, X, Y, group), groups, workers=1)
        if many:
            self._add_listed(out, X, Y, many)
        return out

    def _add_listed(self, out: np.ndarray, X: Windows, Y: Windows, many: list[Pattern]) -> None:
        """Some rows and patterns at a time, so that one call takes a fraction of a second."""
        from ...gram.tiles import run
        from .loops import add_agreements

        least = min(self.letters ** len(p.kept) for p in many)
        met = len(X.starts) * len(Y.starts) / least  # pairs of windows, if values are equally often
        rows = max(1, int(len(out) * min(1.0, _WORK / (1 + met))))
        work = 1 + (met + len(X.starts)) * rows / len(out) + len(Y.starts)
        together = max(1, int(_WORK / work))

        def some(at: tuple[int, int]) -> None:
            row, first = at
            part, group = slice(row, row + rows), _arrays(many[first : first + together])
            add_agreements(out[part], *X.of(part), *Y, self.letters, *group)

        starts = range(0, len(out), rows)
        run(some, [(row, p) for row in starts for p in range(0, len(many), together)], workers=1)

    def _add_dense(self, out: np.ndarray, X: Windows, Y: Windows, group: list[Pattern]) -> None:
        from .loops import count_values

        kept, lengths, weights = _arrays(group)
        most = float(np.diff(X.ends).max(initial=0)) * float(np.diff(Y.ends).max(initial=0))
        whole = np.array_equal(weights, np.rint(weights))
        exact = whole and np.abs(weights).sum() * most <= _EXACT
        dtype = np.float32 if exact else np.float64
        width = sum(self.letters ** len(p.kept) for p in group)
        left = np.zeros((out.shape[0], width), dtype)
        right = np.zeros((out.shape[1], width), dtype)
        count_values(left, *X, self.letters, kept, lengths, weights)
        count_values(right, *Y, self.letters, kept, lengths, np.ones_like(weights))
        out += left @ right.T


def self_sums(X: Windows, letters: int, patterns: list[Pattern]) -> np.ndarray:
    """The sums of each sample with itself."""
    from .loops import own_agreements

    out, arrays = np.empty(len(X.ends) - 1), _arrays(patterns)

    def some(part: np.ndarray) -> None:
        own = X.of(slice(part[0], part[-1] + 1))
        out[part] = own_agreements(*own, letters, *arrays)

    in_parts(some, np.diff(X.ends) * len(patterns))
    return out


def numbered(X: Sequences, Y: Sequences) -> tuple[np.ndarray, np.ndarray, int]:
    """The symbols of both as 0, 1, ..., and how many different ones there are."""
    letters = np.unique(X.symbols)
    if Y is not X:
        letters = np.union1d(letters, Y.symbols)
    left = np.searchsorted(letters, X.symbols)
    right = left if Y is X else np.searchsorted(letters, Y.symbols)
    return left, right, max(len(letters), 1)


def _grouped(patterns: list[Pattern], letters: int) -> list[list[Pattern]]:
    """Patterns in groups with at most _TOGETHER values in all."""
    groups: list[list[Pattern]] = []
    room = 0
    for pattern in patterns:
        values = letters ** len(pattern.kept)
        if values > room or not groups:
            groups.append([])
            room = max(_TOGETHER, values)
        groups[-1].append(pattern)
        room -= values
    return groups


def _arrays(patterns: list[Pattern]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patterns as compiled code takes them: kept places, how many, weights."""
    kept = np.zeros((len(patterns), max((len(p.kept) for p in patterns), default=0)), np.int64)
    for i, pattern in enumerate(patterns):
        kept[i, : len(pattern.kept)] = pattern.kept
    lengths = np.array([len(p.kept) for p in patterns], np.int64)
    return kept, lengths, np.array([p.weight for p in patterns], np.float64)
