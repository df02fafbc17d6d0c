"""Are variables independent? Tests by HSIC, and by other norms of the cross-covariance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..checks import check_choice, check_count
from ..chunks.base import Chunks
from ..data import Data
from ..gram.plan import Plan
from ..randomness import as_generator
from . import independence_nulls as without_permutations
from .aggregate import as_kernels, judged
from .bank import not_finite
from .chunked_independence import chunked_independence
from .independence_grid import wider_combinations
from .independence_kernels import approximated, blind_spots, candidates_of, rank_of
from .independence_measures import MEASURES, PermutedMeasure, check_regularization
from .independence_permutations import PermutedHSIC, memory_of
from .nulls import sequential_pvalue
from .permutations import Units, exchange, refuse_permuted
from .planned import (
    approximated_by,
    landmarks_of,
    planned,
    require_features,
    require_stored,
    threads,
    through_features,
)
from .problems import (
    Dependence,
    Statistic,
    called,
    check_null,
    outcome_of,
    permuted,
    shown_as,
)
from .result import TestResult, resampled
from .two_sample_nulls import too_narrow
from .variables import Variables, about_one, require_spread

NULLS = ("permutation", *without_permutations.NULLS)
PERMUTATIONS = ("auto", "cyclic", "random")
_LEAST = 6  # observations


@planned
def independence_test(
    *variables: Data,
    kernels: Any = None,
    n_permutations: int = 999,
    rng: Any = None,
    null: str | Callable[..., Any] = "auto",
    statistic: str | Statistic | None = None,
    groups: Any = None,
    blocks: Any = None,
    permutations: str = "auto",
    landmarks: int | str | None = "auto",
    regularization: float | None = None,
    stop_after: int | None = None,
    plan: Plan | None = None,
    verbose: bool = False,
) -> TestResult:
    """Test whether two or more variables are independent, by their HSIC.

    Without kernels, three Gaussian kernels of different bandwidths are used for each variable at
    once (:func:`dependence_grid`). P-values from permutations of independent observations are exact
    for any sample size, kernel and statistic: if the variables are independent, P(p <= a) <= a.

    For two variables, the permutations form a *group*, a random conjugate of the cyclic group (and
    of its multiples, if n is small): the statistics of all of them come from Fourier transforms, at
    the cost of a few single statistics. With more than two variables, groups of awkward sizes, and
    statistics other than HSIC, permutations are drawn at random.

    Parameters
    ----------
    *variables : data
        Two or more jointly observed variables: arrays, tables, lists of anything their kernel
        accepts. For more than two, the null hypothesis is that they are *jointly* independent, and
        the statistic is :func:`dhsic`. Two variables may be :class:`~mercer.chunks.Chunks`: kernels
        are then approximated with landmarks, covariances of features are summed in one pass, and
        the null distribution is the asymptotic one.
    kernels : Kernel, str or callable, or list with an entry for each variable; optional
        One kernel for all variables; or for each variable a kernel, a list of kernels to be used at
        once, or None for the default. Parameters such as "median" are resolved on the data of the
        variable they belong to.
    n_permutations : int
        B; the smallest possible p-value is 1 / (B + 1). More permutations are used if they cost
        nothing.
    rng : None, int or Generator
        The source of randomness.
    null : {"auto", "permutation", "spectrum", "gamma", "pearson", "wild"} or callable
        The null distribution. ``"auto"`` permutes; for variables in chunks it is ``"spectrum"``,
        the only choice. All but permutations need two variables and a single kernel for each (for
        chunks also several), and are approximate: at the 5 % level they are valid for samples of
        30. ``"spectrum"`` is the limit sum_ij lambda_i mu_j (z_ij^2 - 1); ``"gamma"`` and
        ``"pearson"`` are fitted to exact moments over all permutations (for kernels so narrow that
        the first two miss the skewness over permutations, permutations are used, and a note says
        so); ``"wild"`` is the wild bootstrap, for series if ``blocks`` is their memory: the number
        of lags after which their autocorrelations are below .05. It keeps the level for series of
        40 times that length, and rejects less often for shorter ones. A user-defined function is
        called as ``null(problem, rng)``, with a :class:`~mercer.stats.problems.Dependence`
        (``problem.K``, ``problem.L``, ``problem.statistic(order)``, ...) and a random generator,
        and returns draws of the statistic under the null hypothesis or a distribution with a method
        ``sf``.
    statistic : {"u", "v", "coco", "kcca", "nocco"} or callable, optional
        The unbiased or the biased estimate of HSIC; ``"v"`` for the nulls "gamma" and "wild" and
        for more than two variables, which need it, ``"u"`` otherwise. Or, for two variables and
        with permutations: the constrained covariance (:func:`coco`), the largest canonical
        correlation (:func:`kernel_canonical_correlation`), the sum of all squared ones
        (:func:`nocco`). The alignment :func:`cka` is ``"v"`` divided by a factor that is invariant
        under permutations. A user-defined function is called as ``statistic(K, L)`` with the kernel
        matrices of two variables, and returns a number that is large if they depend on each other;
        with a single kernel for each, its p-value is exact.
    groups : array of shape (n,), optional
        Labels; observations are permuted within groups only: a test of independence given the
        group.
    blocks : int or array of shape (n,), optional
        The length of blocks of consecutive observations that are permuted as a whole, or labels of
        blocks: for clusters of equal size, where p-values are exact, and for series, where blocks
        must be twice as long as their memory, since neighbouring blocks depend on each other.
    permutations : {"auto", "cyclic", "random"}
        How to permute: with a group, with independent random permutations, or (``"auto"``) with a
        group if there is one.
    landmarks : int, "auto" or None
        Replace kernels by their Nyström approximation from this many observations. By default up to
        200 if the exact computation is long (two variables, from about 20,000 observations on), and
        fewer from 250,000 on, or if the memory of the plan is small.
    regularization : float, optional
        lambda of ``statistic="kcca"`` (by default 0.02), epsilon of ``"nocco"`` (1e-3).
    stop_after : int, optional
        Permute at random, and stop once this many statistics exceed the observed one (one kernel
        per variable only): large p-values are found quickly, with a relative error of about one
        over the square root of this number (``pvalue_interval``).
    plan : Plan, optional
        Memory and threads to use, and how K is stored. Its ``rank`` is the number of landmarks;
        features may take 500 MB if it sets no memory limit.
    verbose : bool
        Show a progress bar.

    Returns
    -------
    TestResult
        With ``statistic`` (HSIC or the requested measure, or the largest score of several kernels),
        ``pvalue``, ``null``, ``kernel``, ``notes`` and ``details``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Categorical, Gaussian, independence_test
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, 200)
    >>> y = np.cos(2 * x) + rng.normal(0, 0.7, 200)
    >>> print(independence_test(x, y, rng=0))
    independence test, largest score of 9 pairs of kernels (999 permutations, a cyclic group)
      statistic 9.033, p-value 0.001 (95 % interval 0 to 0.0037)
      At the 5 % level: evidence against "the variables are independent".
    >>> colour = np.where(y + rng.normal(size=200) > 0, "red", "blue").tolist()
    >>> independence_test(x, colour, kernels=[None, Categorical()], rng=0).pvalue < 0.01
    True
    >>> found = independence_test(x, y, kernels=Gaussian(0.7), statistic="kcca", rng=0)
    >>> round(found.statistic, 2), found.pvalue
    (0.59, 0.001)

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schölkopf & Smola, *A kernel statistical test of independence*,
    NIPS 2007; Pfister, Bühlmann, Schölkopf & Peters, *Kernel-based tests for joint independence*,
    JRSS B 2018; Hemerik & Goeman, *Exact testing with random permutations*, TEST 2018 (groups);
    Chwialkowski, Sejdinovic & Gretton, *A wild bootstrap for degenerate kernel tests*, NIPS 2014.
    """
    rng = as_generator(rng)
    check_count("n_permutations", n_permutations)
    check_count("stop_after", stop_after, also=(None,))
    if any(isinstance(variable, Chunks) for variable in variables):
        plain = (null in ("auto", "spectrum")) and statistic in (None, "u", "v")
        if not plain or any(x is not None for x in (groups, blocks, stop_after, regularization)):
            raise ValueError(
                'variables in chunks are tested by HSIC with null="spectrum": omit null, groups, '
                "blocks, stop_after, regularization and other statistics."
            )
        return chunked_independence(
            variables, kernels, n_permutations, landmarks, statistic == "v", rng, plan
        )
    null = "permutation" if isinstance(null, str) and null == "auto" else null
    joint = Variables(*variables, least=_LEAST)
    name = _checked(joint, null, statistic, n_permutations, permutations)
    penalty = check_regularization(name if isinstance(name, str) else called(name), regularization)
    given = joint.each(kernels)
    several = any(k is None or as_kernels(k) is not None for k in given)
    narrow: tuple[str, ...] = ()
    if null != "permutation" or callable(name):
        shown = f"null={shown_as(null)}"
        if null == "permutation":
            shown = f"statistic={shown_as(name)}"
        if several:
            raise ValueError(
                f"{shown} needs one kernel of each variable, for example "
                f'kernels=Gaussian("median").'
            )
        own = callable(null) or callable(name)
        if own and landmarks not in ("auto", None):
            raise ValueError(f"{shown} works with the kernels themselves: omit landmarks.")
        require_stored(plan, shown, joint.n)
        pairs = zip(joint.kernels(list(given)), joint.data, strict=True)
        kernels = [approximated_by(plan, about_one(k, X, 8), X) for k, X in pairs]
        problem = Dependence(kernels, joint.data, name, n_permutations, blocks)
        if null == "permutation":
            units = exchange(joint.n, groups, blocks)
            return _permuted(problem, units, rng, stop_after, verbose, plan)
        entry = without_permutations.NULLS.get(null) if isinstance(null, str) else None
        series = entry is not None and entry.series
        refuse_permuted(shown, groups, blocks, stop_after, series=series, own=callable(null))
        limit = _without_permutations(problem, null, rng, plan)
        if isinstance(limit, TestResult):
            return limit
        narrow = (limit,)
    candidates = [candidates_of(joint, place, k) for place, k in enumerate(given)]
    if several and stop_after is not None:
        raise ValueError(
            "stop_after needs a single kernel: several kernels are compared on all permutations."
        )
    notes = blind_spots(candidates)
    seen = [
        through_features(kernels_of, X, plan, "forms of dependence")
        for kernels_of, X in zip(candidates, joint.data, strict=True)
    ]
    candidates = [kernels_of for kernels_of, _ in seen]
    narrowed = max(notes_of for _, notes_of in seen)
    landmarks = landmarks_of(plan, landmarks, joint.n)
    rank = rank_of(candidates, joint, landmarks, n_permutations, memory_of(plan or Plan()))
    candidates, approximate = approximated(candidates, joint, rank, rng)
    for kernels_of, X in zip(candidates, joint.data, strict=True):
        require_features(kernels_of, X, plan)
    options: dict[str, Any] = {"rng": rng, "plan": plan, "verbose": verbose}
    units = exchange(joint.n, groups, blocks)
    statistics: PermutedHSIC | PermutedMeasure
    if name in MEASURES:
        options |= {"measure": name, "regularization": penalty, "n_permutations": n_permutations}
        statistics = PermutedMeasure(joint, candidates, units, **options)
    else:
        how = "random" if stop_after is not None else permutations
        data, used = joint, candidates
        if len(joint) == 2 and not several:
            data, used = joint.from_means(candidates)
        statistics = PermutedHSIC(data, used, units, biased=name == "v", how=how, **options)
    details: dict[str, Any] = {}
    if stop_after is not None:
        value = float(statistics.observed()[0])
        tolerance = float(statistics.tolerance[0])
        found = sequential_pvalue(
            value, lambda c: statistics.draw(c)[0], n_permutations, stop_after, tolerance
        )
    else:
        all_values = statistics.values(n_permutations)
        graded = [k is None for k in given]
        value, found, details = judged(
            all_values,
            statistics.tolerance,
            name if name in MEASURES else "hsic",
            statistics.combinations if several else None,
            wider_combinations(statistics.combinations, candidates, graded) if several else None,
        )
    how = statistics.words + (f", features from {rank} landmarks" if rank else "")
    if stop_after is not None and len(found.draws) < n_permutations:
        how += f", stopped after {stop_after} above"
    what = MEASURES.get(name, "HSIC" if len(joint) == 2 else "dHSIC")
    if several:
        count = len(statistics.combinations)
        kind = "pairs" if len(joint) == 2 else "combinations"
        score = f", {what}" if name in MEASURES else ""
        what = f"largest score of {count} {kind} of kernels{score}"
    return resampled(
        value,
        found,
        f"{_test(joint)}, {what} ({len(found.draws)} permutations{how})",
        f"the variables are {'' if len(joint) == 2 else 'jointly '}independent",
        kernel=candidates if several else [kernel for (kernel,) in candidates],
        notes=narrow + notes + narrowed + approximate + statistics.notes,
        details=details,
        computation=f"{statistics.computation}; {threads(plan)}",
    )


def _permuted(
    problem: Dependence,
    units: Units,
    rng: np.random.Generator,
    stop_after: int | None,
    verbose: bool,
    plan: Plan | None,
) -> TestResult:
    """The test with a user-defined statistic."""
    units.check_movable()
    found = permuted(problem, lambda count: units.positions(count, rng), stop_after, verbose)
    return resampled(
        problem.observed,
        found,
        f"independence test, {called(problem.estimator)} ({len(found.draws)} permutations)",
        "the variables are independent",
        kernel=problem.kernels,
        computation=_stored(problem, plan),
    )


def _stored(problem: Dependence, plan: Plan | None) -> str:
    return f"two kernel matrices of {problem.n} samples, stored as arrays; {threads(plan)}"


def _without_permutations(
    problem: Dependence,
    null: str | Callable[..., Any],
    rng: np.random.Generator,
    plan: Plan | None,
) -> TestResult | str:
    """The test with a null distribution other than permutations, or a note why not."""
    kernels, estimator = problem.kernels, problem.estimator
    if isinstance(null, str):
        for place, (kernel, X) in enumerate(zip(kernels, problem.data, strict=True)):
            require_spread(kernel, X, f"variable {place} is", null)
        found = without_permutations.NULLS[null].outcome(problem.from_means(), rng)
    else:
        found = outcome_of(null, problem, rng)
    if not np.isfinite([found.statistic, found.pvalue]).all():
        raise not_finite(" with ".join(map(repr, kernels)))
    if found.strays:
        return too_narrow(" with ".join(map(repr, kernels)), shown_as(null).strip('"'))
    what = called(estimator) if callable(estimator) else f"HSIC ({estimator})"
    return found.result(
        f"independence test, {what}",
        "the variables are independent",
        kernel=kernels,
        notes=() if callable(estimator) else blind_spots([[k] for k in kernels]),
        computation=_stored(problem, plan),
    )


def _checked(
    joint: Variables, null: Any, statistic: Any, n_permutations: int, permutations: str
) -> Any:
    """The statistic of a null, after all names are checked."""
    check_null(null, NULLS)
    check_choice("permutations", permutations, PERMUTATIONS)
    check_count("n_permutations", n_permutations)
    if len(joint) > 2 and null != "permutation":
        raise ValueError(f"null={shown_as(null)} is for two variables, got {len(joint)}.")
    if len(joint) > 2 and callable(statistic):
        raise ValueError(f"statistic={shown_as(statistic)} is for two variables, got {len(joint)}.")
    entry = without_permutations.NULLS.get(null) if isinstance(null, str) else None
    if entry is None and callable(statistic):
        if permutations == "cyclic":
            raise ValueError(f"statistic={shown_as(statistic)} is permuted at random.")
        return statistic
    allowed: tuple[str, ...] = ("u", "v", *MEASURES)
    if len(joint) > 2:
        allowed = ("v",)
    elif null != "permutation":
        allowed = ("u", "v") if entry is None else entry.statistics
    if statistic is not None and statistic not in allowed:
        listed = " or ".join(f'"{name}"' for name in allowed)
        raise ValueError(f"statistic must be {listed} here, got {statistic!r}.")
    if statistic in MEASURES and permutations == "cyclic":
        raise ValueError(f'statistic="{statistic}" is permuted at random; use permutations="auto".')
    return statistic or allowed[0]


def _test(joint: Variables) -> str:
    return "independence test" if len(joint) == 2 else f"joint independence test of {len(joint)}"
