"""Block Lanczos with thick restarts: the largest eigenvalues from few passes over a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sla

from .tall import beyond

_ROOM = 320  # dimensions that are added to the space before it is reduced to what matters


@dataclass
class Ritz:
    """Approximate eigenpairs, largest first, with the norms of A v - lambda v."""

    values: np.ndarray
    vectors: np.ndarray
    residuals: np.ndarray
    passes: int
    converged: bool


def block_krylov(
    multiply: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    k: int,
    *,
    tol: float,
    most: int,
    noise: Callable[[], float] = float,
) -> Ritz:
    r"""The k largest eigenvalues of a symmetric A, which is only multiplied with blocks.

    In the space spanned by Q, A Q, A^2 Q, ... the best eigenpairs are found (Rayleigh-Ritz).
    With an orthonormal basis B of it, A B = B T + Q R E' for the next block Q, so the residual of
    the pair (theta, B s) is exactly the norm of R times the last entries of s, and needs no
    product of its own.

    Between products everything is small, so callers hold BLAS to one thread.

    Parameters
    ----------
    multiply : callable
        V -> A V for n x b blocks.
    start : array of shape (n, b)
        The first block; n is at least k + 3 b.
    k : int
        The number of eigenvalues.
    tol : float
        Stop when every residual is below ``tol`` times its eigenvalue.
    most : int
        The largest number of products.
    noise : callable
        The size of rounding errors in products, asked for after the first of them: residuals
        below it are as good as zero.

    References
    ----------
    Golub & Underwood, *The block Lanczos method for computing eigenvalues*, 1977; Wu & Simon,
    *Thick-restart Lanczos method for large symmetric eigenvalue problems*, 2000.
    """
    n, b = start.shape
    kept = k + b
    room = min(n - b, kept + max(_ROOM, 6 * b))  # the next block has to find a place, too
    basis = np.empty((room, n)).T  # columns are contiguous
    T = np.zeros((room, room))
    Q = beyond(basis[:, :0], start)[0]
    m = passes = 0
    while True:
        last = slice(m, m + b)
        basis[:, last] = Q
        m += b
        B = basis[:, :m]
        W = multiply(Q)
        passes += 1
        Q, R, C = beyond(B, W)
        Q, S, again = beyond(B, Q)  # what rounding left, much where W was nothing but rounding
        C += again @ R
        R = S @ R
        T[:m, last], T[last, :m] = C, C.T
        T[last, last] = (C[last] + C[last].T) / 2
        found = min(k, m)
        theta, S = _largest(T[:m, :m], found)
        residuals = np.linalg.norm(R @ S[last], axis=0)
        small = np.maximum(tol * np.abs(theta), noise())
        converged = found == k and bool(np.all(residuals <= small))
        if converged or (passes >= most and found == k):
            return Ritz(theta, B @ S, residuals, passes, converged)
        if m + b > room:
            theta, S = _largest(T[:m, :m], kept)
            basis[:, :kept] = B @ S
            T[:] = 0.0
            T[range(kept), range(kept)] = theta
            m = kept


def _largest(T: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    m = len(T)
    theta, S = sla.eigh(T, subset_by_index=(m - k, m - 1), check_finite=False)
    return theta[::-1], S[:, ::-1]
