"""Lengthscales of single columns that make the targets most likely.

Where most columns do not matter, gradients of a first fit say little, and the
marginal likelihood of a Gaussian process says more: for Y with C = K + alpha W^-1 and the variance
of the process profiled out,

    (n q / 2) log(tr(Y' C^-1 Y) / (n q)) + (q / 2) log |C|

is minimised over a weight for each column and alpha, by its gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cho_factor, lapack
from scipy.optimize import minimize

ROWS = 600  # that the likelihood is computed of, at most
COLUMNS = 40  # coordinates up to which each has a weight of its own
_BOUNDS = (np.log(1e-3), np.log(30.0))  # of weights
_NOISE = (np.log(1e-6), np.log(10.0))
_STEPS = 60


def likely_weights(profile: Any, Z: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The weights of coordinates for a profile of the l2 distance."""
    Z, Y, w = Z[:ROWS], Y[:ROWS], w[:ROWS]
    d = Z.shape[1]
    start = np.full(d, np.log(1 / np.sqrt(2.0 * max(d, 1))))
    found = minimize(
        objective,
        np.append(start, np.log(0.1)),
        args=(profile, Z, Y, w),
        jac=True,
        method="L-BFGS-B",
        bounds=[_BOUNDS] * d + [_NOISE],
        options={"maxiter": _STEPS, "ftol": 1e-6},
    )
    return np.exp(found.x[:d])


def objective(
    theta: np.ndarray, profile: Any, Z: np.ndarray, Y: np.ndarray, w: np.ndarray
) -> tuple[float, np.ndarray]:
    """The negative log likelihood up to constants, and its gradient by the logarithms."""
    n, q = Y.shape
    weights, alpha = np.exp(theta[:-1]), np.exp(theta[-1])
    X = Z * weights
    R = profile.distances(X, X)
    R.flat[:: n + 1] = 0
    C = profile.values(R)
    C.flat[:: n + 1] += alpha / w + 1e-10
    try:
        L, _ = cho_factor(C, lower=True)
    except np.linalg.LinAlgError:
        return 1e10, np.zeros_like(theta)
    inverse, _ = lapack.dpotri(L, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    B = inverse @ Y
    total = max(float(np.sum(B * Y)), 1e-300)
    value = 0.5 * n * q * np.log(total / (n * q)) + q * np.sum(np.log(np.diag(L)))
    H = 0.5 * (q * inverse - (n * q / total) * (B @ B.T))
    noise = alpha * float(np.sum(np.diag(H) / w))
    H *= profile.slopes(R)
    slopes = -2 * (np.sum(H, axis=1) @ (X * X) - np.einsum("ij,ij->j", X, H @ X))
    return float(value), np.append(slopes, noise)
