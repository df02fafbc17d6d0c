"""Common base of kernels on inexact k-mers: sums over patterns, and features if requested."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...features.inverted import products
from ..base import Tile
from .base import Substrings
from .codes import COLUMNS, Part, pattern_codes
from .passes import LARGEST, Pattern, PatternSums, Windows, numbered, self_sums
from .sequences import Sequences

_SMALL = 1e7  # bytes that features may take in any case


@dataclass(eq=False, repr=False)
class Patterned(Substrings):
    """A sum over patterns of windows; prepared samples are sequences.

    Features are computed on request, and the kernel matrix is not made from them. They pay where
    they take much less memory than that matrix.
    """

    @property
    @abstractmethod
    def span(self) -> int:
        """The length of the windows."""

    @abstractmethod
    def patterns(self) -> list[Pattern]:
        """What has to agree, with weights that may be negative."""

    def windows(self, sequences: Sequences) -> tuple[np.ndarray, np.ndarray]:
        """Where the windows begin, and how many each sample holds."""
        return sequences.windows(self.span)

    def prepare(self, X: Data) -> Sequences:
        return self.read(X)

    def tiles(self, X: Sequences, Y: Sequences) -> Tile:
        left, right, letters = numbered(X, Y)
        patterns = self.patterns()
        if letters ** max(len(p.kept) for p in patterns) > LARGEST:
            phi = self.features(X)
            return products(phi, phi if Y is X else self.features(Y))
        x = self._windows(X, left)
        y = x if Y is X else self._windows(Y, right)
        return PatternSums(x, y, letters, patterns).block

    def diag(self, X: Sequences) -> np.ndarray:
        digits, _, letters = numbered(X, X)
        patterns = self.patterns()
        if letters ** max(len(p.kept) for p in patterns) > LARGEST:
            return super().diag(self.features(X))
        return self_sums(self._windows(X, digits), letters, patterns)

    def _windows(self, sequences: Sequences, digits: np.ndarray) -> Windows:
        starts, counts = self.windows(sequences)
        return Windows(digits, starts, np.concatenate([[0], np.cumsum(counts)]))

    def features(self, X: Sequences) -> sp.csr_matrix:
        return self.counts(X)

    def n_features(self, X: Sequences) -> int:
        return COLUMNS

    def features_pay(self, X: Sequences) -> bool:
        nbytes = 16 * self.codes_per_window * len(X.symbols)
        return nbytes <= max(_SMALL, len(X) ** 2)

    def parts(self, sequences: Sequences) -> Iterator[Part]:
        starts, counts = self.windows(sequences)
        patterns = self.patterns()
        for index, (kept, weight) in enumerate(patterns):
            codes = pattern_codes(
                sequences.symbols,
                starts,
                kept,
                index=index,
                patterns=len(patterns),
                width=max(len(p.kept) for p in patterns),
            )
            seen = kept or range(self.span)  # a pattern of no places speaks of all of them
            yield Part(codes, counts, starts, seen, float(np.sqrt(weight)))
