"""Two-sample tests: permuted statistics, exact level, power, invariance, bad input."""

import warnings
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import binom

from mercer import (
    Custom,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Spectrum,
    k_sample_test,
    kernel_grid,
    mmd,
    mmd_multi,
    optimize_kernel,
    two_sample_test,
)
from mercer.stats.aggregate import combine
from mercer.stats.bank import Bank
from mercer.stats.permutations import Units, exchange_samples
from mercer.stats.samples import Samples, relabelled
from mercer.stats.two_sample import NULLS
from mercer.testing import difficult_samples

KERNELS = [
    Gaussian(0.8),
    Gaussian([1.0, 2.0, 3.0]),
    Gaussian(1e4),
    Laplacian(1.5),
    Laplacian(1.5, p=1),
    Matern(2.0),
    RationalQuadratic(),
    Linear(),
    Polynomial(degree=2),
    Polynomial(degree=9),
]


# ---- permuted statistics -------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [(12, 17), (8, 11, 10)])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("unit", ["points", "bins", "blocks"])
def test_one_product_gives_every_permuted_statistic(rng, sizes, biased, unit):
    samples = Samples(*(rng.standard_normal((n, 3)) + 100 for n in sizes))
    bins = np.concatenate([rng.permutation(n) // 3 + 10 * g for g, n in enumerate(sizes)])
    units = {
        "points": exchange_samples(sizes),
        "bins": Units(bins),
        "blocks": exchange_samples(sizes, blocks=2),
    }[unit]
    observed = units.of_units(samples.labels, "blocks")
    labels = np.concatenate([observed[None], units.shuffled(observed, 4, rng)])
    found = relabelled(KERNELS, samples, units, labels, biased=biased).values
    for k, values in zip(KERNELS, found, strict=True):
        direct = []
        for row in labels:
            each = row[units.place]
            groups = [samples.data[each == g] for g in range(len(sizes))]
            direct.append(mmd_multi(groups, k, biased=biased))
        assert values == pytest.approx(direct, abs=1e-5 * np.std(direct), rel=1e-6), k


def test_strings_matrices_and_functions_give_the_same(rng):
    words = ["".join(rng.choice(list("abc"), 12)) for _ in range(20)]
    k = Spectrum(2)
    options = {"n_permutations": 30, "rng": 0}
    wanted = two_sample_test(words[:9], words[9:], k, **options)
    K = k(words)
    others = [
        two_sample_test(K[:9], K[9:], Precomputed(), **options),
        two_sample_test(words[:9], words[9:], Custom(lambda x, y: k([x], [y])[0, 0]), **options),
    ]
    for other in others:
        assert other.null == pytest.approx(wanted.null, rel=1e-5)
        assert other.pvalue == wanted.pvalue
    assert wanted.statistic == pytest.approx(mmd(words[:9], words[9:], k))


def test_threads_and_precision_do_not_matter(rng):
    X, Y = rng.standard_normal((2, 300, 2))
    one = two_sample_test(X, Y, n_permutations=50, rng=0, plan=Plan(workers=1))
    two = two_sample_test(X, Y, n_permutations=50, rng=0, plan=Plan(workers=2))
    assert np.array_equal(one.null, two.null)
    single = two_sample_test(*(Z.astype(np.float32) for Z in (X, Y)), n_permutations=50, rng=0)
    assert single.null == pytest.approx(one.null, abs=1e-3)


def test_statistic_is_mmd(rng):
    X, Y = rng.standard_normal((30, 2)), rng.standard_normal((40, 2)) + 0.3
    k = Gaussian(1.0)
    for name, biased in (("u", False), ("v", True)):
        for options in ({}, {"bins": 20}, {"blocks": 5}, {"stop_after": 5}):
            r = two_sample_test(X, Y, k, statistic=name, n_permutations=40, rng=0, **options)
            assert r.statistic == pytest.approx(mmd(X, Y, k, biased=biased), rel=1e-5)


# ---- level ---------------------------------------------------------------------------------
def rejections(test, draw, level, repetitions):
    return sum(test(*draw(np.random.default_rng(i)), i) <= level for i in range(repetitions))


def in_band(count, repetitions, level, sigmas=3.5):
    """Is a number of rejections what a test of this level would give?"""
    spread = np.sqrt(level * (1 - level) * repetitions)
    return abs(count - level * repetitions) <= sigmas * spread


SOURCES = {
    "normal": lambda r: (r.standard_normal((12, 2)), r.standard_normal((12, 2))),
    "unequal": lambda r: (r.standard_normal((6, 3)), r.standard_normal((25, 3))),
    "discrete": lambda r: (r.integers(0, 3, (14, 2)) * 1.0, r.integers(0, 3, (10, 2)) * 1.0),
    "heavy": lambda r: (r.standard_cauchy((10, 2)), r.standard_cauchy((15, 2))),
}


def one_kernel(X, Y, i):
    return two_sample_test(X, Y, Gaussian("median"), n_permutations=19, rng=i).pvalue


def many_kernels(X, Y, i):
    return two_sample_test(X, Y, n_permutations=19, rng=i).pvalue


@pytest.mark.parametrize("test", [one_kernel, many_kernels])
@pytest.mark.parametrize("source", ["normal", "unequal"])
def test_nineteen_permutations_give_exactly_one_in_twenty(test, source):
    """Under continuity, P(p <= 1/20) is 1/20."""
    assert in_band(rejections(test, SOURCES[source], 0.05, 200), 200, 0.05)


@pytest.mark.parametrize("source", ["discrete", "heavy"])
def test_level_holds_for_ties_and_heavy_tails(source):
    count = rejections(many_kernels, SOURCES[source], 0.05, 100)
    assert count <= binom.ppf(0.9995, 100, 0.05)


def test_the_test_is_exact_over_all_permutations(rng):
    """Averaged over every labelling of eight points, P(p <= a) <= a for the combined statistic."""
    Z, sizes = rng.standard_normal((8, 2)), (4, 4)
    labels = np.array([[int(i not in c) for i in range(8)] for c in combinations(range(8), 4)])
    values, _ = relabelled(kernel_grid(Z), Samples(Z[:4], Z[4:]), exchange_samples(sizes), labels)
    T = combine(values).values
    pvalues = np.array([np.mean(t - 1e-9 <= T) for t in T])
    for level in (0.05, 0.1, 0.5):
        assert np.mean(pvalues <= level) <= level


def strings(r):
    words = ["".join(r.choice(list("acgt"), 8)) for _ in range(24)]
    return words[:9], words[9:]


def word_test(X, Y, i):
    return two_sample_test(X, Y, Spectrum(2), n_permutations=19, rng=i).pvalue


def grouped(X, Y, i):
    """The two groups differ in mean and in share, but not within."""
    r = np.random.default_rng(1000 + i)
    g = np.concatenate([r.random(len(X)) < 0.3, r.random(len(Y)) < 0.7])
    Z = np.vstack([X, Y]) + 3 * g[:, None]
    X, Y = Z[: len(X)], Z[len(X) :]
    return two_sample_test(X, Y, groups=g, n_permutations=19, rng=i).pvalue


def test_permuting_within_groups_keeps_the_level_where_groups_differ():
    assert rejections(grouped, SOURCES["normal"], 0.05, 100) <= binom.ppf(0.9995, 100, 0.05)


def series(r, n=300, memory=0.7):
    e = r.standard_normal((2, n + 50))
    for t in range(1, n + 50):
        e[:, t] = memory * e[:, t - 1] + np.sqrt(1 - memory**2) * e[:, t]
    return e[0, 50:], e[1, 50:]


def test_blocks_keep_the_level_of_series_nearly():
    """Single permutations reject far too often where observations depend on their neighbours."""

    def run(**options):
        def test(X, Y, i):
            k = Gaussian(1.0)
            return two_sample_test(X, Y, k, n_permutations=99, rng=i, **options).pvalue

        return rejections(test, series, 0.05, 60)

    assert run() > 18
    assert run(blocks=30) <= 9
    assert run(null="wild", blocks=15) <= 9


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("null", ["one", "many", "bins", "landmarks", "stop", *NULLS[1:5]])
def test_level_of_every_null(source, null):
    """Of 1000 samples under the hypothesis about 50 are rejected; never many more."""
    options = {
        "one": {"kernel": Gaussian("median")},
        "many": {},
        "bins": {"bins": 10},
        "landmarks": {"kernel": Gaussian("median"), "landmarks": 5},
        "stop": {"kernel": Gaussian("median"), "stop_after": 10},
    }.get(null, {"kernel": Gaussian("median"), "null": null})

    def test(X, Y, i):
        return two_sample_test(X, Y, n_permutations=99, rng=i, **options).pvalue

    count = rejections(test, SOURCES[source], 0.05, 1000)
    exact = null not in NULLS
    assert count <= (75 if exact else 90)
    if source in ("normal", "unequal") and exact:
        assert count >= 30


@pytest.mark.slow
def test_level_of_strings():
    assert rejections(word_test, strings, 0.05, 1000) <= 75


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "least"), [("linear", 33), ("block", 10)])
def test_level_of_the_normal_limit(estimator, least):
    """The mean of few blocks, whose statistics are skewed to the right, is on the safe side."""

    def test(X, Y, i):
        k = Gaussian(1.0)
        return two_sample_test(X, Y, k, null="normal", statistic=estimator, rng=i).pvalue

    count = rejections(test, lambda r: r.standard_normal((2, 400, 1)), 0.05, 1000)
    assert least <= count <= 75


