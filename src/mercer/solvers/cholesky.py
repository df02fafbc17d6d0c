"""Cholesky factorisation of K + D in the memory of K itself."""

from __future__ import annotations

import numpy as np

from ..engine.lapack import lapack
from ..engine.routines import call, solve_cholesky, solve_lower
from ..gram.base import Gram
from ..gram.tiles import one_blas_thread, run, slices

_LAPACK = 12_000  # rows up to which LAPACK does it all
_PANEL = 1024  # columns factorised at a time
_TILE = 512  # rows and columns of a tile of the trailing matrix


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The matrix has no Cholesky factor (to working precision)."""


class CholeskyFactor:
    """A = L L' for a symmetric positive definite array, which is overwritten.

    By LAPACK, in the memory of A. LAPACK with threads of its own crashes beyond some 15,000 rows
    (OpenBLAS); there the trailing matrix is updated in tiles on our own threads.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        Its lower triangle is replaced by L; the upper one is left in no particular state. It is
        copied unless it is C-ordered.
    """

    def __init__(self, A: np.ndarray) -> None:
        A = np.ascontiguousarray(A)
        if len(A) <= _LAPACK:
            lapack(len(A), _eliminate, A, 0, len(A))
        else:
            with one_blas_thread():  # all through: threads of BLAS that wait would take our cores
                for k in range(0, len(A), _PANEL):
                    _eliminate(A, k, min(k + _PANEL, len(A)))
        self._L = A

    def solve(self, B: np.ndarray) -> np.ndarray:
        """A^-1 B."""
        return lapack(len(self._L), solve_cholesky, self._L, B)

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """L^-1 B: its squared column norms are b' A^-1 b."""
        return lapack(len(self._L), solve_lower, self._L, B)

    def explained(self, B: np.ndarray) -> np.ndarray:
        """b' A^-1 b of every column b."""
        half = self.half_solve(B)
        return np.einsum("ij,ij->j", half, half)

    def logdet(self) -> float:
        """log det A."""
        return 2 * float(np.log(np.diagonal(self._L)).sum())

    def inverse(self) -> np.ndarray:
        """The lower triangle of A^-1, in place of the factor, which must not be used again."""
        return self._inverted("potri", "U")

    def inverse_diag(self) -> np.ndarray:
        """The diagonal of A^-1; the factor is overwritten and must not be used again."""
        with one_blas_thread():
            inverse = self._inverted("trtri", "U", "N").T  # L^-1, transposed
        total = np.zeros(len(inverse))
        for rows in slices(len(inverse), 256):
            part = inverse[rows, rows.start :]
            above = np.arange(part.shape[1])[None, :] >= np.arange(len(part))[:, None]
            total[rows] = np.einsum("ij,ij->i", part, np.where(above, part, 0))
        return total

    def _inverted(self, *routine: str) -> np.ndarray:
        n = len(self._L)
        if lapack(n, call, *routine, n, self._L, n):
            raise NotPositiveDefiniteError("the factor is singular.")
        return self._L


def _eliminate(A: np.ndarray, k: int, e: int) -> None:
    """Columns k..e of the factor, and their effect on what remains below and to the right."""
    m = e - k
    block = np.ascontiguousarray(A[k:e, k:e])  # all of A is factorised in place, a part as a copy
    info = call("potrf", "U", m, block, m)  # "U": LAPACK stores matrices by columns
    if info:
        raise NotPositiveDefiniteError(
            f"the leading minor of order {k + info} is not positive definite."
        )
    if not np.shares_memory(block, A):
        A[k:e, k:e] = block

    def panel(rows: slice) -> None:
        part = np.ascontiguousarray(A[rows, k:e])
        call("trtrs", "U", "T", "N", m, len(part), block, m, part, m)
        A[rows, k:e] = part

    def update(at: tuple[slice, slice]) -> None:
        rows, cols = at
        A[rows, cols] -= A[rows, k:e] @ A[cols, k:e].T

    below = [slice(e + s.start, e + s.stop) for s in slices(len(A) - e, _TILE)]
    run(panel, below)
    run(update, [(r, c) for r in below for c in below if c.start <= r.start])


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
