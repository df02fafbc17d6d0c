"""Operations on sixteen numbers at once, against NumPy."""

import numpy as np
from numba import njit

from mercer.kernels.pairs import lanes
from mercer.kernels.pairs.lanes import (
    by_sameness,
    equal,
    load,
    look_up,
    plus,
    store,
    times,
    times_plus,
    where_same,
)

WIDTH = lanes.WIDTH


@njit
def arithmetic(a, b, out):
    x, y = load(a, 0), load(b, WIDTH)
    store(out, 0, plus(x, y))
    store(out, WIDTH, times(x, y))
    store(out, 2 * WIDTH, times_plus(x, y, equal(3.0)))


@njit
def choices(first, second, table, values, out):
    x = load(values, 0)
    store(out, 0, where_same(first, 0, second, WIDTH, x))
    store(out, WIDTH, by_sameness(first, 0, second, WIDTH, x, equal(-1.0)))
    store(out, 2 * WIDTH, look_up(table, first, WIDTH, second, 0))


def test_arithmetic(rng):
    a, b, out = rng.normal(size=WIDTH), rng.normal(size=2 * WIDTH), np.empty(3 * WIDTH)
    arithmetic(a, b, out)
    right = b[WIDTH:]
    wanted = np.concatenate([a + right, a * right, a * right + 3])
    np.testing.assert_allclose(out, wanted, rtol=1e-15, atol=1e-15)


def test_choices(rng):
    first, second = rng.integers(0, 3, (2, 2 * WIDTH))
    values, table = rng.normal(size=WIDTH), rng.normal(size=(3, 4))
    left, right = first[:WIDTH], second[WIDTH:]
    left[:3], right[2:5] = -1, -2  # no symbol
    out = np.empty(3 * WIDTH)
    choices(first, second, table, values, out)
    same, missing = left == right, (left < 0) | (right < 0)
    np.testing.assert_array_equal(out[:WIDTH], np.where(same, values, 0))
    chosen = np.where(missing, 0, np.where(same, values, -1))
    np.testing.assert_array_equal(out[WIDTH : 2 * WIDTH], chosen)
    np.testing.assert_array_equal(out[2 * WIDTH :], table[first[WIDTH:], second[:WIDTH]])
