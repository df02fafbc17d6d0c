"""Rows of K on a device, by PyTorch on the processor."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.testing import difficult_samples

torch = pytest.importorskip("torch")
from mercer.gram.device import rows as module  # noqa: E402
from mercer.gram.device.rows import DeviceMatrix, DeviceRowGram  # noqa: E402

DEVICE = "torch-cpu"
KERNELS = [
    Gaussian(0.7),
    Laplacian(1.3, p=1),
    Matern(1.0, nu=0.5),
    Polynomial(degree=3) + 0.5,
    2 * Gaussian(0.5) + Matern(1.0, nu=2.5) * Linear() + 1,
    (Polynomial(degree=2) + 1).normalize(),
    Gaussian(0.4).on([0, 2]) * Laplacian(1.0).on([1]),
]


def rows_of(kernel, X, dtype=np.float64, order=None):
    return DeviceRowGram(DeviceMatrix(kernel, kernel.prepare(X), order, DEVICE, dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_those_of_the_kernel(kernel, dtype, rng):
    X, w = rng.uniform(-0.5, 0.5, (60, 3)), rng.standard_normal(60)
    K, found = kernel(X), rows_of(kernel, X, dtype)
    near = 1e-12 if dtype == np.float64 else 1e-5
    every = np.arange(60)
    np.testing.assert_allclose(found.card.whole.numpy(), K, atol=near * np.abs(K).max())
    np.testing.assert_array_equal(found.diag(), np.diagonal(K))
    np.testing.assert_allclose(found.product(every[:7], every, w), (K @ w)[:7], atol=1e-11)
    np.testing.assert_allclose(found @ w, K @ w, atol=1e-11)
    assert found.error <= near
    cache = np.zeros((4, 60), dtype)
    found.write(np.array([3, 9]), slice(10, 20), cache, np.array([2, 0]), 10)
    np.testing.assert_allclose(cache[[2, 0], 10:20], K[[3, 9], 10:20], atol=near * np.abs(K).max())


def test_samples_in_another_order_and_parts_of_them(rng):
    X, order = rng.standard_normal((40, 2)), rng.permutation(40)
    part = np.array([5, 3, 3, 30])
    K, found = Gaussian()(X[order]), rows_of(Gaussian(), X, order=order)
    np.testing.assert_allclose(found.block(part, slice(0, 40)), K[part], atol=1e-14)
    some = found.subset(part)
    np.testing.assert_allclose(some.to_dense(), K[np.ix_(part, part)], atol=1e-14)
    np.testing.assert_allclose(some.subset(np.array([3, 0])).to_dense(), K[[30, 5]][:, [30, 5]])
    assert "torch-cpu" in some.explain()


def test_k_that_does_not_fit_is_computed_in_tiles(rng, monkeypatch):
    monkeypatch.setattr(module, "_SHARE", 0.0)
    X = rng.standard_normal((30, 2))
    card = rows_of(Matern(1.0), X).card
    assert card.whole is None
    at = torch.tensor([4, 2, 9])
    np.testing.assert_allclose(card.part(at, at).numpy(), Matern(1.0)(X[[4, 2, 9]]), atol=1e-14)


@pytest.mark.parametrize("name", sorted(difficult_samples()))
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.0, nu=0.5)], ids=repr)
def test_difficult_samples(name, kernel):
    X = np.asarray(difficult_samples()[name])
    try:
        K = kernel(X.astype(np.float64))
    except ValueError:
        pytest.skip("refused by the kernel")
    for dtype, near in ((np.float32, 1e-4), (np.float64, 1e-8)):
        found = rows_of(kernel, X.astype(np.float64), dtype)
        np.testing.assert_allclose(found.card.whole.numpy(), K, atol=near)
