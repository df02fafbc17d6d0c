"""What kernels on the circle share: angles of samples, Fourier series, trigonometric features.

Samples are numbers; numbers that differ by the period are the same point. With the frequency
w = 2 pi / period, such a kernel is

    k(x, y) = sum_l khat_|l| exp(i l w (x - y)) = khat_0 + 2 sum_{l >= 1} khat_l cos(l w (x - y))

and it is positive definite exactly when every khat_l >= 0.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ...data import Data
from ..base import Tile, Tiled
from ..calculus import properties as prop
from ..calculus.domains import Domain, circle
from .line import LineKernel

TURN = 2 * np.pi


class Circular(LineKernel, Tiled):
    """A stationary kernel on the circle; prepared samples are angles in [0, 2 pi], and turns.

    The kernel is a function of the angles; how many whole turns lie before them matters only to
    the derivative with respect to the period.

    Not a dataclass itself, so that subclasses may declare ``period`` after their own parameters.
    """

    period: float

    @abstractmethod
    def fourier_coefficients(self, L: int) -> np.ndarray:
        """[khat_0, ..., khat_L]."""

    def series(self) -> np.ndarray | None:
        """A short list of coefficients that gives k to rounding, or None: then profile is used."""
        return None

    def profile(self, T: np.ndarray) -> np.ndarray:
        """K as a function of the angle w (x - y) between two points."""
        raise NotImplementedError

    def slope(self, T: np.ndarray) -> np.ndarray:
        """The derivative of the profile."""
        raise NotImplementedError

    def prepare(self, X: Data) -> np.ndarray:
        x = super().prepare(X)
        # In float64 also for float32 samples: many turns times a rounded period would drift.
        turns, rest = np.divmod(x.astype(np.float64), self.period)
        return np.stack([rest * (TURN / self.period), turns], axis=1).astype(x.dtype, copy=False)

    def tiles(self, X: np.ndarray, Y: np.ndarray) -> Tile:
        weights = self.series()
        if weights is None:
            return lambda rows, cols: self.profile(angles_between(X[rows], Y[cols]))
        A = waves(X[:, 0], weights)
        B = A if Y is X else waves(Y[:, 0], weights)
        return lambda rows, cols: A[rows] @ B[cols].T

    def diag(self, X: np.ndarray) -> np.ndarray:
        weights = self.series()
        if weights is None:
            return np.full(len(X), self.profile(np.zeros(1, X.dtype))[0])
        return np.full(len(X), weights[0] + 2 * weights[1:].sum(), dtype=X.dtype)

    def grad_input(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        return (self._turning(X, Y, W) * (TURN / self.period))[:, None]

    def _turning(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        """sum_j W_ij dk(x_i, y_j)/dt_i with the angle t_i of x_i."""
        weights = self.series()
        if weights is None:
            return np.sum(W * self.slope(angles_between(X, Y)), axis=1)
        slopes, others = wave_slopes(X[:, 0], weights), waves(Y[:, 0], weights)
        return np.sum(slopes * (W @ others), axis=1)

    def _grad_period(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> float:
        """The gradient with respect to log(period), as far as it moves the angles.

        An angle t with all its turns is proportional to 1 / period, so its derivative is -t.
        """
        s, t = (Z.astype(np.float64) @ [1, TURN] for Z in (X, Y))
        origin = t.mean()  # k does not depend on it, but differences of large numbers do
        moved = (s - origin) @ self._turning(X, Y, W) + (t - origin) @ self._turning(Y, X, W.T)
        return -float(moved)

    def grad_theta_diag(self, X: np.ndarray, w: np.ndarray) -> np.ndarray:
        return np.sum(w) * self.grad_theta(X[:1], X[:1], np.ones((1, 1)))

    @property
    def domain(self) -> Domain:
        return circle(self.period)

    def _full_spectrum(self, reason: str) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("stationary: k(x, x) is the same number everywhere"),
            analytic=prop.yes("an analytic function of x - y"),
            stationary=prop.yes("a function of x - y"),
            universal=prop.yes(
                f"every Fourier coefficient is positive ({reason}), and trigonometric polynomials "
                f"are dense"
            ),
        )


def waves(angles: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Features sqrt(khat_0), sqrt(2 khat_l) cos(l t), sqrt(2 khat_l) sin(l t) where khat_l > 0."""
    l, size, phase = _phases(angles, weights)
    columns = [np.cos(phase) * size, np.sin(phase[:, l > 0]) * size[l > 0]]
    return np.hstack(columns).astype(angles.dtype, copy=False)


def wave_slopes(angles: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The derivatives of :func:`waves` with respect to the angle."""
    l, size, phase = _phases(angles, weights)
    columns = [-np.sin(phase) * (l * size), np.cos(phase[:, l > 0]) * (l * size)[l > 0]]
    return np.hstack(columns).astype(angles.dtype, copy=False)


def _phases(angles: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    l = np.flatnonzero(weights)
    size = np.sqrt(np.where(l > 0, 2, 1) * weights[l])
    return l, size, angles.astype(np.float64)[:, None] * l


def angles_between(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """The differences of the angles of prepared X and Y, whole turns left out."""
    return np.subtract.outer(X[:, 0], Y[:, 0])
