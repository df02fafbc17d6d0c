import numpy as np
import pytest

from mercer import Gaussian, Plan
from mercer.exceptions import MemoryPlanError
from mercer.gram.stored import TiledGram
from mercer.solvers.iterative import IterativeFactor, rank_for


@pytest.fixture(scope="module", params=[np.float64, np.float32])
def problem(request):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((1000, 3)).astype(request.param)
    X[500:520] = X[480:500]  # duplicates
    kernel, noise = 1.5 * Gaussian(0.8), rng.uniform(0.05, 0.2, 1000)
    A = kernel(X.astype(float)) + np.diag(noise)
    new = rng.standard_normal((30, 3)).astype(request.param)
    factor = IterativeFactor(TiledGram(kernel, kernel.prepare(X)), noise)
    return factor, A, kernel(X.astype(float), new.astype(float)), rng


def test_solutions_come_with_a_residual(problem):
    factor, A, _, rng = problem
    Y = rng.standard_normal((1000, 2))
    C = factor.solve(Y)
    assert factor.solution.converged
    np.testing.assert_allclose(A @ C, Y, atol=1e-3)


def test_the_determinant_within_its_error(problem):
    factor, A, _, _ = problem
    found = factor.logdet()
    assert abs(found - np.linalg.slogdet(A)[1]) < 4 * factor.error + 1
    assert factor.error < 20


def test_variances_are_never_understated_and_not_by_much_overstated(problem):
    factor, A, B, _ = problem
    exact = np.einsum("ij,ij->j", B, np.linalg.solve(A, B))
    found = factor.explained(B.copy())
    assert np.all(found <= exact + 1e-4)
    left = 1.5 - exact
    assert np.mean((exact - found) / left) < 0.1
    np.testing.assert_array_less((exact - found) / (left + 0.1), 0.2)


def test_covariances_are_never_understated(problem):
    factor, A, B, _ = problem
    exact, half = B.T @ np.linalg.solve(A, B), factor.half_solve(B)
    assert np.linalg.eigvalsh(exact - half.T @ half)[0] > -1e-3
    np.testing.assert_allclose(half.T @ half, exact, atol=0.02)


def test_threads_do_not_matter(problem):
    factor, _, B, _ = problem
    one = IterativeFactor(TiledGram(factor.gram.kernel, factor.gram.X, workers=1), factor.noise)
    np.testing.assert_allclose(one.explained(B), factor.explained(B), rtol=1e-6)


def test_memory_bounds_the_rank():
    assert rank_for(10_000, np.inf) == 300
    assert rank_for(10_000, 8e6) < 30
    with pytest.raises(MemoryPlanError, match="a process of 10000 samples"):
        rank_for(10_000, Plan(memory="1 MB").limit)
