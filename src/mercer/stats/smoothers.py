"""Regularised projections of centred Gram matrices, and what they leave."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..gram.base import Gram
from ..solvers.cholesky import CholeskyFactor


class Smoother:
    r"""R = K_c (K_c + shift I)^-1 of a centred Gram matrix K_c = H K H.

    Stored as an n x n array, or as R = A A' with few columns where K is a product of features.

    Parameters
    ----------
    gram : Gram
        K, not centred.
    shift : float
        The regularisation.
    """

    def __init__(self, gram: Gram, shift: float) -> None:
        self.factor: np.ndarray | None = None
        if gram.features is not None and not sp.issparse(gram.features):
            phi = np.asarray(gram.features, dtype=np.float64)
            phi = phi - phi.mean(axis=0)
            inner = phi.T @ phi
            inner.flat[:: len(inner) + 1] += shift
            self.factor = CholeskyFactor(inner).half_solve(phi.T).T
        else:
            R = residual_maker(centred(gram), shift)
            np.negative(R, out=R)
            R.flat[:: len(R) + 1] += 1
            self.array = R

    def inner(self, other: Smoother) -> float:
        """tr(R S)."""
        if self.factor is not None and other.factor is not None:
            return float(np.sum(np.square(self.factor.T @ other.factor)))
        if self.factor is not None:
            return other.inner(self)
        if other.factor is not None:
            return float(np.vdot(other.factor, self.array @ other.factor))
        return float(np.vdot(self.array, other.array))


def centred(gram: Gram) -> np.ndarray:
    """H K H as a fresh array in double precision, symmetric to the last bit."""
    K = gram.dense("a measure of dependence", 2.0 * 8 * len(gram) ** 2)
    return centre_in_place(K.astype(np.float64, copy=False))


def centre_in_place(K: np.ndarray) -> np.ndarray:
    """H K H in the memory of K."""
    means = K.mean(axis=0)
    K -= means - means.mean() / 2
    K -= (means - means.mean() / 2)[:, None]
    return K


def u_centred(K: np.ndarray) -> np.ndarray:
    """K with a diagonal of 0, so centred that all rows add up to 0 nevertheless."""
    n, U = len(K), K.copy()
    np.fill_diagonal(U, 0)
    rows = U.sum(axis=0) / (n - 2)
    half = rows.sum() / (n - 1) / 2
    U -= rows - half
    U -= (rows - half)[:, None]
    np.fill_diagonal(U, 0)
    return U


def residual_maker(K: np.ndarray, shift: float) -> np.ndarray:
    """shift (K + shift I)^-1 in the memory of K."""
    K.flat[:: len(K) + 1] += shift
    inverse = CholeskyFactor(np.ascontiguousarray(K)).inverse()
    inverse *= shift
    upper = np.triu_indices(len(inverse), 1)
    inverse[upper] = inverse.T[upper]
    return inverse
