"""Tests of very many samples: sums over bins through landmarks, in strips, in little memory."""

import numpy as np
import pytest

from mercer import (
    Gaussian,
    Nystrom,
    Plan,
    Spectrum,
    independence_test,
    kernel_grid,
    two_sample_test,
)
from mercer.stats import independence_kernels, landmarks, sums
from mercer.stats.arrangement import arrange
from mercer.stats.cyclic_features import shifted_feature_sums
from mercer.stats.permutations import binned, exchange
from mercer.stats.samples import Samples, relabelled


@pytest.mark.parametrize("biased", [False, True])
def test_sums_over_bins_are_those_of_features(rng, monkeypatch, biased):
    X, Y = rng.standard_normal((2, 1000, 3))
    samples = Samples(X, Y + 0.1)
    Z = samples.data[rng.choice(2000, 40, replace=False)]
    kernels = [Nystrom(k, Z) for k in kernel_grid(samples.data, 4, rng=0)]
    units = binned(samples.labels, 60, rng)
    observed = units.of_units(samples.labels, "bins")
    labels = np.concatenate([observed[None], units.shuffled(observed, 30, rng)])
    fast = relabelled(kernels, samples, units, labels, biased=biased).values
    monkeypatch.setattr(sums, "_SAMPLES", 10**9)  # features of each sample
    slow = relabelled(kernels, samples, units, labels, biased=biased).values
    fast, slow = (T - T.mean(axis=1, keepdims=True) for T in (fast, slow))
    assert np.abs(fast - slow).max(axis=1) == pytest.approx(0, abs=2e-3 * slow.std())
    assert (np.abs(fast - slow).max(axis=1) < 5e-3 * slow.std(axis=1)).all()


def test_any_data_have_landmarks(rng):
    letters = rng.choice(list("ab"), (400, 6), p=[0.4, 0.6])
    others = rng.choice(list("ab"), (400, 6))
    left, right = (["".join(row) for row in part] for part in (letters, others))
    k = Nystrom(Spectrum(2), left[:5] + right[:5])
    found = two_sample_test(left, right, k, bins=40, n_permutations=99, rng=0)
    assert found.pvalue == 0.01


def test_one_number_of_threads_or_another(rng):
    X, Y = rng.standard_normal((2, 1500, 2))
    one, two = (
        two_sample_test(X, Y, bins=50, landmarks=30, rng=0, plan=Plan(workers=w)) for w in (1, 2)
    )
    np.testing.assert_array_equal(one.null, two.null)
    assert "features from 30 landmarks" in one.method


def test_little_memory_means_bins(rng):
    X, Y = rng.standard_normal((2, 300, 2))
    found = two_sample_test(X, Y, Gaussian(1.0), rng=0, plan=Plan(memory="1 MB"))
    assert "bins" in found.method
    assert "bins" not in two_sample_test(X, Y, Gaussian(1.0), rng=0).method


@pytest.mark.parametrize(("n", "least"), [(203, 100), (60, 200)])
def test_strips_and_groups_change_nothing(rng, n, least):
    X, Y = rng.standard_normal((2, n, 2))
    kernels = tuple([Nystrom(Gaussian(s), Z[:9]) for s in (0.5, 2.0)] for Z in (X, Y))
    found = arrange(exchange(n), least, rng)
    whole = shifted_feature_sums(kernels, X, Y, found)
    strips = shifted_feature_sums(kernels, X, Y, found, memory=1.0)
    for one, other in zip(whole, strips, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_independence_of_many_observations_in_little_memory(rng, monkeypatch):
    monkeypatch.setattr(independence_kernels, "_LARGE", 1e5)  # as if 2000 were very many
    X = rng.standard_normal((2000, 2))
    Y = 0.3 * X + rng.standard_normal((2000, 2))
    found = independence_test(X, Y, rng=0, plan=Plan(memory="4 MB"))
    assert found.pvalue <= 0.01
    rank = int(found.method.split("features from ")[1].split()[0])
    assert 10 <= rank < 50
    assert "a cyclic group" in found.method


def test_progress_is_shown(rng, capsys):
    X, Y = rng.standard_normal((2, 100, 2))
    two_sample_test(X, Y, n_permutations=19, rng=0, verbose=True)
    independence_test(X, Y, n_permutations=19, rng=0, verbose=True)
    independence_test(X, Y, n_permutations=19, rng=0, landmarks=9, verbose=True)
    shown = capsys.readouterr().err
    assert "kernel values" in shown
    assert "observations" in shown
    two_sample_test(X, Y, n_permutations=19, rng=0)
    assert not capsys.readouterr().err


def test_sums_over_units_begin_where_the_units_do(rng, monkeypatch):
    """In chunks that begin within a unit, and at units other than the first."""
    X, Z = rng.standard_normal((60, 2)), rng.standard_normal((5, 2))
    units = binned(np.repeat([0, 1], 30), 12, rng)
    order = np.argsort(units.place, kind="stable")
    monkeypatch.setattr(landmarks, "_ROWS", 7)
    ((features, *_),) = landmarks.landmark_sums([Nystrom(Gaussian(1.0), Z)], X, units, order)
    k = Nystrom(Gaussian(1.0), Z)
    phi = k.features(k.prepare(X))
    wanted = np.stack([phi[units.place == unit].sum(axis=0) for unit in range(len(units))])
    assert np.allclose(features @ features.T, wanted @ wanted.T, atol=1e-4)
