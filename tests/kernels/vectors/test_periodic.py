"""Kernels on the circle, against brute-force sums, quadrature and the Gaussian kernel."""

import numpy as np
import pytest
from scipy.integrate import quad
from sklearn.base import clone

from mercer import Fourier, Gaussian, Linear, Periodic, Plan, Theta
from mercer.exceptions import DomainError, NotAKernelError
from mercer.testing import check_kernel

WEIGHTS = [0.7, 0.0, 0.3, 0.05]
KERNELS = [
    Fourier(WEIGHTS, period=3.0),
    Theta(0.2),
    Theta(0.9, period=5.0),
    Theta(2.0),
    Periodic(0.7, period=4.0),
]
IDS = [repr(k) for k in KERNELS]


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform(-9, 9, 12)


def test_fourier_is_the_complex_sum(points):
    K = Fourier(WEIGHTS, period=3.0)(points)
    for i, x in enumerate(points):
        for j, y in enumerate(points):
            total = sum(
                WEIGHTS[abs(l)] * np.exp(1j * l * 2 * np.pi / 3 * (x - y)) for l in range(-3, 4)
            )
            assert abs(total.imag) < 1e-12
            assert K[i, j] == pytest.approx(total.real, abs=1e-13)


@pytest.mark.parametrize("sigma", [1e-4, 0.02, 0.3, 0.7, 0.999, 1.0, 1.5, 2.6])
def test_theta_is_the_wrapped_gaussian(sigma):
    t = np.linspace(-np.pi, np.pi, 41)
    n = np.arange(-60, 61)
    density = np.exp(-0.5 * ((t[:, None] + 2 * np.pi * n) / sigma) ** 2).sum(axis=1)
    density /= sigma * np.sqrt(2 * np.pi)
    got = Theta(sigma)(t, [0.0])[:, 0]
    np.testing.assert_allclose(got, density, rtol=3e-12 if sigma > 0.01 else 1e-6, atol=1e-300)


@pytest.mark.parametrize("sigma", [0.3, 0.999, 1.0, 3.0, 50.0])
def test_theta_is_its_fourier_series(sigma):
    t = np.linspace(0, 2 * np.pi, 37)
    l = np.arange(1, 200)
    series = (1 + 2 * np.cos(np.outer(t, l)) @ np.exp(-0.5 * (sigma * l) ** 2)) / (2 * np.pi)
    got = Theta(sigma)(t, [0.0])[:, 0]
    np.testing.assert_allclose(got, series, atol=1e-14)


def test_theta_is_a_density_of_the_angle():
    k = Theta(0.6, period=10.0)
    mass, _ = quad(lambda x: k([x], [0.0]).item(), -5, 5, points=[0])
    assert mass * 2 * np.pi / 10 == pytest.approx(1, abs=1e-10)
    np.testing.assert_allclose(
        k([1.0, 2.5]), Theta(0.6 * 2 * np.pi / 10)(np.array([1.0, 2.5]) * 2 * np.pi / 10)
    )


def test_periodic_is_gaussian_on_the_circle(points):
    angle = points * 2 * np.pi / 4
    embedded = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    np.testing.assert_allclose(Periodic(0.7, period=4.0)(points), Gaussian(0.7)(embedded))


