r"""Directions that separate classes: Fisher's criterion in feature space.

.. math:: \max_f \frac{\sum_c W_c (m_c(f) - m(f))^2}
                      {\sum_i w_i (f(x_i) - m_{c(i)}(f))^2 + \alpha \|f\|^2}

with (weighted) means m_c of f over the classes and m over all. With f = sum_i z_i k(x_i, .), U the
differences of means as columns of weights and N the scatter within classes, the directions are
combinations of the columns of Z = (N K + alpha I)^-1 U, one linear system for each class, and their
ratios the eigenvalues of D^1/2 U'K Z D^1/2 with D = diag(W_c). As N U vanishes, the system
is one with a positive definite matrix, P K P + alpha I for the projection P that takes class means
away.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..gram.base import Gram
from .cholesky import CholeskyFactor, NotPositiveDefiniteError

_REFINED = 3  # solutions, the second and third of what the one before left
Map = Callable[[np.ndarray], np.ndarray]

_NONE = 1e-12  # a ratio, as a part of the largest one, that is rounding


class Directions(NamedTuple):
    """Coefficients of f_1..f_q, their ratios, and the means of classes along them."""

    coef: np.ndarray
    ratios: np.ndarray
    means: np.ndarray
    centre: np.ndarray


def fisher_directions(
    gram: Gram, codes: np.ndarray, weights: np.ndarray, alpha: float, count: int
) -> Directions:
    """The best directions, scaled so that within-class scatter and penalty add up to 1.

    Parameters
    ----------
    gram : Gram
        The operator K.
    codes : array of shape (n,)
        Classes 0..k-1.
    weights : array of shape (n,)
        Weights of the samples, >= 0, not all 0 in any class.
    alpha : float
        Strength of the penalty, > 0.
    count : int
        The most directions; there are k - 1 at most.
    """
    k = int(codes.max()) + 1
    totals = np.bincount(codes, weights, minlength=k)
    root = np.sqrt(weights)
    one = np.zeros((len(codes), k))  # orthonormal: W^1/2 times the classes
    one[np.arange(len(codes)), codes] = root / np.sqrt(totals)[codes]
    R = one / np.sqrt(totals) - np.outer(root, np.full(k, 1 / totals.sum()))

    def within(V: np.ndarray) -> np.ndarray:
        return V - one @ (one.T @ V)

    phi = gram.features
    if phi is not None and 2 * phi.shape[1] <= len(gram):
        KY, coef = _by_features(phi, root, within, R, alpha)
    else:
        KY, coef = _by_matrix(gram, root, within, R, alpha)
    G = np.sqrt(totals)[:, None] * (R.T @ KY) * np.sqrt(totals)
    ratios, vectors = np.linalg.eigh((G + G.T) / 2)
    ratios, vectors = ratios[::-1], vectors[:, ::-1]
    kept = int(np.sum(ratios[: min(count, k - 1)] > _NONE * max(ratios[0], 0.0)))
    ratios = ratios[:kept]
    A = np.sqrt(totals)[:, None] * vectors[:, :kept] / np.sqrt(ratios)
    values = KY @ A  # W^1/2 f
    means = (one.T @ values) / np.sqrt(totals)[:, None]
    centre = totals @ means / totals.sum()
    return Directions(coef(A), ratios, means - centre, centre)


def _by_matrix(
    gram: Gram, root: np.ndarray, within: Map, R: np.ndarray, alpha: float
) -> tuple[np.ndarray, Map]:
    """K Y for alpha Y + P K Y = R, all between W^1/2, and coefficients from combinations of Y."""
    n = len(gram)
    K = np.array(gram.dense(f"the scatter of {n} samples", 24.0 * n * n), dtype=np.float64)
    K *= root
    K *= root[:, None]
    A = within(within(K).T)
    A.flat[:: n + 1] += alpha
    factor = _factor(A, alpha)
    Y, left = np.zeros_like(R), R
    for _ in range(_REFINED):  # a small alpha costs digits, which come back
        Y = Y + (left - within(factor.solve(within(K @ left)))) / alpha
        left = R - alpha * Y - within(K @ Y)
    return K @ Y, lambda A: root[:, None] * (Y @ A)


def _by_features(
    phi: Any, root: np.ndarray, within: Map, R: np.ndarray, alpha: float
) -> tuple[np.ndarray, Map]:
    """The same for K = Phi Phi', by weights of the features."""
    dense = phi.toarray() if sp.issparse(phi) else np.asarray(phi, dtype=np.float64)
    rooted = root[:, None] * dense
    A = within(rooted)
    B = A.T @ A
    B.flat[:: len(B) + 1] += alpha
    weights = _factor(B, alpha).solve(rooted.T @ R)
    return rooted @ weights, lambda A: np.linalg.lstsq(dense.T, weights @ A, rcond=None)[0]


def _factor(A: np.ndarray, alpha: float) -> CholeskyFactor:
    """The factor of a scatter with alpha on its diagonal; an error if rounding loses alpha."""
    with suppress(NotPositiveDefiniteError):
        factor = CholeskyFactor(A)
        if factor.least_pivot() > len(A) * np.finfo(float).eps:
            return factor
    raise NotPositiveDefiniteError(
        f"alpha={alpha:.2g} is lost by rounding beside the scatter within classes, which is "
        "singular; raise alpha, or divide all sample weights by a constant."
    )
