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
from typing import Any

import numpy as np

from ..engine.lapack import lapack, side
from ..engine.memory import require_memory
from ..engine.routines import solve_lower
from ..engine.threads import check_cancelled, one_blas_thread
from ..exceptions import ConvergenceWarning, warn
from ..gram.base import HOST, Gram
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
_TRUSTED = 1e-4  # the fall of a residual that products in single precision are used for
_FALL = 0.1  # and the least that it has to fall, or products become those of K
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
        The operator K, used for products and a few columns.
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
        # residuals in the precision of K make up for products in single precision
        self.fast = gram if gram.device == HOST else gram.products(np.float32)
        self.rank = rank_for(len(gram), gram.limit)
        self.solution: Solution | None = None
        self.error = np.inf

    def solve(self, Y: np.ndarray) -> np.ndarray:
        """A^-1 Y, with a warning if the recomputed residual is above the tolerance."""
        with one_blas_thread():
            self.solution = self._solved(Y).warn()
        return self.solution.coef

    def _solved(self, Y: np.ndarray) -> Solution:
        P, size = self._preconditioner(), np.linalg.norm(Y, axis=0)
        size[size == 0] = 1
        # errors of products in the precision of K, which c = A^-1 y may be much larger than y for
        unit = float(np.finfo(self.gram.dtype).eps) * float(np.max(self.gram.diag(), initial=0.0))
        to, tol = self.gram.arrays, TOL
        fast, rounds = self.fast, _ROUNDS
        C, R, n_iter, worst = np.zeros(Y.shape), np.array(Y, dtype=np.float64), 0, np.inf
        while rounds:
            goal = tol / 10 if fast is self.gram else max(tol / 10, _TRUSTED)
            found = conjugate_gradients(fast, self.noise, R, P, goal)
            C += to.get(found.X)
            n_iter += max(map(len, found.steps), default=0)
            R = Y - (self.gram @ C + self.noise[:, None] * C)
            rounding = unit * np.sqrt(len(Y)) * np.linalg.norm(C, axis=0) / size
            tol = max(TOL, 10 * float(rounding.max(initial=0.0)))
            worst, before = float((np.linalg.norm(R, axis=0) / size).max(initial=0.0)), worst
            if worst <= tol:
                break
            if fast is not self.gram:  # as long as that leads on
                fast = fast if worst < _FALL * before else self.gram
                continue
            rounds -= 1
            if worst > before / 2:
                break
        message = "solved" if worst <= tol else (
            f"conjugate gradients stopped at a relative residual of {worst:.1e}, {tol:.0e} was "
            "requested; raise alpha, or give the plan more memory."
        )  # fmt: skip
        stats = {"method": "cg", "residual": worst, "preconditioner_rank": P.U.shape[1]}
        return Solution(C, worst <= tol, n_iter, message, stats)

    def logdet(self) -> float:
        """log det A, with a standard error in ``error``."""
        with one_blas_thread():
            P = self._preconditioner()
            draws = Draws.of(len(self.gram), P.U.shape[1], np.random.default_rng(1))
            Z = P.draw(draws.few, draws.many)
            found = conjugate_gradients(self.fast, self.noise, Z, P)
            squares = self.gram.arrays.dots(Z, P @ Z)
        value, self.error = log_determinant(P, found, range(Z.shape[1]), squares)
        return value

    def _preconditioner(self) -> PivotPreconditioner:
        return PivotPreconditioner(self.gram, self.noise, self._pivots)

    @cached_property
    def _pivots(self) -> np.ndarray:
        return pivoted_cholesky(self.gram, rank=self.rank, rng=0).pivots

    # ---- variances -----------------------------------------------------------------------
    @cached_property
    def _sums(self) -> tuple[Any, Any, np.ndarray]:
        """T = Q R^-1 with R'R = Q'AQ, its covariances A T with y, and the rest of diag A.

        T and A T are where vectors of K live.
        """
        with one_blas_thread():  # threads of BLAS, between products with K, would only wait
            return self._made()

    def _made(self) -> tuple[Any, Any, np.ndarray]:
        U = self.gram.arrays.get(self._preconditioner().U)
        rows = side(*U.shape, U.shape[1])
        Q = lapack(rows, np.linalg.qr, U)[0]
        AQ = self.gram @ Q + self.noise[:, None] * Q
        inner = Q.T @ AQ
        L = lapack(len(inner), np.linalg.cholesky, (inner + inner.T) / 2)
        to = self.gram.arrays
        T, AT = (lapack(rows, solve_lower, L, M.T).T for M in (Q, AQ))
        whole = self.gram.diag() + self.noise
        jitter = max(_JITTER, _ROUNDING * float(np.finfo(self.gram.dtype).eps))
        rest = np.maximum(whole - np.einsum("ij,ij->i", AT, AT), 0.0) + jitter * whole
        return to.put(T), to.put(AT), rest

    def explained(self, B: np.ndarray) -> np.ndarray:
        """b' A^-1 b of every column b, from below."""
        (T, AT, rest), to = self._sums, self.gram.arrays
        few, total, scale = min(NEIGHBOURS, len(B)), np.empty(B.shape[1]), to.put(rest)[:, None]

        def some(columns: slice) -> None:
            b = to.put(B[:, columns])
            H = T.T @ b
            left = b - AT @ H
            total[columns] = to.dots(H, H)
            near = to.largest(left**2 / scale, few)
            for j, its in enumerate(near.T):
                check_cancelled()
                half = self._local(its, to.get(left[its, j]))
                total[columns.start + j] += half @ half

        workers = self.gram.workers if self.gram.device == HOST else 1
        run(some, slices(B.shape[1], 16), workers)
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
            P, least, to = self._preconditioner(), float(self.noise.min()), self.gram.arrays
            X, R, goal = np.zeros(B.shape), np.array(B, dtype=np.float64), 1e-2
            value = np.zeros(B.shape[1])
            for _ in range(_REFINEMENTS):
                X += to.get(conjugate_gradients(self.fast, self.noise, R, P, goal).X)
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
            f"themselves, where std_tol={tol:g} was requested; raise std_tol or alpha.",
            ConvergenceWarning,
        )
        return value

    def half_solve(self, B: np.ndarray) -> np.ndarray:
        """M with M'M <= B' A^-1 B, from sums and from samples that all columns share."""
        (T, AT, rest), to = self._sums, self.gram.arrays
        b = to.put(B)
        H = T.T @ b
        left = b - AT @ H
        scores = to.sums(left, left) / rest
        few = min(_SHARED, len(B))
        near = np.argpartition(scores, len(B) - few)[-few:]
        return np.concatenate([to.get(H), self._local(near, to.get(left[near]))])

    def _local(self, near: np.ndarray, left: np.ndarray) -> np.ndarray:
        """S^-1/2 of what the sums leave of a covariance, S what they leave of that of y."""
        AT = self.gram.arrays.get(self._sums[1][near])
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