# ---- nulls agree ---------------------------------------------------------------------------
def test_nulls_agree_on_one_sample(rng):
    X, Y = rng.standard_normal((80, 2)), rng.standard_normal((100, 2)) + 0.25
    k = Gaussian(1.0)
    exact = two_sample_test(X, Y, k, n_permutations=4000, rng=0).pvalue
    assert 0.005 < exact < 0.2
    for null in ("spectrum", "gamma", "pearson", "wild"):
        r = two_sample_test(X, Y, k, null=null, n_permutations=2000, rng=0)
        assert r.pvalue == pytest.approx(exact, abs=0.015 + 0.2 * exact), null
        assert (r.null is None) == (null != "wild")
    biased = two_sample_test(X, Y, k, statistic="v", null="pearson")
    assert biased.pvalue == pytest.approx(exact, abs=0.015)


# ---- power ---------------------------------------------------------------------------------
def test_sees_differences_of_any_scale(rng):
    """A fine pattern in a wide distribution, which one kernel of median width does not see."""
    X = np.arange(300) % 10 + 0.1 * rng.standard_normal(300)
    Y = np.arange(300) % 10 + 0.2 * rng.standard_normal(300)
    assert two_sample_test(X, Y, rng=0).pvalue < 0.01
    assert two_sample_test(X, Y, Gaussian("median"), rng=0).pvalue > 0.1
    best = two_sample_test(X, Y, rng=0).details["best"]
    assert float(best.lengthscale) < 0.5
    X, Y = np.tile(X, 2) + 0.05 * rng.standard_normal(600), np.tile(Y, 2)
    assert two_sample_test(X, Y, "optimize", rng=0).pvalue < 0.05


