r"""K + D of a K that is never stored: what a Cholesky factor would give, from products with K.

Systems are solved by conjugate gradients, with a certificate. The determinant is estimated
(:mod:`mercer.solvers.quadrature`). Variances are those given *some* functions of y in place of all
of them: r weighted sums over all samples, the columns of an n x r matrix Q, and for each new sample
the few y_i that tell most beside those sums. For any such choice S of functions,

.. math:: k_x' S (S'AS)^{-1} S' k_x \le k_x' A^{-1} k_x,

so that a variance is never understated, whatever Q is: who knows less is less sure. Q spans what
the preconditioner calls the important part of K, and neighbours see to what is local. Where it is
to be exact, conjugate gradients solve a system for each sample (:meth:`IterativeFactor.refined`).
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ..engine.lapack import lapack, side
from ..engine.memory import require_memory
from ..engine.routines import solve_lower
from ..engine.threads import go_on, one_blas_thread
from ..exceptions import ConvergenceWarning, warn
from ..gram.base import Gram
from ..gram.tiles import run, slices
from .base import Solution
from .pivoted import pivoted_cholesky
from .quadrature import (
    Draws,
    PivotPreconditioner,
    conjugate_gradients,
    log_determinant,
)

TOL = 1e-6  # of the residual of the coefficients, as a part of the norm of y
NEIGHBOURS = 128  # samples that a variance is computed from, beside r sums over all
_SHARED = 1000  # the same for the covariance of several new samples, which share them
_JITTER = 1e-8  # of the variance of y: a noise with which single y are seen beside the sums
_ROUNDING = 500  # units in the last place of K, by which two ways to compute it may differ
_ROUNDS = 3  # of conjugate gradients, each on what the one before has left
_REFINEMENTS = 12  # of variances that are to be exact, each on what the one before has left
_COLUMNS = 16  # vectors of n numbers that conjugate gradients hold for each column


def rank_for(n: int, limit: float) -> int:
    """The number of columns of a preconditioner: about 3 sqrt(n), as memory allows.

    Three matrices of that size are there at once.
    """
    rank = int(min(n, 600, max(20, 3 * np.sqrt(n))))
    require_memory(8.0 * n * (3 * min(rank, 20) + _COLUMNS), f"a process of {n} samples", limit)
    return int(max(min(rank, (limit / (8.0 * n) - _COLUMNS) / 3), 1))


class IterativeFactor:
    """What :class:`~mercer.solvers.cholesky.CholeskyFactor` does, for A = K + D.

    Parameters
    ----------
    gram : Gram
        The operator K, which is multiplied with, and asked for few columns.
    noise : array of shape (n,)
        The diagonal of D, > 0.

    Attributes
    ----------
    solution : Solution or None
        The latest system that was solved, with its residual.
    error : float
        The standard error of the latest ``logdet``.
    """

    def __init__(self, gram: Gram, noise: np.ndarray) -> None:
        self.gram, self.noise = gram, noise
        self.rank = rank_for(len(gram), gram.limit)
        self.solution: Solution | None = None
        self.error = np.inf

    def solve(self, Y: np.ndarray) -> np.ndarray:
        """A^-1 Y, a warning where the residual, computed anew, stays above the tolerance."""
        with one_blas_thread():
            self.solution = self._solved(Y).warn()
        return self.solution.coef

    def _solved(self, Y: np.ndarray) -> Solution:
        P, size = self._preconditioner(), np.linalg.norm(Y, axis=0)
        size[size == 0] = 1
        # errors of products in the precision of K, which c = A^-1 y may be much larger than y for
        unit = float(np.finfo(self.gram.dtype).eps) * float(np.max(self.gram.diag(), initial=0.0))
        tol = TOL
        C, R, n_iter, worst = np.zeros(Y.shape), np.array(Y, dtype=np.float64), 0, np.inf
        for _ in range(_ROUNDS):
            found = conjugate_gradients(self.gram, self.noise, R, P, tol / 10)
            C += found.X
            n_iter += max(map(len, found.steps), default=0)
            R = Y - (self.gram @ C + self.noise[:, None] * C)
            rounding = unit * np.sqrt(len(Y)) * np.linalg.norm(C, axis=0) / size
            tol = max(TOL, 10 * float(rounding.max(initial=0.0)))
            worst, before = float((np.linalg.norm(R, axis=0) / size).max(initial=0.0)), worst
            if worst <= tol or worst > before / 2:
                break
        message = "solved" if worst <= tol else (
            f"conjugate gradients stopped at a relative residual of {worst:.1e}, {tol:.0e} was "
            f"asked for; raise alpha, or give the plan more memory."
        )  # fmt: skip
        stats = {"method": "cg", "residual": worst, "preconditioner_rank": P.U.shape[1]}
        return Solution(C, worst <= tol, n_iter, message, stats)

    def logdet(self) -> float:
        """log det A, with a standard error in ``error``."""
        with one_blas_thread():
            P = self._preconditioner()
            draws = Draws.of(len(self.gram), P.U.shape[1], np.random.default_rng(1))
            Z = P.draw(draws.few, draws.many)
            found = conjugate_gradients(self.gram, self.noise, Z, P)
            squares = np.einsum("ij,ij->j", Z, P @ Z)
        value, self.error = log_determinant(P, found, range(Z.shape[1]), squares)
        return value

    def _preconditioner(self) -> PivotPreconditioner:
        pivots = pivoted_cholesky(self.gram, rank=self.rank, rng=0).pivots
        return PivotPreconditioner(self.gram, self.noise, pivots)

    # ---- variances -----------------------------------------------------------------------
    @cached_property
    def _sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """T = Q R^-1 with R'R = Q'AQ, its covariances A T with y, and the rest of diag A."""
        with one_blas_thread():  # threads of BLAS, between products with K, would only wait
            return self._made()

    def _made(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        U = self._preconditioner().U
        rows = side(*U.shape, U.shape[1])
        Q = lapack(rows, np.linalg.qr, U)[0]
        AQ = self.gram @ Q + self.noise[:, None] * Q
        inner = Q.T @ AQ
        L = lapack(len(inner), np.linalg.cholesky, (inner + inner.T) / 2)
        T, AT = (lapack(rows, solve_lower, L, M.T).T for M in (Q, AQ))
        whole = self.gram.diag() + self.noise
        jitter = max(_JITTER, _ROUNDING * float(np.finfo(self.gram.dtype).eps))
        return T, AT, np.maximum(whole - np.einsum("ij,ij->i", AT, AT), 0.0) + jitter * whole

    def explained(self, B: np.ndarray) -> np.ndarray:
        """b' A^-1 b of every column b, from below."""
        T, AT, rest = self._sums
        few, total = min(NEIGHBOURS, len(B)), np.empty(B.shape[1])

        def some(columns: slice) -> None:
            H = T.T @ B[:, columns]
            left = B[:, columns] - AT @ H
            total[columns] = np.einsum("ij,ij->j", H, H)
            for j, unseen in enumerate(np.ascontiguousarray(left.T), start=columns.start):
                go_on()
                near = np.argpartition(unseen**2 / rest, len(B) - few)[-few:]
                half = self._local(near, unseen[near])
                total[j] += half @ half

        run(some, slices(B.shape[1], 16), self.gram.workers)
        return total

    def refined(self, B: np.ndarray, prior: np.ndarray, tol: float) -> np.ndarray:
        r"""b' A^-1 b of every column b, from below, so exact that standard deviations are.

        For any x, with what it leaves of the system, r = b - A x,

        .. math:: b'x + r'x \le b' A^{-1} b \le b'x + r'x + |r|^2 / \min D,

        which is a certificate of conjugate gradients. They go on until sqrt(prior - b' A^-1 b) is
        overstated by a part ``tol`` of itself at most; a warning where rounding does not allow it.

        Parameters
        ----------
        B : ndarray of shape (n, m)
        prior : ndarray of shape (m,)
            k(x, x) of the new samples.
        tol : float
            > 0.
        """
        with one_blas_thread():
            P, least = self._preconditioner(), float(self.noise.min())
            X, R, goal = np.zeros(B.shape), np.array(B, dtype=np.float64), 1e-2
            value = np.zeros(B.shape[1])
            for _ in range(_REFINEMENTS):
                X += conjugate_gradients(self.gram, self.noise, R, P, goal).X
                R = B - (self.gram @ X + self.noise[:, None] * X)
                value = np.maximum(value, np.einsum("ij,ij->j", X, B + R))
                error = np.einsum("ij,ij->j", R, R) / least
                allowed = np.maximum(prior - value, 0.0) * (1 - 1 / (1 + tol) ** 2)
                late = error > allowed
                if not late.any():
                    return value
                share = allowed[late] / np.where(error[late] > 0, error[late], 1.0)
                goal = float(np.clip(0.5 * np.sqrt(share.min()), 1e-4, 0.1))
        worst = float(np.max(error / np.maximum(prior - value, np.finfo(float).tiny)))
        warn(
            f"variances of {int(late.sum())} samples may be too large by {worst:.1e} of "
            f"themselves, where std_tol={tol:g} was asked for; raise std_tol or alpha.",
            ConvergenceWarning,
        )
        return value

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """M with M'M <= B' A^-1 B, from sums and from samples that all columns share."""
        T, AT, rest = self._sums
        H = T.T @ B
        left = B - AT @ H
        scores = (left**2).sum(axis=1) / rest
        few = min(_SHARED, len(B))
        near = np.argpartition(scores, len(B) - few)[-few:]
        return np.concatenate([H, self._local(near, left[near])])

    def _local(self, near: np.ndarray, left: np.ndarray) -> np.ndarray:
        """S^-1/2 of what the sums leave of a covariance, S what they leave of that of y."""
        AT = self._sums[1][near]
        S = self.gram.block(near, near).astype(np.float64)
        S = (S + S.T) / 2 - AT @ AT.T
        rest = self._sums[2][near]
        while True:  # more noise on single y, where rounding asks for it, only understates them
            S.flat[:: len(S) + 1] = rest
            try:
                L = np.linalg.cholesky(S)
            except np.linalg.LinAlgError:
                rest = 2 * rest
                continue
            return solve_lower(L, left)
