"""Tests of independence: statistics, exactness, power, and what they refuse."""

import numpy as np
import pytest

from mercer import (
    Categorical,
    Distance,
    Gaussian,
    Linear,
    Nystrom,
    Plan,
    Polynomial,
    Spectrum,
    dependence_grid,
    dhsic,
    hsic,
    independence_test,
)
from mercer.stats.problems import Dependence
from mercer.stats.smoothers import u_centred

MEDIAN = Gaussian("median")


def sinusoid(n, rng, frequency=2):
    """The density 1 + sin(w x) sin(w y) on a square, by rejection."""
    kept = np.empty((0, 2))
    while len(kept) < n:
        Z = rng.uniform(-np.pi, np.pi, (4 * n, 2))
        density = 1 + np.prod(np.sin(frequency * Z), axis=1)
        kept = np.vstack([kept, Z[rng.uniform(0, 2, 4 * n) < density]])
    return kept[:n, 0], kept[:n, 1]


def rotated(n, rng, angle=np.pi / 8):
    """Two independent variables with two modes each, rotated in the plane."""
    s = rng.choice([-1.0, 1.0], (2, n)) + 0.4 * rng.standard_normal((2, n))
    c, d = np.cos(angle), np.sin(angle)
    return c * s[0] - d * s[1], d * s[0] + c * s[1]


def power(draw, repetitions, level=0.05, **options):
    rngs = [np.random.default_rng(i) for i in range(repetitions)]
    return np.mean([independence_test(*draw(r), rng=r, **options).pvalue <= level for r in rngs])


# ---- statistics and p-values -----------------------------------------------------------------
@pytest.mark.parametrize("permutations", ["cyclic", "random"])
@pytest.mark.parametrize("statistic", ["u", "v"])
def test_statistic_is_hsic(rng, permutations, statistic):
    x, y = rotated(70, rng)
    found = independence_test(
        x, y, kernels=MEDIAN, permutations=permutations, statistic=statistic, rng=0
    )
    assert found.statistic == pytest.approx(hsic(x, y, biased=statistic == "v"), rel=1e-3)
    assert len(found.null) == found.n_permutations >= 999
    above = np.sum(found.null >= found.statistic)
    assert found.pvalue == (1 + above) / (1 + len(found.null))


def test_three_variables(rng):
    x, y = rng.choice([-1.0, 1.0], (2, 200))
    z = x * y * rng.uniform(0.5, 1.5, 200)
    found = independence_test(x, y, z, kernels=MEDIAN, rng=0)
    assert found.statistic == pytest.approx(dhsic(x, y, z), rel=1e-3)
    assert found.pvalue == 0.001
    assert independence_test(x, y, z, rng=0).pvalue == 0.001
    for pair in ((x, y), (x, z), (y, z)):
        assert independence_test(*pair, rng=0).pvalue > 0.01


def test_units_do_not_matter(rng):
    x, y = sinusoid(100, rng)
    Y = np.c_[y, rng.standard_normal(100)]
    units = np.array([1000.0, 0.001])
    for kernels in (None, MEDIAN):
        one = independence_test(x, Y[:, 0], kernels=kernels, rng=0)
        other = independence_test(x, 1000 * Y[:, 0], kernels=kernels, rng=0)
        assert one.pvalue == other.pvalue
    assert independence_test(x, Y, rng=0).pvalue == independence_test(x, Y * units, rng=0).pvalue


def test_same_seed_same_answer_for_any_number_of_threads(rng):
    x, y = sinusoid(150, rng)
    one, two = (independence_test(x, y, rng=1, plan=Plan(workers=w)) for w in (1, 2))
    assert one.pvalue == two.pvalue
    assert np.array_equal(one.null, two.null)
    other = independence_test(x, y, rng=2)
    assert not np.array_equal(one.null, other.null)


def test_several_kernels_and_details(rng):
    x, y = sinusoid(100, rng)
    kernels = [[Gaussian(0.3), Gaussian(3.0)], Gaussian(0.3)]
    found = independence_test(x, y, kernels=kernels, rng=0)
    assert found.details["best"] == (Gaussian(0.3), Gaussian(0.3))
    assert found.details["hsic"][0] == pytest.approx(hsic(x, y, *2 * [Gaussian(0.3)]), rel=1e-3)
    assert found.details["pvalues"].shape == (2,)
    assert "2 pairs" in found.method


@pytest.mark.parametrize("null", ["spectrum", "gamma", "pearson", "wild"])
def test_other_nulls_agree_with_permutations(rng, null):
    for shift in range(3):
        x, e = rng.standard_normal((2, 150))
        y = 0.1 * shift * x + e
        truth = independence_test(x, y, kernels=MEDIAN, rng=0, n_permutations=4999).pvalue
        found = independence_test(x, y, kernels=MEDIAN, null=null, rng=0)
        assert found.pvalue == pytest.approx(truth, abs=0.08)
        assert (found.distribution is None) == (null == "wild")


