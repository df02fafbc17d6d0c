"""Preconditioned conjugate gradients: ridge regression when K is never stored."""

from __future__ import annotations

import numpy as np
import scipy.linalg as sla

from ..gram.base import Gram
from ..kernels.indefinite import why_no_factor
from .base import Solution
from .cholesky import NotPositiveDefiniteError


class NystromPreconditioner:
    """(F F' + D)^-1 for a low-rank F F' close to K, from a random subset of its columns.

    Parameters
    ----------
    gram : Gram
        The operator K.
    noise : array of shape (n,)
        The diagonal D.
    rank : int
        The number of columns.
    rng : numpy.random.Generator
        Draws the columns.

    References
    ----------
    Frangella, Tropp & Udell, *Randomized Nyström preconditioning*, SIAM J. Matrix Anal. 2023.
    """

    def __init__(self, gram: Gram, noise: np.ndarray, rank: int, rng: np.random.Generator) -> None:
        n = len(gram)
        chosen = np.sort(rng.choice(n, size=min(rank, n), replace=False))
        columns = gram.block(np.arange(n), chosen).astype(np.float64, copy=False)
        core = columns[chosen]
        core.flat[:: len(core) + 1] += 1e-12 * np.trace(core)
        try:
            R = sla.cholesky(core, lower=True, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise NotPositiveDefiniteError(why_no_factor(core, float(noise.min()))) from error
        F = sla.solve_triangular(R, columns.T, lower=True, overwrite_b=True, check_finite=False).T
        self.inverse = 1 / noise
        self.scaled = F * self.inverse[:, None]
        inner = F.T @ self.scaled
        inner.flat[:: len(inner) + 1] += 1
        self.inner = sla.cho_factor(inner, overwrite_a=True, check_finite=False)

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        correction = sla.cho_solve(self.inner, self.scaled.T @ V, check_finite=False)
        return self.inverse[:, None] * V - self.scaled @ correction


def solve_cg(
    gram: Gram,
    Y: np.ndarray,
    noise: np.ndarray,
    *,
    tol: float = 1e-8,
    max_iter: int = 1000,
    rank: int | None = None,
    rng: np.random.Generator,
) -> Solution:
    """(K + diag(noise))^-1 Y, all columns at once, until every residual is below tol ||y||."""
    n, t = Y.shape
    if np.any(noise <= 0):
        raise ValueError("the iterative solver needs alpha > 0 (K alone may be singular).")
    rank = rank or int(min(n, max(10, 4 * np.sqrt(n)), 2000))
    P = NystromPreconditioner(gram, noise, rank, rng)
    A = gram.shift(noise)
    X, R = np.zeros((n, t)), Y.astype(np.float64)
    size = np.linalg.norm(Y, axis=0)
    size[size == 0] = 1
    Z = P @ R
    D, rz = Z.copy(), np.einsum("ij,ij->j", R, Z)
    residual = np.linalg.norm(R, axis=0) / size
    n_iter = 0
    while residual.max(initial=0) > tol and n_iter < max_iter:
        AD = A @ D
        step = rz / np.maximum(np.einsum("ij,ij->j", D, AD), np.finfo(float).tiny)
        X += step * D
        R -= step * AD
        Z = P @ R
        rz, old = np.einsum("ij,ij->j", R, Z), rz
        D = Z + (rz / np.maximum(old, np.finfo(float).tiny)) * D
        residual = np.linalg.norm(R, axis=0) / size
        n_iter += 1
    R = Y - A @ X  # the certificate is computed, not carried along
    worst = float((np.linalg.norm(R, axis=0) / size).max(initial=0))
    rounding = 8 * float(np.finfo(gram.dtype).eps)  # what products in K's precision can resolve
    converged = worst <= max(10 * tol, rounding, 1e-12)
    message = (
        "solved"
        if converged
        else (
            f"conjugate gradients stopped after {n_iter} iterations at a relative residual of "
            f"{worst:.1e}, tol={tol:g} was asked for; raise alpha or tol, or give "
            f"the plan more memory."
        )
    )
    stats = {"method": "cg", "residual": worst, "preconditioner_rank": rank}
    return Solution(X, converged, n_iter, message, stats)
