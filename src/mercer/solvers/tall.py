"""Tall matrices, with few columns, as tables of calls: a piece is a strip of rows.

Which numbers are added in which order does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from ..engine.calls import At, Score

_STRIP, _LEAST = 4000, 400  # rows that one thread works on, at most and at least
_BLOCK = 64  # columns that LAPACK takes at a time, at most


class _Tall:
    """A matrix of float64 stored by rows or by columns, and its place among the arrays of a score.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        It is copied if it is stored in another way.
    number : int
        Of the array.
    """

    def __init__(self, A: np.ndarray, number: int) -> None:
        A = np.asarray(A, dtype=np.float64)
        down, across = (stride // A.itemsize for stride in A.strides)
        if not (down == 1 and across >= len(A)) and not (across == 1 and down >= A.shape[1]):
            A = np.asfortranarray(A)
            down, across = 1, max(1, len(A))
        self.A, self.number, self._down = A, number, down
        by_columns = across >= len(A) and down == 1
        self.stride = across if by_columns else down
        self.letter, self.transposed = "NT" if by_columns else "TN"

    def at(self, rows: np.ndarray) -> At:
        """Where these rows begin."""
        return At(self.number, rows * self._down)


def tall_inner(B: np.ndarray, W: np.ndarray) -> np.ndarray:
    """B' W, on all cores; of B with itself, half is computed."""
    score, tall = Score(np.float64), _Tall(B, 0)
    wide = tall if W is B else _Tall(W, 1)
    starts, _ = _strips(len(B))
    parts = np.zeros((len(starts), B.shape[1], W.shape[1]))
    _add_inner(score, tall, wide, 2)
    score.perform(tall.A, wide.A, parts)
    found = parts[0]
    return found if W is not B else np.tril(found) + np.tril(found, -1).T


def tall_product(B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """B C of a tall matrix and a small one, on all cores."""
    score, tall, C = Score(np.float64), _Tall(B, 0), np.ascontiguousarray(C, dtype=np.float64)
    (n, m), k = B.shape, C.shape[1]
    out, (starts, counts) = np.empty((n, k)), _strips(n)
    score.phase(
        score.calls(
            "gemm", "N", tall.transposed, k, counts, m, 1, At(1), k, tall.at(starts), tall.stride,
            0, At(2, starts * k), k,
        )
    )  # fmt: skip
    score.perform(tall.A, C, out)
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
    ends = np.cumsum(each)
    total, at = int(ends[-1]), np.arange(len(starts))
    score, tall, rest = Score(np.float64), _Tall(B, 0), At(1, starts)
    jobs = []
    if m:
        _add_inner(score, tall, _Tall(W, 1), 2)
        jobs.append(
            score.calls(
                "gemm", tall.letter, "T", counts, b, m, -1, tall.at(starts), tall.stride, At(2), b,
                1, rest, n,
            )
        )  # fmt: skip
    room = At(3, at * b), At(4, at * b * _BLOCK), b * _BLOCK
    heads = np.zeros((total, b), order="F")
    jobs += [
        score.calls("geqrf", counts, b, rest, n, *room),
        score.calls("lacpy", "U", each, b, rest, n, At(5, ends - each), total),
        score.calls("orgqr", counts, each, each, rest, n, *room),
    ]
    score.phase(jobs[0].joined(*jobs[1:]), np.tile(at, len(jobs)))
    spaces = np.empty((len(starts), b)), np.empty((len(starts), b * _BLOCK))
    score.perform(tall.A, W, parts, *spaces, heads)
    C = parts[0]
    if len(starts) == 1:
        return W[:, :total], heads, C
    turns, R = np.linalg.qr(heads)
    return _turned(W, np.asfortranarray(turns), ends - each, each), R, C


def _turned(Q: np.ndarray, turns: np.ndarray, rows: np.ndarray, each: np.ndarray) -> np.ndarray:
    """Each strip of Q, which has so many columns there, times its rows of another matrix."""
    n, columns = len(Q), turns.shape[1]
    score, out = Score(np.float64), np.empty((n, columns), order="F")
    starts, counts = _strips(n)
    score.phase(
        score.calls(
            "gemm", "N", "N", counts, columns, each, 1, At(0, starts), n, At(1, rows), len(turns),
            0, At(2, starts), n,
        )
    )  # fmt: skip
    score.perform(Q, turns, out)
    return out


def _add_inner(score: Score, B: _Tall, W: _Tall, number: int) -> None:
    """Phases by which B' W is in the first of the parts in an array; its lower half, if W is B."""
    starts, counts = _strips(len(B.A))
    m, k = B.A.shape[1], W.A.shape[1]
    own = np.arange(len(starts)) * m * k
    left, right = (W.at(starts), W.stride), (B.at(starts), B.stride)
    if W is B:
        square = score.calls("syrk", "U", W.transposed, k, counts, 1, *left, 0, At(number, own), k)
        score.phase(square)
    else:
        how = W.transposed, B.letter
        score.phase(
            score.calls("gemm", *how, k, m, counts, 1, *left, *right, 0, At(number, own), k)
        )
    sums = score.calls("axpy", m * k, 1, At(number, own[1:]), 1, At(number), 1)
    score.phase(sums, np.zeros(len(starts) - 1, np.int64))


def _strips(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where strips of n rows begin, and how many rows they have."""
    starts = np.arange(0, n, min(_STRIP, max(_LEAST, -(-n // 16))))
    return starts, np.diff(starts, append=n)
