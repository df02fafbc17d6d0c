"""Statistics and null distributions of one's own."""

import numpy as np
import pytest
from scipy.stats import gamma, norm

from mercer import (
    Gaussian,
    Spectrum,
    hsic,
    independence_test,
    k_sample_test,
    mmd,
    mmd_multi,
    two_sample_test,
)
from mercer.stats import independence_nulls, two_sample_nulls
from mercer.stats.independence import NULLS as DEPENDENCE_NULLS
from mercer.stats.problems import Comparison, Dependence
from mercer.stats.samples import Samples
from mercer.stats.two_sample import NULLS


@pytest.fixture
def samples(rng):
    return rng.standard_normal((20, 2)), rng.standard_normal((25, 2)) + 0.4


@pytest.fixture
def variables(rng):
    x = rng.standard_normal((30, 1))
    return x, x**2 + rng.standard_normal((30, 1))


def by_hand(K, labels):
    """The unbiased MMD^2, by the definition."""
    X, Y = np.flatnonzero(labels == 0), np.flatnonzero(labels == 1)
    n, m = len(X), len(Y)
    inner = [K[np.ix_(part, part)] for part in (X, Y)]
    first, second = ((B.sum() - np.trace(B)) / (len(B) * (len(B) - 1)) for B in inner)
    return first + second - 2 * K[np.ix_(X, Y)].sum() / (n * m)


def hsic_by_hand(K, L):
    H = np.eye(len(K)) - 1 / len(K)
    return np.trace(K @ H @ L @ H) / len(K) ** 2


def by_shuffling(problem, rng):
    return [problem.statistic(rng.permutation(problem.labels)) for _ in range(problem.n_draws)]


# ---- statistics ----------------------------------------------------------------------------
@pytest.mark.parametrize("options", [{}, {"blocks": 5}, {"groups": [0, 1, 2, 3, 4] * 9}])
def test_a_statistic_is_permuted_as_the_librarys_own(samples, options):
    wanted = two_sample_test(*samples, Gaussian(), n_permutations=99, rng=0, **options)
    found = two_sample_test(
        *samples, Gaussian(), statistic=by_hand, n_permutations=99, rng=0, **options
    )
    assert found.statistic == pytest.approx(mmd(*samples, Gaussian()), rel=1e-9)
    np.testing.assert_allclose(found.null, wanted.null, atol=1e-6)
    assert found.pvalue == wanted.pvalue
    assert found.method == "two-sample test, by_hand (99 permutations)"


def test_bins_and_early_stops(samples):
    X = samples[0]
    found = two_sample_test(
        X, X[::-1], Gaussian(), statistic=by_hand, stop_after=5, n_permutations=999, rng=0
    )
    assert len(found.null) < 999
    binned = two_sample_test(*samples, Gaussian(), statistic=by_hand, bins=10, rng=0)
    assert 0 < binned.pvalue <= 1


def test_several_samples(rng):
    parts = [rng.standard_normal((12, 1)) + shift for shift in (0.0, 0.0, 1.0)]

    def pairs(K, labels):
        each = [(labels == g) / np.sum(labels == g) for g in range(3)]
        return sum((a - b) @ K @ (a - b) for i, a in enumerate(each) for b in each[:i])

    found = k_sample_test(parts, Gaussian(), statistic=pairs, n_permutations=199, rng=0)
    assert found.pvalue < 0.05
    assert found.method == "3-sample test, pairs (199 permutations)"
    drawn = k_sample_test(parts, Gaussian(), null=by_shuffling, n_permutations=199, rng=0)
    assert drawn.statistic == pytest.approx(mmd_multi(parts, Gaussian()), rel=1e-9)
    assert drawn.pvalue < 0.05


