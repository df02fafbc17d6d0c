"""Pearson's system: each member of it is found again from its four moments."""

import numpy as np
import pytest
from scipy import stats

from mercer import Gaussian, independence_test, two_sample_test
from mercer.stats.pearson import pearson_curve

LEVELS = [0.05, 0.5, 0.9, 0.99, 0.999]


@pytest.mark.parametrize(
    "member",
    [
        stats.beta(2, 5),
        stats.beta(0.5, 3),  # J-shaped
        stats.beta(0.3, 0.4),  # U-shaped
        stats.beta(5, 2),  # skewed to the left
        stats.uniform(2, 3),
        stats.betaprime(3, 9),
        stats.f(5, 30),
        stats.t(9),
        stats.norm(1, 2),
        stats.gamma(0.5),
        stats.gamma(7),
        stats.invgamma(8),
    ],
    ids=lambda member: f"{member.dist.name}{member.args}",
)
def test_members_of_the_system_are_found_again(member):
    mean, variance, skewness, excess = map(float, member.stats("mvsk"))
    curve = pearson_curve(mean, variance, skewness, excess + 3)
    x = member.ppf(LEVELS)
    np.testing.assert_allclose(curve.sf(x), member.sf(x), rtol=1e-6)


@pytest.mark.parametrize(("skewness", "kurtosis"), [(0.8, 6.0), (-0.8, 6.0), (0.2, 4.0)])
def test_skew_student_has_its_moments(skewness, kurtosis):
    curve = pearson_curve(1.0, 4.0, skewness, kurtosis)
    x = np.linspace(-150, 150, 12001)
    mass, middle = -np.diff(curve.sf(x)), (x[1:] + x[:-1]) / 2
    mean = mass @ middle
    spread = np.sqrt(mass @ (middle - mean) ** 2)
    z = (middle - mean) / spread
    assert mass.sum() == pytest.approx(1, abs=1e-6)
    assert (mean, spread) == pytest.approx((1, 2), abs=1e-3)
    assert (mass @ z**3, mass @ z**4) == pytest.approx((skewness, kurtosis), abs=0.02)


def test_moments_of_no_distribution_fall_back_on_three():
    curve = pearson_curve(0.0, 1.0, 1.0, 1.5)  # less than 1 + the squared skewness
    assert curve.stats("mvs") == pytest.approx((0.0, 1.0, 1.0))
    with pytest.raises(ValueError, match="does not vary"):
        pearson_curve(0.0, 0.0, 0.0, 3.0)


@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_curve_agrees_with_many_permutations(rng, shift):
    X, Y = rng.standard_normal((2, 60, 3))
    Y = Y + shift * 0.7
    k = Gaussian("median")
    curve = two_sample_test(X, Y, k, null="pearson")
    drawn = two_sample_test(X, Y, k, n_permutations=20_000, rng=0)
    assert curve.statistic == pytest.approx(drawn.statistic, rel=1e-4)
    low, high = drawn.pvalue_interval
    assert 0.9 * low - 1e-4 <= curve.pvalue <= 1.1 * high + 1e-4
    assert "four exact moments" in curve.method
    x, y = X[:, :1], X[:, :1] * shift + Y[:, :1]
    curve = independence_test(x, y, kernels=k, null="pearson")
    drawn = independence_test(x, y, kernels=k, n_permutations=20_000, permutations="random", rng=0)
    low, high = drawn.pvalue_interval
    assert 0.9 * low - 1e-4 <= curve.pvalue <= 1.1 * high + 1e-4
