"""Dynamic programmes over pairs of strings: sixteen tables at a time, pairs of like lengths."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...data import Data, take
from ..base import Kernel, Tile
from ..domains import STRINGS, Domain
from .sequences import Sequences, read


@dataclass(eq=False, repr=False)
class Tabled(Kernel):
    """A kernel whose values come from a table of |x| times |y| cells; samples are sequences."""

    @abstractmethod
    def pairs(self, X: Sequences, Y: Sequences, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """k(x_i, y_j) for pairs of samples, given by their numbers."""

    def prepare(self, X: Data) -> Sequences:
        return read(X, type(self).__name__)

    def pairwise(self, X: Sequences, Y: Sequences) -> np.ndarray:
        """Neighbouring pairs have like lengths, and fill their tables in step."""
        rows, cols = np.argsort(X.lengths), np.argsort(Y.lengths)
        i, j = np.divmod(np.arange(len(rows) * len(cols)), max(len(cols), 1))
        if X is Y:
            i, j = i[i <= j], j[i <= j]
        out = np.empty((len(X), len(Y)))
        out[rows[i], cols[j]] = self.pairs(X, Y, rows[i], cols[j])
        if X is Y:
            out[rows[j], cols[i]] = out[rows[i], cols[j]]
        return out

    def tiles(self, X: Sequences, Y: Sequences) -> Tile:
        def tile(rows: Any, cols: Any) -> np.ndarray:
            left = take(X, rows)
            slices = isinstance(rows, slice) and isinstance(cols, slice)
            same = X is Y and slices and rows == cols
            return self.pairwise(left, left if same else take(Y, cols))

        return tile

    def diag(self, X: Sequences) -> np.ndarray:
        out = np.empty(len(X))
        order = np.argsort(X.lengths)
        out[order] = self.pairs(X, X, order, order)
        return out

    @property
    def domain(self) -> Domain:
        return STRINGS


def numbered_symbols(X: Sequences, Y: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Symbols >= 0 that agree where those of X and Y do: negative ones stand for no symbol."""
    if min(X.symbols.min(initial=0), Y.symbols.min(initial=0)) >= 0:
        return X.symbols, Y.symbols
    letters = np.unique(np.concatenate([X.symbols, Y.symbols]))
    return np.searchsorted(letters, X.symbols), np.searchsorted(letters, Y.symbols)
