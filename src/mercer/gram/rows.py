"""Gram operators for solvers that ask for rows of K, many times: blocks, diagonal, products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import as_dense
from .base import Gram
from .exponential import Factors, exp_product, exp_scatter
from .row_loops import add_rows, gather, scatter
from .stored import squares
from .tiles import run, slices

_COLUMNS = 4000  # of a product, computed at a time by one thread, or
_PIECES = 48  # of a product of exponentials, at most: three for each of 16 cores
_ENTRIES = 200_000  # that are worth a piece
_NARROW = 250  # at least, where a plan allows little memory:
_PER_COLUMN = 16 * 8.0 * 500  # bytes of a column of 500 rows, on several threads in several copies
_OFF_CENTRE = 10.0  # squared distance of features from 0, in units of their spread, to be centred
_COPIED = 200  # up to this many samples of a given matrix, that part is copied
_RUNS = 3  # of consecutive indices in a subset, up to which columns are slices of the whole

Block = Callable[[Any, Any], np.ndarray]
Product = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class RowGram(Gram):
    """K given by a function for its blocks, which may be rounded to single precision.

    What solvers keep is computed by ``block`` and :meth:`write`; their checks, in double precision,
    use :meth:`product` and ``@``.

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
        The maximum error of entries of ``block``.
    workers : int, optional
        Threads.
    how : str
        How rows are computed and kept, in words.

    Attributes
    ----------
    card : DeviceMatrix or None
        All of the matrix that this is a part of, on a device (:mod:`.device.rows`).
    runs : array of shape (r, 2)
        This is the part of the matrix of ``factors`` with these runs of consecutive samples.
    """

    card: Any = None

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
        workers: int | None = None,
        how: str = "its rows computed when they are needed",
    ) -> None:
        self.error, self.matrix, self.workers, self.how = error, matrix, workers, how
        self._block, self.diagonal, self.factors = block, diagonal, factors
        self.runs = np.array([[0, len(diagonal)]])
        self.dtype, self.shape = np.dtype(dtype), (len(diagonal), len(diagonal))
        self.matrix_free = matrix is None
        self._product = product

    @classmethod
    def of(cls, gram: Gram, order: np.ndarray | None = None) -> RowGram:
        """The rows of any other operator, or of its samples in this order.

        Its features are used if it has any, and its array if it stores one; a matrix-free operator
        is asked for a few rows at a time.
        """
        inner = gram if order is None else gram.subset(order)
        workers = gram.workers
        if inner.features is not None:
            found: RowGram = FeatureRowGram(inner.features, workers=workers)
            found.span = inner.span  # type: ignore[method-assign]
        elif inner.matrix_free:
            found = cls(inner.block, inner.diag(), dtype=inner.dtype, workers=workers)
        else:
            n = len(inner)
            found = cls.stored(inner.dense(f"K of {n} samples", 8.0 * n * n), workers)
        found.limit = gram.limit
        return found

    @classmethod
    def stored(cls, matrix: np.ndarray, workers: int | None = None) -> RowGram:
        """The rows of an array."""
        K = np.ascontiguousarray(matrix, np.float64)
        return cls(
            lambda rows, cols: K[rows][:, cols], np.diagonal(K).copy(), matrix=K,
            workers=workers, how="stored as an array",
        )  # fmt: skip

    def block(self, rows: Any, cols: Any) -> np.ndarray:
        return self._block(rows, cols)

    def diag(self) -> np.ndarray:
        return self.diagonal

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        everything = np.arange(len(self))
        return np.stack([self.product(everything, everything, v) for v in V.T], axis=1)

    @property
    def nbytes(self) -> int:
        """The memory of the array, if there is one."""
        return 0 if self.matrix is None else self.matrix.nbytes

    def explain(self) -> str:
        return f"{super().explain()}, {self.how}"

    def subset(self, index: np.ndarray) -> RowGram:
        """K[index, index]; an index may occur more than once."""
        index = np.arange(len(self))[index]
        runs = _runs(index)
        if len(index) == len(self) and len(runs) == 1:  # all of them, in order
            return self
        part = RowGram(
            self.block_of(index, runs),
            self.diagonal[index],
            product=lambda rows, cols, weights: self.product(index[rows], index[cols], weights),
            matrix=None if self.matrix is None else self.matrix[np.ix_(index, index)],
            dtype=self.dtype,
            error=self.error,
            workers=self.workers,
            how=self.how,
        )
        part.limit = self.limit
        if self.factors is not None and len(self.runs) == 1 and len(runs) <= _RUNS:
            part.factors, part.runs = self.factors, runs + self.runs[0, 0]
        return part

    def centred(self) -> RowGram:
        """K of features minus their mean, if that saves digits; otherwise K itself.

        For beta that adds up to zero, K beta is the same but for :meth:`level`, a constant.
        """
        return self

    def level(self, beta: np.ndarray) -> float:
        """The constant by which K beta with the original features exceeds this K beta."""
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

    @property
    def source(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The matrix given by the user, if there is one, and the places of these samples in it."""
        return None

    def write(
        self, rows: np.ndarray, cols: Any, cache: np.ndarray, slots: np.ndarray, start: int
    ) -> None:
        """cache[slots, start : start + len(cols)] = K[rows, cols], for indices or a slice."""
        if self.factors is None:
            scatter(self.block(rows, cols), cache, slots, start)
        else:
            exp_scatter(*self.factors_of(rows, cols), cache, slots, start)

    def factors_of(self, rows: Any, cols: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """What K[rows, cols] is the exponential of, for indices or slices."""
        assert self.factors is not None
        left, right, unit = self.factors
        return left[self.samples(rows)], right[self.samples(cols)], unit

    def samples(self, index: Any) -> Any:
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
        wide = self._affordable(_COLUMNS)

        def part(at: slice) -> None:
            for of in slices(len(cols), wide):
                out[at] += self.block(rows[at], cols[of]) @ weights[of]

        run(part, slices(len(rows), 500), self.workers)
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
            there = right[at if everything else rows[at]]
            for of in slices(len(cols), 500):
                exp_product(left[of], there, unit, weights[of], out[at])

        if self.factors is not None:
            left, right, unit = self.factors
            everything = len(rows) == len(right)  # in order
            rows, left = self.samples(rows), left[self.samples(cols)]
            size = max(-(-len(rows) // _PIECES), min(1000, _ENTRIES // max(1, len(cols))))
            run(exponential, slices(len(rows), size), self.workers)
        else:
            run(part, slices(len(rows), self._affordable(1000)), self.workers)
        return out

    def _affordable(self, most: int) -> int:
        """How many columns, up to ``most``, of 500 rows a thread may compute at a time."""
        return int(min(most, max(_NARROW, self.limit / _PER_COLUMN)))


def _runs(index: np.ndarray) -> np.ndarray:
    """Start and end of the runs of consecutive numbers."""
    ends = np.append(np.flatnonzero(index[1:] - index[:-1] != 1), len(index) - 1)
    starts = np.append(0, ends[:-1] + 1)
    return np.column_stack([index[starts], index[ends] + 1])


class FeatureRowGram(RowGram):
    """K = Phi Phi' for explicit features, dense or CSR, from which ``origin`` was subtracted."""

    def __init__(
        self,
        phi: Any,
        *,
        dtype: Any = np.float64,
        origin: np.ndarray | None = None,
        workers: int | None = None,
    ) -> None:
        self.phi, self.origin = phi, origin
        diagonal = squares(phi, workers)
        how = f"its rows computed from {phi.shape[1]} features"
        super().__init__(self._features_block, diagonal, dtype=dtype, workers=workers, how=how)
        self.matrix_free = False

    @property
    def features(self) -> Any:
        """Phi, as it was centred."""
        return self.phi

    def _features_block(self, rows: Any, cols: Any) -> np.ndarray:
        return as_dense(self.phi[rows] @ self.phi[cols].T)

    def subset(self, index: np.ndarray) -> FeatureRowGram:
        if len(index) == len(self) and np.array_equal(index, np.arange(len(self))):
            return self
        return self._like(self.phi[index], self.origin)

    def centred(self) -> FeatureRowGram:
        if sp.issparse(self.phi) or self.origin is not None:
            return self
        origin = self.phi.mean(axis=0)
        squared = float(origin @ origin)
        if not squared > _OFF_CENTRE * (float(self.diagonal.mean()) - squared):
            return self
        return self._like(self.phi - origin, origin)

    def _like(self, phi: Any, origin: np.ndarray | None) -> FeatureRowGram:
        other = FeatureRowGram(phi, dtype=self.dtype, origin=origin, workers=self.workers)
        other.limit = self.limit
        return other

    def level(self, beta: np.ndarray) -> float:
        if self.origin is None:
            return 0.0
        weights = beta @ self.phi + self.origin * beta.sum()  # the sum is zero but for rounding
        return float(self.origin @ weights)

    def product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi[rows] @ (self.phi[cols].T @ weights)).ravel()

    rough_product = product


class GivenRowGram(RowGram):
    """A matrix given by the user, for some of its samples: entries are read when they are used.

    Parameters
    ----------
    values : array of shape (n, n)
        The matrix, which is not copied.
    index : array of int
        Which samples.
    dtype : numpy dtype
        The precision in which rows are kept.
    workers : int, optional
        Threads.
    """

    def __init__(
        self, values: np.ndarray, index: np.ndarray, dtype: Any, workers: int | None
    ) -> None:
        diagonal = values[index, index].astype(np.float64)
        error = float(np.finfo(dtype).eps * diagonal.max(initial=0.0))
        super().__init__(
            self._read, diagonal, dtype=dtype, error=error, workers=workers, how="as it was given"
        )
        self.matrix_free, self.values, self.index = False, values, index
        if len(index) <= _COPIED:
            self.matrix = values.take(index, axis=0).take(index, axis=1).astype(np.float64)

    def _read(self, rows: Any, cols: Any) -> np.ndarray:
        return self.values[np.ix_(self.index[rows], self.index[cols])]

    @property
    def source(self) -> tuple[np.ndarray, np.ndarray]:
        return self.values, self.index

    def write(
        self, rows: np.ndarray, cols: Any, cache: np.ndarray, slots: np.ndarray, start: int
    ) -> None:
        gather(self.values, self.index[rows], self.index[cols], cache, slots, start)

    def subset(self, index: np.ndarray) -> GivenRowGram:
        part = GivenRowGram(self.values, self.index[index], self.dtype, self.workers)
        part.limit = self.limit
        return part
