"""Losses for labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit, logsumexp, softmax, xlogy

from ..params import positive
from .base import _EDGE, _TINY, Dual, Loss, Piecewise


@dataclass(eq=False, repr=False)
class Hinge(Piecewise):
    """max(0, 1 - y f): the support vector machine.

    Examples
    --------
    >>> import numpy as np
    >>> Hinge().value(np.array([1.0, -1.0]), np.array([0.5, 0.5]))
    array([0.5, 1.5])

    References
    ----------
    Cortes & Vapnik, *Support-vector networks*, 1995.
    """

    targets = "sign"

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0))


@dataclass(eq=False, repr=False)
class SquaredHinge(Piecewise):
    """max(0, 1 - y f)^2 / 2.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredHinge().value(np.array([1.0, -1.0]), np.array([2.0, 1.0]))
    array([0., 2.])
    """

    targets = "sign"
    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        bounds = np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)
        return Dual(y, *bounds, soft=(1.0, 1.0))


@dataclass(eq=False, repr=False)
class SmoothedHinge(Piecewise):
    """The hinge loss with its corner rounded by a parabola between y f = 1 - width and 1.

    Parameters
    ----------
    width : float
        The width of the rounded part, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> SmoothedHinge(width=0.5).value(np.ones(3), np.array([0.0, 0.5, 1.0]))
    array([0.75, 0.25, 0.  ])

    References
    ----------
    Chapelle, *Training a support vector machine in the primal*, 2007.
    """

    width: float = positive(0.5)
    targets = "sign"
    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        bounds = np.where(y > 0, -1.0, 0.0), np.where(y > 0, 0.0, 1.0)
        return Dual(y, *bounds, soft=(self.width, self.width))


@dataclass(eq=False, repr=False)
class Logistic(Loss):
    """log(1 + exp(-y f)): the log-likelihood of p(y = 1) = 1 / (1 + exp(-f)).

    Examples
    --------
    >>> import numpy as np
    >>> Logistic().value(np.array([1.0]), np.array([0.0])).round(4)
    array([0.6931])
    """

    targets = "sign"
    smooth = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -log_expit(y * f)

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return -y * expit(-y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return expit(f) * expit(-f)

    def conjugate(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        s = -u * y
        p = np.clip(s, 0, 1)
        return np.where(np.abs(s - p) <= _EDGE, xlogy(p, p) + xlogy(1 - p, 1 - p), np.inf)


@dataclass(eq=False, repr=False)
class Multinomial(Loss):
    """-log softmax(f)_y for codes y = 0..K-1 and K scores: f has shape (n, K), values (n,).

    Examples
    --------
    >>> import numpy as np
    >>> Multinomial().value(np.array([2]), np.zeros((1, 3))).round(4)  # log 3
    array([1.0986])
    """

    targets = "classes"
    smooth = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return logsumexp(f, axis=1) - f[np.arange(len(y)), y]

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        p, right = softmax(f, axis=1), (np.arange(len(y)), y)
        p[right] = 0
        p[right] = -p.sum(axis=1)  # p - 1 without cancellation
        return p

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The diagonal p (1 - p) of the matrix diag(p) - p p' of each sample."""
        p = softmax(f, axis=1)
        return p * (1 - p)

    def curvature_times(self, y: np.ndarray, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        p = softmax(f, axis=1)
        return p * (v - np.sum(p * v, axis=1, keepdims=True))

    def prox(self, y: np.ndarray, v: np.ndarray, step: Any) -> np.ndarray:
        raise TypeError('Multinomial has no proximal step; use solver="newton".')

    def conjugate(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        p = u.copy()
        p[np.arange(len(y)), y] += 1
        fine = (p.min(axis=1) >= -_EDGE) & (np.abs(p.sum(axis=1) - 1) <= _EDGE)
        p = np.maximum(p, 0)
        return np.where(fine, xlogy(p, p).sum(axis=1), np.inf)

    def constant(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        logs = np.log(np.maximum(np.bincount(y, weights), _TINY))
        return logs - logs.mean()
