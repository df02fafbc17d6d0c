"""A Gram matrix of which only the upper triangle is stored: for many products with it."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..engine.memory import require_memory
from .stored import KernelGram
from .tiles import added_up, dealt, run, slices

_TILE = 500


class PackedGram(KernelGram):
    """K stored as the tiles on and above its diagonal: half of the memory of an array.

    A product reads each tile once and uses it twice. Blocks are computed anew.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.gram.packed import PackedGram
    >>> K = PackedGram(Gaussian(), np.zeros((1000, 2)))
    >>> K
    PackedGram: 1000 x 1000, float64, its upper triangle stored in tiles; 6 MB
      k = Gaussian()
    >>> (K @ np.ones(1000))[:2]
    array([1000., 1000.])
    """

    storage = "its upper triangle stored in tiles"
    matrix_free = False

    @cached_property
    def strips(self) -> list[list[np.ndarray]]:
        """For each strip of rows, its tiles from the diagonal on."""
        require_memory(self.nbytes, f"half of a {self.shape[0]} x {self.shape[0]} kernel matrix")
        block, exact = self.kernel.tiles(self.X, self.X), self.kernel.diag(self.X)
        parts = slices(self.shape[0], _TILE)
        # in one piece, for which a system has larger pages than for many small ones
        memory = np.empty(self._entries, block(slice(0, 1), slice(0, 1)).dtype)
        strips: list[list[np.ndarray]] = []
        start = 0
        for i, rows in enumerate(parts):
            strips.append([])
            for cols in parts[i:]:
                shape = rows.stop - rows.start, cols.stop - cols.start
                end = start + shape[0] * shape[1]
                strips[i].append(memory[start:end].reshape(shape))
                start = end

        def fill(at: tuple[int, int]) -> None:
            i, j = at
            T = strips[i][j - i]
            T[:] = block(parts[i], parts[j])
            if i == j:
                np.fill_diagonal(T, exact[parts[i]])

        run(fill, [(i, j) for i in range(len(parts)) for j in range(i, len(parts))], self.workers)
        return strips

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        V = np.ascontiguousarray(V, dtype=self.dtype)
        n, columns = V.shape
        strips, hands = self.strips, dealt(len(self.strips))
        partial = np.zeros((len(hands), n, columns))

        def group(g: int) -> None:
            for i, j in hands[g]:
                _add(strips[i][j - i], V, partial[g], i * _TILE, j * _TILE)

        run(group, range(len(hands)), self.workers)
        return added_up(partial, self.workers)

    @property
    def nbytes(self) -> int:
        """The memory of the tiles."""
        return self._entries * self.dtype.itemsize

    @property
    def _entries(self) -> int:
        n = self.shape[0]
        squares = sum((part.stop - part.start) ** 2 for part in slices(n, _TILE))
        return (n * n + squares) // 2


def _add(T: np.ndarray, V: np.ndarray, out: np.ndarray, top: int, left: int) -> None:
    """Add what a tile at (top, left), and its mirror image, contribute to K V."""
    here, there = slice(top, top + T.shape[0]), slice(left, left + T.shape[1])
    out[here] += T @ V[there]
    if top != left:
        out[there] += T.T @ V[here]
