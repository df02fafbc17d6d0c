"""Spline kernels, against quadrature and scipy's splines."""

from math import factorial

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline, make_smoothing_spline
from sklearn.base import clone

from mercer import Gaussian, Spline
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

X = np.array([0.0, 0.1, 0.35, 0.36, 0.8, 1.0])


def by_quadrature(x, y, m, polynomial):
    def integrand(u):
        return (x - u) ** (m - 1) * (y - u) ** (m - 1) / factorial(m - 1) ** 2

    value, _ = quad(integrand, 0, min(x, y))
    if polynomial:
        value += sum((x * y) ** j / factorial(j) ** 2 for j in range(m))
    return value


@pytest.mark.parametrize("polynomial", [True, False])
@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_closed_form_is_the_integral(order, polynomial):
    k = Spline(order, polynomial)
    K = k(X)
    expected = [[by_quadrature(x, y, order, polynomial) for y in X] for x in X]
    np.testing.assert_allclose(K, expected, rtol=1e-12, atol=1e-16)
    P = k.prepare(X)
    np.testing.assert_allclose(k.diag(P), np.diagonal(k.pairwise(P, P)), rtol=1e-13)
    np.testing.assert_array_equal(K, K.T)
    check_kernel(k, np.linspace(0.02, 0.98, 15)[:, None])


def test_first_orders_in_closed_form():
    x, y = X[:, None], X[None, :]
    np.testing.assert_allclose(Spline(1)(X), 1 + np.minimum(x, y))
    s, t = np.minimum(x, y), np.maximum(x, y)
    np.testing.assert_allclose(Spline(2)(X), 1 + x * y + s**2 * (3 * t - s) / 6)
    np.testing.assert_allclose(Spline(1, polynomial=False)(X), s)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_reproducing_property_by_quadrature(order):
    """<f, k(., y)> = f(y) in the stated norm, for a polynomial f."""
    f = np.polynomial.Polynomial([0.3, -1.0, 2.0, 0.5, -1.5])
    y = 0.6
    # d^j/dx^j k(x, y) at x = 0 is y^j / j!, and the m-th derivative is (y - x)_+^(m-1) / (m-1)!
    at_zero = sum(f.deriv(j)(0) * y**j / factorial(j) for j in range(order))
    top = f.deriv(order)
    rest, _ = quad(lambda u: top(u) * (y - u) ** (order - 1) / factorial(order - 1), 0, y)
    assert at_zero + rest == pytest.approx(f(y), abs=1e-12)
    # and these derivatives are those of the kernel as it is computed
    h = 1e-3
    grid = np.linspace(0, 0.5, 51)
    values = Spline(order)(grid, [y])[:, 0]
    poly = np.polynomial.Polynomial.fit(grid, values, 2 * order - 1, domain=[0, 1], window=[0, 1])
    for j in range(order):
        assert poly.deriv(j)(0.0) == pytest.approx(y**j / factorial(j), rel=1e-6)
    expected = (y - h) ** (order - 1) / factorial(order - 1)
    assert poly.deriv(order)(h) == pytest.approx(expected, rel=1e-6)


def natural_spline(x, y, order, ridge, new):
    """Minimise sum (f(x_i) - y_i)^2 + ridge * int (f^(m))^2, polynomials of degree < m free."""
    k = Spline(order, polynomial=False)
    T = x[:, None] ** np.arange(order)
    n = len(x)
    top = np.hstack([k(x) + ridge * np.eye(n), T])
    system = np.vstack([top, np.hstack([T.T, np.zeros((order, order))])])
    solution = np.linalg.solve(system, np.concatenate([y, np.zeros(order)]))
    return k(new, x) @ solution[:n] + new[:, None] ** np.arange(order) @ solution[n:]


def test_natural_cubic_spline_interpolation():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.05, 0.95, 9))
    y = rng.normal(size=9)
    new = np.linspace(x[0], x[-1], 50)
    expected = CubicSpline(x, y, bc_type="natural")(new)
    np.testing.assert_allclose(natural_spline(x, y, 2, 0.0, new), expected, atol=1e-9)
    # the spline is natural: linear beyond the data
    beyond = natural_spline(x, y, 2, 0.0, np.array([0.96, 0.98, 1.0]))
    assert beyond[0] - 2 * beyond[1] + beyond[2] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("ridge", [1e-6, 1e-3])
