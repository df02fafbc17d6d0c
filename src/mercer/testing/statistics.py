"""The shipped checks of statistics and of null distributions, by simulation with exact bounds."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..checks import check_choice
from ..data import take
from ..kernels.base import Kernel
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from ..stats.independence import independence_test
from ..stats.problems import Comparison, Dependence
from ..stats.result import TestResult
from ..stats.samples import Samples
from ..stats.two_sample import two_sample_test
from .promises import require

Draw = Callable[[np.random.Generator], tuple[Any, Any]]

_TESTS = ("samples", "variables")
_CLAIMS = ("shift", "scale")
_FEW = 19  # permutations: the smallest p-value is 1 / 20
_TWINS = 20  # pairs of observations that are made equal
_LEVEL = 0.05
_MISTAKE = 1e-5  # how often a good statistic is called a bad one
_ROUNDING = 1e-8


def check_statistic(
    statistic: Any,
    of: str = "samples",
    *,
    invariant: tuple[str, ...] = (),
    kernel: Kernel | None = None,
    draw: Draw | None = None,
    n_trials: int = 200,
    rng: Any = 0,
) -> None:
    """Check a statistic that tests take: a function of (K, labels), or of (K, L).

    It is one finite number, does not depend on the order of observations, and changes nothing that
    it is given; observations that are equal may be exchanged, and where all are equal, the p-value
    is 1; it is larger where points of the plane are clearly against the hypothesis. Its p-values
    hold their level: in trials with 19 permutations, P(p <= 0.05) is 0.05 or less, and more
    rejections than a binomial variable has with probability 1 - 1e-5 are a failure.

    Parameters
    ----------
    statistic : callable or str
        The statistic, or the name of one of the library's, whose p-values alone are checked.
    of : {"samples", "variables"}
        Is it one for :func:`mercer.two_sample_test` or for :func:`mercer.independence_test`?
    invariant : tuple of {"shift", "scale"}
        The claims: p-values do not change if a constant is added to K, or if K is multiplied by
        one.
    kernel : Kernel, optional
        Whose matrices are used; Gaussian by default.
    draw : callable, optional
        From a random generator to two samples of the same distribution, or to two independent
        variables, in place of points of the plane; it should be given where ``kernel`` is for
        other data.
    n_trials : int
        How many tests are simulated.
    rng : int or Generator
        The seed.

    Raises
    ------
    AssertionError
        With the first promise that is broken.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.testing import check_statistic
    >>> def energy(K, labels):
    ...     w = np.where(labels == 0, 1 / np.sum(labels == 0), -1 / np.sum(labels == 1))
    ...     return w @ K @ w
    >>> check_statistic(energy, invariant=("shift", "scale"))
    """
    _check_words(of, invariant)
    rng = as_generator(rng)
    kernel = Gaussian(1.0) if kernel is None else kernel
    points = draw is None  # of the plane, of which more is known
    chosen = _points if draw is None else draw

    def pvalue(data: tuple[Any, Any], rng: Any) -> float:
        return _test(of, *data, kernel, rng=rng, statistic=statistic, n_permutations=_FEW).pvalue

    if callable(statistic):
        _is_a_function_of_matrices(statistic, of, kernel, chosen, invariant, rng)
    equal = take(chosen(rng)[0], np.zeros(12, int))
    p = pvalue((equal, equal), rng)
    require(p == 1, f"where all observations are equal, the p-value is {p:g}, not 1")
    if points:
        _is_larger_where_it_should(statistic, of, kernel, rng)
    count = sum(pvalue(chosen(rng), rng) <= _LEVEL for _ in range(n_trials))
    _require_level(count, n_trials, _LEVEL)


def check_null(
    null: Any,
    of: str = "samples",
    *,
    statistic: Any = None,
    kernel: Kernel | None = None,
    draw: Draw | None = None,
    level: float = _LEVEL,
    n_trials: int = 200,
    n_draws: int = 199,
    rng: Any = 0,
    **options: Any,
) -> None:
    """Check a null distribution: a function that ``null=`` of tests takes, or the name of one.

    It holds its level: in trials under the null hypothesis, p-values of ``level`` or less are not
    more frequent than a binomial variable of that probability allows (it is exceeded with
    probability 1e-5). It is of use: where points of the plane are clearly against the hypothesis,
    at least half of the tests find that. And the same seed gives the same p-value.

    Parameters
    ----------
    null : callable or str
        The null distribution.
    of : {"samples", "variables"}
        Is it one for :func:`mercer.two_sample_test` or for :func:`mercer.independence_test`?
    statistic : str or callable, optional
        The statistic; the default of the test.
    kernel : Kernel, optional
        The kernel; Gaussian by default.
    draw : callable, optional
        From a random generator to two samples of one distribution, or to two independent variables:
        series, for example. By default 60 points of the plane each.
    level : float
        The level at which the test is used.
    n_trials, n_draws : int
        How many tests are simulated, and ``n_permutations`` of each.
    rng : int or Generator
        The seed.
    **options
        Passed to the test: ``blocks``, for example.

    Raises
    ------
    AssertionError
        With the rate of rejections.

    Examples
    --------
    >>> from mercer.testing import check_null
    >>> check_null("gamma", n_trials=50)
    """
    _check_words(of)
    rng = as_generator(rng)
    kernel = Gaussian(1.0) if kernel is None else kernel
    points = draw is None
    chosen = partial(_points, n=60) if draw is None else draw
    options |= {"null": null, "n_permutations": n_draws, "statistic": statistic}

    def pvalue(data: tuple[Any, Any], rng: Any) -> float:
        found = _test(of, *data, kernel, rng=rng, **options).pvalue
        require(0 <= found <= 1, f"a p-value is {found}")
        return found

    data = chosen(rng)
    require(
        pvalue(data, 0) == pvalue(data, 0), "two calls with the same seed give different p-values"
    )
    count = sum(pvalue(chosen(rng), rng) <= level for _ in range(n_trials))
    _require_level(count, n_trials, level)
    if not points:
        return
    found = sum(pvalue(_clearly(of, rng, 60), rng) <= level for _ in range(10))
    require(found >= 5, f"where the hypothesis is clearly wrong, only {found} of 10 tests find it")


def _is_a_function_of_matrices(
    statistic: Any,
    of: str,
    kernel: Kernel,
    draw: Draw,
    invariant: tuple[str, ...],
    rng: np.random.Generator,
) -> None:
    X, Y = draw(rng)
    if of == "samples":
        samples = Samples(X, Y)
        K, second = Comparison(samples.kernel(kernel), samples, "u", 1).K, samples.labels
    else:
        problem = Dependence([kernel.resolve(X), kernel.resolve(Y)], (X, Y), "u", 1)
        K, second = problem.K, problem.L

    def value(K: np.ndarray, second: np.ndarray) -> float:
        found = statistic(K.copy(), second.copy())
        number = np.shape(found) == () and np.asarray(found).dtype.kind in "biuf"
        require(number and np.isfinite(found), f"it returns {found!r}, not one finite number")
        return float(found)

    def moved(A: np.ndarray, order: np.ndarray) -> np.ndarray:
        return A[order] if A.ndim == 1 else A[np.ix_(order, order)]

    first, kept = K.copy(), second.copy()
    statistic(first, kept)
    same = np.array_equal(first, K) and np.array_equal(kept, second)
    require(same, "matrices or labels were modified; work on a copy")
    here = value(K, second)
    require(value(K, second) == here, "two calls give two values: it must not be random")
    order = rng.permutation(len(K))
    away = value(moved(K, order), moved(second, order))
    size = _ROUNDING * max(abs(here), float(np.abs(K).max()))
    require(abs(away - here) <= size, "it depends on the order of observations")
    draws = [rng.permutation(len(K)) for _ in range(_FEW)]
    values = np.array([value(K, moved(second, p)) for p in draws])
    require(np.ptp(values) > 0, "it is the same under all permutations: it compares nothing")
    for _ in range(_TWINS):  # exchange two equal observations: nothing may change
        one, other = rng.choice(len(K), 2, replace=False)
        twins, swap = np.arange(len(K)), np.arange(len(K))
        twins[other], swap[[one, other]] = one, (other, one)
        T, mixed = moved(K, twins), moved(second, rng.permutation(len(K)))
        tied = value(T, mixed), value(T, moved(mixed, swap))
        require(
            abs(tied[0] - tied[1]) <= size, "it changes where two equal observations are exchanged"
        )
    for claim in invariant:
        K2 = K + 3.0 if claim == "shift" else 7.0 * K
        other = np.array([value(K2, moved(second, p)) for p in draws])
        observed = value(K2, second)
        counts = [
            int(np.sum(each >= one - _ROUNDING * max(1.0, np.abs(each).max())))
            for one, each in ((here, values), (observed, other))
        ]
        require(counts[0] == counts[1], f"invariance to {claim} is claimed, but p-values change")


def _is_larger_where_it_should(
    statistic: Any, of: str, kernel: Kernel, rng: np.random.Generator
) -> None:
    ranks = []
    for _ in range(10):
        found = _test(
            of, *_clearly(of, rng, 30), kernel, rng=rng, statistic=statistic, n_permutations=_FEW
        )
        ranks.append(found.pvalue)
    message = "it is not larger where the hypothesis is clearly wrong; is its sign right"
    require(np.median(ranks) <= 0.5, message)


def _require_level(count: int, n_trials: int, level: float) -> None:
    from scipy.stats import binom

    most = int(binom.ppf(1 - _MISTAKE, n_trials, level))
    require(
        count <= most,
        f"the level is not held: {count} of {n_trials} tests reject at {level:g}, at most {most} "
        f"would be chance",
    )


def _test(of: str, X: Any, Y: Any, kernel: Kernel, **options: Any) -> TestResult:
    if of == "samples":
        return two_sample_test(X, Y, kernel, **options)
    return independence_test(X, Y, kernels=kernel, **options)


def _points(rng: np.random.Generator, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((n, 2)), rng.standard_normal((n, 2))


def _clearly(of: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples far apart, and of another spread; variables that are almost the same."""
    X, Y = rng.standard_normal((2, n, 2))
    return (X, 3 + 2 * Y) if of == "samples" else (X, X + 0.1 * Y)


def _check_words(of: str, invariant: tuple[str, ...] = ()) -> None:
    check_choice("of", of, _TESTS)
    if isinstance(invariant, str) or not set(invariant) <= set(_CLAIMS):
        raise ValueError(f"invariant must be a tuple of {_CLAIMS}, got {invariant!r}.")