@pytest.mark.parametrize("biased", [False, True])
def test_pearson_moments_are_those_of_all_permutations(rng, biased):
    from itertools import permutations

    X, Y = rng.standard_normal((2, 6, 1))
    K, L = Dependence([Gaussian(), Gaussian()], (X, Y), "v", 1).centred
    values = []
    for p in permutations(range(6)):
        values.append(hsic(X, Y[list(p)], Gaussian(), Gaussian(), biased=biased))
    found = independence_test(
        X, Y, kernels=Gaussian(), null="pearson", statistic="v" if biased else "u"
    )
    mean, variance, skewness = found.distribution.stats("mvs")
    values = np.array(values)
    assert mean == pytest.approx(values.mean(), abs=1e-12)
    assert variance == pytest.approx(values.var())
    assert skewness == pytest.approx(np.mean((values - values.mean()) ** 3) / values.std() ** 3)
    U = u_centred(K)
    assert U.sum(axis=0) == pytest.approx(0, abs=1e-12)
    assert np.vdot(U, u_centred(L)) / 18 == pytest.approx(hsic(X, Y, *2 * [Gaussian()]))


def test_sequential_stopping(rng):
    x, y = rng.standard_normal((2, 80))
    found = independence_test(x, y, kernels=MEDIAN, stop_after=10, n_permutations=9999, rng=0)
    assert found.n_permutations < 9999
    assert np.sum(found.null >= found.statistic) == 10


def test_landmarks_and_features(rng):
    x, y = sinusoid(300, rng)
    low = independence_test(x, y, kernels=MEDIAN, landmarks=60, rng=0)
    whole = independence_test(x, y, kernels=MEDIAN, rng=0)
    assert low.statistic == pytest.approx(whole.statistic, rel=0.05)
    assert any("60 landmarks" in note for note in low.notes)
    linear = independence_test(x, y, kernels=Linear(), rng=0)
    assert linear.statistic == pytest.approx(hsic(x, y, Linear(), Linear()), rel=1e-3)
    assert not any("landmarks" in note for note in linear.notes)
    words = ["ab" * int(abs(3 * v) + 1) + "a" for v in y]
    strings = independence_test(words, y, kernels=[Spectrum(2), MEDIAN], landmarks=40, rng=0)
    assert strings.pvalue < 0.01
    assert [type(k) for k in strings.kernel] == [Nystrom, Nystrom]
    k = Nystrom(Gaussian(1.0), np.linspace(-3, 3, 30)[:, None])
    assert independence_test(x, y, kernels=k, rng=0).statistic == pytest.approx(
        hsic(x, y, k, k), rel=1e-3
    )


# ---- data of any kind ------------------------------------------------------------------------
def test_labels_strings_and_counts(rng):
    x = rng.standard_normal(120)
    colour = np.where(x + rng.standard_normal(120) > 0, "red", "blue").tolist()
    words = ["ab" * rng.integers(2, 5) if c == "red" else "ba" * rng.integers(1, 4) for c in colour]
    assert independence_test(x, colour, kernels=[None, Categorical()], rng=0).pvalue < 0.01
    assert independence_test(words, x, kernels=[Spectrum(2), None], rng=0).pvalue < 0.01
    counts = rng.poisson(np.exp(x / 2))
    assert independence_test(x, counts, rng=0).pvalue < 0.01
    assert independence_test(rng.permutation(counts), x > 0, rng=0).pvalue > 0.01


def test_discrete_data_have_ties_that_count():
    """On 2 x 2 tables, permutation statistics take few values, the observed one often."""
    x, y = np.repeat([0, 1], 30), np.tile([0, 1], 30)
    found = independence_test(x, y, kernels=Categorical(), rng=0)
    assert found.pvalue == 1.0


def test_a_constant_is_independent_of_everything(rng):
    found = independence_test(np.ones(40), rng.standard_normal(40), rng=0)
    assert found.pvalue == 1.0
    assert "constant" in found.notes[0]


def test_blind_spots_are_named(rng):
    x, y = rng.standard_normal((2, 50))
    found = independence_test(x, y, kernels=[Polynomial(degree=2), Gaussian()], rng=0)
    assert "variable 0" in found.notes[0]
    assert not independence_test(x, y, kernels=Distance(), rng=0).notes


# ---- groups and blocks -----------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [(50, 50), (63, 37)])
def test_groups_explain_dependence_away(rng, sizes):
    g = np.repeat([0, 1], sizes)
    x, y = 3 * g + rng.standard_normal((2, 100))
    assert independence_test(x, y, rng=0).pvalue < 0.01
    assert independence_test(x, y, groups=g, rng=0).pvalue > 0.05
    assert independence_test(x, y + x, groups=g, rng=0).pvalue < 0.01


def test_blocks_keep_the_level_of_series():
    def walk(rng):
        e = rng.standard_normal((2, 220))
        for t in range(1, 220):
            e[:, t] += 0.85 * e[:, t - 1]
        return e[0, 20:], e[1, 20:]

    options = {"kernels": MEDIAN, "n_permutations": 99}
    assert power(walk, 40, **options) > 0.3  # as if samples were independent: far too often
    assert power(walk, 40, blocks=20, **options) < 0.2
    assert power(walk, 40, blocks=20, null="wild", **options) < 0.2


