import numpy as np
import pytest
import scipy.sparse as sp

from mercer.gram.rows import FeatureRowGram
from mercer.solvers import coordinate
from mercer.solvers.coordinate import warm_start
from mercer.solvers.smo import BoxProblem, solve_box


@pytest.fixture
def problems(rng):
    X = rng.standard_normal((400, 5))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(400) > 0.3, 1.0, -1.0)
    C = rng.uniform(0.5, 1, 400)
    zero = np.zeros(400)
    return X, {
        "classification": BoxProblem(y, np.where(y > 0, 0, -C), np.where(y > 0, C, 0), zero),
        "regression": BoxProblem(X @ np.ones(5) + 3, -C, C, zero, epsilon=0.3),
    }


def objective(X, problem, beta):
    w = X.T @ beta
    return w @ w / 2 - problem.target @ beta + problem.epsilon * np.abs(beta).sum()


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("name", ["classification", "regression"])
def test_start_is_feasible_and_nearly_optimal(problems, name, sparse):
    X, named = problems
    problem = named[name]
    phi = sp.csr_matrix(X) if sparse else X
    beta = coordinate.descend(phi, problem, 1e-3, 0)
    assert beta.sum() == pytest.approx(0, abs=1e-9)
    assert np.all((beta >= problem.lower) & (beta <= problem.upper))
    exact = solve_box(FeatureRowGram(X), problem, tol=1e-8)
    best = objective(X, problem, exact.beta)
    assert objective(X, problem, beta) == pytest.approx(best, rel=1e-2)


def test_start_leaves_little_to_do(problems, monkeypatch):
    monkeypatch.setattr(coordinate, "_FEW", 0)
    X, named = problems
    problem = named["classification"]
    started = coordinate.warm_start(X, problem)
    cold = solve_box(FeatureRowGram(X), problem, max_iter=0)
    warm = solve_box(FeatureRowGram(X), started, max_iter=0)
    assert warm.violation < cold.violation / 20
    finished, exact = (solve_box(FeatureRowGram(X), p) for p in (started, problem))
    assert finished.converged
    assert objective(X, problem, finished.beta) == pytest.approx(
        objective(X, problem, exact.beta), rel=1e-4
    )


def test_only_where_it_applies(problems):
    X, named = problems
    assert coordinate.warm_start(X, named["classification"]) is named["classification"]


@pytest.mark.parametrize("size", [1e160, np.inf, np.nan])
def test_features_whose_products_overflow_give_no_start(rng, size):
    """The decomposition then begins at zero, and refuses what is not finite."""
    n = 2100
    phi = size * rng.standard_normal((n, 2))
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    problem = BoxProblem(y, np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros(n))
    assert warm_start(phi, problem) is problem
