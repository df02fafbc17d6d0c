"""Statistics and null distributions of the library pass; what is wrong with a bad one is named."""

from itertools import count
from zlib import crc32

import numpy as np
import pytest
from scipy.stats import norm

from mercer import Spectrum
from mercer.stats.dependence import from_centred
from mercer.stats.discrepancy import GroupSums
from mercer.stats.independence import NULLS as DEPENDENCE_NULLS
from mercer.stats.independence_measures import MEASURES
from mercer.stats.two_sample import NULLS
from mercer.testing import check_null, check_statistic


def mmd(K, labels):
    groups = (labels[:, None] == np.arange(2)).astype(float)
    return GroupSums(K @ groups, np.diagonal(K), labels).mmd(biased=False)


def hsic(K, L):
    H = np.eye(len(K)) - 1 / len(K)
    K, L = H @ K @ H, H @ L @ H
    own, traces = K.diagonal() @ L.diagonal(), np.trace(K) * np.trace(L)
    return from_centred(np.vdot(K, L), own, traces, len(K), biased=False)


# ---- good ones -----------------------------------------------------------------------------
def test_statistics_of_matrices():
    check_statistic(mmd, invariant=("shift", "scale"))
    check_statistic(hsic, of="variables", invariant=("shift", "scale"))


@pytest.mark.parametrize("name", ["u", "v"])
def test_two_sample_statistics_by_name(name):
    check_statistic(name)


@pytest.mark.parametrize("name", ["u", "v", *MEASURES])
def test_statistics_of_dependence_by_name(name):
    check_statistic(name, of="variables", n_trials=60)


def test_other_kinds_of_data():
    def words(rng):
        letters = rng.choice(list("ab"), (2, 12, 5))
        return tuple(["".join(word) for word in part] for part in letters)

    check_statistic(mmd, kernel=Spectrum(2), draw=words, n_trials=50)


@pytest.mark.parametrize("null", NULLS)
def test_null_distributions_of_two_samples(null):
    check_null(null, n_trials=60)


@pytest.mark.parametrize("null", DEPENDENCE_NULLS)
def test_null_distributions_of_dependence(null):
    check_null(null, of="variables", n_trials=60)


def test_a_null_for_series():
    def series(rng, n=120):
        noise = rng.standard_normal((2, n, 1))
        return tuple(0.5 * (part[1:] + part[:-1]) for part in noise)

    def slow(rng):
        return tuple(part.repeat(4, axis=0) for part in series(rng, 40))

    check_null("wild", draw=series, n_trials=60, blocks=2)
    with pytest.raises(AssertionError, match="the level is not held"):  # signs forget at once
        check_null("wild", draw=slow, n_trials=60)


# ---- bad ones ------------------------------------------------------------------------------
CALLS = count()


def by_place(K, labels):
    return mmd(K, labels) + K[0, 1]


def random(K, labels):
    return mmd(K, labels) + next(CALLS)


def careless(K, labels):
    K -= K.mean()
    return mmd(K, labels)


def blind(K, labels):
    return K.sum()


BAD = {
    "it depends on the order of observations": by_place,
    "two calls give two values": random,
    "were modified": careless,
    "same under all permutations": blind,
    "not one finite number": lambda K, labels: K[0],
    "is its sign right": lambda K, labels: -mmd(K, labels),
    "invariance to shift is claimed": lambda K, labels: np.abs(K[labels == 0]).prod() ** 0.01,
}


@pytest.mark.parametrize("problem", BAD)
def test_a_broken_statistic_is_caught(problem):
    with pytest.raises(AssertionError, match=problem):
        check_statistic(BAD[problem], invariant=("shift",), n_trials=20)


def test_ties_decided_by_noise_are_caught():
    def noisy(K, labels):
        """A trace of the order in which labels stand, where observations are equal."""
        return mmd(K, labels) + 1e-3 * crc32(labels.tobytes()) / 2**32

    with pytest.raises(AssertionError, match=r"order of observations|equal observations"):
        check_statistic(noisy, n_trials=20)


def nearest(K, labels):
    """Three neighbours as they come: which of two equal ones, the order decides."""
    similarity = K - np.diag(np.full(len(K), np.inf))
    chosen = np.argsort(-similarity, axis=1, kind="stable")[:, :3]
    return np.mean(labels[chosen] == labels[:, None])


def test_ties_decided_by_the_order_are_caught():
    for seed in range(3):
        with pytest.raises(AssertionError, match="equal observations are exchanged"):
            check_statistic(nearest, n_trials=20, rng=seed)


def too_small(problem, rng):
    return norm(0, 1e-5)


def useless(problem, rng):
    return norm(10, 1e-3)


def unseeded(problem, rng):
    """Draws that go on from call to call, as those of a generator of its own."""
    return problem.observed + np.where(np.arange(50) < next(CALLS) % 40, 1.0, -1.0)


@pytest.mark.parametrize(
    ("null", "problem"),
    [
        (too_small, "the level is not held"),
        (useless, "only 0 of 10 tests find it"),
        (unseeded, "same seed"),
    ],
)
@pytest.mark.parametrize("of", ["samples", "variables"])
def test_a_broken_null_is_caught(null, problem, of):
    with pytest.raises(AssertionError, match=problem):
        check_null(null, of=of, n_trials=60)


def test_refuses_nonsense():
    with pytest.raises(ValueError, match="of must be one of"):
        check_statistic(mmd, of="pairs")
    with pytest.raises(ValueError, match="invariant must be a tuple"):
        check_statistic(mmd, invariant="shift")
    with pytest.raises(ValueError, match="of must be one of"):
        check_null("gamma", of="pairs")
