"""A kernel matrix as a solver of support vector machines sees it: blocks, diagonal, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..gram.tiles import run, slices
from .exponential import Factors, exp_product, exp_scatter
from .smo_loops import add_rows, runs_of, scatter

_COLUMNS = 4000  # of a product, computed at a time by one thread
_OFF_CENTRE = 10.0  # squared distance of features from 0, in units of their spread, to be centred
_RUNS = 3  # of consecutive indices in a subset, up to which columns are slices of the whole

Block = Callable[[Any, Any], np.ndarray]
Product = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Blocks:
    """K given by a function for its blocks.

    Parameters
    ----------
    block : callable
        (rows, cols) -> K[rows, cols] for integer arrays or slices.
    diagonal : array
        The diagonal of K.
    product : callable, optional
        (rows, cols, weights) -> K[rows, cols] @ weights in double precision, if there is a better
        way than by blocks.
    matrix : array, optional
        K itself, where it is in memory.
    factors : Factors, optional
        What K is the exponential of, in single precision.
    dtype : numpy dtype
        The precision in which rows are worth keeping.
    error : float
        By how much entries of ``block`` may be wrong.

    Attributes
    ----------
    runs : array of shape (r, 2)
        This is the part of the matrix of ``factors`` with these runs of consecutive samples.
    """

    def __init__(
        self,
        block: Block,
        diagonal: np.ndarray,
        *,
        product: Product | None = None,
        matrix: np.ndarray | None = None,
        factors: Factors | None = None,
        dtype: Any = np.float64,
        error: float = np.inf,
    ) -> None:
        self.error, self.matrix = error, matrix
        self.block, self.diagonal, self.factors = block, diagonal, factors
        self.runs = np.array([[0, len(diagonal)]])
        self.dtype = np.dtype(dtype)
        self._product = product

    def subset(self, index: np.ndarray) -> Blocks:
        """K[index, index]; an index may occur more than once."""
        runs = runs_of(index, _RUNS)
        part = Blocks(
            self.block_of(index, runs),
            self.diagonal[index],
            product=lambda rows, cols, weights: self.product(index[rows], index[cols], weights),
            matrix=None if self.matrix is None else self.matrix[np.ix_(index, index)],
            dtype=self.dtype,
            error=self.error,
        )
        if self.factors is not None and len(self.runs) == 1 and len(runs) <= _RUNS:
            part.factors, part.runs = self.factors, runs + self.runs[0, 0]
        return part

    def centred(self) -> Blocks:
        """K of features less their mean, where that saves digits; else K itself.

        For beta that adds up to zero, K beta is the same but for :meth:`level`, a constant.
        """
        return self

    def level(self, beta: np.ndarray) -> float:
        """What K beta of the features as they were exceeds this K beta by, at all samples."""
        return 0.0

    def block_of(self, index: np.ndarray, runs: np.ndarray) -> Block:
        """The blocks of K[index, index]; the data are not copied where indices are consecutive."""
        if len(runs) > _RUNS:
            return lambda rows, cols: self.block(index[rows], index[cols])
        ends = np.cumsum(runs[:, 1] - runs[:, 0])

        def block(rows: Any, cols: Any) -> np.ndarray:
            rows = index[rows]
            if not isinstance(cols, slice):
                return self.block(rows, index[cols])
            first, last, _ = cols.indices(len(index))
            parts = [
                self.block(rows, slice(index[max(a, first)], index[min(b, last) - 1] + 1))
                for a, b in zip([0, *ends], ends, strict=False)
                if max(a, first) < min(b, last)
            ]
            return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

        return block

    def write(
        self, rows: np.ndarray, cols: Any, cache: np.ndarray, slots: np.ndarray, start: int
    ) -> None:
        """cache[slots, start : start + len(cols)] = K[rows, cols], for indices or a slice."""
        if self.factors is None:
            scatter(self.block(rows, cols), cache, slots, start)
        else:
            left, right, unit = self.factors
            left, right = left[self._samples(rows)], right[self._samples(cols)]
            exp_scatter(left, right, unit, cache, slots, start)

    def _samples(self, index: Any) -> Any:
        """Where the samples of these indices are in ``factors``."""
        if len(self.runs) > 1:
            return np.concatenate([np.arange(*ends) for ends in self.runs])[index]
        offset = self.runs[0, 0]
        if isinstance(index, slice):
            return slice(offset + index.start, offset + index.stop)
        return offset + index

    def product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """K[rows, cols] @ weights in double precision, never stored."""
        if self._product is not None:
            return self._product(rows, cols, weights)
        out = np.zeros(len(rows))

        def part(at: slice) -> None:
            for of in slices(len(cols), _COLUMNS):
                out[at] += self.block(rows[at], cols[of]) @ weights[of]

        run(part, slices(len(rows), 500))
        return out

    def rough_product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """K[rows, cols] @ weights, as exact as the blocks are."""
        out = np.zeros(len(rows))
        if self.matrix is not None and len(rows) == len(self.matrix):  # all of them, in order
            add_rows(out, self.matrix, cols, weights, 0, len(rows))
            return out

        def part(at: slice) -> None:
            for of in slices(len(cols), 500):
                T = np.ascontiguousarray(self.block(cols[of], rows[at]))
                add_rows(out[at], T, np.arange(len(T)), weights[of], 0, T.shape[1])

        def exponential(at: slice) -> None:
            for of in slices(len(cols), 500):
                exp_product(left[cols[of]], right[rows[at]], unit, weights[of], out[at])

        if self.factors is not None:
            left, right, unit = self.factors
            rows, cols = self._samples(rows), self._samples(cols)
            run(exponential, slices(len(rows), 1000))
        else:
            run(part, slices(len(rows), 1000))
        return out


class FeatureBlocks(Blocks):
    """K = Phi Phi' for explicit features, dense or CSR, from which ``origin`` was subtracted."""

    def __init__(
        self, phi: Any, *, dtype: Any = np.float64, origin: np.ndarray | None = None
    ) -> None:
        self.phi, self.origin = phi, origin
        squares = phi.multiply(phi) if sp.issparse(phi) else phi * phi
        diagonal = np.asarray(squares.sum(axis=1)).ravel()
        super().__init__(self._features_block, diagonal, dtype=dtype)

    def _features_block(self, rows: Any, cols: Any) -> np.ndarray:
        product = self.phi[rows] @ self.phi[cols].T
        return product.toarray() if sp.issparse(product) else product

    def subset(self, index: np.ndarray) -> FeatureBlocks:
        return FeatureBlocks(self.phi[index], dtype=self.dtype, origin=self.origin)

    def centred(self) -> FeatureBlocks:
        if sp.issparse(self.phi) or self.origin is not None:
            return self
        origin = self.phi.mean(axis=0)
        squared = float(origin @ origin)
        if not squared > _OFF_CENTRE * (float(self.diagonal.mean()) - squared):
            return self
        return FeatureBlocks(self.phi - origin, dtype=self.dtype, origin=origin)

    def level(self, beta: np.ndarray) -> float:
        if self.origin is None:
            return 0.0
        weights = beta @ self.phi + self.origin * beta.sum()  # the sum is zero but for rounding
        return float(self.origin @ weights)

    def product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi[rows] @ (self.phi[cols].T @ weights)).ravel()

    rough_product = product
