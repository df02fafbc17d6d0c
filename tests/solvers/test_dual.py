"""Which solver machines get, and what each promises."""

import numpy as np
import pytest

from mercer.gram.rows import FeatureRowGram, RowGram
from mercer.solvers import dual
from mercer.solvers.box import BoxProblem, bounds_of_optimum, multiplier
from mercer.solvers.dual import solve_dual


@pytest.fixture
def data(rng):
    X = rng.standard_normal((300, 4)) + 30.0  # far from the origin: features are centred
    y = np.where(X[:, 0] - 30 + 0.5 * rng.standard_normal(300) > 0.2, 1.0, -1.0)
    return X, BoxProblem(y, np.minimum(y, 0.0), np.maximum(y, 0.0), np.zeros(300))


def gap(problem, found):
    primal, value = bounds_of_optimum(problem, found, [multiplier(problem, found)])
    return (primal - value) / primal


@pytest.mark.parametrize("solver", ["decomposition", "coordinate"])
def test_slopes_and_intercept_are_those_of_features_as_given(data, solver):
    X, problem = data
    found = solve_dual(FeatureRowGram(X), problem, solver=solver, tol=1e-4)
    assert np.allclose(found.gradient, X @ (X.T @ found.beta) - problem.target, atol=1e-6)
    b = -multiplier(problem, found)
    w = X.T @ found.beta
    value = w @ w / 2 + np.maximum(1 - problem.target * (X @ w + b), 0).sum()
    assert value - (problem.target @ found.beta - w @ w / 2) <= 2e-4 * value


def test_auto_by_size(data, monkeypatch):
    X, problem = data
    K = FeatureRowGram(X)
    assert "sweeps" not in solve_dual(K, problem).stats
    monkeypatch.setattr(dual, "_FEW", 100)
    started = solve_dual(K, problem)  # finished by the decomposition
    assert "rounds" in started.stats
    assert started.violation < 1e-3
    monkeypatch.setattr(dual, "LARGE", 200)
    large = solve_dual(K, problem)
    assert "sweeps" in large.stats
    assert gap(problem, large) <= 1e-3
    assert "rounds" in solve_dual(K, problem, solver="decomposition").stats
    monkeypatch.setattr(dual, "_SWEEPS", 1)
    handed_over = solve_dual(K, problem)
    assert "rounds" in handed_over.stats
    assert handed_over.violation < 1e-3
    dense = X @ X.T
    rows = RowGram(lambda r, c: dense[r][:, c], np.diag(dense).copy(), matrix=dense)
    assert "rounds" in solve_dual(rows, problem).stats  # no features
