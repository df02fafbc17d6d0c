"""Conditional random fields, against sums over all labellings."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import Gaussian, Linear, Plan
from mercer.solvers.chain import expectations, pairs_of, solve_chain
from mercer.solvers.chain_loops import best_labels


def score(F, T, y):
    return sum(F[t, a] + T[y[t - 1] if t else -1, a] for t, a in enumerate(y))


def joint_features(X, y, k, tau):
    """Features of the joint kernel of a sequence of vectors and its labels, one by one."""
    emission, steps = np.zeros((X.shape[1], k)), np.zeros((k + 1, k))
    for t, a in enumerate(y):
        emission[:, a] += X[t]
        steps[y[t - 1] if t else k, a] += np.sqrt(tau)
    return np.concatenate([emission.ravel(), steps.ravel()])


def test_sums_over_all_labellings(rng):
    k, lengths = 3, [4, 1, 5]
    starts = np.append(0, np.cumsum(lengths))
    F, T = 3 * rng.normal(size=(10, k)), 2 * rng.normal(size=(k + 1, k))
    order = rng.permutation(10)  # elements in any order
    totals, expected, pairs = expectations(F, T, order, starts)
    found = best_labels(F[order], T, starts)
    all_pairs = np.zeros_like(T)
    for s, n in enumerate(lengths):
        rows = order[starts[s] : starts[s + 1]]
        labellings = list(itertools.product(range(k), repeat=n))
        scores = np.array([score(F[rows], T, y) for y in labellings])
        total = np.log(np.sum(np.exp(scores)))
        p = np.exp(scores - total)
        assert totals[s] == pytest.approx(total, rel=1e-12)
        single = np.zeros((n, k))
        for y, share in zip(labellings, p, strict=True):
            for t, a in enumerate(y):
                single[t, a] += share
                all_pairs[y[t - 1] if t else k, a] += share
        np.testing.assert_allclose(expected[rows], single, atol=1e-12)
        best = labellings[int(np.argmax(scores))]
        np.testing.assert_array_equal(found[starts[s] : starts[s + 1]], best)
    np.testing.assert_allclose(pairs, all_pairs, atol=1e-12)


def test_large_scores_do_not_overflow():
    F, T = np.array([[1e4, 0.0], [0.0, 0.0]]), np.array([[0.0, -1e5], [0.0, 0.0], [0.0, 0.0]])
    totals, expected, _ = expectations(F, T, np.arange(2), np.array([0, 2]))
    assert totals[0] == pytest.approx(1e4)
    np.testing.assert_allclose(expected, [[1, 0], [1, 0]])


@pytest.mark.parametrize("tau", [0.3, 1.0, 4.0])
def test_optimum_of_the_joint_kernel(rng, tau):
    """By another minimiser, on explicit features of all labellings."""
    k, lengths, alpha = 3, [4, 3, 1, 2], 0.2
    X, labels = rng.normal(size=(10, 2)), rng.integers(0, k, 10)
    starts = np.append(0, np.cumsum(lengths))
    found = solve_chain(
        Linear().gram(X), labels, np.arange(10), starts, k, alpha, tau=tau, tol=1e-12
    )
    assert found.converged
    parts = []
    for s, n in enumerate(lengths):
        rows = slice(starts[s], starts[s + 1])
        all_of = list(itertools.product(range(k), repeat=n))
        Phi = np.array([joint_features(X[rows], y, k, tau) for y in all_of])
        parts.append((Phi, all_of.index(tuple(labels[rows]))))

    def objective(w):
        value = alpha * w @ w / 2
        for Phi, own in parts:
            s = Phi @ w
            value += np.log(np.sum(np.exp(s - s.max()))) + s.max() - s[own]
        return value

    best = minimize(objective, np.zeros(parts[0][0].shape[1]), options={"gtol": 1e-8})
    assert found.stats["objective"] == pytest.approx(best.fun, rel=1e-9)
    weights = best.x[: -(k + 1) * k].reshape(2, k)
    np.testing.assert_allclose(X.T @ found.coef, weights, atol=1e-5)
    steps = np.sqrt(tau) * best.x[-(k + 1) * k :].reshape(k + 1, k)
    np.testing.assert_allclose(found.transitions, steps, atol=1e-5)


def test_the_gap_bounds_what_is_left(rng):
    X, labels = rng.normal(size=(60, 2)), rng.integers(0, 3, 60)
    order, starts = rng.permutation(60), np.arange(0, 61, 6)
    gram = Gaussian().gram(X)
    least = solve_chain(gram, labels, order, starts, 3, 0.01, tol=1e-12).stats["objective"]
    for steps in (1, 3, 10):
        with_gap = solve_chain(gram, labels, order, starts, 3, 0.01, tol=1e-13, max_iter=steps)
        assert not with_gap.converged
        assert "raise alpha, tol or max_iter" in with_gap.message
        left = with_gap.stats["objective"] - least
        assert -1e-9 <= left <= with_gap.stats["gap"]


def test_features_and_matrix_agree(rng):
    X, labels = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    starts = np.arange(0, 41, 8)
    results = [
        solve_chain(gram, labels, np.arange(40), starts, 2, 0.1, tol=1e-12)
        for gram in (Linear().gram(X), Linear().gram(X, Plan(storage="dense")))
    ]
    np.testing.assert_allclose(results[0].transitions, results[1].transitions, atol=1e-6)


def test_counts_of_pairs():
    found = pairs_of(np.array([0, 1, 1, 1, 0]), np.array([0, 3, 5]), 2)
    np.testing.assert_array_equal(found, [[0, 1], [1, 1], [1, 1]])


def test_probabilities_add_up_for_scores_that_are_known_to_a_few_units_only(rng):
    F, T = 1e17 * rng.normal(size=(6, 3)), 1e17 * rng.normal(size=(4, 3))
    _, expected, pairs = expectations(F, T, np.arange(6), np.array([0, 6]))
    np.testing.assert_allclose(expected.sum(axis=1), 1)
    assert pairs[:3].sum() == pytest.approx(5)


@pytest.mark.parametrize("scale", [[1e-6, 1e6], [1e7, 1e7]])
def test_columns_of_any_scale(rng, scale):
    y = np.cumsum(rng.random(60) < 0.2) % 3
    X = (np.column_stack([y == 1, y == 2]) + rng.normal(size=(60, 2))) * scale
    found = solve_chain(Linear().gram(X), y, np.arange(60), np.arange(0, 61, 6), 3, 1.0)
    assert found.converged
    assert found.stats["gap"] <= 1e-5 * 60 * np.log(3)


@pytest.mark.filterwarnings("ignore::mercer.exceptions.ConvergenceWarning")
def test_what_cannot_be_solved_is_no_worse_than_nothing(rng):
    """Slopes along the second column are lost in the rounding of the first."""
    y, starts = np.arange(60) % 3, np.arange(0, 61, 6)
    gram = Linear().gram(rng.normal(size=(60, 2)) * [1e20, 1.0])
    found = solve_chain(gram, y, np.arange(60), starts, 3, 1.0)
    assert np.isfinite(found.coef).all()
    assert found.stats["objective"] <= 60 * np.log(3) * (1 + 1e-4)
