r"""Laplace's approximation of a Gaussian process with binary labels, and its evidence.

The posterior of the latent values f given labels y = ±1 with p(y | f) = 1 / (1 + exp(-y f)) is
replaced by the normal distribution at its mode: f maximises log p(y | f) - f'K^-1 f / 2, found by
Newton steps in which only B = I + S K S is factorised, S^2 the curvature of -log p(y | f). The
eigenvalues of B are at least 1, so this is safe however singular K is.

References: Williams & Barber, *Bayesian classification with Gaussian processes*, 1998; Rasmussen &
Williams, *Gaussian Processes for Machine Learning*, 2006, algorithms 3.1 and 5.1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from ..gram.base import Gram
from ..kernels.indefinite import why_no_factor
from .cholesky import CholeskyFactor, NotPositiveDefiniteError
from .criteria import Criterion
from .weight_space import Factor, FeatureFactor, pays, require_room, scaled

_STEPS = 100
_GAIN = 1e-10  # of the objective, by a step that is the last one
_HALVINGS = 30


@dataclass
class Mode:
    """The most probable latent values.

    Attributes
    ----------
    f : ndarray of shape (n,)
        The latent values, f = K slope.
    slope : ndarray of shape (n,)
        Derivatives of log p(y | f) there.
    root : ndarray of shape (n,)
        S, the root of the curvature.
    factor : CholeskyFactor or FeatureFactor
        That of I + S K S.
    value : float
        log p(y | f) - f'K^-1 f / 2 - log det(I + S K S) / 2, the logarithm of the evidence.
    n_iter : int
        Newton steps.
    converged : bool
        Is the last step negligible?
    """

    f: np.ndarray
    slope: np.ndarray
    root: np.ndarray
    factor: Factor
    value: float
    n_iter: int
    converged: bool


def mode_of(gram: Gram, y: np.ndarray, factors: int = 1) -> Mode:
    """The mode for labels y = ±1, from the features of K if they are few.

    There will be so many ``factors`` in memory.
    """
    if pays(gram):
        require_room(gram, factors)
        return find_mode(gram, y)
    what = f"factorising K of {len(gram)} samples"
    K = gram.dense(what, 8.0 * (factors + 1) * len(gram) ** 2)
    return find_mode(K.astype(np.float64, copy=False), y)


def find_mode(K: np.ndarray | Gram, y: np.ndarray) -> Mode:
    """The mode for labels y = ±1 and prior covariance K, which is left as it is.

    A Gram operator must have few features.
    """
    a, f, objective = np.zeros(len(y)), np.zeros(len(y)), len(y) * np.log(0.5)
    converged, steps = False, 0
    while not converged and steps < _STEPS:
        steps += 1
        slope, root, factor = _expand(K, y, f)
        b = root * root * f + slope
        target = b - root * factor.solve(root * (K @ b))  # K^-1 of the next f
        size = 1.0
        for _ in range(_HALVINGS):
            trial = a + size * (target - a)
            g = K @ trial
            value = float(log_expit(y * g).sum() - trial @ g / 2)
            if value >= objective - 1e-12 * abs(objective):
                break
            size /= 2
        gained = value - objective
        a, f, objective = trial, g, value
        converged = gained <= _GAIN * max(1.0, abs(objective))
    slope, root, factor = _expand(K, y, f)
    return Mode(f, slope, root, factor, objective - factor.logdet() / 2, steps, converged)


def laplace_evidence(K: np.ndarray, Y: np.ndarray) -> Criterion:
    """The negative logarithm of the approximate evidence of labels Y = ±1 of shape (n, 1)."""
    y = Y[:, 0]
    mode = find_mode(K, y)
    S, slope = mode.root, mode.slope
    assert isinstance(mode.factor, CholeskyFactor)
    half = mode.factor.half_solve(S[:, None] * K)
    variance = np.diagonal(K) - np.einsum("ij,ij->j", half, half)
    p = expit(mode.f)
    third = -p * (1 - p) * (1 - 2 * p)  # of log p(y | f): the evidence feels how the mode moves
    s = variance * third / 2
    R = mode.factor.solve(np.diag(S)) * S[:, None]
    moved = s - R @ (K @ s)

    def tile(rows: slice, cols: slice) -> np.ndarray:
        T = R[rows, cols] - np.outer(slope[rows], slope[cols])
        T -= np.outer(moved[rows], slope[cols]) + np.outer(slope[rows], moved[cols])
        return T / 2

    return Criterion(-mode.value, tile, (np.diagonal(R) - slope**2) / 2 - moved * slope)


def _expand(
    K: np.ndarray | Gram, y: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray, Factor]:
    """Slope and root of the curvature of the likelihood at f, and the factor of I + S K S."""
    slope, p = y * expit(-y * f), expit(f)
    root = np.sqrt(p * (1 - p))
    if not isinstance(K, np.ndarray):
        return slope, root, FeatureFactor(scaled(K.features, root), np.ones(len(root)))
    B = root[:, None] * K * root
    B.flat[:: len(B) + 1] += 1
    try:
        return slope, root, CholeskyFactor(B)
    except NotPositiveDefiniteError as error:
        raise NotPositiveDefiniteError(why_no_factor(K)) from error
