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
from typing import Any

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
        The latent values.
    coef : ndarray of shape (n,)
        f = K coef. At the mode itself this is ``slope``; but what f is off by there K enlarges.
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
    coef: np.ndarray
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
    if isinstance(K, np.ndarray):
        return _newton(_InSamples(K), y)
    return _newton(_InFeatures(K.features), y)


def _newton(space: Any, y: np.ndarray) -> Mode:
    """Newton steps, cut short where the objective does not rise."""
    a, f, objective = space.start, np.zeros(len(y)), len(y) * np.log(0.5)
    converged, steps = False, 0
    while not converged and steps < _STEPS:
        steps += 1
        slope, root = _expand(y, f)
        target = space.target(root, root * root * f + slope, space.factor(root))
        size = 1.0
        for _ in range(_HALVINGS):
            trial = a + size * (target - a)
            g = space.values(trial)
            value = float(log_expit(y * g).sum() - space.norm(trial, g) / 2)
            if value >= objective - 1e-12 * abs(objective):
                break
            size /= 2
        gained = value - objective
        a, f, objective = trial, g, value
        converged = gained <= _GAIN * max(1.0, abs(objective))
    slope, root = _expand(y, f)
    factor = space.factor(root)
    evidence = objective - factor.logdet() / 2
    return Mode(
        f, space.coef(a, slope, root, factor), slope, root, factor, evidence, steps, converged
    )


class _InSamples:
    """The latent values as f = K a."""

    def __init__(self, K: np.ndarray) -> None:
        self.K, self.start = K, np.zeros(len(K))

    def factor(self, root: np.ndarray) -> CholeskyFactor:
        """That of I + S K S."""
        B = root[:, None] * self.K * root
        B.flat[:: len(B) + 1] += 1
        try:
            return CholeskyFactor(B)
        except NotPositiveDefiniteError as error:
            raise NotPositiveDefiniteError(why_no_factor(self.K)) from error

    def target(self, root: np.ndarray, b: np.ndarray, factor: CholeskyFactor) -> np.ndarray:
        """a with a + W K a = b, and what rounding has left of b once more."""
        a = np.zeros(len(b))
        for _ in range(2):
            left = b - a - root * root * (self.K @ a)
            a += left - root * factor.solve(root * (self.K @ left))
        return a

    def values(self, a: np.ndarray) -> np.ndarray:
        return self.K @ a

    def norm(self, a: np.ndarray, f: np.ndarray) -> float:
        """f'K^-1 f."""
        return float(a @ f)

    def coef(self, a: np.ndarray, *_: Any) -> np.ndarray:
        return a


class _InFeatures:
    """The latent values as f = Phi a, by weights of the features."""

    def __init__(self, phi: Any) -> None:
        self.phi, self.start = phi, np.zeros(phi.shape[1])

    def factor(self, root: np.ndarray) -> FeatureFactor:
        """That of I + S K S."""
        return FeatureFactor(scaled(self.phi, root), np.ones(len(root)))

    def target(self, root: np.ndarray, b: np.ndarray, factor: FeatureFactor) -> np.ndarray:
        """(I + Phi' W Phi)^-1 Phi' b."""
        return factor.among_features(np.asarray(self.phi.T @ b))

    def values(self, a: np.ndarray) -> np.ndarray:
        return np.asarray(self.phi @ a)

    def norm(self, a: np.ndarray, f: np.ndarray) -> float:
        return float(a @ a)

    def coef(
        self, a: np.ndarray, slope: np.ndarray, root: np.ndarray, factor: FeatureFactor
    ) -> np.ndarray:
        """c with Phi'c = a: the slope, and what of a is lacking in it."""
        lacking = factor.among_features(a - np.asarray(self.phi.T @ slope))
        return slope + root * root * np.asarray(self.phi @ lacking)


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


def _expand(y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Slope, and root of the curvature, of the likelihood at f."""
    p = expit(f)
    return y * expit(-y * f), np.sqrt(p * (1 - p))
