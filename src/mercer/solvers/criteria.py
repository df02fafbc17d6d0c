r"""Criteria by which hyper-parameters of squared-loss models are chosen, with their gradients.

With A = K + diag(noise), G = A^-1 and c = G y:

======================  =========================================================================
evidence                -log p(y) = y'c / 2 + log det(A) / 2 + n log(2 pi) / 2
leave-one-out           mean of (c_i / G_ii)^2, the errors of the models trained without sample i
generalised             n |c|^2 / (tr G)^2, the same with G_ii replaced by their mean
validation              mean squared error on held-out samples
======================  =========================================================================

Samples with weights w have the noise alpha / w. The means of squared errors are then weighted, and
the generalised score is n sum_i c_i^2 / w_i / (sum_i G_ii / w_i)^2.

A change dA changes each of them by sum_ij W_ij dA_ij. W is given in tiles: with it, the gradient in
any number of hyper-parameters needs no matrix of derivatives (:func:`mercer.gram.tiles.contract`).

Beside a free intercept, G is replaced by G - G11'G / 1'G1, the inverse of A on vectors of sum zero,
and -log p(y) has the further term log(1'G1) / 2 and n - 1 in place of n: nothing is known of the
intercept, and it is integrated out.

References: Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, chapter 5;
Sundararajan & Keerthi, *Predictive approaches for choosing hyperparameters in Gaussian processes*,
2001; Golub, Heath & Wahba, *Generalized cross-validation*, 1979.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.lapack import lapack
from .cholesky import CholeskyFactor


@dataclass
class Criterion:
    """The value of a criterion, which is to be small, and its slope.

    Attributes
    ----------
    value : float
        The criterion.
    tile : callable
        (rows, cols) -> W[rows, cols] for slices.
    diagonal : ndarray of shape (n,)
        The diagonal of W: the derivatives with respect to the noise of each sample.
    """

    value: float
    tile: Callable[[slice, slice], np.ndarray]
    diagonal: np.ndarray


def evidence(
    A: np.ndarray, Y: np.ndarray, *, scaled: bool = False, intercept: bool = False
) -> Criterion:
    """The negative logarithm of the marginal likelihood of the columns of Y.

    Parameters
    ----------
    A : ndarray of shape (n, n)
        K + diag(noise); it is overwritten, and nothing else of that size is made.
    Y : ndarray of shape (n, t)
        Targets, each of them a draw of the same process.
    scaled : bool
        The covariance of Y is s A, with the factor s that makes Y most likely.
    weights : ndarray of shape (n,), optional
        Those of the samples, > 0, for criteria that count errors; A has them in its noise.
    intercept : bool
        A constant is added to each column of Y of which nothing is known.
    """
    n, t = Y.shape
    factor = CholeskyFactor(A)
    g = _constant(factor, n, intercept)
    C = factor.solve(Y) - g @ (g.T @ Y)
    squares, freedom = float((Y * C).sum()), n - g.shape[1]
    s = squares / (t * freedom) if scaled else 1.0
    logdet = factor.logdet() + 2 * float(np.log(g.sum(axis=0)).sum())
    value = squares / s / 2 + t * (logdet + freedom * np.log(2 * np.pi * s)) / 2
    G = factor.inverse()

    def tile(rows: slice, cols: slice) -> np.ndarray:
        left, right = C[rows], C[cols].T / -s
        found = left * right if t == 1 else left @ right  # a product of vectors is no work for BLAS
        if intercept:
            found -= g[rows] @ (t * g[cols]).T
        found += _symmetric(G, rows, cols) if t == 1 else t * _symmetric(G, rows, cols)
        found /= 2
        return found

    diagonal = np.diagonal(G) - (g * g).sum(axis=1)
    return Criterion(value, tile, (t * diagonal - (C * C).sum(axis=1) / s) / 2)


def leave_one_out(
    A: np.ndarray, Y: np.ndarray, *, weights: np.ndarray | None = None, intercept: bool = False
) -> Criterion:
    """The mean squared error of leave-one-out predictions; parameters as in :func:`evidence`."""
    G, C = _inverse(A, Y, intercept)
    g = np.diagonal(G).copy()
    R = C / g[:, None]
    wR = R if weights is None else R * (weights / weights.mean())[:, None]
    # dR = -(G dA C) / g + C diag(G dA G) / g^2, from dC = -G dA C and dG = -G dA G
    U = G @ (wR / g[:, None])
    M = lapack(len(G), np.matmul, G * (wR * C / (g * g)[:, None]).sum(axis=1), G)
    scale = 2 / Y.size

    def tile(rows: slice, cols: slice) -> np.ndarray:
        outer = U[rows] @ C[cols].T + C[rows] @ U[cols].T
        return scale * (M[rows, cols] - outer / 2)

    diagonal = scale * (np.diagonal(M) - (U * C).sum(axis=1))
    return Criterion(float((wR * R).mean()), tile, diagonal)


def generalised(
    A: np.ndarray, Y: np.ndarray, *, weights: np.ndarray | None = None, intercept: bool = False
) -> Criterion:
    """The score of generalised cross-validation; parameters as in :func:`evidence`."""
    n = len(A)
    G, C = _inverse(A, Y, intercept)
    v = np.ones(n) if weights is None else 1 / weights
    vC = v[:, None] * C
    trace = float(v @ np.diagonal(G))
    value = n * float((vC * C).sum()) / trace**2 / Y.shape[1]
    U, M = G @ vC, lapack(n, np.matmul, G, G if weights is None else v[:, None] * G)
    scale = 2 * n / trace**2 / Y.shape[1]

    def tile(rows: slice, cols: slice) -> np.ndarray:
        outer = U[rows] @ C[cols].T + C[rows] @ U[cols].T
        return 2 * value / trace * M[rows, cols] - scale * outer / 2

    diagonal = 2 * value / trace * np.diagonal(M) - scale * (U * C).sum(axis=1)
    return Criterion(value, tile, diagonal)


def validation(
    A: np.ndarray, Y: np.ndarray, *, weights: np.ndarray | None = None, train: int
) -> Criterion:
    """The mean squared error, on samples ``train`` and after, of a model of those before.

    Parameters as in :func:`evidence`; there is no noise on the held-out samples.
    """
    held = Y.shape[0] - train
    cross = A[train:, :train].copy()
    factor = CholeskyFactor(np.ascontiguousarray(A[:train, :train]))
    C = factor.solve(Y[:train])
    E = Y[train:] - cross @ C
    w = np.ones(held) if weights is None else weights[train:] / weights[train:].mean()
    wE = w[:, None] * E
    H = factor.solve(cross.T @ wE)
    # dE = -(dK_cross C) + K_cross G dA C; W is the symmetric matrix that gives 2 (wE)'dE
    left, right = np.concatenate([H, -wE]), np.concatenate([C, np.zeros((held, Y.shape[1]))])
    scale = 1 / E.size

    def tile(rows: slice, cols: slice) -> np.ndarray:
        return scale * (left[rows] @ right[cols].T + right[rows] @ left[cols].T)

    diagonal = 2 * scale * (left * right).sum(axis=1)
    return Criterion(float((wE * E).mean()), tile, diagonal)


def total(parts: Sequence[Criterion]) -> Criterion:
    """The sum of several criteria."""

    def tile(rows: slice, cols: slice) -> np.ndarray:
        return np.sum([part.tile(rows, cols) for part in parts], axis=0)

    diagonal = np.sum([part.diagonal for part in parts], axis=0)
    return Criterion(sum(part.value for part in parts), tile, diagonal)


def _inverse(A: np.ndarray, Y: np.ndarray, intercept: bool) -> tuple[np.ndarray, np.ndarray]:
    """G = A^-1, in the memory of A, and G Y; beside an intercept as said above."""
    factor = CholeskyFactor(A)
    g = _constant(factor, len(Y), intercept)
    C = factor.solve(Y) - g @ (g.T @ Y)
    G = factor.inverse()
    upper = np.triu_indices(len(G), 1)
    G[upper] = G.T[upper]
    if intercept:
        G -= g @ g.T
    return G, C


def _constant(factor: CholeskyFactor, n: int, intercept: bool) -> np.ndarray:
    """G1 / sqrt(1'G1) as a column; no column without an intercept."""
    if not intercept:
        return np.empty((n, 0))
    g = factor.solve(np.ones((n, 1)))
    return g / np.sqrt(g.sum())


def _symmetric(L: np.ndarray, rows: slice, cols: slice) -> np.ndarray:
    """A tile of the symmetric matrix with this lower triangle."""
    if rows == cols:
        T = np.tril(L[rows, cols])
        return T + np.tril(T, -1).T
    return L[rows, cols] if cols.start < rows.start else L[cols, rows].T
