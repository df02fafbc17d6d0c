"""Routines of LAPACK against those of SciPy and NumPy."""

import threading

import numpy as np
import pytest
import scipy.linalg as sla

from mercer.engine.routines import (
    add_gram,
    call,
    cholesky_with_pivots,
    eigh,
    qr_with_pivots,
    solve_cholesky,
    solve_lower,
    solve_positive,
)


@pytest.fixture
def A(rng):
    X = rng.standard_normal((40, 60))
    return X @ X.T


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("largest", [None, 40, 7, 1])
@pytest.mark.parametrize("turn", [np.array, np.asfortranarray, np.float32])
def test_eigenvalues(A, largest, overwrite, turn):
    given = turn(A)
    before, k = given.copy(), largest or 40
    s, U = eigh(given, largest, overwrite=overwrite)
    np.testing.assert_allclose(s, np.linalg.eigvalsh(A)[-k:], rtol=1e-4)
    np.testing.assert_allclose(before @ U, U * s, atol=1e-10)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-12)
    assert overwrite or np.array_equal(given, before)


def test_all_in_the_memory_of_the_matrix(A):
    columns = np.asfortranarray(A)
    assert eigh(columns, overwrite=True)[1] is columns


def test_one_number():
    one = np.array([[4.0]])
    s, U = eigh(one)
    assert (s[0], abs(U[0, 0]), one[0, 0]) == (4.0, 1.0, 4.0)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 9), (40, 0)])
def test_triangular_systems(A, rng, kind, shape, order):
    L, B = np.linalg.cholesky(A).astype(kind), rng.standard_normal(shape).astype(kind)
    noisy = order(L + np.triu(np.full_like(L, np.nan), 1))  # not looked at
    kept = B.copy()
    close = {"rtol": 1e-3, "atol": 1e-3} if kind is np.float32 else {"rtol": 1e-9, "atol": 1e-12}
    for found, wanted in (
        (solve_lower(noisy, B), sla.solve_triangular(L, B, lower=True)),
        (solve_lower(noisy, B, transposed=True), sla.solve_triangular(L, B, lower=True, trans=1)),
        (solve_cholesky(noisy, B), sla.cho_solve((L, True), B)),
    ):
        assert found.dtype == kind
        np.testing.assert_allclose(found, wanted, **close)
    np.testing.assert_array_equal(B, kept)


@pytest.mark.parametrize("transposed", [False, True])
def test_triangular_systems_in_place(A, rng, transposed):
    L = np.linalg.cholesky(A)
    B = np.asfortranarray(rng.standard_normal((40, 3)))
    wanted = solve_lower(L, B, transposed=transposed)
    assert not np.array_equal(B, wanted)
    found = solve_lower(L, B, transposed=transposed, overwrite=True)
    assert np.shares_memory(found, B)
    np.testing.assert_array_equal(B, wanted)


def test_other_numbers_are_taken_as_they_come(A):
    L = np.linalg.cholesky(A)
    ones = np.ones((40, 2), dtype=int)
    np.testing.assert_allclose(L @ solve_lower(L, ones), ones, atol=1e-10)
    single = solve_lower(L.astype(np.float32), ones.astype(float))
    assert single.dtype == np.float64


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(40,), (40, 3), (40, 0)])
def test_positive_definite_systems(A, rng, kind, shape):
    A, B = A.astype(kind), rng.standard_normal(shape).astype(kind)
    X = solve_positive(A.T.copy().T, B)
    assert X.dtype == kind
    np.testing.assert_allclose(A @ X, B, atol=1e-2 if kind is np.float32 else 1e-10)
    assert np.array_equal(A, A.T)  # another array was overwritten
    with pytest.raises(np.linalg.LinAlgError, match="minor of order 1 is not positive definite"):
        solve_positive(-A, np.ones(40, kind))


@pytest.mark.parametrize("shape", [(9, 9), (12, 5), (5, 12), (6, 0), (0, 6), (1, 1)])
def test_orthogonal_factors_with_pivots(rng, shape):
    A = rng.standard_normal(shape) * np.logspace(0, 3, shape[1])
    kept = A.copy()
    Q, R, pivots = qr_with_pivots(A)
    assert np.array_equal(A, kept)
    assert (Q.shape, R.shape) == ((shape[0], shape[0]), shape)
    np.testing.assert_allclose(Q.T @ Q, np.eye(shape[0]), atol=1e-12)
    np.testing.assert_allclose(Q @ R, A[:, pivots], atol=1e-9)
    assert np.array_equal(R, np.triu(R))
    sizes = np.abs(np.diagonal(R))
    assert np.all(np.diff(sizes) <= 1e-9 * sizes.max(initial=0))
    assert sorted(pivots) == list(range(shape[1]))


def test_columns_outside_the_span(rng):
    """The last columns of Q are orthogonal to matrices of lower rank."""
    A = rng.standard_normal((10, 3)) @ rng.standard_normal((3, 7))
    Q, R, _ = qr_with_pivots(A)
    assert np.sum(np.abs(np.diagonal(R)) > 1e-10) == 3
    np.testing.assert_allclose(Q[:, 3:].T @ A, 0, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_cholesky_factors_with_pivots(rng, kind):
    phi = rng.standard_normal((30, 6)).astype(kind)
    A = phi @ phi.T
    L, pivots, rank = cholesky_with_pivots(A, 30 * np.finfo(kind).eps * A.max())
    assert (rank, L.dtype) == (6, kind)
    L = np.tril(L)[:, :rank]
    close = 1e-4 if kind is np.float32 else 1e-12
    np.testing.assert_allclose(L @ L.T, A[np.ix_(pivots, pivots)], atol=close)
    assert pivots[0] == np.argmax(np.diagonal(phi @ phi.T))
    assert cholesky_with_pivots(np.zeros((3, 3)), 1e-9)[2] == 0


def test_what_cannot_be(A):
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve_lower(np.diag([1.0, 0.0]), np.ones(2))
    with pytest.raises(ValueError, match="potrf: argument 1 is invalid"):
        call("potrf", "X", 40, A, 40)
    assert call("potrf", "U", 40, -A, 40) == 1  # the leading minor that is not positive


@pytest.mark.parametrize(
    "routine",
    [eigh, qr_with_pivots, lambda A: solve_positive(A, A), lambda A: cholesky_with_pivots(A, 0.0)],
)
def test_others_work_meanwhile(routine):
    """While a routine is at work, this thread is not kept waiting."""
    A = np.eye(1200) + 1
    turns, begun = 0, threading.Event()

    def work():
        begun.set()
        for _ in range(3):
            routine(A.copy())

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    while thread.is_alive():
        turns += 1
        thread.join(0.001)
    assert turns > 20


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_products_with_transposes_are_added_below_the_diagonal(rng, kind):
    """Also where rows are parts of longer ones, and where there are none."""
    room, wide = np.zeros((9, 9), kind), rng.standard_normal((20, 8)).astype(kind)
    room[:] = before = rng.standard_normal((9, 9)).astype(kind)
    C, P = room[:5, :5], wide[:, :5]
    add_gram(C, P)
    expected = before.copy()
    expected[:5, :5] += np.tril(P.T @ P)
    np.testing.assert_allclose(room, expected, rtol=1e-4, atol=1e-4)
    add_gram(C, wide[:0, :5])
    np.testing.assert_allclose(room, expected, rtol=1e-4, atol=1e-4)
