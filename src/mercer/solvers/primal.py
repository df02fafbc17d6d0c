"""Ridge regression in the space of explicit features, for Gram operators that have them."""

from __future__ import annotations

import numpy as np

from ..gram.base import Gram
from ..gram.stored import adjoint, moments, times
from .base import Solution
from .cholesky import CholeskyFactor


def solve_primal(gram: Gram, Y: np.ndarray, alpha: float, weights: np.ndarray | None) -> Solution:
    """w = (Phi' W Phi + alpha I)^-1 Phi' W y and its dual coefficients c = W (y - Phi w) / alpha.

    In double precision, whatever that of the features is. The rounding of w is divided by alpha in
    c, so that Phi'c, the weights that predictions go by, is off by what many samples and a small
    alpha make of it. So c is mended: what Phi'c lacks of w is known well, and W Phi times
    (Phi' W Phi + alpha I)^-1 of it supplies it.
    """
    phi = gram.features
    W = np.ones((len(Y), 1)) if weights is None else weights[:, None]
    A = moments(phi, weights)
    shifted = A.copy()
    shifted.flat[:: len(A) + 1] += alpha
    factor = CholeskyFactor(shifted)
    w = factor.solve(adjoint(phi, W * Y))
    coef = W * (Y - times(phi, w)) / alpha
    coef += W * times(phi, factor.solve(w - adjoint(phi, coef)))
    stats = {"method": "primal", "rank": gram.rank}
    return Solution(coef, message="solved", stats=stats, moments=A)
