"""Online learning written as plain loops in NumPy, sample by sample, and with river.

Each loop does what mercer does in the case it is for, and no more than that: nothing is there for
comfort. They take labels, have the hinge loss and a Gaussian kernel.
"""

from __future__ import annotations

import numpy as np

GAMMA = 0.25
LENGTHS = (15.0, 60.0, 3.75, 240.0)


class _Function:
    """k(., points) @ coef + b."""

    points: np.ndarray
    coef: np.ndarray
    b: float

    def predict(self, X: np.ndarray) -> np.ndarray:
        squares = (X**2).sum(1)[:, None] + (self.points**2).sum(1) - 2 * X @ self.points.T
        return np.exp(-GAMMA * squares) @ self.coef + self.b > 0


class Loop(_Function):
    """NORMA with a ring of samples: one length of steps, no averages, no merging."""

    def __init__(self, budget: int, eta: float = 1.0, alpha: float = 1e-5) -> None:
        self.budget, self.eta, self.alpha = budget, eta, alpha
        self.b = 0.0

    def fit(self, X: np.ndarray, y: np.ndarray) -> Loop:
        points, coef = np.zeros((self.budget, X.shape[1])), np.zeros(self.budget)
        place = 0
        for t, (x, label) in enumerate(zip(X, np.where(y, 1.0, -1.0), strict=True), 1):
            eta = self.eta / np.sqrt(t)
            k = np.exp(-GAMMA * ((points - x) ** 2).sum(axis=1))
            score = k @ coef + self.b
            coef *= 1 - eta * self.alpha
            if label * score < 1:
                points[place], coef[place] = x, eta * label
                self.b += eta * label
                place = (place + 1) % self.budget
        self.points, self.coef = points, coef
        return self


class MergingLoop(_Function):
    """Implicit steps of four lengths side by side, averaged, with merging: all of ``implicit``."""

    def __init__(self, budget: int, alpha: float = 1e-5) -> None:
        self.budget, self.alpha = budget, alpha

    def fit(self, X: np.ndarray, y: np.ndarray) -> MergingLoop:
        size, lengths = self.budget + 1, np.array(LENGTHS)
        points, kept = np.zeros((size, X.shape[1])), 0
        coef, mean = np.zeros((4, size)), np.zeros((4, size))
        b, b_mean, losses = np.zeros(4), np.zeros(4), np.zeros(4)
        for t, (x, label) in enumerate(zip(X, np.where(y, 1.0, -1.0), strict=True), 1):
            k = np.exp(-GAMMA * ((points[:kept] - x) ** 2).sum(axis=1))
            share = min(2 / (t + 1), 1.0)
            told = np.maximum(1 - label * (mean[:, :kept] @ k + b_mean), 0)
            losses += share * (told - losses)
            eta = lengths / np.sqrt(t)
            shrink = 1 / (1 + eta * self.alpha)
            gap = 1 - label * (coef[:, :kept] @ k * shrink + b)
            u = np.clip(gap / (eta * (shrink + 1)), 0, 1)
            coef[:, :kept] *= shrink[:, None]
            b += eta * u * label
            if u.any():
                points[kept], coef[:, kept], mean[:, kept] = x, eta * u * label * shrink, 0.0
                kept += 1
            mean[:, :kept] += share * (coef[:, :kept] - mean[:, :kept])
            b_mean += share * (b - b_mean)
            if kept > self.budget:
                self._merge(points, coef, mean, k)
                kept -= 1
        best = int(np.argmin(losses))
        self.points, self.coef, self.b = points[:kept], mean[best, :kept], float(b_mean[best])
        return self

    def _merge(self, points: np.ndarray, coef: np.ndarray, mean: np.ndarray, k: np.ndarray) -> None:
        """Project the last term, or the smallest other one, on its nearest."""
        unit = 1 / np.maximum((coef**2).sum(axis=1), 1e-300)
        energy = unit @ coef**2 + unit @ mean**2
        last = len(points) - 1
        other = int(np.argmin(energy[:last]))
        row = np.exp(-GAMMA * ((points - points[other]) ** 2).sum(axis=1))
        row[other] = 0.0
        near, near_other = int(np.argmax(k)), int(np.argmax(row))
        gone, value = last, k[near]
        if energy[last] * (1 - k[near] ** 2) > energy[other] * (1 - row[near_other] ** 2):
            gone, near, value = other, near_other, row[near_other]
        coef[:, near] += value * coef[:, gone]
        mean[:, near] += value * mean[:, gone]
        if gone != last:  # the order makes no difference
            points[gone], coef[:, gone], mean[:, gone] = points[last], coef[:, last], mean[:, last]


class NewtonLoop(_Function):
    """Newton steps on the first samples, averaged: one length, no watch for drift.

    The inverse of the second moments follows by Sherman and Morrison.
    """

    def __init__(self, budget: int, eta: float = 0.25) -> None:
        self.budget, self.eta = budget, eta

    def fit(self, X: np.ndarray, y: np.ndarray) -> NewtonLoop:
        m, label = self.budget, np.where(y, 1.0, -1.0)
        self.points = Z = X[:m]
        squares = (Z**2).sum(axis=1)
        K = np.exp(-GAMMA * (squares[:, None] + squares - 2 * Z @ Z.T))
        P = np.linalg.inv(K @ K + K + 1e-7 * np.eye(m))
        coef, mean, b, b_mean = np.zeros(m), np.zeros(m), 0.0, 0.0
        for t, (x, sign) in enumerate(zip(X, label, strict=True), 1):
            k = np.exp(-GAMMA * ((Z - x) ** 2).sum(axis=1))
            v = P @ k
            q = k @ v
            if t > m:
                P -= np.outer(v, v / (1 + q))
                v, q = v / (1 + q), q / (1 + q)
            time = max(t, m)
            eta = min(self.eta / np.sqrt(time), 32 / time)
            reach = eta * (time * q + 1)
            u = min(max((1 - sign * (k @ coef + b)) / reach, 0.0), 1.0)
            coef += eta * u * sign * time * v
            b += eta * u * sign
            share = 2 / (t + 1)
            mean += share * (coef - mean)
            b_mean += share * (b - b_mean)
        self.coef, self.b = mean, b_mean
        return self


class River:
    """Logistic regression on random Fourier features."""

    def __init__(self, budget: int) -> None:
        from river import feature_extraction, linear_model

        features = feature_extraction.RBFSampler(gamma=GAMMA, n_components=budget, seed=0)
        self.model = features | linear_model.LogisticRegression()

    def fit(self, X: np.ndarray, y: np.ndarray) -> River:
        for x, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(x)), label)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.array([self.model.predict_one(dict(enumerate(x))) for x in X.tolist()])
