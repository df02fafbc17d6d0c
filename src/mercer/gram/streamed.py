"""K between samples that come in chunks and a few columns: never stored, one pass at a time."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..chunks.base import Chunk, Chunks, Sums
from ..data import Data, Rows, as_dense, length, take
from ..exceptions import not_finite
from ..features.sparse import compress
from ..kernels.base import Kernel
from ..kernels.evaluator import exponents
from .base import Gram
from .tiles import COMPILED, TILE, Exponential, check_cancelled, run, slices

_GROUPS = 16  # accumulators of a pass: which strips go to which does not depend on the threads
_STRIP = 4_000_000  # bytes of a strip of rows, which is used twice and should stay in cache
_SUMMED = 1000  # columns whose products are added up in single precision

Block = Callable[[slice], list[Any]]
Between = Callable[[np.ndarray, Chunk], tuple[np.ndarray, Sums]]


class Columns(ABC):
    """A function of samples with values in R^M, such as kernel values with centres."""

    kernel: Kernel
    size: int  # M
    device: str = "cpu"

    @abstractmethod
    def blocks(self, X: Data, dtype: Any = None) -> Block:
        """A function of a slice of these samples: their rows, as pieces side by side.

        A piece is valid until the same thread requests the next one. In the precision of the
        samples; with ``dtype`` float64 in double; with float32 in single where that is quicker and
        loses no more than rounding.
        """


@dataclass
class Centres(Columns):
    """The values k(x, z) at M centres z, computed on a device, in a precision of the plan."""

    kernel: Kernel
    Z: Data  # as they were given
    device: str = "cpu"
    precision: str | None = None

    def __post_init__(self) -> None:
        self.size = length(self.Z)

    def blocks(self, X: Data, dtype: Any = None) -> Block:
        if self.device != "cpu":
            from .device.passes import device_block

            return device_block(self, X, dtype)
        P, Q = (self.kernel.prepare(in_double(part, dtype)) for part in (X, self.Z))
        parts = slices(self.size, TILE)
        return self._exponential(P, Q, dtype) or _pieces(self.kernel.tiles(P, Q), parts)

    def _exponential(self, P: Data, Q: Data, dtype: Any) -> Block | None:
        """From exponents, where k = exp(...) and these are exact: compiled, in single precision."""
        if length(P) * self.size < COMPILED:
            return None
        single = dtype == np.float32 or getattr(P, "dtype", None) == np.float32
        kind = np.float32 if single else None
        found = exponents(self.kernel.formula(P), self.kernel.formula(Q), kind)
        if found is None or found.in_doubt:
            return None
        if found.left.dtype.kind != "f":  # words of bits, whose number of differing ones counts
            return self._bits(found) if single else _pieces(found.exp, slices(self.size, TILE))
        rows_of = Exponential(found.left, found.right)
        parts = slices(self.size, _SUMMED if rows_of.dtype == np.float32 else self.size)

        def block(rows: slice) -> list[Any]:
            out = rows_of(rows, slice(0, self.size))
            return [out[:, part] for part in parts]

        return block

    def _bits(self, found: Any) -> Block:
        from .exponential import exp_block

        left, right, unit = found.left, found.right, np.float32(found.unit)
        own = threading.local()  # fresh memory takes longer than what is written into it

        def block(rows: slice) -> list[Any]:
            size = rows.stop - rows.start
            if len(getattr(own, "out", ())) < size:
                own.out = np.empty((size, self.size), np.float32)
            exp_block(left[rows], right, unit, own.out[:size])
            return [own.out[:size, part] for part in slices(self.size, _SUMMED)]

        return block


@dataclass
class FeatureColumns(Columns):
    """The features of a kernel that has M of them, dense or sparse."""

    kernel: Kernel
    size: int

    def blocks(self, X: Data, dtype: Any = None) -> Block:
        P = self.kernel.prepare(in_double(X, dtype))
        return lambda rows: [self._features(take(P, rows))]

    def _features(self, P: Data) -> Any:
        """Samples that consist of nothing have sparse features in any case."""
        phi: Any = self.kernel.features(P)
        return compress(phi, np.arange(self.size)) if phi.shape[1] != self.size else phi


def _pieces(tile: Callable[[slice, slice], Any], parts: list[slice]) -> Block:
    return lambda rows: [tile(rows, cols) for cols in parts]


def in_double(X: Data, dtype: Any = np.float64) -> Data:
    """Numbers in single precision as doubles, if requested."""
    single = dtype == np.float64 and getattr(X, "dtype", None) == np.float32
    return X.astype(np.float64) if single else X


@dataclass
class Pass:
    """One pass over a chunk: K' U of U = between(K V, chunk), and what ``between`` adds up.

    A value, not a closure, so that it can be sent to where the chunk is.
    """

    columns: Columns
    V: np.ndarray | None
    between: Between
    outputs: int
    workers: int | None = None
    dtype: Any = None

    def __call__(self, chunk: Chunk) -> Sums:
        """K' U, then the other sums."""
        n, m = len(chunk), self.columns.size
        block = self.columns.blocks(chunk.X, self.dtype)
        itemsize = 8 if self.dtype == np.float64 else 4
        strips = slices(n, max(64, min(_STRIP // (itemsize * max(m, 1)), -(-n // _GROUPS))))
        groups = max(1, min(_GROUPS, len(strips)))
        partial = np.zeros((groups, m, self.outputs))
        others: list[list[Sums]] = [[] for _ in range(groups)]

        def group(g: int) -> None:
            for rows in strips[g::groups]:
                check_cancelled()
                pieces = block(rows)
                F = self._scores(pieces, rows)
                U, sums = self.between(F, chunk.rows(rows))
                if self.outputs:
                    _add(partial[g], pieces, U)
                others[g].append(sums)

        run(group, range(groups), self.workers)
        sums = [each for group_sums in others for each in group_sums]
        return (partial.sum(axis=0), *(np.sum(parts, axis=0) for parts in zip(*sums, strict=True)))

    def _scores(self, pieces: list[Any], rows: slice) -> np.ndarray:
        if self.V is None:
            return np.zeros((rows.stop - rows.start, 0))
        F, start = np.zeros((rows.stop - rows.start, self.V.shape[1])), 0
        with np.errstate(over="ignore", invalid="ignore"):
            for piece in pieces:
                stop = start + piece.shape[1]
                F += piece @ self.V[start:stop].astype(piece.dtype, copy=False)
                start = stop
        if not np.all(np.isfinite(F)):
            raise not_finite(self.columns.kernel)
        return F


def there(job: Pass, kept: Any) -> Pass:
    """A pass where its columns are computed; what is ``kept`` on a device stays there."""
    if job.columns.device == "cpu":
        return job
    from .device.passes import DevicePass

    return DevicePass(**vars(job), kept=kept)


def _add(total: np.ndarray, pieces: list[Any], U: np.ndarray) -> None:
    start = 0
    for piece in pieces:
        stop = start + piece.shape[1]
        total[start:stop] += piece.T @ U.astype(piece.dtype, copy=False)
        start = stop


class StreamedGram(Gram):
    """K between n samples in chunks and M columns, computed whenever it is used.

    Parameters
    ----------
    columns : Columns
        Centres or features, evaluated at the samples.
    chunks : Chunks
        The samples, with targets and weights if they have any.
    workers : int, optional
        The number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.streamed import Centres, StreamedGram
    >>> X = np.linspace(0, 1, 1000)[:, None]
    >>> K = StreamedGram(Centres(Gaussian(0.5), X[::100]), ArrayChunks(X, X[:, 0], rows=300))
    >>> K.shape, np.allclose(K.normal(np.ones(10)), Gaussian(0.5)(X[::100], X) @ (K @ np.ones(10)))
    ((1000, 10), True)
    """

    symmetric = False
    matrix_free = True

    def __init__(self, columns: Columns, chunks: Chunks, workers: int | None = None) -> None:
        self.columns, self.chunks, self.workers = columns, chunks, workers
        self.kernel = columns.kernel
        self.dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.chunks.n_samples, self.columns.size

    def through(
        self, V: np.ndarray | None, between: Between, outputs: int, dtype: Any = None
    ) -> tuple[np.ndarray, Sums]:
        """K' U in one pass, with U = ``between(K V, chunk)``, and the other sums it returns.

        Every entry of K is computed once and used twice. ``between`` is called with the rows of
        K V of some samples and these samples as a :class:`~mercer.chunks.Chunk`; it returns the
        same number of rows of U, with ``outputs`` columns, and a tuple of arrays that are added up
        over all samples. With V = None the scores have no columns. A normal product is F -> F, a
        gradient F -> w L'(y, F), a product with the Hessian (F, D) -> w L''(y, F) D. The precision
        of K is that of the samples, or ``dtype``, see :meth:`Columns.blocks`.
        """
        V = None if V is None else np.asarray(V, dtype=np.float64)
        job = Pass(self.columns, V, between, outputs, self.workers, dtype)
        product, *sums = self.chunks.reduce(there(job, self._kept))
        return product, tuple(sums)

    @cached_property
    def _kept(self) -> Any:
        """What stays on a device between passes, as long as this operator is there."""
        if self.columns.device == "cpu":
            return None
        from .device.slabs import Kept

        return Kept(self.chunks.n_samples)

    def normal(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=np.float64)
        columns = V[:, None] if V.ndim == 1 else V
        product = self.through(columns, as_they_are, columns.shape[1])[0]
        return product[:, 0] if V.ndim == 1 else product

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        parts = self.chunks.map(Scores(self.columns, np.asarray(V, np.float64), self.workers))
        return np.concatenate(list(parts))

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        wanted = np.arange(self.shape[0])[rows]
        out = np.empty((len(wanted), len(np.arange(self.shape[1])[cols])))
        for chunk in self.chunks:
            here = np.flatnonzero((wanted >= chunk.start) & (wanted < chunk.start + len(chunk)))
            if len(here):
                some = chunk.rows(wanted[here] - chunk.start)
                pieces = self.columns.blocks(some.X)(slice(0, len(some)))
                whole = np.hstack([as_dense(p) for p in pieces])
                out[here] = whole[:, cols]
        return out

    @property
    def nbytes(self) -> int:
        """Accumulators and strips; the n x M matrix is never there."""
        return 16 * self.shape[1] * 8 + 4 * _STRIP


@dataclass
class Scores:
    """K V of one chunk."""

    columns: Columns
    V: np.ndarray
    workers: int | None = None

    def __call__(self, chunk: Chunk) -> np.ndarray:
        """One row for each sample."""
        out = np.empty((len(chunk), self.V.shape[1]))

        def keep(F: np.ndarray, part: Chunk) -> tuple[np.ndarray, Sums]:
            start = part.start - chunk.start
            out[start : start + len(part)] = F
            return F[:, :0], ()

        job = Pass(self.columns, self.V, keep, 0, self.workers)
        there(job, self._columns)(chunk)
        return out

    @cached_property
    def _columns(self) -> Any:
        """What is prepared of the columns for all chunks."""
        if self.columns.device == "cpu":
            return None
        from .device.slabs import Kept

        return Kept()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_columns"}


class AsTheyAre:
    """U = F, or with weights U = w F; of arrays, or of tensors where they are."""

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        return (F if chunk.weight is None else chunk.weight[:, None] * F), ()

    on_device = __call__


as_they_are = AsTheyAre()
