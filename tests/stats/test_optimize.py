"""The kernel with most power: its criterion, the gradient of it, and what it is good for."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Spectrum, mmd, optimize_kernel, two_sample_test
from mercer.gram.tiles import contract
from mercer.stats.discrepancy import group_sums
from mercer.stats.optimize import power_ratio
from mercer.stats.samples import Samples


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def test_ratio_is_that_of_the_sums(rng):
    X, Y = rng.standard_normal((2, 17, 3))
    Y = Y[:13] + 0.5
    samples, k = Samples(X, Y), Gaussian(1.5)
    K = k(samples.data)
    off = K - np.diag(np.diag(K))
    noise = 2 * (1 / 17 + 1 / 13) ** 2 * np.mean(centred(off) ** 2)
    expected = mmd(X, Y, k) / np.sqrt(group_sums(k, samples).variance() + noise)
    assert power_ratio(K, (17, 13)).value == pytest.approx(expected)


@pytest.mark.parametrize("kernel", [Gaussian([1.0, 2.0, 0.5]), Laplacian([1.0, 2.0, 0.5], p=1)])
def test_slope_is_that_of_finite_differences(rng, kernel):
    Z = rng.standard_normal((24, 3))

    def ratio(theta):
        return power_ratio(kernel.with_theta(theta)(Z), (14, 10))

    P, found = kernel.prepare(Z), ratio(kernel.theta)
    slope = contract(kernel, P, lambda rows, cols: found.slope[rows, cols])
    steps = 1e-5 * np.eye(3)
    numeric = [ratio(kernel.theta + e).value - ratio(kernel.theta - e).value for e in steps]
    np.testing.assert_allclose(slope, np.array(numeric) / 2e-5, rtol=1e-5, atol=1e-8)


def test_features_that_differ_get_short_lengthscales(rng):
    X, Y = rng.standard_normal((2, 150, 6))
    Y[:, [1, 4]] += 0.8
    k = optimize_kernel(X, Y, [Gaussian(np.full(6, 2.0))], rng=0)
    assert set(np.argsort(k.lengthscale)[:2]) == {1, 4}


def test_kernels_without_numbers_or_gradients_are_chosen_from(rng):
    left, right = ["abab", "abba"] * 10, ["aabb", "bbaa"] * 10
    assert optimize_kernel(left, right, [Spectrum(1), Spectrum(2)], rng=0) == Spectrum(2)
    X, Y = rng.standard_normal((2, 40, 2))
    assert optimize_kernel(X, Y + 1, [Linear()], rng=0) == Linear()
    tiny = optimize_kernel(X[:4], Y[:4], [Gaussian(1.0)], rng=0)
    assert tiny == Gaussian(1.0)


def test_same_seed_same_kernel(rng):
    X, Y = rng.standard_normal((2, 40, 3))
    assert optimize_kernel(X, Y + 1, rng=3) == optimize_kernel(X, Y + 1, rng=3)


def _power(make, tune, n, repetitions, seed):
    """The share of samples in which a test of the second half rejects at 5 %."""
    found = 0
    for i in range(repetitions):
        rng = np.random.default_rng(seed + i)
        X, Y = make(rng, n)
        k = optimize_kernel(X[: n // 2], Y[: n // 2], tune=tune, rng=i)
        half = two_sample_test(X[n // 2 :], Y[n // 2 :], k, n_permutations=99, rng=i)
        found += half.pvalue <= 0.05
    return found / repetitions


@pytest.mark.slow
def test_power_against_a_difference_in_two_of_twenty_features():
    def make(rng, n):
        X, Y = rng.standard_normal((2, n, 20))
        Y[:, :2] *= 1.7
        return X, Y

    chosen, tuned = (_power(make, tune, 200, 30, 100) for tune in (False, True))
    assert tuned >= chosen + 0.15


@pytest.mark.slow
def test_level_of_the_test_with_a_tuned_kernel():
    rejected = 0
    for i in range(200):
        X, Y = np.random.default_rng(i).standard_normal((2, 30, 2))
        rejected += two_sample_test(X, Y, "optimize", n_permutations=19, rng=i).pvalue <= 0.05
    assert rejected / 200 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("size", [1e-12, 1e9, 1e300])
def test_data_in_any_unit(rng, size):
    """Lengthscales of the data may lie beyond the usual bounds of searches."""
    X, Y = size * rng.standard_normal((20, 2)), size * (rng.standard_normal((20, 2)) + [3, 0])
    assert two_sample_test(X, Y, kernel="optimize", n_permutations=19, rng=0).pvalue == 0.05
    found = optimize_kernel(X, Y, rng=0)
    assert np.all(np.isfinite(found(X)))
