from __future__ import annotations

import numpy as np
import pytest

from mercer.gram.microkernel import exp_panels, panels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 64, 3), (13, 65, 5), (20, 300, 40)])
def test_exponentials_of_products(rng, dtype, shape):
    n, m, d = shape
    left, right = -rng.random((n, d)).astype(dtype), rng.random((m, d)).astype(dtype)
    Z = panels(right)
    out = np.full((n, Z.width), np.nan, dtype)
    exp_panels(left, Z.array, out)
    expected = np.exp(left.astype(float) @ right.astype(float).T)
    np.testing.assert_allclose(out[:, :m], expected, rtol=200 * np.finfo(dtype).eps)
    assert Z.size == m <= Z.width
    np.testing.assert_array_equal(out[:, m:], 1.0)  # what lies beyond the rows is zero


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_coordinate_is_the_exponential_itself(rng, dtype):
    """In full precision, for all numbers that have a normal exponential."""
    lowest = {np.float32: -86.0, np.float64: -707.0}[dtype]
    x = np.concatenate([rng.uniform(lowest, 0, 500), -np.logspace(-30, 0, 100), [0.0, 1e-6]])
    x = x.astype(dtype)
    Z = panels(np.ones((1, 1), dtype))
    out = np.empty((len(x), Z.width), dtype)
    exp_panels(x[:, None], Z.array, out)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(out[:, 0], np.exp(x.astype(np.longdouble)), rtol=3 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_far_away_is_as_good_as_zero(dtype):
    x = np.array([-1e3, -1e30, -np.inf], dtype)
    Z = panels(np.ones((3, 1), dtype))
    out = np.empty((3, Z.width), dtype)
    exp_panels(x[:, None], Z.array, out)
    assert np.all(out[:, :3] >= 0)
    assert np.all(out[:, :3] < 1e-37)
