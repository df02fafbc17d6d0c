"""Products with a symmetric matrix whose tiles are all stored, as calls of BLAS."""

from __future__ import annotations

import numpy as np

from ..engine.calls import At, Calls, Score
from ..engine.products import product_calls
from .tiles import dealt

_PIECES = 16  # of the rows, when accumulators are added up


def kept_product(n: int, size: int, columns: int, numbers: dict[tuple[int, int], int]) -> Score:
    """The product of :func:`~.tiles.symmetric_product`, to the last bit, for float64.

    It is performed on tiles, V and accumulators, 0 at first, of which the first is the result.

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
    score, hands = Score(np.float64), dealt(-(-n // size))
    pairs = size * np.array([pair for hand in hands for pair in hand]).reshape(-1, 2)
    group = np.repeat(np.arange(len(hands)), [len(hand) for hand in hands])
    tile = np.array([numbers[i, j] for i, j in pairs.tolist()]) * size * size

    def calls(chosen: np.ndarray, *, transposed: bool) -> Calls:
        rows, cols = pairs[chosen].T
        out, other = (cols, rows) if transposed else (rows, cols)
        return product_calls(
            score,
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
    score.phase(both, np.concatenate([group, group[mirrored]])[order])

    starts = np.arange(0, n, max(1, -(-n // _PIECES)))
    count = (np.append(starts[1:], n) - starts) * columns
    others = np.arange(1, len(hands))[:, None]
    pieces = np.broadcast_to(np.arange(len(starts)), (len(others), len(starts))).ravel()
    first = starts[pieces] * columns
    away = np.repeat(others, len(starts)) * n * columns
    score.phase(
        score.calls("axpy", count[pieces], 1, At(2, away + first), 1, At(2, first), 1), pieces
    )
    return score
