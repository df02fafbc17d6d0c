"""Canonical correlations against the dense generalised eigenproblem of all views."""

import numpy as np
import pytest
import scipy.linalg as sla

import mercer.solvers.canonical as module
from mercer.exceptions import ConvergenceWarning
from mercer.solvers.canonical import CanonicalProblem, CanonicalSolution, ReducedProblem
from mercer.solvers.views import FactorView, GramView

R = [0.05, 0.1, 0.2]
FORMS = ["ridge", "squared"]


def gaussian(X):
    squares = np.sum(X**2, axis=1)
    return np.exp(-(squares[:, None] + squares - 2 * X @ X.T) / 2)


def matrices(grams, r, form):
    """A and B of A z = mu B z, with K in place of K / n."""
    n = len(grams[0])
    H = np.eye(n) - 1 / n
    K = [H @ gram @ H for gram in grams]
    if form == "ridge":
        B = [k @ k + n * x * k for k, x in zip(K, r, strict=True)]
    else:
        B = [
            np.linalg.matrix_power(k + n * x / 2 * np.eye(n), 2) for k, x in zip(K, r, strict=True)
        ]
    A = np.block([[np.zeros((n, n)) if i == j else a @ b for j, b in enumerate(K)]
                  for i, a in enumerate(K)])  # fmt: skip
    return A, sla.block_diag(*B)


def dense(grams, r, form):
    """All eigenvalues, largest first; a factor of B stands for its inverse where it is singular."""
    A, B = matrices(grams, r, form)
    s, V = np.linalg.eigh(B)
    W = V[:, s > 1e-12 * s[-1]] / np.sqrt(s[s > 1e-12 * s[-1]])
    return np.linalg.eigvalsh(W.T @ A @ W)[::-1]


@pytest.fixture
def grams(rng):
    X = rng.normal(size=(50, 2))
    Y = np.column_stack([np.sin(2 * X[:, 0]), rng.normal(size=50)])
    Z = X[:, 1:] ** 2 + 0.3 * rng.normal(size=(50, 1))
    return [gaussian(X), gaussian(Y), gaussian(Z)]


