"""How large is the discrepancy of two distributions? An interval, by inversion of tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainc

from ..checks import check_fraction
from ..data import Data
from ..gram.base import Gram
from ..gram.plan import LEAN, Plan
from ..gram.tiles import TILE, run, upper
from ..kernels.indefinite import warn_if_indefinite
from .bank import not_finite
from .discrepancy import GroupSums, sums_with
from .planned import planned
from .samples import Samples

_LEAST = 4  # observations of a sample, for the variance of its part of the statistic
_LOST = 3  # degrees of freedom that a variance along an estimated direction has lost
_FLAT = 1e-12  # of mean kernel values: a variance whose root is below is rounding


class Interval(NamedTuple):
    """An estimate, its standard error, and a confidence interval."""

    value: float
    error: float
    low: float
    high: float


@planned
def mmd_interval(
    X: Data, Y: Data, kernel: Any = None, *, confidence: float = 0.95, plan: Plan | None = None
) -> Interval:
    r"""MMD^2 with a confidence interval.

    With d the difference of the mean embeddings, and e the error of its estimate, the unbiased
    estimate is

    .. math:: T = \|d\|^2 + 2 \langle d, e \rangle + \left( \|e\|^2 - E \|e\|^2 \right)

    The second term is normal in the limit and has a variance proportional to MMD^2 = |d|^2. The
    last one is a sum of chi-squares, all that is left where both distributions are the same. The
    interval holds all values of MMD^2 that are not rejected by T, on either side with half of
    1 - confidence: the distribution of T for each value is a gamma curve with the mean, the
    variance and the third moment of the sum. It begins at 0 where a test does not tell the
    distributions apart.

    With 50 or more observations of each sample, 95 % intervals cover the true value in 92 to 98 %
    of cases (500 Gaussian samples each, from equal distributions to means two standard deviations
    apart), with about as many misses on either side; with 20 observations, in 91 % or more.

    Parameters
    ----------
    X, Y, kernel, plan
        As for :func:`mmd`.
    confidence : float
        The probability with which the interval covers.

    Returns
    -------
    Interval
        ``value`` (the unbiased estimate, which may be negative), ``error``, ``low`` and ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, mmd_interval
    >>> rng = np.random.default_rng(0)
    >>> found = mmd_interval(rng.normal(0, 1, 500), rng.normal(0.5, 1.5, 500), Gaussian())
    >>> found.low < 0.0617272767 < found.high  # the true value
    True

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012 (both
    limits); Sutherland & Deka, *Unbiased estimators for the variance of MMD estimators*, 2019.
    """
    check_fraction("confidence", confidence)
    samples = Samples(X, Y, least=_LEAST)
    resolved = samples.kernel(kernel)
    meaning = "the estimate is not a squared distance, and the interval need not cover anything"
    warn_if_indefinite(resolved, "mmd_interval", meaning)
    k, samples = samples.from_mean(resolved)
    gram = k.gram(samples.data, plan or LEAN)
    sums = sums_with(gram, samples)
    if not (np.all(np.isfinite(sums.rows)) and np.all(np.isfinite(sums.diag))):
        raise not_finite(repr(resolved))
    unit = float(np.abs(sums.diag).max())
    if unit == 0:  # all samples are the same
        return Interval(0.0, 0.0, 0.0, 0.0)
    sums = GroupSums(sums.rows / unit, sums.diag / unit, sums.labels)
    curve = curve_of(sums, squared_sums(gram, samples.labels, unit))
    return curve.interval(confidence, unit)


@dataclass
class Curve:
    """The distribution of an estimate of a squared norm, as a function of the true value.

    Attributes
    ----------
    value : float
        The unbiased estimate.
    bias : float
        By how much the squared norm of the estimated mean exceeds it.
    degenerate : float
        The variance that is left where the true value is 0.
    along : float
        The variance of the error along the difference, both as they were estimated.
    """

    value: float
    bias: float
    degenerate: float
    along: float

    def variance(self, true: float) -> float:
        """The variance of the estimate."""
        return self.degenerate + 4 * self.along * true

    def third(self, true: float) -> float:
        """The third central moment of the estimate."""
        third = 2 * self.degenerate**2 / max(self.bias, np.sqrt(self.degenerate))
        return float(third + 24 * self.along**2 * true)

    def cdf(self, true: float, value: float | None = None) -> float:
        """The probability of an estimate as small as the one at hand, or as another."""
        variance = self.variance(true)
        half = self.third(true) / variance**1.5 / 2
        shape = 1 / half**2
        point = (self.value if value is None else value) - true
        return float(gammainc(shape, max(point / np.sqrt(variance) / half + shape, 0.0)))

    def solve(self, probability: float) -> float:
        """The true value for which the estimate is at this quantile of its distribution."""
        if self.cdf(0.0) <= probability:
            return 0.0
        high = max(self.value, 0.0) + np.sqrt(self.degenerate) + self.along
        while self.cdf(high) > probability:
            high *= 2
        return float(brentq(lambda true: self.cdf(true) - probability, 0.0, high, rtol=1e-10))

    def interval(self, confidence: float, unit: float = 1.0) -> Interval:
        """The true values that the estimate does not contradict, in some unit."""
        error = float(np.sqrt(self.variance(max(self.value, 0.0))))
        tail = (1 - confidence) / 2
        ends = self.solve(1 - tail), self.solve(tail)
        return Interval(*(unit * part for part in (self.value, error, *ends)))


class Parts(NamedTuple):
    """Variances of two samples: along the difference of each, and of pairs of observations."""

    value: float
    bias: float
    along: np.ndarray
    inside: np.ndarray
    across: float


def parts_of(sums: GroupSums, squares: np.ndarray) -> Parts:
    """The parts of the distribution of an estimate of MMD^2, for samples of any size."""
    n, rows, diag, labels = sums.sizes, sums.rows, sums.diag, sums.labels
    along, inner = np.zeros(2), np.zeros(2)
    for g in (0, 1):
        inside = labels == g
        witness = rows[inside, g] / n[g] - rows[inside, 1 - g] / n[1 - g]
        along[g] = float(np.var(witness)) * n[g] / max(1, n[g] - _LOST)
        own = rows[inside, g] - diag[inside]
        off = squares[g, g] - float(np.sum(diag[inside] ** 2))
        inner[g] = centred_squares(off, own) / (n[g] * max(1, n[g] - 3))
    left, right = (rows[labels == g, 1 - g] / n[1 - g] for g in (0, 1))
    mean = float(left.mean())
    across = squares[0, 1] / (n[0] * n[1]) - np.mean(left**2) - np.mean(right**2) + mean**2
    across *= n[0] * n[1] / ((n[0] - 1) * (n[1] - 1))
    value = sums.mmd(False)
    return Parts(value, sums.mmd(True) - value, along, inner, float(across))


def centred_squares(off: float, own: np.ndarray) -> float:
    """Squares of what neither argument of k explains, summed over pairs of distinct samples.

    From the sum of squares of k over such pairs, and from sums of k over the others of each sample;
    over n (n - 3), it is a variance without bias.
    """
    n = len(own)
    centred = off - 2 * float(np.sum(own**2)) / (n - 2)
    return centred + float(own.sum()) ** 2 / ((n - 1) * (n - 2))


def curve_of(sums: GroupSums, squares: np.ndarray) -> Curve:
    """The distribution of an estimate of MMD^2."""
    parts, n = parts_of(sums, squares), sums.sizes
    floor = (_FLAT * float(np.abs(sums.diag).mean())) ** 2
    degenerate = float(np.sum(2 * parts.inside / (n * (n - 1)))) + 4 * parts.across / (n[0] * n[1])
    along = float(np.sum(parts.along / n)) / max(parts.bias + parts.value, np.sqrt(floor))
    return Curve(parts.value, parts.bias, max(degenerate, floor), min(along, max(parts.bias, 0.0)))


def squared_sums(gram: Gram, labels: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Sums of squared kernel values, in some unit, between samples, tile by tile."""
    jobs = upper(len(gram), TILE)
    groups = np.equal.outer(labels, np.unique(labels)).astype(np.float64)
    parts = np.zeros((len(jobs), groups.shape[1], groups.shape[1]))

    def job(i: int) -> None:
        rows, cols = jobs[i]
        block = np.square(gram.block(rows, cols).astype(np.float64) / unit)
        found = groups[rows].T @ block @ groups[cols]
        parts[i] = found if rows == cols else found + found.T

    run(job, range(len(jobs)))
    return np.asarray(parts.sum(axis=0))
