"""Cholesky factorisation of K + D in the memory of K itself, on all cores.

The threads of BLAS wait for each other, and spin between two calls on the cores that our own
threads need. So BLAS is limited to one, and factor, solutions and inverse are schedules of calls
(:mod:`~.engine.schedule`). The order of additions does not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np

from ..engine.routines import call
from ..gram.base import Gram
from ..gram.tiles import one_blas_thread, run, slices
from .cholesky_schedules import factorisation, inversion, substitution

_SHARED = 500  # rows from which on a factor is worth a second thread
# up to so many rows: columns of narrow and of wide panels, rows of a tile of their updates, and
# columns of a block of the inverse
_PANELS = (
    (1000, 128, 256, 128, 64),
    (3000, 128, 256, 192, 96),
    (5000, 192, 576, 256, 192),
    (20_000, 192, 576, 384, 192),
    (np.inf, 256, 1024, 512, 256),
)
_ROWS = 64  # of a panel that are a task
_LONG = 0.26  # columns of the inverse, as a share of all, that take long
_ACROSS = 512  # columns of the inverse that are a task
_SOLVED = 2500  # rows from which on a solution is worth a second thread
_BLOCK = 512  # rows of it that are solved for, and updated, at a time
_WIDE = 64  # right-hand sides in excess of which they are shared, as many at a time


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The matrix has no Cholesky factor (to working precision)."""


class CholeskyFactor:
    """A = L L' for a symmetric positive definite array, which is overwritten.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Its lower triangle is replaced by L; the upper one is left in no particular state. It is
        copied unless it is C-ordered and writeable.
    """

    def __init__(self, A: np.ndarray) -> None:
        A = np.require(A, requirements=["C", "W"])
        _factorise(A)
        self._L = A

    def solve(self, B: np.ndarray) -> np.ndarray:
        """A^-1 B."""
        return self._solved(B, both=True)

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """L^-1 B: its squared column norms are b' A^-1 b."""
        return self._solved(B, both=False)

    def _solved(self, B: np.ndarray, *, both: bool) -> np.ndarray:
        kind = np.result_type(self._L, B, np.float32)
        L, n = np.asarray(self._L, dtype=kind), len(self._L)
        out = np.array(B, dtype=kind, order="F")
        X = out.reshape(n, -1, order="F") if out.size else out.reshape(n, 0)  # the same memory

        def some(cols: slice) -> None:
            count = cols.stop - cols.start
            system = ("potrs", "U") if both else ("trtrs", "U", "T", "N")
            if call(*system, n, count, L, n, X[:, cols], n):
                raise np.linalg.LinAlgError("the triangular matrix is singular.")

        with one_blas_thread():
            if X.shape[1] > _WIDE or n < _SOLVED:
                run(some, slices(X.shape[1], _WIDE))
            else:
                schedule = substitution(n, L.dtype, X.shape[1], _BLOCK, _BLOCK, both)
                if schedule.execute(L, X).any():
                    raise np.linalg.LinAlgError("the triangular matrix is singular.")
        return out

    def explained(self, B: np.ndarray) -> np.ndarray:
        """b' A^-1 b of every column b."""
        half = self.half_solve(B)
        return np.einsum("ij,ij->j", half, half)

    def least_pivot(self) -> float:
        """The least pivot, as a part of the largest one: of the size of eps, it is rounding."""
        pivots = np.diagonal(self._L).astype(np.float64) ** 2
        return float(pivots.min() / pivots.max())

    def logdet(self) -> float:
        """log det A."""
        return 2 * float(np.log(np.diagonal(self._L)).sum())

    def inverse(self) -> np.ndarray:
        """The lower triangle of A^-1, in place of the factor, which must not be used again."""
        A, n = self._L, len(self._L)
        size = _panel(n)[3]
        corners = np.zeros((-(-n // size), size, size), A.dtype)
        corners[:, range(size), range(size)] = 1
        if inversion(n, A.dtype, size, _ACROSS, _LONG).execute(A, corners).any():
            raise NotPositiveDefiniteError("the factor is singular.")
        return A

    def inverse_diag(self) -> np.ndarray:
        """The diagonal of A^-1."""
        n = len(self._L)
        total = np.empty(n, self._L.dtype)

        def squares(rows: slice) -> None:
            found = self._half_inverse(rows)
            total[rows] = np.einsum("ij,ij->i", found, found)

        with one_blas_thread():
            run(squares, _dealt(n))
        return total

    def _half_inverse(self, some: slice) -> np.ndarray:
        """Columns of L^-1, as rows, from the diagonal on."""
        m, count = len(self._L) - some.start, some.stop - some.start
        found = np.zeros((count, m), self._L.dtype)
        found[range(count), range(count)] = 1
        below = self._L[some.start :, some.start :]
        if call("trtrs", "U", "T", "N", m, count, below, len(self._L), found, m):
            raise NotPositiveDefiniteError("the factor is singular.")
        return found


def _dealt(n: int) -> list[slice]:
    """The columns of L^-1 in parts, the longest ones in halves, which take longest still."""
    found = []
    for part in slices(n, _panel(n)[3]):
        middle = part.start + (part.stop - part.start) // 2
        halved = part.start < _LONG * n and middle > part.start
        found += [slice(part.start, middle), slice(middle, part.stop)] if halved else [part]
    return found


def _panel(n: int) -> tuple[int, ...]:
    return next(tuple(sizes) for most, *sizes in _PANELS if n <= most)


def _factorise(A: np.ndarray) -> None:
    """L in place of A."""
    n = len(A)
    narrow, wide, size = _panel(n)[:3] if n >= _SHARED else [max(1, n)] * 3
    schedule, columns, infos = factorisation(n, A.dtype, narrow, wide, size, _ROWS)
    found = schedule.execute(A)[infos]
    orders = [column + code for column, code in zip(columns, found, strict=True) if code]
    if not orders:  # some libraries take the root of NaN, which then is in all later pivots
        orders = [*np.flatnonzero(np.isnan(np.diagonal(A))) + 1]
    if orders:
        raise NotPositiveDefiniteError(
            f"the leading minor of order {orders[0]} is not positive definite."
        )


def factor(gram: Gram, noise: np.ndarray | float, dtype: np.dtype | None = None) -> CholeskyFactor:
    """The factor of K + diag(noise), using the memory of K where K is stored.

    Parameters
    ----------
    gram : Gram
        Its stored array, if it has one, is used up; the operator computes it anew when needed.
    noise : float or array of shape (n,)
        Added to the diagonal.
    dtype : dtype, optional
        Work in this precision instead of K's own.
    """
    size = (dtype or gram.dtype).itemsize
    what = f"the factor of {len(gram)} samples"
    A = np.ascontiguousarray(gram.dense(what, float(size) * len(gram) ** 2), dtype=dtype)
    A.flat[:: len(A) + 1] += np.asarray(noise, dtype=A.dtype)
    return CholeskyFactor(A)
