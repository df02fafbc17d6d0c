"""Products of blocks of float64 that are added to others: alone, or as part of a schedule."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .schedule import At, Calls, Schedule, make_calls

_DOUBLE = np.dtype(np.float64)
_NO_INFO = np.zeros(0, np.int64)


def product_calls(
    schedule: Schedule,
    shape: tuple[Any, Any, int],
    out: At,
    A: At,
    B: At,
    *,
    transposed: bool = False,
) -> Calls:
    """Calls for out += A B, or A' B, of blocks stored row after row.

    Parameters
    ----------
    schedule : Schedule
        Of float64, to which the calls will be added.
    shape : tuple
        Rows and columns of each A, and columns of B.
    out, A, B : At
        Where the blocks begin.
    transposed : bool
        Take A'.
    """
    rows, inner, columns = shape
    if columns == 1:
        letter = "NT"[not transposed]
        return schedule.calls("gemv", letter, inner, rows, 1, A, inner, B, 1, 1, out, 1)
    width, depth = (inner, rows) if transposed else (rows, inner)
    return schedule.calls(
        "gemm", "N", "NT"[transposed], columns, width, depth, 1, B, columns, A, inner, 1, out,
        columns,
    )  # fmt: skip


def add_product(out: np.ndarray, A: np.ndarray, B: np.ndarray, *, transposed: bool = False) -> None:
    """out += A B, or A' B, with the calls of :func:`product_calls`.

    Other threads run meanwhile, and no array of the size of ``out`` is made.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.engine.products import add_product
    >>> out, B = np.ones((1, 2)), np.array([[3.0, 4.0], [5.0, 6.0]])
    >>> add_product(out, np.array([[1.0], [2.0]]), B, transposed=True)
    >>> out
    array([[14., 17.]])
    """
    width, depth = A.shape[::-1] if transposed else A.shape
    if out.shape != (width, *B.shape[1:]) or len(B) != depth or B.ndim != 2:
        raise ValueError(f"shapes {A.shape}, {B.shape} and {out.shape} do not fit a product.")
    if not all(array.flags.c_contiguous for array in (out, A, B)):
        raise ValueError("arrays of add_product must be C-contiguous.")
    if out.size and A.size:
        make_calls(_schedule(*A.shape, B.shape[1], transposed).bound(_NO_INFO, out, A, B))


@lru_cache(64)
def _schedule(rows: int, inner: int, columns: int, transposed: bool) -> Schedule:
    schedule = Schedule(_DOUBLE)
    shape = rows, inner, columns
    product = product_calls(schedule, shape, At(0), At(1), At(2), transposed=transposed)
    schedule.add_phase(product)
    return schedule
