from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer.gram.exponential import Factors, exp, exp_product, exp_rows, exp_scatter
from mercer.kernels.vectors.bits import DifferingBits


@pytest.fixture(params=["coordinates", "bits"])
def factors(rng, request):
    """Exponents below zero, as those of a Gaussian kernel are; and K."""
    if request.param == "coordinates":
        X = rng.normal(size=(700, 4))
        half, one = (X**2).sum(axis=1, keepdims=True) / 2, np.ones((len(X), 1))
        left, right = np.hstack([X, -half, one]), np.hstack([X, one, -half])
        found = Factors(left.astype(np.float32), right.astype(np.float32), np.float32(1))
    else:
        X = rng.integers(0, 2, (700, 70)).astype(float)
        bits = DifferingBits(X, X, (0.0, 1.0), -0.5)
        found = Factors(bits.left, bits.right, np.float32(bits.unit))
    return found, np.exp(-cdist(X, X, "sqeuclidean") / 2)


def test_exp(rng):
    x = np.concatenate([-rng.exponential(5, 1000), [0.0, 1e-6, -1e-6, -86.0, -200.0]])
    x = x.astype(np.float32)
    out = np.empty_like(x)
    exp(x, out)
    np.testing.assert_allclose(out, np.exp(x.astype(np.float64)), rtol=3e-7, atol=2e-38)


def test_product_is_that_of_the_matrix(rng, factors):
    (left, right, unit), K = factors
    weights, out = rng.normal(size=90), np.ones(len(right))
    exp_product(left[:90], right, unit, weights, out)
    np.testing.assert_allclose(out, 1 + weights @ K[:90], atol=1e-5)


def test_rows_are_those_of_the_matrix(factors):
    (left, right, unit), K = factors
    runs = np.array([[100, 300], [450, 700]])
    sample = np.concatenate([np.arange(*ends) for ends in runs])
    new, rows = np.array([3, 250]), np.zeros((5, len(sample)), np.float32)
    exp_rows(left, right, unit, runs, sample, new, rows, 2)
    np.testing.assert_allclose(rows[2:4], K[np.ix_(sample[new], sample)], atol=1e-6)
    assert not rows[:2].any()
    assert not rows[4:].any()


def test_bits_are_less_work_than_coordinates(factors):
    (left, _, _), _ = factors
    assert factors[0].work == {6: 6, 3: 9}[left.shape[1]]


def test_scattered_rows_are_those_of_the_matrix(factors):
    (left, right, unit), K = factors
    slots, cache = np.array([2, 0]), np.zeros((3, 710), np.float32)
    exp_scatter(left[[5, 600]], right, unit, cache, slots, 10)
    np.testing.assert_allclose(cache[slots, 10:], K[[5, 600]], atol=1e-6)
    assert not cache[1].any()
    assert not cache[:, :10].any()
