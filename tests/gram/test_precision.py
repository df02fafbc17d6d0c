"""The precision of kernel values, on the CPU."""

import numpy as np
import pytest
import scipy.sparse as sp

import mercer
from mercer import Gaussian, KernelRidge, Landmarks, Plan


@pytest.fixture
def X(rng):
    """Samples in single precision, whose last digits matter."""
    return (2e3 + 30 * rng.standard_normal((80, 3))).astype(np.float32)


@pytest.mark.parametrize("storage", ["auto", "dense", "tiled"])
def test_double_precision_for_samples_in_single_precision(X, storage):
    exact = Gaussian(30.0)(X.astype(float))
    K = Plan(precision="fp64", storage=storage).gram(Gaussian(30.0), X)
    assert K.dtype == float
    np.testing.assert_allclose(K.to_dense(), exact, atol=1e-13)
    np.testing.assert_allclose(K.cross(X[:5]).to_dense(), exact[:5], atol=1e-13)
    rounded = Plan(storage=storage).gram(Gaussian(30.0), X).to_dense()
    assert np.abs(rounded - exact).max() > 1e-9


@pytest.mark.parametrize("to", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "options",
    [{}, {"rank": 20}, {"features": Landmarks(20)}, {"rank": 20, "storage": "streamed"}],
    ids=str,
)
def test_models_are_those_of_the_same_samples_in_double_precision(X, options, to):
    y = np.sin(X[:, 0] / 30.0).astype(float)
    single, double = to(X), to(X.astype(float))
    wanted = KernelRidge(1e-4, kernel=Gaussian(30.0), plan=Plan(**options)).fit(double, y)
    plan = Plan(precision="fp64", **options)
    model = KernelRidge(1e-4, kernel=Gaussian(30.0), plan=plan).fit(single, y)
    np.testing.assert_allclose(model.predict(single), wanted.predict(double), atol=1e-6)
    np.testing.assert_allclose(model.predict(double), wanted.predict(double), atol=1e-6)


def test_samples_in_chunks(X):
    y = np.sin(X[:, 0] / 30.0).astype(float)
    plan = Plan(features=Landmarks(20))
    wanted = KernelRidge(1e-4, kernel=Gaussian(30.0), plan=plan)
    wanted.fit(mercer.stream(X.astype(float), y, rows=20))
    model = KernelRidge(1e-4, kernel=Gaussian(30.0), plan=plan.replace(precision="fp64"))
    model.fit(mercer.stream(X, y, rows=20))
    new = X.astype(float)
    np.testing.assert_allclose(model.predict(new), wanted.predict(new), atol=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_what_is_for_devices_changes_nothing(X, precision):
    for Z in (X, X.astype(float)):
        K = Plan(precision=precision).gram(Gaussian(30.0), Z).to_dense()
        np.testing.assert_array_equal(K, Plan().gram(Gaussian(30.0), Z).to_dense())


def test_new_samples_are_not_rounded_to_their_precision(X):
    """The kernel scales them: they were rounded again, though all else was in double precision."""
    model = KernelRidge(1e-6, kernel=Gaussian(30.0)).fit(X.astype(float), X[:, 0] / 1e4)
    np.testing.assert_allclose(model.predict(X), model.predict(X.astype(float)), rtol=1e-12)
