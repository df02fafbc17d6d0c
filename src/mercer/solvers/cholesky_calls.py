"""A Cholesky factor and an inverse as calls of routines on blocks of a matrix.

Matrices are stored by rows, and so transposed to routines, which expect columns. Which calls there
are depends on the number of rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, NamedTuple

import numpy as np

from ..engine.calls import At, Calls, Score

_KEPT, _SMALL = 8, 10_000  # scores that are kept, of so many rows at most: some megabytes


class Factorisation(NamedTuple):
    """A score, the first columns of its corners, and which infos are about them."""

    score: Score
    columns: list[int]
    infos: list[int]


def _kept(make: Callable[..., Any]) -> Callable[..., Any]:
    """Keep what was made for matrices that are not large."""
    known = lru_cache(_KEPT)(make)
    return wraps(make)(lambda n, *about: (known if n <= _SMALL else make)(n, *about))


@_kept
def factorisation(
    n: int, dtype: np.dtype, narrow: int, wide: int, size: int, strip: int
) -> Factorisation:
    """L in place of A, panel by panel; what follows a few of these is brought up to date once.

    Parameters
    ----------
    n : int
        Rows of A.
    dtype : dtype
        Of A.
    narrow, wide : int
        Columns that are factorised at a time, and after which all others are brought up to date.
    size : int
        Rows of a tile of these.
    strip : int
        Rows of a panel that are a piece of their own.
    """
    made = Factorisation(Score(dtype), [], [])
    if n:
        made.score.phase(_corner(made, n, 0, min(narrow, wide, n)))
    for k in range(0, n, wide):
        stop = min(k + wide, n)
        for i in range(k, stop, narrow):
            e = min(i + narrow, stop)
            _panel(made.score, n, i, e, strip)
            _update(made, n, i, e, stop, size, min(narrow, stop - e))
        _update(made, n, k, stop, n, size, min(narrow, wide, n - stop))
    return made


def _corner(made: Factorisation, n: int, k: int, m: int) -> Calls:
    """The factor of m rows on the diagonal, from row k on."""
    one = made.score.calls("potrf", "U", m, At(0, k * n + k), n)
    made.columns.append(k)
    made.infos.append(int(one.infos[0]))
    return one


def _panel(score: Score, n: int, k: int, e: int, strip: int) -> None:
    """Columns k..e of the factor, below the corner."""
    if e < n:
        rows = np.arange(e, n, strip)
        count = np.minimum(rows + strip, n) - rows
        corner, below = At(0, k * n + k), At(0, rows * n + k)
        score.phase(score.calls("trtrs", "U", "T", "N", e - k, count, corner, n, below, n))


def _update(made: Factorisation, n: int, k: int, e: int, stop: int, size: int, m: int) -> None:
    """The effect of columns k..e of the factor on columns e..stop of A, tile by tile.

    The next corner, of m rows, is the first to be up to date, and is factorised meanwhile.
    """
    if e == stop:
        return
    score, beside, below = made.score, np.arange(e, stop, size), np.arange(stop, n, size)
    both = np.concatenate([beside, below])
    heights = np.minimum(both + size, np.where(both < stop, stop, n)) - both
    c, r = np.triu_indices(len(beside), 1, len(both))
    left, right = both[r], both[c]
    tiles = score.calls(
        "gemm", "T", "N", heights[c], heights[r], e - k, -1, At(0, right * n + k), n,
        At(0, left * n + k), n, 1, At(0, left * n + right), n,
    )  # fmt: skip
    on = At(0, beside * n + k), At(0, beside * n + beside)
    square = heights[: len(beside)]
    diagonal = score.calls("syrk", "U", "T", square, e - k, -1, on[0], n, 1, on[1], n)
    corner, first = _corner(made, n, e, m), len(c)
    pieces = np.arange(first + len(beside))
    if m <= square[0]:
        score.phase(tiles.joined(diagonal, corner), np.append(pieces, first), first)
    else:
        score.phase(tiles.joined(diagonal), pieces)
        score.phase(corner)


@_kept
def inversion(n: int, dtype: np.dtype, size: int, across: int, long: float) -> Score:
    """The lower triangle of (L L')^-1 in place of L, given room for corners, identities at first.

    With X = L^-1, it is X'X. Blocks of X' on the diagonal find room in the corners, those above it
    in A.

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
        Blocks of the first columns, as a share of all, take long, and are halved.
    """
    score = Score(dtype)
    if n == 0:
        return score
    starts = np.arange(0, n, size)
    ends = np.minimum(starts + size, n)

    middle = starts + (ends - starts) // 2
    halved = (starts < long * n) & (middle > starts)
    first = np.concatenate([starts, middle[halved]])
    last = np.concatenate([np.where(halved, middle, ends), ends[halved]])
    part = first // size
    end, count = ends[part], last - first
    inside = first - starts[part]
    own, beyond = At(1, (part * size + inside) * size + inside), At(0, first * n + end)
    corner = score.calls(
        "trtrs", "U", "T", "N", end - first, count, At(0, first * n + first), n, own, size
    )
    moved = score.calls(
        "gemm", "T", "N", n - end, count, end - first, -1, At(0, end * n + first), n,
        own, size, 0, beyond, n,
    )  # fmt: skip
    solved = score.calls("trtrs", "U", "T", "N", n - end, count, At(0, end * n + end), n, beyond, n)
    score.phase(corner.joined(moved, solved), np.tile(np.arange(len(first)), 3))

    part = np.repeat(np.arange(len(starts)), -(-starts // across))
    left = np.concatenate([np.arange(0, start, across) for start in starts])
    here, end, width = starts[part], ends[part], np.minimum(left + across, starts[part]) - left
    out, rows = At(0, here * n + left), end - here
    near = score.calls(
        "gemm", "T", "N", width, rows, rows, 1, At(0, left * n + here), n,
        At(1, part * size * size), size, 0, out, n,
    )  # fmt: skip
    far = score.calls(
        "gemm", "T", "N", width, rows, n - end, 1, At(0, left * n + end), n,
        At(0, here * n + end), n, 1, out, n,
    )  # fmt: skip
    out, rows = At(0, starts * n + starts), ends - starts
    corners, beyond = At(1, np.arange(len(starts)) * size * size), At(0, starts * n + ends)
    square = score.calls("syrk", "U", "T", rows, rows, 1, corners, size, 0, out, n)
    rest = score.calls("syrk", "U", "T", rows, n - ends, 1, beyond, n, 1, out, n)
    count = len(part) + len(starts)
    score.phase(near.joined(square, far, rest), np.tile(np.arange(count), 2))
    return score


@_kept
def substitution(n: int, dtype: np.dtype, columns: int, size: int, strip: int, both: bool) -> Score:
    """X = L^-1 X, or (L L')^-1 X, block by block, for X stored by columns.

    Parameters
    ----------
    n : int
        Rows of L, the first array, and of X.
    dtype : dtype
        Of both.
    columns : int
        Of X.
    size : int
        Rows that are computed at a time.
    strip : int
        Rows that are brought up to date as a piece.
    both : bool
        Also multiply by L'^-1.
    """
    score = Score(dtype)
    for k in range(0, n, size):
        _solve(score, n, columns, k, min(k + size, n), n, strip, "T")
    for k in reversed(range(0, n, size)) if both else ():
        _solve(score, n, columns, k, min(k + size, n), 0, strip, "N")
    return score


def _solve(
    score: Score, n: int, columns: int, k: int, e: int, last: int, strip: int, letter: str
) -> None:
    """Rows k..e of the solution, and their effect on those up to the last, or the first."""
    here, m = At(1, k), e - k
    score.phase(score.calls("trtrs", "U", letter, "N", m, columns, At(0, k * n + k), n, here, n))
    down = last > k
    rows = np.arange(e, last, strip) if down else np.arange(0, k, strip)
    if not len(rows):
        return
    count = np.minimum(rows + strip, last if down else k) - rows
    block, out = At(0, rows * n + k if down else k * n + rows), At(1, rows)
    if columns > 1:
        part = score.calls("gemm", letter, "N", count, columns, m, -1, block, n, here, n, 1, out, n)
    else:
        shape = (m, count) if down else (count, m)
        part = score.calls("gemv", letter, *shape, -1, block, n, here, 1, 1, out, 1)
    score.phase(part)
