"""What kernel PCA finds: eigenvalues, and an affine subspace, from K or from landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..data import Data
from ..exceptions import IndefiniteKernelWarning, warn
from ..gram.base import Gram
from ..gram.plan import Plan
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from ..kernels.indefinite import is_negative, negative_eigenvalue
from ..solvers.components import Spectrum
from ..solvers.moments import Moments
from .common import on_vectors


class Affine(NamedTuple):
    """The subspace mu + span{v_j}, as :class:`~mercer.rkhs.subspace.Subspace` takes it."""

    axes: np.ndarray
    center: np.ndarray
    offset: np.ndarray
    norm: float


@dataclass
class Components:
    """Eigenvalues, unit eigenvectors, the subspace, and the coordinates of the samples.

    ``mass`` is the sum of all weights, ``trace`` that of all eigenvalues.
    """

    values: np.ndarray
    vectors: np.ndarray
    scores: np.ndarray
    affine: Affine
    mass: float
    trace: float


@dataclass
class Selection:
    """Which components are kept.

    Parameters
    ----------
    count : int, optional
        The requested number: if there are fewer, components of variance zero are added. None keeps
        all that have variance.
    positive : bool
        Keep only those with variance, even so.
    single : bool
        Eigenvalues are known to single precision only.
    """

    count: int | None
    positive: bool
    single: bool = False

    def __call__(
        self, values: np.ndarray, vectors: np.ndarray, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The kept eigenvalues of n samples and their vectors; zero where they are rounding."""
        first = float(values.max(initial=0.0))
        largest = float(np.abs(values).max(initial=0.0))
        if is_negative(values.min(initial=0.0), largest):
            found = negative_eigenvalue(float(values.min()), first)
            message = f"{found}. Components with negative eigenvalues are set to zero."
            warn(message, IndefiniteKernelWarning)
        real = values > (2e-7 if self.single else 1e-12) * first
        values, vectors = np.where(real, values, 0.0), np.where(real, vectors, 0.0)
        if self.positive or self.count is None:
            return values[real], vectors[:, real]
        missing = min(self.count, n) - len(values)
        return np.pad(values, (0, missing)), np.pad(vectors, ((0, 0), (0, missing)))


def in_single(kernel: Kernel, X: Data, plan: Plan) -> Gram | None:
    """K of dense vectors in single precision, for rough work; None for all other data."""
    if not (isinstance(X, np.ndarray) and X.dtype == np.float64 and on_vectors(kernel)):
        return None
    # a shift that the kernel does not see saves the digits that single precision has
    shifted = X - X.mean(axis=0) if kernel.properties.stationary else X
    return kernel.gram(shifted.astype(np.float32), plan)


def from_spectrum(found: Spectrum, weights: np.ndarray | None, select: Selection) -> Components:
    """With centres at the samples: v_j = lambda_j^-1/2 sum_i sqrt(w_i) u_ij (phi(x_i) - mu)."""
    n = len(found.row_means)
    w = np.ones(n) if weights is None else weights
    root, mass = np.sqrt(w), float(w.sum())
    values, U = select(found.values, found.coef, n)
    scores = U * np.sqrt(values) / np.where(w > 0, root, 1.0)[:, None]
    signs = _signs(scores)
    U, scores = U * signs, scores * signs
    axes = root[:, None] * U * _inverse_roots(values)
    center = w / mass
    axes -= np.outer(center, axes.sum(axis=0))  # sums are zero, but for rounding
    means = found.row_means
    affine = Affine(axes, center, means @ axes, float(means @ center))
    return Components(values, U, scores, affine, mass, found.trace)


class Stream(NamedTuple):
    """What is kept of samples approximated with landmarks.

    Sum of weights, weighted mean and scatter of their features, and sum of w_i k(x_i, x_i).
    """

    mass: float
    mean: np.ndarray
    scatter: np.ndarray
    power: float

    @classmethod
    def empty(cls, size: int) -> Stream:
        """Of no samples, with this number of features."""
        return cls(0.0, np.zeros(size), np.zeros((size, size)), 0.0)

    def take_in(self, kernel: Nystrom, P: Any, weights: np.ndarray | None) -> Stream:
        """With more samples, prepared for the kernel."""
        moments = Moments(self.mass, self.mean.copy(), self.scatter.copy())
        moments.update(kernel.features(P), weights)
        squares = kernel.kernel.diag(P.parts[0]).astype(np.float64)
        power = self.power + float(squares.sum() if weights is None else weights @ squares)
        return Stream(moments.mass, moments.mean, moments.scatter, power)

    @property
    def trace(self) -> float:
        """The scatter of the features of k itself about the mean, in all directions."""
        return self.power - self.mass * float(self.mean @ self.mean)

    @property
    def lost(self) -> float:
        """The share of it outside the span of the landmarks."""
        return 1 - float(np.trace(self.scatter)) / self.trace if self.trace > 0 else 0.0

    def components(
        self, place: Place, n: int, phi: np.ndarray, weights: Any, select: Selection
    ) -> Components:
        """With centres at a few points; scores and vectors are those of samples with features phi.

        Signs are such that the largest coordinate of a centre is positive, so they do not depend
        on which samples these are.
        """
        values, V = select(*Moments(*self[:3]).axes(select.count), n)
        V = V * _signs((place.features - self.mean) @ V)
        scores = phi @ V - self.mean @ V
        root = np.ones(len(phi)) if weights is None else np.sqrt(weights)
        affine = Affine(
            place.combine(V),
            place.combine(self.mean[:, None])[:, 0],
            self.mean @ V,
            float(self.mean @ self.mean),
        )
        U = root[:, None] * scores * _inverse_roots(values)
        return Components(values, U, scores, affine, self.mass, self.trace)


class Place(NamedTuple):
    """Where functions of few features have their centres.

    The features of these, and the coefficients of functions with given weights of features.
    """

    features: np.ndarray
    combine: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of_landmarks(cls, kernel: Nystrom) -> Place:
        """Those of a Nystrom kernel."""
        phi = kernel.features(kernel.prepare(kernel.reference))
        return cls(phi, lambda weights: kernel.combine(weights).coef)


def _signs(scores: np.ndarray) -> np.ndarray:
    """1 or -1 for each column, so that its largest entry is positive (as in scikit-learn)."""
    largest = np.argmax(np.abs(scores), axis=0)
    return np.where(scores[largest, np.arange(scores.shape[1])] < 0, -1.0, 1.0)


def _inverse_roots(values: np.ndarray) -> np.ndarray:
    """1 / sqrt(value), and 0 for 0."""
    return np.divide(1, np.sqrt(values), where=values > 0, out=np.zeros_like(values))
