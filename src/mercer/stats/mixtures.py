"""Weighted sums of chi-square variables: the limits of degenerate U- and V-statistics."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from ..randomness import as_generator

_SMALL = 1e-12  # of the largest weight: weights below are left out
_REACH = 1e-9  # of the integral: what its end may still add
_STEP = 0.1  # of the midpoint rule, in widths of the peak of the integrand
_CENTRE = 0.5  # standard deviations from the mean within which the line is that of the distance
_DOUBLINGS = 200  # of the bracket of the saddle point, where no pole bounds it
_STRAIGHT = 1e-2  # least bend of the path, in widths of the peak
_GROWTH = 0.1  # of the logarithm of the integrand along its path, that rounding does not feel
_BEYOND = 1e5  # standard deviations from the mean, where exp(-|x| / 2 w) is 0
_LINE = 1e-9  # a bend, in widths of the peak, that is none
_TERMS, _MOST_TERMS = 32, 100_000
_BLOCK = 1_000_000  # entries of (frequencies x weights) held at once


class ChiSquareMixture:
    r"""The distribution of a weighted sum of independent chi-square variables.

    .. math:: T = \text{shift} + \sum_l w_l z_l^2 + \sqrt{v}\, z_0, \qquad z_l \sim N(0, 1)

    The limit of n MMD^2 or n HSIC under the null hypothesis, with weights from eigenvalues of
    centred kernel matrices. Weights may have any sign. The normal variable, of variance v, stands
    for very many small weights that add up to 0.

    Parameters
    ----------
    weights : array
        The weights w.
    shift : float
        A constant; minus the sum of the weights for U-statistics.
    normal : float
        The variance v.

    Examples
    --------
    >>> from mercer.stats.mixtures import ChiSquareMixture
    >>> T = ChiSquareMixture([1.0, 1.0])
    >>> round(T.sf(4.0), 6)  # chi-square with two degrees of freedom: exp(-2)
    0.135335
    >>> T.mean, T.variance
    (2.0, 4.0)

    References
    ----------
    Imhof, *Computing the distribution of quadratic forms in normal variables*, Biometrika 48,
    1961; Daniels, *Saddlepoint approximations in statistics*, Annals of Mathematical Statistics 25,
    1954 (the line along which to integrate).
    """

    def __init__(self, weights: Any, shift: float = 0.0, normal: float = 0.0) -> None:
        w = np.asarray(weights, dtype=np.float64).ravel()
        if not len(w) or not np.all(np.isfinite(w)):
            raise ValueError("weights must be at least one finite number.")
        self.weights = w[np.abs(w) > _SMALL * np.abs(w).max()]
        self.shift, self.normal = float(shift), float(normal)
        if not len(self.weights):
            raise ValueError("all weights are 0: are all samples equal for this kernel?")

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(self.weights.sum()) + self.shift

    @property
    def variance(self) -> float:
        """The variance."""
        return float(2 * np.sum(self.weights**2)) + self.normal

    @property
    def skewness(self) -> float:
        """The third standardised moment."""
        return float(8 * np.sum(self.weights**3) / self.variance**1.5)

    def rvs(self, size: int, rng: Any = None) -> np.ndarray:
        """Independent draws."""
        rng = as_generator(rng)
        total = self.shift + np.sqrt(self.normal) * rng.standard_normal(size)
        step = max(1, _BLOCK // size)
        for i in range(0, len(self.weights), step):
            w = self.weights[i : i + step]
            total += rng.chisquare(1, (size, len(w))) @ w
        return total

    def sf(self, x: Any) -> Any:
        r"""P(T > x), by an integral of the moment generating function M.

        .. math:: \frac1{2 \pi i} \int M(s)\, e^{-sx}\, \frac{ds}s

        along a hyperbola through the saddle point t of the integrand, which opens to the side where
        exp(-sx) vanishes. The integrand is largest at the real axis, and that value is a factor of
        the whole: the error of the integral is relative to the tail, however small that is.
        """
        x = np.asarray(x, dtype=np.float64)
        out = np.array([self._survival(float(point)) for point in x.ravel() - self.shift])
        out = out.reshape(x.shape)
        return float(out) if out.ndim == 0 else out

    def _survival(self, x: float) -> float:
        """P(sum > x), without the shift, from the tail on whose side x is."""
        if np.isnan(x):
            return x
        apart = x - float(self.weights.sum())
        if abs(apart) > _BEYOND * np.sqrt(self.variance):
            return float(apart < 0)
        w = self.weights if x >= 0 else -self.weights  # P(-T > -x) = 1 - P(T > x)
        reached = np.isfinite(x) and (w.max() > 0 or self.normal > 0)
        tail = min(max(self._tail(w, abs(x)), 0.0), 1.0) if reached else 0.0
        return tail if x >= 0 else 1 - tail

    def _tail(self, w: np.ndarray, x: float) -> float:
        """P(sum of w z^2 > x) for x >= 0."""
        mean, spread = float(w.sum()), np.sqrt(self.variance)
        above = x >= mean
        distance = max(abs(x - mean), _CENTRE * spread)  # near the mean, a line off the pole at 0
        t = self._saddle(w, mean + distance if above else mean - distance)
        if t == 0:  # below all that the sum can be
            return 1.0
        own = w / (1 - 2 * t * w)  # M(t + s) / M(t) has these weights
        curvature = 2 * float(np.sum(own**2)) + self.normal
        width = 1 / np.sqrt(curvature + 1 / t**2)
        bend = max(4 / 3 * float(np.sum(own**3)) / curvature, _STRAIGHT / width)  # steepest descent
        level = 0.5 * (self.normal * t**2 - float(np.sum(np.log1p(-2 * t * w)))) - t * x
        total = None
        while total is None:  # along a straight line nothing grows
            total, bend = self._along(own, t, x, width, bend), bend / 4
        tail = float(np.exp(level)) * abs(total) / np.pi
        return tail if above else 1 - tail

    def _along(
        self, own: np.ndarray, t: float, x: float, width: float, bend: float
    ) -> float | None:
        """The integral along a hyperbola; None where the integrand grows on the way.

        Very many small weights pull it to their own side, however M vanishes in the end.
        """
        height = 1 / (4 * bend)  # far out, two steps up are one to the side: exp(s^2) vanishes too
        h = min(_STEP * width / height, _STEP)
        total, start, step = 0.0, 0, max(8, min(_TERMS, _BLOCK // len(own)))
        while start < _MOST_TERMS:
            v = h * (np.arange(start, start + step) + 0.5)
            s = height * ((np.cosh(v) - 1) / 2 + 1j * np.sinh(v))
            slope = height * (np.sinh(v) / 2 + 1j * np.cosh(v))
            logs = -0.5 * np.log1p(-2 * np.multiply.outer(s, own)).sum(axis=1) - s * x
            logs += self.normal * s * (t + s / 2)
            if logs.real.max() > _GROWTH and bend * width > _LINE:
                return None
            terms = np.exp(logs) * slope / (t + s)
            total += float(terms.imag.sum())
            start += step
            if np.abs(terms[-1]) < _REACH * h * abs(total):
                break
        return total * h

    def _saddle(self, w: np.ndarray, x: float) -> float:
        """The t at which the derivative of log M is x; 0 if there is none."""

        def excess(t: float) -> float:
            return float(np.sum(w / (1 - 2 * t * w))) + self.normal * t - x

        side = 1.0 if x > w.sum() else -1.0
        most = float((side * w).max())
        if most > 0:  # a pole on this side
            inside, outside = 0.0, side * (1 - 1e-14) / (2 * most)
        else:
            inside, outside = 0.0, side / np.sqrt(self.variance)
            for _ in range(_DOUBLINGS):
                if side * excess(outside) > 0:
                    break
                inside, outside = outside, 4 * outside
        if side * excess(outside) <= 0:
            return 0.0
        return float(brentq(excess, inside, outside, xtol=1e-300, rtol=1e-8))
