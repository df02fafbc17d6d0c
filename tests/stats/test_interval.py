"""Confidence intervals of MMD^2: their parts against brute force, their coverage on both sides."""

import numpy as np
import pytest
from scipy.stats import binom

from mercer import Gaussian, Linear, Plan, mmd, mmd_interval
from mercer.stats.discrepancy import group_sums
from mercer.stats.interval import curve_of, squared_sums
from mercer.stats.samples import Samples


def between_normals(shift, spread):
    """MMD^2 of N(0, 1) and N(shift, spread^2), Gaussian kernel of width 1."""

    def mean(d, v):
        return np.exp(-0.5 * d**2 / (1 + v)) / np.sqrt(1 + v)

    return mean(0, 2) + mean(0, 2 * spread**2) - 2 * mean(shift, 1 + spread**2)


def misses(n, m, shift, spread, repetitions):
    """How many intervals lie above the true value, and how many below."""
    truth, above, below = between_normals(shift, spread), 0, 0
    for i in range(repetitions):
        r = np.random.default_rng([n, m, i])
        found = mmd_interval(r.normal(0, 1, n), r.normal(shift, spread, m), Gaussian())
        above += truth < found.low
        below += truth > found.high
    return above, below


@pytest.mark.parametrize(("shift", "spread"), [(0.0, 1.0), (0.5, 1.0), (0.0, 1.5)])
def test_intervals_cover(shift, spread):
    """At most 8 % missed, at most 5.5 % on one side; the normal limit misses 13 % below."""
    above, below = misses(40, 40, shift, spread, 300)
    assert above + below <= binom.ppf(0.995, 300, 0.08)
    assert max(above, below) <= binom.ppf(0.995, 300, 0.055)


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(20, 20), (50, 50), (50, 150), (200, 200)])
@pytest.mark.parametrize(
    ("shift", "spread"), [(0, 1), (0.2, 1), (0.5, 1), (1, 1), (2, 1), (0, 1.5), (0, 3)]
)
def test_coverage(sizes, shift, spread, record_property):
    above, below = misses(*sizes, shift, spread, 1000)
    record_property("missed", (int(above), int(below)))
    assert above + below <= binom.ppf(0.995, 1000, 0.09 if min(sizes) < 50 else 0.075)


def test_the_variance_of_the_degenerate_part_is_that_of_repetitions(rng):
    """If both distributions are the same, nothing else is left."""
    values, variances = [], []
    for _ in range(400):
        samples = Samples(rng.standard_normal(30), rng.standard_normal(20))
        gram = Gaussian().gram(samples.data)
        curve = curve_of(group_sums(Gaussian(), samples), squared_sums(gram, samples.labels))
        values.append(curve.value)
        variances.append(curve.degenerate)
    assert np.mean(variances) == pytest.approx(np.var(values), rel=0.2)


def test_squared_sums(rng):
    samples = Samples(rng.standard_normal((700, 2)), rng.standard_normal((13, 2)))
    K = Gaussian()(samples.data)
    expected = [
        [np.sum(K[np.ix_(samples.labels == g, samples.labels == h)] ** 2) for h in (0, 1)]
        for g in (0, 1)
    ]
    for plan in (Plan(), Plan(memory=1)):
        found = squared_sums(Gaussian().gram(samples.data, plan), samples.labels)
        assert found == pytest.approx(np.array(expected))


def test_an_interval_begins_at_zero_where_nothing_differs(rng):
    X, Y = rng.standard_normal((2, 40, 2))
    found = mmd_interval(X, Y)
    assert found.low == 0.0 < found.high
    assert found.value == pytest.approx(mmd(X, Y))
    wider = mmd_interval(X, Y + 2, confidence=0.99)
    narrow = mmd_interval(X, Y + 2, confidence=0.5)
    assert 0 < wider.low < narrow.low < narrow.value < narrow.high < wider.high


def test_units_of_the_kernel_do_not_matter(rng):
    X, Y = rng.standard_normal((2, 20, 1))
    one, other = mmd_interval(X, Y + 1, Linear()), mmd_interval(X, Y + 1, 1e40 * Linear())
    assert np.array(other) == pytest.approx(1e40 * np.array(one))


def test_constant_samples_and_few_observations():
    found = mmd_interval(np.ones(8), np.ones(8), Gaussian(1.0))
    assert found.value == pytest.approx(0, abs=1e-12)
    assert found.low == 0.0
    assert found.high < 1e-6
    with pytest.raises(ValueError, match="at least 4"):
        mmd_interval([0.0, 1.0, 2.0], [0.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_units_of_the_data_do_not_matter(rng, scale):
    """Squares of kernel values overflowed, and variances vanished."""
    X, Y = rng.standard_normal(30), rng.standard_normal(40) + 0.5
    here = mmd_interval(X, Y, Linear())
    there = mmd_interval(scale * X, scale * Y, Linear())
    assert np.array(there) / scale**2 == pytest.approx(np.array(here), rel=1e-6)


def test_samples_of_zeros():
    assert mmd_interval(np.zeros(9), np.zeros(7), Linear()) == (0.0, 0.0, 0.0, 0.0)
