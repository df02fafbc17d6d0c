"""Items in order become ranks."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import rankings_from_orders
from mercer.exceptions import DomainError
from mercer.kernels.rankings.orders import standings

nan = np.nan


def test_orders():
    got = rankings_from_orders([["b", "a"], ["c"], [], ["a", ("c", "b")]], "abc")
    assert got.tolist() == [[2, 1, 3], [2, 2, 1], [1, 1, 1], [1, 2, 2]]
    got = rankings_from_orders([[2, 0], [1]], 3, rest="missing")
    np.testing.assert_array_equal(got, [[2, nan, 1], [nan, 1, nan]])
    assert rankings_from_orders([np.array([1, 0])], 2).tolist() == [[2, 1]]
    assert rankings_from_orders(iter([(1, 2)]), range(1, 4)).tolist() == [[1, 2, 3]]
    assert rankings_from_orders([], 3).shape == (0, 3)


@pytest.mark.parametrize(
    ("orders", "items", "message"),
    [
        ([[0, 3]], 3, r"order 0 has the item 3, which is not one of 0, \.\.\., 2"),
        ([["a"], ["x"]], ["a", "b"], "order 1 has the item 'x', which is not one of the items"),
        ([[0, 1, 0]], 3, "the item 0 twice"),
        ([[{0, 1}, 1]], 3, "the item 1 twice"),
        (["ab"], "ab", "pass its items as a list"),
        ([3], 4, "pass its items as a list"),
        ([["a"]], ["a", "a"], "items must be distinct"),
    ],
)
def test_nonsense_is_refused(orders, items, message):
    with pytest.raises(ValueError, match=message) as error:
        rankings_from_orders(orders, items)
    assert isinstance(error.value, DomainError) or "items must" in str(error.value)


def test_rest():
    with pytest.raises(ValueError, match='rest must be "last" or "missing"'):
        rankings_from_orders([[0]], 2, rest="first")


def test_standings(rng):
    ranks = rng.integers(0, 5, (40, 9)).astype(float)
    ranks[rng.random(ranks.shape) < 0.3] = nan
    first, last = standings(ranks)
    with np.errstate(invalid="ignore"):
        before = (ranks[:, None, :] < ranks[:, :, None]).sum(axis=2)
        no_later = (ranks[:, None, :] <= ranks[:, :, None]).sum(axis=2)
    seen = ~np.isnan(ranks)
    np.testing.assert_array_equal(first, np.where(seen, before, nan))
    np.testing.assert_array_equal(last, np.where(seen, no_later, nan))
