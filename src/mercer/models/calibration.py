"""Probabilities from scores, in a way that never contradicts the decision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit, log_softmax, softmax

_RANGE = (-12.0, 12.0)  # of log slopes


class Calibration:
    r"""Temperatures that turn scores into probabilities.

    Two classes: p(1 | f) = sigmoid(a f), with one slope for f > 0 and one for f < 0. More:
    softmax(a f). Slopes are positive, so the most probable class is the one with the largest score,
    always. They maximise the likelihood of held-out scores, with labels smoothed as Platt does so
    that perfect separation does not make them infinite.

    References
    ----------
    Platt, *Probabilistic outputs for support vector machines*, 1999; Guo, Pleiss, Sun & Weinberger,
    *On calibration of modern neural networks*, ICML 2017.
    """

    slopes: np.ndarray

    def fit(self, scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """Find the slopes from held-out scores of shape (n, 1) or (n, k) and labels 0..k-1."""
        w = np.ones(len(codes)) if weights is None else weights
        if scores.shape[1] > 1:
            self.slopes = np.array([_best(lambda a: _softmax_loss(a * scores, codes, w))])
            return self
        f = scores[:, 0]
        positive = w[codes == 1].sum()
        negative = w[codes == 0].sum()
        target = np.where(codes == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
        self.slopes = np.array([_slope(f, target, w, at) for at in (f <= 0, f > 0)])
        return self

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """One column per class."""
        if scores.shape[1] > 1:
            return softmax(self.slopes[0] * scores, axis=1)
        f = scores[:, 0]
        p = expit(np.where(f > 0, self.slopes[1], self.slopes[0]) * f)
        return np.column_stack([1 - p, p])


def _slope(f: np.ndarray, target: np.ndarray, weights: np.ndarray, at: np.ndarray) -> float:
    return _best(lambda a: _sigmoid_loss(a * f[at], target[at], weights[at]))


def _best(loss: Callable[[float], float]) -> float:
    found = minimize_scalar(lambda log: loss(np.exp(log)), bounds=_RANGE, method="bounded")
    return float(np.exp(found.x))


def _sigmoid_loss(f: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    return -float(np.sum(weights * (target * log_expit(f) + (1 - target) * log_expit(-f))))


def _softmax_loss(f: np.ndarray, codes: np.ndarray, weights: np.ndarray) -> float:
    smooth = 1 / (len(codes) + 2)
    logs = log_softmax(f, axis=1)
    right = logs[np.arange(len(codes)), codes]
    return -float(np.sum(weights * ((1 - smooth) * right + smooth * logs.mean(axis=1))))
