import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan
from mercer.exceptions import ConvergenceWarning
from mercer.kernels.algebra.operator_valued import Separable, Transformable
from mercer.solvers.eigen import RidgeSpectrum
from mercer.solvers.kronecker import (
    KroneckerSpectrum,
    _nearest_kronecker,
    conjugate_gradients,
    solve_vector_ridge,
)

ALPHA = 0.1


@pytest.fixture
def problem(rng):
    A = rng.standard_normal((5, 5))
    X, Y = rng.standard_normal((40, 2)), rng.standard_normal((40, 5))
    return X, Y, A @ A.T, rng.uniform(0.2, 2, 40)


def output_matrix(B, which):
    """Five different eigenvalues, one, or a singular matrix of rank 2."""
    t, V = np.linalg.eigh(B)
    return {"full": B, "identity": np.eye(len(B)), "singular": (V[:, -2:] * t[-2:]) @ V[:, -2:].T}[
        which
    ]


def reference(gram, Y, alpha, weights):
    """The dense system of the observed entries, by brute force."""
    K, y = gram.to_dense(), Y.ravel()
    w = np.ones(len(y)) if weights is None else np.repeat(weights, Y.shape[1])
    o = np.flatnonzero(~np.isnan(y) & (w > 0))
    c = np.zeros(len(y))
    c[o] = np.linalg.solve(K[np.ix_(o, o)] + alpha * np.diag(1 / w[o]), y[o])
    return c.reshape(Y.shape)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", ["dense", "tiled", "lowrank"])
@pytest.mark.parametrize("which", ["full", "identity", "singular"])
def test_one_kronecker_product(problem, which, storage, weighted):
    X, Y, B, weights = problem
    kernel = Separable(
        Linear() + 1 if storage == "lowrank" else Gaussian(), output_matrix(B, which)
    )
    gram = kernel.gram(X, Plan(storage=storage))
    weights = weights if weighted else None
    solution = solve_vector_ridge(gram, Y, ALPHA, weights, tol=1e-11)
    assert solution.converged
    np.testing.assert_allclose(solution.coef, reference(gram, Y, ALPHA, weights), atol=1e-7)
    if which == "full" and storage != "tiled":
        assert solution.stats["method"] == "kronecker"


@pytest.mark.parametrize(("missing", "weighted"), [(0.0, True), (0.3, False), (0.3, True)])
@pytest.mark.parametrize("storage", ["dense", "tiled"])
@pytest.mark.parametrize("which", ["separable", "sum", "transformable", "mixed", "two"])
def test_everything_else(problem, rng, which, storage, missing, weighted):
    X, Y, B, weights = problem
    one = Separable(Gaussian(), B)
    maps = Transformable(Gaussian(2.0), [np.positive, np.negative, np.tanh, np.sin, np.cos])
    kernel = {
        "separable": one,
        "sum": one + Separable(Linear(), np.eye(5)),
        "transformable": maps,
        "mixed": one + maps,
        "two": maps + maps,
    }[which]
    Y = np.where(rng.random(Y.shape) < missing, np.nan, Y)
    weights = weights if weighted else None
    gram = kernel.gram(X, Plan(storage=storage))
    solution = solve_vector_ridge(gram, Y, ALPHA, weights, tol=1e-10)
    assert solution.converged
    assert solution.stats.get("residual", 0) < 1e-9
    np.testing.assert_allclose(solution.coef, reference(gram, Y, ALPHA, weights), atol=1e-6)
    assert np.all(solution.coef[np.isnan(Y)] == 0)


@pytest.mark.parametrize("missing", [False, True])
def test_weights_of_zero_leave_samples_out(problem, missing):
    X, Y, B, weights = problem
    weights[:5] = 0
    if missing:
        Y[10, 2] = np.nan
    gram = Separable(Gaussian(), B).gram(X)
    coef = solve_vector_ridge(gram, Y, ALPHA, weights, tol=1e-11).coef
    np.testing.assert_allclose(coef, reference(gram, Y, ALPHA, weights), atol=1e-7)


def test_spectrum(problem):
    X, Y, B, _ = problem
    rows = RidgeSpectrum(Gaussian().gram(X))
    spectrum = KroneckerSpectrum(rows.U, rows.s, B)
    A = np.kron(Gaussian()(X), B) + ALPHA * np.eye(200)
    np.testing.assert_allclose(spectrum.solve(Y, ALPHA).ravel(), np.linalg.solve(A, Y.ravel()))
    cross = Gaussian()(X[:6] + 0.1, X)
    found = spectrum.explained_variance(cross, ALPHA)
    columns = np.kron(cross, B)
    expected = np.einsum("ij,ji->i", columns, np.linalg.solve(A, columns.T)).reshape(6, 5)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_nearest_kronecker_product(problem, rng):
    """The rearranged matrix has the same leading singular pair, and a product is found exactly."""
    X, _, B, _ = problem
    grams, outputs = [Gaussian().gram(X), Linear().gram(X)], [B, np.eye(5)]
    a, b = _nearest_kronecker(grams, outputs, rng)
    K = [g.to_dense() for g in grams]
    rearranged = sum(np.outer(k.ravel(), o.ravel()) for k, o in zip(K, outputs, strict=True))
    U, s, Vt = np.linalg.svd(rearranged, full_matrices=False)
    found = np.outer(
        sum(a[m] * K[m].ravel() for m in (0, 1)), b[0] * B.ravel() + b[1] * outputs[1].ravel()
    )
    np.testing.assert_allclose(found, s[0] * np.outer(U[:, 0], Vt[0]), atol=1e-9)
    assert np.all(a >= 0)
    assert np.all(b >= 0)


def test_the_preconditioner_pays(problem, rng):
    """A few missing entries cost a few iterations, where plain conjugate gradients need many."""
    X, Y, B, _ = problem
    Y[rng.random(Y.shape) < 0.05] = np.nan
    observed = ~np.isnan(Y)
    gram = Separable(Gaussian(), B).gram(X)
    ours = solve_vector_ridge(gram, Y, 1e-3, tol=1e-8)
    plain = conjugate_gradients(
        lambda V: observed * (gram @ (observed * V)) + 1e-3 * V,
        np.positive,
        np.where(observed, Y, 0),
        tol=1e-8,
        max_iter=5000,
    )[1]
    assert ours.n_iter < plain / 5


def test_says_so_when_it_did_not_converge(problem):
    X, Y, B, _ = problem
    Y[::3, 0] = np.nan
    solution = solve_vector_ridge(Separable(Gaussian(), B).gram(X), Y, 1e-4, max_iter=2)
    assert not solution.converged
    assert solution.stats["residual"] > 1e-7
    with pytest.warns(ConvergenceWarning, match="raise max_iter, alpha or tol"):
        solution.warn()
