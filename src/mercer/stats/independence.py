"""Are variables independent? Tests by HSIC, and by other norms of the cross-covariance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data import Data
from ..gram.plan import Plan
from . import independence_nulls as without_permutations
from .aggregate import as_kernels, combine
from .bank import not_finite
from .independence_grid import wider_combinations
from .independence_kernels import approximated, blind_spots, candidates_of, rank_of
from .independence_measures import MEASURES, PermutedMeasure, check_regularization
from .independence_permutations import PermutedHSIC, memory_of
from .nulls import counted_pvalue, exceeds, permutation_pvalue, sequential_pvalue
from .permutations import exchange
from .result import TestResult
from .two_sample_nulls import too_narrow
from .variables import Variables, require_spread

NULLS = ("permutation", "spectrum", "gamma", "pearson", "wild")
PERMUTATIONS = ("auto", "cyclic", "random")
_LEAST = 6  # observations


def independence_test(
    *variables: Data,
    kernels: Any = None,
    n_permutations: int = 999,
    rng: Any = None,
    null: str = "permutation",
    statistic: str | None = None,
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

    Two variables are permuted by the elements of a *group*, a random conjugate of the cyclic one
    (and of its multiples, if n is small): the statistics of all of them come from Fourier
    transforms, at the price of a few single ones. More than two variables, groups of awkward
    sizes, and statistics other than HSIC are permuted at random.

    Parameters
    ----------
    *variables : data
        Two or more variables, observed together: arrays, tables, lists of anything their kernel
        understands. For more than two the hypothesis is that they are *jointly* independent, and
        the statistic is :func:`dhsic`.
    kernels : Kernel, str or callable, or list with an entry for each variable; optional
        One kernel for all variables; or for each one its kernel, a list of kernels to be used at
        once, or None for the default. Parameters such as "median" are resolved on the data of the
        variable they belong to.
    n_permutations : int
        B; the smallest possible p-value is 1 / (B + 1). More are used where they come for free.
    rng : None, int or Generator
        The source of randomness.
    null : {"permutation", "spectrum", "gamma", "pearson", "wild"}
        Where the p-value comes from; all but the first need two variables and one kernel of each,
        and are approximate: at the 5 % level they hold for samples of 30. ``"spectrum"`` is the
        limit sum_ij lambda_i mu_j (z_ij^2 - 1); ``"gamma"`` and ``"pearson"`` are fitted to exact
        moments over all permutations (of kernels so narrow that the first two lack the skewness
        over permutations, these are used, and a note says so); ``"wild"`` is the wild
        bootstrap, for series if ``blocks`` is their memory: the number of lags after which their
        autocorrelations are below .05. It holds the level of series of 40 times that length, and
        rejects less often in shorter ones.
    statistic : {"u", "v", "coco", "kcca", "nocco"}, optional
        The unbiased or the biased estimate of HSIC; ``"v"`` for the nulls "gamma" and "wild" and
        for more than two variables, which need it, ``"u"`` otherwise. Or, of two variables and with
        permutations: the constrained covariance (:func:`coco`), the largest canonical correlation
        (:func:`kernel_canonical_correlation`), the sum of all squared ones (:func:`nocco`). The
        alignment :func:`cka` is ``"v"`` divided by what no permutation changes.
    groups : array of shape (n,), optional
        Labels; observations are permuted within groups only: a test of independence given the
        group.
    blocks : int or array of shape (n,), optional
        The length of blocks of consecutive observations that are permuted as a whole, or labels of
        blocks: for clusters of equal size, where p-values are exact, and for series, where blocks
        have to be twice as long as their memory, since neighbouring ones depend on each other.
    permutations : {"auto", "cyclic", "random"}
        How to permute: a group, independent random permutations, or a group where there is one.
    landmarks : int, "auto" or None
        Replace kernels by their Nyström approximation from this many observations. By default up
        to 200 where the exact computation is long (two variables, from about 20,000 observations
        on), fewer from 250,000 on, or where the memory of the plan is small.
    regularization : float, optional
        lambda of ``statistic="kcca"`` (by default 0.02), epsilon of ``"nocco"`` (1e-3).
    stop_after : int, optional
        Permute at random, and stop once this many statistics exceed the observed one (one kernel
        per variable only): large p-values are found quickly, with a relative error of about one
        over the root of this number (``pvalue_interval``).
    plan : Plan, optional
        Its number of threads and its memory are used (500 MB for features, if it names none).
    verbose : bool
        Show a progress bar.

    Returns
    -------
    TestResult
        With ``statistic`` (HSIC or the measure asked for; of several kernels the largest of their
        scores), ``pvalue``, ``null``, ``kernel``, ``notes`` and ``details``.

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
    rng = np.random.default_rng(rng)
    joint = Variables(*variables, least=_LEAST)
    name = _checked(joint, null, statistic, n_permutations, permutations)
    penalty = check_regularization(name, regularization)
    given = joint.each(kernels)
    several = any(k is None or as_kernels(k) is not None for k in given)
    narrow: tuple[str, ...] = ()
    if null != "permutation":
        if several:
            raise ValueError(
                f'null="{null}" needs one kernel of each variable, for example '
                f'kernels=Gaussian("median").'
            )
        if groups is not None or (blocks is not None and null != "wild"):
            raise ValueError(f'groups and blocks are permuted; null="{null}" permutes nothing.')
        limit = _without_permutations(joint, given, null, name, n_permutations, rng, blocks)
        if isinstance(limit, TestResult):
            return limit
        narrow = (limit,)
    candidates = [candidates_of(joint, place, k) for place, k in enumerate(given)]
    if several and stop_after is not None:
        raise ValueError("stop_after needs one kernel: several are compared on all permutations.")
    notes = blind_spots(candidates)
    rank = rank_of(candidates, joint, landmarks, n_permutations, memory_of(plan or Plan()))
    candidates, approximate = approximated(candidates, joint, rank, rng)
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
        tolerances = statistics.tolerance
        if not several:
            value = float(all_values[0, 0])
            found = permutation_pvalue(value, all_values[0, 1:], float(tolerances[0]))
        else:
            graded = [k is None for k in given]
            wider = wider_combinations(statistics.combinations, candidates, graded)
            combined = combine(all_values, wider, tolerances)
            value = float(combined.values[0])
            found = counted_pvalue(combined.exceeding, combined.values[1:])
            rows = zip(all_values, tolerances, strict=True)
            counts = [exceeds(float(row[0]), row[1:], float(tol)).sum() for row, tol in rows]
            best = statistics.combinations[int(np.argmax(combined.scores[:, 0]))]
            details = {
                name if name in MEASURES else "hsic": all_values[:, 0],
                "scores": combined.scores[:, 0],
                "pvalues": (1 + np.array(counts)) / all_values.shape[1],
                "best": tuple(best),
            }
    how = statistics.words + (f", features from {rank} landmarks" if rank else "")
    if stop_after is not None and len(found.draws) < n_permutations:
        how += f", stopped after {stop_after} above"
    what = MEASURES.get(name, "HSIC" if len(joint) == 2 else "dHSIC")
    if several:
        count = len(statistics.combinations)
        kind = "pairs" if len(joint) == 2 else "combinations"
        score = f", {what}" if name in MEASURES else ""
        what = f"largest score of {count} {kind} of kernels{score}"
    return TestResult(
        statistic=value,
        pvalue=found.pvalue,
        method=f"{_test(joint)}, {what} ({len(found.draws)} permutations{how})",
        hypothesis=_hypothesis(joint),
        null=found.draws,
        n_permutations=len(found.draws),
        pvalue_interval=found.interval,
        kernel=candidates if several else [kernel for (kernel,) in candidates],
        notes=narrow + notes + approximate + statistics.notes,
        details=details,
    )


def _without_permutations(
    joint: Variables,
    given: Sequence[Any],
    null: str,
    name: str,
    n_draws: int,
    rng: np.random.Generator,
    memory: Any,
) -> TestResult | str:
    """The test with a distribution other than that of permutations; a note where it strays."""
    kernels = joint.kernels(list(given))
    for place, (kernel, X) in enumerate(zip(kernels, joint.data, strict=True)):
        require_spread(kernel, X, f"variable {place} is", null)
    pair = without_permutations.Pair(kernels, joint.data)
    if null == "spectrum":
        found = without_permutations.spectrum(pair, name == "v", rng)
    elif null == "gamma":
        found = without_permutations.gamma(pair)
    elif null == "pearson":
        found = without_permutations.pearson(pair, name == "v")
    else:
        found = without_permutations.wild(pair, n_draws, rng, memory)
    if not np.isfinite([found.statistic, found.pvalue]).all():
        raise not_finite(" with ".join(map(repr, kernels)))
    if found.strays:
        return too_narrow(" with ".join(map(repr, kernels)), null)
    return TestResult(
        statistic=found.statistic,
        pvalue=found.pvalue,
        method=f"{_test(joint)}, HSIC ({name}); p-value from {found.how}",
        hypothesis=_hypothesis(joint),
        null=found.null,
        distribution=found.distribution,
        n_permutations=0 if found.null is None else len(found.null),
        pvalue_interval=found.interval,
        kernel=kernels,
        notes=blind_spots([[k] for k in kernels]),
    )


def _checked(
    joint: Variables, null: str, statistic: str | None, n_permutations: int, permutations: str
) -> str:
    """The statistic of a null, after all names are checked."""
    for parameter, value, known in (
        ("null", null, NULLS),
        ("permutations", permutations, PERMUTATIONS),
    ):
        if value not in known:
            listed = ", ".join(map(repr, known))
            raise ValueError(f"{parameter} must be one of {listed}, got {value!r}.")
    if isinstance(n_permutations, bool) or int(n_permutations) != n_permutations:
        raise ValueError(f"n_permutations must be an integer, got {n_permutations!r}.")
    if n_permutations < 1:
        raise ValueError(f"n_permutations must be at least 1, got {n_permutations!r}.")
    if len(joint) > 2 and null != "permutation":
        raise ValueError(f'null="{null}" is for two variables, got {len(joint)}.')
    allowed: tuple[str, ...] = ("u", "v", *MEASURES)
    if len(joint) > 2 or null in ("gamma", "wild"):
        allowed = ("v",)
    elif null != "permutation":
        allowed = ("u", "v")
    if statistic is not None and statistic not in allowed:
        listed = " or ".join(f'"{name}"' for name in allowed)
        raise ValueError(f"statistic must be {listed} here, got {statistic!r}.")
    if statistic in MEASURES and permutations == "cyclic":
        raise ValueError(f'statistic="{statistic}" is permuted at random; use permutations="auto".')
    return statistic or allowed[0]


def _test(joint: Variables) -> str:
    return "independence test" if len(joint) == 2 else f"joint independence test of {len(joint)}"


def _hypothesis(joint: Variables) -> str:
    return f"the variables are {'' if len(joint) == 2 else 'jointly '}independent"
