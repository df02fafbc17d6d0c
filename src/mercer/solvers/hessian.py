r"""The inverse Hessian of a penalised loss, in the scores at the samples.

At the minimum of sum_i w_i L(y_i, F_i) + c' K c / 2 with F = K c + b, the Hessian in F is K^-1 + W.
Its inverse

.. math:: S = (K^{-1} + W)^{-1}, \qquad G = W - W S W = (W^{-1} + K)^{-1}

says how scores move when a sample is left out or K changes, and how sure they are. One score has a
diagonal W = D. Several have a matrix per sample, W_i = diag(D_i) - D_i D_i' / sum(D_i) with D_i the
weight times the probabilities; then K stands for one copy per score, and

.. math:: G = E - E R M^{-1} R' E, \quad E_c = (D_c^{-1} + K)^{-1}, \quad M = \sum_c E_c

needs n x n matrices only (R repeats a sample for all scores). Free constants are the limit of
constants with an infinite variance: with T = 1' G 1, S gains r T^-1 r', r = (I - S W) 1.

Reference: Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 3.5.
"""

from __future__ import annotations

import numpy as np

from ..engine.lapack import lapack
from .cholesky import CholeskyFactor


class Hessian:
    """S and G at a minimum.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel matrix divided by alpha; it is left as it is.
    D : ndarray of shape (n, k)
        Curvatures >= 0 of k scores, not all zero. Samples without any are predicted only.
    intercept : bool
        Is there a free constant for each score?

    Attributes
    ----------
    logdet : float
        log det(I + K W), with the constants as they are.
    """

    def __init__(self, K: np.ndarray, D: np.ndarray, intercept: bool) -> None:
        self.K, self.D, (self.n, self.k) = K, D, D.shape
        self.used = np.flatnonzero(D.any(axis=1))
        D, self.logdet, rows = D[self.used], 0.0, K
        if len(self.used) < self.n:
            rows = K[self.used]
        K = rows if len(self.used) == self.n else rows[:, self.used]
        self.E = [self._one_score(K, np.sqrt(d)) for d in D.T]
        self.U = [lapack(self.n, np.matmul, E, rows) for E in self.E]
        if self.k > 1:
            self.M = CholeskyFactor(np.sum(self.E, axis=0))
            self.logdet += self.M.logdet() - float(np.log(D.sum(axis=1)).sum())
        self.border = self._free_constants() if intercept else None

    def _one_score(self, K: np.ndarray, root: np.ndarray) -> np.ndarray:
        """(D^-1 + K)^-1 = D^1/2 (I + D^1/2 K D^1/2)^-1 D^1/2, which needs no inverse of D."""
        B = root[:, None] * K * root
        B.flat[:: len(B) + 1] += 1
        factor = CholeskyFactor(B)
        self.logdet += factor.logdet()
        E = factor.inverse()
        above = np.triu_indices(len(E), 1)
        E[above] = E.T[above]
        E *= root
        E *= root[:, None]
        return E

    def _free_constants(self) -> tuple[np.ndarray, np.ndarray]:
        """G 1 of shape (k, n, k), and T^-1; a common constant of all scores is not determined."""
        sums = np.stack([E.sum(axis=1) for E in self.E], axis=1)
        G1 = np.zeros((self.k, self.n, self.k))
        G1[:, self.used] = sums.T[:, :, None] * np.eye(self.k)[:, None]
        if self.k > 1:
            Z = self.M.solve(sums)
            G1[:, self.used] -= np.stack([E @ Z for E in self.E])
        values, vectors = np.linalg.eigh(G1.sum(axis=1))
        sure = slice(1 if self.k > 1 else 0, None)
        values, vectors = values[sure], vectors[:, sure]
        return G1, vectors / values @ vectors.T

    def blocks(self, *, free: bool = True) -> np.ndarray:
        """The k x k blocks of S on the diagonal, shape (n, k, k); if constants are free to move."""
        S = np.zeros((self.n, self.k, self.k))
        rows, each = self.K[self.used], range(self.k)
        for c in each:
            S[:, c, c] = np.diagonal(self.K) - np.einsum("ji,ji->i", rows, self.U[c])
        if self.k > 1:
            half = [self.M.half_solve(U) for U in self.U]
            for c in each:
                for d in each:
                    S[:, c, d] += np.einsum("ji,ji->i", half[c], half[d])
        if free and self.border is not None:
            G1, inverse = self.border
            r = np.eye(self.k) - (self.K @ G1).transpose(1, 0, 2)
            S += r @ inverse @ r.transpose(0, 2, 1)
        return S

    def pull(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(I - W S) V for V of shape (k, n, m), and constants b with S V = K (I - W S) V + b."""
        return self._pulled(V.copy(), [U @ v for U, v in zip(self.U, V, strict=True)])

    def pull_diagonal(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for V with a column per sample, in which only that sample has scores, q_i."""
        V = np.zeros((self.k, self.n, self.n))
        for v, column in zip(V, q.T, strict=True):
            np.fill_diagonal(v, column)
        return self._pulled(V, [U * column for U, column in zip(self.U, q.T, strict=True)])

    def _pulled(self, V: np.ndarray, EKV: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        if self.k > 1:
            Z = self.M.solve(np.sum(EKV, axis=0))
            EKV = [X - E @ Z for X, E in zip(EKV, self.E, strict=True)]
        for v, X in zip(V, EKV, strict=True):
            v[self.used] -= X
        b = np.zeros((self.k, V.shape[2]))
        if self.border is not None:
            G1, inverse = self.border
            b = inverse @ V.sum(axis=1)
            V -= G1 @ b
        return V, b

    def sum_of_curves(self) -> np.ndarray:
        """G, with the constants as they are, added up over the scores, shape (n, n)."""
        total = np.sum(self.E, axis=0)
        if self.k > 1:
            for E in self.E:
                half = self.M.half_solve(E)
                total -= half.T @ half
        if len(self.used) < self.n:
            inner, total = total, np.zeros((self.n, self.n))
            total[np.ix_(self.used, self.used)] = inner
        return total
