"""Cholesky factorisation of K + D in the memory of K itself."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla
from scipy.linalg import get_lapack_funcs

from ..gram.base import Gram


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """The matrix has no Cholesky factor (to working precision)."""


class CholeskyFactor:
    """A = R'R for a symmetric positive definite array, which is overwritten.

    Parameters
    ----------
    A : ndarray of shape (n, n), C-ordered
        Only one triangle is read; it is replaced by the factor.
    """

    def __init__(self, A: np.ndarray) -> None:
        (potrf,) = get_lapack_funcs(("potrf",), (A,))
        self._c, info = potrf(A.T, lower=True, overwrite_a=True, clean=False)
        if info:
            raise NotPositiveDefiniteError(
                f"the leading minor of order {info} is not positive definite."
            )

    def solve(self, B: np.ndarray) -> np.ndarray:
        """A^-1 B."""
        return sla.cho_solve((self._c, True), B, check_finite=False)

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """L^-1 B with A = L L': its squared column norms are b' A^-1 b."""
        return sla.solve_triangular(self._c, B, lower=True, check_finite=False)

    def logdet(self) -> float:
        """log det A."""
        return 2 * float(np.log(np.diagonal(self._c)).sum())

    def inverse_diag(self) -> np.ndarray:
        """The diagonal of A^-1; the factor is overwritten and must not be used again."""
        (trtri,) = get_lapack_funcs(("trtri",), (self._c,))
        inverse, info = trtri(self._c, lower=True, overwrite_c=True)
        if info:
            raise NotPositiveDefiniteError("the factor is singular.")
        total = np.zeros(len(inverse))
        for start in range(0, len(inverse), 256):  # columns of L^-1, below the diagonal
            part = inverse[start:, start : start + 256]
            below = np.arange(len(part))[:, None] >= np.arange(part.shape[1])[None, :]
            total[start : start + 256] = np.einsum("ij,ij->j", part, np.where(below, part, 0))
        return total


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
    A = np.ascontiguousarray(gram.consume(), dtype=dtype)
    A.flat[:: len(A) + 1] += np.asarray(noise, dtype=A.dtype)
    return CholeskyFactor(A)
