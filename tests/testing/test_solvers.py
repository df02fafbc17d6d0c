"""Every solver of ridge regression passes; what is wrong with a bad one is named."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from mercer import Plan, Polynomial
from mercer.solvers import Solution, solve_ridge
from mercer.solvers.cg import Systems, solve_systems
from mercer.testing import check_solver


def cg(gram, Y, alpha, weights, *, tol=1e-8, rng=None, max_iter=1000):
    """Conjugate gradients of the library, with all their options."""
    if weights is not None and np.any(weights == 0):
        raise ValueError("weights must be positive.")
    systems = Systems.of(Y, np.full(Y.shape[1], alpha))
    root = None if weights is None else np.sqrt(weights)
    return solve_systems(gram, systems, root, tol=tol, max_iter=max_iter, rng=rng)


GOOD = {
    "auto": (solve_ridge, {}),
    "cholesky": (partial(solve_ridge, solver="cholesky"), {}),
    "cg": (cg, {}),
    "tiled": (cg, {"plan": Plan(storage="tiled")}),
    "eigen": (partial(solve_ridge, solver="eigen"), {}),
    "primal": (
        partial(solve_ridge, solver="primal"),
        {"kernel": Polynomial(2), "plan": Plan(storage="lowrank"), "matrix_free": False},
    ),
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.DenseWarning")
def test_solvers_of_the_library(name):
    solver, options = GOOD[name]
    check_solver(solver, **options)


def direct(gram, Y, alpha, weights, *, tol, rng):
    """A good solver, to be broken."""
    K = gram.dense("a solver by hand").copy()
    W = np.ones(len(Y)) if weights is None else weights
    coef = np.linalg.solve(W[:, None] * K + alpha * np.eye(len(K)), W[:, None] * Y)
    return Solution(coef)


def changed(function, solver=direct):
    def other(gram, Y, alpha, weights, *, tol, rng):
        return function(solver(gram, Y, alpha, weights, tol=tol, rng=rng), Y, weights)

    return other


def silent(gram, Y, alpha, weights, *, tol, rng):
    W = np.ones(len(Y)) if weights is None else weights
    K = gram.to_dense()
    coef = np.linalg.solve(W[:, None] * K + alpha * np.eye(len(K)), W[:, None] * Y)
    return Solution(coef)


def writes(gram, Y, alpha, weights, *, tol, rng):
    found = direct(gram, Y, alpha, weights, tol=tol, rng=rng)
    Y *= 2
    return found


def unweighted(gram, Y, alpha, weights, *, tol, rng):
    return direct(gram, Y, alpha, None, tol=tol, rng=rng)


def gives_up(gram, Y, alpha, weights, *, tol, rng):
    return cg(gram, Y, alpha, weights, tol=tol, rng=rng, max_iter=1)


def hopeful(gram, Y, alpha, weights, *, tol, rng):
    return replace(gives_up(gram, Y, alpha, weights, tol=tol, rng=rng), converged=True)


def endless(gram, Y, alpha, weights, *, tol, rng, max_iter=10):
    return cg(gram, Y, alpha, weights, tol=tol, rng=rng)


def mute(gram, Y, alpha, weights, *, tol, rng):
    return replace(gives_up(gram, Y, alpha, weights, tol=tol, rng=rng), message="solved")


def flattering(gram, Y, alpha, weights, *, tol, rng):
    found = cg(gram, Y, alpha, weights, tol=max(tol, 1e-5), rng=rng)
    return replace(found, stats={"residual": 1e-12}, converged=False, message="try again")


def half_weighted(gram, Y, alpha, weights, *, tol, rng):
    kept = weights if weights is None else np.maximum(weights, 0.01)
    return direct(gram, Y, alpha, kept, tol=tol, rng=rng)


BAD = {
    "a solver returns a mercer.solvers.Solution": changed(lambda s, Y, w: s.coef),
    "coef has shape": changed(lambda s, Y, w: replace(s, coef=s.coef[:, 0])),
    "coef is not finite": changed(lambda s, Y, w: replace(s, coef=s.coef * np.nan)),
    "converged is claimed": hopeful,
    "converged is claimed, .* weights": unweighted,
    "does not say what happened": mute,
    "it did not converge": gives_up,
    "stats say residual": flattering,
    "were modified": writes,
    "made .* steps": endless,
    "formed silently": silent,
    "a sample of weight 0": half_weighted,
}


@pytest.mark.parametrize("problem", BAD)
@pytest.mark.filterwarnings("ignore::mercer.exceptions.DenseWarning")
def test_a_broken_solver_is_caught(problem):
    with pytest.raises(AssertionError, match=problem):
        check_solver(BAD[problem])
