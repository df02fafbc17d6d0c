"""Low-rank preconditioners of every penalty and every part."""

import numpy as np
import pytest

from mercer import Gaussian, Plan
from mercer.solvers.preconditioner import (
    LowRankPreconditioner,
    NystromPreconditioner,
    low_rank,
    most_columns,
)


@pytest.fixture
def gram(rng):
    return Gaussian(2.0).gram(rng.standard_normal((120, 3)), Plan(storage="tiled"))


def inverse(F, delta, part):
    F = F * part[:, None]
    return part[:, None] * np.linalg.inv(F @ F.T + delta * np.eye(len(F))) * part


@pytest.mark.parametrize("count", [2, 7])  # by factors, and by an eigendecomposition
def test_is_the_inverse_for_every_penalty_and_part(gram, rng, count):
    alphas = np.logspace(-2, 2, count)
    parts = rng.random((2, 120)) < 0.8
    found = low_rank(gram, 0.1, 20, rng)
    P = LowRankPreconditioner(found, alphas, parts)
    part = rng.integers(0, 2, count)
    R = rng.standard_normal((120, count)) * parts[part].T
    Z = P(R, alphas, part)
    F, shifts = found.factor.astype(float), P.shift(alphas)
    np.testing.assert_allclose(shifts, alphas + found.residual / 120)
    for j in range(count):
        expected = inverse(F, shifts[j], parts[part[j]]) @ R[:, j]
        np.testing.assert_allclose(Z[:, j], expected, atol=1e-9)


@pytest.mark.parametrize("count", [1, 7])
def test_diagonal(gram, rng, count):
    alphas = np.logspace(0, 1, count)
    found = low_rank(gram, 0.1, 20, rng)
    P = LowRankPreconditioner(found, alphas)
    F = found.factor.astype(float)
    expected = np.diag(inverse(F, float(P.shift(alphas)[0]), np.ones(120, bool)))
    np.testing.assert_allclose(P.diag(alphas[0]), expected, rtol=1e-8)


def test_stops_where_the_condition_number_is_bounded(rng):
    X = rng.standard_normal((300, 1))
    gram, alpha = Gaussian().gram(X), 1.0
    found = low_rank(gram, alpha, 100, rng)
    assert found.rank < 50
    assert found.residual <= 10 * alpha
    P = LowRankPreconditioner(found, np.array([alpha]))
    A = Gaussian()(X) + alpha * np.eye(300)
    PA = P(A, np.full(300, alpha), np.zeros(300, dtype=int))
    values = np.sort(np.linalg.eigvals(PA).real)
    assert values[-1] / values[0] <= 11


def test_in_double_precision_only_where_single_does_not_do(rng):
    X = rng.standard_normal((300, 1))
    single, double = (low_rank(Gaussian().gram(X), alpha, 100, rng) for alpha in (1.0, 1e-6))
    assert single.factor.dtype == np.float32
    assert double.factor.dtype == np.float64
    assert double.residual <= 1e-5


def test_of_any_diagonal(gram, rng):
    noise, V = rng.uniform(0.1, 10, 120), rng.standard_normal((120, 2))
    P = NystromPreconditioner(gram, noise, 120, rng)
    exact = np.linalg.solve(gram.to_dense() + np.diag(noise), V)
    np.testing.assert_allclose(P @ V, exact, atol=0.1 * np.abs(exact).max())


def test_rank_by_memory():
    assert most_columns(10, 1e9) == 10
    assert most_columns(10_000, 1e9) == 1000
    assert most_columns(250_000, 1e10) == 3000
    assert most_columns(100_000, 1) == 100
    r = most_columns(100_000, 4e8)
    assert 8 * 100_000 * r + 16 * r**2 <= 4e8 < 8 * 100_000 * (r + 1) + 16 * (r + 1) ** 2
