"""Polynomials on the plane; what all explicit kernels promise is in test_explicit.py."""

import numpy as np
import pytest

from mercer import XOR, Conic, Polynomial, RKHSFunction

PLANE = np.random.default_rng(0).normal(size=(8, 2))


def test_xor():
    expected = [[x @ y + x[0] * x[1] * y[0] * y[1] for y in PLANE] for x in PLANE]
    np.testing.assert_allclose(XOR()(PLANE), expected)
    corners = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    phi = XOR().features(XOR().prepare(corners))
    np.testing.assert_array_equal(np.sign(phi @ [0, 0, 1]), [1, 1, -1, -1])


def test_conic():
    np.testing.assert_allclose(Conic()(PLANE), (PLANE @ PLANE.T + 1) ** 2)
    np.testing.assert_allclose(Conic()(PLANE), Polynomial(degree=2)(PLANE))
    # an ellipse with its centre at c and half axes h is linear in the features
    c, h, t = np.array([0.5, -1.0]), np.array([2.0, 0.7]), np.linspace(0, 2 * np.pi, 9)
    ellipse = c + h * np.stack([np.cos(t), np.sin(t)], axis=1)
    a, b = 1 / h**2
    w = np.array([a, b, 0, -2 * c[0] * a / np.sqrt(2), -2 * c[1] * b / np.sqrt(2), 0])
    w[5] = a * c[0] ** 2 + b * c[1] ** 2 - 1
    phi = Conic().features(Conic().prepare(np.vstack([ellipse, c, c + 3])))
    np.testing.assert_allclose(phi[:9] @ w, 0, atol=1e-12)
    assert phi[9] @ w < 0 < phi[10] @ w


@pytest.mark.parametrize("kernel", [XOR(), Conic()])
def test_slopes(kernel):
    f = RKHSFunction(kernel, PLANE[:5], np.arange(1.0, 6.0))
    step = 1e-6 * np.eye(2)
    wanted = np.stack([(f(PLANE + e) - f(PLANE - e)) / 2e-6 for e in step], axis=1)
    np.testing.assert_allclose(f.gradient(PLANE), wanted, rtol=1e-7)
