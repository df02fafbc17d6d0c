"""Mean embeddings against plain means, closed forms and brute-force sums."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from mercer import (
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    RKHSFunction,
    Spectrum,
    distance_of_means,
    mean_embedding,
)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_inner_product_is_the_expectation(rng):
    X = rng.normal(size=(40, 2))
    f = RKHSFunction(Gaussian(), rng.normal(size=(5, 2)), rng.normal(size=5))
    assert mean_embedding(Gaussian(), X) @ f == pytest.approx(f(X).mean())
    w = rng.normal(size=40)
    assert mean_embedding(Gaussian(), X, w) @ f == pytest.approx(w @ f(X))


def test_weights_from_quadrature_embed_a_density():
    """The Gaussian kernel of scale l under N(0, 1): mu(x) = l/√(1+l²) exp(-x²/2(1+l²))."""
    nodes, w = np.polynomial.hermite_e.hermegauss(60)
    mu = mean_embedding(Gaussian(lengthscale=0.8), nodes, w / np.sqrt(2 * np.pi))
    x = np.linspace(-2, 2, 9)
    v = 1 + 0.8**2
    assert mu(x) == pytest.approx(0.8 / np.sqrt(v) * np.exp(-(x**2) / (2 * v)), abs=1e-9)
    by_hand = quad(
        lambda t: np.exp(-((t - 1) ** 2) / (2 * 0.64) - t**2 / 2) / np.sqrt(2 * np.pi), -12, 12
    )[0]
    assert mu([1.0])[0] == pytest.approx(by_hand)


def test_a_sample_converges_to_its_distribution(rng):
    mu = mean_embedding(Gaussian(), rng.normal(size=200_000))
    x = np.linspace(-2, 2, 5)
    assert mu(x) == pytest.approx(np.sqrt(0.5) * np.exp(-(x**2) / 4), abs=5e-3)


def brute_mmd(k, X, Y):
    total = 0.0
    for A, B, weight in ((X, X, 1), (Y, Y, 1), (X, Y, -2)):
        total += weight * sum(k([a], [b])[0, 0] for a in A for b in B) / (len(A) * len(B))
    return np.sqrt(total)


def test_distance_of_means_is_the_v_statistic(rng):
    X, Y = rng.normal(size=(7, 2)), rng.normal(size=(5, 2)) + 1
    for k in (Gaussian(), Laplacian(p=1), Polynomial(degree=2) + Gaussian()):
        assert distance_of_means(k, X, Y) == pytest.approx(brute_mmd(k, X, Y))
    words = ["abab", "bab", "aa"], ["cab", "bab"]
    assert distance_of_means(Spectrum(2), *words) == pytest.approx(brute_mmd(Spectrum(2), *words))


def test_linear_kernel_compares_means_and_polynomial_second_moments(rng):
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(200, 3)) * 2
    gap = np.linalg.norm(X.mean(axis=0) - Y.mean(axis=0))
    assert distance_of_means(Linear(), X, Y) == pytest.approx(gap)
    moments = X.T @ X / 300 - Y.T @ Y / 200
    pure = Polynomial(degree=2, offset=0)
    assert distance_of_means(pure, X, Y) == pytest.approx(np.linalg.norm(moments))


def test_two_samples_share_one_resolved_kernel(rng):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(20, 2)) + 3
    k = Gaussian("median")
    resolved = k.resolve(np.concatenate([X, Y]))
    assert distance_of_means(k, X, Y) == pytest.approx(distance_of_means(resolved, X, Y))
    with pytest.raises(TypeError, match="different spaces"):
        mean_embedding(k, X) - mean_embedding(k, Y)


def test_equal_samples_are_at_distance_zero(rng):
    X = rng.normal(size=(50, 2))
    assert distance_of_means(Gaussian(), X, X.copy()) == 0
    assert distance_of_means(Gaussian(), X, np.concatenate([X, X])) == pytest.approx(0, abs=1e-7)


def test_witness_function(rng):
    """(mu_X - mu_Y) / distance attains the largest difference of means among ||f|| <= 1."""
    X, Y = rng.normal(size=(60, 1)), rng.normal(size=(50, 1)) + 1
    k = Gaussian()
    witness = mean_embedding(k, X) - mean_embedding(k, Y)
    best = witness / witness.norm()
    assert best(X).mean() - best(Y).mean() == pytest.approx(distance_of_means(k, X, Y))
    for _ in range(20):
        f = RKHSFunction(k, rng.normal(size=(4, 1)), rng.normal(size=4))
        f = f / f.norm()
        assert f(X).mean() - f(Y).mean() <= distance_of_means(k, X, Y) + 1e-12
    assert witness([[-2.0]])[0] > 0 > witness([[3.0]])[0]


def test_bad_input(rng):
    with pytest.raises(ValueError, match="one number per sample"):
        mean_embedding(Linear(), [[1.0], [2.0]], [1.0])
    with pytest.raises(ValueError, match="no samples"):
        distance_of_means(Linear(), np.zeros((0, 1)), [[1.0]])
