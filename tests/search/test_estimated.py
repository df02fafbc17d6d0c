from dataclasses import replace

import numpy as np
import pytest

from mercer import Gaussian, Plan
from mercer.search.descent import DenseObjective
from mercer.search.estimated import EstimatedObjective, _in_single, refine
from mercer.search.objective import Posed
from mercer.solvers import criteria


@pytest.fixture(scope="module")
def both():
    """The same evidence, computed and estimated, as functions of hyper-parameters."""
    rng = np.random.default_rng(7)
    n = 900
    X = rng.standard_normal((n, 2))
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n))[:, None]
    kernel = 1.0 * Gaussian(np.array([1.5, 1.5]))
    posed = Posed(kernel, X, y, 0.3, np.ones(n), (), (1e-6, 1e6), 1.0)
    dense = DenseObjective(posed, criteria.evidence)
    posed = replace(posed, scale=np.ones((n, 1)))
    rng = np.random.RandomState(0)
    rough = EstimatedObjective(posed, rank=150, plan=Plan(), rng=rng)
    return dense, rough


def test_values_and_slopes_agree(both):
    dense, rough = both
    (value, slope), (found, found_slope) = dense(dense.start), rough(rough.start)
    assert abs(found - value) < 4 * rough.error + 0.5
    np.testing.assert_allclose(found_slope, slope, atol=0.01 * 900)


def test_the_same_random_numbers_make_it_smooth(both):
    _, rough = both
    x = rough.start
    near = [rough(x + t)[0] for t in (0.0, 1e-4, 2e-4)]
    assert abs(near[0] - 2 * near[1] + near[2]) < 1e-2


def test_few_evaluations_find_the_optimum(both):
    dense, rough = both
    begun = rough.count
    found = refine(rough, dense.curvature(dense.start))
    assert found.success
    assert rough.count - begun <= 20
    best = dense.descend(dense.start)
    assert dense(found.x)[0] - best.fun < 1e-3 * 900


def test_single_precision_only_where_it_changes_nothing(rng):
    X = rng.standard_normal((50, 2))
    assert _in_single(Gaussian(), X).dtype == np.float32
    assert _in_single(Gaussian(), X + 1e8).dtype == np.float64
    assert _in_single(Gaussian(1e-4), 1e4 + X).dtype == np.float64
    assert _in_single(Gaussian(), 1e300 * X).dtype == np.float64
    words = ["ab", "ba"]
    assert _in_single(Gaussian(), words) is words
