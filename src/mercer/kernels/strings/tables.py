"""Dynamic programmes over pairs of strings: sixteen tables at a time, pairs of like lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...data import Data
from ..domains import STRINGS, Domain
from ..pairs import Paired
from .sequences import Sequences, read


@dataclass(eq=False, repr=False)
class Tabled(Paired):
    """A kernel whose values come from a table of |x| times |y| cells; samples are sequences."""

    together: ClassVar[int] = 16

    def prepare(self, X: Data) -> Sequences:
        return read(X, type(self).__name__)

    def sizes(self, X: Sequences) -> np.ndarray:
        return X.lengths

    def arranged(self, X: Sequences) -> np.ndarray:
        """By length, so that neighbouring pairs fill their tables in step."""
        return np.argsort(X.lengths)

    @property
    def domain(self) -> Domain:
        return STRINGS


def numbered_symbols(X: Sequences, Y: Sequences) -> tuple[np.ndarray, np.ndarray]:
    """Symbols >= 0 that agree where those of X and Y do: negative ones stand for no symbol."""
    if min(X.symbols.min(initial=0), Y.symbols.min(initial=0)) >= 0:
        return X.symbols, Y.symbols
    letters = np.unique(np.concatenate([X.symbols, Y.symbols]))
    return np.searchsorted(letters, X.symbols), np.searchsorted(letters, Y.symbols)
