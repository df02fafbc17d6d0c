"""Null distributions against exhaustive enumeration, known distributions and simulation."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binom, chi2, ttest_1samp

from mercer import Gaussian, independence_test, two_sample_test
from mercer.stats import independence_nulls, two_sample_nulls
from mercer.stats.mixtures import ChiSquareMixture
from mercer.stats.moments import permutation_moments
from mercer.stats.nulls import (
    gamma_null,
    monte_carlo_interval,
    permutation_pvalue,
    sequential_pvalue,
    wild_correlations,
    wild_signs,
)
from mercer.stats.problems import Comparison, Dependence
from mercer.stats.samples import Samples
from mercer.stats.smoothers import u_centred


def centred(A):
    H = np.eye(len(A)) - 1 / len(A)
    return H @ A @ H


# ---- p-values ------------------------------------------------------------------------------
def test_pvalue_counts_the_observed_statistic():
    assert permutation_pvalue(10.0, np.arange(99.0)).pvalue == 90 / 100
    assert permutation_pvalue(1e9, np.arange(99.0)).pvalue == 1 / 100


def test_ties_count_up_to_rounding():
    draws = np.array([1.0, 1.0 - 1e-9, 0.0, 2.0, 0.5])
    assert permutation_pvalue(1.0, draws).pvalue == 4 / 6
    assert permutation_pvalue(1.0, draws, 1e-12).pvalue == 3 / 6
    assert permutation_pvalue(1.0, draws, 0.5).pvalue == 5 / 6


def test_a_tolerance_does_not_depend_on_the_spread():
    """All draws are equal but for rounding, and the observed statistic is the largest of them."""
    draws = 1e-17 * np.arange(99.0)
    assert permutation_pvalue(1e-15, draws, 1e-14).pvalue == 1.0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="not a finite number"):
        permutation_pvalue(value, np.zeros(9))
    with pytest.raises(ValueError, match="not a finite number"):
        permutation_pvalue(0.0, np.array([1.0, value]))


def test_interval_is_clopper_pearson():
    low, high = monte_carlo_interval(7, 99)
    assert binom.sf(6, 99, low) == pytest.approx(0.025)
    assert binom.cdf(7, 99, high) == pytest.approx(0.025)
    assert monte_carlo_interval(0, 99)[0] == 0.0
    assert monte_carlo_interval(99, 99)[1] == 1.0


def test_interval_of_a_stopped_test(rng):
    """The last draw is known to exceed: the fifth exceedance came at draw 20."""
    low, high = monte_carlo_interval(5, 20, stopped=True)
    assert binom.sf(4, 20, low) == pytest.approx(0.025)  # five or more in 20 draws
    assert binom.cdf(4, 19, high) == pytest.approx(0.025)  # four or fewer in 19


def test_sequential_is_valid_and_stops(rng):
    """P(p <= a) <= a, and few draws are needed when p is large."""
    pvalues, lengths = [], []
    for _ in range(2000):
        found = sequential_pvalue(rng.standard_normal(), rng.standard_normal, 99, 5)
        pvalues.append(found.pvalue)
        lengths.append(len(found.draws))
    pvalues = np.array(pvalues)
    for level in (0.01, 0.05, 0.1, 0.5):
        assert np.mean(pvalues <= level) <= level + 3 * np.sqrt(level * (1 - level) / 2000)
    assert np.mean(pvalues <= 0.05) > 0.03
    assert np.mean(lengths) < 30


def test_sequential_without_stop_is_the_usual_pvalue(rng):
    draws = rng.standard_normal(999)
    source = iter(draws)
    found = sequential_pvalue(5.0, lambda k: np.array([next(source) for _ in range(k)]), 999, 10)
    assert found.pvalue == permutation_pvalue(5.0, draws).pvalue
    with pytest.raises(ValueError, match="exceedances"):
        sequential_pvalue(0.0, rng.standard_normal, 9, 0)


# ---- mixtures, far out ----------------------------------------------------------------------
@pytest.mark.parametrize("degrees", [1, 2, 5, 50, 500])
def test_tails_of_a_mixture_have_all_digits(degrees):
    x = chi2.isf([1 - 1e-12, 0.99, 0.5, 0.1, 1e-4, 1e-20, 1e-200], degrees)
    found = ChiSquareMixture(np.full(degrees, 2.0), shift=1.0).sf(2 * x + 1)
    np.testing.assert_allclose(found, chi2.sf(x, degrees), rtol=1e-9)
    mirrored = ChiSquareMixture(np.full(degrees, -2.0), shift=-1.0).sf(-2 * x - 1)
    np.testing.assert_allclose(mirrored, chi2.cdf(x, degrees), atol=1e-9)


def test_a_mixture_decreases_everywhere(rng):
    for weights in (1 / np.arange(1, 300) ** 1.5, rng.standard_normal(200), [1.0]):
        T = ChiSquareMixture(weights, -float(np.sum(weights)))
        x = np.sqrt(T.variance) * np.linspace(-4, 40, 150)
        tails = T.sf(x)
        assert np.all(np.diff(tails) <= 1e-9 * tails[:-1])
        assert np.all((tails[x > 0] > 0) & (tails[x > 0] < 1))


def test_a_normal_part_of_a_mixture(rng):
    """A normal variable stands for many small weights of both signs."""
    small = np.tile([0.05, -0.05], 2000)
    one = ChiSquareMixture([1.0, 0.5, *small])
    other = ChiSquareMixture([1.0, 0.5], normal=2 * np.sum(small**2))
    assert one.variance == pytest.approx(other.variance)
    x = np.array([-8.0, 0.0, 3.0, 10.0, 20.0])
    np.testing.assert_allclose(one.sf(x), other.sf(x), rtol=0.02)
    draws = other.rvs(200_000, rng)
    assert np.mean(draws > 10.0) == pytest.approx(other.sf(10.0), rel=0.05)


# ---- moments -------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [6, 7, 8])
def test_moments_are_those_of_all_permutations(rng, n):
    A = centred(np.cov(rng.standard_normal((n, n))))
    B = rng.standard_normal((n, n))
    B = centred(B + B.T)
    every = np.array(list(permutations(range(n))))
    T = np.concatenate([
        np.einsum("ij,pij->p", A, B[p[:, :, None], p[:, None, :]]) for p in np.split(every, 60)
    ])  # fmt: skip
    found = permutation_moments(A, B)
    assert found.mean == pytest.approx(T.mean())
    assert found.variance == pytest.approx(T.var())
    assert found.skewness == pytest.approx(np.mean((T - T.mean()) ** 3) / T.std() ** 3)
    assert found.kurtosis == pytest.approx(np.mean((T - T.mean()) ** 4) / T.std() ** 4)


def test_moments_of_a_larger_sample_agree_with_random_permutations(rng):
    X, Y = rng.standard_normal((2, 40, 3))
    A, B = centred(X @ X.T), centred(np.exp(Y @ Y.T / 4))
    T = np.array([(A * B[np.ix_(p, p)]).sum() for p in (rng.permutation(40) for _ in range(20000))])
    found = permutation_moments(A, B)
    assert found.mean == pytest.approx(T.mean(), abs=4 * T.std() / 141)
    assert found.variance == pytest.approx(T.var(), rel=0.06)
    z = (T - T.mean()) / T.std()
    assert found.skewness == pytest.approx(np.mean(z**3), abs=0.15)
    assert found.kurtosis == pytest.approx(np.mean(z**4), rel=0.15)


def test_moments_do_not_drown_in_the_mean(rng):
    """A large multiple of H moves the statistic by a constant, which cancels in closed form."""
    X, Y = rng.standard_normal((2, 30, 3))
    A, B = centred(X @ X.T), centred(Y @ Y.T)
    far = permutation_moments(A + 1e6 * centred(np.eye(30)), B)
    near = permutation_moments(A, B)
    assert far[1:] == pytest.approx(near[1:], rel=1e-6)
    assert far.mean == pytest.approx(near.mean + 1e6 * np.trace(B))


def test_moments_need_six_samples_of_one_size():
    with pytest.raises(ValueError, match="at least 6"):
        permutation_moments(np.zeros((5, 5)), np.zeros((5, 5)))
    with pytest.raises(ValueError, match="one size"):
        permutation_moments(np.zeros((6, 6)), np.zeros((7, 7)))


def test_fitted_curves_have_their_moments():
    assert gamma_null(3.0, 2.0).stats("mv") == pytest.approx((3.0, 2.0))
    with pytest.raises(ValueError, match="positive mean"):
        gamma_null(-1.0, 1.0)


# ---- mixtures of chi-squares ---------------------------------------------------------------
@pytest.mark.parametrize("degrees", [1, 2, 5, 40])
def test_mixture_of_equal_weights_is_chi_square(degrees):
    x = np.array([0.3, 1.0, 4.0, 12.0, 30.0])
    found = ChiSquareMixture(np.full(degrees, 2.0), shift=1.0).sf(2 * x + 1)
    assert found == pytest.approx(chi2.sf(x, degrees), abs=3e-6)
    skewness = ChiSquareMixture(np.full(degrees, 2.0)).skewness
    assert skewness == pytest.approx(float(chi2.stats(degrees, moments="s")))


def test_mixture_agrees_with_its_draws(rng):
    T = ChiSquareMixture(1 / np.arange(1, 60) ** 1.5, shift=-2.0)
    draws = T.rvs(200_000, rng)
    assert T.mean == pytest.approx(draws.mean(), abs=0.02)
    assert T.variance == pytest.approx(draws.var(), rel=0.03)
    assert T.skewness == pytest.approx(np.mean(((draws - T.mean) / draws.std()) ** 3), rel=0.1)
    for q in (0.5, 0.9, 0.99):
        assert T.sf(np.quantile(draws, q)) == pytest.approx(1 - q, abs=5 * np.sqrt(q / 200_000))


def test_mixture_with_weights_of_both_signs(rng):
    T = ChiSquareMixture([1.0, -1.0])
    assert T.sf(0.0) == pytest.approx(0.5, abs=1e-6)
    assert T.sf(1.3) == pytest.approx(1 - T.sf(-1.3), abs=1e-6)


def test_mixture_refuses_nothing():
    with pytest.raises(ValueError, match="weights are 0"):
        ChiSquareMixture([0.0, 0.0])
    with pytest.raises(ValueError, match="finite"):
        ChiSquareMixture([np.nan])


# ---- wild bootstrap ------------------------------------------------------------------------
def test_wild_signs_are_signs_or_a_series(rng):
    W = wild_signs(30, 2000, rng)
    assert set(np.unique(W)) == {-1.0, 1.0}
    assert abs(W.mean()) < 0.02
    S = wild_signs(400, 5000, rng, memory=4.0)
    rho = wild_correlations(400, 4.0)
    for lag in (0, 1, 3, 8):
        assert rho[lag] == pytest.approx(np.exp(-(lag**2) / 32))
        assert np.mean(S[10] * S[10 + lag]) == pytest.approx(rho[lag], abs=0.06)
    assert np.linalg.norm(S, axis=0) == pytest.approx(20)
    assert wild_correlations(400).tolist() == [1.0]
    with pytest.raises(ValueError, match="memory"):
        wild_signs(3, 3, rng, memory=0.0)
    with pytest.raises(ValueError, match="block labels are only for permutations"):
        wild_signs(3, 3, rng, memory=[0, 0, 1])


def test_wild_bootstrap_of_a_line_is_a_t_test(rng):
    """Signs of norm sqrt(n) make draws of (sum_t u_t)^2 those of the t-test under rotations."""
    u = rng.standard_normal(12) + 0.4
    W = wild_signs(12, 100_000, rng, memory=0.2)  # which forgets at once
    share = np.mean((u @ W) ** 2 >= u.sum() ** 2)
    assert share == pytest.approx(ttest_1samp(u, 0).pvalue, abs=5e-3)


# ---- what the wild bootstrap estimates -----------------------------------------------------
def test_draws_for_two_samples_have_the_mean_of_the_statistic(rng):
    """Over samples of one distribution, draws are as large as MMD^2 on average; series too."""
    for memory, decay in ((None, 0.0), (4.0, 0.3)):
        values, draws = [], []
        for _ in range(300):
            samples = Samples(series(24, decay, rng), series(40, decay, rng))
            found = two_sample_nulls.wild(Comparison(Gaussian(), samples, "v", 50, memory), rng)
            values.append(found.statistic)
            draws.append(found.null.mean())
        error = 4 * np.std(values) / np.sqrt(300)
        assert np.mean(draws) == pytest.approx(np.mean(values), abs=error)


def test_draws_for_two_variables_have_the_mean_of_the_statistic(rng):
    for memory, decay in ((None, 0.0), (4.0, 0.5)):
        values, draws = [], []
        for _ in range(300):
            data = series(40, decay, rng), series(40, decay, rng)
            found = independence_nulls.wild(
                Dependence([Gaussian()] * 2, data, "v", 50, memory), rng
            )
            values.append(found.statistic)
            draws.append(found.null.mean())
        error = 4 * np.std(values) / np.sqrt(300)
        assert np.mean(draws) == pytest.approx(np.mean(values), abs=error)


def series(n, decay, rng):
    """n observations of a stationary series with correlations decay**lag."""
    from scipy.signal import lfilter

    noise = rng.standard_normal(n + 50) * np.sqrt(1 - decay**2)
    return lfilter([1.0], [1.0, -decay], noise)[50:, None]


# ---- limits --------------------------------------------------------------------------------
def test_spectra_have_the_variance_over_permutations(rng):
    """That of a limit is (n - 3) / n of it for HSIC, 10 % less at n = 30."""
    k, X, Y = Gaussian(1.0), rng.standard_normal((20, 1)), rng.standard_normal((20, 2))
    pair = Dependence([k, k], (X, Y), "u", 99)
    limit = independence_nulls.spectrum(pair, rng).distribution
    exact = permutation_moments(*map(u_centred, pair.centred))
    assert limit.variance == pytest.approx(exact.variance / (20 * 17) ** 2, rel=1e-8)
    problem = Comparison(k, Samples(Y[:7], Y[7:]), "u", 99)
    scaled = two_sample_nulls.spectrum(problem, rng).distribution
    curve = two_sample_nulls.pearson(problem, rng).distribution
    assert scaled.base.variance / scaled.factor**2 == pytest.approx(curve.var(), rel=1e-6)


@pytest.mark.parametrize("null", ["spectrum", "gamma"])
def test_limits_of_narrow_kernels_give_way_to_permutations(rng, null):
    """They rejected 7 % at n = 30: few pairs are close, and their number has a long tail."""
    x, y = rng.standard_normal((2, 30, 2))
    options = {"null": null, "n_permutations": 49, "rng": 0}
    found = independence_test(x, y, kernels=Gaussian(0.1), **options)
    assert "from permutations" in found.notes[0]
    assert found.n_permutations >= 49
    assert found.distribution is None
    wide = independence_test(x, y, kernels=Gaussian("median"), **options)
    assert not wide.notes
    assert wide.distribution is not None
    x, y = np.arange(10.0), np.arange(90.0) + 0.37
    found = two_sample_test(x, y, Gaussian(0.2), **options)
    assert "from permutations" in found.notes[0]
    assert found.n_permutations == 49
    assert found.distribution is None
    wide = two_sample_test(x, y, Gaussian("median"), **options)
    assert not wide.notes
    assert wide.distribution is not None


def test_very_many_small_weights_against_few_large_ones():
    # spectra without their diagonals: the path of the integral must not follow the many
    few, many = np.full(100, 1e-2), np.full(5000, -3e-4)
    limit = ChiSquareMixture(np.concatenate([few, many]), 0.5)
    normal = ChiSquareMixture(few, 0.5 + many.sum(), 2 * float(np.sum(many**2)))  # many are normal
    points = limit.mean + np.sqrt(limit.variance) * np.linspace(-3, 4, 15)
    np.testing.assert_allclose(limit.sf(points), normal.sf(points), rtol=2e-2)
    assert np.all(np.diff(limit.sf(points)) < 0)
