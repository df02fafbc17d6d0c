"""The Stein discrepancy against finite differences, quadrature and closed forms."""

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, RationalQuadratic, Stein, goodness_of_fit_test, ksd

KERNELS = [
    Gaussian(1.3),
    Gaussian(np.array([0.7, 2.0])),
    RationalQuadratic(1.2, alpha=0.5),
    RationalQuadratic(np.array([0.7, 2.0]), alpha=2.0),
]
PRECISION = np.array([[1.0, 0.3], [0.3, 2.0]])


def score(X):
    return -X @ PRECISION


@pytest.mark.parametrize("kernel", KERNELS)
def test_stein_kernel_by_finite_differences(rng, kernel):
    X, h = rng.standard_normal((5, 2)), 1e-4

    def k(x, y):
        return kernel(x[None], y[None])[0, 0]

    expected = np.empty((5, 5))
    for i, x in enumerate(X):
        for j, y in enumerate(X):
            s, t = score(x), score(y)
            value = s @ t * k(x, y)
            for c, e in enumerate(h * np.eye(2)):
                value += t[c] * (k(x + e, y) - k(x - e, y)) / (2 * h)
                value += s[c] * (k(x, y + e) - k(x, y - e)) / (2 * h)
                mixed = k(x + e, y + e) - k(x + e, y - e) - k(x - e, y + e) + k(x - e, y - e)
                value += mixed / (4 * h * h)
            expected[i, j] = value
    found = Stein(kernel, score)(X)
    assert found == pytest.approx(expected, abs=1e-6)
    assert np.linalg.eigvalsh(found).min() > -1e-10
    assert Stein(kernel, score)(X, X[:2]) == pytest.approx(found[:, :2])


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
def test_closed_form_for_normal_distributions(mu):
    """N(mu, 1) against N(0, 1), Gaussian kernel of width 1: mu^2 / sqrt(3), by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    x, w = nodes + mu, weights / weights.sum()
    K = Stein(Gaussian(), lambda x: -x)(x[:, None])
    assert w @ K @ w == pytest.approx(mu**2 / np.sqrt(3), abs=1e-8)


def test_estimates(rng):
    X = rng.standard_normal((30, 2))
    K = Stein(Gaussian(), score)(X)
    assert ksd(X, score, Gaussian(), biased=True) == pytest.approx(K.mean())
    off = K[~np.eye(30, dtype=bool)]
    assert ksd(X, score, Gaussian()) == pytest.approx(off.mean())
    assert ksd(X, score(X), Gaussian()) == pytest.approx(off.mean())
    k = RationalQuadratic("median", alpha=0.5).resolve(X)
    assert ksd(X, score) == ksd(X, score, k)


def test_level_and_power():
    def rate(draw, s, repetitions=100):
        rngs = [np.random.default_rng(i) for i in range(repetitions)]
        ps = [goodness_of_fit_test(draw(r), s, n_draws=99, rng=r).pvalue for r in rngs]
        return np.mean(np.array(ps) <= 0.05)

    assert rate(lambda r: r.standard_normal((60, 2)), lambda x: -x) < 0.12
    assert rate(lambda r: r.standard_normal((60, 2)) + 0.4, lambda x: -x, 50) > 0.7
    assert rate(lambda r: r.standard_t(5, 60), lambda x: -6 * x / (5 + x**2)) < 0.12


def test_series_need_memory():
    def chain(rng):
        x = rng.standard_normal(300)
        for t in range(1, 300):
            x[t] = 0.9 * x[t - 1] + np.sqrt(1 - 0.81) * x[t]
        return x

    def rate(memory):
        rngs = [np.random.default_rng(i) for i in range(30)]
        tests = (
            goodness_of_fit_test(chain(r), lambda x: -x, n_draws=99, rng=r, memory=memory)
            for r in rngs
        )
        return np.mean([t.pvalue <= 0.05 for t in tests])

    assert rate(None) > 0.3
    assert rate(20.0) < 0.2


def test_bad_input(rng):
    x = rng.standard_normal(20)
    with pytest.raises(ValueError, match="Gaussian or RationalQuadratic"):
        ksd(x, lambda x: -x, Laplacian())
    with pytest.raises(ValueError, match="one gradient per sample"):
        ksd(x, np.ones(5))
    with pytest.raises(ValueError, match="not finite"):
        ksd(x, lambda x: np.full_like(x, np.inf))
    with pytest.raises(ValueError, match="n_draws"):
        goodness_of_fit_test(x, lambda x: -x, n_draws=0)
    with pytest.raises(ValueError, match="at least 2"):
        ksd(x[:1], lambda x: -x)
