import numpy as np

from mercer.gram.rows import RowGram
from mercer.solvers.rows import RowCache


def stored(rng, n=40, capacity=10):
    K = rng.standard_normal((n, n))
    K = K + K.T
    asked = []

    def block(rows, cols):
        asked.extend(rows)
        return K[rows][:, cols]

    return K, asked, RowCache(RowGram(block, np.diag(K)), capacity, 1)


def test_rows_are_computed_once_and_found_again(rng):
    K, asked, cache = stored(rng)
    beta = np.zeros(40)
    for variables in (np.array([3, 7, 9]), np.array([7, 9, 30])):
        slots = cache.fetch(variables, beta, 1)
        np.testing.assert_array_equal(cache.rows[slots], K[variables])
    assert asked == [3, 7, 9, 30]
    assert cache.computed == 4


def test_the_oldest_rows_make_room_but_those_of_support_vectors_last(rng):
    K, _, cache = stored(rng)
    beta = np.zeros(40)
    beta[0] = 1.0
    cache.fetch(np.array([0, 1]), beta, 1)
    cache.fetch(np.arange(2, 10), beta, 2)
    cache.fetch(np.array([20]), beta, 3)
    assert cache.slot[0] >= 0
    assert cache.slot[1] < 0
    np.testing.assert_array_equal(cache.rows[cache.slot[20]], K[20])


def test_restricted_rows_have_the_columns_kept_and_leave_more_room(rng):
    K, _, cache = stored(rng)
    beta = np.zeros(40)
    cache.fetch(np.array([5, 30, 2]), beta, 1)
    columns = np.array([1, 5, 8, 30, 39])
    cache.restrict(columns)
    assert cache.capacity == 40
    slots = cache.fetch(np.array([30, 2, 11]), beta, 2)
    np.testing.assert_array_equal(cache.rows[slots], K[np.ix_([30, 2, 11], columns)])
    cache.restrict(np.array([0, 4]))
    np.testing.assert_array_equal(cache.rows[cache.slot[11]], K[11, [1, 39]])
    g = np.zeros(2)
    cache.add(g, cache.slot[[11, 2]], np.array([1.0, -2.0]))
    np.testing.assert_allclose(g, K[11, [1, 39]] - 2 * K[2, [1, 39]])
    cache.reset()
    slots = cache.fetch(np.array([11]), beta, 3)
    np.testing.assert_array_equal(cache.rows[slots], K[[11]])
