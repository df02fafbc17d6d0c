"""The samples that an online model keeps: as they were given, and prepared for its kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data, join, length, take
from ..gram.tiles import evaluate, exponential
from ..kernels.base import Kernel
from ..ownership import owned
from .common import on_vectors

_PIECES = 8  # prepared parts that are looked at one by one before all are prepared again
_ALONE = 2**19  # kernel values of vectors


class KeptSamples:
    """Samples of any kind, oldest first; they are replaced, never changed.

    Parameters
    ----------
    kernel : Kernel
        With every parameter a number.
    X : data, optional
        The samples; none by default.
    """

    def __init__(self, kernel: Kernel, X: Data = None) -> None:
        self.kernel, self.X = kernel, X
        # what prepare returns can be cut but not joined, so it is kept in the pieces it came in
        self._pieces: list[Data] = [] if X is None else [kernel.prepare(X)]
        self._most = 1 if on_vectors(kernel) else _PIECES  # vectors are prepared in no time

    def __len__(self) -> int:
        return 0 if self.X is None else length(self.X)

    def cross(self, P: Data) -> np.ndarray:
        """Kernel values of prepared samples, one row each, with the kept ones."""
        blocks = [self._values(P, piece) for piece in self._pieces]
        if len(blocks) == 1:
            return blocks[0]
        return np.hstack(blocks) if blocks else np.zeros((length(P), 0))

    def block(self, P: Data) -> np.ndarray:
        """Kernel values of prepared samples with the kept ones, and with each other."""
        parts = [*self._pieces, P]
        if self._most == 1 and all(isinstance(part, np.ndarray) for part in parts):
            return self._values(P, np.concatenate(parts))  # at once, which is faster
        return np.hstack([self.cross(P), self._values(P, P)])

    def _values(self, P: Data, Q: Data) -> np.ndarray:
        """Kernel values; if they are few, in one tile on this thread."""
        n, m = length(P), length(Q)
        if self._most > 1 or n * m > _ALONE:
            return evaluate(self.kernel, P, Q)
        tile = exponential(self.kernel, P, Q, least=0) or self.kernel.tiles(P, Q)
        return tile(slice(0, n), slice(0, m))

    def gram(self) -> np.ndarray:
        """Kernel values of the kept samples."""
        if not len(self):
            return np.zeros((0, 0))
        P = self.kernel.prepare(self.X)
        return evaluate(self.kernel, P, P)

    def replaced(self, places: np.ndarray, X: Data, P: Data) -> KeptSamples:
        """What is kept after a block X, prepared as P: places of old samples, then of new ones."""
        m = len(self)
        old, new = places[places < m], places[places >= m] - m
        if not len(new) and len(old) == m:
            return self
        parts = [take(self.X, old)] if len(old) else []
        parts += [owned(take(X, new))] if len(new) else []
        kept = KeptSamples.__new__(KeptSamples)
        kept.kernel, kept._most, kept.X = self.kernel, self._most, join(*parts)
        if self._most == 1:
            kept._pieces = [self.kernel.prepare(kept.X)]
            return kept
        kept._pieces = self._cut(old) + ([take(P, new)] if len(new) else [])
        if len(kept._pieces) > kept._most:
            kept._pieces = [self.kernel.prepare(kept.X)]
        return kept

    def _cut(self, places: np.ndarray) -> list[Any]:
        """The pieces without the removed samples."""
        start, pieces = 0, []
        for piece in self._pieces:
            size = length(piece)
            inside = places[(places >= start) & (places < start + size)] - start
            if len(inside):
                pieces.append(piece if len(inside) == size else take(piece, inside))
            start += size
        return pieces
