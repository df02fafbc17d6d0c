"""Stochastic subgradients: the optimum within the certified gap, and an end in any case."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.gram.rows import FeatureRowGram
from mercer.solvers.box import BoxProblem, bounds_of_optimum
from mercer.solvers.smo import solve_box
from mercer.solvers.snacks import solve_snacks
from mercer.solvers.watch import Watch


@pytest.fixture
def data(rng):
    X = rng.standard_normal((600, 4))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(600) > 0.2, 1.0, -1.0)
    C = rng.uniform(0.01, 0.03, 600)
    return X, BoxProblem(y, np.minimum(y, 0) * C, np.maximum(y, 0) * C, np.zeros(600))


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
def test_within_the_certified_gap(data, form):
    X, problem = data
    found = solve_snacks(form(X), problem, tol=0.05)
    assert found.converged
    primal, dual = bounds_of_optimum(problem, found, [found.multiplier])
    assert primal - dual == pytest.approx(found.stats["gap"], rel=1e-3)
    assert primal - dual <= 0.0501 * primal
    exact = solve_box(FeatureRowGram(X), problem, tol=1e-8)
    w = X.T @ exact.beta
    best = problem.target @ exact.beta - w @ w / 2
    assert dual <= best * (1 + 1e-6)
    assert primal >= best * (1 - 1e-6)
    assert np.all((found.beta >= problem.lower) & (found.beta <= problem.upper))
    assert abs(found.beta.sum()) < 1e-9


def test_tube_without_intercept(data):
    X, _ = data
    bound = np.full(600, 0.02)
    tube = BoxProblem(X @ np.ones(4), -bound, bound, np.zeros(600), epsilon=0.1)
    found = solve_snacks(X, tube, tol=0.05, intercept=False)
    w = X.T @ found.beta
    loss = np.maximum(np.abs(tube.target - X @ w) - 0.1, 0)
    value = w @ w / 2 + 0.02 * loss.sum()
    dual = tube.target @ found.beta - 0.1 * np.abs(found.beta).sum() - w @ w / 2
    assert found.multiplier == 0
    assert value - dual == pytest.approx(found.stats["gap"])
    assert found.converged


def test_ends_and_says_so(data):
    X, problem = data
    hard = BoxProblem(problem.target, 1e6 * problem.lower, 1e6 * problem.upper, problem.start)
    found = solve_snacks(X, hard, max_iter=3000)
    assert not found.converged
    assert found.n_iter <= 3000
    assert 'use solver="coordinate"' in found.message


def test_same_seed_same_answer_any_threads(data):
    X, problem = data
    one, two = (solve_snacks(X, problem, tol=0.1, workers=k) for k in (1, 2))
    assert np.array_equal(one.beta, two.beta)


def test_watched(data):
    X, problem = data
    watch = Watch(callback=lambda step: step.n_iter >= 2)
    found = solve_snacks(X, problem, tol=1e-9, watch=watch)
    assert found.stats["stages"] == 2
    assert "callback" in found.message


def test_what_is_not_finite_is_refused(data):
    X, problem = data
    with pytest.raises(ValueError, match="not finite"):
        solve_snacks(X * 1e200, problem)
