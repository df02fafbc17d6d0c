"""Do samples come from the same distribution? Tests by the maximum mean discrepancy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..checks import check_count
from ..chunks.base import Chunks
from ..chunks.front import stream
from ..data import Data, as_samples, take
from ..gram.plan import Plan
from ..randomness import as_generator
from . import two_sample_nulls as without_permutations
from .aggregate import as_kernels
from .bank import not_finite
from .chunked import chunked_test
from .optimize import optimize_kernel
from .permutation_test import ALL_SAME, SAME, Way, blind_spots, permutation_test, units_of
from .permutations import refuse_permuted
from .planned import approximated_by, planned, require_stored, threads
from .problems import (
    Comparison,
    Statistic,
    called,
    check_null,
    outcome_of,
    permuted,
    shown_as,
)
from .result import TestResult, resampled
from .samples import Samples
from .variables import about_one, require_spread

NULLS = ("permutation", *without_permutations.NULLS)


@planned
def two_sample_test(
    X: Data,
    Y: Data,
    kernel: Any = None,
    *,
    n_permutations: int = 999,
    rng: Any = None,
    null: str | Callable[..., Any] = "permutation",
    statistic: str | Statistic | None = None,
    groups: Any = None,
    blocks: Any = None,
    bins: int | str | None = "auto",
    landmarks: int | str | None = "auto",
    stop_after: int | None = None,
    plan: Plan | None = None,
    verbose: bool = False,
) -> TestResult:
    """Test whether two samples come from the same distribution, by their MMD.

    Without a kernel, 20 Gaussian and Laplacian kernels with a range of bandwidths
    (:func:`kernel_grid`) are used at once, and no data are set aside to choose among them. P-values
    from permutations of independent observations are exact for any sample size and kernel: if both
    distributions are the same, P(p <= a) <= a.

    Parameters
    ----------
    X, Y : data
        The samples: arrays, tables, lists of anything the kernel accepts. Tables need the same
        columns, in any order; an array compared with a table takes its column names. Samples may be
        :class:`~mercer.chunks.Chunks`: kernels are then approximated with landmarks, and bins are
        permuted.
    kernel : Kernel, str, callable, list of them, or "optimize"; optional
        One kernel; or a list of kernels to be used at once. By default those of
        :func:`kernel_grid`. Parameters such as "median" are resolved on both samples together.
        ``"optimize"`` finds the most powerful kernel on one half of the data and tests on the other
        (:func:`optimize_kernel`).
    n_permutations : int
        B; the smallest possible p-value is 1 / (B + 1).
    rng : None, int or Generator
        The source of randomness.
    null : {"permutation", "spectrum", "gamma", "pearson", "wild", "normal"} or callable
        The null distribution. All but the first need a single kernel and are approximate: at the 5
        % level they are valid for samples of 30 each. ``"spectrum"`` is the limit sum_l lambda_l
        (z_l^2 - 1); ``"gamma"`` and ``"pearson"`` are fitted to exact moments over all permutations
        (for kernels so narrow that the first two miss the skewness over permutations, permutations
        are used, and a note says so); ``"wild"`` is the wild bootstrap, for series if ``blocks`` is
        their memory: the number of lags after which their autocorrelations are below .05. It keeps
        the level for series of 40 times that length, and rejects less often for shorter ones.
        ``"normal"`` is the limit of ``statistic="linear"`` and ``"block"``, for samples of 400,
        which are shuffled before they are paired. A user-defined function is called as
        ``null(problem, rng)``, with a :class:`~mercer.stats.problems.Comparison` (``problem.K``,
        ``problem.labels``, ``problem.statistic(labels)``, ...) and a random generator, and returns
        draws of the statistic under the null hypothesis or a distribution with a method ``sf``.
    statistic : {"u", "v", "linear", "block"} or callable, optional
        The estimator of :func:`mmd`; ``"v"`` for the nulls "gamma" and "wild", which need it,
        ``"block"`` for "normal", ``"u"`` otherwise. A user-defined function is called as
        ``statistic(K, labels)`` with the kernel matrix of all observations and the sample of each
        (0 or 1), and returns a number that is large if the samples differ; with one kernel, its
        p-value is exact.
    groups : array of shape (n + m,), optional
        Labels, first those of X; samples are permuted only within groups. At least one group must
        have members of both samples.
    blocks : int or array of shape (n + m,), optional
        The length of blocks of consecutive samples that are permuted as a whole, or labels of
        blocks: for clusters of equal size, where p-values are exact, and for series, where blocks
        must be four times as long as their memory, since neighbouring blocks depend on each other.
    bins : int, "auto" or None
        Permute this many bins of samples instead of single ones: the level stays exact, and the
        null distribution is almost free. By default 500 if the computation is long, or if
        permutations of single samples would not fit in the memory of the plan.
    landmarks : int, "auto" or None
        Replace kernels by their Nyström approximation from this many samples. By default 500 from
        200,000 samples on.
    stop_after : int, optional
        Stop permuting once this many statistics exceed the observed one (one kernel only): large
        p-values are found quickly, with a relative error of about one over the square root of this
        number (``pvalue_interval``).
    plan : Plan, optional
        Memory and threads to use, and how K is stored. Its ``rank`` is the number of landmarks.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    TestResult
        With ``statistic`` (MMD^2, or the largest score of several kernels), ``pvalue``,
        ``null``, ``kernel``, ``notes`` and ``details``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Spectrum, two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(0, 1, (100, 2)), rng.normal(0, 1.5, (120, 2))
    >>> print(two_sample_test(X, Y, rng=0))
    two-sample test, largest score of 20 kernels (999 permutations)
      statistic 5.567, p-value 0.001 (95 % interval 0 to 0.0037)
      At the 5 % level: evidence against "both samples come from the same distribution".
    >>> left, right = ["abab", "abba"] * 20, ["aabb", "bbaa"] * 20
    >>> two_sample_test(left, right, Spectrum(2), rng=0).pvalue
    0.001

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf & Smola, *A kernel two-sample test*, JMLR 2012; Biggs,
    Schrab & Gretton, *MMD-FUSE*, NeurIPS 2023 (many kernels, the same permutations).
    """
    rng = as_generator(rng)
    check_null(null, NULLS)
    check_count("n_permutations", n_permutations)
    check_count("stop_after", stop_after, also=(None,))
    if isinstance(X, Chunks) or isinstance(Y, Chunks):
        plain = null == "permutation" and statistic in (None, "u", "v") and kernel != "optimize"
        if not plain or any(option is not None for option in (groups, blocks, stop_after)):
            raise ValueError(
                "samples in chunks are tested by permutations of bins: omit null, statistic, "
                'groups, blocks, stop_after and kernel="optimize".'
            )
        both = [sample if isinstance(sample, Chunks) else stream(sample) for sample in (X, Y)]
        way = Way(n_permutations, rng, None, None, bins, landmarks, None, plan, verbose)
        return chunked_test(both, kernel, SAME, way, statistic == "v")
    samples = Samples(X, Y)
    if isinstance(kernel, str) and kernel == "optimize":
        options: dict[str, Any] = {"null": null, "statistic": statistic, "plan": plan}
        options["verbose"] = verbose
        options |= {"bins": bins, "landmarks": landmarks, "stop_after": stop_after}
        if groups is not None or blocks is not None:
            raise ValueError(
                'kernel="optimize" splits the data and does not support groups or blocks.'
            )
        return _test_of_halves(X, Y, n_permutations, rng, options)
    way = Way(n_permutations, rng, groups, blocks, bins, landmarks, stop_after, plan, verbose)
    return _tested(samples, kernel, _estimator(null, statistic), null, SAME, way)


@planned
def k_sample_test(
    samples: Sequence[Data],
    kernel: Any = None,
    *,
    n_permutations: int = 999,
    rng: Any = None,
    biased: bool = False,
    null: str | Callable[..., Any] = "permutation",
    statistic: Statistic | None = None,
    groups: Any = None,
    blocks: Any = None,
    bins: int | str | None = "auto",
    landmarks: int | str | None = "auto",
    stop_after: int | None = None,
    plan: Plan | None = None,
    verbose: bool = False,
) -> TestResult:
    """Test whether two or more samples come from the same distribution.

    The statistic is the dispersion between samples in feature space (:func:`mmd_multi`); with
    kernels from distances this is distance components (DISCO). P-values are exact
    for independent observations.

    Parameters
    ----------
    samples : list of data
        The samples.
    kernel, n_permutations, rng, groups, blocks, bins, landmarks, stop_after, plan, verbose
        As for :func:`two_sample_test`; labels are given for all samples, one after the other.
    biased : bool
        Use the biased estimate.
    null : "permutation" or callable
        The null distribution; your own function as in :func:`two_sample_test`.
    statistic : callable, optional
        Your own statistic, ``statistic(K, labels)``, as in :func:`two_sample_test`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import k_sample_test
    >>> rng = np.random.default_rng(0)
    >>> samples = [rng.normal(shift, 1, 40) for shift in (0.0, 0.0, 1.0)]
    >>> k_sample_test(samples, rng=0).pvalue
    0.002
    """
    rng = as_generator(rng)
    check_count("n_permutations", n_permutations)
    check_count("stop_after", stop_after, also=(None,))
    check_null(null, NULLS[:1])
    if isinstance(kernel, np.ndarray):
        raise ValueError("pass the samples as one list: k_sample_test([X, Y, Z], kernel).")
    if statistic is not None and not callable(statistic):
        raise ValueError(f"statistic must be a function of (K, labels), got {statistic!r}.")
    way = Way(n_permutations, rng, groups, blocks, bins, landmarks, stop_after, plan, verbose)
    estimator = ("v" if biased else "u") if statistic is None else statistic
    return _tested(Samples(*samples), kernel, estimator, null, ALL_SAME, way)


def _tested(
    samples: Samples,
    kernel: Any,
    estimator: str | Statistic,
    null: str | Callable[..., Any],
    hypothesis: str,
    way: Way,
) -> TestResult:
    """The test by permutations of sums; without permutations; or with a user-defined statistic.

    If the limit of a named null distribution is inaccurate, permutations replace it.
    """
    if null == "permutation" and not callable(estimator):
        return permutation_test(samples, kernel, hypothesis, way, estimator == "v")
    rng, plan = way.rng, way.plan
    shown = f"null={shown_as(null)}"
    if null == "permutation":
        shown = f"statistic={called(estimator)}"
    if kernel is None or as_kernels(kernel) is not None:
        raise ValueError(f'{shown} needs one kernel, for example Gaussian("median").')
    own = callable(null) or callable(estimator)
    if own and way.landmarks not in ("auto", None):
        raise ValueError(f"{shown} works with the kernel itself: omit landmarks.")
    k = about_one(samples.kernel(kernel, rng), samples.data, 8)
    k = approximated_by(plan, k, samples.data)
    computation = f"values of one kernel on {len(samples)} samples, a few at a time"
    if own or null in ("spectrum", "gamma", "pearson"):
        require_stored(plan, shown, len(samples))
        computation = f"the kernel matrix of {len(samples)} samples, stored as an array"
    computation += f"; {threads(plan)}"
    problem = Comparison(k, samples, estimator, way.n_permutations, way.blocks)
    if null == "permutation":
        units = units_of(samples, 0, way.bins, way)
        first = units.of_units(samples.labels, "blocks")
        units.check_movable(first)

        def shuffled(count: int) -> np.ndarray:
            return units.shuffled(first, count, rng)[:, units.place]

        found = permuted(problem, shuffled, way.stop_after, way.verbose)
        return resampled(
            problem.observed,
            found,
            f"{_test(samples)}, {called(estimator)} ({len(found.draws)} permutations)",
            hypothesis,
            kernel=k,
            computation=computation,
        )
    entry = without_permutations.NULLS.get(null) if isinstance(null, str) else None
    series = entry is not None and entry.series
    beside = way.groups, way.blocks, way.stop_after
    refuse_permuted(shown, *beside, series=series, own=callable(null))
    if callable(null):
        outcome = outcome_of(null, problem, rng)
    else:
        require_spread(k, samples.data, "both samples together are", null)
        problem = Comparison(*samples.from_mean(k), estimator, way.n_permutations, way.blocks)
        outcome = without_permutations.NULLS[null].outcome(problem, rng)
    if not np.isfinite([outcome.statistic, outcome.pvalue]).all():
        raise not_finite(repr(k))
    if outcome.strays:
        instead = permutation_test(samples, k, hypothesis, way, estimator == "v")
        note = without_permutations.too_narrow(repr(k), str(null))
        return replace(instead, notes=(note, *instead.notes))
    what = "MMD^2" if len(samples.sizes) == 2 else "dispersion of means in feature space"
    what = called(estimator) if callable(estimator) else f"{what} ({estimator})"
    return outcome.result(
        f"{_test(samples)}, {what}",
        hypothesis,
        kernel=k,
        notes=() if callable(estimator) else blind_spots([k]),
        computation=computation,
    )


def _test(samples: Samples) -> str:
    return "two-sample test" if len(samples.sizes) == 2 else f"{len(samples.sizes)}-sample test"


def _test_of_halves(
    X: Data, Y: Data, n_permutations: int, rng: np.random.Generator, options: dict[str, Any]
) -> TestResult:
    halves = []
    for sample, size in zip(map(as_samples, (X, Y)), Samples(X, Y, least=4).sizes, strict=True):
        order = rng.permutation(size)
        halves.append((take(sample, order[: size // 2]), take(sample, order[size // 2 :])))
    (X1, X2), (Y1, Y2) = halves
    k = optimize_kernel(X1, Y1, rng=rng)
    result = two_sample_test(X2, Y2, k, n_permutations=n_permutations, rng=rng, **options)
    note = "one half of the data was used to choose the kernel, the other half for the test."
    return replace(result, notes=(*result.notes, note))


def _estimator(
    null: str | Callable[..., Any], statistic: str | Statistic | None
) -> str | Statistic:
    """The statistic for which a null distribution is made."""
    entry = without_permutations.NULLS.get(null) if isinstance(null, str) else None
    if entry is None and callable(statistic):
        return statistic
    allowed = ("u", "v") if entry is None else entry.statistics
    if statistic is None:
        return allowed[0]
    if statistic not in allowed:
        listed = " or ".join(f'"{name}"' for name in allowed)
        raise ValueError(f"null={shown_as(null)} is about statistic={listed}, got {statistic!r}.")
    return statistic
