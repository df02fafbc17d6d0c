"""Products and orthogonalisation of tall matrices as schedules of calls: a task is a strip of rows.

The order of additions does not depend on the number of threads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..engine.schedule import At, Schedule, blocks

_STRIP, _LEAST = 4000, 400  # rows of a strip, at most and at least
_BLOCK = 64  # columns that LAPACK factorises at a time, at most
_CACHED = 64  # schedules


class _Layout(NamedTuple):
    """How a matrix of float64 is stored: by columns or by rows, with a leading dimension."""

    rows: int
    columns: int
    stride: int
    by_columns: bool

    @property
    def letter(self) -> str:
        """The letter with which routines, which expect columns, read the matrix."""
        return "NT"[not self.by_columns]

    @property
    def transposed(self) -> str:
        """That with which they read its transpose."""
        return "NT"[self.by_columns]

    def at(self, array: int, rows: np.ndarray) -> At:
        """Where these rows begin, in the array of this number."""
        return At(array, rows * (1 if self.by_columns else self.stride))


def _stored(A: np.ndarray) -> tuple[np.ndarray, _Layout]:
    """A matrix, copied if routines cannot read it in place, and its layout."""
    A = np.require(A, np.float64, ["ALIGNED"])
    (n, m), size = A.shape, A.itemsize
    for by_columns, (near, far), least in ((True, A.strides, n), (False, A.strides[::-1], m)):
        stride, rest = divmod(far, size)
        if near == size and rest == 0 and stride >= max(1, least):
            return A, _Layout(n, m, stride, by_columns)
    return np.asfortranarray(A), _Layout(n, m, max(1, n), True)


def tall_inner(B: np.ndarray, W: np.ndarray) -> np.ndarray:
    """B' W, on all cores; of B' B, only one triangle is computed."""
    left, how = _stored(B)
    right, other = (left, how) if W is B else _stored(W)
    parts = np.zeros((max(1, len(_strips(len(B))[0])), B.shape[1], W.shape[1]))
    _inner(how, other, W is B).execute(left, right, parts)
    found = parts[0]
    return found if W is not B else np.tril(found) + np.tril(found, -1).T


def tall_product(B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """B C of a tall matrix and a small one, on all cores."""
    tall, layout = _stored(B)
    C, out = np.ascontiguousarray(C, dtype=np.float64), np.empty((len(B), C.shape[1]))
    _product(layout, C.shape[1]).execute(tall, C, out)
    return out


def beyond(B: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, R and C with W = B C + Q R, C = B' W and orthonormal columns of Q, on all cores.

    Columns of B are orthonormal, and W may be overwritten. What is left of W is factorised strip by
    strip, and so are the triangular factors of all strips, one below the other: this is as stable
    as one factorisation of the whole.
    """
    W = np.asfortranarray(W, dtype=np.float64)
    (n, b), m = W.shape, B.shape[1]
    starts, counts = _strips(n)
    parts, each = np.empty((len(starts), m, b)), np.minimum(counts, b)
    heads = np.zeros((int(each.sum()), b), order="F")
    spaces = np.empty((len(starts), b)), np.empty((len(starts), b * _BLOCK))
    tall, layout = _stored(B)
    _rest(layout, b).execute(tall, W, parts, *spaces, heads)
    C = parts[0]
    if len(starts) == 1:
        return W[:, : len(heads)], heads, C
    turns, R = np.linalg.qr(heads)
    turns, Q = np.asfortranarray(turns), np.empty((n, turns.shape[1]), order="F")
    _turned(n, b, *turns.shape).execute(W, turns, Q)
    return Q, R, C


@lru_cache(_CACHED)
def _inner(B: _Layout, W: _Layout, same: bool) -> Schedule:
    schedule = Schedule(np.float64)
    _add_inner(schedule, B, W, 0 if same else 1, 2)
    return schedule


@lru_cache(_CACHED)
def _product(B: _Layout, k: int) -> Schedule:
    schedule, (starts, counts) = Schedule(np.float64), _strips(B.rows)
    schedule.add_phase(
        schedule.calls(
            "gemm", "N", B.transposed, k, counts, B.columns, 1, At(1), k, B.at(0, starts), B.stride,
            0, At(2, starts * k), k,
        )
    )  # fmt: skip
    return schedule


@lru_cache(_CACHED)
def _rest(B: _Layout, b: int) -> Schedule:
    """W - B C, and the factors of its strips."""
    schedule, n, m = Schedule(np.float64), B.rows, B.columns
    starts, counts = _strips(n)
    each, at, rest = np.minimum(counts, b), np.arange(len(starts)), At(1, starts)
    ends, total = np.cumsum(each), int(each.sum())
    steps = []
    if m:
        _add_inner(schedule, B, _Layout(n, b, n, True), 1, 2)
        steps.append(
            schedule.calls(
                "gemm", B.letter, "T", counts, b, m, -1, B.at(0, starts), B.stride, At(2), b, 1,
                rest, n,
            )
        )  # fmt: skip
    room = At(3, at * b), At(4, at * b * _BLOCK), b * _BLOCK
    steps += [
        schedule.calls("geqrf", counts, b, rest, n, *room),
        schedule.calls("lacpy", "U", each, b, rest, n, At(5, ends - each), total),
        schedule.calls("orgqr", counts, each, each, rest, n, *room),
    ]
    schedule.add_phase(steps[0].joined(*steps[1:]), np.tile(at, len(steps)))
    return schedule


@lru_cache(_CACHED)
def _turned(n: int, b: int, total: int, columns: int) -> Schedule:
    """The orthonormal factor of each strip times its rows of a matrix of this shape."""
    schedule, (starts, counts) = Schedule(np.float64), _strips(n)
    each = np.minimum(counts, b)
    schedule.add_phase(
        schedule.calls(
            "gemm", "N", "N", counts, columns, each, 1, At(0, starts), n,
            At(1, np.cumsum(each) - each), total, 0, At(2, starts), n,
        )
    )  # fmt: skip
    return schedule


def _add_inner(schedule: Schedule, B: _Layout, W: _Layout, number: int, to: int) -> None:
    """Phases that compute B' W in the first of the parts in an array, or a triangle of B' B."""
    starts, counts = _strips(B.rows)
    m, k = B.columns, W.columns
    own = np.arange(len(starts), dtype=np.int64) * m * k
    left, right = (W.at(number, starts), W.stride), (B.at(0, starts), B.stride)
    if number == 0:
        square = schedule.calls("syrk", "U", W.transposed, k, counts, 1, *left, 0, At(to, own), k)
        schedule.add_phase(square)
    else:
        how = W.transposed, B.letter
        schedule.add_phase(
            schedule.calls("gemm", *how, k, m, counts, 1, *left, *right, 0, At(to, own), k)
        )
    sums = schedule.calls("axpy", m * k, 1, At(to, own[1:]), 1, At(to), 1)
    schedule.add_phase(sums, np.zeros(len(own[1:]), np.int64))


def _strips(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The first rows and the lengths of strips of n rows."""
    return blocks(0, n, min(_STRIP, max(_LEAST, -(-n // 16))))
