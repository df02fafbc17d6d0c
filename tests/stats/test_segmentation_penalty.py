"""Penalties of segments: slopes that are known, and costs that differ by rounding."""

import numpy as np
import pytest
from scipy.special import comb

from mercer.stats.segmentation_penalty import choose, slope_penalties


def test_twice_the_slope():
    n, D = 60, np.arange(1, 21)
    ways = np.log(comb(n - 1, D - 1))
    costs = 50 - 0.3 * ways - 0.2 * D
    costs[:4] += [30.0, 20.0, 7.0, 5.0]  # before all changes are found
    wanted = 2 * (0.3 * ways + 0.2 * D)
    np.testing.assert_allclose(slope_penalties(costs, n), wanted - wanted[0], rtol=1e-6)


def test_penalties_never_fall():
    found = slope_penalties(np.sqrt(np.arange(1.0, 30.0)), 100)  # costs that grow make no sense
    assert np.all(np.diff(found) >= 0)


def test_too_few_costs_have_no_slope():
    assert slope_penalties(np.arange(5.0), 11) is None


@pytest.mark.parametrize(("rounding", "wanted"), [(0.0, 4), (1e-9, 2), (20.0, 1)])
def test_what_rounding_makes_is_no_gain(rounding, wanted):
    costs = np.array([10.0, 1.0, 1.0 - 1e-12, 1.0 - 2e-12])
    assert choose(costs, np.zeros(4), np.full(4, rounding)) == wanted


def test_the_fewest_of_equally_good_ones():
    assert choose(np.array([5.0, 4.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.zeros(3)) == 1
