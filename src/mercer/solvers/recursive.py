r"""Ridge and logistic regression on M features of a stream, in O(M^2) memory.

The squared loss needs two sums over all samples, so its recursion is exact. For other losses the
parabola that touches the penalised loss of all samples so far, at its minimum, stands for them
(Laplace's approximation, online Newton steps):

.. math:: w_t = \arg\min_w \tfrac12 (w - w_{t-1})' H_{t-1} (w - w_{t-1})
          + \sum_{i \in t} L(y_i, \phi_i' w), \qquad
          H_t = H_{t-1} + \sum_{i \in t} L''(y_i, \phi_i' w_t)\, \phi_i \phi_i'

References
----------
Opper, *A Bayesian approach to on-line learning*, 1998.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg as sla

from ..losses.base import Loss
from .base import Solution

_FLAT = 1e-8  # curvature of intercepts before any sample has been seen
_HALVINGS = 40


class RidgeMoments(NamedTuple):
    """Phi' W Phi and Phi' W Y of all samples so far."""

    moments: np.ndarray
    products: np.ndarray

    @classmethod
    def empty(cls, features: int, outputs: int) -> RidgeMoments:
        """The moments of no samples."""
        return cls(np.zeros((features, features)), np.zeros((features, outputs)))

    def take_in(self, phi: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> RidgeMoments:
        """With more samples."""
        weighted = weights[:, None] * phi
        return RidgeMoments(self.moments + phi.T @ weighted, self.products + weighted.T @ Y)

    def solve(self, alphas: np.ndarray) -> Solution:
        """(Phi' W Phi + alpha I) w = Phi' W y, one alpha for each column, all > 0."""
        W, worst = np.empty_like(self.products), 0.0
        for alpha in np.unique(alphas):
            columns = alphas == alpha
            A, right = self.moments.copy(), self.products[:, columns]
            A.flat[:: len(A) + 1] += alpha
            W[:, columns] = sla.cho_solve(sla.cho_factor(A), right)
            size = np.linalg.norm(right)
            if size > 0:
                worst = max(worst, float(np.linalg.norm(A @ W[:, columns] - right) / size))
        stats = {"method": "recursive", "rank": len(W), "residual": worst}
        return Solution(W, stats=stats)


class Posterior(NamedTuple):
    """A normal distribution of weights: mean, one column per output, and inverse covariance.

    Rows and columns of ``precision`` are those of the first output, then of the second, ...
    """

    mean: np.ndarray
    precision: np.ndarray

    @classmethod
    def prior(cls, features: int, outputs: int, alpha: float, intercept: bool) -> Posterior:
        """That of the penalty alpha |w|^2 / 2; intercepts come last, and may be anything."""
        diagonal = np.full((outputs, features + intercept), alpha)
        if intercept:
            diagonal[:, -1] = _FLAT
        return cls(np.zeros(diagonal.shape[::-1]), np.diag(diagonal.ravel()))

    def take_in(
        self, phi: np.ndarray, y: np.ndarray, weights: np.ndarray, loss: Loss,
        tol: float = 1e-8, max_iter: int = 100,
    ) -> tuple[Posterior, Solution]:  # fmt: skip
        """With more samples: damped Newton steps to the new mean; phi has the ones of b in it."""
        start = self.mean
        W, shape = start.copy(), start.shape

        def scores(W: np.ndarray) -> np.ndarray:
            return phi @ W if shape[1] > 1 else (phi @ W)[:, 0]

        def objective(W: np.ndarray) -> float:
            d = (W - start).T.ravel()
            return float(d @ self.precision @ d / 2 + weights @ loss.value(y, scores(W)))

        value, scale, size, steps = objective(W), 0.0, np.inf, 0
        while True:
            f = scores(W)
            slopes = weights * loss.slope(y, f).T  # one row per output
            gradient = (slopes @ phi).ravel() + self.precision @ (W - start).T.ravel()
            scale = max(scale, float(np.abs(gradient).max()))
            size = float(np.abs(gradient).max())
            precision = self.precision + _hessian(phi, y, f, weights, loss)
            if size <= tol * scale or steps == max_iter:
                break
            step = sla.cho_solve(sla.cho_factor(precision), gradient).reshape(shape[::-1]).T
            length, fall = 1.0, float(gradient @ step.T.ravel())
            for _ in range(_HALVINGS):
                trial = W - length * step
                new = objective(trial)
                if new <= value - 1e-4 * length * fall:
                    break
                length /= 2
            else:  # rounding is all that is left
                break
            W, value, steps = trial, new, steps + 1
        small = size <= max(tol, 1e-6) * scale or scale == 0
        stats = {"method": "laplace", "rank": shape[0], "violation": size / (scale or 1.0)}
        message = "solved" if small else "Newton's method did not converge; scale the kernel."
        return Posterior(W, precision), Solution(W, small, steps, message, stats)


def _hessian(phi: np.ndarray, y: np.ndarray, f: Any, weights: np.ndarray, loss: Loss) -> np.ndarray:
    """sum_i w_i L''(y_i, f_i) phi_i phi_i', a block for every pair of outputs."""
    width, outputs = phi.shape[1], 1 if f.ndim == 1 else f.shape[1]
    if outputs == 1:
        return phi.T @ ((weights * loss.curvature(y, f))[:, None] * phi)
    H = np.empty((outputs, width, outputs, width))
    for b in range(outputs):
        unit = np.zeros_like(f)
        unit[:, b] = 1.0
        curvature = weights[:, None] * loss.curvature_times(y, f, unit)
        for a in range(b + 1):
            H[a, :, b] = phi.T @ (curvature[:, a, None] * phi)
            H[b, :, a] = H[a, :, b].T
    return H.reshape(outputs * width, outputs * width)
