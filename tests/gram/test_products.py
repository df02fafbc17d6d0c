"""K for many products: in single or double precision, with tiles kept."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Matern, Plan, Polynomial, Spectrum
from mercer.gram import tiles
from mercer.gram.products import ProductGram
from mercer.testing import check_gram

TILED = Plan(storage="tiled")
KERNELS = [
    Gaussian(2.0),
    Laplacian(2.0),
    Laplacian(3.0, p=1),
    2 * Matern(2.0) + Gaussian(1.0) * Linear() + 1,
    Polynomial(degree=2),
]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_products_in_single_precision(rng, kernel, offset):
    X, V = rng.standard_normal((300, 4)) + offset, rng.standard_normal((300, 2))
    expected = kernel(X) @ V
    for dtype, tol in ((np.float32, 1e-5), (np.float64, 1e-12)):
        product = kernel.gram(X, TILED).products(dtype) @ V
        assert product.dtype == np.float64
        np.testing.assert_allclose(product, expected, atol=tol * np.abs(kernel(X) @ abs(V)).max())


@pytest.mark.parametrize("kernel", KERNELS)
def test_products_in_double_precision_of_samples_in_single(rng, kernel):
    X, V = rng.standard_normal((200, 4)).astype(np.float32), rng.standard_normal((200, 1))
    P = kernel.prepare(X)
    gram = kernel.gram(X, TILED)
    if isinstance(P, np.ndarray):  # what a kernel prepares is rounded, and taken as it is
        exact = kernel.pairwise(P.astype(float), P.astype(float)) @ V
        np.testing.assert_allclose(gram.products(np.float64) @ V, exact, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(gram.products(np.float64) @ V, kernel(X) @ V, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("room", [0, 200_000, 1e9])
def test_tiles_that_are_kept_change_nothing(rng, room):
    X, V = rng.standard_normal((600, 3)), rng.standard_normal((600, 3))
    gram = Gaussian().gram(X, TILED)
    none, some = gram.products(np.float32), gram.products(np.float32, room)
    for _ in range(2):
        np.testing.assert_array_equal(some @ V, none @ V)
    kept = sum(tile.nbytes for tile in some._kept.values())
    assert kept <= room
    assert kept >= min(0.5 * room, 600 * 600 * 2)


def test_vectors_of_any_size(rng):
    X, V = rng.standard_normal((100, 2)), rng.standard_normal((100, 3))
    K = Gaussian().gram(X, TILED).products(np.float32)
    scale = np.array([2.0**-900, 1.0, 2.0**900])
    np.testing.assert_array_equal(K @ (V * scale), (K @ V) * scale)
    assert not (K @ np.zeros(100)).any()


def test_two_values_and_strings(rng):
    bits = rng.integers(0, 2, (150, 20)).astype(float)
    words = ["".join(rng.choice(list("abc"), 8)) for _ in range(60)]
    for kernel, data in ((Gaussian(2.0), bits), (Spectrum(2), words)):
        v = rng.standard_normal(len(data))
        K = kernel.gram(data, TILED).products(np.float32, 1e6)
        np.testing.assert_allclose(K @ v, kernel(data) @ v, atol=1e-4)


def test_is_the_operator_it_stands_for(rng):
    X, kernel = rng.standard_normal((60, 2)), Matern()
    K = kernel.gram(X, TILED).products(np.float64, 1e6)
    check_gram(K, kernel(X))
    np.testing.assert_allclose(K.cross(X[:3]).to_dense(), kernel(X[:3], X))
    assert "products in float64" in repr(K)
    assert isinstance(K, ProductGram)
    assert K.nbytes > 60 * 60 * 4


@pytest.mark.parametrize("n", [1, 3, 499, 1203])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_half_of_a_stored_matrix(rng, n, dtype):
    X, V = rng.standard_normal((n, 2)).astype(dtype), rng.standard_normal((n, 5))
    gram = Gaussian().gram(X, Plan(storage="dense"))
    K = gram.packed()
    for _ in range(2):
        np.testing.assert_allclose(K @ V, gram @ V, rtol=1e-3, atol=50 * n * np.finfo(dtype).eps)
    kept = sum(tile.nbytes for tile in K._kept.values())
    assert kept <= K.nbytes
    assert kept >= n * n * gram.dtype.itemsize / 2
    assert "array" not in vars(gram.packed().inner)


def test_operators_without_another_form_are_themselves(rng):
    X = rng.standard_normal((10, 2))
    for gram in (Gaussian().gram(X), Gaussian().gram(X, TILED).cross(X[:3])):
        assert gram.products(np.float32) is gram


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_rounds_of_tiles(n):
    rounds = tiles._rounds(n)
    pairs = sorted(pair for each in rounds for pair in each)
    assert pairs == [(i, j) for i in range(n) for j in range(i, n)]
    for each in rounds:
        used = [i for pair in each for i in set(pair)]
        assert len(used) == len(set(used))


def test_wide_products_do_not_depend_on_threads(rng, monkeypatch):
    monkeypatch.setattr(tiles, "_ACCUMULATORS", 0)
    X, V = rng.standard_normal((301, 3)), rng.standard_normal((301, 2))
    P = Gaussian().prepare(X)
    one, four = (tiles.multiply(Gaussian(), P, P, V, tile=32, workers=w) for w in (1, 4))
    np.testing.assert_array_equal(one, four)
    np.testing.assert_allclose(one, Gaussian()(X) @ V, rtol=1e-11)
