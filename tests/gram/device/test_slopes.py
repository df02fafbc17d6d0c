"""Derivatives by hyper-parameters on a device, beside those of kernels on the processor."""

import numpy as np
import pytest

from mercer import (
    Binomial,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Plan,
    Polynomial,
    RationalQuadratic,
)
from mercer.exceptions import DeviceWarning
from mercer.gram.device.slopes import Slopes, why_not
from mercer.gram.tiles import contract

torch = pytest.importorskip("torch")
torch.set_num_threads(1)
DEVICE = "torch-cpu"
LENGTHS = [0.5, 1.0, 2.0]
KERNELS = [
    Gaussian(0.7),
    2 * Gaussian(LENGTHS),
    Laplacian(1.3),
    Laplacian(LENGTHS),
    Laplacian(LENGTHS, p=1),
    Matern(LENGTHS, nu=0.5),
    Matern(LENGTHS, nu=1.5),
    1.5 * Matern(LENGTHS, nu=2.5),
    RationalQuadratic(0.8, alpha=2.5),
    Polynomial(degree=3) + 0.5,
    Exponential(0.3),
    Binomial(2.0),
    2 * Gaussian(0.5) + Matern(1.0, nu=2.5) * Linear() + 1,
    (Gaussian(0.5) + Linear()) ** 2,
    Gaussian([0.4, 0.6]).on([0, 2]) * Laplacian(1.0).on([1]),
]


def sides(rng, n, q=21):
    """L and R of a symmetric matrix L R'."""
    L = rng.standard_normal((n, q))
    return L, L * np.sign(rng.standard_normal(q))


def agrees(kernel, X, dtype, rng, tol, n_tiles=None):
    P, (L, R) = kernel.prepare(X), sides(rng, len(X))
    exact = contract(kernel, P, lambda rows, cols: L[rows] @ R[cols].T)
    size = np.abs(contract(kernel, P, lambda rows, cols: np.abs(L[rows] @ R[cols].T)))
    found = Slopes(kernel, P, DEVICE, dtype)(L, R)
    np.testing.assert_allclose(found, exact, rtol=0, atol=tol * max(size.max(), 1.0))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_sums_are_those_of_the_kernel(kernel, rng):
    X = rng.uniform(-0.5, 0.5, (130, 3))
    X[100:] = X[:30]  # distances that are 0
    agrees(kernel, X, np.float64, rng, 1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_fused_sums(kernel, rng, interpreter):
    X = rng.uniform(-0.5, 0.5, (150, 3))
    X[140:] = X[:10]
    assert Slopes(kernel, kernel.prepare(X), DEVICE, np.float32).fused
    agrees(kernel, X, np.float32, rng, 2e-6)


def test_tiles_of_any_size(rng, monkeypatch):
    from mercer.gram.device import torch_

    monkeypatch.setattr(torch_, "_ENTRIES", 2000)
    agrees(2 * Matern(LENGTHS, nu=0.5), rng.standard_normal((90, 3)), np.float64, rng, 1e-8)


def test_shared_points_and_numbers_that_are_no_hyperparameters(rng):
    kernel = Gaussian(1.0) * 3 + Gaussian(0.5) ** 2
    X = rng.standard_normal((60, 2))
    agrees(kernel, X, np.float64, rng, 1e-8)
    linear = Linear()
    assert Slopes(linear, linear.prepare(X), DEVICE, np.float64)(*sides(rng, 60)).shape == (0,)


def test_what_cannot_be_summed_says_why(rng):
    X = rng.uniform(-0.5, 0.5, (40, 3))
    normalized = (Polynomial(degree=2) + 1).normalize()
    assert "factors" in why_not(normalized, normalized.prepare(X))
    periodic = Periodic(1.0)
    assert "no formula" in why_not(periodic, periodic.prepare(X[:, 0]))
    assert all(why_not(kernel, kernel.prepare(X)) is None for kernel in KERNELS)
    gram = Plan(device=DEVICE).unstored(normalized, normalized.prepare(X))
    with pytest.warns(DeviceWarning, match="on the CPU"):
        assert gram.slopes(*sides(rng, 40), np.zeros(40)) is None


def test_a_kernel_whose_formula_does_not_tell_all(rng):
    """A subclass whose coordinates depend on a number that its formula does not show."""
    from dataclasses import dataclass

    from mercer.params import positive

    @dataclass(eq=False, repr=False)
    class Warped(Gaussian):
        power: float = positive(1.0)

        def prepare(self, X):
            return super().prepare(np.sign(X) * np.abs(X) ** self.power)

        def formula(self, X):
            from mercer.kernels.formula import SQUARED, Atom, Profile

            profile = Profile.of(self, self.stretch, "lengthscale", "power")
            return Atom(SQUARED, X, profile, np.array(self.lengthscale, dtype=float))

        def grad_theta(self, X, Y, W):
            return np.append(Gaussian(self.lengthscale).grad_theta(X, Y, W), 1.0)

    kernel = Warped(1.0, 2.0)
    assert "not those of its formula" in why_not(
        kernel, kernel.prepare(rng.standard_normal((30, 2)))
    )


def test_the_diagonal_of_the_weights(rng):
    kernel, X = 2 * Gaussian(1.0) + 1.5 * Linear(), rng.standard_normal((50, 2))
    P, (L, R), own = kernel.prepare(X), sides(rng, 50), rng.uniform(size=50)

    def tile(rows, cols):
        W = L[rows] @ R[cols].T
        return W + np.diag(own[rows]) if rows == cols else W

    found = Plan(device=DEVICE).unstored(kernel, P).slopes(L, R, own)
    np.testing.assert_allclose(found, contract(kernel, P, tile), rtol=1e-7)
