"""FITC against dense formulas, and its slopes against differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import mercer
from mercer import Gaussian, GaussianProcessRegressor, Linear
from mercer.gram.stored import TiledGram
from mercer.solvers.fitc import Conditional
from mercer.solvers.variational import Bound, Whitened


def evidence(kernel, X, Z, Y, noise, kind=Conditional):
    P, Q = kernel.prepare(X), kernel.prepare(Z)
    return kind(Whitened(TiledGram(kernel, P, Q), kernel(Z), kernel.diag(P)), Y, noise)


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((90, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * rng.standard_normal((90, 2))
    return 1.5 * Gaussian(0.8) + 0.2 * Linear(), X, Y, rng.uniform(0.05, 0.2, 90)


def dense(kernel, X, Z, noise):
    Q = kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    return Q, Q + np.diag(noise + np.diag(kernel(X)) - np.diag(Q))


def test_the_evidence_is_the_dense_formula(problem):
    kernel, X, Y, noise = problem
    Z = X[:12] + 0.01
    cov = dense(kernel, X, Z, noise)[1]
    exact = sum(multivariate_normal(cov=cov).logpdf(y) for y in Y.T)
    found = evidence(kernel, X, Z, Y, noise)
    assert -found.value == pytest.approx(exact, rel=1e-5)
    assert found.value < evidence(kernel, X, Z, Y, noise, Bound).value  # which is charged for


def test_mean_and_variance_are_the_dense_formulas(problem, rng):
    kernel, X, Y, noise = problem
    Z, new = X[:12] + 0.01, rng.standard_normal((7, 2))
    cov = dense(kernel, X, Z, noise)[1]
    cross = kernel(new, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    found = evidence(kernel, X, Z, Y, noise)
    np.testing.assert_allclose(
        kernel(new, Z) @ found.coef, cross @ np.linalg.solve(cov, Y), atol=1e-5
    )
    explained = np.einsum("ij,ji->i", cross, np.linalg.solve(cov, cross.T))
    np.testing.assert_allclose(found.factor.explained(kernel(Z, new)), explained, rtol=1e-4)


def test_with_all_samples_it_is_the_process(problem):
    kernel, X, Y, noise = problem
    exact = sum(multivariate_normal(cov=kernel(X) + np.diag(noise)).logpdf(y) for y in Y.T)
    assert -evidence(kernel, X, X, Y, noise).value == pytest.approx(exact, abs=1e-3)


@pytest.mark.parametrize("landmarks", [8, "data"])
def test_models_learn_by_it(rng, landmarks, tmp_path):
    X = rng.uniform(-3, 3, (300, 1))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    given = X[:8] if landmarks == "data" else landmarks
    model = GaussianProcessRegressor(landmarks=given, approximation="fitc", random_state=0)
    model.fit(X, y)
    mean, std = model.predict(X, return_std=True)
    assert np.sqrt(np.mean((mean - np.sin(2 * X[:, 0])) ** 2)) < 0.1
    assert np.all(std > 0)
    bound = GaussianProcessRegressor(landmarks=given, random_state=0).fit(X, y)
    assert model.log_marginal_likelihood_value_ >= bound.log_marginal_likelihood_value_ - 1
    mercer.save(model, tmp_path / "model")
    np.testing.assert_allclose(mercer.load(tmp_path / "model").predict(X), mean)


def test_what_is_refused():
    with pytest.raises(ValueError, match="approximation must be one of"):
        GaussianProcessRegressor(approximation="dtc").fit(np.zeros((3, 1)), np.zeros(3))
