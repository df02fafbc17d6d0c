"""The rules of peers against loops over kernels, pairs and permutations."""

from pathlib import Path

import numpy as np
import pytest

from mercer import two_sample_test
from mercer.stats.samples import Samples

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def _unbiased(K, first):
    """MMD^2 of the samples at the places where ``first`` is true, and of the others."""
    a, b = np.flatnonzero(first), np.flatnonzero(~first)
    within = [np.mean([K[i, j] for i in part for j in part if i != j]) for part in (a, b)]
    return sum(within) - 2 * np.mean([K[i, j] for i in a for j in b])


def _labels(samples, n_permutations, seed):
    """Labels in the order of random numbers of the test: shuffle for the grid, then permute."""
    rng = np.random.default_rng(seed)
    rng.permutation(len(samples))
    drawn = rng.permuted(np.tile(samples.labels, (n_permutations, 1)), axis=1)
    return np.concatenate([samples.labels[None], drawn]) == 0


@pytest.mark.parametrize("sizes", [(7, 5), (5, 7), (6, 6)])
def test_rules_against_loops(rng, sizes):
    from benchmarks.power_rules import labellings, pvalues_of_rules

    X, Y = rng.normal(size=(sizes[0], 2)), rng.normal(0.8, 1, (sizes[1], 2))
    samples, B = Samples(X, Y), 29
    kernels, statistics = labellings(samples, B, [3, 1])
    grams = [k(samples.data) for k in kernels]
    labels = _labels(samples, B, [3, 1])
    T = np.array([[_unbiased(K, row) for row in labels] for K in grams])
    assert statistics == pytest.approx(T, abs=1e-6)

    n, total = min(sizes), sum(sizes)
    scale = np.sqrt(n * (n - 1))
    fused = []
    for b in range(B + 1):
        terms = []
        for K, t in zip(grams, T[:, b], strict=True):
            pairs = sum(K[i, j] ** 2 for i in range(total) for j in range(total) if i != j)
            terms.append(np.exp(scale * t / np.sqrt(pairs / (n * (n - 1)))))
        fused.append(np.log(np.mean(terms)) / scale)
    smallest = [min(np.mean(row >= row[b]) for row in T) for b in range(B + 1)]
    found = pvalues_of_rules(X, Y, B, [3, 1])
    assert found["MMD-FUSE"] == pytest.approx(np.mean(np.array(fused) >= fused[0]))
    assert found["MMDAgg"] == pytest.approx(np.mean(np.array(smallest) <= smallest[0]))


@pytest.mark.parametrize("n", [40, 520])  # of more than 1000, some set the bandwidths
def test_kernels_and_permutations_are_those_of_the_default_test(rng, n):
    from benchmarks.power_rules import labellings

    X, Y = rng.normal(size=(n, 2)), rng.normal(0.1, 1, (n, 2))
    ours = two_sample_test(X, Y, n_permutations=39, rng=[0, 5])
    kernels, statistics = labellings(Samples(X, Y), 39, [0, 5])
    assert [repr(k) for k in kernels] == [repr(k) for k in ours.kernel]
    assert np.array_equal(statistics[:, 0], ours.details["mmd"])
    assert np.mean(statistics >= statistics[:, :1], axis=1) == pytest.approx(
        ours.details["pvalues"]
    )


def test_correction_of_mmdagg(rng):
    """The p-value is at most 5 % exactly if the test with corrected quantiles rejects."""
    from benchmarks.power_rules import aggregated_pvalue

    rejected = 0
    for shift in np.linspace(0, 3, 20):
        T = rng.normal(size=(4, 200)) + 0.5 * rng.normal(size=200)
        T[1, 0] += shift
        above = (T[:, None, :] >= T[:, :, None]).sum(axis=2)  # ranks from above
        shares = [np.mean((above <= r).any(axis=0)) for r in range(1, 201)]
        allowed = np.flatnonzero(np.array(shares) <= 0.05)  # ranks that keep the level
        rejects = bool(len(allowed)) and bool((above[:, 0] <= allowed[-1] + 1).any())
        assert (aggregated_pvalue(T) <= 0.05) == rejects
        rejected += rejects
    assert 0 < rejected < 20
