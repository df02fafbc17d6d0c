"""K for very many products: in its own precision, with as many tiles kept as memory allows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, Rows
from ..engine.memory import memory_words
from ..engine.schedule import Schedule
from ..kernels.base import Kernel, Tile
from ..kernels.evaluator import Evaluator, exponents
from ..kernels.formula import INNER, Atom, Formula
from ..kernels.vectors.distances import centre
from .base import Gram
from .kept import kept_product
from .tiles import GROUPS, compiled, exponential, symmetric_product, tile_size, wide

if TYPE_CHECKING:
    from .stored import KernelGram


class ProductGram(Gram):
    """A kernel matrix whose products are computed in single or double precision.

    Tiles come from the formula of the kernel, with coordinates rounded after a shift that leaves
    distances unchanged, or from the kernel itself if it states none. The tiles that are kept are
    spread evenly over the upper triangle, so that the work is balanced between threads. The result
    of a product does not depend on how many are kept.

    Parameters
    ----------
    inner : KernelGram
        The square operator whose entries these are.
    dtype : dtype
        The precision of tiles; they are added up in double precision.
    room : float
        Bytes that may be kept.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Plan
    >>> K = Gaussian().gram(np.zeros((1000, 2)), Plan(storage="tiled"))
    >>> K.products(np.float32, room=1e6)
    ProductGram: 1000 x 1000, products in float32, up to 1 MB of its upper triangle kept
    """

    def __init__(self, inner: KernelGram, dtype: Any, room: float = 0.0) -> None:
        self.inner, self.shape, self.dtype = inner, inner.shape, np.dtype(dtype)
        self.limit, self.workers, self.kernel = inner.limit, inner.workers, inner.kernel
        self.room = max(float(room), 0.0)
        self._kept: dict[tuple[int, int], np.ndarray] = {}
        self._schedules: dict[int, Schedule] = {}

    @cached_property
    def _compute(self) -> Tile:
        if self.room >= self._whole and self.dtype == self.inner.dtype:
            return self.kernel.tiles(self.inner.X, self.inner.X)  # each only once
        return tiles_in(self.kernel, self.inner.X, self.dtype)

    @cached_property
    def _diagonal(self) -> np.ndarray:
        return diagonal_in(self.inner, self.dtype)

    def _tile(self, memory: np.ndarray, rows: slice, cols: slice) -> np.ndarray:
        place = rows.start, cols.start
        tile = self._kept.get(place)
        if tile is None:
            tile = self._compute(rows, cols)
            number = self._chosen.get(place)
            if number is not None:  # in one piece of memory, of which the system gives large pages
                kept = memory[number, : tile.size].reshape(tile.shape)
                kept[...] = tile
                tile = self._kept[place] = kept
        return tile

    @cached_property
    def _memory(self) -> np.ndarray:
        """Room for the tiles that are kept."""
        return np.empty((len(self._chosen), tile_size(*self.shape) ** 2), self.dtype)

    @cached_property
    def _chosen(self) -> dict[tuple[int, int], int]:
        """The tiles to keep, numbered, by a sequence of low discrepancy in the plane."""
        size = tile_size(*self.shape)
        starts = range(0, self.shape[0], size)
        i, j = np.triu_indices(len(starts))
        count = int(min(self.room / (size * size * self.dtype.itemsize), len(i)))
        first = np.argsort((0.7548776662466927 * i + 0.5698402909980532 * j) % 1.0, kind="stable")
        return {(int(i[k]) * size, int(j[k]) * size): a for a, k in enumerate(first[:count])}

    @property
    def _whole(self) -> float:
        """Bytes of all tiles."""
        n, size = self.shape[0], tile_size(*self.shape)
        return (n * n + n * size) / 2 * self.dtype.itemsize

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=np.float64)
        largest = np.abs(V).max(axis=0, initial=0.0)
        unit = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))  # rounds nothing
        scaled = np.ascontiguousarray(V / unit, dtype=self.dtype)
        size = tile_size(*self.shape)
        if not self._stored or wide(scaled):
            tile = partial(self._tile, self._memory)
            exact, workers = self._diagonal, self.workers
            return symmetric_product(tile, exact, scaled, size=size, workers=workers) * unit
        schedule = self._schedules.get(V.shape[1])
        if schedule is None:
            schedule = kept_product(len(V), size, V.shape[1], self._chosen)
            self._schedules[V.shape[1]] = schedule
        sums = np.zeros((min(GROUPS, len(self._kept)), *V.shape))
        schedule.execute(self._memory, scaled, sums, workers=self.workers)
        return sums[0] * unit

    @property
    def _stored(self) -> bool:
        """Are all tiles stored, in the precision in which they are added up?"""
        strips = -(-self.shape[0] // tile_size(*self.shape))
        return self.dtype == np.float64 and len(self._kept) == strips * (strips + 1) // 2

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        return self.inner.block(rows, cols).astype(self.dtype, copy=False)

    def diag(self) -> np.ndarray:
        return self._diagonal.copy()

    def cross(self, X_new: Data) -> Gram:
        return self.inner.cross(X_new)

    @property
    def nbytes(self) -> int:
        """The memory of the tiles that are kept, and of accumulators."""
        return int(min(self.room, self._whole)) + self.inner.nbytes

    def explain(self) -> str:
        n, m = self.shape
        kept = memory_words(min(self.room, self._whole))
        return (
            f"ProductGram: {n} x {m}, products in {self.dtype}, up to {kept} of its upper triangle "
            f"kept"
        )


def tiles_in(kernel: Kernel, X: Data, dtype: np.dtype) -> Tile:
    """A function (rows, cols) -> K[rows, cols] of prepared X in this precision.

    A tile may be overwritten when the same thread requests the next one.
    """
    formula = kernel.formula(X)
    atoms = formula is not None and any(True for _ in formula.atoms())
    if formula is None or not atoms or formula.dtype == dtype:
        given = exponential(kernel, X, X) if atoms else None
        return given or _cast(kernel.tiles(X, X), dtype)
    if dtype == np.float64:  # before anything is taken from a centre
        formula = _rounded(formula, dtype)
    bare = exponents(formula, formula, dtype)
    if bare is not None and not bare.in_doubt:
        return compiled(bare) or _cast(bare.exp, dtype)
    evaluator = Evaluator([_rounded(formula, dtype)])
    return _cast(lambda rows, cols: next(evaluator(rows, cols)), dtype)


def _cast(tile: Tile, dtype: np.dtype) -> Tile:
    return lambda rows, cols: tile(rows, cols).astype(dtype, copy=False)


def diagonal_in(gram: KernelGram, dtype: np.dtype) -> np.ndarray:
    """The diagonal of K; optionally in double precision, also for samples in single precision."""
    formula = gram.kernel.formula(gram.X) if gram.dtype != dtype == np.float64 else None
    if formula is None:
        return gram.diag()
    return np.array(np.broadcast_to(_rounded(formula, dtype).diag(), len(gram)), dtype=dtype)


def _rounded(formula: Formula, dtype: np.dtype) -> Formula:
    """The formula of points in another precision; of distances, from a centre of the points."""
    known: dict[tuple[int, bool], Any] = {}

    def change(atom: Atom) -> Atom:
        points = atom.points
        still = atom.metric == INNER or sp.issparse(points) or dtype == np.float64
        place = id(points), still
        if place not in known:
            known[place] = (points if still else points - centre(points)).astype(dtype)
        return replace(atom, points=known[place])

    return formula.map(change)
