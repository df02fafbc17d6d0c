"""Probabilities from scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit, log_softmax, softmax

_STEEPEST = 1e4  # slope, per standard deviation of the scores


class Calibration:
    r"""The map from scores to probabilities that held-out labels make most likely.

    Two classes: logit p(1 | f) = b + a₊ max(f, 0) + a₋ min(f, 0), monotone, with one slope on each
    side of the boundary. More: softmax(a f + b), with an intercept for each class. Intercepts make
    the mean of p over the held-out samples the share of each class, however the machine weighted
    the classes; slopes of zero, the base rates, are among the candidates. Labels are smoothed as
    Platt does, so that perfect separation does not make slopes infinite.

    Attributes
    ----------
    slopes : ndarray
        a₋ and a₊, or a, all >= 0.
    offsets : ndarray
        b, one number for two classes, else one for each class.

    References
    ----------
    Platt, *Probabilistic outputs for support vector machines*, 1999; Guo, Pleiss, Sun & Weinberger,
    *On calibration of modern neural networks*, ICML 2017.
    """

    slopes: np.ndarray
    offsets: np.ndarray

    def fit(self, scores: np.ndarray, codes: np.ndarray, weights: np.ndarray | None = None) -> Self:
        """Find the map from held-out scores of shape (n, 1) or (n, k) and labels 0..k-1."""
        w = np.ones(len(codes)) if weights is None else weights
        scale = float(scores.std()) or 1.0
        shares = np.bincount(codes, w, scores.shape[1] if scores.shape[1] > 1 else 2) / w.sum()
        if scores.shape[1] > 1:
            F, k = scores / scale, scores.shape[1]
            smooth = 1 / (len(codes) + 2)
            target = (1 - smooth) * np.eye(k)[codes] + smooth / k
            found = _maximise(lambda v: _softmax_loss(v, F, target, w), 1, np.log(shares))
            self.slopes, self.offsets = found[:1] / scale, found[1:] - found[1:].mean()
            return self
        f = scores[:, 0] / scale
        positive, negative = w[codes == 1].sum(), w[codes == 0].sum()
        target = np.where(codes == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
        sides = np.column_stack([np.minimum(f, 0), np.maximum(f, 0)])
        base = np.log(shares[1:] / shares[0])
        found = _maximise(lambda v: _sigmoid_loss(v, sides, target, w), 2, base)
        self.slopes, self.offsets = found[:2] / scale, found[2:]
        return self

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """One column per class."""
        if scores.shape[1] > 1:
            return softmax(self.slopes[0] * scores + self.offsets, axis=1)
        f = scores[:, 0]
        p = expit(np.where(f > 0, self.slopes[1], self.slopes[0]) * f + self.offsets[0])
        return np.column_stack([1 - p, p])


def _maximise(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], slopes: int, offsets: np.ndarray
) -> np.ndarray:
    """Slopes and offsets of the smallest loss, which is convex, from the base rates on."""
    start = np.concatenate([np.zeros(slopes), offsets])
    bounds = [(0.0, _STEEPEST)] * slopes + [(None, None)] * len(offsets)
    found = minimize(
        loss, start, jac=True, bounds=bounds, method="L-BFGS-B",
        options={"ftol": 1e-13, "gtol": 1e-9, "maxiter": 1000},
    )  # fmt: skip
    return np.asarray(found.x)


def _sigmoid_loss(
    v: np.ndarray, sides: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Mean negative log-likelihood for logit p = sides @ v[:2] + v[2], and its gradient."""
    f, total = sides @ v[:2] + v[2], weights.sum()
    value = -np.sum(weights * (target * log_expit(f) + (1 - target) * log_expit(-f))) / total
    slope = weights * (expit(f) - target) / total
    return float(value), np.append(slope @ sides, slope.sum())


def _softmax_loss(
    v: np.ndarray, scores: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """The same for softmax(v[0] scores + v[1:])."""
    logs, total = log_softmax(v[0] * scores + v[1:], axis=1), weights.sum()
    slope = weights[:, None] * (np.exp(logs) - target) / total
    value = -np.sum(weights[:, None] * target * logs) / total
    return float(value), np.append(np.sum(slope * scores), slope.sum(axis=0))
