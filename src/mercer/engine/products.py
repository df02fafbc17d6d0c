"""Products of blocks of float64 that are added to others, as calls of BLAS."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .calls import At, Calls, Score, perform

_DOUBLE = np.dtype(np.float64)


def product_calls(
    score: Score, shape: tuple[Any, Any, int], out: At, A: At, B: At, *, transposed: bool = False
) -> Calls:
    """out += A B, or A' B, for blocks stored row after row.

    Parameters
    ----------
    score : Score
        What the calls are for.
    shape : tuple
        Rows and columns of each A, and columns of B.
    out, A, B : At
        Where the blocks begin.
    transposed : bool
        Take A'.
    """
    rows, inner, columns = shape
    if columns == 1:
        return score.calls("gemv", "NT"[not transposed], inner, rows, 1, A, inner, B, 1, 1, out, 1)
    width, depth = (inner, rows) if transposed else (rows, inner)
    return score.calls(
        "gemm", "N", "NT"[transposed], columns, width, depth, 1, B, columns, A, inner, 1, out,
        columns,
    )  # fmt: skip


def add_product(out: np.ndarray, A: np.ndarray, B: np.ndarray, *, transposed: bool = False) -> None:
    """out += A B, or A' B, of contiguous arrays, with the numbers of :func:`product_calls`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engine.products import add_product
    >>> out, B = np.ones((1, 2)), np.array([[3.0, 4.0], [5.0, 6.0]])
    >>> add_product(out, np.array([[1.0], [2.0]]), B, transposed=True)
    >>> out
    array([[14., 17.]])
    """
    if out.size and A.size:
        perform(_score(*A.shape, B.shape[1], transposed).words(_NOTHING, out, A, B))


_NOTHING = np.zeros(0, np.int32)


@lru_cache(64)
def _score(rows: int, inner: int, columns: int, transposed: bool) -> Score:
    score = Score(_DOUBLE)
    shape = rows, inner, columns
    score.phase(product_calls(score, shape, At(0), At(1), At(2), transposed=transposed))
    return score
