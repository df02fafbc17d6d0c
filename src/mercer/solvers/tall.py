"""Tall matrices, with few columns, as tables of calls: a piece is a strip of rows.

Which numbers are added in which order does not depend on the number of threads.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..engine.calls import At, Score

_STRIP, _LEAST = 4000, 400  # rows that one thread works on, at most and at least
_BLOCK = 64  # columns that LAPACK takes at a time, at most
_KEPT = 64  # tables


class _Layout(NamedTuple):
    """How a matrix of float64 is stored: by columns or by rows, which begin so far apart."""

    rows: int
    columns: int
    stride: int
    by_columns: bool

    @property
    def letter(self) -> str:
        """How routines take it."""
        return "NT"[not self.by_columns]

    @property
    def transposed(self) -> str:
        return "NT"[self.by_columns]

    def at(self, number: int, rows: np.ndarray) -> At:
        """Where these rows begin, in the array of this number."""
        return At(number, rows * (1 if self.by_columns else self.stride))


def _stored(A: np.ndarray) -> tuple[np.ndarray, _Layout]:
    """A matrix, copied if routines could not read it, and its layout."""
    A = np.asarray(A, dtype=np.float64)
    down, across = (stride // A.itemsize for stride in A.strides)
    if not (down == 1 and across >= len(A)) and not (across == 1 and down >= A.shape[1]):
        A = np.asfortranarray(A)
        down, across = 1, max(1, len(A))
    by_columns = across >= len(A) and down == 1
    return A, _Layout(len(A), A.shape[1], across if by_columns else down, by_columns)


def tall_inner(B: np.ndarray, W: np.ndarray) -> np.ndarray:
    """B' W, on all cores; of B with itself, half is computed."""
    left, how = _stored(B)
    right, other = (left, how) if W is B else _stored(W)
    parts = np.zeros((len(_strips(len(B))[0]), B.shape[1], W.shape[1]))
    _inner(how, other, W is B).perform(left, right, parts)
    found = parts[0]
    return found if W is not B else np.tril(found) + np.tril(found, -1).T


def tall_product(B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """B C of a tall matrix and a small one, on all cores."""
    tall, layout = _stored(B)
    C, out = np.ascontiguousarray(C, dtype=np.float64), np.empty((len(B), C.shape[1]))
    _product(layout, C.shape[1]).perform(tall, C, out)
    return out


def beyond(B: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, R and C with W = B C + Q R, C = B' W and orthonormal columns of Q, on all cores.

    B is orthonormal, and W may be overwritten. Strips of what is left of W have factors Q and R of
    their own, and those of their R, one below the other, bring them together: this is as stable as
    a factorisation of the whole.
    """
    W = np.asfortranarray(W, dtype=np.float64)
    (n, b), m = W.shape, B.shape[1]
    starts, counts = _strips(n)
    parts, each = np.empty((len(starts), m, b)), np.minimum(counts, b)
    heads = np.zeros((int(each.sum()), b), order="F")
    spaces = np.empty((len(starts), b)), np.empty((len(starts), b * _BLOCK))
    tall, layout = _stored(B)
    _rest(layout, b).perform(tall, W, parts, *spaces, heads)
    C = parts[0]
    if len(starts) == 1:
        return W[:, : len(heads)], heads, C
    turns, R = np.linalg.qr(heads)
    turns, Q = np.asfortranarray(turns), np.empty((n, turns.shape[1]), order="F")
    _turned(n, b, *turns.shape).perform(W, turns, Q)
    return Q, R, C


@lru_cache(_KEPT)
def _inner(B: _Layout, W: _Layout, same: bool) -> Score:
    score = Score(np.float64)
    _add_inner(score, B, W, 0 if same else 1, 2)
    return score


@lru_cache(_KEPT)
def _product(B: _Layout, k: int) -> Score:
    score, (starts, counts) = Score(np.float64), _strips(B.rows)
    score.phase(
        score.calls(
            "gemm", "N", B.transposed, k, counts, B.columns, 1, At(1), k, B.at(0, starts), B.stride,
            0, At(2, starts * k), k,
        )
    )  # fmt: skip
    return score


@lru_cache(_KEPT)
def _rest(B: _Layout, b: int) -> Score:
    """What is left of strips of W, and its factors."""
    score, n, m = Score(np.float64), B.rows, B.columns
    starts, counts = _strips(n)
    each, at, rest = np.minimum(counts, b), np.arange(len(starts)), At(1, starts)
    ends, total = np.cumsum(each), int(each.sum())
    jobs = []
    if m:
        _add_inner(score, B, _Layout(n, b, n, True), 1, 2)
        jobs.append(
            score.calls(
                "gemm", B.letter, "T", counts, b, m, -1, B.at(0, starts), B.stride, At(2), b, 1,
                rest, n,
            )
        )  # fmt: skip
    room = At(3, at * b), At(4, at * b * _BLOCK), b * _BLOCK
    jobs += [
        score.calls("geqrf", counts, b, rest, n, *room),
        score.calls("lacpy", "U", each, b, rest, n, At(5, ends - each), total),
        score.calls("orgqr", counts, each, each, rest, n, *room),
    ]
    score.phase(jobs[0].joined(*jobs[1:]), np.tile(at, len(jobs)))
    return score


@lru_cache(_KEPT)
def _turned(n: int, b: int, total: int, columns: int) -> Score:
    """Each strip of Q, which has so many columns there, times its rows of another matrix."""
    score, (starts, counts) = Score(np.float64), _strips(n)
    each = np.minimum(counts, b)
    score.phase(
        score.calls(
            "gemm", "N", "N", counts, columns, each, 1, At(0, starts), n,
            At(1, np.cumsum(each) - each), total, 0, At(2, starts), n,
        )
    )  # fmt: skip
    return score


def _add_inner(score: Score, B: _Layout, W: _Layout, number: int, to: int) -> None:
    """Phases by which B' W is in the first of the parts in an array; its lower half, if W is B."""
    starts, counts = _strips(B.rows)
    m, k = B.columns, W.columns
    own = np.arange(len(starts)) * m * k
    left, right = (W.at(number, starts), W.stride), (B.at(0, starts), B.stride)
    if number == 0:
        square = score.calls("syrk", "U", W.transposed, k, counts, 1, *left, 0, At(to, own), k)
        score.phase(square)
    else:
        how = W.transposed, B.letter
        score.phase(score.calls("gemm", *how, k, m, counts, 1, *left, *right, 0, At(to, own), k))
    sums = score.calls("axpy", m * k, 1, At(to, own[1:]), 1, At(to), 1)
    score.phase(sums, np.zeros(len(starts) - 1, np.int64))


def _strips(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where strips of n rows begin, and how many rows they have."""
    starts = np.arange(0, n, min(_STRIP, max(_LEAST, -(-n // 16))))
    return starts, np.diff(starts, append=n)
