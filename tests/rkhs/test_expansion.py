"""The Mercer expansion of the Gaussian kernel, against quadrature and Hermite polynomials."""

from itertools import pairwise
from math import factorial

import numpy as np
import pytest
from numpy.polynomial.hermite import hermval
from numpy.polynomial.hermite_e import hermegauss
from sklearn.base import clone

from mercer import Gaussian, MercerExpansion, Plan
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

SETTINGS = [(1.0, 1.0), (0.5, 2.0), (3.0, 0.4), (1.0, np.sqrt(0.5))]
settings = pytest.mark.parametrize(("lengthscale", "scale"), SETTINGS)


def measure(scale, n=180):
    """Nodes and weights of N(0, scale^2)."""
    nodes, weights = hermegauss(n)
    return nodes * scale, weights / weights.sum()


@settings
def test_eigenfunctions_are_orthonormal(lengthscale, scale):
    k = MercerExpansion(lengthscale, scale, n_terms=12)
    # a fine sum over a wide interval: e_k is not a polynomial, and decays slower than the weight
    x = np.linspace(-14, 14, 20001) * scale
    density = np.exp(-0.5 * (x / scale) ** 2) / (np.sqrt(2 * np.pi) * scale)
    e = k.eigenfunctions(x)
    np.testing.assert_allclose(
        e.T @ (e * (density * (x[1] - x[0]))[:, None]), np.eye(12), atol=1e-10
    )


@pytest.mark.parametrize(("lengthscale", "scale"), [(1.0, 1.0), (3.0, 0.4), (1.0, np.sqrt(0.5))])
def test_orthonormal_and_eigen_equation_by_gauss_hermite(lengthscale, scale):
    k = MercerExpansion(lengthscale, scale, n_terms=10)
    nodes, weights = measure(scale)
    e = k.eigenfunctions(nodes)
    np.testing.assert_allclose(e.T @ (weights[:, None] * e), np.eye(10), atol=1e-8)
    x = np.linspace(-2, 2, 9) * scale
    image = Gaussian(lengthscale)(x, nodes) @ (weights[:, None] * e)
    np.testing.assert_allclose(image, k.eigenfunctions(x) * k.eigenvalues, atol=1e-8)


@settings
def test_eigenfunctions_are_hermite_functions(lengthscale, scale):
    """Against the formula of Rasmussen & Williams (4.40), with unnormalised polynomials."""
    a, b = 1 / (4 * scale**2), 1 / (2 * lengthscale**2)
    c = np.sqrt(a * a + 2 * a * b)
    A = a + b + c
    k = MercerExpansion(lengthscale, scale, n_terms=8)
    x = np.linspace(-3, 3, 11) * scale
    for i in range(8):
        H = hermval(np.sqrt(2 * c) * x, np.eye(8)[i])
        norm = (c / a) ** 0.25 / np.sqrt(2.0**i * factorial(i))
        np.testing.assert_allclose(
            k.eigenfunctions(x)[:, i], norm * np.exp(-(c - a) * x * x) * H, atol=1e-10
        )
        assert k.eigenvalues[i] == pytest.approx(np.sqrt(2 * a / A) * (b / A) ** i, rel=1e-12)


@settings
def test_eigenvalues_sum_to_one(lengthscale, scale):
    k = MercerExpansion(lengthscale, scale, n_terms=15)
    assert k.eigenvalues.sum() + k.remainder == pytest.approx(1, abs=1e-14)
    assert np.all(np.diff(k.eigenvalues) < 0)
    assert MercerExpansion(lengthscale, scale, n_terms=2000).eigenvalues.sum() == pytest.approx(1)


@settings
def test_converges_to_the_gaussian_kernel(lengthscale, scale):
    x = np.linspace(-2, 2, 15) * scale
    K = Gaussian(lengthscale)(x)
    errors = [np.abs(MercerExpansion(lengthscale, scale, n)(x) - K).max() for n in (5, 20, 80, 320)]
    assert errors[-1] < 1e-10
    assert all(b < max(a, 1e-13) for a, b in pairwise(errors))


def test_the_mean_error_on_the_diagonal_is_the_remainder():
    k = MercerExpansion(0.8, 1.5, n_terms=6)
    x = np.linspace(-14, 14, 20001) * 1.5
    density = np.exp(-0.5 * (x / 1.5) ** 2) / (np.sqrt(2 * np.pi) * 1.5)
    missing = 1 - k.diag(k.prepare(x))
    assert np.sum(missing * density) * (x[1] - x[0]) == pytest.approx(k.remainder, abs=1e-12)


def test_many_terms_neither_overflow_nor_vanish():
    k = MercerExpansion(0.01, 1.0, n_terms=4000)
    x = np.array([0.0, 1.0, 4.0, 5.0])  # e_0 underflows at 4
    e = k.eigenfunctions(x)
    assert np.isfinite(e).all()
    assert e[2, 0] == 0
    np.testing.assert_allclose(k(x), np.eye(4), atol=1e-9)
    assert np.isfinite(MercerExpansion(1.0, 1.0, n_terms=200).eigenfunctions([-30.0, 30.0])).all()


def test_features_and_grams():
    k = MercerExpansion(1.0, 1.0, n_terms=5)
    x = np.linspace(-2, 2, 12)
    P = k.prepare(x)
    phi = k.features(P)
    assert phi.shape == (12, 5) == (12, k.n_features(P))
    K = k(x)
    np.testing.assert_allclose(phi @ phi.T, K, atol=1e-14)
    np.testing.assert_allclose(k.pairwise(P[:3], P), K[:3], atol=1e-14)
    np.testing.assert_allclose(k.diag(P), np.diagonal(K))
    np.testing.assert_allclose(k.gram(x, Plan(storage="lowrank")).to_dense(), K, atol=1e-14)
    assert np.linalg.matrix_rank(K) == 5
    assert k(x.astype(np.float32)).dtype == np.float32
    check_kernel(k, x[:, None])


def test_gradient_by_differences():
    rng = np.random.default_rng(0)
    k, h = MercerExpansion(0.7, 1.2, n_terms=9), 1e-6
    x, y, W = rng.normal(size=6), rng.normal(size=4), rng.normal(size=(6, 4))
    slope = (k(x + h, y) - k(x - h, y)) / (2 * h)
    got = k.grad_input(k.prepare(x), k.prepare(y), W)
    np.testing.assert_allclose(got[:, 0], (W * slope).sum(axis=1), atol=1e-8)


def test_properties_parameters_and_domain():
    k = MercerExpansion(1.0, 2.0, 5)
    facts = k.properties.facts()
    assert {n for n, f in facts.items() if f} >= {
        *("psd", "bounded", "continuous", "analytic", "finite_dim", "positive_diag")
    }
    assert {n for n, f in facts.items() if f.no} >= {
        *("stationary", "strictly_pd", "universal", "characteristic")
    }
    assert repr(k) == "MercerExpansion(measure_scale=2.0, n_terms=5)"
    assert clone(k) == k
    with pytest.raises(ValueError, match="measure_scale must be positive"):
        MercerExpansion(1.0, [1.0, 2.0])
    with pytest.raises(ValueError, match="n_terms must be an integer >= 1"):
        MercerExpansion(n_terms=0)
    with pytest.raises(DomainError, match=r"\.on\(column\)"):
        k(np.zeros((2, 3)))