def test_smoothing_spline(ridge):
    rng = np.random.default_rng(1)
    x = np.linspace(0, 1, 15)
    y = np.sin(6 * x) + 0.1 * rng.normal(size=15)
    new = np.linspace(0, 1, 40)
    expected = make_smoothing_spline(x, y, lam=ridge)(new)
    np.testing.assert_allclose(natural_spline(x, y, 2, ridge, new), expected, atol=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_vanishing_ridge_interpolates(order):
    x = np.linspace(0, 1, 7)
    y = np.cos(5 * x)
    K = Spline(order)(x)
    fit = K @ np.linalg.solve(K + 1e-12 * np.eye(7), y)
    np.testing.assert_allclose(fit, y, atol=1e-4)
    assert np.linalg.eigvalsh(K).min() > 0  # strictly positive definite


def test_smoothness_is_exact():
    """The m-1-th mixed derivative is min(x, y): continuous, with a kink on the diagonal."""
    h = 1e-4
    for order in (1, 2):
        k = Spline(order, polynomial=False)

        def mixed(x, y, k=k, order=order):
            if order == 1:
                return k([x], [y]).item()
            K = k([x - h, x + h], [y - h, y + h])
            return (K[1, 1] - K[1, 0] - K[0, 1] + K[0, 0]) / (4 * h * h)

        for x, y in [(0.3, 0.7), (0.7, 0.3)]:
            assert mixed(x, y) == pytest.approx(0.3, abs=1e-6)
        step = 0.05
        left = (mixed(0.5, 0.5 + step) - mixed(0.5 - step, 0.5 + step)) / step
        right = (mixed(0.5 + 2 * step, 0.5 + step) - mixed(0.5 + step, 0.5 + step)) / step
        assert (left, right) == pytest.approx((1, 0), abs=0.01)
        s = Spline(order).properties.smooth
        assert (s.at_least, s.at_most) == (order - 1, order - 1)


@pytest.mark.parametrize("polynomial", [True, False])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_gradient_by_differences(order, polynomial):
    k = Spline(order, polynomial)
    x, y, h = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.5, 0.7, 1.0]), 1e-5
    W = np.random.default_rng(0).normal(size=(3, 4))
    slope = (k(x + h, y) - k(x - h, y)) / (2 * h)
    got = k.grad_input(k.prepare(x), k.prepare(y), W)
    np.testing.assert_allclose(got[:, 0], (W * slope).sum(axis=1), atol=1e-6)


def test_order_one_has_no_gradient():
    k = Spline(1)
    P = k.prepare([0.5])
    with pytest.raises(NotImplementedError, match="not differentiable"):
        k.grad_input(P, P, np.ones((1, 1)))


def answers(kernel):
    facts = kernel.properties.facts()
    return {n for n, f in facts.items() if f}, {n for n, f in facts.items() if f.no}


def test_properties():
    yes, no = answers(Spline(2))
    assert yes >= {
        *("psd", "bounded", "continuous", "positive_diag"),
        *("universal", "strictly_pd", "characteristic"),
    }
    assert no >= {"analytic", "stationary", "finite_dim"}
    yes, no = answers(Spline(2, polynomial=False))
    assert yes >= {"psd", "bounded", "continuous", "characteristic"}
    assert no >= {
        *("analytic", "stationary", "finite_dim"),
        *("positive_diag", "strictly_pd", "universal"),
    }
    assert Spline(2, polynomial=False)([0.0]) == 0
    assert (Spline() + Gaussian()).properties.domain.kind == "interval"


def test_outside_the_interval_is_refused():
    with pytest.raises(DomainError, match=r"sample 1 is 1.5.*\[0, 1\]; rescale X"):
        Spline()([0.5, 1.5])
    with pytest.raises(DomainError):
        Spline()([-0.01])
    with pytest.raises(DomainError, match=r"\.on\(column\)"):
        Spline()(np.zeros((2, 2)))
    barely = np.array([1 + 2e-16, -1e-17])  # what a rescaling may leave over
    np.testing.assert_array_equal(Spline()(barely), Spline()([1.0, 0.0]))


def test_float32_clone_and_bad_parameters():
    assert Spline()(X.astype(np.float32)).dtype == np.float32
    k = Spline(3, polynomial=False)
    assert clone(k) == k
    assert repr(k) == "Spline(order=3, polynomial=False)"
    with pytest.raises(ValueError, match="order must be an integer >= 1"):
        Spline(0)
    with pytest.raises(ValueError, match="polynomial must be one of"):
        Spline(2, polynomial="yes")
