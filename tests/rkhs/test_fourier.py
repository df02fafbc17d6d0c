"""Functions on the circle and the RKHS of Fourier series, against quadrature and kernel values."""

import numpy as np
import pytest
from scipy.integrate import quad

from mercer import Fourier, FourierFunction, FourierSpace, Periodic, Theta, top_hat

KERNELS = [Theta(0.5), Theta(2.0, period=3.0), Periodic(0.8, period=5.0), Fourier([1, 0, 0.5], 4.0)]
COEF = [0.7, 0.2 - 0.1j, 0.0, 0.3j]


@pytest.fixture
def f():
    return FourierFunction(COEF, period=3.0)


@pytest.fixture
def g():
    return FourierFunction([-0.2, 0.5j], period=3.0)


def by_hand(coef, period, x):
    full = {0: coef[0]} | {l: c for l, c in enumerate(coef) if l}
    full |= {-l: np.conj(c) for l, c in enumerate(coef) if l}
    total = sum(c * np.exp(1j * l * 2 * np.pi / period * x) for l, c in full.items())
    np.testing.assert_allclose(total.imag, 0, atol=1e-12)
    return total.real


def test_evaluation(f):
    x = np.linspace(-7, 7, 30)
    np.testing.assert_allclose(f(x), by_hand(COEF, 3.0, x), atol=1e-13)
    np.testing.assert_allclose(f(x + 3.0), f(x), atol=1e-12)
    assert isinstance(f(0.3), float)
    assert f(x.reshape(5, 6)).shape == (5, 6)
    assert f.degree == 3


def test_algebra(f, g):
    x = np.linspace(0, 3, 9)
    for h, expected in [
        (f + g, f(x) + g(x)),
        (f - g, f(x) - g(x)),
        (2 * f, 2 * f(x)),
        (f * np.float64(2), 2 * f(x)),
        (np.float64(2) * f, 2 * f(x)),
        (f / 4, f(x) / 4),
        (-f, -f(x)),
        (f + 1, f(x) + 1),
        (1 - f, 1 - f(x)),
        (sum([f, g]), f(x) + g(x)),
    ]:
        assert isinstance(h, FourierFunction)
        np.testing.assert_allclose(h(x), expected, atol=1e-13)
    for bad in (lambda: f * g, lambda: f + "x", lambda: f / f, lambda: np.ones(3) * f):
        with pytest.raises(TypeError):
            bad()
    with pytest.raises(ValueError, match="different periods, 3 and 4"):
        f + FourierFunction([1.0], period=4.0)


