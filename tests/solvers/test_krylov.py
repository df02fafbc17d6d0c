import numpy as np
import pytest

from mercer.engine.limits import within
from mercer.solvers import krylov
from mercer.solvers.krylov import block_krylov
from mercer.solvers.tall import beyond


def symmetric(values, rng):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T, Q


@pytest.mark.parametrize("b", [1, 4, 9])
def test_finds_the_largest(rng, b):
    values = np.sort(rng.exponential(size=120))[::-1]
    A, Q = symmetric(values, rng)
    start = rng.standard_normal((120, b))
    found = block_krylov(lambda V: A @ V, start, 5, tol=1e-11, most=200)
    assert found.converged
    np.testing.assert_allclose(found.values, values[:5], rtol=1e-12)
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * Q[:, :5], axis=0)), 1, atol=1e-12)
    direct = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, direct, atol=1e-13)


def test_restarts_reach_the_same(rng, monkeypatch):
    """With room for few blocks the space is reduced over and over."""
    monkeypatch.setattr(krylov, "_ROOM", 0)
    values = 1 / np.arange(1, 201)
    A, _ = symmetric(values, rng)
    start = rng.standard_normal((200, 3))
    found = block_krylov(lambda V: A @ V, start, 6, tol=1e-11, most=500)
    assert found.converged
    assert found.passes > 2 * 6
    np.testing.assert_allclose(found.values, values[:6], rtol=1e-12)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-12)
    direct = np.linalg.norm(A @ found.vectors - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, direct, atol=1e-13)


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_matrices_of_low_rank(rng, rank):
    """The space is exhausted at once; what is left are zeros, not noise."""
    values = np.zeros(100)
    values[:rank] = 5 - np.arange(rank)
    A, _ = symmetric(values, rng)
    start = rng.standard_normal((100, 4))
    found = block_krylov(lambda V: A @ V, start, 6, tol=1e-10, most=100, noise=lambda: 1e-13)
    assert found.converged
    np.testing.assert_allclose(found.values, values[:6], atol=1e-12)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(6), atol=1e-10)


def test_equal_eigenvalues(rng):
    values = np.r_[[2.0] * 5, [1.0] * 5, np.linspace(0.5, 0, 90)]
    A, _ = symmetric(values, rng)
    start = rng.standard_normal((100, 5))
    found = block_krylov(lambda V: A @ V, start, 10, tol=1e-10, most=200)
    np.testing.assert_allclose(found.values, values[:10], atol=1e-10)


def test_stops_when_told(rng):
    A, _ = symmetric(np.linspace(1, 0.9, 300), rng)
    start = rng.standard_normal((300, 4))
    found = block_krylov(lambda V: A @ V, start, 10, tol=1e-10, most=4)
    assert not found.converged
    assert found.passes == 4
    assert found.residuals.max() > 1e-6


@pytest.mark.parametrize(("n", "known", "columns"), [(3000, 7, 5), (900, 0, 450), (410, 12, 30)])
def test_what_is_beyond_a_basis_is_orthonormal(n, known, columns, rng):
    """Strips have factors of their own: the whole is what one factorisation would be."""
    B = np.linalg.qr(rng.standard_normal((n, known)))[0] if known else np.empty((n, 0))
    W = rng.standard_normal((n, columns))
    W[:, -1] = W[:, 0]  # of lower rank
    before = W.copy()
    Q, R, C = beyond(B, W)
    assert Q.shape == (n, columns)
    assert np.allclose(Q.T @ Q, np.eye(columns), atol=1e-12)
    assert np.allclose(C, B.T @ before, atol=1e-10)
    assert np.allclose(B @ C + Q @ R, before, atol=1e-10)
    assert np.allclose(np.abs(np.diag(R)), np.abs(np.diag(np.linalg.qr(before - B @ C)[1])))


def test_the_same_basis_on_any_number_of_threads(rng):
    A, start = rng.standard_normal((2500, 60)), rng.standard_normal((2500, 8))

    def solve():
        found = block_krylov(lambda V: A @ (A.T @ V), start.copy(), 4, tol=1e-10, most=50)
        return found.vectors

    with within(1, np.inf):
        one = solve()
    with within(3, np.inf):
        assert np.array_equal(one, solve())
