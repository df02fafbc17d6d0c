"""A kernel matrix as a solver of support vector machines sees it: blocks, diagonal, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..gram.tiles import run, slices

_COLUMNS = 4000  # of a product, computed at a time by one thread


class Blocks:
    """K given by a function for its blocks.

    Parameters
    ----------
    block : callable
        (rows, cols) -> K[rows, cols] for integer arrays or slices.
    diagonal : array
        The diagonal of K.
    """

    def __init__(self, block: Callable[[Any, Any], np.ndarray], diagonal: np.ndarray) -> None:
        self.block, self.diagonal = block, diagonal

    def subset(self, index: np.ndarray) -> Blocks:
        """K[index, index]; an index may occur more than once."""
        return Blocks(lambda rows, cols: self.block(index[rows], index[cols]), self.diagonal[index])

    def product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """K[rows, cols] @ weights, never stored."""
        out = np.zeros(len(rows))

        def part(at: slice) -> None:
            for of in slices(len(cols), _COLUMNS):
                out[at] += self.block(rows[at], cols[of]) @ weights[of]

        run(part, slices(len(rows), 500))
        return out


class FeatureBlocks(Blocks):
    """K = Phi Phi' for explicit features, dense or CSR."""

    def __init__(self, phi: Any) -> None:
        self.phi = phi
        squares = phi.multiply(phi) if sp.issparse(phi) else phi * phi
        super().__init__(self._features_block, np.asarray(squares.sum(axis=1)).ravel())

    def _features_block(self, rows: Any, cols: Any) -> np.ndarray:
        product = self.phi[rows] @ self.phi[cols].T
        return product.toarray() if sp.issparse(product) else product

    def subset(self, index: np.ndarray) -> FeatureBlocks:
        return FeatureBlocks(self.phi[index])

    def product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi[rows] @ (self.phi[cols].T @ weights)).ravel()
