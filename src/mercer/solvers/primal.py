"""Ridge regression in the space of explicit features, for Gram operators that have them."""

from __future__ import annotations

import operator

import numpy as np
import scipy.sparse as sp

from ..data import as_dense
from ..engine.lapack import lapack, side
from ..engine.routines import solve_positive
from ..gram.base import Gram
from .base import Solution


def solve_primal(gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None) -> Solution:
    """w = (Phi' W Phi + alpha I)^-1 Phi' W y and its dual coefficients W (y - Phi w) / alpha."""
    phi = gram.features
    W = np.ones(len(Y)) if weights is None else weights
    weighted = sp.diags(W) @ phi if sp.issparse(phi) else W[:, None] * phi
    m = phi.shape[1]
    A = lapack(side(len(Y), m, m), operator.matmul, phi.T, weighted)
    moments = np.asarray(as_dense(A))
    A = moments.copy()
    A.flat[:: len(A) + 1] += alpha
    target = np.asarray(weighted.T @ Y)
    w = lapack(m, solve_positive, A, target)
    coef = W[:, None] * (Y - phi @ w) / alpha
    stats = {"method": "primal", "rank": gram.rank}
    return Solution(coef, message="solved", stats=stats, moments=moments)
