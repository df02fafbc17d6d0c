from __future__ import annotations

import numpy as np
import pytest

from mercer.solvers.exponential import exp, exp_product, exp_rows


@pytest.fixture
def factors(rng):
    """Exponents below zero, as those of a Gaussian kernel are."""
    X = rng.normal(size=(700, 4)).astype(np.float32)
    half, one = (X**2).sum(axis=1, keepdims=True) / 2, np.ones((len(X), 1), np.float32)
    return np.hstack([X, -half, one]), np.hstack([X, one, -half])


def test_exp(rng):
    x = np.concatenate([-rng.exponential(5, 1000), [0.0, 1e-6, -1e-6, -86.0, -200.0]])
    x = x.astype(np.float32)
    out = np.empty_like(x)
    exp(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=3e-7, atol=2e-38)


def test_product_is_that_of_the_matrix(rng, factors):
    left, right = factors
    weights, out = rng.normal(size=90), np.ones(len(right))
    exp_product(left[:90], right, weights, out)
    K = np.exp(left[:90].astype(np.float64) @ right.T.astype(np.float64))
    np.testing.assert_allclose(out, 1 + weights @ K, atol=1e-5)


def test_rows_are_those_of_the_matrix(factors):
    left, right = factors
    runs = np.array([[100, 300], [450, 700]])
    sample = np.concatenate([np.arange(*ends) for ends in runs])
    new, rows = np.array([3, 250]), np.zeros((5, len(sample)), np.float32)
    exp_rows(left, right, runs, sample, new, rows, 2)
    K = np.exp(left[sample[new]].astype(np.float64) @ right[sample].T.astype(np.float64))
    np.testing.assert_allclose(rows[2:4], K, atol=1e-6)
    assert not rows[:2].any()
    assert not rows[4:].any()
