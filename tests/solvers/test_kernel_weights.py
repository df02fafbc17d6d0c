"""Weights of kernels: against a general-purpose optimiser, and bounds that hold."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.exceptions import ConvergenceWarning
from mercer.solvers.kernel_weights import Cut, best_weights


def ridge_oracle(grams, y, alpha):
    """J in closed form: alpha / 2 y' (K + alpha I)^-1 y, the squared loss being halved."""

    def oracle(eta):
        K = np.tensordot(eta, grams, 1)
        c = np.linalg.solve(K + alpha * np.eye(len(y)), y)
        value = alpha / 2 * y @ c
        slope = alpha / 2 * np.einsum("i,mij,j->m", c, grams, c)
        return Cut(value, value + slope @ eta, slope)

    return oracle


def problem(rng, M, n=30):
    F = rng.standard_normal((M, n, 4)) * rng.uniform(0.3, 1.5, (M, 1, 1))
    y = F[0] @ rng.standard_normal(4) + 0.5 * F[1] @ rng.standard_normal(4)
    return np.einsum("mid,mjd->mij", F, F), y + 0.3 * rng.standard_normal(n)


@pytest.mark.parametrize("M", [2, 5, 12])
@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_the_optimum_is_that_of_a_general_method(rng, M, p):
    oracle = ridge_oracle(*problem(rng, M), 2.0)
    found = best_weights(oracle, M, p, tol=1e-6, max_iter=500)
    assert found.converged
    theirs = minimize(
        lambda eta: oracle(eta).value,
        np.full(M, M ** (-1 / p)),
        jac=lambda eta: -oracle(eta).slope,
        bounds=[(0, 1)] * M,
        constraints={"type": "ineq", "fun": lambda eta: 1 - np.sum(np.maximum(eta, 0) ** p)},
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert found.objective == pytest.approx(theirs.fun, rel=2e-6)
    assert found.lower_bound <= theirs.fun * (1 + 1e-9)
    assert np.linalg.norm(found.weights, p) == pytest.approx(1)


def test_bounds_are_monotone_and_weights_sparse(rng):
    found = best_weights(ridge_oracle(*problem(rng, 10), 5.0), 10)
    uppers, lowers = np.array(found.history).T
    assert np.all(np.diff(lowers) >= 0)
    assert np.all(lowers <= uppers)
    assert 0 < np.sum(found.weights > 0) < 6
    assert found.gap <= 1e-3


def test_kernels_that_are_equal(rng):
    (K, _), y = problem(rng, 2)
    found = best_weights(ridge_oracle(np.stack([K, K, K]), y, 1.0), 3)
    assert found.converged
    assert found.weights.sum() == pytest.approx(1)


def test_it_ends_and_says_so(rng):
    found = best_weights(ridge_oracle(*problem(rng, 8), 1.0), 8, tol=1e-12, max_iter=3)
    assert not found.converged
    assert found.n_iter == 3
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        found.warn()
