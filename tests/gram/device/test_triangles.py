"""Factorisations in blocks, against NumPy's of whole matrices; in double and split precision."""

import numpy as np
import pytest

from mercer import Gaussian

torch = pytest.importorskip("torch")

from mercer.gram.device.products import Plain, Split, products_for  # noqa: E402
from mercer.gram.device.triangles import Square  # noqa: E402

DEVICE = "torch-cpu"
PRODUCTS = [Plain(np.float64), Split(), Plain(np.float32)]
SIZES = [(1, 8), (5, 8), (16, 8), (67, 16), (200, 32)]


def made(size, side, products, jitter=1e-2):
    X = np.random.default_rng(size).standard_normal((size, 3))
    K = Gaussian(1.5)(X)
    there = torch.from_numpy(K)
    square = Square(size, DEVICE, products, side)
    L = square.below
    L.fill(lambda rows, cols: there[rows, cols])
    L.shift(jitter)
    return K + jitter * np.eye(size), square, L


def dense(triangle):
    return triangle.times(torch.eye(len(triangle), dtype=torch.float64)).numpy()


@pytest.mark.parametrize("products", PRODUCTS, ids=lambda p: f"{type(p).__name__}-{p.dtype}")
@pytest.mark.parametrize(("size", "side"), SIZES)
def test_both_triangles_of_a_square(size, side, products, rng):
    A, square, L = made(size, side, products)
    tol = 30 * products.rounding * np.sqrt(size)
    assert L.factorise() == 0
    first = dense(L)
    np.testing.assert_allclose(first @ first.T, A, atol=tol)
    np.testing.assert_allclose(first, np.linalg.cholesky(A), atol=300 * tol)

    h = rng.random(size) * 10
    H, R = first.T @ (h[:, None] * first), square.above
    L.gram(R, torch.from_numpy(h))
    assert R.largest == pytest.approx(np.diagonal(H).max(), rel=1e-5)
    R.shift(1.0)
    assert R.factorise() == 0
    second = dense(R)
    size_of = np.abs(H).max() + 1
    np.testing.assert_allclose(second @ second.T, H + np.eye(size), atol=tol * size_of)
    np.testing.assert_array_equal(dense(L), first)  # which the other triangle leaves alone


@pytest.mark.parametrize("products", PRODUCTS[:2], ids=["double", "split"])
@pytest.mark.parametrize(("size", "side"), SIZES)
def test_systems_are_solved_in_double_precision(size, side, products, rng):
    _, _, L = made(size, side, products)
    L.factorise()
    whole, B = dense(L), rng.standard_normal((size, 3))
    V = torch.from_numpy(B)
    for transposed, matrix in ((False, whole), (True, whole.T)):
        np.testing.assert_allclose(L.times(V, transposed).numpy(), matrix @ B, atol=1e-11)
        found = L.solve(V, transposed).numpy()
        np.testing.assert_allclose(matrix @ found, B, atol=1e-10)
    rows = torch.from_numpy(B.T.copy()).to(L.array.dtype)
    expected = np.linalg.solve(whole, B).T
    tol = 100 * products.rounding * np.abs(expected).max() * np.sqrt(size)
    np.testing.assert_allclose(L.rows(rows).numpy(), expected, atol=tol)


def test_features_add_up_to_a_matrix(rng):
    phi = rng.standard_normal((50, 40))
    for products, atol in ((Plain(np.float64), 1e-12), (Split(), 1e-4)):
        T = Square(40, DEVICE, products, 16).below
        T.zero()
        for rows in (slice(0, 30), slice(30, 50)):
            T.add_gram(torch.from_numpy(phi[rows]).to(T.array.dtype))
        T.shift(0.1)
        assert T.factorise() == 0
        found = dense(T)
        np.testing.assert_allclose(found @ found.T, phi.T @ phi + 0.1 * np.eye(40), atol=atol)


def test_a_matrix_without_a_factor_says_where():
    A = np.diag([1.0, 2.0, 3.0, -1.0, 5.0])
    T = Square(5, DEVICE, Plain(np.float64), 2).below
    there = torch.from_numpy(A)
    T.fill(lambda rows, cols: there[rows, cols])
    assert T.factorise() == 4
    assert A[3, 3] == -1.0


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_split_products_are_as_exact_as_single_ones(scale, rng):
    A, B = rng.standard_normal((60, 300)) * scale, rng.standard_normal((40, 300))
    B[:, ::2] *= 1e-3
    split, target = Split(), torch.zeros((60, 40))
    split.add(target, split.operand(torch.from_numpy(A)), split.operand(torch.from_numpy(B)), -1.0)
    bound = np.linalg.norm(A, axis=1)[:, None] * np.linalg.norm(B, axis=1)
    error = np.abs(target.numpy() + A @ B.T) / bound
    assert error.max() < 2 * split.rounding


def test_the_precision_asked_for():
    assert products_for(DEVICE, np.float64).dtype == np.float64
    assert isinstance(products_for(DEVICE, np.float32), Split)
