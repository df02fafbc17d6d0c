"""Schedules of factors and inverses, against LAPACK on the whole and block by block."""

import threading

import numpy as np
import pytest

from mercer.engine import schedule as module
from mercer.engine.limits import within
from mercer.engine.routines import call
from mercer.solvers import cholesky
from mercer.solvers.cholesky import CholeskyFactor, NotPositiveDefiniteError
from mercer.solvers.cholesky_schedules import factorisation, inversion, substitution


@pytest.fixture(params=[False, True], ids=["in Python", "compiled"])
def shared(request, monkeypatch):
    monkeypatch.setattr(module, "_compiled_pays", lambda work: request.param)
    monkeypatch.setattr(module, "_PER_THREAD", 1.0)


def positive(n, rng, dtype=np.float64):
    B = rng.standard_normal((n, n)).astype(dtype)
    return B @ B.T + n * np.eye(n, dtype=dtype)


def by_hand(A, narrow, wide, size):
    """The factor, block by block, as the schedule says; numbers are added in the same order."""
    n = len(A)
    L = A.copy()

    def update(k, e, stop):
        for c in range(e, stop, size):
            c_end = min(c + size, stop)
            for r in [*range(c, stop, size), *range(stop, n, size)]:
                r_end = min(r + size, stop if r < stop else n)
                L[r:r_end, c:c_end] -= L[r:r_end, k:e] @ L[c:c_end, k:e].T

    for k in range(0, n, wide):
        stop = min(k + wide, n)
        for i in range(k, stop, narrow):
            e = min(i + narrow, stop)
            L[i:e, i:e] = np.linalg.cholesky(np.tril(L[i:e, i:e]) + np.tril(L[i:e, i:e], -1).T)
            L[e:, i:e] = np.linalg.solve(L[i:e, i:e], L[e:, i:e].T).T
            update(i, e, stop)
        update(k, stop, n)
    return np.tril(L)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("blocks", [(8, 24, 16), (5, 5, 7), (16, 40, 11), (200, 200, 200)])
@pytest.mark.parametrize("n", [1, 2, 23, 24, 25, 97])
def test_factors(shared, rng, n, dtype, blocks):
    A = positive(n, rng, dtype)
    A[np.triu_indices(n, 1)] = np.nan  # not looked at
    schedule = factorisation(n, A.dtype, *blocks, 6).schedule
    found = []
    for workers in (1, 2, 9):
        L = A.copy()
        assert not schedule.execute(L, workers=workers).any()
        found.append(np.tril(L))
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-10}
    whole = np.tril(A) + np.tril(A, -1).T
    np.testing.assert_allclose(found[0], by_hand(whole, *blocks), **close)
    np.testing.assert_allclose(found[0], np.linalg.cholesky(whole.astype(float)), **close)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("blocks", [(8, 24), (5, 7), (16, 9), (200, 200)])
@pytest.mark.parametrize("n", [0, 1, 2, 23, 24, 25, 97])
def test_inverses(shared, rng, n, dtype, blocks):
    A = positive(n, rng, dtype)
    size, across = blocks
    schedule, found = inversion(n, A.dtype, size, across, 0.4), []
    L = A.copy()
    assert n == 0 or call("potrf", "U", n, L, n) == 0
    for workers in (1, 2, 9):
        X, corners = L.copy(), np.zeros((-(-n // size), size, size), dtype)
        corners[:, range(size), range(size)] = 1
        assert not schedule.execute(X, corners, workers=workers).any()
        found.append(np.tril(X))
    close = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found[0], np.tril(np.linalg.inv(A.astype(float))), atol=close)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 2, 9])
@pytest.mark.parametrize(("n", "size", "strip"), [(1, 8, 8), (24, 8, 8), (97, 16, 7), (97, 97, 5)])
def test_solutions(shared, rng, n, size, strip, columns, dtype):
    A = positive(n, rng, dtype)
    L = np.linalg.cholesky(A)
    noisy = L + np.triu(np.full_like(L, np.nan), 1)  # not looked at
    B = np.asfortranarray(rng.standard_normal((n, columns)), dtype=dtype)
    for both, expected in ((False, np.linalg.solve(L, B)), (True, np.linalg.solve(A, B))):
        schedule, found = substitution(n, A.dtype, columns, size, strip, both), []
        for workers in (1, 2, 9):
            X = B.copy(order="F")
            assert not schedule.execute(noisy, X, workers=workers).any()
            found.append(X)
        close = 1e-5 if dtype == np.float32 else 1e-13
        np.testing.assert_allclose(found[0], expected, atol=close)
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("at", [0, 7, 8, 50, 96])
def test_the_first_minor_that_is_not_positive_is_named(shared, rng, monkeypatch, at):
    monkeypatch.setattr(cholesky, "_SHARED", 10)
    monkeypatch.setattr(cholesky, "_PANELS", ((np.inf, 8, 24, 16, 8),))
    A = positive(97, rng)
    for place in {at, 96}:
        A[place, place] = -1.0
    for workers in (1, 3):
        with (
            within(workers, np.inf),
            pytest.raises(NotPositiveDefiniteError, match=f"order {at + 1} is not"),
        ):
            CholeskyFactor(A.copy())


