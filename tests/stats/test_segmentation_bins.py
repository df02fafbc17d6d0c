"""Changes moved to single samples, against the costs of all places."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Plan
from mercer.stats.segmentation_bins import centred_features, cost_of, refined


@pytest.mark.parametrize("least", [1, 4])
def test_no_single_move_is_better(rng, least):
    phi = rng.normal(size=(120, 3)) + np.repeat([0, 1, 0], [37, 53, 30])[:, None]
    start = np.array([30, 60, 95])
    changes = refined(phi, start, least)
    assert cost_of(phi, changes) < cost_of(phi, start)
    edges = [0, *changes, 120]
    assert min(np.diff(edges)) >= least
    for place in range(1, 4):
        for other in range(edges[place - 1] + least, edges[place + 1] - least + 1):
            moved = [*edges[1:place], other, *edges[place + 1 : -1]]
            assert cost_of(phi, np.array(moved)) >= cost_of(phi, changes) - 1e-9


def test_cost_by_hand():
    phi = np.array([[0.0], [2.0], [5.0], [5.0], [8.0]])
    assert cost_of(phi, np.array([2])) == pytest.approx(2 + 6)
    assert cost_of(phi, np.array([], dtype=int)) == pytest.approx(np.var(phi) * 5)


def test_constants_stay_where_they_are():
    start = np.array([3, 7])
    np.testing.assert_array_equal(refined(np.full((10, 2), 0.1), start, 1), start)


def test_the_origin_is_the_median(rng):
    X = rng.normal(size=(31, 2))
    X[4] = 1e8
    phi = centred_features(Plan().gram(Linear(), X.astype(np.float32)))
    assert phi.dtype == np.float64
    np.testing.assert_allclose(np.median(phi, axis=0), 0, atol=1e-12)
    assert centred_features(Plan().gram(Gaussian(1.0), X)) is None
    assert centred_features(Plan(storage="lowrank").gram(Linear(), sp.csr_array(X))) is None
