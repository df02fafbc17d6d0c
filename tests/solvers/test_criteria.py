from functools import partial

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.solvers import criteria

CRITERIA = [
    criteria.evidence,
    partial(criteria.evidence, scaled=True),
    criteria.leave_one_out,
    criteria.generalised,
    partial(criteria.validation, train=20),
    partial(criteria.evidence, intercept=True),
    partial(criteria.evidence, scaled=True, intercept=True),
    partial(criteria.leave_one_out, intercept=True),
    partial(criteria.generalised, intercept=True),
    partial(criteria.leave_one_out, weights=np.linspace(0.1, 4, 30)),
    partial(criteria.generalised, weights=np.linspace(0.1, 4, 30)),
    partial(criteria.generalised, weights=np.linspace(0.1, 4, 30), intercept=True),
    partial(criteria.validation, weights=np.linspace(0.1, 4, 30), train=20),
]


@pytest.fixture
def problem(rng):
    B = rng.standard_normal((30, 30))
    return B @ B.T / 30 + 0.3 * np.eye(30), rng.standard_normal((30, 2))


def test_evidence_is_the_density_of_a_normal_distribution(problem):
    A, Y = problem
    exact = -sum(multivariate_normal(cov=A).logpdf(y) for y in Y.T)
    assert criteria.evidence(A.copy(), Y).value == pytest.approx(exact, rel=1e-10)


def test_leave_one_out_by_hand(problem):
    A, Y = problem
    errors = []
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        errors.append(Y[i] - A[i, rest] @ np.linalg.solve(A[np.ix_(rest, rest)], Y[rest]))
    value = criteria.leave_one_out(A.copy(), Y).value
    assert value == pytest.approx(np.mean(np.square(errors)), rel=1e-10)


def test_weighted_criteria_by_hand(rng, problem):
    K, Y = problem
    w = rng.uniform(0.1, 5, 30)
    A = K + np.diag(0.3 / w)
    errors = np.empty_like(Y)
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        errors[i] = Y[i] - A[i, rest] @ np.linalg.solve(A[np.ix_(rest, rest)], Y[rest])
    value = criteria.leave_one_out(A.copy(), Y, weights=w).value
    assert value == pytest.approx(np.average(errors**2, axis=0, weights=w).mean(), rel=1e-10)
    smoother = K @ np.linalg.inv(A)
    squares = w @ (Y - smoother @ Y) ** 2
    score = 30 * squares.mean() / (30 - np.trace(smoother)) ** 2
    value = criteria.generalised(A.copy(), Y, weights=w).value
    assert value == pytest.approx(score, rel=1e-10)


def test_generalised_score_from_the_smoother(problem):
    A, Y = problem
    alpha = 0.3
    rest = np.eye(30) - (A - alpha * np.eye(30)) @ np.linalg.inv(A)
    score = np.mean((rest @ Y) ** 2) / (np.trace(rest) / 30) ** 2
    assert criteria.generalised(A.copy(), Y).value == pytest.approx(score, rel=1e-10)


def test_scaled_evidence_is_the_best_over_factors(problem):
    A, Y = problem
    best = min(criteria.evidence(s * A, Y).value for s in np.geomspace(0.1, 100, 2001))
    assert criteria.evidence(A.copy(), Y, scaled=True).value == pytest.approx(best, rel=1e-6)


def test_evidence_beside_an_intercept_is_that_of_the_differences(problem):
    A, Y = problem
    basis = np.linalg.svd(np.ones((1, 30)))[2][1:]  # orthonormal, of sum zero
    exact = -sum(multivariate_normal(cov=basis @ A @ basis.T).logpdf(basis @ y) for y in Y.T)
    found = criteria.evidence(A.copy(), Y, intercept=True)
    # densities of contrasts in an orthonormal basis, up to the length of the vector of ones
    assert found.value == pytest.approx(exact + Y.shape[1] * np.log(30) / 2, rel=1e-10)


def test_leave_one_out_beside_an_intercept_by_hand(problem):
    A, Y = problem
    errors = []
    for i in range(30):
        rest = np.delete(np.arange(30), i)
        system = np.block([[A[np.ix_(rest, rest)], np.ones((29, 1))], [np.ones((1, 29)), 0]])
        coef = np.linalg.solve(system, np.vstack([Y[rest], np.zeros((1, 2))]))
        errors.append(Y[i] - A[i, rest] @ coef[:-1] - coef[-1])
    value = criteria.leave_one_out(A.copy(), Y, intercept=True).value
    assert value == pytest.approx(np.mean(np.square(errors)), rel=1e-10)


def test_validation_by_hand(problem):
    A, Y = problem
    predicted = A[20:, :20] @ np.linalg.solve(A[:20, :20], Y[:20])
    value = criteria.validation(A.copy(), Y, train=20).value
    assert value == pytest.approx(np.mean((Y[20:] - predicted) ** 2), rel=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_slope_in_every_direction(rng, problem, criterion):
    A, Y = problem
    found = criterion(A.copy(), Y)
    W = np.empty((30, 30))
    for rows in (slice(0, 12), slice(12, 30)):
        for cols in (slice(0, 12), slice(12, 30)):
            W[rows, cols] = found.tile(rows, cols)
    np.testing.assert_allclose(W, W.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(W), found.diagonal, atol=1e-12)
    for _ in range(3):
        D = rng.standard_normal((30, 30))
        D, h = D + D.T, 1e-6
        change = criterion(A + h * D, Y).value - criterion(A - h * D, Y).value
        assert (W * D).sum() == pytest.approx(change / (2 * h), rel=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_a_matrix_that_is_not_positive_definite_is_refused(criterion):
    with pytest.raises(np.linalg.LinAlgError):
        criterion(-np.eye(3), np.ones((3, 1)))