def test_shift_of_a_mean(rng):
    X, Y = rng.standard_normal((2, 100, 5))
    r = two_sample_test(X, Y + 0.4, rng=0)
    assert r.pvalue < 0.01
    assert len(r.details["pvalues"]) == len(r.kernel) == 20


def test_k_samples(rng):
    same = [rng.standard_normal((30, 2)) for _ in range(4)]
    assert k_sample_test(same, rng=1).pvalue > 0.05
    moved = [*same[:3], same[3] + 1]
    r = k_sample_test(moved, Gaussian("median"), rng=0)
    assert r.pvalue == 0.001
    assert r.statistic == pytest.approx(mmd_multi(moved, r.kernel), rel=1e-5)
    two = k_sample_test(same[:2], Gaussian(1.0), rng=0)
    other = two_sample_test(*same[:2], Gaussian(1.0), rng=0)
    assert two.pvalue == other.pvalue


# ---- kernels -------------------------------------------------------------------------------
def test_units_do_not_matter(rng):
    X, Y = rng.standard_normal((40, 3)), rng.standard_normal((50, 3)) + 0.3
    wanted = two_sample_test(X, Y, rng=0, n_permutations=199)
    for units in (1e-3, 1e3, np.array([1e-3, 1.0, 1e3])):
        found = two_sample_test(X * units, Y * units, rng=0, n_permutations=199)
        assert found.pvalue == wanted.pvalue
        assert found.statistic == pytest.approx(wanted.statistic, rel=1e-3)
    shifted = two_sample_test(X + 1e4, Y + 1e4, Linear(), rng=0, n_permutations=99)
    assert shifted.null == pytest.approx(
        two_sample_test(X, Y, Linear(), rng=0, n_permutations=99).null, rel=1e-6
    )


