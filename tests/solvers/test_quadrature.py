import numpy as np
import pytest

from mercer import Gaussian, pivoted_cholesky
from mercer.gram.stored import TiledGram
from mercer.gram.tiles import contract
from mercer.solvers import criteria
from mercer.solvers.quadrature import (
    Draws,
    PivotPreconditioner,
    conjugate_gradients,
    estimate,
)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(3)
    n = 1200
    X = rng.standard_normal((n, 3))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2]) + 0.3 * rng.standard_normal((n, 2))
    kernel = 1.2 * Gaussian(np.array([0.6, 0.9, 1.5]))
    return kernel, X, Y, rng.uniform(0.05, 0.15, n)


def preconditioner(kernel, X, noise, rank):
    gram = TiledGram(kernel, kernel.prepare(X))
    return gram, PivotPreconditioner(gram, noise, pivoted_cholesky(gram, rank, rng=0).pivots)


def test_the_preconditioner_is_the_inverse_of_what_it_says(problem, rng):
    kernel, X, _, noise = problem
    _, P = preconditioner(kernel, X, noise, 40)
    inverse = P @ np.eye(len(X))
    exact = np.linalg.inv(inverse)
    assert P.logdet() == pytest.approx(np.linalg.slogdet(exact)[1], rel=1e-8)
    draws = Draws.of(len(X), P.U.shape[1], rng, 4000)
    Z = P.draw(draws.few, draws.many)[:5]
    np.testing.assert_allclose(Z @ Z.T / 4000, exact[:5, :5], atol=0.1)


def test_systems_are_solved(problem):
    kernel, X, Y, noise = problem
    gram, P = preconditioner(kernel, X, noise, 100)
    found = conjugate_gradients(gram, noise, Y, P, tol=1e-8)
    exact = np.linalg.solve(kernel(X) + np.diag(noise), Y)
    assert found.residual <= 1e-8
    np.testing.assert_allclose(found.X, exact, atol=1e-5 * np.abs(exact).max())
    assert not np.any(conjugate_gradients(gram, noise, np.zeros((len(X), 1)), P).X)


@pytest.mark.parametrize("rank", [120, 250])
def test_evidence_and_slope_are_near_the_dense_ones(problem, rank):
    """The value to four standard errors; the slope, per sample, to 0.05."""
    kernel, X, Y, noise = problem
    n = len(X)
    exact = criteria.evidence(kernel(X) + np.diag(noise), Y)
    gram, P = preconditioner(kernel, X, noise, rank)
    found = estimate(gram, Y, noise, P, Draws.of(n, P.U.shape[1], np.random.default_rng(0)))
    assert abs(found.value - exact.value) < 4 * found.error + 1e-3 * n
    assert found.error < 0.03 * n
    slopes = [contract(kernel, gram.X, one.tile) for one in (found, exact)]
    np.testing.assert_allclose(slopes[0], slopes[1], atol=0.05 * n)
    np.testing.assert_allclose(noise @ found.diagonal, noise @ exact.diagonal, atol=0.02 * n)


def test_a_complete_preconditioner_leaves_nothing_to_chance(problem):
    kernel, X, Y, noise = problem
    X, Y, noise = X[:150], Y[:150], noise[:150]
    gram = TiledGram(kernel, kernel.prepare(X))
    P = PivotPreconditioner(gram, noise, np.arange(150))
    found = estimate(gram, Y, noise, P, Draws.of(150, 150, np.random.default_rng(0), 2))
    exact = criteria.evidence(kernel(X) + np.diag(noise), Y)
    assert found.value == pytest.approx(exact.value, abs=1e-3)
    np.testing.assert_allclose(
        contract(kernel, gram.X, found.tile), contract(kernel, gram.X, exact.tile), atol=1e-2
    )
