"""Which of two models is closer to the data? Differences of discrepancies, with their errors."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import t as student

from ..checks import check_choice
from ..data import Data
from ..gram.plan import LEAN, Plan
from ..gram.tiles import TILE, run, slices
from .bank import not_finite
from .discrepancy import sums_with
from .interval import centred_squares, squared_sums
from .permutation_test import blind_spots
from .planned import planned, threads
from .result import TestResult
from .samples import Samples
from .stein import Stein, stein_kernel

_LEAST = 8  # observations of each sample
_LOST = 3  # degrees of freedom of a variance along an estimated direction
_FLAT = 1e-7  # of kernel values, divided by n: a standard error below is rounding
ALTERNATIVES = ("two-sided", "first", "second")


@planned
def relative_test(
    X: Data,
    Y: Data,
    reference: Data,
    kernel: Any = None,
    *,
    alternative: str = "two-sided",
    plan: Plan | None = None,
) -> TestResult:
    r"""Test which of two samples is closer to a third one, by the maximum mean discrepancy.

    .. math:: T = \mathrm{MMD}^2(X, R) - \mathrm{MMD}^2(Y, R)

    from unbiased estimates, in which the pairs within R cancel. For example, X and Y are drawn from
    two models, neither of which is the truth, and R are data: which model is better? T is negative
    if X is closer. It is asymptotically normal, and compared with Student's distribution; its
    variance is that of the witness functions plus the part that remains if all three distributions
    are equal.

    Parameters
    ----------
    X, Y : data
        The two samples.
    reference : data
        R, the third one.
    kernel : Kernel, str or callable, optional
        The kernel, resolved on all samples together; by default ``Gaussian("median")``. The answer
        depends on it.
    alternative : {"two-sided", "first", "second"}
        Test for any difference; or only for evidence that X is closer, or that Y is closer.
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Returns
    -------
    TestResult
        The statistic is T over its standard error; ``details`` has ``"difference"``, T itself,
        with ``"error"``, and both ``"discrepancies"``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import relative_test
    >>> rng = np.random.default_rng(0)
    >>> data = rng.standard_t(4, 400)
    >>> near, far = rng.normal(0, 1.2, 400), rng.normal(1, 1.2, 400)
    >>> print(relative_test(near, far, data))
    relative test, MMD^2 of the first sample less that of the second (normal limit)
      statistic -5.032, p-value 7.366e-07
      At the 5 % level: evidence against "both samples are equally close to the reference".

    References
    ----------
    Bounliphone, Belilovsky, Blaschko, Antonoglou & Gretton, *A test of relative similarity for
    model selection in generative models*, ICLR 2016; Sutherland & Deka, *Unbiased estimators for
    the variance of MMD estimators*, 2019.
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    samples = Samples(X, Y, reference, least=_LEAST)
    resolved = samples.kernel(kernel)
    k, moved = samples.from_mean(resolved)
    gram = k.gram(moved.data, plan or LEAN)
    sums = sums_with(gram, moved)
    if not (np.all(np.isfinite(sums.rows)) and np.all(np.isfinite(sums.diag))):
        raise not_finite(repr(resolved))
    unit = float(np.abs(sums.diag).max()) or 1.0
    n, labels = sums.sizes.astype(float), sums.labels
    rows, diag = sums.rows / unit, sums.diag / unit
    squares = squared_sums(gram, labels, unit)
    inside = [labels == g for g in range(3)]
    means = np.empty((len(labels), 3))  # of kernel values with the other samples of each group
    for g in range(3):
        own = inside[g]
        means[:, g] = rows[:, g] / n[g]
        means[own, g] = (rows[own, g] - diag[own]) / (n[g] - 1)
    within = [float(means[inside[g], g].mean()) for g in range(3)]
    across = [float(means[inside[g], 2].mean()) for g in (0, 1)]
    apart = [within[g] + within[2] - 2 * across[g] for g in (0, 1)]
    first = sum(
        float(np.var(2 * (means[inside[g], g] - means[inside[g], 2]), ddof=1)) / n[g]
        for g in (0, 1)
    )
    first += float(np.var(2 * (means[inside[2], 0] - means[inside[2], 1]), ddof=1)) / n[2]
    rest = 0.0
    for g in (0, 1):
        own = rows[inside[g], g] - diag[inside[g]]
        off = squares[g, g] - float(np.sum(diag[inside[g]] ** 2))
        rest += 2 * _degenerate(off, own) / (n[g] * (n[g] - 1))
        left, right = means[inside[g], 2], means[inside[2], g]
        spread = squares[g, 2] / (n[g] * n[2]) - np.mean(left**2) - np.mean(right**2)
        spread = (spread + across[g] ** 2) * n[g] * n[2] / ((n[g] - 1) * (n[2] - 1))
        rest += 4 * max(float(spread), 0.0) / (n[g] * n[2])
    return _compared(
        (unit * apart[0], unit * apart[1]),
        unit * _error(first, rest),
        "relative test, MMD^2 of the first sample less that of the second (normal limit)",
        "both samples are equally close to the reference",
        alternative,
        unit,
        int(n.min()),
        kernel=resolved,
        notes=blind_spots([resolved]),
        computation=f"{gram.explain().splitlines()[0]}; {threads(plan)}",
    )


