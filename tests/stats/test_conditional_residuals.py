"""What is left of a variable: its scale, and what is expected of kernels of noise."""

import numpy as np
import pytest

from mercer import Gaussian
from mercer.stats.conditional_regression import Condition
from mercer.stats.conditional_residuals import Left, gaussian_expectation


@pytest.mark.parametrize("d", [1, 3])
def test_expectation_of_a_gaussian_kernel(rng, d):
    rho = rng.uniform(-0.5, 0.9, d)
    s = rng.standard_normal((400_000, d))
    t = rho * s + np.sqrt(1 - rho**2) * rng.standard_normal(s.shape)
    far = rng.standard_normal(s.shape)
    values = [np.mean(np.exp(-np.sum((s - v) ** 2, axis=1) / (2 * d))) for v in (t, far)]
    found = gaussian_expectation([np.array([[r]]) for r in rho])
    assert found[0, 0] == pytest.approx(values[0] - values[1], abs=3e-3)


def test_residuals_have_the_same_scale_everywhere(rng):
    """Noise that grows with z, and a function that is steep where observations are few."""
    z = rng.standard_normal(500)
    noise = 0.1 * np.exp(z) * rng.standard_normal(500)
    t = Left(np.sin(2 * z) + noise, Condition(z)).columns[:, 0]
    assert np.mean(t**2) == pytest.approx(1)
    low, high = z < -0.7, z > 0.7
    assert noise[high].std() > 5 * noise[low].std()
    assert t[high].std() / t[low].std() < 0.6 * noise[high].std() / noise[low].std()


def test_views_of_features_against_an_explicit_regression(rng):
    z, x = rng.standard_normal((2, 40))
    given = Condition(z)
    left = Left(x[:, None], given, Gaussian(1.0))
    [view] = left.views.values()
    R = given.residuals(left.choices[0]).maker
    H = np.eye(40) - 1 / 40
    assert view.gram == pytest.approx(R @ H @ Gaussian(1.0)(x[:, None]) @ H @ R.T)
    assert view.expected == pytest.approx(R @ R.T)


def test_neighbours_in_common(rng):
    """Small for noise, large for what a regression has missed."""
    z = rng.uniform(-2, 2, 200)
    noise = rng.standard_normal(200)
    assert abs(Left(noise, Condition(z)).depends()) < 3
    assert Left(np.sin(4 * z) + 0.3 * noise, Condition(z)).depends() < 3
    assert Left(np.sin(4 * z) + 0.3 * noise, Condition(z, penalties=[100.0])).depends() > 10
