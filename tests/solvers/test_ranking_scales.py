"""Ranking by features of any scale: weights in place of coefficients."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from mercer import KernelRanker, Linear, Plan
from mercer.solvers.ranking import solve_ranking

SCALES = 10.0 ** np.array([-2, 0, 2, 4])


def problem(rng, n=60):
    X = rng.normal(size=(n, 4))
    y = X @ [1.0, -1.0, 0.5, 0.2] + 0.3 * rng.normal(size=n)
    return X, y, rng.integers(0, 5, n)


def objective(w, X, y, groups, alpha):
    total = alpha * w @ w / 2
    for i in range(len(y)):
        for j in range(len(y)):
            if groups[i] == groups[j] and y[i] > y[j]:
                total += max(0.0, 1 - (X[i] - X[j]) @ w) ** 2 / 2
    return total


def test_the_minimum_by_brute_force(rng):
    X, y, groups = problem(rng, 30)
    found = solve_ranking(Linear().gram(X), y, groups, 2.0, tol=1e-9)
    assert found.converged
    best = minimize(objective, np.zeros(4), (X, y, groups, 2.0), tol=1e-12)
    assert found.stats["objective"] == pytest.approx(best.fun, rel=1e-9)
    np.testing.assert_allclose(found.weights[:, 0], best.x, atol=1e-6)
    np.testing.assert_allclose(X.T @ found.coef[:, 0], best.x, atol=1e-6)
    dense = solve_ranking(Linear().gram(X, Plan(storage="dense")), y, groups, 2.0, tol=1e-9)
    assert dense.weights is None
    np.testing.assert_allclose(X.T @ dense.coef[:, 0], best.x, atol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e3])
def test_unscaled_columns_converge(rng, alpha):
    """With columns of any scale, and offsets, scores within groups are certain to the gap."""
    X, y, groups = problem(rng, 200)
    wild = X * SCALES + [0, 1e3, 0, 1e5]
    model = KernelRanker(alpha, kernel="linear").fit(wild, y, groups)
    assert model.solution_.converged
    assert model.solution_.stats["gap"] <= 1e-4 * model.solution_.stats["objective"]
    w = model.solution_.weights[:, 0]
    f = wild @ w
    lost = np.abs(wild).T @ np.abs(model.dual_coef_) @ wild.std(axis=0)  # a constant ranks nothing
    assert np.std(model.predict(wild) - f) <= np.finfo(float).eps * lost < 0.1 * f.std()
    gradient = []
    for k in range(4):  # of the objective along each column, one part in a million wide
        step = 1e-3 / SCALES[k] * np.eye(4)[k]
        ends = [model_value(w + s * step, wild, y, groups, alpha) for s in (-1, 0, 1)]
        gradient.append(min(ends[0], ends[2]) >= ends[1] * (1 - 1e-4))
    assert all(gradient)


def model_value(w, X, y, groups, alpha):
    f = X @ w
    won = (groups[:, None] == groups) & (y[:, None] > y)
    return float(np.sum(np.maximum(0, 1 - f[:, None] + f)[won] ** 2)) / 2 + alpha * w @ w / 2


def test_sparse_features(rng):
    X, y, groups = problem(rng, 80)
    X[rng.random(X.shape) < 0.5] = 0.0
    dense = KernelRanker(1.0, kernel="linear", tol=1e-9).fit(X, y, groups)
    sparse = KernelRanker(1.0, kernel="linear", tol=1e-9).fit(sp.csr_array(X), y, groups)
    np.testing.assert_allclose(sparse.predict(sp.csr_array(X)), dense.predict(X), atol=1e-7)


def test_predictions_are_those_of_the_weights(rng):
    X, y, groups = problem(rng, 100)
    wild = X * [0.1, 1.0, 30.0, 1e3] + [0, 5.0, 0, 1e3]
    for alpha in (1e-3, 1.0, 1e4):
        model = KernelRanker(alpha, kernel="linear").fit(wild, y, groups)
        f = wild @ model.solution_.weights[:, 0]
        assert np.std(model.predict(wild) - f) <= 1e-5 * f.std()  # coefficients cancel