@planned
def relative_fit_test(
    X: Data,
    score: Any,
    other: Any,
    kernel: Any = None,
    *,
    alternative: str = "two-sided",
    support: Any = None,
    plan: Plan | None = None,
) -> TestResult:
    r"""Test which of two densities fits a sample better, by kernel Stein discrepancies.

    .. math:: T = \mathrm{KSD}^2_p(X) - \mathrm{KSD}^2_q(X)

    from unbiased estimates. Densities are known up to a constant: only the gradients of their
    logarithms are needed, and no draws. T is negative if p is closer, and is compared with
    Student's distribution.

    Parameters
    ----------
    X : array of shape (n, d)
        The sample.
    score, other : callable or array of shape (n, d)
        The gradients of log p and of log q, as for :func:`goodness_of_fit_test`.
    kernel : Gaussian or RationalQuadratic, optional
        The kernel; by default the inverse multiquadric one of median width.
    alternative : {"two-sided", "first", "second"}
        Look for any difference; or only for evidence that p is closer, or that q is.
    support : (low, high), optional
        Boundaries of both densities, where they do not vanish at them (:class:`Stein`).
    plan : Plan, optional
        Memory and threads to use, and how K is stored; by default nothing of size n x n is.

    Returns
    -------
    TestResult
        As that of :func:`relative_test`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import relative_fit_test
    >>> x = np.random.default_rng(0).standard_t(5, 500)
    >>> result = relative_fit_test(x, lambda x: -x, lambda x: -x / 4)  # N(0, 1) or N(0, 4)?
    >>> result.pvalue < 0.01, result.statistic < 0
    (True, True)

    References
    ----------
    Jitkrittum, Kanagawa, Sangkloy, Hays, Schölkopf & Gretton, *Informative features for model
    comparison*, NeurIPS 2018; Lim, Yamada, Schölkopf & Jitkrittum, *Kernel Stein tests for multiple
    model comparison*, NeurIPS 2019.
    """
    check_choice("alternative", alternative, ALTERNATIVES)
    (k, V), (l, _) = (stein_kernel(X, s, kernel, support) for s in (score, other))
    n = len(V)
    if n < _LEAST:
        raise ValueError(f"a relative test needs at least {_LEAST} samples, got {n}.")
    sums, squares, diag, explained = _difference(k, l, V, plan)
    if not (np.all(np.isfinite(sums)) and np.isfinite(squares)):
        raise not_finite(repr(k.kernel))
    unit = float(np.abs(diag).max()) or 1.0
    own = (sums[0] - sums[1] - (diag[0] - diag[1])) / unit
    first = float(np.var(2 * own / (n - 1), ddof=1)) / n
    rest = 2 * _degenerate(squares / unit**2, own) / (n * (n - 1))
    both = [float(np.sum(s - d)) / (n * (n - 1)) for s, d in zip(sums, diag, strict=True)]
    return _compared(
        (both[0], both[1]),
        unit * _error(first, rest),
        "relative test, KSD^2 of the first density minus that of the second (normal limit)",
        "both densities are equally close to the distribution of the sample",
        alternative,
        unit,
        n,
        kernel=k.kernel,
        computation=f"{explained}; {threads(plan)}",
    )


def _difference(
    k: Stein, l: Stein, V: np.ndarray, plan: Plan | None
) -> tuple[np.ndarray, float, np.ndarray, str]:
    """Sums of rows of both matrices, of squares of their difference, and both diagonals."""
    grams = [kernel.gram(V, plan or LEAN) for kernel in (k, l)]
    diag = np.array([gram.diag() for gram in grams], dtype=np.float64)
    strips = slices(len(V), TILE)
    sums, squares = np.zeros((len(strips), 2, len(V))), np.zeros(len(strips))

    def job(i: int) -> None:
        for cols in strips:
            A, B = (gram.block(strips[i], cols).astype(np.float64) for gram in grams)
            sums[i, 0, cols], sums[i, 1, cols] = A.sum(axis=0), B.sum(axis=0)
            squares[i] += float(np.sum(np.square(A - B)))

    run(job, range(len(strips)))
    off = float(squares.sum() - np.sum(np.square(diag[0] - diag[1])))
    return sums.sum(axis=0), off, diag, grams[0].explain().splitlines()[0]


def _degenerate(off: float, own: np.ndarray) -> float:
    """The variance of k(x, x') beyond what either argument explains, 0 at the least."""
    n = len(own)
    return max(centred_squares(off, own) / (n * (n - 3)), 0.0)


def _error(first: float, rest: float) -> float:
    """The standard error of a difference.

    The variance of estimated projections holds that of their own noise, which is twice the variance
    ``rest`` of the degenerate part.
    """
    return float(np.sqrt(max(first - 2 * rest, 0.0) + rest))


def _compared(
    both: tuple[float, float],
    error: float,
    method: str,
    hypothesis: str,
    alternative: str,
    unit: float,
    n: int,
    **rest: Any,
) -> TestResult:
    """The difference over its error, as a variable of Student's distribution."""
    difference = both[0] - both[1]
    if error <= _FLAT * unit / n:
        if abs(difference) > _FLAT * unit:
            raise ValueError(
                "the difference has no standard error: samples are constant for the kernel; use "
                "other samples, or another kernel."
            )
        difference, z = 0.0, 0.0
    else:
        z = difference / error
    null = student(n - _LOST)
    tails = {"two-sided": 2 * null.sf(abs(z)), "first": null.cdf(z), "second": null.sf(z)}
    if alternative != "two-sided":
        words = ("first", "second") if alternative == "first" else ("second", "first")
        hypothesis = "the {} is not closer than the {}".format(*words)
    return TestResult(
        float(z),
        float(tails[alternative]),
        method,
        hypothesis,
        distribution=null,
        details={"difference": difference, "error": error, "discrepancies": both},
        **rest,
    )
