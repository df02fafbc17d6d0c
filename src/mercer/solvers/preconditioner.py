"""A low-rank factor of K as preconditioner: of every penalty, and of every part of the samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.lapack import lapack
from ..engine.routines import eigh, solve_cholesky, solve_lower
from ..gram.algebra import ScaledGram
from ..gram.base import Gram
from ..gram.tiles import check_cancelled, one_blas_thread, run, slices, upper
from .pivoted import PivotedCholesky, pivoted_cholesky

_COLUMNS = 6  # times sqrt(n): so many columns cost about as much as ten products with K
_CHEAP = 1000  # columns that cost little in any case
_LEAST = 100  # columns, whatever the memory
_BOUND = 10  # trace of what is left of K, in units of alpha: the condition number is below 11 then
_ROUNDED = 1e-5  # of the trace: what single precision can tell from nothing
_SAFE = 1e-12  # of the largest eigenvalue: a smaller shift would cancel
_STRIP = 4000  # rows of the factor in double precision at a time
_TILE = 256  # rows and columns of its matrix of moments
_GROUPS = 16  # independent accumulators
_FACTORS = 4  # so many Cholesky factors are cheaper than one eigendecomposition


class LowRankPreconditioner:
    r"""(M F F' M + shift I)^{-1} for any shift, with M the projection on any of given parts.

    .. math:: K = F F' + E, \qquad P = \frac{1}{\delta}
              \left(I - F (F'F + \delta I)^{-1} F'\right), \qquad
              \delta = \alpha + \operatorname{tr} E / n

    The eigenvalues of F'F serve all shifts. The mean eigenvalue of E is added to alpha because the
    condition number is the same for every delta between alpha and alpha plus the norm of E, while
    rounding errors are the smaller the larger delta is. F may be in single precision: it is taken
    as it is, in double.

    Parameters
    ----------
    found : PivotedCholesky
        F and the trace of E.
    alphas : array
        The penalties that it is used with.
    parts : bool array of shape (parts, n), optional
        The samples of each part; by default there is one, of all.

    References
    ----------
    Díaz, Epperly, Frangella, Tropp & Webber, *Robust, randomized preconditioning for kernel ridge
    regression*, 2023; Frangella, Tropp & Udell, *Randomized Nyström preconditioning*, SIAM J.
    Matrix Anal. 2023.
    """

    def __init__(
        self, found: PivotedCholesky, alphas: np.ndarray, parts: np.ndarray | None = None
    ) -> None:
        self.columns = found.factor.T  # rows of this array are contiguous
        self.rank, self.n = self.columns.shape
        self.missing = found.residual / max(self.n, 1)
        self.parts = parts
        whole = self._moments()
        self.top = float(np.linalg.norm(whole))  # at least the largest eigenvalue
        shifts = self.shift(np.unique(alphas))
        self.inner: list[Any] = [None] * (1 if parts is None else len(parts))

        def prepare(p: int) -> None:
            out = None if parts is None else np.flatnonzero(~parts[p])
            G = whole if out is None else whole - self._moments(out)
            self.inner[p] = ShiftedInverse(G, shifts)

        run(prepare, range(len(self.inner)))

    def shift(self, alpha: np.ndarray) -> np.ndarray:
        """The shift of the preconditioner for these penalties."""
        return np.maximum(alpha + self.missing, _SAFE * self.top)

    def __call__(self, R: np.ndarray, alphas: np.ndarray, part: np.ndarray) -> np.ndarray:
        """P R for columns of penalties and parts of their own; R is 0 outside the parts."""
        delta = self.shift(alphas)
        C = self._inner(R)
        for p in np.unique(part):
            its = part == p
            C[:, its] = self.inner[p](C[:, its], delta[its])
        Z = self._outer(C)
        np.subtract(R, Z, out=Z)
        Z /= delta
        if self.parts is not None:
            Z *= self.parts[part].T
        return Z

    def diag(self, alpha: float, part: int = 0) -> np.ndarray:
        """The diagonal of P."""
        delta = float(self.shift(np.array(alpha)))
        half, out = self.inner[part].half(delta), np.empty(self.n)

        def strip(rows: slice) -> None:
            out[rows] = 1 - np.square(self._rows(rows) @ half).sum(axis=1)

        run(strip, slices(self.n, _STRIP))
        return np.maximum(out, 0.0) / delta

    # ---- products with the factor, in double precision -------------------------------------
    def _rows(self, rows: slice | np.ndarray) -> np.ndarray:
        return self.columns[:, rows].T.astype(np.float64)

    def _inner(self, R: np.ndarray) -> np.ndarray:
        """F' R; the order of additions does not depend on threads."""
        strips = slices(self.n, _STRIP)
        groups = min(_GROUPS, len(strips))
        partial = np.zeros((groups, self.rank, R.shape[1]))

        def group(g: int) -> None:
            for rows in strips[g::groups]:
                check_cancelled()
                partial[g] += self._rows(rows).T @ R[rows]

        run(group, range(groups))
        return partial.sum(axis=0)

    def _outer(self, C: np.ndarray) -> np.ndarray:
        """F C."""
        out = np.empty((self.n, C.shape[1]))

        def strip(rows: slice) -> None:
            check_cancelled()
            out[rows] = self._rows(rows) @ C

        run(strip, slices(self.n, _STRIP))
        return out

    def _moments(self, samples: np.ndarray | None = None) -> np.ndarray:
        """F' F over all samples, or some."""
        G = np.zeros((self.rank, self.rank))
        strips: list = slices(self.n if samples is None else len(samples), _STRIP)
        strips = strips if samples is None else [samples[some] for some in strips]

        def tile(at: tuple[slice, slice]) -> None:
            a, b = at
            for rows in strips:
                check_cancelled()
                left = self.columns[a][:, rows].astype(np.float64)
                right = left if a == b else self.columns[b][:, rows].astype(np.float64)
                G[a, b] += left @ right.T
            G[b, a] = G[a, b].T

        run(tile, upper(self.rank, _TILE))
        return G


class ShiftedInverse:
    """(G + shift I)^-1 of a positive semi-definite array.

    By a Cholesky factor for each of a few shifts, or an eigendecomposition for many.
    """

    def __init__(self, G: np.ndarray, shifts: np.ndarray) -> None:
        self.factors: dict[float, np.ndarray] = {}
        with one_blas_thread():  # beside other jobs, threads of LAPACK wait most of the time
            if len(shifts) <= _FACTORS:
                for shift in shifts.tolist():
                    A = G.copy()
                    A.flat[:: len(A) + 1] += shift
                    self.factors[shift] = lapack(len(A), np.linalg.cholesky, A)
            elif len(G):
                self.s, self.V = lapack(len(G), eigh, G.T, overwrite=True)
                np.maximum(self.s, 0.0, out=self.s)

    def __call__(self, C: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """The inverse times the columns of C, each with a shift of its own."""
        if not len(C):
            return C
        if not self.factors:
            return np.asarray(self.V @ ((self.V.T @ C) / (self.s[:, None] + shifts)))
        out = np.empty_like(C)
        for shift, L in self.factors.items():
            its = shifts == shift
            out[:, its] = solve_cholesky(L, C[:, its])
        return out

    def half(self, shift: float) -> np.ndarray:
        """H with H H' = (G + shift I)^-1."""
        if not self.factors:
            return np.asarray(self.V / np.sqrt(self.s + shift))
        L = self.factors[shift]
        return lapack(len(L), solve_lower, L, np.eye(len(L))).T


def most_columns(n: int, memory: float) -> int:
    """The rank of a factor that pays, and that can be computed in this many bytes.

    Its columns in single precision, twice, and two matrices as large as the rank, in double.
    """
    pays = max(_COLUMNS * np.sqrt(n), _CHEAP)
    fits = (np.sqrt((8.0 * n) ** 2 + 64 * max(memory, 0.0)) - 8.0 * n) / 32
    return int(min(n, max(_LEAST, min(pays, fits))))


def low_rank(gram: Gram, alpha: float, rank: int, rng: np.random.Generator) -> PivotedCholesky:
    """K = F F' + E with at most this many columns; fewer, if those bound the condition number.

    That of the preconditioned system is at most 1 + tr E / alpha. F is in single precision, unless
    E would fall below what that can tell before this is 11.
    """
    trace = float(np.sum(gram.diag(), dtype=np.float64))
    enough = min(_BOUND * alpha / trace, 0.5) if trace > 0 else 0.5
    if gram.dtype != np.float64:
        enough = max(enough, _ROUNDED)
    found = pivoted_cholesky(gram, rank, max(enough, _ROUNDED), rng=rng, dtype=np.float32)
    if found.rank < rank and found.relative > enough:  # stopped by rounding: again, without
        found = pivoted_cholesky(gram, max(found.rank, rank // 2), enough, rng=rng)
    return found


class NystromPreconditioner:
    """Nearly (K + D)^-1 for a diagonal D > 0: P @ V.

    Parameters
    ----------
    gram : Gram
        The operator K.
    noise : array of shape (n,)
        The diagonal D.
    rank : int
        The most columns of K to use.
    rng : numpy.random.Generator
        Used to draw them.
    """

    def __init__(self, gram: Gram, noise: np.ndarray, rank: int, rng: np.random.Generator) -> None:
        self.alpha = float(noise.min())
        self.root = np.sqrt(self.alpha / noise)[:, None]
        found = low_rank(ScaledGram(gram, self.root[:, 0]), self.alpha, rank, rng)
        self.inner = LowRankPreconditioner(found, np.array([self.alpha]))

    def __matmul__(self, V: np.ndarray) -> np.ndarray:
        t = V.shape[1]
        return self.root * self.inner(self.root * V, np.full(t, self.alpha), np.zeros(t, dtype=int))
