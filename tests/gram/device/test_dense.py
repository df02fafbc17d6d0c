"""All of K on a device: factors, and what models make of them."""

import warnings

import numpy as np
import pytest

from mercer import (
    Gaussian,
    GaussianProcessRegressor,
    KernelCCA,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
    Matern,
    Plan,
)
from mercer.exceptions import DenseWarning, DeviceError
from mercer.gram.device.dense import DeviceCholesky
from mercer.solvers.cholesky import CholeskyFactor, NotPositiveDefiniteError
from mercer.solvers.weight_space import device_factor

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
DEVICE = Plan(device="torch-cpu")


@pytest.fixture
def data(rng):
    X = rng.standard_normal((150, 3))
    weights = rng.uniform(0.5, 2, 150)
    weights[:4] = 0
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(150), weights


def test_the_factor_is_that_of_the_processor(rng, monkeypatch):
    monkeypatch.setattr("mercer.gram.device.dense._BLOCK", 16)
    A = rng.standard_normal((50, 60))
    A = A @ A.T
    found, exact, B = (
        DeviceCholesky(torch.tensor(A), "torch-cpu"),
        CholeskyFactor(A.copy()),
        A[:, :3],
    )
    np.testing.assert_allclose(found.solve(B), exact.solve(B), atol=1e-9)
    np.testing.assert_allclose(found.solve(B[:, 0]), exact.solve(B[:, 0]), atol=1e-9)
    np.testing.assert_allclose(found.half_solve(B), exact.half_solve(B), atol=1e-9)
    np.testing.assert_allclose(found.explained(B), exact.explained(B), atol=1e-9)
    np.testing.assert_allclose(found.inverse().numpy() @ A, np.eye(50), atol=1e-8)
    np.testing.assert_allclose(found.inverse_diag(), np.diag(np.linalg.inv(A)), rtol=1e-9)
    assert found.logdet() == pytest.approx(np.linalg.slogdet(A)[1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_k_as_a_whole(data, dtype, monkeypatch):
    monkeypatch.setattr("mercer.gram.device.gram._SIDE", 40)
    X = data[0].astype(dtype)
    gram = DEVICE.gram(2 * Matern(1.0), X)
    K = gram.whole("a test").numpy()
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, (2 * Matern(1.0))(X), rtol=1e-12 if dtype == np.float64 else 1e-5)


def test_what_does_not_fit_is_said(data):
    small = Plan(device="torch-cpu", memory="100 KB").gram(Gaussian(1.0), data[0])
    assert not small.fits(1)
    with pytest.raises(DeviceError, match="fewer samples"):
        small.whole("a test")
    with pytest.raises(NotPositiveDefiniteError):
        device_factor(DEVICE.gram(Gaussian(1.0), data[0]), -2.0)
    assert not Plan().gram(Gaussian(1.0), data[0]).fits(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_models_are_those_of_the_processor(data, weighted):
    X, y, weights = data
    w = weights if weighted else None
    grid = {"kernel__lengthscale": [0.5, 1.0]}
    models = [
        lambda plan: KernelRidge(alpha=0.1, kernel=Gaussian(1.0), plan=plan),
        lambda plan: KernelRidgeCV(kernel=Gaussian(1.0), param_grid=grid, plan=plan),
        lambda plan: KernelRidgeCV(kernel=Gaussian(1.0), cv=3, plan=plan),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", DenseWarning)
        for make in models:
            here, there = (make(plan).fit(X, y, w) for plan in (None, DEVICE))
            np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-9)
            np.testing.assert_allclose(
                getattr(there, "best_score_", 0), getattr(here, "best_score_", 0), rtol=1e-9
            )
    ridge = models[0](DEVICE).fit(X, y, w)
    assert ridge.solution_.stats["method"] == "cholesky"
    assert ridge.solution_.stats["device"] == "torch-cpu"


@pytest.mark.parametrize("weighted", [False, True])
def test_components_are_those_of_the_processor(data, weighted):
    X, _, weights = data
    w = weights if weighted else None
    here, there = (
        KernelPCA(5, kernel=Gaussian(1.0), plan=plan).fit(X, sample_weight=w)
        for plan in (None, DEVICE)
    )
    np.testing.assert_allclose(abs(there.transform(X)), abs(here.transform(X)), atol=1e-9)


def test_canonical_correlations_are_those_of_the_processor(data):
    X, y, _ = data
    here, there = (
        KernelCCA(2, kernels=Gaussian(1.0), rank=150, plan=plan).fit(X, np.c_[X[:, 1] ** 2, y])
        for plan in (None, DEVICE)
    )
    np.testing.assert_allclose(there.correlations_, here.correlations_, atol=1e-8)


def test_a_process_is_that_of_the_processor(data):
    X, y, _ = data
    Y = np.c_[y, X[:, 1]]
    here, there = (
        GaussianProcessRegressor(Gaussian(1.0), alpha=0.01, optimizer=None, plan=plan).fit(X, Y)
        for plan in (None, DEVICE)
    )
    new = X[:20] + 0.1
    for options in ({"return_std": True}, {"return_cov": True}):
        for a, b in zip(here.predict(new, **options), there.predict(new, **options), strict=True):
            np.testing.assert_allclose(b, a, atol=1e-8)
    value = here.log_marginal_likelihood_value_
    assert there.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-9)
    theta = np.append(here.kernel_.theta, 0.1)
    a, b = (model.log_marginal_likelihood(theta, eval_gradient=True) for model in (here, there))
    assert a[0] == pytest.approx(b[0], rel=1e-9)
    np.testing.assert_allclose(b[1], a[1], rtol=1e-6)
