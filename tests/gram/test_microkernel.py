from __future__ import annotations

import numpy as np
import pytest

from mercer.gram.microkernel import exp_panels, panels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 64, 3), (13, 65, 5), (20, 300, 40)])
def test_exponentials_of_products(rng, dtype, shape):
    n, m, d = shape
    left, right = -rng.random((n, d)).astype(dtype), rng.random((m, d)).astype(dtype)
    out = np.full((n + 1, m), np.nan, dtype)
    exp_panels(left, panels(right), out[:n])
    expected = np.exp(left.astype(float) @ right.astype(float).T)
    np.testing.assert_allclose(out[:n], expected, rtol=200 * np.finfo(dtype).eps)
    assert np.all(np.isnan(out[n]))  # nothing is written elsewhere


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_coordinate_is_the_exponential_itself(rng, dtype):
    """In full precision, for all numbers that have a normal exponential."""
    lowest = {np.float32: -86.0, np.float64: -707.0}[dtype]
    x = np.concatenate([rng.uniform(lowest, 0, 500), -np.logspace(-30, 0, 100), [0.0, 1e-6]])
    x = x.astype(dtype)
    out = np.empty((len(x), 1), dtype)
    exp_panels(x[:, None], panels(np.ones((1, 1), dtype)), out)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(out[:, 0], np.exp(x.astype(np.longdouble)), rtol=3 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_far_away_is_as_good_as_zero(dtype):
    x = np.array([-1e3, -1e30, -np.inf], dtype)
    out = np.empty((3, 3), dtype)
    exp_panels(x[:, None], panels(np.ones((3, 1), dtype)), out)
    assert np.all(out >= 0)
    assert np.all(out < 1e-37)