def test_derivative_and_shift(f):
    x, h = np.linspace(0, 3, 11), 1e-5
    np.testing.assert_allclose(f.derivative()(x), (f(x + h) - f(x - h)) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(f.derivative(2)(x), f.derivative().derivative()(x), atol=1e-10)
    np.testing.assert_allclose(f.shift(0.4)(x), f(x - 0.4), atol=1e-13)


def test_l2_inner_product_by_quadrature(f, g):
    value, _ = quad(lambda x: f(x) * g(x), 0, 3)
    assert f.inner(g) == pytest.approx(value / 3, abs=1e-12)
    square, _ = quad(lambda x: f(x) ** 2, 0, 3)
    assert f.norm() == pytest.approx(np.sqrt(square / 3), abs=1e-12)


def test_from_function(f):
    back = FourierFunction.from_function(f, 5, period=3.0)
    np.testing.assert_allclose(back.coef, [*COEF, 0, 0], atol=1e-14)
    # exp(cos x) has modified Bessel functions as coefficients
    from scipy.special import iv

    h = FourierFunction.from_function(lambda x: np.exp(np.cos(x)), 12)
    np.testing.assert_allclose(h.coef, iv(np.arange(13), 1.0), atol=1e-14)
    assert FourierFunction.from_function(lambda x: 2.0, 1).coef.tolist() == [2, 0]


def test_printing():
    assert repr(FourierFunction([1, 0.5, -0.25j])) == "1 + cos(x) + 0.5 sin(2 x)"
    assert repr(FourierFunction([0, -0.5])) == "-cos(x)"
    assert repr(FourierFunction([0, 0, 1 + 1j], period=np.pi)) == "2 cos(4 x) - 2 sin(4 x)"
    assert repr(FourierFunction([0.0])) == "0"
    assert repr(FourierFunction([-2.0])) == "-2"
    assert repr(top_hat(1.0, L=20)).endswith("+ ... (21 terms)")
    assert repr(FourierSpace(Theta(0.5))) == "FourierSpace(Theta(lengthscale=0.5))"


def test_bad_coefficients_are_refused():
    for bad in ([], [[1.0]], [np.nan]):
        with pytest.raises(ValueError, match="coef must be a list of finite numbers"):
            FourierFunction(bad)
    with pytest.raises(ValueError, match="must be real"):
        FourierFunction([1j, 1])
    with pytest.raises(ValueError, match="period must be positive"):
        FourierFunction([1], period=0)


# ---- the space -----------------------------------------------------------------------------
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_features_and_the_reproducing_property(kernel):
    H = FourierSpace(kernel)
    x, y = 0.3, 2.2
    grid = np.linspace(-4, 4, 23)
    np.testing.assert_allclose(H.feature(x)(grid), kernel(grid, [x])[:, 0], atol=1e-13)
    assert H.inner(H.feature(x), H.feature(y)) == pytest.approx(kernel([x], [y]).item(), abs=1e-13)
    assert H.norm(H.feature(x)) ** 2 == pytest.approx(kernel([x]).item(), rel=1e-12)
    points, weights = np.array([0.1, 1.0, 2.5]), np.array([1.0, -2.0, 0.5])
    f = H.function(points, weights)
    np.testing.assert_allclose(f(grid), kernel(grid, points) @ weights, atol=1e-12)
    for z in (0.0, 1.7, -3.0):
        assert H.inner(f, H.feature(z)) == pytest.approx(f(z), abs=1e-12)
    assert H.norm(f) ** 2 == pytest.approx(weights @ kernel(points) @ weights, rel=1e-10)


def test_inner_product_is_the_weighted_sum():
    khat = np.array([2.0, 0.5, 0.25])
    H = FourierSpace(khat, period=3.0)
    f, g = FourierFunction([1, 2 - 1j, 1j], 3.0), FourierFunction([3, 1j], 3.0)
    total = 0
    for l in range(-2, 3):
        fl = f.coef[abs(l)] if l >= 0 else np.conj(f.coef[-l])
        gl = np.pad(g.coef, (0, 1))[abs(l)]
        gl = gl if l >= 0 else np.conj(gl)
        total += fl * np.conj(gl) / khat[abs(l)]
    assert abs(complex(total).imag) < 1e-14
    assert H.inner(f, g) == pytest.approx(complex(total).real)
    assert H.inner(f, g) == H.inner(g, f)


def test_functions_outside_the_space():
    H = FourierSpace([1.0, 0.0, 1.0])
    outside = FourierFunction([1.0, 0.5])
    assert H.norm(outside) == np.inf
    assert outside not in H
    assert FourierFunction([1.0, 0.0, 3.0]) in H
    with pytest.raises(ValueError, match="is not in FourierSpace"):
        H.inner(FourierFunction([1.0]), outside)
    assert H.norm(FourierFunction([0, 0, 0, 0, 1e-3])) == np.inf
    assert H.norm(FourierFunction([0.0])) == 0


def test_values_are_bounded_by_the_norm():
    """|f(x)| <= ||f|| sqrt(k(x, x)), with equality for features."""
    kernel = Theta(0.7)
    H = FourierSpace(kernel)
    f = H.function([0.0, 2.0], [1.0, 1.5])
    bound = H.norm(f) * np.sqrt(kernel([0.0]).item())
    assert np.abs(f(np.linspace(0, 7, 100))).max() <= bound
    h = H.feature(1.0)
    assert h(1.0) == pytest.approx(H.norm(h) * np.sqrt(kernel([1.0]).item()))


def test_degree_holds_all_that_matters():
    assert FourierSpace([1, 0, 2.0, 0.0]).degree == 2
    assert FourierSpace([0.0]).degree == 0
    narrow = FourierSpace(Theta(1e-3))
    assert 7000 < narrow.degree < 9500
    assert narrow.feature(1.0)(1.001) == pytest.approx(Theta(1e-3)([1.0], [1.001]).item(), rel=1e-9)
    assert FourierSpace(Theta(100.0)).degree == 0


def test_period_is_said_once():
    with pytest.raises(ValueError, match="already has a period"):
        FourierSpace(Theta(), period=3.0)
    with pytest.raises(ValueError, match="different periods"):
        FourierSpace(Theta()).norm(FourierFunction([1.0], period=3.0))
    with pytest.raises(ValueError, match="one weight each"):
        FourierSpace(Theta()).function([1.0, 2.0], [1.0])


# ---- the top hat ---------------------------------------------------------------------------
@pytest.mark.parametrize("period", [2 * np.pi, 10.0])
def test_top_hat_coefficients_by_quadrature(period):
    T = 1.3
    f = top_hat(T, L=6, period=period)
    for l in range(7):
        value, _ = quad(lambda x, l=l: np.cos(2 * np.pi * l * x / period), -T, T)
        assert f.coef[l] == pytest.approx(value / period, abs=1e-12)


def test_top_hat_values_and_norms():
    f = top_hat(1.0, L=2000)
    x = np.array([0.0, 0.5, 0.9, 1.1, 2.0, 3.0])
    np.testing.assert_allclose(f(x), [1, 1, 1, 0, 0, 0], atol=0.01)
    assert f(1.0) == pytest.approx(0.5, abs=0.01)  # the middle of the jump
    assert f.norm() ** 2 == pytest.approx(2 / (2 * np.pi), abs=1e-3)


def test_top_hat_is_in_no_smooth_space():
    for kernel in (Theta(0.3), Periodic(0.5)):
        H = FourierSpace(kernel)
        norms = [H.norm(top_hat(1.0, L)) for L in (5, 10, 20, 40)]
        assert norms[0] < norms[1] < norms[2] < norms[3]
        assert norms[3] > 1e6 * norms[0]
    assert np.isfinite(H.norm(top_hat(1.0, 60)))
    assert H.norm(top_hat(1.0, 3000)) == np.inf  # the coefficients of the kernel underflow
    smooth = FourierFunction.from_function(lambda x: np.exp(3 * np.cos(x)), 30)
    wide = FourierSpace(Periodic(0.5))
    short = FourierFunction(smooth.coef[:16])
    assert wide.norm(smooth) == pytest.approx(wide.norm(short), rel=1e-6)  # this one converges


def test_top_hat_width_is_checked():
    for bad in (0.0, -1.0, 4.0):
        with pytest.raises(ValueError, match="half_width must be positive and at most half"):
            top_hat(bad)
    np.testing.assert_allclose(top_hat(np.pi, L=4).coef, [1, 0, 0, 0, 0], atol=1e-15)
