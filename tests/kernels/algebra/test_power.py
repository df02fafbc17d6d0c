import numpy as np

from mercer import Gaussian
from mercer.kernels.algebra.power import power


def test_powers_by_squaring(rng):
    T = rng.normal(size=(3, 4))
    for p in range(1, 20):
        assert np.allclose(power(T.copy(), p), T**p, rtol=1e-12)


def test_slopes_of_powers_are_those_of_products(rng):
    X, Y, W = rng.normal(size=(6, 2)), rng.normal(size=(4, 2)), rng.normal(size=(6, 4))
    k = Gaussian(1.5) + 0.3
    P, Q = k.prepare(X), k.prepare(Y)
    triple, product = k**3, k * k * k
    left, right = product.prepare(X), product.prepare(Y)
    wanted = product.grad_theta(left, right, W).reshape(3, -1).sum(axis=0)
    assert np.allclose(triple.grad_theta(P, Q, W), wanted)
    assert np.allclose(triple.grad_input(P, Q, W), product.grad_input(left, right, W))
    wanted = product.grad_theta_diag(left, W[:, 0]).reshape(3, -1).sum(axis=0)
    assert np.allclose(triple.grad_theta_diag(P, W[:, 0]), wanted)
