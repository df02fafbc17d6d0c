"""Inputs of a Gaussian process besides X and y: noise, weights of samples, landmarks."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ..checks import as_numbers, check_choice, check_count, is_count
from ..data import Data, as_vectors, in_double, is_frame
from ..kernels.base import Kernel
from ..search.descent import is_matrix, rows_of
from ..search.landmarks import APPROXIMATIONS
from .common import check_data, check_weights, covariance


class Present(NamedTuple):
    """Samples that count, with what belongs to them.

    Attributes
    ----------
    X, y : data
        Samples and targets.
    alpha : ndarray or None
        The noise that was given, a number or one for each sample.
    weights : ndarray of shape (n,)
        All > 0.
    """

    X: Data
    y: np.ndarray
    alpha: np.ndarray | None
    weights: np.ndarray


def check_choices(model: Any) -> None:
    """Reject unknown names."""
    if model.optimizer not in ("lbfgs", None):
        raise ValueError(f'optimizer must be "lbfgs" or None, got {model.optimizer!r}.')
    check_count("n_restarts_optimizer", model.n_restarts_optimizer, 0)
    check_choice("approximation", model.approximation, APPROXIMATIONS)


def present(model: Any, X: Data, y: np.ndarray, sample_weight: Any) -> Present:
    """The samples whose weight is not 0; noise that is none, or of other samples, is rejected."""
    weights = check_weights(sample_weight, y)
    alpha: Any = None if model.alpha is None else as_numbers("alpha", model.alpha)
    if alpha is not None:
        if alpha.ndim > 1 or (alpha.ndim == 1 and len(alpha) != len(y)):
            raise ValueError(
                f"alpha must be a number or one for each of the {len(y)} samples, got shape "
                f"{alpha.shape}."
            )
        if not np.all(alpha > 0) or not np.all(np.isfinite(alpha)):
            raise ValueError(f"alpha must be > 0 and finite, got {model.alpha!r}.")
    if weights is None or weights.all():
        return Present(X, y, alpha, np.ones(len(y)) if weights is None else weights)
    if is_matrix(model.kernel):
        raise ValueError("sample_weight must be > 0 where the kernel is a precomputed matrix.")
    rows = np.flatnonzero(weights)
    alpha = alpha[rows] if np.ndim(alpha) else alpha
    return Present(rows_of(model.kernel, X, rows), y[rows], alpha, weights[rows])


def given_noise(
    y: np.ndarray, alpha: np.ndarray | None, y_scale: np.ndarray, normalised: bool
) -> tuple[Any, np.ndarray]:
    """alpha in units of y squared, and the noise of the normalised y: (n, 1), or (n, outputs).

    By default it is the same part of the variance of every output.
    """
    if alpha is None:
        share = 0.1 if normalised else 0.1 * float(np.mean(y.var(axis=0))) or 1.0
        return in_units_of_y(share, y_scale), np.full((len(y), 1), share)
    noise = np.broadcast_to(alpha, len(y))[:, None] / np.atleast_1d(y_scale**2)
    return (alpha if alpha.ndim else float(alpha)), noise if np.ptp(noise[0]) else noise[:, :1]


def in_units_of_y(share: float, y_scale: np.ndarray) -> Any:
    """Noise that is a part of the variance of every output, in units of y squared."""
    alpha = share * y_scale**2
    return alpha if alpha.ndim else float(alpha)


def for_landmarks(kernel: Kernel, X: Data) -> Data:
    """Samples in double precision; a table that the kernel reads by rows of numbers as an array.

    Landmarks can move among these.
    """
    if is_frame(X) and kernel.domain.whole.facts.numeric:
        X = as_vectors(X, "landmarks")
    return in_double(X)


def given_landmarks(model: Any, kernel: Kernel) -> Data | None:
    """The landmarks that a model was given; None if it was given their number, or nothing."""
    if model.landmarks is None:
        return None
    if is_matrix(kernel):
        raise ValueError("landmarks need the kernel itself, not a precomputed matrix.")
    if model.plan is not None and model.plan.few is not None:
        raise ValueError(
            "landmarks and a plan with a rank or features are two approximations: use only one."
        )
    if not isinstance(model.landmarks, Real | str):
        Z = check_data(model, model.landmarks, covariance(model.kernel), reset=False)
        return for_landmarks(kernel, Z)
    if not is_count(model.landmarks):
        raise ValueError(f"landmarks must be an integer >= 1, or samples, got {model.landmarks!r}.")
    return None
