import numpy as np
import pytest

from mercer import Gaussian, GaussianProcessRegressor, Plan
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


@pytest.mark.parametrize("noise", [1e-2, 1.0])
@pytest.mark.parametrize("tol", [0.2, 0.01])
def test_standard_deviations_are_as_exact_as_was_asked_for(noise, tol):
    rng = np.random.default_rng(0)
    X, new = rng.uniform(0, 3, (600, 2)), rng.uniform(-0.5, 3.5, (40, 2))
    kernel = Gaussian(0.5)
    A, B = kernel(X) + noise * np.eye(600), kernel(X, new)
    exact = np.sqrt(1 - np.einsum("ij,ij->j", B, np.linalg.solve(A, B)))
    factor = IterativeFactor(kernel.gram(X, Plan(storage="tiled")), np.full(600, noise))
    found = np.sqrt(1 - factor.refined(B, np.ones(40), tol))
    assert np.all(found >= exact * (1 - 1e-6))
    assert np.all(found <= exact * (1 + tol))
    model = GaussianProcessRegressor(
        kernel, alpha=noise, optimizer=None, normalize_y=False, plan=Plan(storage="tiled")
    ).fit(X, np.sin(X[:, 0]))
    std = model.predict(new, return_std=True, std_tol=tol)[1]
    assert np.all((std >= exact * (1 - 1e-6)) & (std <= exact * (1 + tol)))
    with pytest.raises(ValueError, match="std_tol must be > 0"):
        model.predict(new, return_std=True, std_tol=0.0)
