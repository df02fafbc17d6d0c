"""Free functions eliminated from a least-squares problem by reflections."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.linalg as sla

from ..engine.lapack import lapack, side
from ..engine.routines import call

_EPS = float(np.finfo(float).eps)


class Elimination:
    """P = Q1 T for an n x m matrix P, with Q = [Q1 Z] orthogonal and kept as m reflections.

    Parameters
    ----------
    P : ndarray of shape (n, m)
        Values of the free functions; rejected if its columns are linearly dependent.
    """

    def __init__(self, P: np.ndarray) -> None:
        n, self.m = P.shape
        norms = np.linalg.norm(P, axis=0)
        self._norms = np.where(norms > 0, norms, 1.0)
        rank = n
        if n >= self.m:
            scaled = P / self._norms
            rows = side(n, self.m, self.m)
            found = lapack(rows, sla.qr, scaled, mode="raw", pivoting=True)
            (self._raw, self._tau), self._T, self._order = found
            rank = int(np.sum(np.abs(np.diagonal(self._T)) > 8 * n * _EPS))
        if rank < self.m:
            raise ValueError(
                f"the {self.m} unpenalised functions are not determined by the data: at least "
                f"{self.m} distinct points of positive weight, on which they are linearly "
                f"independent, are needed; n_samples = {n}, of rank {rank}. Add samples or drop "
                "functions."
            )

    def rotate(self, B: np.ndarray, *, back: bool = False, right: bool = False) -> np.ndarray:
        """Q'B; with ``back`` QB, with ``right`` BQ. An F-ordered B is overwritten."""
        B = np.asfortranarray(B, dtype=np.float64)
        how = ("R", "N") if right else ("L", "N" if back else "T")
        work = np.empty(64 * max(B.shape))
        factors = (*B.shape, self.m, self._raw, len(self._raw), self._tau)
        rows = side(*B.shape, self.m)
        lapack(rows, call, "ormqr", *how, *factors, B, len(B), work, len(work))
        return B

    def orthogonal(self, G: np.ndarray) -> np.ndarray:
        """Z G."""
        padded = np.zeros((self.m + len(G), G.shape[1]), order="F")
        padded[self.m :] = G
        return self.rotate(padded, back=True)

    def coefficients(self, R: np.ndarray) -> np.ndarray:
        """d with P d closest to R."""
        rotated = self.rotate(np.array(R, order="F"))[: self.m]
        d = np.empty_like(rotated)
        d[self._order] = sla.solve_triangular(self._T, rotated)
        return d / self._norms[:, None]

    @cached_property
    def leverage(self) -> np.ndarray:
        """The diagonal of Q1 Q1', shape (n,)."""
        first = np.eye(len(self._raw), self.m, order="F")
        return np.sum(self.rotate(first, back=True) ** 2, axis=1)
