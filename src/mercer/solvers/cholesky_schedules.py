"""A Cholesky factor, its inverse and solutions with it as schedules of BLAS and LAPACK calls.

Matrices are stored by rows, so the routines, which expect columns, see their transposes. A schedule
depends on the number of rows alone, not on the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import numpy as np

from ..engine.schedule import At, Calls, Schedule, blocks

_CACHED, _SMALL = 8, 10_000  # schedules that are kept, for at most so many rows: some megabytes


class Factorisation(NamedTuple):
    """A schedule, the first columns of its diagonal blocks, and the places of their infos."""

    schedule: Schedule
    columns: list[int]
    infos: list[int]


def _cached(make: Callable[..., Any]) -> Callable[..., Any]:
    """Keep the last schedules for matrices that are not large."""
    known = lru_cache(_CACHED)(make)
    return wraps(make)(lambda n, *about: (known if n <= _SMALL else make)(n, *about))


@_cached
def factorisation(
    n: int, dtype: np.dtype, narrow: int, wide: int, size: int, strip: int
) -> Factorisation:
    """L in place of A: panel by panel, on two levels.

    Columns are factorised in narrow panels, each of which updates the rest of its wide panel at
    once; all columns to the right are updated once per wide panel.

    Parameters
    ----------
    n : int
        Rows of A.
    dtype : dtype
        Of A.
    narrow, wide : int
        Columns of the panels.
    size : int
        Rows and columns of a tile of an update.
    strip : int
        Rows of a panel that are a task.
    """
    made = Factorisation(Schedule(dtype), [], [])
    if n:
        made.schedule.add_phase(_corner(made, n, 0, min(narrow, wide, n)))
    for k in range(0, n, wide):
        stop = min(k + wide, n)
        for i in range(k, stop, narrow):
            e = min(i + narrow, stop)
            _panel(made.schedule, n, i, e, strip)
            _update(made, n, i, e, stop, size, min(narrow, stop - e))
        _update(made, n, k, stop, n, size, min(narrow, wide, n - stop))
    return made


def _corner(made: Factorisation, n: int, k: int, m: int) -> Calls:
    """The factor of the diagonal block of m rows from row k on."""
    one = made.schedule.calls("potrf", "U", m, At(0, k * n + k), n)
    made.columns.append(k)
    made.infos.append(int(one.infos[0]))
    return one


def _panel(schedule: Schedule, n: int, k: int, e: int, strip: int) -> None:
    """Columns k..e of the factor, below the diagonal block."""
    rows, count = blocks(e, n, strip)
    corner, below = At(0, k * n + k), At(0, rows * n + k)
    schedule.add_phase(schedule.calls("trtrs", "U", "T", "N", e - k, count, corner, n, below, n))


def _update(made: Factorisation, n: int, k: int, e: int, stop: int, size: int, m: int) -> None:
    """Subtract the product of columns k..e of the factor from columns e..stop of A, tile by tile.

    The next diagonal block, of m rows, is updated first, and factorised during the rest.
    """
    if e == stop:
        return
    schedule = made.schedule
    beside, square = blocks(e, stop, size)
    below, heights = (
        np.concatenate(pair) for pair in zip((beside, square), blocks(stop, n, size), strict=True)
    )
    c, r = np.triu_indices(len(beside), 1, len(below))
    left, right = below[r], below[c]
    tiles = schedule.calls(
        "gemm", "T", "N", heights[c], heights[r], e - k, -1, At(0, right * n + k), n,
        At(0, left * n + k), n, 1, At(0, left * n + right), n,
    )  # fmt: skip
    on = At(0, beside * n + k), At(0, beside * n + beside)
    diagonal = schedule.calls("syrk", "U", "T", square, e - k, -1, on[0], n, 1, on[1], n)
    corner, first = _corner(made, n, e, m), len(c)
    tasks = np.arange(first + len(beside))
    if m <= square[0]:
        schedule.add_phase(tiles.joined(diagonal, corner), np.append(tasks, first), first)
    else:
        schedule.add_phase(tiles.joined(diagonal), tasks)
        schedule.add_phase(corner)


@_cached
def inversion(n: int, dtype: np.dtype, size: int, across: int, long: float) -> Schedule:
    """The lower triangle of (L L')^-1 in place of L, given a workspace of identity blocks.

    With X = L^-1, it is X'X. The diagonal blocks of X' are stored in the workspace, the blocks
    above them in the upper triangle of A.

    Parameters
    ----------
    n : int
        Rows of A.
    dtype : dtype
        Of A.
    size : int
        Rows of a block of X'.
    across : int
        Columns of the inverse that are computed at a time.
    long : float
        Blocks in this share of the columns, the first ones, take longest, and are halved.
    """
    schedule = Schedule(dtype)
    if n == 0:
        return schedule
    starts, heights = blocks(0, n, size)
    ends = starts + heights

    middle = starts + heights // 2
    halved = (starts < long * n) & (middle > starts)
    first = np.concatenate([starts, middle[halved]])
    last = np.concatenate([np.where(halved, middle, ends), ends[halved]])
    part = first // size
    end, count = ends[part], last - first
    inside = first - starts[part]
    own, beyond = At(1, (part * size + inside) * size + inside), At(0, first * n + end)
    corner = schedule.calls(
        "trtrs", "U", "T", "N", end - first, count, At(0, first * n + first), n, own, size
    )
    moved = schedule.calls(
        "gemm", "T", "N", n - end, count, end - first, -1, At(0, end * n + first), n,
        own, size, 0, beyond, n,
    )  # fmt: skip
    solved = schedule.calls(
        "trtrs", "U", "T", "N", n - end, count, At(0, end * n + end), n, beyond, n
    )
    schedule.add_phase(corner.joined(moved, solved), np.tile(np.arange(len(first)), 3))

    part = np.repeat(np.arange(len(starts)), -(-starts // across))
    left = np.concatenate([blocks(0, start, across)[0] for start in starts])
    here, end, width = starts[part], ends[part], np.minimum(left + across, starts[part]) - left
    out, rows = At(0, here * n + left), end - here
    near = schedule.calls(
        "gemm", "T", "N", width, rows, rows, 1, At(0, left * n + here), n,
        At(1, part * size * size), size, 0, out, n,
    )  # fmt: skip
    far = schedule.calls(
        "gemm", "T", "N", width, rows, n - end, 1, At(0, left * n + end), n,
        At(0, here * n + end), n, 1, out, n,
    )  # fmt: skip
    out = At(0, starts * n + starts)
    corners, beyond = At(1, starts * size), At(0, starts * n + ends)
    square = schedule.calls("syrk", "U", "T", heights, heights, 1, corners, size, 0, out, n)
    rest = schedule.calls("syrk", "U", "T", heights, n - ends, 1, beyond, n, 1, out, n)
    count = len(part) + len(starts)
    schedule.add_phase(near.joined(square, far, rest), np.tile(np.arange(count), 2))
    return schedule


@_cached
def substitution(
    n: int, dtype: np.dtype, columns: int, size: int, strip: int, both: bool
) -> Schedule:
    """X = L^-1 X, or (L L')^-1 X, block by block, for X stored by columns.

    Parameters
    ----------
    n : int
        Rows of L, the first array, and of X, the second one.
    dtype : dtype
        Of both.
    columns : int
        Of X.
    size : int
        Rows that are solved for at a time.
    strip : int
        Rows whose update is a task.
    both : bool
        Also multiply by L'^-1.
    """
    schedule = Schedule(dtype)
    for k in range(0, n, size):
        e = min(k + size, n)
        _solve(schedule, n, columns, k, e, "T")
        rows, count = blocks(e, n, strip)
        _subtract(schedule, n, columns, k, rows, (e - k, count), At(0, rows * n + k), "T")
    for k in reversed(range(0, n, size)) if both else ():
        e = min(k + size, n)
        _solve(schedule, n, columns, k, e, "N")
        rows, count = blocks(0, k, strip)
        _subtract(schedule, n, columns, k, rows, (count, e - k), At(0, k * n + rows), "N")
    return schedule


def _solve(schedule: Schedule, n: int, columns: int, k: int, e: int, letter: str) -> None:
    """Rows k..e of the solution."""
    block, here = At(0, k * n + k), At(1, k)
    schedule.add_phase(schedule.calls("trtrs", "U", letter, "N", e - k, columns, block, n, here, n))


def _subtract(
    schedule: Schedule,
    n: int,
    columns: int,
    k: int,
    rows: np.ndarray,
    shape: tuple[Any, Any],
    block: At,
    letter: str,
) -> None:
    """Subtract a block of L, or L', times rows of the solution from row k on, from other rows."""
    here, out = At(1, k), At(1, rows)
    count, depth = shape[::-1] if letter == "T" else shape
    if columns > 1:
        part = schedule.calls(
            "gemm", letter, "N", count, columns, depth, -1, block, n, here, n, 1, out, n
        )
    else:
        part = schedule.calls("gemv", letter, *shape, -1, block, n, here, 1, 1, out, 1)
    schedule.add_phase(part)
