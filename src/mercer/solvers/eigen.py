"""One eigendecomposition, every alpha: ridge paths, leave-one-out and folds in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import as_dense
from ..engine.lapack import lapack
from ..engine.routines import solve_positive
from ..gram.base import Gram
from ..gram.tiles import run


class RidgeSpectrum:
    r"""K = U diag(s) U', from which G = (K + alpha I)^-1 follows for every alpha.

    With the dual coefficients c = G y, the residuals of a model trained without the samples V,
    on V, are :math:`(G_{VV})^{-1} c_V`: no model is fitted twice. Sample weights w enter as
    sqrt(w) K sqrt(w) and sqrt(w) y.

    Parameters
    ----------
    gram : Gram
        The operator K; its stored array, if any, is used up.
    weights : array of shape (n,), optional
        Sample weights >= 0.

    References
    ----------
    Rifkin & Lippert, *Notes on regularized least squares*, MIT-CSAIL-TR-2007-025.
    """

    def __init__(self, gram: Gram, weights: np.ndarray | None = None) -> None:
        self.n = len(gram)
        self.root = None if weights is None else np.sqrt(np.asarray(weights, dtype=float))
        if gram.rank is not None and gram.rank < self.n:
            phi = as_dense(gram.features)
            phi = phi if self.root is None else self.root[:, None] * phi
            self.U, singular, _ = lapack(min(phi.shape), np.linalg.svd, phi, full_matrices=False)
            self.s = singular**2
        else:
            what = f"the eigendecomposition of a {self.n} x {self.n} matrix"
            K, to = gram.whole(what, 24.0 * self.n**2), gram.arrays
            if self.root is not None:
                K *= to.put(self.root)[:, None]
                K *= to.put(self.root)[None, :]
            s, self.U = to.eigh(K)
            self.s = np.maximum(s, 0)

    def coef(self, Y: np.ndarray, alpha: float) -> np.ndarray:
        """Dual coefficients for one alpha, shape (n, t)."""
        c = self._scaled_coef(Y, alpha)
        return c if self.root is None else self.root[:, None] * c

    def dof(self, alpha: float) -> float:
        """Effective degrees of freedom, tr K (K + alpha I)^-1."""
        return float(np.sum(self.s / (self.s + alpha)))

    def gcv(self, Y: np.ndarray, alpha: float) -> float:
        """Generalised cross-validation score: n ||y - f||^2 / (n - dof)^2."""
        residual = alpha * self._scaled_coef(Y, alpha)
        return float(self.n * np.sum(residual**2) / max(self.n - self.dof(alpha), 1e-10) ** 2)

    def leave_one_out(self, Y: np.ndarray, alpha: float) -> np.ndarray:
        """Predictions for each sample by the model trained on all others: y_i - c_i / G_ii."""
        w = self._inverse(alpha)
        diagonal = np.einsum("ij,j,ij->i", self.U, w, self.U, optimize=True)
        if self.U.shape[1] < self.n:
            missing = 1 - np.einsum("ij,ij->i", self.U, self.U)
            diagonal += np.maximum(missing, 0) / alpha
        return self._held_out(Y, self._scaled_coef(Y, alpha) / diagonal[:, None])

    def held_out(
        self, Y: np.ndarray, alphas: Sequence[float], folds: Sequence[np.ndarray]
    ) -> list[list[np.ndarray]]:
        """For each alpha and fold, predictions for its samples by the model trained on all others.

        Alphas and folds are shared out over all cores.
        """
        Z = Y if self.root is None else self.root[:, None] * Y
        UZ = self.U.T @ Z
        rest = beside(self.U, Z) if self.U.shape[1] < self.n else Z
        parts = [self.U[V] for V in folds]
        results = [[np.empty(0)] * len(folds) for _ in alphas]

        def one(job: tuple[int, int]) -> None:
            a, m = job
            V, U, w = folds[m], parts[m], self._inverse(alphas[a])
            half = U * np.sqrt(w)
            G, c = half @ half.T, U @ (w[:, None] * UZ)
            if U.shape[1] < self.n:
                G += (np.eye(len(V)) - U @ U.T) / alphas[a]
                c += rest[V] / alphas[a]
            try:
                residual = solve_positive(G.T, c)  # the transpose is copied, so that G is left
            except np.linalg.LinAlgError:  # alpha is below the rounding of K
                residual = np.linalg.lstsq(G, c, rcond=None)[0]
            results[a][m] = self._held_out(Y, residual, V)

        run(one, [(a, m) for a in range(len(alphas)) for m in range(len(folds))])
        return results

    def _inverse(self, alpha: float) -> np.ndarray:
        if alpha <= 0 and (self.s.min() <= 1e-14 * self.s.max() or len(self.s) < self.n):
            raise ValueError("alpha must be > 0: the kernel matrix is singular.")
        return 1 / (self.s + alpha)

    def _scaled_coef(self, Y: np.ndarray, alpha: float) -> np.ndarray:
        """G y in the scaled problem."""
        Z = Y if self.root is None else self.root[:, None] * Y
        UZ = self.U.T @ Z
        c = self.U @ (self._inverse(alpha)[:, None] * UZ)
        if self.U.shape[1] < self.n:
            c += beside(self.U, Z) / alpha
        return c

    def _held_out(self, Y: np.ndarray, residual: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """y - residual; where the weight is 0, and so the prediction without effect, y itself."""
        if self.root is None:
            return Y[rows] - residual
        root = self.root[rows, None]
        return Y[rows] - np.divide(residual, root, out=np.zeros_like(residual), where=root > 0)


def beside(U: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The part of the columns of Z orthogonal to the orthonormal columns of U.

    Twice: divided by a small alpha, and multiplied by large eigenvalues, the rounding of one
    projection would be more than what it leaves.
    """
    for _ in range(2):
        Z = Z - U @ (U.T @ Z)
    return Z
