"""Are two variables independent given a third? Tests of what regressions on it leave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..checks import check_choice, check_count, check_positive
from ..data import Data
from ..engine.lapack import lapack
from ..engine.memory import require_memory
from ..gram.plan import Plan
from ..gram.tiles import one_blas_thread
from ..kernels.vectors.radial import Gaussian
from ..randomness import as_generator
from .aggregate import as_kernels, combine
from .conditional_cells import cells, is_discrete, pooled_and_apart, values_of, within
from .conditional_regression import PENALTIES, Condition
from .conditional_residuals import Left
from .independence import independence_test
from .independence_kernels import blind_spots
from .mixtures import ChiSquareMixture
from .nulls import gamma_null, permutation_pvalue, wild_signs
from .planned import planned, require_stored, threads
from .result import TestResult
from .variables import Variables

NULLS = ("auto", "wild", "gamma", "spectrum", "local", "permutation")
_LEAST = 20  # observations: regressions on fewer say nothing
_MATRICES = 16  # of size n x n at the same time, of many observations
_ALONE = 0.2  # share of observations that nothing can be exchanged with, worth a note
_STEP = 0.3  # taken from a score for a Gaussian kernel of residuals, and for a function of Z
_SKEWED = 0.3  # skewness of a sum of products above which random signs do not have its tails
_LOPSIDED = (
    "the residuals of X and Y have a few large values of one sign, as for indicators of rare "
    "events: permutations among neighbours in Z were used instead of random signs."
)
_HYPOTHESIS = "the first two variables are independent given the third"


@planned
def conditional_independence_test(
    X: Data,
    Y: Data,
    Z: Data,
    *,
    kernels: Any = None,
    null: str = "auto",
    n_permutations: int = 999,
    rng: Any = None,
    regularization: float | None = None,
    plan: Plan | None = None,
) -> TestResult:
    r"""Test whether X and Y are independent given Z.

    If every value of Z occurs often, X is permuted among observations of the same Z, and the
    p-value is *exact*. Otherwise the test uses the residuals of kernel regressions of X and Y on Z:

    .. math:: T = \sum_{ij} M_{ij} \langle r_i, r_j \rangle \langle s_i, s_j \rangle

    with the residuals r of features of X, s of Y, and M a kernel of Z or 1: the squared norm of the
    sum of all products of a function of r, one of s, and one of z. For numbers, features are the
    residuals themselves (the generalised covariance measure) and those of a Gaussian kernel on
    them; the test uses the largest of the four scores, with 0.3 subtracted for the Gaussian kernel,
    and for a kernel on Z, since dependence in the mean is the most common kind. Random signs for
    the terms of each observation (the wild bootstrap) give the null distribution.

    Residuals are those of left-out observations; kernels, penalties and jumps are learned for each
    output (:class:`mercer.stats.conditional_regression.Condition`). They are not quite independent,
    and T is divided by the factor by which this multiplies its expectation.

    Parameters
    ----------
    X, Y, Z : data
        The variables, observed jointly.
    kernels : list of three kernels, optional
        For X, Y and Z; None, or an entry None, for numbers. For Z a list of kernels may be given,
        to choose from.
    null : {"auto", "wild", "gamma", "spectrum", "local", "permutation"}
        The null distribution. ``"permutation"`` permutes among observations with the same Z,
        ``"local"`` permutes residuals (of discrete variables, these themselves) among 8 to 15
        neighbours in Z. ``"gamma"`` and ``"spectrum"`` are the limit of the wild bootstrap for the
        mean of all statistics, by its moments or exactly. ``"auto"`` is ``"permutation"`` if each
        value of Z occurs five times on average, ``"local"`` if the residuals of X and Y are too
        skewed for random signs (two rare events), otherwise ``"wild"``.
    n_permutations : int
        Permutations, or draws of signs.
    rng : None, int or Generator
        The source of randomness.
    regularization : float, optional
        The penalty of all regressions, with kernels of size 1. By default it is learned.
    plan : Plan, optional
        Memory and threads to use, and how K is stored. Residuals need sixteen n x n matrices; there
        is a choice only if X is permuted among observations with the same Z.

    Returns
    -------
    TestResult
        With ``details["r2"]``, the share of the variance of X and Y that regressions on Z predict,
        ``details["regressions"]``, their kernels and penalties, and a note if residuals still
        depend on Z.

    Notes
    -----
    No test of conditional independence given a continuous Z has both a valid level and power
    without assumptions on how X and Y depend on Z (Shah & Peters). The assumption here is that the
    regressions can be learned: the product of their errors must be small compared with the noise,
    divided by the square root of n. A function of Z that oscillates faster than the spacing of the
    observations looks like noise to any test. Only a discrete Z has exact p-values.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import conditional_independence_test, independence_test
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=200)
    >>> x, y = np.sin(2 * z) + 0.1 * rng.normal(size=200), z**2 + 0.1 * rng.normal(size=200)
    >>> independence_test(x, y, rng=0).pvalue < 0.01
    True
    >>> conditional_independence_test(x, y, z, rng=0).pvalue > 0.05
    True
    >>> conditional_independence_test(x, y + 0.5 * x, z, rng=0).pvalue < 0.01
    True

    References
    ----------
    Zhang, Peters, Janzing & Schölkopf, *Kernel-based conditional independence test and application
    in causal discovery*, UAI 2011; Shah & Peters, *The hardness of conditional independence testing
    and the generalised covariance measure*, Annals of Statistics 2020; Scheidegger, Hörrmann &
    Bühlmann, *The weighted generalised covariance measure*, JMLR 2022; Kim, Neykov, Balakrishnan &
    Wasserman, *Local permutation tests for conditional independence*, Annals of Statistics 2022.
    """
    check_choice("null", null, NULLS)
    if regularization is not None:
        check_positive("regularization", regularization)
    check_count("n_permutations", n_permutations)
    rng = as_generator(rng)
    joint = Variables(X, Y, Z, least=_LEAST)
    X, Y, Z = joint.data
    kernel = [
        given if given is None else joint.kernel(place, given)
        for place, given in enumerate(joint.each(kernels)[:2])
    ]
    labels = values_of(Z) if null in ("auto", "permutation") else None
    if null == "permutation" and (labels is None or len(np.unique(labels)) == joint.n):
        raise ValueError(
            'null="permutation" exchanges observations with the same Z, but no two have the '
            'same; use null="wild" or "local".'
        )
    if labels is not None and (null == "permutation" or is_discrete(labels)):
        return _permuted(joint, kernel, labels, n_permutations, rng, plan)
    require_matrices(plan, joint.n)
    among = joint.each(kernels)[2]
    if among is not None:
        among = [joint.kernel(2, k) for k in as_kernels(among) or [among]]
    given = Condition(Z, among, PENALTIES if regularization is None else regularization)
    left = [Left(V, given, k) for V, k in zip((X, Y), kernel, strict=True)]
    return of_residuals(joint, kernel, given, left, null, n_permutations, rng, plan)


def require_matrices(plan: Plan | None, n: int) -> None:
    """Refuse plans that residuals cannot keep to."""
    what = "a test of conditional independence by residuals"
    if plan is not None and (plan.few is not None or plan.storage == "lowrank"):
        raise ValueError(
            f"{what} stores whole matrices, and chooses the features of its regressions itself; "
            "use a plan without rank or features."
        )
    require_stored(plan, what, n)
    require_memory(_MATRICES * 8 * n**2, what)


def of_residuals(
    joint: Variables,
    kernel: list[Any],
    given: Condition,
    left: list[Left],
    null: str,
    n_permutations: int,
    rng: np.random.Generator,
    plan: Plan | None,
) -> TestResult:
    """The test, once it is known what Z leaves of X and Y."""
    notes = blind_spots([[Gaussian(1.0) if k is None else k] for k in kernel])
    for name, part in zip("XY", left, strict=True):
        if part.nothing:
            why = "is constant" if part.constant else "is a function of Z, up to 1e-4 of it"
            return _nothing(f"{name} {why}, so no dependence can be detected.", left)
    doubts = sum((part.doubts(name) for name, part in zip("XY", left, strict=True)), ())
    if null == "auto" and _lopsided(joint, left):
        null, doubts = "local", (*doubts, _LOPSIDED)
    if null == "local":
        found = _local(joint, kernel, given, left, n_permutations, rng, plan)
    else:
        found = _residual(given, left, null, notes, n_permutations, rng)
    stored = f"matrices of {joint.n} x {joint.n} values, stored; {threads(plan)}"
    found = replace(found, computation=found.computation or stored)
    return replace(found, notes=doubts + found.notes)


def _lopsided(joint: Variables, left: list[Left]) -> bool:
    """Is a sum of products too skewed for random signs, and can neighbours be exchanged instead?

    The skewness of a product is the product of those of its factors, and that of a sum of n terms
    is smaller by the root of n.
    """
    for part, data in zip(left, joint.data, strict=False):
        if part.columns is None and not is_discrete(values_of(data)):
            return False  # data themselves would be permuted, which depend on Z more than residuals
    size = left[0].skewness * left[1].skewness
    return size > _SKEWED * float(np.sqrt(joint.n))


def _residual(
    given: Condition,
    left: list[Left],
    null: str,
    notes: tuple[str, ...],
    n_draws: int,
    rng: np.random.Generator,
) -> TestResult:
    """The statistics of all views, and their null distribution by signs or by its limit."""
    statistics = products(given, *left)
    complexity = [sum(divmod(place, 2)) for place in range(len(statistics))]
    observed = np.array([value for _, value in statistics.values()])
    if not np.all(np.isfinite(observed)):
        raise ValueError(
            "the statistic is not finite: the values of a variable or of its kernel are too "
            "large; divide them by their spread."
        )
    details = _details(left)
    details["statistics"] = dict(zip(statistics, observed.tolist(), strict=True))
    about: dict[str, Any] = {"hypothesis": _HYPOTHESIS, "notes": notes, "details": details}
    title = "conditional independence test, residuals of learned regressions"
    if null in ("auto", "wild"):
        signs = wild_signs(given.n, n_draws, rng)
        draws = [np.einsum("ib,ib->b", signs, W @ signs) for W, _ in statistics.values()]
        values = np.column_stack([observed, draws])
        details["pvalues"] = {
            name: permutation_pvalue(row[0], row[1:]).pvalue
            for name, row in zip(statistics, values, strict=True)
        }
        combined = combine(values, less=[_STEP * steps for steps in complexity]).values
        found = permutation_pvalue(combined[0], combined[1:])
        return TestResult(
            float(combined[0]),
            found.pvalue,
            f"{title}, largest of {len(observed)} scores ({n_draws} draws of signs)",
            null=found.draws,
            n_permutations=n_draws,
            pvalue_interval=found.interval,
            **about,
        )
    mean = sum(W for W, _ in statistics.values()) / len(statistics)
    value = float(observed.mean())
    if null == "gamma":
        distribution: Any = gamma_null(float(np.trace(mean)), 2 * float(np.vdot(mean, mean)))
        how = "a gamma distribution"
    else:
        with one_blas_thread():
            values = lapack(given.n, np.linalg.eigvalsh, mean)
            distribution = ChiSquareMixture(np.maximum(values, 0))
        how = "a sum of chi-square variables"
    title += f", mean of {len(observed)} statistics; p-value from {how}"
    p = float(distribution.sf(value))
    return TestResult(value, p, title, distribution=distribution, **about)


def products(given: Condition, left: Left, right: Left) -> dict[str, tuple[np.ndarray, float]]:
    """By name, matrices W of trace 1 and the statistics: sums over W, divided by their inflation.

    The first view of both variables comes first, each without and with a kernel of Z.

    The inflation is what the sum is expected to be if all that is left is noise, and signs have
    the expectation 1.
    """
    views = [list(part.views.items()) for part in (left, right)]
    size = max(map(len, views))
    first, second = (v * (size // len(v)) for v in views)
    out = {}
    for (a, A), (b, B) in zip(first, second, strict=True):
        W, expected = A.gram * B.gram, A.expected * B.expected
        for M, how in ((None, ""), (given.weights, ", by Z")):
            V, E = (W, expected) if M is None else (W * M, expected * M)
            V = V / np.trace(V)
            inflation = max(1.0, float(np.sum(E) / np.trace(E)))
            out[f"{a} x {b}{how}"] = V, float(np.sum(V)) / inflation
    return out


def _local(
    joint: Variables,
    kernel: list[Any],
    given: Condition,
    left: list[Left],
    n_permutations: int,
    rng: np.random.Generator,
    plan: Plan | None,
) -> TestResult:
    """Residuals, or data with their own kernel, permuted among neighbours in Z.

    Residuals of a discrete variable reveal z, so the variable itself is permuted.
    """
    labels = cells(given)
    data: list[Any] = list(joint.data[:2])
    for place, part in enumerate(left):
        if part.columns is not None:
            apart = within(part.raw, labels)
            discrete = [is_discrete(values_of(column)) for column in part.raw.T]
            data[place] = np.where(discrete, apart, part.columns)
    how = "residuals permuted among neighbours"
    return _exchanged(data, kernel, labels, n_permutations, rng, how, (), _details(left), plan)


def _permuted(
    joint: Variables,
    kernel: list[Any],
    labels: np.ndarray,
    n_permutations: int,
    rng: np.random.Generator,
    plan: Plan | None,
) -> TestResult:
    """Observations permuted within values of Z: exact."""
    data: list[Any] = list(joint.data[:2])
    for place, k in enumerate(kernel):
        if k is None:
            data[place] = within(data[place], labels)
            if not data[place].any():
                why = f"{'XY'[place]} is a function of Z, so no dependence can be detected."
                return _nothing(why, [])
    alone = np.mean(np.bincount(labels)[labels] == 1)
    notes: tuple[str, ...] = ()
    if alone > _ALONE:
        notes = (f"{alone:.0%} of the observations have a unique Z and are not permuted.",)
    size = int(labels.max()) + 1
    how = f"exact, within {size} values of Z" if size > 1 else "exact, Z is constant"
    return _exchanged(data, kernel, labels, n_permutations, rng, how, notes, {}, plan)


def _exchanged(
    data: list[Any],
    kernel: list[Any],
    labels: np.ndarray,
    n_permutations: int,
    rng: np.random.Generator,
    how: str,
    notes: tuple[str, ...],
    details: dict[str, Any],
    plan: Plan | None,
) -> TestResult:
    """The test of independence by permutations within cells, with kernels for each cell too."""
    kernels = list(kernel)
    for place in (0, 1):
        if kernels[place] is None:
            data[place], kernels[place] = pooled_and_apart(data[place], labels, apart=place == 0)
    found = independence_test(
        *data, kernels=kernels, groups=labels, n_permutations=n_permutations, rng=rng, plan=plan
    )
    return replace(
        found,
        method=f"conditional independence test, {how} ({found.n_permutations} permutations)",
        hypothesis=_HYPOTHESIS,
        notes=notes + found.notes,
        details=details | found.details,
    )


def _nothing(why: str, left: list[Left]) -> TestResult:
    title = "conditional independence test"
    return TestResult(0.0, 1.0, title, _HYPOTHESIS, notes=(why,), details=_details(left))


def _details(left: list[Left]) -> dict[str, Any]:
    names = "XY"[: len(left)]
    return {
        "r2": {name: part.r2 for name, part in zip(names, left, strict=True)},
        "regressions": {name: part.regressions for name, part in zip(names, left, strict=True)},
    }
