"""How several outputs depend on each other, learned by the marginal likelihood."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from .base import Solution
from .eigen import RidgeSpectrum
from .kronecker import KroneckerSpectrum

_TOLERANCE = 1e-5  # of the conditions for a minimum


def learn_output(
    rows: RidgeSpectrum, Y: np.ndarray, alpha: float, *, max_iter: int = 1000
) -> Solution:
    """The matrix B of trace T under which Y is most likely.

    The objective is in the notes of :class:`mercer.MultiOutputKernelRidge`.

    Parameters
    ----------
    rows : RidgeSpectrum
        The eigendecomposition of K, or of W^1/2 K W^1/2.
    Y : array of shape (n, T)
        Targets.
    alpha : float
        The variance of the noise next to that of the kernel.
    max_iter : int
        Maximum number of steps.

    Returns
    -------
    Solution
        B as ``coef``; ``stats["objective"]`` never increases.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> from mercer.solvers.eigen import RidgeSpectrum
    >>> from mercer.solvers.output import learn_output
    >>> X = np.linspace(0, 6, 60)[:, None]
    >>> wave = np.sin(X[:, 0])
    >>> Y = np.column_stack([wave, -wave]) + 0.1 * np.cos(np.arange(120.0) ** 2).reshape(60, 2)
    >>> learn_output(RidgeSpectrum(Gaussian().gram(X)), Y, alpha=0.01).coef.round(1)
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    root = 1.0 if rows.root is None else rows.root[:, None]
    T, scaled = Y.shape[1], root * Y
    N = T * float(len(Y) if rows.root is None else np.sum(rows.root**2))
    Z = rows.U.T @ scaled
    rest = max(float(np.sum(scaled**2) - np.sum(Z**2)), 0.0) / alpha
    lower = np.tril_indices(T)
    if T == 1 or not np.any(Z):
        return Solution(np.eye(T), stats={"method": "none", "objective": [], "violation": 0.0})

    def unpack(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        L = np.zeros((T, T))
        L[lower] = theta
        return L, T * (L @ L.T) / np.sum(L**2)

    def objective(B: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and the gradient with respect to B along matrices of trace 0."""
        spectrum = KroneckerSpectrum(rows.U, rows.s, B)
        D, H = np.outer(rows.s, spectrum.t) + alpha, Z @ spectrum.V
        E = H / D
        fit = float(np.sum(H * E)) + rest
        value = np.log(fit) / 2 + float(np.log(D).sum()) / (2 * N)
        inner = np.diag((rows.s[:, None] / D).sum(axis=0)) / N - E.T @ (rows.s[:, None] * E) / fit
        gradient = spectrum.V @ inner @ spectrum.V.T / 2
        return value, gradient - np.sum(gradient * B) / T * np.eye(T)

    def by_factor(theta: np.ndarray) -> tuple[float, np.ndarray]:
        L, B = unpack(theta)
        value, gradient = objective(B)
        return value, (2 * T / np.sum(L**2) * gradient @ L)[lower]

    start = np.eye(T)[lower]
    path = [by_factor(start)[0]]
    found = minimize(
        by_factor,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda theta: path.append(by_factor(theta)[0]),
        options={"maxiter": max_iter, "maxfun": 20 * max_iter, "ftol": 1e-15, "gtol": 1e-8},
    )
    B = unpack(found.x)[1]
    gradient = objective(B)[1]
    # at a minimum over positive semi-definite B, the gradient is so too, and vanishes on B
    violation = max(float(-np.linalg.eigvalsh(gradient)[0]), float(np.abs(gradient @ B).max()))
    converged = violation <= _TOLERANCE
    message = (
        "solved"
        if converged
        else (
            f"output='learn' stopped after {found.nit} steps, {violation:.1e} away from the "
            f"conditions for a minimum; raise max_iter or alpha."
        )
    )
    stats = {"method": "likelihood", "objective": path, "violation": violation}
    return Solution((B + B.T) / 2, converged, int(found.nit), message, stats)
