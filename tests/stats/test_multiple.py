"""Corrections for many hypotheses: by hand, beside SciPy, under dependence."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from mercer import adjust_pvalues
from mercer.stats.multiple import max_t


def test_by_hand_and_beside_scipy(rng):
    p = rng.uniform(size=30) ** 2
    np.testing.assert_allclose(adjust_pvalues(p, "bh"), false_discovery_control(p, method="bh"))
    np.testing.assert_allclose(adjust_pvalues(p, "by"), false_discovery_control(p, method="by"))
    np.testing.assert_allclose(adjust_pvalues(p, "bonferroni"), np.minimum(1, 30 * p))
    holm, sofar = {}, 0.0
    for rank, i in enumerate(np.argsort(p)):
        sofar = max(sofar, min(1.0, (30 - rank) * p[i]))
        holm[i] = sofar
    np.testing.assert_allclose(adjust_pvalues(p), [holm[i] for i in range(30)])


def test_largest_scores_by_brute_force(rng):
    T = rng.normal(size=(5, 40))
    T[2, 0] = 3.0
    order, sofar = np.argsort(-T[:, 0]), 0.0
    expected = np.empty(5)
    for place, i in enumerate(order):
        rest = T[order[place:]].max(axis=0)
        sofar = max(sofar, np.mean(rest >= T[i, 0]))
        expected[i] = sofar
    np.testing.assert_allclose(max_t(T), expected)


def test_copies_cost_nothing(rng):
    one = rng.normal(size=(1, 200))
    one[0, 0] = 2.5
    np.testing.assert_allclose(max_t(np.tile(one, (10, 1))), max_t(one)[0])
    assert adjust_pvalues(np.tile(max_t(one), 10)).max() > max_t(one)[0]


def test_false_rejections_of_any_of_them():
    """Of 400 tables of five dependent columns without effects, 5 % have a rejection."""
    count = 0
    for i in range(400):
        rng = np.random.default_rng(i)
        T = rng.normal(size=(5, 100)) + rng.normal(size=(1, 100))
        count += max_t(T).min() <= 0.05
    assert 8 <= count <= 34


def test_errors():
    with pytest.raises(ValueError, match="method"):
        adjust_pvalues([0.1], "fdr")
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjust_pvalues([1.1])
    with pytest.raises(ValueError, match="finite"):
        max_t(np.array([[np.nan, 1.0]]))
