"""Spectral measures: densities and draws give back the kernel, MMD in frequencies."""

import numpy as np
import pytest
from scipy.integrate import quad

from mercer import (
    Fourier,
    FourierSpace,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    RationalQuadratic,
    SpectralMeasure,
    Theta,
    mmd,
)

KERNELS = [
    Gaussian(0.7),
    Laplacian(1.3, p=1),
    Laplacian(1.3, p=2),
    Matern(0.8, nu=1.5),
    RationalQuadratic(1.2, alpha=0.8),
    RationalQuadratic(1.2, alpha=3.0),
]


@pytest.mark.parametrize("k", KERNELS)
def test_the_kernel_is_the_cosine_transform_of_the_density(k):
    spectrum = SpectralMeasure(k, 1)
    for lag in (0.0, 0.5, 1.7):

        def f(w, lag=lag):
            return np.cos(w * lag) * spectrum.density([[w]])[0]

        ends = [(1e-9, 2.0), (2.0, 20.0), (20.0, 2000.0)]
        total = 2 * sum(quad(f, a, b, limit=2000)[0] for a, b in ends)
        assert total == pytest.approx(k([[0.0]], [[lag]])[0, 0], abs=2e-3)


@pytest.mark.parametrize("k", KERNELS)
def test_draws_give_the_kernel_in_the_plane(k):
    w = SpectralMeasure(k, 2).sample(40_000, rng=0)
    x = np.array([[0.3, -0.8]])
    assert np.mean(np.cos(w @ x[0])) == pytest.approx(k(x, np.zeros((1, 2)))[0, 0], abs=0.015)


@pytest.mark.parametrize("k", KERNELS)
def test_densities_are_those_of_the_draws(k):
    """Shares of draws in a box, beside the integral of the density over it."""
    spectrum = SpectralMeasure(k, 2)
    w = spectrum.sample(40_000, rng=1)
    low, high = np.array([0.2, -1.0]), np.array([1.2, 0.6])
    share = np.mean(np.all((w > low) & (w < high), axis=1))
    axes = [np.linspace(a, b, 161)[:-1] + (b - a) / 320 for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    area = np.prod(high - low)
    assert np.mean(spectrum.density(grid)) * area == pytest.approx(share, abs=0.01)


def test_discrepancy_in_frequencies(rng):
    X, Y = rng.normal(size=(80, 2)), rng.normal(0.5, 1.2, (90, 2))
    k = Gaussian([0.8, 1.4])
    spectrum = SpectralMeasure(k, 2)
    expected = mmd(X, Y, k, biased=True)
    assert spectrum.mmd(X, Y, 20_000, rng=0) == pytest.approx(expected, rel=0.05)
    gaps = spectrum.gap(X, Y, [[0.0, 0.0]])
    assert gaps[0] == pytest.approx(0, abs=1e-15)


def test_discrepancy_on_the_circle(rng):
    x, y = rng.normal(0, 0.5, 60), rng.normal(1, 0.7, 50)
    for k in (Fourier([1.0, 0.5, 0.2, 0.1]), Theta(lengthscale=0.5), Fourier(lambda l: 0.4**l)):
        found = FourierSpace(k).mmd(x, y, L=60)
        assert found == pytest.approx(mmd(x, y, k, biased=True), rel=1e-8)
    with pytest.raises(ValueError, match="finite"):
        FourierSpace(k).mmd([np.nan], y, L=3)


def test_series_from_functions():
    poisson = Fourier(lambda l: 0.5**l)
    x = np.linspace(0, 2 * np.pi, 9)
    r, t = 0.5, x[:, None] - x
    np.testing.assert_allclose(poisson(x), (1 - r**2) / (1 - 2 * r * np.cos(t) + r**2), rtol=1e-10)
    np.testing.assert_allclose(poisson.fourier_coefficients(3), [1, 0.5, 0.25, 0.125])
    assert poisson.properties.stationary
    with pytest.raises(ValueError, match="pass a finite list"):
        Fourier(lambda l: 1 / (1 + l) ** 2)(x)
    with pytest.raises(Exception, match="must be >= 0"):
        Fourier(lambda l: 1.0 - l)


def test_errors():
    with pytest.raises(ValueError, match="must be a Gaussian"):
        SpectralMeasure(Linear(), 1)
    with pytest.raises(ValueError, match="depends on the data"):
        SpectralMeasure(Gaussian("median"), 1)
    with pytest.raises(ValueError, match="2 lengthscales"):
        SpectralMeasure(Gaussian([1.0, 2.0]), 3)
    with pytest.raises(ValueError, match="dimension"):
        SpectralMeasure(Gaussian(), 0)
    with pytest.raises(ValueError, match="2 columns"):
        SpectralMeasure(Gaussian(), 2).density([[1.0]])
