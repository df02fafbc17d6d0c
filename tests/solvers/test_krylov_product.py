"""Eigenpairs of E P against the dense generalised eigenproblem."""

import numpy as np
import pytest
import scipy.linalg as sla

from mercer.solvers.krylov_product import largest_eigenpairs


def symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return A + A.T


def definite(rng, n, rank=None):
    A = rng.normal(size=(n, rank or n))
    return A @ A.T / n


def run(E, P, k, **options):
    return largest_eigenpairs(lambda V: E @ V, lambda V: P @ V, len(E), k, **options)


@pytest.mark.parametrize("k", [1, 4])
def test_values_and_vectors(rng, k):
    E, P = symmetric(rng, 150), definite(rng, 150)
    found = run(E, P, k)
    expected = sla.eigh(E, np.linalg.inv(P), eigvals_only=True)[::-1][:k]
    assert found.converged
    np.testing.assert_allclose(found.values, expected, rtol=1e-9)
    np.testing.assert_allclose(E @ P @ found.vectors, found.vectors * found.values, atol=1e-6)
    np.testing.assert_allclose(found.vectors.T @ P @ found.vectors, np.eye(k), atol=1e-9)
    np.testing.assert_allclose(found.images, P @ found.vectors, atol=1e-9)


def test_residual_is_a_bound(rng):
    """Stopped early: every value is within the residual of some eigenvalue."""
    E, P = symmetric(rng, 300), np.eye(300)
    found = run(E, P, 2, most=40)
    assert not found.converged
    exact = np.linalg.eigvalsh(E)
    for value in found.values:
        assert np.abs(exact - value).min() <= found.residual * abs(found.values[0])


def test_space_that_is_exhausted(rng):
    """A metric of low rank leaves few directions: all of them are found, and no more."""
    E, P = symmetric(rng, 80), definite(rng, 80, rank=5)
    found = run(E, P, 8)
    expected = np.sort(np.linalg.eigvals(E @ P).real)[::-1]
    assert found.converged
    assert len(found.values) == 5
    np.testing.assert_allclose(
        np.sort(found.values), np.sort(expected[np.argsort(-np.abs(expected))[:5]]), rtol=1e-8
    )


def test_multiple_eigenvalues(rng):
    Q, _ = np.linalg.qr(rng.normal(size=(200, 200)))
    values = np.r_[3.0, 3.0, 3.0, 2.0, rng.uniform(0, 1, 196)]
    found = run((Q * values) @ Q.T, np.eye(200), 4)
    np.testing.assert_allclose(found.values, [3, 3, 3, 2], rtol=1e-10)


def test_same_answer_twice(rng):
    E, P = symmetric(rng, 60), definite(rng, 60)
    assert np.array_equal(run(E, P, 2).vectors, run(E, P, 2).vectors)


def test_problem_smaller_than_a_block(rng):
    E, P = symmetric(rng, 3), definite(rng, 3)
    expected = np.sort(np.linalg.eigvals(E @ P).real)[::-1]
    np.testing.assert_allclose(run(E, P, 2).values, expected[:2], rtol=1e-9)
