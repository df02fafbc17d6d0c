r"""Ridge regression through M features for all penalties and folds, from sums over one pass.

With :math:`G_k = \Phi_k' W \Phi_k` and :math:`b_k = \Phi_k' W y` of each fold k, the model of all
other folds is a system of M equations, and the squared error on the fold is

.. math:: y_k' W y_k - 2 v' b_k + v' G_k v, \qquad
          \Bigl(\sum_{l \ne k} G_l + \alpha I\Bigr) v = \sum_{l \ne k} b_l,

without using the samples. A second pass leaves each sample out: with the weight of y_i in its own
prediction, :math:`h_i = w_i \phi_i' (G + \alpha I)^{-1} \phi_i`, the error is
:math:`(y_i - f(x_i)) / (1 - h_i)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from ..chunks.base import Chunk, Sums
from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..engine.routines import eigh
from ..gram.phi import Rows, add_product
from ..gram.tiles import slices
from .falkon import targets

_STRIP = 4096  # samples whose features are there at a time


@dataclass
class FoldSums(Rows):
    """A pass: sums of products of features and targets over each fold.

    ``folds`` has the number of the fold of each sample; None if there is only one. Targets are
    counted from ``center``, for their spread.
    """

    folds: np.ndarray | None = None
    count: int = 1
    center: Any = 0.0

    def __call__(self, chunk: Chunk) -> Sums:  # type: ignore[override]
        m, k, t = self.columns.size, self.count, targets(chunk).shape[1]
        G, b, squares = np.zeros((k, m, m)), np.zeros((k, m, t)), np.zeros((k, t))
        sums, apart, mass = np.zeros((k, t)), np.zeros((k, t)), np.zeros(k)
        for rows in slices(len(chunk), _STRIP):
            part = chunk.rows(rows)
            phi, Y = super().__call__(part), targets(part)
            w = np.ones(len(part)) if part.weight is None else part.weight
            root = np.sqrt(w)[:, None]
            phi = phi * root.astype(phi.dtype)
            of = np.zeros(len(part), np.intp)
            if self.folds is not None:
                of = self.folds[part.start : part.start + len(part)]
            for fold in np.unique(of):
                at = slice(None) if len(part) == np.sum(of == fold) else np.flatnonzero(of == fold)
                add_product(G[fold], phi[at], self.workers)
                b[fold] += phi[at].T.astype(np.float64) @ (root * Y)[at]
                squares[fold] += w[at] @ Y[at] ** 2
                D = Y[at] - self.center
                sums[fold] += w[at] @ D
                apart[fold] += w[at] @ D**2
                mass[fold] += w[at].sum()
        return G, b, squares, sums, apart, mass


class LeftOut(NamedTuple):
    """Of each alpha: weighted squared errors left out one by one, and residuals, shape (m, t)."""

    errors: np.ndarray
    residuals: np.ndarray


class RidgeSums:
    """All that ridge regressions with one kernel are made of.

    Parameters
    ----------
    gram : ImplicitGram
        The operator, of samples that come with targets and weights.
    folds : integers of shape (n,), optional
        The number of the fold of each sample.
    center : array of shape (t,), optional
        A number amid the targets.

    Attributes
    ----------
    moments, sums : ndarray of shape (folds, M, M) and (folds, M, t)
        Phi' W Phi and Phi' W Y of each fold.
    squares, spread : ndarray of shape (folds, t)
        Sums of w y^2, and of w (y - mean)^2 about the mean of the fold.
    mass : ndarray of shape (folds,)
        Sums of weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.implicit import ImplicitGram
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 2.0, 3.0, 5.0])
    >>> K = ImplicitGram(Linear(), ArrayChunks(X, y), X)
    >>> found = RidgeSums(K, np.array([0, 0, 1, 1]))
    >>> v = found.solve([1.0], without=0)[0]  # from the last two samples
    >>> v.round(6), found.errors([1.0])[0, 1]
    (array([[1.115385]]), array([3.02777778]))
    """

    def __init__(self, gram: Any, folds: np.ndarray | None = None, center: Any = 0.0) -> None:
        self.gram = gram
        count = 1 if folds is None else int(folds.max()) + 1
        what = f"sums over {count} folds of products of {gram.rank} features"
        require_memory(8.0 * (2 * count + 2) * gram.rank**2, what, gram.limit)
        job = FoldSums(gram.columns, gram.factor, gram.workers, folds, count, center)
        G, b, squares, sums, apart, mass = gram.chunks.reduce(job)
        self.moments, self.sums, self.squares, self.mass = G, b, squares, mass
        share = np.divide(1.0, mass, where=mass > 0, out=np.zeros_like(mass))
        self.spread = np.maximum(apart - share[:, None] * sums**2, 0.0)

    def solve(self, alphas: Sequence[float], without: int | None = None) -> np.ndarray:
        """Weights of features for each alpha, shape (alphas, M, t); of all folds but one."""
        keep = np.arange(len(self.mass)) != (-1 if without is None else without)
        G, b = self.moments[keep].sum(axis=0), self.sums[keep].sum(axis=0)
        out = np.empty((len(alphas), *b.shape))
        for place, alpha in enumerate(alphas):
            A = G.copy()
            A.flat[:: len(A) + 1] += alpha
            factor = lapack(len(A), sla.cho_factor, A, lower=True, overwrite_a=True)
            out[place] = sla.cho_solve(factor, b, check_finite=False)
        return out

    def errors(self, alphas: Sequence[float]) -> np.ndarray:
        """Weighted sums of squared errors on each fold by models of the others.

        Shape (alphas, folds, t).
        """
        out = np.empty((len(alphas), *self.squares.shape))
        for fold in range(len(self.mass)):
            out[:, fold] = self.on(fold, self.solve(alphas, without=fold))
        return out

    def on(self, fold: int, V: np.ndarray) -> np.ndarray:
        """Weighted sums of squared errors of functions on a fold, for V of shape (..., M, t)."""
        inner = np.einsum("...mt,...mt->...t", V, self.moments[fold] @ V - 2 * self.sums[fold])
        return np.maximum(self.squares[fold] + inner, 0.0)

    def left_out(self, alphas: Sequence[float]) -> LeftOut:
        """Errors of each sample by the model of all others, in one more pass."""
        s, U = lapack(self.gram.rank, eigh, self.moments.sum(axis=0))
        s = np.maximum(s, 0.0)[:, None]
        inverse = 1 / (s + np.asarray(alphas, dtype=float))
        V = U.T @ self.sums.sum(axis=0)
        job = OneByOne(
            self.gram.columns, self.gram.factor, self.gram.workers, U, inverse,
            np.stack([inverse[:, a, None] * V for a in range(len(alphas))]),
        )  # fmt: skip
        return LeftOut(*self.gram.chunks.reduce(job))

    def dof(self, alphas: Sequence[float]) -> np.ndarray:
        """Effective degrees of freedom, tr K (K + alpha I)^-1."""
        s = np.maximum(lapack(self.gram.rank, np.linalg.eigvalsh, self.moments.sum(axis=0)), 0.0)
        return np.array([float(np.sum(s / (s + alpha))) for alpha in alphas])


@dataclass
class OneByOne(Rows):
    """A pass: squared errors of samples that are left out one by one, and residuals."""

    axes: Any = None  # eigenvectors of Phi' W Phi
    inverse: Any = None  # 1 / (s + alpha), shape (M, alphas)
    weights: Any = None  # of functions in these axes, shape (alphas, M, t)

    def __call__(self, chunk: Chunk) -> Sums:  # type: ignore[override]
        found = np.zeros((2, len(self.weights), targets(chunk).shape[1]))
        for rows in slices(len(chunk), _STRIP):
            part = chunk.rows(rows)
            P, Y = super().__call__(part).astype(np.float64) @ self.axes, targets(part)
            w = np.ones(len(part)) if part.weight is None else part.weight
            h = w[:, None] * (P**2 @ self.inverse)
            for a, V in enumerate(self.weights):
                E = Y - P @ V
                alone = E / np.maximum(1 - h[:, a, None], np.finfo(float).eps)
                found[0, a] += w @ alone**2
                found[1, a] += w @ E**2
        return found[0], found[1]
