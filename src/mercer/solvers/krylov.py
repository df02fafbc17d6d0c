"""Block Lanczos with thick restarts: the largest eigenvalues from few passes over a matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sla

from ..gram.tiles import run, slices

_STRIP, _LEAST = 4000, 400  # rows of tall matrices that one thread works on, at most and at least
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


def tall_inner(B: np.ndarray, W: np.ndarray) -> np.ndarray:
    """B' W of tall matrices, on all cores; the order of additions does not depend on these."""
    strips = _strips(len(W))
    parts = np.empty((len(strips), B.shape[1], W.shape[1]))

    def along(i: int) -> None:
        parts[i] = B[strips[i]].T @ W[strips[i]]

    run(along, range(len(strips)))
    return parts.sum(axis=0)


def tall_product(B: np.ndarray, C: np.ndarray) -> np.ndarray:
    """B C of a tall matrix and a small one, on all cores."""
    out = np.empty((len(B), C.shape[1]))

    def strip(rows: slice) -> None:
        np.matmul(B[rows], C, out=out[rows])

    run(strip, _strips(len(B)))
    return out


def beyond(B: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, R and C with W = B C + Q R, C = B' W and orthonormal columns of Q, on all cores.

    B is orthonormal, and W is overwritten. Strips of what is left of W have factors Q and R of
    their own, and those of their R, one below the other, bring them together: this is as stable as
    a factorisation of the whole.
    """
    C, strips = tall_inner(B, W), _strips(len(W))
    own: list[Any] = [None] * len(strips)

    def factorise(i: int) -> None:
        W[strips[i]] -= B[strips[i]] @ C
        own[i] = np.linalg.qr(W[strips[i]])

    run(factorise, range(len(strips)))
    if len(strips) == 1:
        return *own[0], C
    heads, R = np.linalg.qr(np.concatenate([head for _, head in own]))
    ends = np.cumsum([0, *(len(head) for _, head in own)])

    def combine(i: int) -> None:
        np.matmul(own[i][0], heads[ends[i] : ends[i + 1]], out=W[strips[i]])

    run(combine, range(len(strips)))
    return W, R, C


def _strips(n: int) -> list[slice]:
    return slices(n, min(_STRIP, max(_LEAST, -(-n // 16))))


def _largest(T: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    m = len(T)
    theta, S = sla.eigh(T, subset_by_index=(m - k, m - 1), check_finite=False)
    return theta[::-1], S[:, ::-1]
