"""Fused products in the interpreter of Triton; skipped where that, or PyTorch, is not installed."""

import os

os.environ.setdefault("TRITON_INTERPRET", "1")  # before the first import of Triton

import numpy as np
import pytest

from mercer import (
    Binomial,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
)
from mercer.gram import DeviceGram

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
from mercer.gram.device.fused import Fused, interpreted, why_not  # noqa: E402

DEVICE = "torch-cpu"
pytestmark = pytest.mark.skipif(not interpreted(), reason="Triton is not interpreted")
KERNELS = [
    Gaussian(0.7),
    Laplacian(1.3),
    Laplacian(1.3, p=1),
    Matern(1.0, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern(1.0, nu=2.5),
    RationalQuadratic(0.8, alpha=2.5),
    Polynomial(degree=3) + 0.5,
    Exponential(0.3),
    (Polynomial(degree=2) + 1).normalize(),
    Binomial(2.0),
    2 * Gaussian(0.5) + Matern(1.0, nu=2.5) * Linear() + 1,
    (Gaussian(0.5) + Linear()) ** 2,
    Gaussian(0.4).on([0]) * Laplacian(1.0).on([0]),
]


def fused(kernel, X, Y, precision="fp32"):
    rows, cols = (kernel.formula(kernel.prepare(Z)) for Z in (X, Y))
    return Fused(rows, cols, DEVICE, precision)


def agrees(found, K, V, error):
    bound = error * (np.abs(K) @ np.abs(V)).max()
    np.testing.assert_allclose(found.numpy(), K @ V, rtol=0, atol=bound)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize(("n", "m", "d", "sides"), [(1, 17, 1, 1), (129, 65, 3, 3)])
def test_products_of_any_shape(kernel, n, m, d, sides, rng):
    X, Y = (rng.uniform(-0.5, 0.5, (size, d)) for size in (n, m))
    K, V, U = kernel(X, Y), rng.standard_normal((m, sides)), rng.standard_normal((n, sides))
    product = fused(kernel, X, Y)
    agrees(product(torch.tensor(V)), K, V, 2e-6)
    agrees(product.transposed(torch.tensor(U)), K.T, U, 2e-6)
    agrees(product.normal(torch.tensor(V)), K.T @ K, V, 1e-5)


@pytest.mark.parametrize("d", [9, 28, 90])
@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_many_columns_and_right_hand_sides(d, precision, rng):
    X, Y = rng.standard_normal((70, d)), rng.standard_normal((130, d))
    for kernel in (Gaussian(np.sqrt(d)), Gaussian(np.linspace(1, 2, d) * d**0.5), Linear()):
        K, V = kernel(X, Y), rng.standard_normal((130, 70))
        agrees(fused(kernel, X, Y, precision)(torch.tensor(V)), K, V, 2e-6)


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, nu=0.5), Matern(1.0)], ids=repr)
def test_near_duplicates_and_outliers(kernel, rng):
    X = rng.standard_normal((40, 3))
    X = np.vstack([X, X + 1e-4, X[:5] + 1e3, X[:5] + 1e3 + 1e-2, [[1e8] * 3, [1e8, 1e8, 1e8 + 1]]])
    K, V = kernel(X), rng.standard_normal((len(X), 1))
    found = fused(kernel, X, X)(torch.tensor(V)).numpy()
    np.testing.assert_allclose(found, K @ V, rtol=0, atol=2e-5 * (np.abs(K) @ np.abs(V)).max())


def test_operators_take_them_in_single_precision(rng):
    X = rng.uniform(-1, 1, (90, 2)).astype(np.float32)
    gram, V = DeviceGram(Gaussian(0.5), X / np.float32(0.5), device=DEVICE), np.ones(90)
    K = Gaussian(0.5)(X.astype(float))
    np.testing.assert_allclose(gram @ V, K @ V, rtol=1e-5)
    np.testing.assert_allclose(gram.normal(V), K @ (K @ V), rtol=1e-5)
    assert "fused" in gram.explain()
    assert "double precision" in gram.products(np.float64).explain()


def test_what_is_not_fused_says_why():
    X = np.zeros((2, 2), np.float32)
    assert "no formula" in why_not(None, DEVICE, np.float32)
    assert "no fused form" in why_not(Matern(nu=0.7).formula(X), DEVICE, np.float32)
    assert "double" in why_not(Gaussian(1.0).formula(X), DEVICE, np.float64)
