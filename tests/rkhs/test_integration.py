"""Quadrature: weights by hand, worst cases, Bayesian errors, points."""

import numpy as np
import pytest
from scipy.stats import expon, norm, uniform

from mercer import Gaussian, KnownEmbedding, Matern, kernel_quadrature, mmd_to


def test_weights_solve_the_normal_equations(rng):
    k, P, x = Gaussian(0.8), norm(0, 1), rng.normal(size=(6, 1))
    rule = kernel_quadrature(k, P, x)
    mu = KnownEmbedding(k, P)
    np.testing.assert_allclose(rule.weights, np.linalg.solve(k(x), mu(x)), rtol=1e-6)
    assert rule.error == pytest.approx(mu.distance(rule.embedding), abs=1e-7)
    equal = np.sqrt(mmd_to(x, P, k, biased=True))
    assert rule.error < equal  # no other weights are better
    for _ in range(5):
        other = rule.weights + 0.01 * rng.normal(size=6)
        gap = mu.inner(mu) - 2 * other @ mu(x) + other @ k(x) @ other
        assert np.sqrt(gap) >= rule.error - 1e-12


def test_integrals_of_functions_of_the_space_are_within_the_bound(rng):
    k, P = Matern(1.0, nu=1.5), uniform(0, 1)
    rule = kernel_quadrature(k, P, 8, rng=0)
    f = k.at(0.3) - 2 * k.at(0.9)
    exact = KnownEmbedding(k, P).inner(f)
    found = rule.integrate(f)
    assert abs(found.value - exact) <= rule.error * f.norm() + 1e-9


def test_errors_fall_with_points_and_tell_the_truth():
    rules = [kernel_quadrature(Gaussian(1.0), norm(0, 1), n, rng=0) for n in (2, 5, 10, 15)]
    assert np.all(np.diff([r.error for r in rules]) < 0)
    value, error = rules[2].integrate(lambda x: np.cos(x) + x**2)
    assert abs(value - (np.exp(-0.5) + 1)) < 3 * error + 0.02
    normal = kernel_quadrature(Gaussian([1.0, 2.0]), (np.zeros(2), np.eye(2)), 25, rng=0)
    found = normal.integrate(lambda X: np.exp(-0.5 * np.sum(X**2, axis=1)))
    assert found.value == pytest.approx(0.5, abs=0.02)


def test_chosen_points_are_better_than_draws(rng):
    chosen = kernel_quadrature(Gaussian(0.5), norm(0, 1), 10, rng=0).error
    drawn = np.median([kernel_quadrature(Gaussian(0.5), norm(0, 1), rng.normal(size=10)).error
                       for _ in range(9)])  # fmt: skip
    assert chosen < 0.5 * drawn


def test_equal_points_and_errors(rng):
    rule = kernel_quadrature(Gaussian(1.0), expon(0, 1), np.array([1.0, 1.0, 2.0]))
    assert rule.jitter > 0
    assert np.isfinite(rule.error)
    many = kernel_quadrature(Gaussian(50.0), norm(0, 1), 30, rng=0)  # all points look alike
    assert len(many) < 30
    with pytest.raises(ValueError, match="points"):
        kernel_quadrature(Gaussian(), norm(0, 1), 0)
    with pytest.raises(ValueError, match="points must be an integer from 1 to 2000"):
        kernel_quadrature(Gaussian(), norm(0, 1), 5000)
    with pytest.raises(ValueError, match="3 finite values"):
        rule.integrate([1.0])