@pytest.mark.parametrize("kernel", [*KERNELS, Periodic(0.05), Periodic(30.0)], ids=repr)
def test_coefficients_are_those_of_the_values(kernel):
    n = 1024
    values = kernel(np.arange(n) * kernel.period / n, [0.0])[:, 0]
    by_fft = np.fft.rfft(values).real / n
    got = kernel.fourier_coefficients(40)
    assert got.shape == (41,)
    np.testing.assert_allclose(got, by_fft[:41], atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_a_period_makes_no_difference(kernel, points):
    K = kernel(points)
    moved = kernel(points, points + kernel.period * np.arange(-6, 6))
    np.testing.assert_allclose(moved, K, atol=1e-11 * K.max())
    assert kernel([-1e-20], [0.0]) == kernel([0.0], [0.0])


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_gram_is_symmetric_psd_with_its_diagonal(kernel, points):
    K = kernel(points[:, None])
    P = kernel.prepare(points)
    np.testing.assert_allclose(kernel.diag(P), np.diagonal(kernel.pairwise(P, P.copy())))
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K).min() > -1e-13 * np.trace(K)
    np.testing.assert_allclose(kernel.tiles(P, P)(slice(2, 5), slice(0, 7)), K[2:5, :7], rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_promises(kernel, points):
    check_kernel(kernel, points[:, None])


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_gradient_by_differences(kernel, points):
    rng = np.random.default_rng(1)
    other, h = rng.uniform(-9, 9, 7), 1e-6
    W = rng.normal(size=(12, 7))
    slope = (kernel(points + h, other) - kernel(points - h, other)) / (2 * h)
    got = kernel.grad_input(kernel.prepare(points), kernel.prepare(other), W)
    assert got.shape == (12, 1)
    np.testing.assert_allclose(got[:, 0], (W * slope).sum(axis=1), atol=2e-8 * np.abs(slope).max())


def test_gradient_of_a_point_with_itself_is_zero():
    for kernel in KERNELS:
        P = kernel.prepare([0.4])
        assert kernel.grad_input(P, P, np.ones((1, 1))) == pytest.approx(0, abs=1e-14)


def test_features_of_fourier(points):
    k = Fourier(WEIGHTS, period=3.0)
    P = k.prepare(points)
    phi = k.features(P)
    assert phi.shape == (12, 5) == (12, k.n_features(P))  # the zero coefficient is left out
    np.testing.assert_allclose(phi @ phi.T, k(points), atol=1e-13)
    assert np.linalg.matrix_rank(k(points)) == 5
    low = k.gram(points, Plan(storage="lowrank"))
    np.testing.assert_allclose(low.to_dense(), k(points), atol=1e-13)
    assert Fourier([0, 2.0]).n_features(P) == 2
    assert Theta().features(P) is None
    assert Theta(3.0).features(P) is None


def test_the_zero_kernel():
    k = Fourier([0.0, 0.0])
    np.testing.assert_array_equal(k([1.0, 2.0]), np.zeros((2, 2)))
    assert k.properties.positive_diag.no


def test_bad_coefficients_are_refused():
    with pytest.raises(NotAKernelError, match=r"coefficients\[1\] = -0.5 must be >= 0"):
        Fourier([1, -0.5])
    k = Fourier([1.0])
    with pytest.raises(NotAKernelError):
        k.set_params(coefficients=[-1.0])
    for bad in ([], [[1.0]], "abc", [np.nan], 3.0):
        with pytest.raises(ValueError, match="coefficients must be a list"):
            Fourier(bad)


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_only_numbers_on_the_line(kernel):
    with pytest.raises(DomainError, match=r"2 columns; select one with \.on\(column\)"):
        kernel(np.zeros((3, 2)))
    on = kernel.on(1)
    X = np.random.default_rng(0).normal(size=(4, 2))
    np.testing.assert_array_equal(on(X), kernel(X[:, 1]))


def test_bad_parameters_are_refused():
    for bad in (0.0, -1.0, np.inf, "median", [1.0, 2.0], True):
        with pytest.raises(ValueError, match="must be positive"):
            Theta(bad)
        with pytest.raises(ValueError, match="must be positive"):
            Periodic(period=bad)


def answers(kernel):
    facts = kernel.properties.facts()
    return {n for n, f in facts.items() if f}, {n for n, f in facts.items() if f.no}


@pytest.mark.parametrize("kernel", [Theta(0.3), Theta(3.0), Periodic()], ids=repr)
def test_properties_of_full_spectra(kernel):
    yes, no = answers(kernel)
    regular = {"psd", "bounded", "continuous", "analytic", "stationary", "positive_diag"}
    assert yes >= regular | {"universal", "strictly_pd", "characteristic"}
    assert no >= {"finite_dim"}
    assert kernel.properties.domain.kind == "circle"
    assert (kernel * kernel).properties.universal
    # on the line, x and x + period are two points that the kernel cannot tell apart
    assert not (kernel + Linear()).properties.strictly_pd
    assert (kernel + Gaussian()).properties.strictly_pd


def test_properties_of_finite_spectra():
    yes, no = answers(Fourier([1, 0, 1]))
    assert yes >= {
        *("psd", "bounded", "continuous", "analytic", "stationary", "positive_diag", "finite_dim")
    }
    assert no >= {"universal", "strictly_pd", "characteristic"}


def test_strictly_positive_definite_in_numbers():
    x = np.arange(20) * 2 * np.pi / 20
    for k in (Theta(0.2), Periodic(0.3)):
        assert np.linalg.eigvalsh(k(x)).min() > 1e-6


@pytest.mark.parametrize("kernel", KERNELS, ids=IDS)
def test_float32_clone_and_repr(kernel, points):
    x = points.astype(np.float32)
    K = kernel(x)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, kernel(x.astype(float)), atol=1e-5 * K.max())
    assert kernel.diag(kernel.prepare(x)).dtype == np.float32
    assert clone(kernel) == kernel
    names = {"Fourier": Fourier, "Theta": Theta, "Periodic": Periodic}
    assert eval(repr(kernel), names) == kernel


def test_float32_far_from_zero():
    period = 24.0
    x = np.array([1e6 + 0.5], dtype=np.float32)
    exact = Periodic(period=period)([float(x[0])], [0.0])
    np.testing.assert_allclose(
        Periodic(period=period)(x, np.zeros(1, np.float32)), exact, rtol=1e-5
    )
