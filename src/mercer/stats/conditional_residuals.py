"""What a condition leaves of a variable: standardised residuals, and kernels of them."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata, skew

from ..data import Data
from ..engine.lapack import lapack
from ..engine.routines import eigh
from ..gram.tiles import evaluate
from ..kernels.base import Kernel
from ..kernels.vectors.radial import Gaussian
from .aggregate import column_units
from .conditional_regression import NEIGHBOURS, Choice, Condition, Residuals, numbers
from .smoothers import centre_in_place

_PRIOR = 10  # neighbours that the average of all counts for, in the size expected of a residual
_CONSTANT = 1e-12  # of the squared norms of features: less is rounding
_SOMETHING = 0.05  # R^2 above which X depends on Z; chance alone reaches 0.02
_FAR = 10.0  # spreads from the median: too far for a mean of squares
_CLIP = 3.0  # standard deviations beyond which a residual counts no more
_NOTHING = 1e-8  # share of the variance that is left of a function of Z, by errors of interpolation
_LEADING = 20  # features, at most, from which the regression of a kernel is chosen ...
_SMALL = 1e-2  # ... those with an eigenvalue above this share of the largest
_DEPENDS = 4.0  # standard deviations of the correlation of neighbours that are worth a note ...
_UNCERTAIN = 0.7  # ... and the share of residuals that is the error of their regression


class View(NamedTuple):
    """A kernel matrix of residuals, and its expectation for pure noise."""

    gram: np.ndarray
    expected: np.ndarray


class Left:
    r"""What is left of a variable given Z, seen by one or two kernels.

    Numbers x_i are first replaced by residuals: without the regression on Z of all other samples,
    divided by the standard deviation of its prediction, and by that of the residuals of
    neighbours in Z. For each z this is an invertible function of x, so nothing about conditional
    independence is lost, and what is left depends little on z, however little noise there was.
    Their products are one view (the generalised covariance measure), a Gaussian kernel the other;
    of its features the regression on Z is removed in turn.

    For data with their own kernel, the features are regressed on Z.

    Parameters
    ----------
    X : data
        The variable.
    given : Condition
        The condition.
    kernel : Kernel, optional
        For data that are not numbers.

    Attributes
    ----------
    columns : ndarray of shape (n, d) or None
        Standardised residuals of the columns that are not functions of Z.
    raw : ndarray of shape (n, d)
        These columns themselves, standardised; of numbers only.
    constant, function : bool
        Is there nothing left because X is constant, or a function of Z?
    r2 : list of float
        R^2 of the regressions, on samples left out.
    regressions : list of (Kernel, float)
        Their kernels and penalties.
    uncertain : float
        The share of the variance of residuals that is the error of the regression, according to
        the regression itself, and not noise; of the column where it is largest.
    """

    def __init__(self, X: Data, given: Condition, kernel: Kernel | None = None) -> None:
        self.given, self.kernel = given, kernel
        self.columns: np.ndarray | None = None
        self.correlations: list[np.ndarray] = []
        self.choices: list[Choice] = []
        self.constant = self.function = False
        self.uncertain = 0.0
        if kernel is not None:
            P = kernel.prepare(X)
            K = evaluate(kernel, P, P).astype(np.float64)
            if not np.all(np.isfinite(K)):
                raise ValueError(
                    f"values of {kernel!r} are not finite: divide the data by their spread, or use "
                    f"a kernel that is bounded."
                )
            size = float(np.trace(K))
            K = centre_in_place(K)
            self.constant = float(np.trace(K)) <= _CONSTANT * abs(size)
            if not self.constant:
                self._view, choice, residuals = self._regressed(K, np.eye(given.n))
                self.choices.append(choice)
                self._learned(choice, residuals)
                self.function = 1 - choice.r2 <= _NOTHING
            return
        V = numbers(X).astype(np.float64)
        V = V[:, np.ptp(V, axis=0) > 0]
        self.constant = V.shape[1] == 0
        if self.constant:
            return
        V = _tame(V / np.abs(V).max(axis=0))
        V -= V.mean(axis=0)
        V /= np.sqrt(np.mean(V**2, axis=0))
        self.choices = given.choose(V)
        kept = []
        for v, choice in zip(V.T, self.choices, strict=True):
            if 1 - choice.r2 > _NOTHING:
                residuals = given.residuals(choice)
                kept.append(_standardized(residuals.maker @ v / residuals.scale, given))
                self.correlations.append(residuals.correlations)
                self._learned(choice, residuals)
        self.function = not kept
        self.columns = np.column_stack(kept) if kept else None
        self.raw = V[:, [1 - choice.r2 > _NOTHING for choice in self.choices]]

    @property
    def nothing(self) -> bool:
        """Is nothing left to be tested?"""
        return self.constant or self.function

    @property
    def r2(self) -> list[float]:
        return [choice.r2 for choice in self.choices]

    @property
    def regressions(self) -> list[tuple[Kernel, float]]:
        return [(self.given.kernels[choice.kernel], choice.penalty) for choice in self.choices]

    @cached_property
    def views(self) -> dict[str, View]:
        """Kernel matrices of what is left, by name."""
        if self.columns is None:
            return {type(self.kernel).__name__: self._view}
        clipped = np.clip(self.columns, -_CLIP, _CLIP)
        d = clipped.shape[1]
        k = Gaussian(float(np.sqrt(d)))
        K = centre_in_place(evaluate(k, clipped, clipped))
        return {
            "linear": View(clipped @ clipped.T, np.sum(self.correlations, axis=0)),
            "Gaussian": self._regressed(K, gaussian_expectation(self.correlations))[0],
        }

    @property
    def skewness(self) -> float:
        """The largest absolute skewness of what is left; of a kernel, that of its first feature."""
        if self.columns is None:
            n = len(self._view.gram)
            t = lapack(n, eigh, self._view.gram, 1)[1]
        else:
            t = np.clip(self.columns, -_CLIP, _CLIP)
        return float(np.abs(skew(t, axis=0)).max())

    def _regressed(self, K: np.ndarray, expected: np.ndarray) -> tuple[View, Choice, Residuals]:
        """R K R' with the regression of all features of K, chosen by the leading ones."""
        n = len(K)
        s, U = lapack(n, eigh, K, min(n, _LEADING))
        large = np.flatnonzero(s > _SMALL * s[-1])
        [choice] = self.given.choose(
            U[:, large] * np.sqrt(s[large]), joint=True, smooth=self.columns is not None
        )
        residuals = self.given.residuals(choice)
        R = residuals.maker
        left, right = (lapack(n, np.linalg.multi_dot, [R, A, R.T]) for A in (K, expected))
        return View(left, right), choice, residuals

    def _learned(self, choice: Choice, residuals: Residuals) -> None:
        """Remember how uncertain a regression is, unless there was nothing to learn."""
        if choice.r2 > _SOMETHING:
            self.uncertain = max(self.uncertain, residuals.uncertain)

    def depends(self) -> float:
        r"""How much neighbours in Z have in common, in standard deviations; small if it is noise.

        .. math:: \frac{\sum_{ij} S_{ij} (t_i t_j - \rho_{ij})}{\sqrt{2 \sum_{ij} S_{ij}^2}}

        with S_ij = 1 for neighbours i and j, and rho the correlations of residuals of noise.
        """
        if self.columns is None:
            return 0.0
        near = self.given.neighbours(NEIGHBOURS // 2)
        S = np.zeros((self.given.n, self.given.n))
        np.put_along_axis(S, near, 1.0, axis=1)
        S = np.maximum(S, S.T)
        spread = np.sqrt(2 * np.sum(S**2))
        scores = []
        for t, rho in zip(self.columns.T, self.correlations, strict=True):
            t = np.clip(t, -_CLIP, _CLIP)
            t = t / np.sqrt(np.mean(t**2))
            scores.append(float(t @ S @ t - np.vdot(S, rho)) / spread)
        return max(scores)

    def doubts(self, name: str) -> tuple[str, ...]:
        """Notes on a regression that did not remove what depends on Z, as far as can be seen."""
        found: tuple[str, ...] = ()
        if self.uncertain > _UNCERTAIN:
            found += (
                f"{name} depends on Z too irregularly to learn from {self.given.n} observations: "
                f"{self.uncertain:.0%} of its residual is regression error, which may cause a "
                "small p-value.",
            )
        if self.depends() > _DEPENDS:
            found += (
                f"{name} still depends on Z after the regression: its residuals are similar for "
                "neighbours in Z, which may cause a small p-value.",
            )
        return found


def gaussian_expectation(correlations: list[np.ndarray]) -> np.ndarray:
    r"""E k(s, t) - E k(s, t') of normal variables of these correlations, t' independent of s.

    .. math:: \prod_{c=1}^d \Bigl(1 + \frac{2 (1 - \rho_c)}{d}\Bigr)^{-1/2} - (1 + 2/d)^{-d/2}

    for the Gaussian kernel of lengthscale sqrt(d) on d columns.
    """
    d = len(correlations)
    product: Any = 1.0
    for rho in correlations:
        product = product / np.sqrt(1 + 2 * (1 - rho) / d)
    return np.asarray(product - (1 + 2 / d) ** (-d / 2))


def _tame(V: np.ndarray) -> np.ndarray:
    """Normal scores in the place of columns with values far outside, as codes for missing ones.

    A regression would see nothing else. Conditional independence is that of monotone functions.
    """
    away = np.abs(V - np.median(V, axis=0)).max(axis=0)
    far = away > _FAR * column_units(V)
    V[:, far] = ndtri((rankdata(V[:, far], axis=0) - 0.5) / len(V))
    return V


def _standardized(t: np.ndarray, given: Condition) -> np.ndarray:
    """Divided by the size of the residuals of neighbours, and by that of all."""
    square = t**2
    around = square[given.neighbours(NEIGHBOURS)].sum(axis=1)
    t = t / np.sqrt((around + _PRIOR * square.mean()) / (NEIGHBOURS + _PRIOR))
    return np.asarray(t / np.sqrt(np.mean(t**2)))
