"""Conjugate gradients on many systems with one K, which is never stored: each product serves all.

Products are in single precision where K has such a form, residuals in double. Only the residual
computed from K itself counts: recursions for it are trusted for four digits, then it is recomputed,
and the search directions continue from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engine.limits import most_memory
from ..engine.memory import free_memory
from ..gram.algebra import ScaledGram
from ..gram.base import Gram
from ..gram.tiles import in_flight
from ..kernels.indefinite import why_no_factor
from .base import Solution
from .cholesky import NotPositiveDefiniteError
from .preconditioner import LowRankPreconditioner, low_rank, most_columns
from .watch import Watch

_FEW = 1000  # samples up to which all is in the precision of K
_TRUSTED = 1e-4  # the fall of a residual in single precision after which it is computed in double
_PROGRESS = 0.5  # by which it must have fallen then, or products become exact, or it is over
_ROUNDING = 100  # rounding errors of a product beyond which a negative curvature is one
_EXTREME = 1e30  # entries beyond this, or below its inverse, are left in double precision
_KEPT = 0.8  # of the memory, for the factor and the tiles that are kept
VECTORS = 12  # arrays of the shape of Y while it runs
_SOME = 500  # samples that tell whether K is indefinite


@dataclass(frozen=True, eq=False)
class Systems:
    r"""Systems with one K: (M_j K M_j + alpha_j I) x_j = M_j y_j, one for each column j.

    M_j is the projection on a part of the samples: all but those of a fold, say. Neighbouring
    columns of equal alpha and part may form a group, which shares its directions of search.

    Parameters
    ----------
    Y : array of shape (n, t)
        The right-hand sides.
    alphas : array of shape (t,)
        Penalties > 0.
    part : int array of shape (t,), optional
        Which of the ``parts`` each column is of.
    parts : bool array of shape (parts, n), optional
        The samples of each part; by default there is one, of all.
    group : int
        Columns of a group, a divisor of t.
    """

    Y: np.ndarray
    alphas: np.ndarray
    part: np.ndarray
    parts: np.ndarray | None = None
    group: int = 1

    @classmethod
    def of(cls, Y: np.ndarray, alphas: np.ndarray) -> Systems:
        """All samples in every column; those of one alpha, if there is only one, are a group."""
        t = Y.shape[1]
        group = t if t and np.all(alphas == alphas[0]) else 1
        return cls(Y, np.asarray(alphas, dtype=float), np.zeros(t, dtype=int), group=max(group, 1))

    def projected(self, V: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """V without the samples that its columns leave out."""
        return V if self.parts is None else V * self.parts[self.part[columns]].T


def solve_systems(
    gram: Gram,
    systems: Systems,
    root: np.ndarray | None = None,
    *,
    tol: float | np.ndarray = 1e-8,
    max_iter: int = 1000,
    rank: int | None = None,
    rng: np.random.Generator,
    watch: Watch | None = None,
    preconditioner: LowRankPreconditioner | None = None,
) -> Solution:
    """Coefficients c = D b of the systems of D K D with right-hand sides D y.

    With D = diag(root), the square roots of weights w, (K + alpha W^-1) c = y is such a system.
    Residuals are those of the latter, y - K c - alpha c / w, relative to y, on the samples of the
    part whose weight is not 0.

    Parameters
    ----------
    gram : Gram
        The operator K.
    systems : Systems
        Right-hand sides with their penalties > 0, and the samples of each.
    root : array of shape (n,), optional
        The diagonal of D; 1 by default.
    tol : float or array of shape (t,)
        Relative residual to reach, in all columns or in each.
    max_iter : int
        Most products with K.
    rank : int, optional
        Most columns of the preconditioner.
    rng : numpy.random.Generator
        Used to draw them.
    watch : Watch, optional
        Progress, callbacks, checkpoints.
    preconditioner : LowRankPreconditioner, optional
        One that several calls share.
    """
    with watch or Watch() as watch:
        run = _Run(gram, systems, root, tol, max_iter, rank, rng, watch, preconditioner)
        return run.solve()


class _Run:
    """The state of the iteration: solutions X, residuals R, directions D and their products AD.

    Columns are scaled so that the largest entry of y is 1. A column of D that is 0 has no direction
    yet.
    """

    def __init__(
        self,
        gram: Gram,
        systems: Systems,
        root: np.ndarray | None,
        tol: float | np.ndarray,
        max_iter: int,
        rank: int | None,
        rng: np.random.Generator,
        watch: Watch,
        preconditioner: LowRankPreconditioner | None,
    ) -> None:
        self.gram, self.systems, self.max_iter = gram, systems, max_iter
        self.watch, self.alphas, self.group = watch, systems.alphas, systems.group
        n, t = systems.Y.shape
        self.tol = np.broadcast_to(np.asarray(tol, dtype=float), (t,))
        A = gram if root is None else ScaledGram(gram, root)
        self.root = np.ones(n) if root is None else root
        self.back = np.divide(1.0, self.root, out=np.zeros(n), where=self.root > 0)
        memory = min(gram.limit, most_memory(), free_memory() / 2) - 8.0 * VECTORS * n * t
        memory -= in_flight(n, gram.workers, 8)
        if preconditioner is None:
            rank = rank or most_columns(n, memory / 2)
            found = low_rank(A, float(self.alphas.min(initial=np.inf)), rank, rng)
            preconditioner = LowRankPreconditioner(found, self.alphas, systems.parts)
        self.P = preconditioner
        held = self.P.columns.nbytes + 16.0 * len(self.P.columns) ** 2
        room = _KEPT * memory - held if n > _FEW else 0.0
        ordinary = 1 / _EXTREME < float(A.diag().max(initial=0.0)) < _EXTREME
        exact = gram.products(np.float64)
        fast = gram.products(np.float32 if n > _FEW and ordinary else np.float64, room)
        self.single = fast.dtype == np.float32 and exact.dtype == np.float64
        self.eps = float(np.finfo(exact.dtype).eps)
        self.exact, self.fast = (K if root is None else ScaledGram(K, root) for K in (exact, fast))
        everything = np.arange(t)
        Y = systems.projected(systems.Y * (self.root[:, None] > 0), everything).astype(np.float64)
        largest = np.abs(Y).max(axis=0, initial=0.0)
        self.unit = np.where(largest > 0, largest, 1.0)
        Y = Y / self.unit
        self.size = np.where(largest > 0, np.linalg.norm(Y, axis=0), 1.0)
        self.Y = self.root[:, None] * Y
        self.X, self.D, self.AD = (np.zeros((n, t)) for _ in range(3))
        self.R, self.n_iter = self.Y.copy(), 0
        if watch.checkpoint is not None:
            known = systems.Y, self.alphas, self.root, systems.part, _told_by(gram)
            earlier = watch.resume(*known)
            if earlier is not None:
                self.n_iter = earlier[0]
                self._go_on(earlier[1]["coef"])

    @property
    def coef(self) -> np.ndarray:
        """The coefficients c."""
        return self.root[:, None] * self.X * self.unit

    def _go_on(self, coef: np.ndarray) -> None:
        self.X = self.back[:, None] * coef.reshape(self.X.shape) / self.unit
        self._measure(np.arange(len(self.alphas)))

    def solve(self) -> Solution:
        t, stop = len(self.alphas), False
        measured = self._errors(np.arange(t))
        going = measured > self.tol
        while going.any() and not stop and self.n_iter < self.max_iter:
            goal = np.maximum(self.tol, _TRUSTED * measured) if self.single else self.tol
            stop = self._iterate(going, goal)
            self._measure(np.flatnonzero(going))
            before, measured = measured, self._errors(np.arange(t))
            stuck = going & (measured > _PROGRESS * before)
            going = measured > self.tol
            if np.any(stuck & going):
                if self.single:
                    self.single, self.fast = False, self.exact
                else:
                    going &= ~stuck
        if self.watch.best is not None:
            self._go_on(self.watch.best["coef"])
            measured = self._errors(np.arange(t))
        return self._solution(measured)

    def _iterate(self, going: np.ndarray, goal: np.ndarray) -> bool:
        """Steps until all columns reach their goals, by the recursion; True to stop for good."""
        while self.n_iter < self.max_iter:
            error = self._errors(np.arange(len(goal)))
            open_ = (going & (error > goal)).reshape(-1, self.group).any(axis=1)
            if not open_.any():
                return False
            columns = np.flatnonzero(np.repeat(open_, self.group))
            if not self._step(columns):
                return False
            self.n_iter += 1
            finest = float(self.tol.min())
            worst = finest * float((self._errors(columns) / self.tol[columns]).max())
            if self.watch(self.n_iter, worst, finest, {"coef": self.coef}):
                return True
        return False

    def _step(self, columns: np.ndarray) -> bool:
        """One step of all these columns; False where products are not good enough for any."""
        alphas, part = self.alphas[columns], self.systems.part[columns]
        at = slice(None) if len(columns) == len(self.alphas) else columns
        R, D, AD = self.R[:, at], self.D[:, at], self.AD[:, at]
        Z = self.P(R, alphas, part)
        D = Z - self._combine(D, _inverse(self._pairs(D, AD))[0] @ self._pairs(AD, Z))
        norm = np.linalg.norm(D, axis=0)
        D /= np.where(norm > 0, norm, 1.0)
        AD = self.systems.projected(self.fast @ D, columns) + alphas * D
        inverse, lowest, curved = _inverse(self._pairs(D, AD))
        rounding = _ROUNDING * self.eps * (self.P.top + alphas.max())
        if lowest < -rounding and not self.single:
            some = np.linspace(0, len(D) - 1, min(len(D), _SOME)).astype(int)
            raise NotPositiveDefiniteError(
                why_no_factor(self.gram.block(some, some), float(self.alphas.min()))
            )
        if not curved:
            return False
        step = inverse @ self._pairs(D, R)
        self.X[:, at] += self._combine(D, step)
        self.R[:, at] -= self._combine(AD, step)
        self.D[:, at], self.AD[:, at] = D, AD
        return True

    def _measure(self, columns: np.ndarray) -> None:
        """Residuals from K itself."""
        X = self.X[:, columns]
        AX = self.systems.projected(self.exact @ X, columns) + self.alphas[columns] * X
        self.R[:, columns] = self.Y[:, columns] - AX

    def _errors(self, columns: np.ndarray) -> np.ndarray:
        """Norms of residuals, without weights, relative to those of right-hand sides."""
        residuals = self.back[:, None] * self.R[:, columns]
        return np.linalg.norm(residuals, axis=0) / self.size[columns]

    # ---- groups of columns: products of (n, group) with (n, group) or (group, group) ---------
    def _pairs(self, V: np.ndarray, W: np.ndarray) -> np.ndarray:
        shape = len(V), -1, self.group
        return np.einsum("nci,ncj->cij", V.reshape(shape), W.reshape(shape), optimize=True)

    def _combine(self, V: np.ndarray, C: np.ndarray) -> np.ndarray:
        grouped = V.reshape(len(V), -1, self.group)
        return np.einsum("nci,cij->ncj", grouped, C, optimize=True).reshape(V.shape)

    def _solution(self, measured: np.ndarray) -> Solution:
        worst = float(measured.max(initial=0.0))
        size = float((np.linalg.norm(self.X, axis=0) / self.size).max(initial=0.0))
        rounding = min(4 * self.eps * (self.P.top + self.alphas.max(initial=0.0)) * size, 1e-6)
        converged = bool(np.all(measured <= np.maximum(self.tol, rounding)))
        stopped = f"conjugate gradients stopped after {self.n_iter} iterations"
        message = "solved"
        if not converged:
            message = (
                f"{self.watch.stopped or stopped} at a relative residual of {worst:.1e}, "
                f"tol={self.tol.min():g} was requested; raise alpha or tol, or give the plan more "
                "memory."
            )
        stats = {"method": "cg", "residual": worst, "preconditioner_rank": self.P.rank}
        return Solution(self.coef, converged, self.n_iter, message, stats)


def _inverse(pairs: np.ndarray) -> tuple[np.ndarray, float, bool]:
    """Pseudo-inverses of small matrices, their smallest eigenvalue, and has each a positive one?

    Directions that depend on others, or are 0, have no part in them.
    """
    s, U = np.linalg.eigh(pairs)
    least = 1e-12 * np.abs(s).max(axis=1, keepdims=True)
    inverse = np.divide(1.0, s, out=np.zeros_like(s), where=s > least)
    whole = np.einsum("cij,cj,ckj->cik", U, inverse, U)
    return whole, float(s.min(initial=0.0)), bool(np.all(s[:, -1] > 0))


def _told_by(gram: Gram) -> np.ndarray:
    """A few rows of K, by which it is known."""
    n = len(gram)
    return np.asarray(gram.rows(np.unique([0, n // 2, n - 1])))
