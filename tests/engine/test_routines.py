"""Routines of LAPACK against those of SciPy and NumPy."""

import threading

import numpy as np
import pytest
import scipy.linalg as sla

from mercer.engine.routines import call, eigh, solve_cholesky, solve_lower


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
@pytest.mark.parametrize("shape", [(40,), (40, 1), (40, 9), (40, 0)])
def test_triangular_systems(A, rng, kind, shape):
    L, B = np.linalg.cholesky(A).astype(kind), rng.standard_normal(shape).astype(kind)
    noisy = L + np.triu(np.full_like(L, np.nan), 1)  # not looked at
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


def test_other_numbers_are_taken_as_they_come(A):
    L = np.linalg.cholesky(A)
    ones = np.ones((40, 2), dtype=int)
    np.testing.assert_allclose(L @ solve_lower(L, ones), ones, atol=1e-10)
    single = solve_lower(L.astype(np.float32), ones.astype(float))
    assert single.dtype == np.float64


def test_what_cannot_be(A):
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve_lower(np.diag([1.0, 0.0]), np.ones(2))
    with pytest.raises(ValueError, match="potrf: argument 1 is invalid"):
        call("potrf", "X", 40, A, 40)
    assert call("potrf", "U", 40, -A, 40) == 1  # the leading minor that is not positive


def test_others_work_meanwhile():
    """While a routine is at work, this thread is not kept waiting."""
    A = np.eye(1200) + 1
    turns, begun = 0, threading.Event()

    def work():
        begun.set()
        eigh(A)

    thread = threading.Thread(target=work)
    thread.start()
    begun.wait()
    while thread.is_alive():
        turns += 1
        thread.join(0.001)
    assert turns > 20