def form(K, labels):
    """The biased MMD^2 as one sum, whose rounding depends on the order of labels."""
    w = np.where(labels == 0, 1 / np.sum(labels == 0), -1 / np.sum(labels == 1))
    return w @ K @ w


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_rounding_decides_nothing(scale):
    """Observations that are all equal have one statistic under all permutations."""
    X, Y = np.ones((13, 1)), np.ones((29, 1))
    kernel = scale * Gaussian()
    assert two_sample_test(X, Y, kernel, statistic=form, rng=0).pvalue == 1
    assert two_sample_test(X, Y, kernel, null=by_shuffling, rng=0).pvalue == 1
    assert independence_test(X, X, kernels=kernel, statistic=hsic_by_hand, rng=0).pvalue == 1
    few = two_sample_test(X, Y, kernel, statistic=form, rng=0, stop_after=5)
    assert few.pvalue == 1
    coins = np.array([0.0, 1.0] * 15)[:, None]  # two values: few different statistics
    found = two_sample_test(coins, coins[:12], kernel, statistic=form, rng=0, n_permutations=99)
    wanted = two_sample_test(coins, coins[:12], kernel, statistic="v", rng=0, n_permutations=99)
    assert found.pvalue == wanted.pvalue


def test_data_of_any_kind():
    left, right = ["abab", "abba"] * 10, ["aabb", "bbaa"] * 10
    assert two_sample_test(left, right, Spectrum(2), statistic=by_hand, rng=0).pvalue == 0.001


@pytest.mark.parametrize("options", [{}, {"blocks": 3}, {"groups": [0, 1, 2] * 10}])
def test_a_statistic_of_dependence(variables, options):
    options = {"kernels": Gaussian(), "n_permutations": 99, "rng": 0, **options}
    wanted = independence_test(*variables, statistic="v", permutations="random", **options)
    found = independence_test(*variables, statistic=hsic_by_hand, **options)
    assert found.statistic == pytest.approx(
        hsic(*variables, Gaussian(), Gaussian(), biased=True), rel=1e-9
    )
    np.testing.assert_allclose(found.null, wanted.null, atol=1e-8)
    assert found.pvalue == wanted.pvalue


def test_statistics_cannot_change_the_matrix(samples):
    def careless(K, labels):
        K -= K.mean()
        return by_hand(K, labels)

    with pytest.raises(ValueError, match="read-only"):
        two_sample_test(*samples, Gaussian(), statistic=careless)


@pytest.mark.parametrize("bad", [None, np.nan, np.ones(2), "large"])
def test_a_statistic_is_one_number(samples, variables, bad):
    def wrong(first, second):
        return bad

    with pytest.raises(ValueError, match="statistic=wrong must return one finite number"):
        two_sample_test(*samples, Gaussian(), statistic=wrong)
    with pytest.raises(ValueError, match="statistic=wrong must return one finite number"):
        independence_test(*variables, kernels=Gaussian(), statistic=wrong)


# ---- null distributions --------------------------------------------------------------------
def test_a_null_by_draws(samples):
    wanted = two_sample_test(*samples, Gaussian(), n_permutations=499, rng=1)
    found = two_sample_test(*samples, Gaussian(), null=by_shuffling, n_permutations=499, rng=1)
    assert found.statistic == pytest.approx(wanted.statistic, rel=1e-6)
    assert found.pvalue == pytest.approx(wanted.pvalue, abs=0.05)
    assert len(found.null) == found.n_permutations == 499
    assert found.method.endswith("MMD^2 (u); p-value from by_shuffling, 499 draws")
    low, high = found.pvalue_interval
    assert low <= found.pvalue <= high


def test_a_null_by_a_distribution(variables):
    def by_moments(problem, rng):
        K, L = problem.centred
        draws = [problem.statistic(rng.permutation(problem.n)) for _ in range(500)]
        assert problem.observed == pytest.approx(np.vdot(K, L) / problem.n**2)
        mean, variance = np.mean(draws), np.var(draws)
        return gamma(mean**2 / variance, scale=variance / mean)

    found = independence_test(*variables, kernels=Gaussian(), null=by_moments, statistic="v", rng=0)
    wanted = independence_test(*variables, kernels=Gaussian(), null="gamma")
    assert found.statistic == pytest.approx(wanted.statistic)
    assert found.pvalue == pytest.approx(wanted.pvalue, rel=0.3)
    assert found.distribution.sf(0.0) == 1
    assert (found.null, found.n_permutations) == (None, 0)


def test_both_of_ones_own(samples):
    found = two_sample_test(
        *samples, Gaussian(), null=by_shuffling, statistic=by_hand, n_permutations=99, rng=0
    )
    assert found.method == "two-sample test, by_hand; p-value from by_shuffling, 99 draws"


def test_memory_of_series_is_handed_on(samples):
    seen = []

    def null(problem, rng):
        seen.append(problem.blocks)
        return norm(0, 1)

    two_sample_test(*samples, Gaussian(), null=null, blocks=4)
    assert seen == [4]


