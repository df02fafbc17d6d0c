"""The same code as on a GPU, by PyTorch on the processor; skipped where that is not installed."""

import numpy as np
import pytest

from mercer import (
    Binomial,
    Exponential,
    Gaussian,
    GaussianProcessRegressor,
    KernelLogisticRegression,
    KernelMachine,
    KernelRidge,
    Laplacian,
    Linear,
    Matern,
    Plan,
    Polynomial,
    RandomFourier,
    RationalQuadratic,
    Spectrum,
    stream,
)
from mercer.exceptions import DeviceError, DeviceWarning, DomainError
from mercer.gram import DeviceGram
from mercer.testing import check_gram, difficult_samples

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # several would wait for each other beside other tests
DEVICE = "torch-cpu"
KERNELS = [
    Gaussian(0.7),
    Gaussian([0.5, 1.0, 2.0]),
    Laplacian(1.3),
    Laplacian(1.3, p=1),
    Matern(1.0, nu=0.5),
    Matern(1.0, nu=1.5),
    Matern([0.5, 1.0, 2.0], nu=2.5),
    RationalQuadratic(0.8, alpha=1.0),
    RationalQuadratic(0.8, alpha=2.5),
    Polynomial(degree=3) + 0.5,
    Exponential(0.3),
    (Polynomial(degree=2) + 1).normalize(),
    Binomial(2.0),
    2 * Gaussian(0.5) + Matern(1.0, nu=2.5) * Linear() + 1,
    (Gaussian(0.5) + Linear()) ** 2,
    Gaussian(0.4).on([0, 2]) * Laplacian(1.0).on([1]),
]


