"""Kernel matrices tile by tile, on all cores: the engine of every Gram operator.

A tile is small enough to stay in cache between the matrix product and the elementwise function
that follows it. Tiles are shared by the calling thread and a pool of others. The order of additions
does not depend on the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import Data, length, take
from ..engine.memory import require_memory
from ..engine.products import add_product
from ..engine.threads import check_cancelled, cores, on_pool, one_blas_thread, run
from ..exceptions import not_finite
from ..kernels.base import Kernel, Tile
from ..kernels.evaluator import exponents

__all__ = [
    "COMPILED",
    "GROUPS",
    "TILE",
    "Exponential",
    "Tile",
    "added_up",
    "check_cancelled",
    "contract",
    "cores",
    "dealt",
    "evaluate",
    "exponential",
    "multiply",
    "on_pool",
    "one_blas_thread",
    "row_means",
    "run",
    "slices",
    "symmetric_product",
    "symmetric_sum",
    "tile_size",
    "upper",
    "wide",
]

TILE = 500  # not a power of two, so that rows of a tile use different cache sets
_AT_ONCE = 3.5  # arrays of the size of a tile that a thread needs to compute one
_ALONG = 8  # minimum of tiles along a side: with half as many, half of 16 cores would be idle
_CHEAP = 150  # rows of a tile that takes no longer than dispatching it
_SLOPES = 250  # rows of one of slopes, at least: dozens of operations, and the interpreter for each
_PAIRS = 16  # tiles along a side, and rows of one, where values are computed pair by pair
COMPILED = 10_000_000  # entries from which it pays to load compiled loops
GROUPS = 16  # independent accumulators of a symmetric product
_SUMMED = 100_000  # numbers of accumulators that are worth a second thread
_ACCUMULATORS = 256e6  # bytes they may take; beyond, there is one, and tiles come in rounds


def evaluate(
    kernel: Kernel, X: Data, Y: Data, *, workers: int | None = None, tile: int | None = None
) -> np.ndarray:
    """[k(x_i, y_j)] of prepared X and Y as one array; symmetric to the last bit if Y is X."""
    n, m = length(X), length(Y)
    if X is not Y and (found := exponential(kernel, X, Y)):
        require_memory(n * m * found.dtype.itemsize, f"a {n} x {m} kernel matrix")
        out = np.empty((n, m), found.dtype)
        run(lambda rows: found.write(rows, out[rows]), slices(n, TILE), workers)
        return out
    block = kernel.tiles(X, Y)
    if n * m <= 128 * 128 and X is not Y:
        return block(slice(0, n), slice(0, m))
    probe = block(slice(0, 1), slice(0, 1))
    require_memory(n * m * probe.dtype.itemsize, f"a {n} x {m} kernel matrix")
    out = np.empty((n, m), probe.dtype)
    size = tile or tile_size(n, m, kernel.by_pairs)
    if X is Y:
        exact = diagonal(kernel, X)

        def fill(at: tuple[slice, slice]) -> None:
            rows, cols = at
            T = block(rows, cols)
            if rows == cols:
                T = (T + T.T) / 2
                np.fill_diagonal(T, exact[rows])
                out[rows, cols] = T
            else:
                out[rows, cols] = T
                out[cols, rows] = T.T

        jobs = upper(n, size)
    else:

        def fill(at: tuple[slice, slice]) -> None:
            out[at] = block(*at)

        jobs = [(r, c) for r in slices(n, size) for c in slices(m, size)]
    run(fill, jobs, workers)
    return out


class Exponential:
    """K = exp(exponents), compiled; exponents are inner products of rows."""

    def __init__(self, left: np.ndarray, right: np.ndarray) -> None:
        from .microkernel import exp_panels, panels

        self._exp, self._panels = exp_panels, panels
        self.left, self.right, self.dtype = left, right, left.dtype
        self._packed: dict[tuple[int, int], np.ndarray] = {}
        self._own = threading.local()  # fresh memory takes longer than what is written into it

    def write(self, rows: slice, out: np.ndarray, cols: slice = slice(None)) -> None:
        """out = K[rows, cols]; columns are rearranged once for each slice of them."""
        place = cols.start, cols.stop
        packed = self._packed.get(place)
        if packed is None:
            packed = self._packed[place] = self._panels(self.right[cols])
        self._exp(self.left[rows], packed, out)

    def adder(self, cols: slice, weights: np.ndarray) -> Callable[[slice, np.ndarray], None]:
        """(rows, out) -> out += K[rows, cols] @ weights, for a few columns of weights.

        One compiled call for all columns: threads need the interpreter lock only once for many
        rows.
        """
        from .microkernel import add_exp_product, panels

        packed = panels(self.right[cols])
        padded = np.zeros((weights.shape[1], packed.shape[0] * packed.shape[2]))
        padded[:, : len(weights)] = weights.T

        def add(rows: slice, out: np.ndarray) -> None:
            add_exp_product(self.left[rows], packed, padded, out)

        return add

    def __call__(self, rows: slice, cols: slice) -> np.ndarray:
        """A tile of K, valid until this thread requests the next one."""
        shape = rows.stop - rows.start, cols.stop - cols.start
        if getattr(self._own, "memory", np.zeros(0)).size < shape[0] * shape[1]:
            self._own.memory = np.empty(shape[0] * shape[1], self.dtype)
        out = self._own.memory[: shape[0] * shape[1]].reshape(shape)
        self.write(rows, out, cols)
        return out


def exponential(kernel: Kernel, X: Data, Y: Data, least: int | None = None) -> Exponential | None:
    """K of prepared samples, where it is the exponential of inner products, of ``least`` values."""
    if length(X) * length(Y) < (COMPILED if least is None else least):
        return None
    return compiled(exponents(kernel.formula(X), kernel.formula(Y)), least)


def compiled(found: Any, least: int | None = None) -> Exponential | None:
    """Exponents as a compiled function, if there are many and none of them has to be corrected."""
    if found is None or found.in_doubt or found.left.dtype.kind != "f":
        return None
    few = len(found.left) * len(found.right) < (COMPILED if least is None else least)
    return None if few else Exponential(found.left, found.right)


def in_flight(n: int, workers: int | None, itemsize: int) -> float:
    """Bytes of the tiles that exist at once while an n x n matrix is computed.

    Those of a matrix that is hardly larger than a tile do not count.
    """
    if n <= TILE:
        return 0.0
    return _AT_ONCE * itemsize * tile_size(n, n) ** 2 * (workers or cores())


def multiply(
    kernel: Kernel,
    X: Data,
    Y: Data,
    V: np.ndarray,
    *,
    workers: int | None = None,
    tile: int | None = None,
) -> np.ndarray:
    """K(X, Y) @ V of prepared X and Y without forming K; tiles are added up in float64."""
    n, m, k = length(X), length(Y), V.shape[1]
    block = kernel.tiles(X, Y)
    size = tile or tile_size(n, m, kernel.by_pairs)
    V = np.ascontiguousarray(V, dtype=block(slice(0, 1), slice(0, 1)).dtype)
    if X is Y:
        return symmetric_product(block, diagonal(kernel, X), V, size=size, workers=workers)
    out = np.zeros((n, k))

    def strip(rows: slice) -> None:
        for cols in slices(m, size):
            check_cancelled()
            out[rows] += block(rows, cols) @ V[cols]

    run(strip, slices(n, size), workers)
    return out


def contract(
    kernel: Kernel,
    X: Data,
    weights: Callable[[slice, slice], np.ndarray],
    *,
    workers: int | None = None,
    tile: int | None = None,
) -> np.ndarray:
    """sum_ij W_ij dk(x_i, x_j)/dtheta of prepared X, for a symmetric W given by its tiles.

    ``weights(rows, cols)`` is W[rows, cols]; only the upper triangle of tiles is used, and those
    off the diagonal count twice. Neither W nor a matrix of derivatives is ever formed.
    """
    n, p = length(X), len(kernel.theta)
    if not p:
        return np.zeros(0)
    coarse = tile_size(n, n, True) if kernel.by_pairs else max(_SLOPES, min(TILE, n // 4))
    jobs = upper(n, tile or coarse)
    partial = np.empty((len(jobs), p))  # one row per tile: added up in the same order, always

    def one(place: int) -> None:
        rows, cols = jobs[place]
        A = take(X, rows)
        if rows == cols:
            partial[place] = kernel.grad_theta(A, A, weights(rows, cols))
        else:
            partial[place] = 2 * kernel.grad_theta(A, take(X, cols), weights(rows, cols))

    run(one, range(len(jobs)), workers)
    return partial.sum(axis=0)


def diagonal(kernel: Kernel, X: Data) -> np.ndarray:
    """k(x, x), which bounds all other values of a kernel; an error if it is not finite."""
    exact = kernel.diag(X)
    if not np.all(np.isfinite(exact)):
        raise not_finite(kernel)
    return exact


def row_means(kernel: Kernel, X: Data, Y: Data) -> np.ndarray:
    """[mean_j k(x_i, y_j)] of prepared X and Y."""
    m = length(Y)
    return multiply(kernel, X, Y, np.full((m, 1), 1 / m))[:, 0]


def symmetric_product(
    block: Tile, exact: np.ndarray, V: np.ndarray, *, size: int, workers: int | None = None
) -> np.ndarray:
    """K @ V from the upper triangle of tiles, each used twice; added up in float64.

    The order of additions is the same for any number of threads. Tiles are assigned to a fixed
    number of groups with an accumulator each; or, if V is so wide that these would be large, tiles
    come in rounds in which no two share a row or column of K.

    Parameters
    ----------
    block : callable
        (rows, cols) -> K[rows, cols], whose diagonal is overwritten.
    exact : array of shape (n,)
        The diagonal of K.
    V : array of shape (n, t)
        In the precision of the tiles.
    size : int
        The rows of a tile.
    """
    V, strips, double = np.ascontiguousarray(V), slices(len(V), size), V.dtype == np.float64

    def add(rows: slice, cols: slice, total: np.ndarray) -> None:
        check_cancelled()
        T = block(rows, cols)
        if rows == cols:
            np.fill_diagonal(T, exact[rows])
        if double:  # one call each, for which threads need the interpreter lock once
            T = np.ascontiguousarray(T, np.float64)  # another block of a user's may be of float32
            add_product(total[rows], T, V[cols])
            if rows != cols:
                add_product(total[cols], T, V[rows], transposed=True)
        else:
            total[rows] += T @ V[cols]
            if rows != cols:
                total[cols] += T.T @ V[rows]

    if wide(V):
        out = np.zeros(V.shape)
        for pairs in _rounds(len(strips)):
            run(lambda at: add(strips[at[0]], strips[at[1]], out), pairs, workers)
        return out
    groups = dealt(len(strips))
    partial = np.zeros((len(groups), *V.shape))

    def group(g: int) -> None:
        for i, j in groups[g]:
            add(strips[i], strips[j], partial[g])

    run(group, range(len(groups)), workers)
    return added_up(partial, workers)


def wide(V: np.ndarray) -> bool:
    """Would accumulators for a product with V take too much memory?"""
    return GROUPS * V.size * 8 > _ACCUMULATORS


def added_up(partial: np.ndarray, workers: int | None = None) -> np.ndarray:
    """partial.sum(axis=0) of several n x t matrices, in their order, rows shared by all cores."""
    groups, n, columns = partial.shape
    out = np.empty((n, columns))
    strips = slices(n, max(_SUMMED // max(1, groups * columns), -(-n // GROUPS)))
    run(lambda rows: partial[:, rows].sum(axis=0, out=out[rows]), strips, workers)
    return out


def dealt(n: int) -> list[list[tuple[int, int]]]:
    """All pairs i <= j below n, dealt evenly to at most 16 groups.

    Whole rows of the triangle would not do: the group with the first of twelve rows would work
    twelve times as long as that with the last.

    Examples
    --------
    >>> from mercer.gram.tiles import dealt
    >>> {len(group) for group in dealt(12)}
    {4, 5}
    """
    pairs = [(i, j) for i in range(n) for j in range(i, n)]
    groups = min(GROUPS, len(pairs))
    return [pairs[g::groups] for g in range(groups)]


def _rounds(n: int) -> list[list[tuple[int, int]]]:
    """All pairs i <= j below n, in rounds in which every number occurs at most once.

    These are the rounds of a round-robin tournament: one player stays in place, the others rotate.
    """
    even = n + n % 2
    rounds = [[(i, i) for i in range(n)]]
    for shift in range(even - 1):
        ring = [even - 1, *((i + shift) % (even - 1) for i in range(even - 1))]
        pairs = zip(ring[: even // 2], reversed(ring[even // 2 :]), strict=True)
        rounds.append([(min(p), max(p)) for p in pairs if max(p) < n])
    return rounds


def tile_size(n: int, m: int, by_pairs: bool = False) -> int:
    """At most TILE; smaller when the matrix is, so that each of 16 cores has a few tiles.

    A matrix that is computed in a moment is divided into sixteen tiles, unless values are computed
    pair by pair, each of which may take long.
    """
    size = np.sqrt(n * m)
    if by_pairs:
        return max(_PAIRS, min(TILE, int(size / _PAIRS)))
    return max(32, min(TILE, int(max(size / _ALONG, min(_CHEAP, size / 4)))))


def slices(n: int, size: int) -> list[slice]:
    """0..n cut into pieces of at most ``size``."""
    return [slice(i, min(i + size, n)) for i in range(0, n, size)]


def upper(n: int, size: int) -> list[tuple[slice, slice]]:
    """The tiles of an n x n matrix that are not below the diagonal."""
    strips = slices(n, size)
    return [(rows, cols) for rows in strips for cols in strips if cols.start >= rows.start]


def symmetric_sum(n: int, tile: Callable[[slice, slice], Any]) -> float:
    """The sum of all numbers of a symmetric n x n matrix, from the sums of its tiles."""
    jobs = upper(n, TILE)
    parts = np.zeros(len(jobs))  # added up in the same order, always

    def one(place: int) -> None:
        rows, cols = jobs[place]
        parts[place] = (1 if rows == cols else 2) * tile(rows, cols)

    run(one, range(len(jobs)))
    return float(parts.sum())