# ---- level and power -------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"kernels": MEDIAN}, {"permutations": "random"}])
def test_level_is_exact(options):
    """With 19 permutations, rejection at 1/20 has a probability of exactly 1/20."""
    level = power(lambda r: r.standard_normal((2, 20)), 200, n_permutations=19, **options)
    assert abs(level - 0.05) < 3.3 * np.sqrt(0.05 * 0.95 / 200)


def test_whole_variables_are_permuted():
    """Strong dependence inside of a variable must not be taken for dependence between them."""

    def draw(rng):
        return [rng.standard_normal((30, 1)) + 0.2 * rng.standard_normal((30, 3)) for _ in range(3)]

    level = power(draw, 150, kernels=MEDIAN, n_permutations=19)
    assert abs(level - 0.05) < 3.3 * np.sqrt(0.05 * 0.95 / 150)


def test_power():
    """Anchors at n = 200: 0.155 with the median, 0.73 at best; here 0.95. ICA: 0.99."""
    options = {"n_permutations": 199}
    assert power(lambda r: sinusoid(200, r), 20, **options) > 0.75
    assert power(lambda r: sinusoid(200, r), 20, kernels=MEDIAN, **options) < 0.5
    assert power(lambda r: rotated(100, r), 15, **options) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("null", ["permutation", "gamma", "pearson", "spectrum"])
def test_level_over_many_samples(null):
    def draw(rng):
        return rng.standard_normal((50, 1)), rng.standard_normal((50, 3)) * [1, 10, 0.1]

    kernels = None if null == "permutation" else MEDIAN
    ps = []
    for i in range(2000):
        r = np.random.default_rng(i)
        ps.append(independence_test(*draw(r), kernels=kernels, null=null, rng=r).pvalue)
    at_5, at_1 = (np.mean(np.array(ps) <= level) for level in (0.05, 0.01))
    exact = null == "permutation"  # the other distributions are approximate
    assert abs(at_5 - 0.05) < (0.016 if exact else 0.02)
    assert abs(at_1 - 0.01) < (0.0075 if exact else 0.015)


# ---- the default kernels ---------------------------------------------------------------------
def test_grid_of_sparse_and_repeated_data(rng):
    import scipy.sparse as sp

    X = sp.random(60, 5, density=0.3, random_state=0, format="csr")
    assert len(dependence_grid(X)) == 3
    skewed = np.r_[np.zeros(90), np.arange(10.0)]  # the interquartile range is 0
    assert all(np.all(np.asarray(k.lengthscale) > 0) for k in dependence_grid(skewed))
    X = np.c_[rng.standard_normal(50), np.ones(50)]
    assert np.all(np.isfinite(dependence_grid(X)[0](X)))


# ---- bad input -------------------------------------------------------------------------------
def test_bad_input(rng):
    x, y, z = rng.standard_normal((3, 30))
    cases = [
        ((x, y[:20]), {}, "the same number of observations, got 30, 20"),
        ((x,), {}, "two variables"),
        ((x[:5], y[:5]), {}, "at least 6"),
        ((x, y), {"null": "normal"}, "null must be one of"),
        ((x, y), {"null": "gamma"}, "one kernel of each"),
        ((x, y), {"null": "gamma", "kernels": MEDIAN, "statistic": "u"}, 'must be "v"'),
        ((x, y, z), {"null": "gamma", "kernels": MEDIAN}, "two variables"),
        ((x, y), {"null": "gamma", "kernels": MEDIAN, "groups": [0] * 30}, "only for permutations"),
        ((x, y), {"n_permutations": 0}, "an integer >= 1"),
        ((x, y), {"n_permutations": 9.5}, "integer"),
        ((x, y), {"permutations": "all"}, "permutations must be one of"),
        ((x, y), {"kernels": [MEDIAN]}, "each of the 2"),
        ((x, y), {"kernels": [[], None]}, "empty list"),
        ((x, y), {"stop_after": 5}, "a single kernel"),
        ((x, y), {"landmarks": 31}, "landmarks must be"),
        ((x, y, z), {"landmarks": 10}, "landmarks are for two"),
        ((x, y), {"groups": [0] * 10}, "one label per sample"),
        ((x, y), {"groups": np.arange(30)}, "nothing can be permuted"),
        ((x[:10], y[:10]), {"permutations": "cyclic"}, "more observations"),
        ((["a"] * 30, y), {}, "pass kernels"),
        ((x, np.full(30, np.nan)), {}, "NaN"),
    ]
    for variables, options, message in cases:
        with pytest.raises(ValueError, match=message):
            independence_test(*variables, **options)


def test_early_stop_and_moments_are_said(rng):
    X, Y = rng.standard_normal((2, 60, 2))
    found = independence_test(X, Y, kernels=Linear(), stop_after=5, n_permutations=9999, rng=0)
    assert f"({found.n_permutations} permutations, stopped after 5 above)" in found.method
    assert found.notes[0] == "variable 0: Linear() sees only how its means depend on the other."
