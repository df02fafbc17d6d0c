"""Products with a symmetric matrix whose tiles are all stored, as a schedule of BLAS calls."""

from __future__ import annotations

import numpy as np

from ..engine.products import product_calls
from ..engine.schedule import At, Calls, Schedule, blocks
from .tiles import GROUPS, dealt


def kept_product(n: int, size: int, columns: int, numbers: dict[tuple[int, int], int]) -> Schedule:
    """The product of :func:`~.tiles.symmetric_product`, to the last bit, for float64.

    It is executed on tiles, V and accumulators of zeros, the first of which becomes the result.

    Parameters
    ----------
    n : int
        Rows of K.
    size : int
        Rows of a tile.
    columns : int
        Of V.
    numbers : dict
        For the first row and column of each tile, its number among all; each has room for
        size x size entries.
    """
    schedule, groups = Schedule(np.float64), dealt(-(-n // size))
    pairs = size * np.array([pair for group in groups for pair in group], np.int64).reshape(-1, 2)
    group = np.repeat(np.arange(len(groups), dtype=np.int64), [len(pairs) for pairs in groups])
    tile = np.array([numbers[i, j] for i, j in pairs.tolist()], np.int64) * size * size

    def calls(chosen: np.ndarray, *, transposed: bool) -> Calls:
        rows, cols = pairs[chosen].T
        out, other = (cols, rows) if transposed else (rows, cols)
        return product_calls(
            schedule,
            (np.minimum(size, n - rows), np.minimum(size, n - cols), columns),
            At(2, (group[chosen] * n + out) * columns),
            At(0, tile[chosen]),
            At(1, other * columns),
            transposed=transposed,
        )

    every = np.arange(len(pairs))
    mirrored = every[pairs[:, 0] != pairs[:, 1]]
    order = np.argsort(np.concatenate([2 * every, 2 * mirrored + 1]))
    both = calls(every, transposed=False).joined(calls(mirrored, transposed=True)).taken(order)
    schedule.add_phase(both, np.concatenate([group, group[mirrored]])[order])

    starts, lengths = blocks(0, n, max(1, -(-n // GROUPS)))
    others = np.arange(1, len(groups), dtype=np.int64)[:, None]
    task = np.broadcast_to(np.arange(len(starts)), (len(others), len(starts))).ravel()
    first = starts[task] * columns
    source = np.repeat(others, len(starts)) * n * columns + first
    added = schedule.calls("axpy", lengths[task] * columns, 1, At(2, source), 1, At(2, first), 1)
    schedule.add_phase(added, task)
    return schedule
