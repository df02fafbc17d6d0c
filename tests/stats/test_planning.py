"""Power and sample sizes: beside simulated tests, limits, errors."""

import numpy as np
import pytest

from mercer import Gaussian, independence_test, power, sample_size, two_sample_test

K = Gaussian(1.0)


def samples(rng, n):
    return rng.normal(size=(n, 2)), rng.normal(0.4, 1, (n, 2))


def variables(rng, n):
    x = rng.normal(size=n)
    return x, x + 2 * rng.normal(size=n)


@pytest.mark.parametrize(
    ("draw", "kind", "test"),
    [
        (samples, "two-sample", lambda X, Y, i: two_sample_test(X, Y, K, n_permutations=59, rng=i)),
        (
            variables,
            "independence",
            lambda X, Y, i: independence_test(X, Y, kernels=K, n_permutations=59, rng=i),
        ),
    ],
)
def test_power_is_that_of_the_test(draw, kind, test):
    found = [test(*draw(np.random.default_rng(i), 60), i).pvalue <= 0.05 for i in range(100)]
    planned = power(*draw(np.random.default_rng(3), 1500), 60, K, test=kind)
    assert abs(planned.value - np.mean(found)) < 0.17
    assert planned.low <= planned.value <= planned.high


@pytest.mark.parametrize("kind", ["two-sample", "independence"])
def test_sizes_have_the_power_that_was_asked_for(kind):
    draw = samples if kind == "two-sample" else variables
    pilot = draw(np.random.default_rng(1), 200)
    found = sample_size(*pilot, K, power=0.9, test=kind)
    n = int(found.value)
    assert power(*pilot, n, K, test=kind).value >= 0.9 > power(*pilot, n - 1, K, test=kind).value
    assert found.low <= found.value <= found.high


def test_unequal_samples_need_more(rng):
    pilot = samples(rng, 200)
    even = sample_size(*pilot, K)
    twice = sample_size(*pilot, K, ratio=2.0)
    assert twice.value < even.value < 3 * twice.value / 2


def test_no_effect_no_size(rng):
    X = rng.normal(size=(60, 1))
    found = sample_size(X, X[::-1], K)
    assert found.value == np.inf
    assert found.high == np.inf
    assert power(X, X[::-1], 1000, K).value == pytest.approx(0.05)


def test_errors(rng):
    X = rng.normal(size=(30, 1))
    with pytest.raises(ValueError, match="n must"):
        power(X, X, 2)
    with pytest.raises(ValueError, match="test must"):
        power(X, X, 20, test="paired")
    with pytest.raises(ValueError, match="ratio"):
        power(X, X, 20, ratio=0)
    with pytest.raises(ValueError, match="alpha"):
        power(X, X, 20, alpha=2)
    with pytest.raises(ValueError, match="power must"):
        sample_size(X, X, power=0.01)
    with pytest.raises(ValueError, match="constant"):
        power(np.ones(30), np.ones(30), 20)


@pytest.mark.parametrize("seed", [30, 57])
def test_outliers_under_unbounded_kernels(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(8, 14)
    X, Y = rng.normal(size=(n, 2)), rng.normal(0.3, 1, (n, 2))
    X[0] = 1e8
    both = {"kernel": ["linear", "linear"], "test": "independence"}
    for found in (
        power(X, Y, 50, "linear"),
        sample_size(X, Y, "linear"),
        power(X, Y, 50, **both),
        sample_size(X, Y, **both),
    ):
        assert found.low <= found.value <= found.high
