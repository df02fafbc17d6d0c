"""Cells of equal or similar observations."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from mercer import Spectrum
from mercer.stats.conditional_cells import cells, is_discrete, values_of, within
from mercer.stats.conditional_regression import Condition


def test_values_of_any_kind(rng):
    g = rng.integers(0, 3, 30)
    wanted = g[:, None] == g
    table = pd.DataFrame({"a": g.astype(str), "b": 2 * g})
    for Z in (g, g / 7, np.column_stack([g, -g]), g.astype(str).tolist(), table):
        labels = values_of(Z)
        assert np.array_equal(labels[:, None] == labels, wanted)
        assert is_discrete(labels)
    assert values_of([{}] * 30) is None
    gaps = np.where(g == 0, np.nan, g)
    assert values_of(gaps) is values_of(gaps.tolist()) is values_of(gaps.astype(object)) is None
    assert not is_discrete(values_of(rng.standard_normal(30)))


@pytest.mark.parametrize("d", [1, 3])
def test_cells_are_small_and_tight(rng, d):
    Z = rng.standard_normal((200, d))
    labels = cells(Condition(Z))
    sizes = np.bincount(labels)
    assert sizes.min() >= 8
    assert sizes.max() <= 15
    inside = np.mean([Z[labels == c].std(axis=0).mean() for c in range(len(sizes))])
    assert inside < 0.7 * Z.std(axis=0).mean()
    if d == 1:  # intervals
        ends = sorted((Z[labels == c].min(), Z[labels == c].max()) for c in range(len(sizes)))
        assert all(a[1] < b[0] for a, b in pairwise(ends))


def test_cells_of_strings(rng):
    words = ["ab" * 6] * 20 + ["cd" * 6] * 20
    labels = cells(Condition(words, [Spectrum(2)]))
    assert not set(labels[:20]) & set(labels[20:])


def test_within_commutes_with_permutations_of_cells(rng):
    """What makes the permutation test exact."""
    labels = np.repeat([0, 1, 2], [4, 6, 1])
    V = rng.standard_normal((11, 2)) + 5
    t = within(V, labels)
    order = np.concatenate([rng.permutation(4), 4 + rng.permutation(6), [10]])
    assert within(V[order], labels) == pytest.approx(t[order])
    for part in (slice(0, 4), slice(4, 10)):
        assert t[part].mean(axis=0) == pytest.approx([0, 0])
        assert t[part].std(axis=0) == pytest.approx([1, 1])
    assert np.all(t[10] == 0)
    assert np.all(within(np.repeat([0.1, 0.7, 3e8], [4, 6, 1]), labels) == 0)
