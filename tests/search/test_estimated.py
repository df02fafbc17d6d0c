from dataclasses import replace

import numpy as np
import pytest

from mercer import Gaussian, Plan
from mercer.search.descent import DenseObjective
from mercer.search.estimated import EstimatedObjective, _in_single, refine
from mercer.search.objective import Posed
from mercer.solvers import criteria


def computed_and_estimated(kernel, X, y, alpha, rank):
    """The same evidence twice, as functions of hyper-parameters."""
    n = len(X)
    posed = Posed(kernel, X, y, alpha, np.ones(n), (), (1e-6, 1e6), 1.0)
    dense = DenseObjective(posed, criteria.evidence)
    posed = replace(posed, scale=np.ones((n, 1)))
    rng = np.random.RandomState(0)
    return dense, EstimatedObjective(posed, rank=rank, plan=Plan(), rng=rng)


@pytest.fixture(scope="module")
def both():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((900, 2))
    y = (np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(900))[:, None]
    return computed_and_estimated(1.0 * Gaussian(np.array([1.5, 1.5])), X, y, 0.3, 150)


def test_values_and_slopes_agree(both):
    dense, rough = both
    (value, slope), (found, found_slope) = dense(dense.start), rough(rough.start)
    assert abs(found - value) < 4 * rough.error + 0.5
    np.testing.assert_allclose(found_slope, slope, atol=0.01 * 900)


def test_much_variance_beside_little_noise(rng):
    """In single precision, rounding would count as noise: the evidence was 20 per sample off."""
    X = rng.uniform(-1, 1, (900, 2))
    y = (np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(900))[:, None]
    kernel = 1e4 * Gaussian(np.array([2.0, 6.0]))
    dense, rough = computed_and_estimated(kernel, X, y, 0.01, 100)
    (value, slope), (found, found_slope) = dense(dense.start), rough(rough.start)
    assert abs(found - value) < 0.1
    np.testing.assert_allclose(found_slope, slope, atol=0.1)


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
