"""How many observations does a test need? Power and sample sizes, from a pilot study."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import gamma

from ..checks import check_choice, check_count, check_fraction, check_number, check_positive
from ..data import Data
from ..gram.plan import LEAN, Plan
from .dependence_interval import measured, variances_of
from .discrepancy import GroupSums, sums_with
from .interval import Curve, Interval, centred_squares, curve_of, parts_of, squared_sums
from .planned import planned
from .samples import Samples
from .variables import Variables, is_constant

TESTS = ("two-sample", "independence")
_LEAST = 8  # observations of a pilot study
_MOST = 10**9  # observations that are not enough
_CONFIDENCE = 0.8  # of the interval for the effect


class Power(NamedTuple):
    """The probability that a test rejects, and its range given how uncertain the effect is."""

    value: float
    low: float
    high: float


class SampleSize(NamedTuple):
    """Observations (of each sample) that a test needs; infinite where there may be no effect."""

    value: float
    low: float
    high: float


@planned
def power(
    X: Data,
    Y: Data,
    n: int,
    kernel: Any = None,
    *,
    test: str = "two-sample",
    ratio: float = 1.0,
    alpha: float = 0.05,
    plan: Plan | None = None,
) -> Power:
    r"""Estimate the power of a test with n observations from a pilot study.

    The pilot samples give an estimate of the effect (MMD^2 or HSIC, unbiased) and its variance.
    From these follows the distribution of the statistic for n observations, under the null
    hypothesis (a gamma curve with the mean and variance of the degenerate part) and under the
    alternative (the curve of :func:`mmd_interval`). The power is the probability that it exceeds
    the critical value. Since pilot studies are small and their effects uncertain, the power is also
    reported for the smallest and the largest effect in an 80 % interval.

    Parameters
    ----------
    X, Y : data
        The pilot study: two samples, or two jointly observed variables.
    n : int
        The number of observations planned: of the first sample, or of both variables.
    kernel : Kernel, str or callable; for variables a list of two; optional
        The kernel of the test, resolved on the pilot study; by default ``Gaussian("median")``.
    test : {"two-sample", "independence"}
        The test: :func:`two_sample_test` or :func:`independence_test`, with one kernel.
    ratio : float
        Observations of the second sample for each one of the first.
    alpha : float
        The level of the test.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Returns
    -------
    Power
        ``value``, ``low`` and ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import power
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(0, 1, (60, 2)), rng.normal(0.5, 1, (60, 2))
    >>> found = power(X, Y, 100)
    >>> bool(found.low < found.value < found.high)
    True

    References
    ----------
    Sutherland, Tung, Strathmann, De, Ramdas, Smola & Gretton, *Generative models and model
    criticism via optimized maximum mean discrepancy*, ICLR 2017 (power from an estimate).
    """
    check_count("n", n, 4)
    study = _study(X, Y, kernel, test, ratio, alpha, plan)
    return Power(*(study.power(effect, n) for effect in study.effects))


@planned
def sample_size(
    X: Data,
    Y: Data,
    kernel: Any = None,
    *,
    power: float = 0.8,
    test: str = "two-sample",
    ratio: float = 1.0,
    alpha: float = 0.05,
    plan: Plan | None = None,
) -> SampleSize:
    """Estimate the number of observations that a test needs to detect an effect, from a pilot
    study.

    Parameters
    ----------
    X, Y, kernel, test, ratio, alpha, plan
        As for :func:`power`.
    power : float
        The required probability of rejection.

    Returns
    -------
    SampleSize
        ``value`` for the estimated effect; ``low`` and ``high`` for the largest and the smallest
        one in an 80 % interval. Infinite if the interval contains no effect at all.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import sample_size
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=80)
    >>> y = x + rng.normal(0, 2, 80)
    >>> found = sample_size(x, y, test="independence")
    >>> bool(found.low < found.value < found.high)
    True
    """
    check_fraction("alpha", alpha)
    check_number("power", power, f"between alpha={alpha:g} and 1", lambda p: alpha < p < 1)
    study = _study(X, Y, kernel, test, ratio, alpha, plan)
    sizes = [study.size(effect, power) for effect in study.effects]
    return SampleSize(sizes[0], sizes[2], sizes[1])


class Study(NamedTuple):
    """The predictions of a pilot study for a test with any number of observations.

    Attributes
    ----------
    effects : tuple of float
        The estimated effect, the smallest and the largest one.
    curve : callable
        From a number of observations to the distribution of the estimate.
    null : callable
        From a number of observations to the mean of what the biased estimate has more under the
        null hypothesis, and to the variance of the estimate.
    alpha : float
        The level.
    """

    effects: tuple[float, float, float]
    curve: Callable[[int], Curve]
    null: Callable[[int], tuple[float, float]]
    alpha: float

    def power(self, effect: float, n: int) -> float:
        """The probability that a test of n observations rejects."""
        if effect <= 0:
            return self.alpha
        mean, variance = self.null(n)
        critical = gamma.isf(self.alpha, mean**2 / variance, scale=variance / mean) - mean
        return float(max(1 - self.curve(n).cdf(effect, float(critical)), self.alpha))

    def size(self, effect: float, power: float) -> float:
        """The smallest number of observations of this power."""
        if effect <= 0:
            return float("inf")
        low, high = 3, 8
        while self.power(effect, high) < power:
            low, high = high, 2 * high
            if high > _MOST:
                return float("inf")
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.power(effect, middle) >= power else (middle, high)
        return float(high)


def _study(
    X: Data, Y: Data, kernel: Any, test: str, ratio: float, alpha: float, plan: Plan | None
) -> Study:
    check_choice("test", test, TESTS)
    check_fraction("alpha", alpha)
    check_positive("ratio", ratio)
    if test == "independence":
        return _of_variables(X, Y, kernel, alpha, plan)
    samples = Samples(X, Y, least=_LEAST)
    resolved = samples.kernel(kernel)
    _require_spread(is_constant(resolved, samples.data))
    k, moved = samples.from_mean(resolved)
    gram = k.gram(moved.data, plan or LEAN)
    sums = sums_with(gram, moved)
    unit = float(np.abs(sums.diag).max())
    sums = GroupSums(sums.rows / unit, sums.diag / unit, sums.labels)
    squares = squared_sums(gram, moved.labels, unit)
    parts, pilot = parts_of(sums, squares), curve_of(sums, squares)
    trace, square = _pooled(sums, squares)
    length = max(parts.value, float(np.sqrt(pilot.degenerate)) * 1e-3)

    def at(n: int) -> np.ndarray:
        return np.array([n, max(2, round(ratio * n))], dtype=float)

    def curve(n: int) -> Curve:
        m = at(n)
        spread = float(np.sum(2 * parts.inside / (m * (m - 1)))) + 4 * parts.across / m.prod()
        bias = trace * float(np.sum(1 / m))
        along = min(float(np.sum(parts.along / m)) / max(length, parts.bias), bias)
        return Curve(parts.value, bias, max(spread, 1e-30), along)

    def null(n: int) -> tuple[float, float]:
        share = float(np.sum(1 / at(n)))
        return share * trace, 2 * share**2 * square

    return Study(_effects(pilot.interval(_CONFIDENCE)), curve, null, alpha)


def _of_variables(X: Data, Y: Data, kernels: Any, alpha: float, plan: Plan | None) -> Study:
    pair = Variables(X, Y, least=_LEAST)
    resolved = pair.kernels(kernels)
    _require_spread(any(is_constant(k, V) for k, V in zip(resolved, pair.data, strict=True)))
    found = measured(pair, resolved, plan)
    spread = variances_of(found)
    pilot, m = spread.curve, found.n
    squares = max(spread.squares, (spread.traces / m) ** 2)  # of m x m eigenvalues, at the least

    def curve(n: int) -> Curve:
        scale = m / n
        return Curve(
            pilot.value, pilot.bias * scale, pilot.degenerate * scale**2, pilot.along * scale
        )

    def null(n: int) -> tuple[float, float]:
        return spread.traces / n, 2 * squares / n**2

    return Study(_effects(pilot.interval(_CONFIDENCE)), curve, null, alpha)


def _effects(found: Interval) -> tuple[float, float, float]:
    value = max(found.value, 0.0)
    return value, min(found.low, value), max(found.high, value)


def _pooled(sums: GroupSums, squares: np.ndarray) -> tuple[float, float]:
    """The trace, and the sum of squared eigenvalues, of the covariance of both samples together."""
    n = len(sums.labels)
    rows = sums.rows.sum(axis=1)
    trace = float(sums.diag.mean() - (rows.sum() - sums.diag.sum()) / (n * (n - 1)))
    own = rows - sums.diag
    centred = centred_squares(float(squares.sum() - np.sum(sums.diag**2)), own)
    return trace, max(centred / (n * (n - 3)), trace**2 / n)  # of n eigenvalues, at the least


def _require_spread(constant: bool) -> None:
    if constant:
        raise ValueError(
            "the pilot study is constant for the kernel: no sample size can be planned from it."
        )