def test_factors_in_several_threads(shared, rng, monkeypatch):
    """They share schedules, and one of them has the team."""
    monkeypatch.setattr(cholesky, "_SHARED", 10)
    monkeypatch.setattr(cholesky, "_PANELS", ((np.inf, 8, 24, 16, 8),))
    A, wrong = positive(150, rng), []
    expected = CholeskyFactor(A.copy()).inverse()

    def work():
        for _ in range(15):
            with within(4, np.inf):
                found = CholeskyFactor(A.copy()).inverse()
            if not np.array_equal(np.tril(found), np.tril(expected)):
                wrong.append(found)

    callers = [threading.Thread(target=work) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not wrong
    np.testing.assert_allclose(np.tril(expected), np.tril(np.linalg.inv(A)), atol=1e-12)


@pytest.mark.parametrize("at", [(0, 0), (96, 96), (50, 3)])
def test_numbers_that_are_missing(shared, rng, monkeypatch, at):
    """Some libraries find nothing wrong with them."""
    monkeypatch.setattr(cholesky, "_SHARED", 10)
    monkeypatch.setattr(cholesky, "_PANELS", ((np.inf, 8, 24, 16, 8),))
    A = positive(97, rng)
    A[at] = np.nan
    with pytest.raises(NotPositiveDefiniteError, match=f"order {at[0] + 1} is not"):
        CholeskyFactor(A)


def test_samples_with_infinite_noise_count_for_nothing(shared, rng, monkeypatch):
    monkeypatch.setattr(cholesky, "_SHARED", 10)
    monkeypatch.setattr(cholesky, "_PANELS", ((np.inf, 8, 24, 16, 8),))
    A, b = positive(97, rng), rng.standard_normal(97)
    kept = np.arange(97) != 40
    expected = np.linalg.solve(A[np.ix_(kept, kept)], b[kept])
    A[40, 40] = np.inf
    found = CholeskyFactor(A).solve(b)
    assert found[40] == 0
    np.testing.assert_allclose(found[kept], expected)


def test_nothing_is_computed_after_a_failure(shared, rng, monkeypatch):
    """A search for parameters or for jitter would pay for it each time."""
    monkeypatch.setattr(cholesky, "_SHARED", 10)
    monkeypatch.setattr(cholesky, "_PANELS", ((np.inf, 8, 24, 16, 8),))
    A = positive(97, rng)
    A[30, 30] = -1.0
    C = A[:24, 96]  # of the first wide panel, which succeeds
    expected = A[96, 96] - C @ np.linalg.solve(A[:24, :24], C)
    with pytest.raises(NotPositiveDefiniteError):
        CholeskyFactor(A)
    assert A[96, 96] == pytest.approx(expected)


def test_a_matrix_that_must_not_be_written_is_copied(rng):
    A = positive(20, rng)
    before = A.copy()
    A.flags.writeable = False
    np.testing.assert_allclose(CholeskyFactor(A).logdet(), np.linalg.slogdet(A)[1])
    assert np.array_equal(A, before)


def test_offsets_in_matrices_of_more_entries_than_32_bits_count():
    n = 70_000
    made = [
        factorisation(n, np.dtype(float), 8192, 16_384, 8192, 8192).schedule,
        substitution(n, np.dtype(float), 1, 8192, 8192, True),
        inversion(n, np.dtype(float), 8192, 8192, 0.3),
    ]
    for schedule in made:
        rows, bases = schedule._whole[:2]
        entries = rows[bases == 2] // 8  # of A
        assert entries.min() >= 0
        assert n * n - 8192 * n < entries.max() <= n * (n + 1)  # blocks without rows are at the end
