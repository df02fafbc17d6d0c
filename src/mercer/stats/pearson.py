"""Pearson's system of curves: a distribution for any four moments."""

from __future__ import annotations

from typing import Any

import numpy as np

_FLAT = 1e-6  # of skewness, or distance to a boundary between types, that counts as none


def pearson_curve(mean: float, variance: float, skewness: float, kurtosis: float) -> Any:
    r"""The curve of Pearson's system with four given moments, with a method ``sf``.

    Its density p, of the standardised variable, solves

    .. math:: \frac{p'(x)}{p(x)} = -\frac{x + c_1}{c_0 + c_1 x + c_2 x^2}

    and the roots of the denominator decide what it is: a beta distribution (real, of both signs),
    a beta prime distribution (of one sign), a Student distribution made skew (complex); at the
    boundaries gamma, inverse gamma and normal distributions. Where no distribution has these
    moments, the gamma distribution with the first three of them is returned.

    Parameters
    ----------
    mean, variance, skewness, kurtosis : float
        The moments; the kurtosis of a normal variable is 3.

    Examples
    --------
    >>> from mercer.stats.pearson import pearson_curve
    >>> round(float(pearson_curve(0.5, 1 / 12, 0.0, 1.8).sf(0.9)), 6)  # uniform on [0, 1]
    0.1
    >>> round(float(pearson_curve(1.0, 1.0, 2.0, 9.0).sf(2.0)), 4)  # exponential: exp(-2)
    0.1353

    References
    ----------
    Johnson, Kotz & Balakrishnan, *Continuous univariate distributions*, volume 1, 1994, chapter
    12, section 4.1.
    """
    if not variance > 0:
        raise ValueError(
            f"the statistic does not vary under permutations (variance {variance:.3g}): are all "
            "samples equal for this kernel?"
        )
    spread = float(np.sqrt(variance))
    if skewness < 0:
        return _Mirrored(pearson_curve(-mean, variance, -skewness, kurtosis))
    squared = skewness**2
    scale = 10 * kurtosis - 12 * squared - 18
    excess = 2 * kurtosis - 3 * squared - 6  # compared with a gamma distribution
    if kurtosis <= squared + 1 + _FLAT or abs(excess) < _FLAT * abs(scale):
        return _gamma(mean, spread, skewness)
    equation = 4 * kurtosis - 3 * squared, skewness * (kurtosis + 3), excess, scale
    roots = equation[1] ** 2 - 4 * equation[0] * excess
    if excess < 0:
        return _beta(mean, spread, equation)
    if skewness < _FLAT:
        return _student(mean, spread, equation)
    if abs(roots) < _FLAT * equation[1] ** 2:
        return _inverse_gamma(mean, spread, equation)
    return (_beta_prime if roots > 0 else _SkewStudent)(mean, spread, equation)


# In what follows the equation is p'/p = -(s x + c1) / (c0 + c1 x + c2 x^2), with s in place of 1.
Equation = tuple[float, float, float, float]


def _gamma(mean: float, spread: float, skewness: float) -> Any:
    from scipy.stats import pearson3

    return pearson3(skewness, loc=mean, scale=spread)


def _beta(mean: float, spread: float, equation: Equation) -> Any:
    from scipy.stats import beta

    c0, c1, c2, s = equation
    low, high = sorted(np.roots([c2, c1, c0]).real)
    width = high - low
    # p ~ (x - low)^a (high - x)^-b, from partial fractions
    a, b = ((c1 + s * root) / (c2 * width) for root in (low, high))
    return beta(a + 1, 1 - b, loc=mean + spread * low, scale=spread * width)


def _beta_prime(mean: float, spread: float, equation: Equation) -> Any:
    from scipy.stats import betaprime

    c0, c1, c2, s = equation
    low, high = sorted(np.roots([c2, c1, c0]).real)  # both below the support
    width = high - low
    # p ~ (x - high)^-a (x - low)^b, so (x - high) / width is a beta prime variable
    a, b = ((c1 + s * root) / (c2 * width) for root in (high, low))
    return betaprime(1 - a, a - b - 1, loc=mean + spread * high, scale=spread * width)


def _student(mean: float, spread: float, equation: Equation) -> Any:
    from scipy.stats import t

    freedom = equation[3] / equation[2] - 1
    return t(freedom, loc=mean, scale=spread * np.sqrt((freedom - 2) / freedom))


def _inverse_gamma(mean: float, spread: float, equation: Equation) -> Any:
    from scipy.stats import invgamma

    _, c1, c2, s = equation
    root = -c1 / (2 * c2)
    scale = -spread * (c1 + s * root) / c2
    return invgamma(s / c2 - 1, loc=mean + spread * root, scale=scale)


class _SkewStudent:
    """Density ~ (1 + z^2)^-m exp(-v arctan z); integrals over angles, z = tan(angle)."""

    def __init__(self, mean: float, spread: float, equation: Equation) -> None:
        c0, c1, c2, s = equation
        root, half = -c1 / (2 * c2), np.sqrt(4 * c0 * c2 - c1**2) / (2 * c2)
        self.centre, self.scale = mean + spread * root, spread * half
        self.power = s / c2 - 2  # of the cosine
        self.skew = (c1 + s * root) / (c2 * half)
        self.peak = -np.arctan(self.skew / max(self.power, 1e-3))
        self.total = self._integral(-np.pi / 2)

    def sf(self, x: Any) -> Any:
        """P(T > x)."""
        angles = np.arctan((np.asarray(x, dtype=float) - self.centre) / self.scale)
        tails = [self._integral(float(angle)) / self.total for angle in np.ravel(angles)]
        return np.clip(np.reshape(tails, np.shape(x)), 0.0, 1.0)

    def _integral(self, start: float) -> float:
        from scipy.integrate import quad

        end = np.pi / 2
        inside = [self.peak] if start < self.peak < end else None
        value, _ = quad(self._density, start, end, points=inside, epsabs=0, epsrel=1e-9, limit=200)
        return float(value)

    def _density(self, angle: float) -> float:
        """In units of its height at the peak."""
        level = self.power * np.log(max(np.cos(angle), 1e-300) / np.cos(self.peak))
        return float(np.exp(level - self.skew * (angle - self.peak)))


class _Mirrored:
    """The distribution of -T."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def sf(self, x: Any) -> Any:
        """P(-T > x)."""
        return 1 - self.base.sf(-np.asarray(x, dtype=float))
