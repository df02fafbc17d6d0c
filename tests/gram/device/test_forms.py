"""Quadratic forms in the interpreter of Triton, beside those of arrays."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Matern, Polynomial, RationalQuadratic
from mercer.gram.device.entries import Coordinates
from mercer.gram.device.forms import Forms

torch = pytest.importorskip("torch")
DEVICE = "torch-cpu"


def forms(kernel, X, V, largest):
    points = Coordinates(DEVICE, np.float32)
    return Forms(kernel.formula(kernel.prepare(X)), DEVICE, points, largest)(torch.tensor(V))


def exact(kernel, X, V):
    K = kernel(X)
    np.fill_diagonal(K, 0)
    return K, np.einsum("ic,ij,jc->c", V, K, V)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian([0.7, 1.0, 2.0]),
        Laplacian(1.0, p=1),
        Matern(1.0, nu=0.5),
        2 * Gaussian(1.0) * RationalQuadratic(1.0) + Matern(2.0) + 1,
        Polynomial(degree=2) + 300.0,
    ],
    ids=repr,
)
@pytest.mark.parametrize(("n", "c"), [(5, 1), (197, 19)])
def test_forms_are_those_of_k(kernel, n, c, rng, interpreter):
    """To 2e-6 of what is added up, with vectors of few bits and of any."""
    X = rng.standard_normal((n, 3))
    for V in (rng.choice([-0.5, 0.5], (n, c)), rng.standard_normal((n, c))):
        K, expected = exact(kernel, X, V)
        found, squares = forms(kernel, X, V, float(np.abs(kernel(X)).max()))
        bound = 2e-6 * np.einsum("ic,ij,jc->c", abs(V), abs(K), abs(V)).max()
        np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=bound)
        assert squares == pytest.approx(float((K**2).sum()), rel=1e-5)


def test_more_vectors_than_a_launch_has(rng, interpreter, monkeypatch):
    monkeypatch.setattr("mercer.gram.device.forms._SIDES", 16)
    X, V = rng.standard_normal((70, 2)), rng.standard_normal((70, 35))
    K, expected = exact(Gaussian(1.0), X, V)
    found, squares = forms(Gaussian(1.0), X, V, 1.0)
    np.testing.assert_allclose(found.numpy(), expected, rtol=0, atol=1e-4)
    assert squares == pytest.approx(float((K**2).sum()), rel=1e-5)
    assert forms(Gaussian(1.0), X, np.zeros((70, 0)), 1.0)[0].shape == (0,)