@pytest.fixture(params=["direct", "krylov"])
def method(request, monkeypatch):
    monkeypatch.setattr(module, "_DIRECT", 500 if request.param == "direct" else 0)
    return request.param


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("M", [2, 3])
def test_eigenvalues_of_the_dense_problem(grams, method, form, M):
    found = CanonicalProblem([GramView(K) for K in grams[:M]]).solve(R[:M], 3, form)
    assert found.method == method
    np.testing.assert_allclose(found.eigenvalues, dense(grams[:M], R[:M], form)[:3], atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("M", [2, 3])
def test_vectors_solve_the_dense_problem(grams, method, form, M):
    """The coefficients are generalised eigenvectors, of the size promised."""
    found = CanonicalProblem([GramView(K) for K in grams[:M]]).solve(R[:M], 2, form)
    A, B = matrices(grams[:M], R[:M], form)
    Z = np.concatenate(found.coefs)
    np.testing.assert_allclose(A @ Z, B @ Z * found.eigenvalues, atol=1e-8 * np.abs(A @ Z).max())
    sizes = np.array([np.sum(c * (b @ c), axis=0) for c, b in zip(
        found.coefs, [B[i * 50 : i * 50 + 50, i * 50 : i * 50 + 50] for i in range(M)], strict=True
    )])  # fmt: skip
    np.testing.assert_allclose(sizes.sum(axis=0) / 50, M, rtol=1e-8)
    if M == 2:
        np.testing.assert_allclose(sizes / 50, 1, rtol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_lower_right_block_belongs_to_the_second_view(grams, form):
    """Two views with penalties of their own: exchanging these changes the answer, as it should."""
    K, L = GramView(grams[0]), GramView(grams[1])
    value = CanonicalProblem([K, L]).solve([0.01, 1.0], 1, form).eigenvalues
    swapped = CanonicalProblem([L, K]).solve([1.0, 0.01], 1, form).eigenvalues
    other = CanonicalProblem([K, L]).solve([1.0, 0.01], 1, form).eigenvalues
    np.testing.assert_allclose(value, swapped, rtol=1e-10)
    assert abs(value[0] - other[0]) > 1e-3


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("M", [2, 3])
def test_correlation_matrix(grams, form, M, monkeypatch):
    """Its determinant and eigenvalues are those of the dense problem, plus one."""
    problem = CanonicalProblem([GramView(K) for K in grams[:M]])
    all_values = dense(grams[:M], R[:M], form)
    Rk = problem.reduced.correlation_matrix(R[:M], form)
    log_det = np.log1p(all_values).sum()
    np.testing.assert_allclose(np.linalg.slogdet(Rk)[1], log_det, atol=1e-8)
    np.testing.assert_allclose(np.linalg.eigvalsh(Rk)[-3:], 1 + all_values[2::-1], atol=1e-9)
    for limit in (500, 0):
        monkeypatch.setattr(module, "_DIRECT", limit)
        np.testing.assert_allclose(problem.log_det(R[:M], form), log_det, atol=1e-8)
        np.testing.assert_allclose(problem.smallest(R[:M], form), 1 + all_values[-1], atol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_two_views_are_symmetric(grams, form):
    """lambda_min = 1 - rho_1."""
    problem = CanonicalProblem([GramView(K) for K in grams[:2]])
    rho = problem.solve(R[:2], 1, form).eigenvalues[0]
    smallest = np.linalg.eigvalsh(problem.reduced.correlation_matrix(R[:2], form))[0]
    np.testing.assert_allclose(smallest, 1 - rho, atol=1e-12)
    np.testing.assert_allclose(problem.smallest(R[:2], form), 1 - rho, atol=1e-12)


def test_factors_and_matrices_mix(rng, method):
    """A view may be a factor beside one that is a matrix."""
    G, X = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    X[:, 0] += G[:, 0]
    K = gaussian(X)
    mixed = CanonicalProblem([FactorView(G), GramView(K)]).solve([0.1, 0.1], 2, "ridge")
    assert mixed.method == method
    np.testing.assert_allclose(
        mixed.eigenvalues, dense([G @ G.T, K], [0.1, 0.1], "ridge")[:2], atol=1e-10
    )


def test_without_regularization_it_is_classical(rng):
    """Cosines of the angles between the column spaces."""
    X, Y = rng.normal(size=(60, 3)), rng.normal(size=(60, 4))
    Y[:, 0] += X[:, 1]
    Q, S = (np.linalg.qr(Z - Z.mean(axis=0))[0] for Z in (X, Y))
    found = CanonicalProblem([FactorView(X), FactorView(Y)]).solve([0, 0], 3, "ridge")
    np.testing.assert_allclose(
        found.eigenvalues, np.linalg.svd(Q.T @ S, compute_uv=False), atol=1e-12
    )


@pytest.mark.parametrize("M", [2, 3])
def test_large_reduced_problems(rng, monkeypatch, M):
    """Beyond the limit of LAPACK the Krylov method gives the same."""
    s = [np.sort(rng.uniform(0, 1, 40)) for _ in range(M)]
    U = [np.linalg.qr(rng.normal(size=(60, 40)))[0] for _ in range(M)]
    cross = {(i, j): U[i].T @ U[j] for i in range(M) for j in range(i + 1, M)}
    problem = ReducedProblem(s, cross)
    expected, E = problem.largest([0.1] * M, 2, "ridge")
    smallest = problem.smallest([0.1] * M, "ridge")
    monkeypatch.setattr(module, "_LAPACK", 5)
    values, F = problem.largest([0.1] * M, 2, "ridge")
    np.testing.assert_allclose(values, expected, atol=1e-12)
    np.testing.assert_allclose(problem.smallest([0.1] * M, "ridge"), smallest, atol=1e-12)
    for e, f in zip(E, F, strict=True):
        np.testing.assert_allclose(np.abs(np.sum(e * f, axis=0)), np.sum(e * e, axis=0), rtol=1e-6)


def test_too_many_components(rng, method):
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 5))
    problem = CanonicalProblem([GramView(X @ X.T), GramView(Y @ Y.T)])
    with pytest.raises(ValueError, match="n_components must be at most 2"):
        problem.solve([0.1, 0.1], 3, "ridge")


def test_krylov_hands_over_when_it_does_not_converge(grams, monkeypatch):
    monkeypatch.setattr(module, "_DIRECT", 0)
    original = module.largest_eigenpairs
    monkeypatch.setattr(
        module, "largest_eigenpairs", lambda *a, **o: original(*a, tol=0.0, most=14)
    )
    found = CanonicalProblem([GramView(K) for K in grams[:2]]).solve(R[:2], 2, "ridge")
    assert found.method == "direct"
    np.testing.assert_allclose(found.eigenvalues, dense(grams[:2], R[:2], "ridge")[:2], atol=1e-10)


def test_large_problems_that_do_not_converge_say_so(grams, monkeypatch):
    monkeypatch.setattr(module, "_DIRECT", 0)
    monkeypatch.setattr(module, "_LARGEST", 0)
    original = module.largest_eigenpairs
    monkeypatch.setattr(
        module, "largest_eigenpairs", lambda *a, **o: original(*a, tol=0.0, most=14)
    )
    found = CanonicalProblem([GramView(K) for K in grams]).solve(R, 2, "ridge")
    assert isinstance(found, CanonicalSolution)
    with pytest.warns(ConvergenceWarning, match="larger regularization"):
        found.warn()
