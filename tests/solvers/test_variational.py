import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer import Gaussian, Linear
from mercer.gram.stored import TiledGram
from mercer.solvers.variational import Bound, Whitened


def bound(kernel, X, Z, Y, noise, keep=True):
    P, Q = kernel.prepare(X), kernel.prepare(Z)
    return Bound(Whitened(TiledGram(kernel, P, Q), kernel(Z), kernel.diag(P), keep), Y, noise)


@pytest.fixture
def problem(rng):
    X = rng.standard_normal((90, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1]]) + 0.1 * rng.standard_normal((90, 2))
    return 1.5 * Gaussian(0.8) + 0.2 * Linear(), X, Y, rng.uniform(0.05, 0.2, 90)


def test_the_bound_is_titsias_formula(problem):
    kernel, X, Y, noise = problem
    Z = X[:12] + 0.01
    Q = kernel(X, Z) @ np.linalg.solve(kernel(Z), kernel(Z, X))
    lost = ((np.diag(kernel(X)) - np.diag(Q)) / noise).sum() / 2
    exact = sum(multivariate_normal(cov=Q + np.diag(noise)).logpdf(y) - lost for y in Y.T)
    assert -bound(kernel, X, Z, Y, noise).value == pytest.approx(exact, rel=1e-5)


def test_it_is_below_the_evidence_and_equal_with_all_samples(problem):
    kernel, X, Y, noise = problem
    exact = sum(multivariate_normal(cov=kernel(X) + np.diag(noise)).logpdf(y) for y in Y.T)
    few = [-bound(kernel, X, X[:m], Y, noise).value for m in (1, 10, 30, 90)]
    assert np.all(np.diff(few) > -1e-6)
    assert few[2] < exact
    assert few[3] == pytest.approx(exact, abs=1e-3)
    assert few[3] <= exact + 1e-6


def test_mean_and_variance_with_all_samples_are_those_of_the_process(problem, rng):
    kernel, X, Y, noise = problem
    new = rng.standard_normal((7, 2))
    found = bound(kernel, X, X, Y, noise)
    A, B = kernel(X) + np.diag(noise), kernel(X, new)
    np.testing.assert_allclose(B.T @ found.coef, B.T @ np.linalg.solve(A, Y), atol=1e-5)
    explained = np.einsum("ij,ij->j", B, np.linalg.solve(A, B))
    np.testing.assert_allclose(found.factor.explained(B), explained, atol=1e-5)


def test_the_variance_is_the_dense_formula(problem, rng):
    kernel, X, Y, noise = problem
    Z, new = X[:12], rng.standard_normal((7, 2))
    Kzz = kernel(Z) + 1e-8 * np.mean(np.diag(kernel(Z))) * np.eye(12)
    S = Kzz + kernel(Z, X) @ np.diag(1 / noise) @ kernel(X, Z)
    B = kernel(Z, new)
    explained = np.einsum("ij,ij->j", B, np.linalg.solve(Kzz, B) - np.linalg.solve(S, B))
    np.testing.assert_allclose(
        bound(kernel, X, Z, Y, noise).factor.explained(B), explained, rtol=1e-5
    )


def test_strips_that_are_not_kept_give_the_same(problem, monkeypatch):
    kernel, X, Y, noise = problem
    whole = bound(kernel, X, X[:12], Y, noise)
    monkeypatch.setattr("mercer.solvers.variational._STRIP", 13)
    strips = bound(kernel, X, X[:12], Y, noise, keep=False)
    assert strips.value == pytest.approx(whole.value, rel=1e-10)
    weights = np.concatenate([strips.cross_weights(i) for i in range(len(strips.whitened.strips))])
    np.testing.assert_allclose(weights, whole.cross_weights(0), rtol=1e-6, atol=1e-7)


def test_landmarks_on_the_same_place_do_no_harm(problem):
    kernel, X, Y, noise = problem
    once = bound(kernel, X, X[:10], Y, noise)
    twice = bound(kernel, X, np.repeat(X[:10], 2, axis=0), Y, noise)
    assert twice.value == pytest.approx(once.value, rel=1e-4)
