"""Tall matrices strip by strip, stored in any way, on any number of threads."""

import numpy as np
import pytest

from mercer.engine import schedule as module
from mercer.engine.limits import within
from mercer.solvers.tall import beyond, tall_inner, tall_product

STORED = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every other column": lambda A: np.repeat(A, 2, axis=1)[:, ::2],
    "some columns of more": lambda A: np.asfortranarray(np.c_[A, A])[:, : A.shape[1]],
    "columns of rows": lambda A: np.c_[A, A][:, : A.shape[1]],
    "float32": lambda A: A.astype(np.float32),
    "numbers of records": lambda A: packed(A),
    "backwards": lambda A: A[::-1].copy()[::-1],
}


def packed(A):
    """Numbers 12 bytes apart."""
    records = np.zeros(A.shape, [("value", "f8"), ("other", "f4")])
    records["value"] = A
    return records["value"]


@pytest.mark.parametrize("one", STORED)
@pytest.mark.parametrize("other", STORED)
@pytest.mark.parametrize(("n", "m", "k"), [(900, 5, 3), (1, 1, 1), (403, 1, 7), (7000, 4, 1)])
def test_inner_products(rng, one, other, n, m, k):
    B, W = STORED[one](rng.standard_normal((n, m))), STORED[other](rng.standard_normal((n, k)))
    expected = B.astype(float).T @ W.astype(float)
    np.testing.assert_allclose(tall_inner(B, W), expected, atol=1e-9)


@pytest.mark.parametrize("stored", STORED)
def test_a_matrix_with_itself(rng, stored):
    B = STORED[stored](rng.standard_normal((1900, 6)))
    found = tall_inner(B, B)
    np.testing.assert_allclose(found, B.astype(float).T @ B.astype(float), atol=1e-9)
    assert np.array_equal(found, found.T)


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(("n", "m", "k"), [(900, 5, 3), (1, 1, 1), (403, 1, 7), (7000, 4, 1)])
def test_products_with_small_matrices(rng, stored, n, m, k):
    B, C = STORED[stored](rng.standard_normal((n, m))), rng.standard_normal((k, m)).T
    np.testing.assert_allclose(tall_product(B, C), B.astype(float) @ C, atol=1e-9)


@pytest.mark.parametrize(("n", "known", "columns"), [(3000, 7, 5), (900, 0, 450), (410, 12, 30)])
@pytest.mark.parametrize("stored", STORED)
def test_what_is_beyond_a_basis(rng, n, known, columns, stored):
    """Strips have factors of their own: the whole is what one factorisation would be."""
    B = np.linalg.qr(rng.standard_normal((n, known)))[0] if known else np.empty((n, 0))
    W = STORED[stored](rng.standard_normal((n, columns)))
    before = W.astype(float)
    Q, R, C = beyond(B, W)
    assert Q.shape == (n, columns)
    np.testing.assert_allclose(Q.T @ Q, np.eye(columns), atol=1e-12)
    np.testing.assert_allclose(C, B.T @ before, atol=1e-10)
    np.testing.assert_allclose(B @ C + Q @ R, before, atol=1e-10)
    whole = np.linalg.qr(before - B @ C)[1]
    np.testing.assert_allclose(np.abs(np.diag(R)), np.abs(np.diag(whole)))


@pytest.mark.parametrize("compiled", [False, True])
def test_the_same_bits_on_any_number_of_threads(rng, monkeypatch, compiled):
    B = np.linalg.qr(rng.standard_normal((5003, 9)))[0]
    W, C = rng.standard_normal((5003, 4)), rng.standard_normal((9, 3))
    found = []
    for workers in (1, 2, 16):
        monkeypatch.setattr(module, "_compiled_pays", lambda work: compiled)
        monkeypatch.setattr(module, "_PER_THREAD", 1.0)
        with within(workers, np.inf):
            parts = tall_inner(B, W), tall_inner(B, B), tall_product(B, C), *beyond(B, W.copy())
        found.append(np.concatenate([part.ravel() for part in parts]))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize(("n", "m", "k"), [(0, 2, 3), (5, 0, 2), (5, 2, 0), (900, 0, 2)])
def test_of_nothing(n, m, k):
    B, W, C = np.ones((n, m)), np.ones((n, k)), np.ones((m, k))
    np.testing.assert_array_equal(tall_inner(B, W), B.T @ W)
    np.testing.assert_array_equal(tall_product(B, C), B @ C)