@pytest.fixture
def X(rng):
    return rng.uniform(-0.5, 0.5, size=(300, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_products_and_blocks_are_those_of_the_kernel(kernel, X, rng):
    K, V = kernel(X), rng.standard_normal((300, 2))
    gram = DeviceGram(kernel, kernel.prepare(X), device=DEVICE)
    scale = np.abs(K).max()
    np.testing.assert_allclose(gram @ V, K @ V, atol=1e-10 * scale * 300)
    np.testing.assert_allclose(gram.normal(V), K @ (K @ V), atol=1e-9 * scale**2 * 300**2)
    np.testing.assert_allclose(
        gram.block(slice(5, 9), np.array([6, 6, 2])), K[5:9][:, [6, 6, 2]], atol=1e-10 * scale
    )
    np.testing.assert_array_equal(gram.diag(), np.diagonal(K))
    new = gram.cross(X[:7] / 2)
    np.testing.assert_allclose(new @ V, kernel(X[:7] / 2, X) @ V, atol=1e-10 * scale * 300)
    single = gram.products(np.float32) @ V
    np.testing.assert_allclose(single, K @ V, atol=1e-5 * scale * 300)


def test_it_passes_the_shipped_check(X):
    check_gram(Plan(device=DEVICE).gram(Gaussian(0.5), X), Gaussian(0.5)(X))


@pytest.mark.parametrize("name", sorted(difficult_samples()))
def test_difficult_samples(name):
    X = difficult_samples()[name]
    kernel = Gaussian(1.0)
    try:
        expected = kernel(X)
    except (ValueError, DomainError):
        pytest.skip("refused by the kernel")
    found = Plan(device=DEVICE).gram(kernel, X).to_dense()
    eps = 1e-4 if found.dtype == np.float32 else 1e-9
    np.testing.assert_allclose(found, expected, atol=eps)


def test_small_tiles_give_the_same(X, rng, monkeypatch):
    from mercer.gram.device import torch_

    V = rng.standard_normal((300, 1))
    whole = Plan(device=DEVICE).gram(Gaussian(0.5), X) @ V
    monkeypatch.setattr(torch_, "_ENTRIES", 1000)
    np.testing.assert_allclose(Plan(device=DEVICE).gram(Gaussian(0.5), X) @ V, whole, rtol=1e-10)


def test_no_room_is_met_by_smaller_tiles(X, monkeypatch):
    from mercer.gram.device.tiles import DeviceTiles

    compute, sizes = DeviceTiles.__call__, []

    def short_of_memory(self, rows, cols):
        size = (rows.stop - rows.start) * (cols.stop - cols.start)
        sizes.append(size)
        if size > 200 * 200:
            raise torch.OutOfMemoryError("no room")
        return compute(self, rows, cols)

    monkeypatch.setattr(DeviceTiles, "__call__", short_of_memory)
    K = Plan(device=DEVICE).gram(Gaussian(0.5), X)
    np.testing.assert_allclose(K @ np.ones(300), Gaussian(0.5)(X).sum(axis=1))
    assert max(sizes) > 200 * 200 >= sizes[-1]
    monkeypatch.setattr(
        DeviceTiles, "__call__", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError("no"))
    )
    with pytest.raises(DeviceError, match="does not suffice"):
        K @ np.ones(300)


def test_models_are_those_of_the_processor(X):
    y = np.sin(5 * X).sum(axis=1)
    new = X[:20] * 0.9
    for model in (
        KernelRidge(alpha=0.1, kernel=Gaussian(0.5)),
        KernelMachine(kernel=Gaussian(0.5), loss="huber", alpha=0.1),
        GaussianProcessRegressor(Gaussian(0.5), alpha=0.1, optimizer=None),
    ):
        here = model.set_params(plan=None).fit(X, y).predict(new)
        there = model.set_params(plan=Plan(device=DEVICE)).fit(X, y).predict(new)
        np.testing.assert_allclose(there, here, atol=1e-4)
        assert model.gram_.device == DEVICE


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_landmarks_on_a_device(X, dtype, rng):
    X = (np.vstack([X] * 4) + rng.uniform(-0.1, 0.1, (4 * len(X), 3))).astype(dtype)
    y = np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(len(X))
    here, there = Plan(rank=50), Plan(rank=50, device=DEVICE)
    for model, target in (
        (KernelRidge(alpha=1e-2, kernel=Gaussian(0.5), solver="falkon"), y),
        (KernelLogisticRegression(kernel=Gaussian(0.5)), y > 0),
        (KernelMachine(kernel=Matern(0.5), loss="quantile"), y),
    ):
        expected = model.set_params(plan=here).fit(X, target)
        expected = getattr(expected, "decision_function", expected.predict)(X[:50])
        found = model.set_params(plan=there).fit(X, target)
        found = getattr(found, "decision_function", found.predict)(X[:50])
        np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_chunks_go_to_the_device(X):
    y = X[:, 0]
    chunks = stream(X, target=y, rows=70)
    plan = Plan(rank=20, device=DEVICE)
    there = KernelRidge(alpha=1e-3, kernel=Gaussian(1.0), plan=plan).fit(chunks)
    here = KernelRidge(alpha=1e-3, kernel=Gaussian(1.0), plan=Plan(rank=20)).fit(chunks)
    np.testing.assert_allclose(there.predict(chunks), here.predict(chunks), atol=1e-6)


def test_what_a_device_cannot_do_is_done_here(X):
    for kernel, data in ((Spectrum(2), ["ab", "bc"]), (Matern(nu=0.7), X)):
        if kernel.n_features(kernel.prepare(data)):
            continue
        with pytest.warns(DeviceWarning, match="on the CPU"):
            gram = Plan(device=DEVICE).gram(kernel, data)
        assert gram.device == "cpu"
    with pytest.warns(DeviceWarning, match="not landmarks"):
        KernelRidge(kernel=Gaussian(), plan=Plan(device=DEVICE, features=RandomFourier(10))).fit(
            X, X[:, 0]
        )


def test_a_device_that_is_not_there(X):
    if torch.cuda.is_available():
        with pytest.raises(DeviceError, match="there are"):
            Plan(device="cuda:99").gram(Gaussian(), X)
    else:
        with pytest.raises(DeviceError, match="finds no GPU"):
            Plan(device="cuda").gram(Gaussian(), X)


def test_values_that_are_not_finite_are_refused():
    X = np.full((5, 2), 1e3)
    with pytest.raises(DomainError):
        Plan(device=DEVICE).gram(Exponential(), X) @ np.ones(5)


def test_plans_say_where(X):
    assert "torch-cpu" in Plan(device=DEVICE).explain(Gaussian(), X)
    assert "torch-cpu" in repr(Plan(device=DEVICE).gram(Gaussian(), X))
