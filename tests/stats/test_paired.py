"""The paired test: exchanges within pairs by brute force, and what it gains."""

from itertools import product

import numpy as np
import pytest

from mercer import Gaussian, Plan, Spectrum, mmd, paired_test, two_sample_test


def test_p_value_over_all_exchanges(rng):
    X = rng.normal(size=(7, 2))
    Y = X + rng.normal(0.3, 0.5, (7, 2))
    k = Gaussian(1.0)
    values = []
    for swap in product([False, True], repeat=7):
        s = np.array(swap)[:, None]
        values.append(mmd(np.where(s, Y, X), np.where(s, X, Y), k))
    exact = np.mean(np.array(values) >= values[0] - 1e-9)
    found = paired_test(X, Y, k, n_permutations=4000, rng=0)
    assert found.statistic == pytest.approx(values[0], rel=1e-4)
    assert abs(found.pvalue - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)
    assert "paired test" in found.method
    assert "exchanged" in found.hypothesis


def test_pairs_help_where_subjects_differ(rng):
    before = rng.normal(0, 3, (80, 1))
    after = before + rng.normal(0.3, 0.3, (80, 1))
    assert paired_test(before, after, rng=0, n_permutations=199).pvalue < 0.01
    assert two_sample_test(before, after, rng=0, n_permutations=199).pvalue > 0.2


def test_other_data_plans_and_errors(rng):
    words = ["".join(rng.choice(list("ab"), 6)) for _ in range(30)]
    marked = [word[:-2] + "bb" for word in words]
    found = paired_test(words, marked, Spectrum(2), rng=0, plan=Plan(workers=1))
    assert found.pvalue < 0.01
    assert paired_test(words, words, Spectrum(2), rng=0).pvalue == 1.0
    with pytest.raises(ValueError, match="both measurements of each subject, got 30 of X and 29"):
        paired_test(words, words[1:], Spectrum(2))
