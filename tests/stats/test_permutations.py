"""Units of exchange: what moves, what stays, and that all rearrangements are equally likely."""

from collections import Counter

import numpy as np
import pytest

import mercer as m
from mercer.exceptions import MemoryPlanError
from mercer.stats.permutations import Units, binned, exchange, exchange_samples


def test_single_samples_are_permuted_uniformly(rng):
    draws = exchange(3).positions(6000, rng)
    counts = Counter(map(tuple, draws))
    assert len(counts) == 6
    assert max(abs(c - 1000) for c in counts.values()) < 5 * np.sqrt(1000)


def test_groups_keep_to_themselves(rng):
    groups = np.array(list("abbaab"))
    for p in exchange(6, groups=groups).positions(50, rng):
        assert np.array_equal(groups[p], groups)
        assert sorted(p) == list(range(6))


def test_blocks_move_as_a_whole(rng):
    units = exchange(10, blocks=3)  # the last sample is a block of another size
    for p in units.positions(50, rng):
        assert p[9] == 9
        for i in (0, 3, 6):
            assert p[i] % 3 == 0
            assert np.array_equal(p[i : i + 3], p[i] + np.arange(3))


def test_blocks_by_label_and_within_groups(rng):
    blocks = np.array([5, 7, 5, 7, 1, 1])
    groups = np.array([0, 0, 0, 0, 1, 1])
    for p in exchange(6, groups, blocks).positions(20, rng):
        assert p.tolist() in ([0, 1, 2, 3, 4, 5], [1, 0, 3, 2, 4, 5])


def test_blocks_do_not_cross_samples():
    units = exchange_samples([5, 4], blocks=2)
    labels = np.repeat([0, 1], [5, 4])
    assert units.of_units(labels, "blocks").tolist() == [0, 0, 0, 1, 1]
    with pytest.raises(ValueError, match="within one sample"):
        exchange_samples([5, 4], blocks=[0, 0, 0, 0, 1, 1, 1, 1, 1]).of_units(labels, "blocks")


def test_bins_are_of_one_sample_and_one_size(rng):
    labels = np.repeat([0, 1], [503, 250])
    units = binned(labels, 50, rng)
    assert len(np.unique(units.of_units(labels, "bins"))) == 2
    sizes = Counter(units.size.tolist())
    assert sizes[12] == 41 + 20  # 250 // 20 = 12 is less than 753 // 50
    assert sum(sizes.values()) == 63  # two smaller ones are left over
    draws = units.shuffled(units.of_units(labels, "bins"), 20, rng)
    assert np.all(draws @ units.size == 250)


def test_bins_within_groups(rng):
    labels, groups = np.repeat([0, 1], [200, 200]), np.tile([0, 1], 200)
    units = binned(labels, 20, rng, groups)
    inside = np.zeros((len(units), 2), bool)
    inside[units.place, groups] = True
    assert np.all(inside.sum(axis=1) == 1)


def test_bad_labels():
    with pytest.raises(ValueError, match="groups must hold one label per sample"):
        exchange(4, groups=[1, 2])
    with pytest.raises(ValueError, match="blocks must be a length"):
        exchange(4, blocks=0)
    with pytest.raises(ValueError, match="within one group"):
        Units([0, 0, 1], groups=[0, 1, 1])


def test_more_rearrangements_than_fit_in_memory_are_refused():
    X = np.random.default_rng(0).standard_normal((30, 1))
    with pytest.raises(MemoryPlanError, match="rearrangements of 30 units"):
        m.independence_test(X, X**2, n_permutations=10**30)
