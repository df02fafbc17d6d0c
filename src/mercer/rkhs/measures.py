"""Distributions under which the Gaussian kernel has expectations in closed form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..data import Data
from ..kernels.distributions.normal import NormalMixture, dense, normal_logs

_ROOT = np.sqrt(2 * np.pi)


class Measure(ABC):
    """A distribution, and expectations of exp(-(x - Z)' S^-1 (x - Z) / 2) for any matrix S."""

    dimension: int

    @abstractmethod
    def mean(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        """The expectation at each row of X."""

    @abstractmethod
    def inner(self, other: Measure, S: np.ndarray) -> float:
        """The expectation over independent variables of both distributions."""

    def read(self, X: Data) -> np.ndarray:
        """Points in as many dimensions as the distribution has."""
        V = dense(X, "KnownEmbedding")
        if V.shape[1] != self.dimension:
            raise ValueError(
                f"KnownEmbedding: X has {V.shape[1]} features, but the distribution has "
                f"{self.dimension} variables."
            )
        return V


class Normals(Measure):
    """A mixture of normal distributions; the kernel is like a density of one more of them."""

    def __init__(self, mixture: NormalMixture) -> None:
        self.weights = np.asarray(mixture.weights, dtype=np.float64)
        self.means = np.asarray(mixture.means, dtype=np.float64)
        self.matrices, self.dimension = mixture.matrices, mixture.dimension

    def mean(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        total = np.zeros(len(X))
        constant = np.linalg.slogdet(2 * np.pi * S)[1] / 2
        for w, m, C in zip(self.weights, self.means, self.matrices, strict=True):
            total += w * np.exp(constant + normal_logs(X - m, np.linalg.cholesky(S + C)))
        return total

    def inner(self, other: Measure, S: np.ndarray) -> float:
        total = 0.0
        for w, m, C in zip(self.weights, self.means, self.matrices, strict=True):
            shrunk = np.exp((np.linalg.slogdet(S)[1] - np.linalg.slogdet(S + C)[1]) / 2)
            total += w * shrunk * other.mean(m[None], S + C)[0]
        return float(total)


class Uniform(Measure):
    """The uniform distribution on an interval."""

    dimension = 1

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    def mean(self, X: np.ndarray, S: np.ndarray) -> np.ndarray:
        scale, x = float(np.sqrt(S[0, 0])), X[:, 0]
        a, b = (self.low - x) / scale, (self.high - x) / scale
        flip = a > 0  # in the tail on the other side nothing cancels
        share = np.where(flip, ndtr(-a) - ndtr(-b), ndtr(b) - ndtr(a))
        return scale * _ROOT * share / (self.high - self.low)

    def inner(self, other: Any, S: np.ndarray) -> float:
        if not isinstance(other, Uniform):
            return other.inner(self, S)
        scale = float(np.sqrt(S[0, 0]))
        corners = np.array(
            [
                self.high - other.low,
                self.low - other.high,
                self.low - other.low,
                self.high - other.high,
            ]
        )
        F = _twice(corners / scale)
        area = (self.high - self.low) * (other.high - other.low)
        return float(scale**2 * (F[0] + F[1] - F[2] - F[3]) / area)


def _twice(z: np.ndarray) -> np.ndarray:
    """A second antiderivative of exp(-z^2 / 2), even in z."""
    return _ROOT * z * (ndtr(z) - 0.5) + np.exp(-(z**2) / 2)
