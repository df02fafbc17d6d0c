"""Intervals for HSIC and alignment: estimates, closed forms, coverage, what is constant."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan, cka, cka_interval, hsic, hsic_interval


def test_values_are_the_unbiased_estimates(rng):
    x = rng.normal(size=(60, 2))
    y = x[:, :1] + rng.normal(size=(60, 1))
    k, l = Gaussian(1.2), Gaussian(0.7)
    assert hsic_interval(x, y, k, l).value == pytest.approx(hsic(x, y, k, l))
    assert cka_interval(x, y, k, l).value == pytest.approx(cka(x, y, k, l, biased=False))
    stored = hsic_interval(x, y, k, l, plan=Plan(storage="dense"))
    np.testing.assert_allclose(stored, hsic_interval(x, y, k, l))


def test_error_of_a_squared_covariance_is_that_of_the_delta_method(rng):
    """With linear kernels HSIC is cov^2, and the error of large samples 2 cov sd(product)."""
    x = rng.normal(size=1500)
    y = 0.8 * x + 0.6 * rng.normal(size=1500)
    u = (x - x.mean()) * (y - y.mean())
    expected = 2 * u.mean() * u.std() / np.sqrt(1500)
    assert hsic_interval(x, y, Linear(), Linear()).error == pytest.approx(expected, rel=0.04)
    r = np.corrcoef(x, y)[0, 1]
    expected = 2 * r * (1 - r**2) / np.sqrt(1500)  # of a squared correlation
    assert cka_interval(x, y, Linear(), Linear()).error == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.8])
def test_intervals_cover(rho):
    missed = np.zeros(2)
    for i in range(150):
        x, e = np.random.default_rng(i).normal(size=(2, 60))
        y = rho * x + np.sqrt(1 - rho**2) * e
        for place, interval in enumerate((hsic_interval, cka_interval)):
            found = interval(x, y, Linear(), Linear())
            missed[place] += not found.low <= rho**2 <= found.high
    assert np.all(missed <= 26)  # 5 %, and what chance and heavy tails of products add


def test_the_same_variable_and_constants(rng):
    x = rng.normal(size=50)
    found = cka_interval(x, 3 * x - 1, Linear(), Linear())
    assert found.value == pytest.approx(1.0)
    assert 0.9 < found.low <= found.high <= 1.0
    assert hsic_interval(np.ones(20), x[:20]) == (0.0, 0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="constant"):
        cka_interval(np.ones(20), x[:20])
    with pytest.raises(ValueError, match="confidence"):
        hsic_interval(x, x, confidence=1.0)
    with pytest.raises(ValueError, match="at least 8"):
        hsic_interval(x[:5], x[:5])


def test_units_do_not_matter(rng):
    x, e = rng.normal(size=(2, 80))
    one = cka_interval(x, x + e)
    other = cka_interval(1e6 + 1e-3 * x, 1e5 * (x + e))
    np.testing.assert_allclose(one, other, rtol=1e-3)
