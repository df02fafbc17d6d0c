"""Parts of a Gaussian process: they add up, and are what the joint normal distribution says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from mercer import Gaussian, Linear, Periodic, Spectrum
from mercer.models.gp import GaussianProcessRegressor


@pytest.fixture
def data(rng):
    x = np.sort(rng.uniform(0, 6, 60))
    return x[:, None], 5 + 0.4 * x + np.sin(2 * np.pi * x) + 0.1 * rng.standard_normal(60)


KERNEL = 1.5 * Gaussian(2.0) + (0.3 * Linear() + 0.8 * Periodic(period=1.0))


def test_parts_in_order_and_their_sum(rng, data):
    X, y = data
    new = rng.uniform(-2, 9, (20, 1))
    model = GaussianProcessRegressor(KERNEL, random_state=0).fit(X, y)
    parts = model.parts()
    kinds = [part.kernel.right for part in parts]
    assert [type(k) for k in kinds] == [Gaussian, Linear, Periodic]
    assert parts[2].kernel == model.kernel_.right.right
    total = sum(part.predict(new) for part in parts)
    np.testing.assert_allclose(total + y.mean(), model.predict(new), rtol=1e-8)


def test_posterior_from_the_joint_normal_distribution(rng, data):
    X, y = data
    new = rng.uniform(0, 9, (5, 1))
    model = GaussianProcessRegressor(KERNEL, alpha=0.2, optimizer=None, normalize_y=False)
    model.fit(X, y)
    # f_j at the new points and y are jointly normal; only f_j and the same part of y covary
    A = KERNEL(X) + 0.2 * np.eye(60)
    for part in model.parts():
        cross = part.kernel(new, X)
        mean, cov = part.predict(new, return_cov=True)
        np.testing.assert_allclose(mean, cross @ np.linalg.solve(A, y), atol=1e-8)
        exact = part.kernel(new) - cross @ np.linalg.solve(A, cross.T)
        np.testing.assert_allclose(cov, exact, atol=1e-8)
        std = part.predict(new, return_std=True)[1]
        np.testing.assert_allclose(std**2, np.diag(exact), atol=1e-8)


def test_variances_and_covariances_add_up(rng, data):
    """Var f = sum of Var f_j and of Cov(f_i, f_j) = -k_i(x, X) A^-1 k_j(X, x)."""
    X, y = data
    new = rng.uniform(0, 9, (5, 1))
    model = GaussianProcessRegressor(KERNEL, alpha=0.2, optimizer=None, normalize_y=False)
    parts = model.fit(X, y).parts()
    A = KERNEL(X) + 0.2 * np.eye(60)
    total = sum(part.predict(new, return_cov=True)[1] for part in parts)
    for one in parts:
        for two in parts:
            if one is not two:
                total = total - one.kernel(new, X) @ np.linalg.solve(A, two.kernel(X, new))
    np.testing.assert_allclose(total, model.predict(new, return_cov=True)[1], atol=1e-8)


def test_units_of_y_and_several_targets(data):
    X, y = data
    Y = np.column_stack([y, 10 * y - 3])
    model = GaussianProcessRegressor(KERNEL, alpha=0.2, optimizer=None)
    alone = [clone(model).fit(X, target).parts() for target in Y.T]
    parts = model.fit(X, Y).parts()
    for i, part in enumerate(parts):
        mean, std = part.predict(X[:4], return_std=True)
        assert mean.shape == std.shape == (4, 2)
        for j in range(2):
            expected = alone[j][i].predict(X[:4], return_std=True)
            np.testing.assert_allclose((mean[:, j], std[:, j]), expected, atol=1e-8)
    assert parts[0].sample_y(X[:4], 3).shape == (4, 2, 3)


def test_draws(data):
    X, y = data
    part = GaussianProcessRegressor(KERNEL, alpha=0.2, optimizer=None).fit(X, y).parts()[2]
    new = np.array([[0.2], [0.3], [8.0]])
    mean, cov = part.predict(new, return_cov=True)
    draws = part.sample_y(new, 40_000, random_state=1)
    np.testing.assert_allclose(draws.mean(axis=1), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws), cov, atol=0.03)


def test_one_part_only(data):
    X, y = data
    model = GaussianProcessRegressor(2 * Gaussian(), alpha=0.1, optimizer=None).fit(X, y)
    (part,) = model.parts()
    np.testing.assert_allclose(part.predict(X) + y.mean(), model.predict(X))
    assert repr(part) == "ProcessPart(2 * Gaussian())"


def test_strings(rng):
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(40)]
    y = np.array([w.count("ab") for w in words], dtype=float)
    model = GaussianProcessRegressor(Spectrum(1) + Spectrum(2), alpha=0.1, optimizer=None)
    short, long = model.fit(words, y).parts()
    np.testing.assert_allclose(
        short.predict(words) + long.predict(words) + y.mean(), model.predict(words)
    )


def test_bad_input(data):
    X, y = data
    with pytest.raises(ValueError, match="not fitted"):
        GaussianProcessRegressor(KERNEL).parts()
    part = GaussianProcessRegressor(KERNEL, alpha=0.2, optimizer=None).fit(X, y).parts()[0]
    with pytest.raises(ValueError, match="at most one of return_std"):
        part.predict(X, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="2 features, but GaussianProcessRegressor is expecting 1"):
        part.predict(np.zeros((3, 2)))