def test_grid_spans_the_distances(rng):
    Z = rng.standard_normal((60, 2)) * [1.0, 50.0]
    kernels = kernel_grid(Z, 4)
    assert len(kernels) == 8
    assert np.ptp([k.lengthscale[1] / k.lengthscale[0] for k in kernels]) < 1e-9
    assert len(Bank(kernels, Z).families) == 2  # two distances are computed for all of them
    raw = kernel_grid(Z, 4, standardize=False)
    assert all(np.ndim(k.lengthscale) == 0 for k in raw)
    constant = kernel_grid(np.zeros((5, 2)), 2)
    assert all(np.all(np.isfinite(k.lengthscale)) for k in constant)
    with pytest.raises(ValueError, match="n_bandwidths"):
        kernel_grid(Z, 0)


def test_sparse_vectors_and_tables(rng):
    X, Y = rng.poisson(0.3, (40, 30)) * 1.0, rng.poisson(0.5, (50, 30)) * 1.0
    r = two_sample_test(sp.csr_matrix(X), sp.csr_matrix(Y), n_permutations=99, rng=0)
    dense = two_sample_test(X, Y, kernel_grid(np.vstack([X, Y]), standardize=False), rng=0)
    assert r.pvalue == 0.01
    assert dense.pvalue == 0.001
    pd = pytest.importorskip("pandas")
    A, B = (pd.DataFrame(Z[:, :3], columns=list("abc")) for Z in (X, Y))
    frame = two_sample_test(A, B, n_permutations=99, rng=0)
    assert frame.pvalue == two_sample_test(X[:, :3], Y[:, :3], n_permutations=99, rng=0).pvalue


def test_optimal_kernel_is_of_the_scale_of_the_difference(rng):
    X = rng.integers(0, 10, 400) + 0.05 * rng.standard_normal(400)
    Y = rng.integers(0, 10, 400) + 0.15 * rng.standard_normal(400)
    candidates = [Gaussian(s) for s in (0.001, 0.1, 10.0)]
    assert optimize_kernel(X, Y, candidates, tune=False, rng=0) == Gaussian(0.1)
    assert 0.02 < optimize_kernel(X, Y, candidates, rng=0).lengthscale < 0.3


def test_what_a_kernel_cannot_see_is_said(rng):
    X, Y = rng.standard_normal((2, 30, 2))

    def note(k):
        return " ".join(two_sample_test(X, Y, k, n_permutations=9, rng=0).notes)

    assert note(Linear()) == "Linear() sees differences of means only."
    assert "moments up to order 3 only" in note(Polynomial(degree=3))
    assert "not characteristic" in note(2 * Linear())
    assert "may be missed" in note(np.dot)
    assert note(Gaussian()) == note([Linear(), Gaussian()]) == note(None) == ""
    assert "none of the kernels is" in note([Linear(), Polynomial(degree=2)])


# ---- large samples -------------------------------------------------------------------------
def test_bins_and_landmarks_see_what_points_see(rng):
    X, Y = rng.standard_normal((400, 2)), rng.standard_normal((500, 2)) + [0.25, 0]
    assert two_sample_test(X, Y, bins=60, rng=0).pvalue < 0.02
    r = two_sample_test(X, Y, landmarks=40, bins=60, rng=0)
    assert r.pvalue < 0.02
    assert "40 landmarks" in r.notes[0]


def test_bins_appear_when_the_work_is_large(rng):
    X, Y = rng.standard_normal((2, 1500, 1))
    r = two_sample_test(X, Y, [Gaussian(0.1), Gaussian(1.0)], n_permutations=9999, rng=0)
    assert "500" in r.method
    assert len(r.null) == 9999


# ---- the result ----------------------------------------------------------------------------
def test_result_unpacks_and_reads(rng):
    X, Y = rng.standard_normal((2, 40, 2))
    r = two_sample_test(X, Y + 2, Gaussian("median"), n_permutations=99, rng=0)
    statistic, pvalue = r
    assert (statistic, pvalue) == (r.statistic, r.pvalue)
    assert pvalue == 0.01
    assert r.pvalue_interval[0] == 0
    assert r.null.shape == (99,)
    assert "evidence against" in str(r)
    assert isinstance(r.kernel.lengthscale, float)
    assert two_sample_test(X, Y + 2, Gaussian("median"), n_permutations=99, rng=0).pvalue == pvalue