@pytest.mark.parametrize("bad", [None, [], [[1.0]], [np.nan], "draws", 3.0])
def test_a_null_returns_draws_or_a_distribution(samples, bad):
    def wrong(problem, rng):
        return bad

    with pytest.raises(ValueError, match="null=wrong must return draws of the statistic"):
        two_sample_test(*samples, Gaussian(), null=wrong)


def test_a_survival_function_is_a_probability(samples):
    class Wrong:
        def sf(self, x):
            return 1.5

    with pytest.raises(ValueError, match=r"is 1\.5, not a probability"):
        two_sample_test(*samples, Gaussian(), null=lambda problem, rng: Wrong())


# ---- both ----------------------------------------------------------------------------------
def test_refuses_what_does_not_fit(samples, variables):
    own = {"statistic": by_hand}
    cases = [
        ({**own, "kernel": None}, "statistic=by_hand needs one kernel"),
        ({"null": by_shuffling, "kernel": [Gaussian()]}, "null=by_shuffling needs one kernel"),
        ({**own, "null": "gamma"}, 'null="gamma" is about statistic="v"'),
        ({**own, "landmarks": 10}, "omit landmarks"),
        ({"null": by_shuffling, "groups": [0] * 45}, "null=by_shuffling uses none"),
        ({"null": by_shuffling, "stop_after": 5}, "stop_after is only for permutations"),
        ({"null": 3}, "or a function of a problem and a random generator"),
        ({"statistic": 3}, "is about statistic"),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            two_sample_test(*samples, **{"kernel": Gaussian(), **options})
    with pytest.raises(ValueError, match="null must be one of 'permutation'"):
        k_sample_test(samples, Gaussian(), null="gamma")
    with pytest.raises(ValueError, match="statistic must be a function"):
        k_sample_test(samples, Gaussian(), statistic="u")
    cases = [
        ({"statistic": hsic_by_hand, "kernels": None}, "needs one kernel of each"),
        ({"statistic": hsic_by_hand, "permutations": "cyclic"}, "permuted at random"),
        ({"statistic": hsic_by_hand, "landmarks": 10}, "omit landmarks"),
        ({"statistic": hsic_by_hand, "regularization": 1.0}, 'not "hsic_by_hand"'),
        ({"statistic": hsic_by_hand, "null": "gamma"}, 'statistic must be "v"'),
        ({"null": by_shuffling, "groups": [0] * 30}, "null=by_shuffling uses none"),
        ({"null": by_shuffling, "stop_after": 5}, "stop_after is only for permutations"),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            independence_test(*variables, **{"kernels": Gaussian(), **options})
    three = (*variables, variables[0])
    for options in ({"statistic": hsic_by_hand}, {"null": by_shuffling}):
        with pytest.raises(ValueError, match="is for two variables, got 3"):
            independence_test(*three, kernels=Gaussian(), **options)


def test_named_nulls_are_entries_of_one_table():
    assert ("permutation", *two_sample_nulls.NULLS) == NULLS
    assert ("permutation", *independence_nulls.NULLS) == DEPENDENCE_NULLS


def test_a_new_named_null_is_one_entry(samples, monkeypatch):
    entry = two_sample_nulls.NULLS["pearson"]
    monkeypatch.setitem(two_sample_nulls.NULLS, "curve", entry)
    monkeypatch.setattr("mercer.stats.two_sample.NULLS", (*NULLS, "curve"))
    new, old = (two_sample_test(*samples, Gaussian(), null=n) for n in ("curve", "pearson"))
    assert new.pvalue == old.pvalue


def test_matrices_are_those_of_the_kernels(samples, variables):
    problem = Comparison(Gaussian(), Samples(*samples), "v", 9)
    np.testing.assert_allclose(problem.K, Gaussian()(np.concatenate(samples)))
    assert problem.observed == pytest.approx(mmd(*samples, Gaussian(), biased=True))
    dependence = Dependence([Gaussian(), Gaussian(2.0)], variables, "u", 9)
    np.testing.assert_allclose(dependence.L, Gaussian(2.0)(variables[1]))
    assert dependence.observed == pytest.approx(
        hsic(*variables, Gaussian(), Gaussian(2.0)), rel=1e-9
    )
