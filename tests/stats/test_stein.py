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


# ---- densities with a boundary --------------------------------------------------------------
def test_stein_kernel_with_a_boundary_is_that_of_weighted_functions(rng):
    """Against differences of omega_i(x) omega_i(y) k(x, y), one coordinate after the other."""
    kernel = RationalQuadratic(np.array([0.7, 1.3]), 0.5)
    support = np.array([0.0, -1.0]), np.array([np.inf, 2.0])

    def score(x):
        return np.column_stack([-np.ones(len(x)), -2 * x[:, 1]])

    def weight(x):
        t, u, v = x[0] / 0.7, (x[1] + 1) / 1.3, (2 - x[1]) / 1.3
        return np.array([t / (1 + t), u / (1 + u) * v / (1 + v)])

    X = np.column_stack([rng.exponential(size=4), rng.uniform(-1, 2, 4)])
    expected, h = np.zeros((4, 4)), 1e-4
    for a, x in enumerate(X):
        for b, y in enumerate(X):
            s, t = score(np.array([x, y]))
            for i, e in enumerate(h * np.eye(2)):

                def f(p, q, i=i):
                    return weight(p)[i] * weight(q)[i] * float(kernel(p[None], q[None])[0, 0])

                dx, dy = (f(x + e, y) - f(x - e, y)), (f(x, y + e) - f(x, y - e))
                both = f(x + e, y + e) - f(x + e, y - e) - f(x - e, y + e) + f(x - e, y - e)
                expected[a, b] += s[i] * t[i] * f(x, y) + (s[i] * dy + t[i] * dx) / (2 * h)
                expected[a, b] += both / (4 * h**2)
    np.testing.assert_allclose(Stein(kernel, score, support)(X), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", [Gaussian(0.4), RationalQuadratic(0.5, 0.5)])
def test_functions_have_mean_zero_under_a_density_with_a_boundary(kernel):
    """Quadrature of k_p(x, y) p(x) over the exponential and the uniform distribution."""
    y = np.array([[0.1], [0.7]])
    nodes, weights = np.polynomial.legendre.leggauss(400)
    x = (nodes[:, None] + 1) / 2
    flat = Stein(kernel, np.zeros_like, (0.0, 1.0))(x, y)
    np.testing.assert_allclose(weights @ flat / 2, 0, atol=1e-8)
    x, weights = 20 * (nodes[:, None] + 1), 20 * weights
    falling = Stein(kernel, lambda x: -np.ones_like(x), (0.0, np.inf))(x, y)
    np.testing.assert_allclose((weights * np.exp(-x[:, 0])) @ falling, 0, atol=1e-6)


def test_densities_with_a_boundary_are_not_rejected():
    rejected = np.zeros(3)
    for i in range(60):
        r = np.random.default_rng(i)
        waiting, options = r.exponential(size=60), {"n_draws": 59, "rng": r}
        minus = lambda x: -np.ones_like(x)  # noqa: E731
        tests = (
            goodness_of_fit_test(waiting, minus, support=(0, np.inf), **options),
            goodness_of_fit_test(r.random((60, 2)), np.zeros_like, support=(0, 1), **options),
            goodness_of_fit_test(waiting**0.5, minus, support=(0, np.inf), **options),
        )
        rejected += [found.pvalue <= 0.05 for found in tests]
    assert max(rejected[:2]) <= 9  # of 60 at 5 %: more in one of 1000 cases
    assert rejected[2] > 45  # another density is


def test_a_score_that_points_out_of_the_sample_is_noted(rng):
    waiting = rng.exponential(size=50)
    found = goodness_of_fit_test(waiting, lambda x: -np.ones_like(x), n_draws=19, rng=0)
    assert "smallest value of column 0" in found.notes[0]
    assert "support" in found.notes[0]
    assert goodness_of_fit_test(rng.standard_normal(50), lambda x: -x, n_draws=19).notes == ()


def test_support_is_checked(rng):
    X = rng.standard_normal((10, 2))
    with pytest.raises(ValueError, match="support: samples lie outside"):
        ksd(X, lambda x: -x, support=(0, np.inf))
    for support in ((1, 0), 3, (0, np.nan)):
        with pytest.raises(ValueError, match="support"):
            ksd(X, lambda x: -x, support=support)


def test_scores_and_boundaries_that_do_not_fit(rng):
    x = np.abs(rng.standard_normal((20, 2)))
    masked = np.ma.array(-x, mask=x > 1.5)
    with pytest.raises(ValueError, match="masked"):
        goodness_of_fit_test(x, masked, n_draws=19)
    with pytest.raises(ValueError, match=r"support must hold .* \(2,\)"):
        goodness_of_fit_test(x, lambda x: -x, support=([0, 0, 0], np.inf), n_draws=19)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-154, 1e-160, 1e-200])
def test_scores_without_squares_are_refused_in_words(rng, size):
    X = size * rng.standard_normal((20, 2))
    with pytest.raises(ValueError, match=r"not (a )?finite number"):
        goodness_of_fit_test(X, lambda x: -x / size / size, rng=0)
