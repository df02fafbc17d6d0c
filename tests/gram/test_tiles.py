import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from mercer import Custom, Gaussian, Linear, Matern, Plan
from mercer.gram import tiles


@pytest.fixture
def X(rng):
    return rng.standard_normal((301, 4))


def test_blocks_of_different_precision(rng):
    """A user's function may choose it by the size of a block."""

    def inner(A, B):
        return (A @ B.T).astype(np.float32 if len(A) > 1 else np.float64)

    X, V = rng.standard_normal((300, 3)), rng.standard_normal((300, 2))
    K = Custom(inner, batch=True).gram(X, Plan(storage="tiled"))
    np.testing.assert_allclose(K @ V, X @ (X.T @ V), atol=1e-3)


def test_vectors_in_any_order_of_memory(rng):
    K, V = rng.standard_normal((60, 60)), rng.standard_normal((3, 60)).T
    K += K.T
    found = tiles.symmetric_product(lambda r, c: K[r, c].copy(), np.diag(K), V, size=20)
    np.testing.assert_allclose(found, K @ V)


@pytest.mark.parametrize("tile", [7, 64, 1000])
@pytest.mark.parametrize("workers", [1, 3])
def test_evaluate_is_the_kernel_matrix_for_any_tiling(X, tile, workers):
    k = Gaussian.from_gamma(0.3)
    P = k.prepare(X)
    K = tiles.evaluate(k, P, P, tile=tile, workers=workers)
    np.testing.assert_allclose(K, rbf_kernel(X, gamma=0.3), atol=1e-14)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)


def test_rectangular_blocks(X, rng):
    Y = rng.standard_normal((57, 4))
    k = Gaussian.from_gamma(0.3)
    K = tiles.evaluate(k, k.prepare(X), k.prepare(Y), tile=16)
    np.testing.assert_allclose(K, rbf_kernel(X, Y, gamma=0.3), atol=1e-14)


@pytest.mark.parametrize("columns", [1, 3])
def test_multiply_equals_the_dense_product(X, rng, columns):
    k = Matern(nu=2.5) + Linear()
    V = rng.standard_normal((301, columns))
    P = k.prepare(X)
    np.testing.assert_allclose(tiles.multiply(k, P, P, V, tile=50), k(X) @ V, rtol=1e-12)


def test_multiply_without_symmetry(X, rng, monkeypatch):
    monkeypatch.setattr(tiles, "_ACCUMULATORS", 0)
    k = Matern(nu=2.5)
    V = rng.standard_normal((301, 2))
    P = k.prepare(X)
    np.testing.assert_allclose(tiles.multiply(k, P, P, V, tile=50), k(X) @ V, rtol=1e-12)


def test_results_do_not_depend_on_the_number_of_threads(X, rng):
    k = Gaussian()
    P = k.prepare(X)
    V = rng.standard_normal((301, 1))
    one = tiles.multiply(k, P, P, V, tile=32, workers=1)
    many = tiles.multiply(k, P, P, V, tile=32, workers=4)
    np.testing.assert_array_equal(one, many)


def test_float32_products_accumulate_in_float64(rng):
    X = rng.standard_normal((3000, 3)).astype(np.float32)
    v = np.ones((3000, 1))
    k = Gaussian()
    P = k.prepare(X)
    exact = rbf_kernel(X.astype(float), gamma=0.5) @ v
    np.testing.assert_allclose(tiles.multiply(k, P, P, v), exact, rtol=2e-6)


# ---- contractions of derivatives ----------------------------------------------------------
def symmetric(rng, n):
    W = rng.standard_normal((n, n))
    return W + W.T


@pytest.mark.parametrize("tile", [7, 64, 1000])
def test_contract_is_the_dense_sum(X, rng, tile):
    k = 2 * Gaussian([0.5, 1.0, 2.0, 3.0]) + Matern().on(0) * Linear()
    W, P = symmetric(rng, 301), k.prepare(X)
    got = tiles.contract(k, P, lambda rows, cols: W[rows, cols], tile=tile)
    assert got.shape == k.theta.shape == (6,)
    np.testing.assert_allclose(got, k.grad_theta(P, P, W), rtol=1e-10)


def test_contract_does_not_depend_on_the_number_of_threads(X, rng):
    k = Gaussian([0.5, 1.0, 2.0, 3.0]) + 1
    W, P = symmetric(rng, 301), k.prepare(X)
    one, many = (
        tiles.contract(k, P, lambda rows, cols: W[rows, cols], tile=32, workers=workers)
        for workers in (1, 4)
    )
    np.testing.assert_array_equal(one, many)


def test_contract_asks_for_the_upper_triangle_only(X):
    asked = []

    def ones(rows, cols):
        asked.append((rows.start, cols.start))
        return np.ones((rows.stop - rows.start, cols.stop - cols.start))

    k = Gaussian()
    got = tiles.contract(k, k.prepare(X), ones, tile=100, workers=1)
    assert asked == [(r, c) for r in range(0, 301, 100) for c in range(r, 301, 100)]
    assert got.shape == (1,)


def test_contract_without_hyperparameters(X):
    k = Linear()
    assert tiles.contract(k, k.prepare(X), lambda rows, cols: None).shape == (0,)
