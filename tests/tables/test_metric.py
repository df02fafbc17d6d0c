"""Profiles, gradients by differences, and distances that find the columns that matter."""

import numpy as np
import pytest

from mercer import KernelRidge
from mercer.tables.metric import ALPHAS, Fold, Profile, Spectrum, follow, learn, moved

KINDS = [
    Profile("l1"),
    Profile("l2", diagonal=False),
    Profile("l2"),
    Profile("m52", diagonal=False),
]


@pytest.mark.parametrize("profile", [*KINDS, Profile("linear", rounds=0)])
def test_values_are_those_of_the_kernel(profile, rng):
    X, Z = rng.normal(size=(20, 3)), rng.normal(size=(10, 3))
    found = profile.values(profile.distances(X, Z))
    np.testing.assert_allclose(found, profile.kernel(X, Z), rtol=1e-7, atol=1e-9)


def test_spectrum_is_ridge_regression(rng):
    """Values, variances and leave-one-out errors, with weights."""
    X, new, w = rng.normal(size=(40, 2)), rng.normal(size=(7, 2)), rng.uniform(0.5, 2, 40)
    Y = np.column_stack([X[:, 0], X[:, 1] ** 2])
    profile = Profile("l2")
    K, K_new = profile.kernel(X), profile.kernel(new, X)
    found = Spectrum(K, Y, np.sqrt(w))
    values, variances = found.predict(K_new * np.sqrt(w), [0.1, 1.0], 1.0)
    for a, alpha in enumerate((0.1, 1.0)):
        ridge = KernelRidge(alpha, kernel=profile.kernel).fit(X, Y, w)
        np.testing.assert_allclose(values[a], ridge.predict(new), rtol=1e-8)
        np.testing.assert_allclose(variances[a], ridge.posterior_variance(new), rtol=1e-6)
        np.testing.assert_allclose(found.coef(alpha), ridge.dual_coef_, rtol=1e-7, atol=1e-10)
    plain = Spectrum(K, Y, np.ones(40))
    ridge = KernelRidge(0.1, kernel=profile.kernel).fit(X, Y)
    wanted = np.mean((Y - ridge.leave_one_out()) ** 2)
    assert plain.left_out(0.1) == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("profile", KINDS)
def test_gradients_by_differences(profile, rng):
    """One round gives the root of the mean outer product of the gradients of f."""
    n, d, alpha = 30, 3, 0.1
    Z, step = rng.normal(size=(n, d)), 1e-5
    Y = (Z[:, :1] * Z[:, 1:2]) + 0.1 * Z[:, 2:]
    start = learn(profile._replace(rounds=0), Z, Y, np.ones(n), alpha)
    scale = 1 / start[0]
    ridge = KernelRidge(alpha, kernel=profile.kernel).fit(Z / scale, Y[:, 0])
    G = np.empty((n, d))
    for j in range(d):
        e = step * np.eye(d)[j]
        # a cusp lies at each row itself: the mean of both sides
        G[:, j] = (ridge.predict((Z + e) / scale) - ridge.predict((Z - e) / scale)) / (2 * step)
    found = learn(profile._replace(rounds=1), Z, Y, np.ones(n), alpha)
    M = G.T @ G
    if profile.diagonal:
        wanted = np.sqrt(np.diag(M) / np.diag(M).max())
        np.testing.assert_allclose(found / found.max(), wanted, rtol=1e-3)
    else:
        A = found @ found.T
        np.testing.assert_allclose(A / np.trace(A), M / np.trace(M), atol=2e-3)


@pytest.mark.parametrize("profile", KINDS)
def test_columns_that_matter_are_found(profile, rng):
    Z = rng.normal(size=(250, 8))
    y = np.sin(2 * Z[:, 0]) + Z[:, 1] ** 2
    Y = ((y - y.mean()) / y.std())[:, None]
    A = learn(profile, Z, Y, np.ones(250), 0.03)
    sizes = A if A.ndim == 1 else np.linalg.norm(A, axis=1)
    assert sizes[:2].min() > 2 * sizes[2:].max()
    fold = Fold(Z[:150], Y[:150], np.ones(150), Z[150:])
    values, variances = follow(profile, fold, ALPHAS)
    assert values.shape == (4, len(ALPHAS), 100, 1)
    assert variances.min() >= 0
    errors = np.mean((values - Y[150:]) ** 2, axis=(2, 3)).min(axis=1)
    assert errors[1:].min() < 0.8 * errors[0]


def test_degenerate_data():
    """Equal rows, constant targets, one column: nothing breaks, nothing is infinite."""
    for Z, Y in (
        (np.zeros((10, 2)), np.arange(10.0)[:, None]),
        (np.arange(20.0).reshape(10, 2), np.zeros((10, 1))),
        (np.repeat([[0.0], [1.0]], 5, axis=0), np.repeat([[1.0], [-1.0]], 5, axis=0)),
    ):
        for profile in KINDS:
            assert np.isfinite(learn(profile, Z, Y, np.ones(10), 0.1)).all()
            values, _ = follow(profile, Fold(Z, Y, np.ones(10), Z[:3]), ALPHAS)
            assert np.isfinite(values).all()


def test_moved(rng):
    Z, a = rng.normal(size=(5, 3)), rng.uniform(size=3)
    assert moved(Z, None) is Z
    np.testing.assert_allclose(moved(Z, a), moved(Z, np.diag(a)))
