"""Null distributions shared by all tests: p-values from draws, curves fitted to moments, bootstrap.

A p-value from B permutations is (1 + #{T_b >= T}) / (B + 1): the observed statistic is one of the
B + 1 that are equally likely under the null hypothesis, so p is never 0 and the level is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaincinv

from ..checks import check_count

_ROUNDING = 1e-8  # of the largest statistic: the assumed rounding error if none is given
STRETCH = 1.5  # lags of multipliers for a lag of the series, of whose variance 4 % are then lost
_TIED = 8  # standard deviations in the rounding of a statistic that does not vary
_BATCH = 250  # draws between two looks at the count of a sequential test


class MonteCarlo(NamedTuple):
    """A p-value from draws, with the draws it used and an interval for its limit."""

    pvalue: float
    interval: tuple[float, float]
    draws: np.ndarray


def permutation_pvalue(
    statistic: float, draws: np.ndarray, tolerance: float | None = None
) -> MonteCarlo:
    r"""The p-value of a statistic among draws of it under the null hypothesis.

    .. math:: p = \frac{1 + \#\{b : T_b \ge T\}}{B + 1}

    Draws that differ from T only by rounding count as ties, which can only make p larger. The size
    of the rounding error must be given by the code that computes the statistics: it follows from
    the size of the kernel values that were added up, not from the spread of the sums, which may all
    be equal.

    Parameters
    ----------
    statistic : float
        The observed T, computed in the same way as the draws.
    draws : array of shape (B,)
        T under B random permutations.
    tolerance : float, optional
        By how much rounding may separate two statistics that are equal; by default 1e-8 of the
        largest.

    Examples
    --------
    >>> from mercer.stats.nulls import permutation_pvalue
    >>> permutation_pvalue(3.0, [1.0, 2.0, 5.0]).pvalue
    0.5

    References
    ----------
    Phipson & Smyth, *Permutation p-values should never be zero*, Statistical Applications in
    Genetics and Molecular Biology 9, 2010.
    """
    draws = np.asarray(draws, dtype=np.float64)
    return counted_pvalue(exceeds(statistic, draws, tolerance), draws)


def exceeds(statistic: float, draws: np.ndarray, tolerance: float | None = None) -> np.ndarray:
    """Which draws are at least the statistic, those equal to it up to rounding included.

    What is not a finite number cannot be compared, and is rejected.
    """
    if not (np.isfinite(statistic) and np.all(np.isfinite(draws))):
        raise ValueError(
            "the statistic is not a finite number, so it cannot be compared with its null "
            "distribution; normalize the kernel (.normalize()), or rescale the data."
        )
    if tolerance is None:
        tolerance = _ROUNDING * float(np.max(np.abs(draws), initial=abs(statistic)))
    return np.asarray(draws >= statistic - tolerance)


def counted_pvalue(exceeding: np.ndarray, draws: np.ndarray) -> MonteCarlo:
    """The p-value where it is known which draws are at least the statistic."""
    count = int(np.sum(exceeding))
    interval = monte_carlo_interval(count, len(draws))
    return MonteCarlo((1 + count) / (1 + len(draws)), interval, draws)


def monte_carlo_interval(count: int, n_draws: int, *, stopped: bool = False) -> tuple[float, float]:
    """The Clopper-Pearson interval (95 %) of P(T_b >= T), given how many draws exceeded T.

    Parameters
    ----------
    count, n_draws : int
        The number of draws that exceed T, and of all.
    stopped : bool
        Did drawing stop at the ``count``-th draw that exceeds T, which was the last one?

    Examples
    --------
    >>> from mercer.stats.nulls import monte_carlo_interval
    >>> low, high = monte_carlo_interval(0, 999)
    >>> low, round(high, 5)
    (0.0, 0.00369)
    """
    failures = n_draws - count
    low = betaincinv(count, failures + 1, 0.025) if count else 0.0
    above = count if stopped else count + 1
    high = betaincinv(above, failures, 0.975) if failures else 1.0
    return float(low), float(high)


def sequential_pvalue(
    statistic: float,
    draw: Callable[[int], np.ndarray],
    most: int,
    exceedances: int,
    tolerance: float | None = None,
) -> MonteCarlo:
    """A permutation p-value that stops drawing once it is clear that it will not be small.

    Draws are taken until ``exceedances`` = h of them are at least T; if that happens at draw l,
    p = h / l, and (1 + #) / (B + 1) if it does not happen in B draws. Both are valid: P(p <= a) is
    at most a under the null hypothesis. The relative error of p is about 1 / sqrt(h).

    Parameters
    ----------
    statistic : float
        The observed T.
    draw : callable
        From a number k to k new draws of the statistic.
    most : int
        B, the largest number of draws.
    exceedances : int
        h, the number of draws above T at which to stop.
    tolerance : float, optional
        As for :func:`permutation_pvalue`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.nulls import sequential_pvalue
    >>> rng = np.random.default_rng(0)
    >>> p, interval, draws = sequential_pvalue(0.0, rng.standard_normal, 100_000, exceedances=50)
    >>> round(p, 2), len(draws)
    (0.54, 92)

    References
    ----------
    Besag & Clifford, *Sequential Monte Carlo p-values*, Biometrika 78, 1991.
    """
    check_count("exceedances", exceedances)
    seen = np.empty(0)
    while len(seen) < most:
        seen = np.append(seen, draw(min(_BATCH, most - len(seen))))
        places = np.flatnonzero(exceeds(statistic, seen, tolerance))
        if len(places) >= exceedances:
            last = int(places[exceedances - 1]) + 1
            interval = monte_carlo_interval(exceedances, last, stopped=True)
            return MonteCarlo(exceedances / last, interval, seen[:last])
    return permutation_pvalue(statistic, seen, tolerance)


def gamma_null(mean: float, variance: float) -> Any:
    """The gamma distribution with this mean and variance, as a frozen SciPy distribution.

    Examples
    --------
    >>> from mercer.stats.nulls import gamma_null
    >>> round(float(gamma_null(mean=2.0, variance=2.0).sf(4.0)), 4)
    0.0916
    """
    from scipy.stats import gamma

    if not (mean > 0 and variance > 0):
        raise ValueError(
            f"a gamma distribution needs a positive mean and variance, got {mean:.3g} and "
            f'{variance:.3g}; use null="permutation".'
        )
    return gamma(mean**2 / variance, scale=variance / mean)


def fitted(
    curve: Callable[..., Any], mean: float, variance: float, *more: float, rounding: float
) -> Any:
    """A null distribution with these moments.

    If no rearrangement changes the statistic by more than rounding, all its values are ties.
    """
    from scipy.stats import norm

    if variance > rounding**2:
        return curve(mean, variance, *more)
    return norm(mean, max(rounding / _TIED, np.finfo(float).tiny))


def wild_signs(
    n: int, n_draws: int, rng: np.random.Generator, memory: float | None = None
) -> np.ndarray:
    r"""Multipliers of the wild bootstrap, shape (n, n_draws): signs, or a stationary series.

    A draw w replaces the sum of features u_t by the sum of w_t u_t, whose variance is the sum of
    all autocovariances of u_t, each times the correlation of w at its lag

    .. math:: \rho(h) = \exp\left(-\frac{h^2}{2\, \text{memory}^2}\right)

    which is flat at 0: the share that gets lost is of the order of one over the squared memory.
    Every draw has the squared norm n, like random signs. So a draw and the observed sum, which has
    w = 1, are two points of one sphere, and their ratio is that of a t-test where the u_t lie on a
    line, instead of that of a normal limit, which rejects too often when n / memory is small.

    Parameters
    ----------
    n, n_draws : int
        How many multipliers a draw has, and how many draws.
    rng : Generator
        The source of randomness.
    memory : float, optional
        Lags over which the multipliers forget. None for independent random signs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.nulls import wild_signs
    >>> wild_signs(4, 2, np.random.default_rng(0)).tolist()
    [[1.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, 1.0]]

    References
    ----------
    Chwialkowski, Sejdinovic & Gretton, *A wild bootstrap for degenerate kernel tests*, NIPS 2014;
    Shao, *The dependent wild bootstrap*, JASA 2010 (which correlations).
    """
    if memory is None:
        return 1.0 - 2.0 * (rng.random((n, n_draws)) < 0.5)
    from scipy.signal import oaconvolve

    memory = check_memory(memory)
    reach = int(np.ceil(3 * memory))
    weights = np.exp(-((np.arange(-reach, reach + 1) / memory) ** 2))
    noise = rng.standard_normal((n + 2 * reach, n_draws))
    W = np.asarray(oaconvolve(noise, weights[:, None], mode="valid", axes=0))
    W *= np.sqrt(n) / np.linalg.norm(W, axis=0)
    return W


def wild_correlations(n: int, memory: float | None = None) -> np.ndarray:
    """The correlations of :func:`wild_signs` at lags 0, 1, ..., up to where they vanish.

    Examples
    --------
    >>> from mercer.stats.nulls import wild_correlations
    >>> wild_correlations(4, memory=2.0).round(3)
    array([1.   , 0.882, 0.607, 0.325])
    """
    if memory is None:
        return np.ones(1)
    lags = np.arange(min(n, int(np.ceil(6 * memory)) + 1))
    return np.asarray(np.exp(-0.5 * (lags / memory) ** 2))


def check_memory(memory: Any) -> float:
    """The number of lags that a series remembers, as a float."""
    if np.ndim(memory) or isinstance(memory, str) or not memory > 0:
        raise ValueError(
            "the wild bootstrap needs the memory of a series, a positive number of lags, got "
            f"{memory!r}; block labels are only for permutations."
        )
    return float(memory)
