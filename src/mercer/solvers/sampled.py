"""Systems Phi' H Phi + alpha, solved from features of a few samples and a few passes over all.

The matrix of s samples drawn at random, n / s times as large, is close to that of all of them
wherever alpha is not small against what s samples leave open. Its Cholesky factor preconditions
conjugate gradients, each step of which is one pass. With the centres themselves as the samples it
is the preconditioner of FALKON; a sample of its own serves any choice of centres, features of any
kind, and the curvatures of any loss.

References: Rudi, Carratino & Rosasco, *FALKON*, NIPS 2017; Marteau-Ferey, Bach & Rudi, *Globally
convergent Newton methods for ill-conditioned generalized self-concordant losses*, NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg as sla

from ..gram.factors import Curvatures, Solve
from ..gram.phi import Phi

_LOWEST = 1e-3  # Ritz value: what is smaller is rounding
_FLAT = 1e-9  # of the curvature that a preconditioner sees

Product = Callable[[np.ndarray, np.ndarray], np.ndarray]


class Preconditioner:
    """R -> (A_j + alpha_j)^-1 R_j for each column j.

    Parameters
    ----------
    phi : Phi
        The features, which say what alpha applies to.
    matrices : list of Curvatures
        One for each column, or one for all; all are positive semi-definite.
    alphas : array of shape (t,)
        One for each column.
    floor : float
        Added to what no penalty sees: a constant that no curvature holds.
    """

    def __init__(
        self, phi: Phi, matrices: list[Curvatures], alphas: np.ndarray, floor: float = 0.0
    ) -> None:
        of = np.arange(len(alphas)) if len(matrices) > 1 else np.zeros(len(alphas), int)
        self.factors: list[tuple[np.ndarray, Solve]] = []
        for j, A in enumerate(matrices):
            for alpha in np.unique(alphas[of == j]):
                columns = np.flatnonzero((of == j) & (alphas == alpha))
                penalty = phi.penalty(alpha)[:, 0]
                if phi.intercept:
                    penalty[-1] = floor
                self.factors.append((columns, A.factor(penalty, len(self.factors))))

    @classmethod
    def of(cls, solves: list[Solve], t: int) -> Preconditioner:
        """From a system that was factorised for each of t columns, or one for all."""
        new = cls.__new__(cls)
        one = len(solves) < t
        parts = [np.arange(t)] if one else [np.array([j]) for j in range(t)]
        new.factors = list(zip(parts, solves, strict=True))
        return new

    def __call__(self, R: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """The columns of R are those with these numbers, all by default."""
        columns = np.arange(R.shape[1]) if columns is None else columns
        Z = np.empty_like(R)
        for own, solve in self.factors:
            here = np.flatnonzero(np.isin(columns, own))
            if len(here):
                Z[:, here] = solve(R[:, here])
        return Z


def inner(R: np.ndarray, Z: np.ndarray, joint: bool) -> np.ndarray:
    """Inner products of columns; all are one vector if they belong to one problem."""
    each = np.einsum("ij,ij->j", R, Z)
    return np.full(len(each), each.sum()) if joint else each


class Search(NamedTuple):
    """The state from which conjugate gradients continue.

    Attributes
    ----------
    R, D : arrays of shape (M, t)
        What is left, and the directions.
    left : array of shape (t,)
        r' P^-1 r.
    carried : array of shape (t,)
        What the last steps add to the next Ritz values.
    """

    R: np.ndarray
    D: np.ndarray
    left: np.ndarray
    carried: np.ndarray


class _Lanczos:
    """The smallest Ritz value of conjugate gradients, from the lengths and ratios of its steps."""

    def __init__(self, carried: float = 0.0) -> None:
        self.diagonal: list[float] = []
        self.beside: list[float] = []
        self.carried = carried

    def add(self, length: float, ratio: float) -> float:
        """The state after one more step of this length, with the new r' P^-1 r."""
        if not (length > 0 and ratio >= 0 and np.isfinite(length) and np.isfinite(ratio)):
            return np.inf  # rounding
        self.diagonal.append(1 / length + self.carried)
        found = sla.eigvalsh_tridiagonal(self.diagonal, self.beside)[0]
        self.carried = ratio / length
        self.beside.append(np.sqrt(ratio) / length)
        return max(float(found), _LOWEST)


def conjugate_gradients(
    product: Product,
    precondition: Preconditioner,
    R: np.ndarray,
    goal: np.ndarray,
    most: int,
    *,
    joint: bool = False,
    lowest: np.ndarray | None = None,
    look: Callable[[np.ndarray, Search], bool] = lambda X, search: False,
    start: Search | None = None,
) -> tuple[np.ndarray, int]:
    """X with A X = R, until r' P^-1 r <= goal for each column; and the number of steps.

    Parameters
    ----------
    product : callable
        (D, columns) -> A D, for the columns that have not converged.
    precondition : Preconditioner
        P^-1.
    R : array of shape (M, t)
        Right-hand sides.
    goal : array of shape (t,)
        Where each column stops.
    most : int
        The maximum number of steps.
    joint : bool
        Are all columns one system?
    lowest : array of shape (t,), optional
        The smallest eigenvalue of P^-1 A that has been seen, for each column; it is updated. Then a
        column stops at r' P^-1 r <= goal * lowest, which bounds r' A^-1 r by about the goal.
    look : callable
        Called with X and a :class:`Search` after each step; True ends it.
    start : Search, optional
        Where an earlier call was: then X is what is added from there on, and R is not looked at.
    """
    if start is None:
        D = precondition(R)
        start = Search(R, D, inner(R, D, joint), np.zeros(R.shape[1]))
        first = 1.0
    else:
        first = 0.0
    R, D, left = start.R.copy(), start.D.copy(), start.left.copy()
    X, n_iter = np.zeros_like(R), 0
    seen = [_Lanczos(carried) for carried in start.carried]
    while n_iter < most:
        at = np.flatnonzero(left > (goal if lowest is None else goal * lowest))
        if not len(at):
            break
        AD = product(D[:, at], at)
        curve = inner(D[:, at], AD, joint)
        bent = curve > _FLAT * left[at]  # else the minimum is far off, or what is left is rounding
        step = np.divide(left[at], curve, where=bent, out=np.full(len(at), first))
        first = 0.0
        X[:, at] += step * D[:, at]
        R[:, at] -= step * AD
        Z = precondition(R[:, at], at)
        new = inner(R[:, at], Z, joint)
        if lowest is not None:
            for j, length, ratio in zip(at, step, new / left[at], strict=True):
                lowest[j] = min(lowest[j], seen[j].add(length, ratio))
        D[:, at] = Z + (new / left[at]) * D[:, at]
        left[at] = np.where(bent, new, 0.0)
        n_iter += 1
        if look(X, Search(R, D, left, np.array([each.carried for each in seen]))):
            break
    return X, n_iter
