"""The conditional test: its formula, its level and power, and what it refuses."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import gamma

from mercer import Categorical, Gaussian, conditional_independence_test, independence_test


def triple(n, d, rng, direct=0.0):
    """X and Y are noisy functions of Z, with noise in common if ``direct`` is not 0."""
    Z = rng.standard_normal((n, d))
    common = direct * rng.standard_normal(n)
    X = np.tanh(Z.sum(1) / np.sqrt(d)) + 0.5 * rng.standard_normal(n) + common
    return X, Z.sum(1) / np.sqrt(d) + 0.5 * rng.standard_normal(n) + common, Z


def rate(n, d, repetitions, level=0.05, direct=0.0, **options):
    draws = (triple(n, d, np.random.default_rng(i), direct) for i in range(repetitions))
    ps = [conditional_independence_test(*draw, **options).pvalue for draw in draws]
    return np.mean(np.array(ps) <= level)


@pytest.mark.parametrize("corrected", [False, True])
def test_against_the_formula_with_eigenvectors(rng, corrected):
    """The product features of the residuals, written out: what the Hadamard identity avoids."""
    X, Y, Z = triple(40, 2, rng)
    k = Gaussian(1.3)
    H = np.eye(40) - 1 / 40
    K, L, M = (k(V.reshape(40, -1)) for V in (X, Y, Z))
    R = 1e-2 * np.linalg.inv(H @ M @ H + 1e-2 * np.eye(40))
    A, B = R @ H @ (K * M) @ H @ R, R @ H @ L @ H @ R
    features = []
    for S in (A, B):
        s, U = np.linalg.eigh((S + S.T) / 2)
        features.append(U * np.sqrt(np.maximum(s, 0)))
    products = np.einsum("ia,ib->iab", *features).reshape(40, -1)
    weights = np.linalg.eigvalsh(products.T @ products / 40)
    mean, variance = weights.sum(), 2 * np.sum(weights**2)
    statistic = np.trace(A @ B) / 40
    if corrected:
        statistic /= np.trace(R @ R @ R @ R) / np.sum(np.diag(R @ R) ** 2)
    found = conditional_independence_test(
        X, Y, Z, kernels=[k, k, k], regularization=1e-2, corrected=corrected
    )
    assert found.statistic == pytest.approx(statistic)
    expected = gamma.sf(statistic, mean**2 / variance, scale=variance / mean)
    assert found.pvalue == pytest.approx(expected, rel=1e-6)


def test_default_widths_grow_with_the_dimension(rng):
    """Standardised features, lengthscale 1.2 sqrt(d): so does the typical distance."""
    X, Y, Z = triple(60, 3, rng)
    units = np.array([100.0, 1.0, 0.01])
    found = conditional_independence_test(X, Y, Z)
    assert conditional_independence_test(X, 1000 * Y, Z * units).pvalue == pytest.approx(
        found.pvalue
    )
    V = (Z - Z.mean(0)) / Z.std(0)
    M = np.exp(-cdist(V, V, "sqeuclidean") / (2 * 1.2**2 * 3))
    from mercer.stats.conditional import _gaussian

    assert _gaussian(Z, 1.2)(Z) == pytest.approx(M)


def test_spectrum_and_gamma_agree(rng):
    draw = triple(100, 1, rng, direct=0.2)
    one, other = (conditional_independence_test(*draw, null=null) for null in ("gamma", "spectrum"))
    assert one.statistic == other.statistic
    assert one.pvalue == pytest.approx(other.pvalue, abs=0.03)


def test_chain_and_collider(rng):
    x = rng.standard_normal(200)
    z = x + 0.5 * rng.standard_normal(200)
    y = z + 0.5 * rng.standard_normal(200)
    assert independence_test(x, y, rng=0).pvalue < 0.01
    assert conditional_independence_test(x, y, z).pvalue > 0.05
    a, b = rng.standard_normal((2, 200))
    assert independence_test(a, b, rng=0).pvalue > 0.05
    assert conditional_independence_test(a, b, a + b).pvalue < 0.01


@pytest.mark.parametrize("d", [1, 3])
def test_level_and_power(d):
    assert rate(80, d, 60) <= 0.15
    assert rate(80, d, 40, direct=0.5) > 0.6


def test_correction_keeps_the_level_in_more_dimensions():
    assert rate(80, 6, 60, corrected=False) > 0.15
    assert rate(80, 6, 60) <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 4])
def test_level_over_many_samples(d):
    assert rate(100, d, 1000) <= 0.065


def test_labels_and_a_constant_condition(rng):
    z = rng.choice(["a", "b"], 100).tolist()
    shift = np.where(np.array(z) == "a", 2.0, -2.0)
    x, y = shift + rng.standard_normal((2, 100))
    kernels = [None, None, Categorical()]
    assert independence_test(x, y, rng=0).pvalue < 0.01
    assert conditional_independence_test(x, y, z, kernels=kernels).pvalue > 0.05
    a, b = rng.standard_normal((2, 100))
    assert conditional_independence_test(a, b, np.ones(100)).pvalue > 0.05
    assert conditional_independence_test(a, a + b, np.ones(100)).pvalue < 0.01


def test_bad_input(rng):
    X, Y, Z = triple(30, 1, rng)
    with pytest.raises(ValueError, match="null must be one of"):
        conditional_independence_test(X, Y, Z, null="permutation")
    with pytest.raises(ValueError, match="regularization"):
        conditional_independence_test(X, Y, Z, regularization=0)
    with pytest.raises(ValueError, match="as often each"):
        conditional_independence_test(X, Y, Z[:20])
    with pytest.raises(ValueError, match="kernels have to be given"):
        conditional_independence_test(X, ["a"] * 30, Z)