def test_early_stop(rng):
    X, Y = rng.standard_normal((2, 40, 2))
    r = two_sample_test(X, Y, Gaussian(), n_permutations=10_000, stop_after=20, rng=0)
    assert r.n_permutations < 1000
    low, high = r.pvalue_interval
    assert low < r.pvalue < high


def test_bad_input(rng):
    X = rng.standard_normal((10, 2))
    with pytest.raises(ValueError, match="null must be one of"):
        two_sample_test(X, X, null="bayes")
    with pytest.raises(ValueError, match="n_permutations"):
        two_sample_test(X, X, n_permutations=0)
    with pytest.raises(ValueError, match="needs one kernel"):
        two_sample_test(X, X, null="gamma")
    with pytest.raises(ValueError, match='about statistic="v"'):
        two_sample_test(X, X, Gaussian(), null="gamma", statistic="u")
    with pytest.raises(ValueError, match="uses none"):
        two_sample_test(X, X, Gaussian(), null="gamma", groups=np.zeros(20))
    with pytest.raises(ValueError, match="shape \\(20,\\)"):
        two_sample_test(X, X, groups=np.zeros(3))
    with pytest.raises(ValueError, match="at least 2"):
        two_sample_test(X, X[:1])
    with pytest.raises(ValueError, match="same number of features"):
        two_sample_test(X, X[:, :1])
    with pytest.raises(ValueError, match="NaN"):
        two_sample_test(X, np.full((4, 2), np.nan))
    with pytest.raises(ValueError, match="pass a kernel"):
        two_sample_test(["a", "b"], ["c", "d"])
    with pytest.raises(ValueError, match="empty list"):
        two_sample_test(X, X, [])
    with pytest.raises(ValueError, match="stop_after needs a single kernel"):
        two_sample_test(X, X, stop_after=5)
    with pytest.raises(ValueError, match="bins must be"):
        two_sample_test(X, X, bins="many")
    with pytest.raises(ValueError, match="use only one of them"):
        two_sample_test(X, X, bins=5, blocks=2)
    with pytest.raises(ValueError, match="landmarks must be"):
        two_sample_test(X, X, landmarks=0)
    with pytest.raises(ValueError, match="does not support groups or blocks"):
        two_sample_test(X, X, "optimize", groups=np.zeros(20))
    with pytest.raises(ValueError, match="at least two samples"):
        k_sample_test([X])
    with pytest.raises(ValueError, match="kernel must be a mercer kernel"):
        two_sample_test(X, X, "gauss")


def test_one_clear_difference_does_not_set_the_scale_of_the_scores(rng):
    """Its statistic would make mean, spread and skewness its own if it counted for them."""
    T = rng.chisquare(3, (2, 500))
    T[0, 7] = 1000.0
    scores = combine(T).scores
    others = np.delete(scores, 7, axis=1)
    assert np.abs(others.mean(axis=1)).max() < 0.1
    assert others.std(axis=1) == pytest.approx(1, abs=0.1)
    assert scores[0, 7] > 10
    order = rng.permutation(500)
    np.testing.assert_allclose(combine(T[:, order]).scores, scores[:, order])


@pytest.mark.parametrize(
    "kernel",
    [None, [Gaussian(1.0), Matern(1.0), Laplacian(1.0)]],
    ids=["default", "several"],
)
def test_no_warnings_of_numpy_on_difficult_samples(kernel):
    """Distances that overflow in single precision are as far as can be, and nothing else."""
    labels = np.arange(40) % 2 == 0
    for name, Z in difficult_samples(n=40).items():
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            result = two_sample_test(Z[labels], Z[~labels], kernel, n_permutations=19, rng=0)
        assert 0 < result.pvalue <= 1, name


def test_groups_out_of_reach_of_single_precision_are_found():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2))
    Y[:, 0] += 1e30
    for kernel in (Matern(1.0), Gaussian(1.0), Laplacian(1.0)):
        far = two_sample_test(X, Y, kernel, n_permutations=99, rng=0)
        near = two_sample_test(X, np.where(Y > 1e9, 1e9, Y), kernel, n_permutations=99, rng=0)
        assert far.pvalue == near.pvalue == 0.01


def test_samples_that_are_not_in_a_list_are_refused_in_words(rng):
    with pytest.raises(ValueError, match="pass the samples as one list"):
        k_sample_test(rng.standard_normal((9, 2)), rng.standard_normal((9, 2)))
