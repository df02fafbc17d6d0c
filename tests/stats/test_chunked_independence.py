"""Tests of independence of variables in chunks."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan, RandomFourier, Spectrum, hsic, independence_test, stream


def pair(n=1500, strength=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, strength * np.sin(3 * X[:, :1]) + rng.exponential(size=(n, 1))


@pytest.mark.parametrize("biased", [True, False])
def test_the_statistic_is_that_of_the_kernels_through_landmarks(biased):
    X, Y = pair(strength=0.1)
    Y += 1e4  # far from the origin of the second kernel
    kernels, statistic = [Gaussian(1.0), Linear()], "v" if biased else "u"
    options = {"kernels": kernels, "statistic": statistic, "landmarks": 60, "rng": 0}
    found = independence_test(stream(X, rows=400), stream(Y, rows=333), **options)
    known = hsic(X, Y, *found.kernel, biased=biased)
    np.testing.assert_allclose(found.statistic, known, rtol=1e-8)
    limit = independence_test(X, Y, kernels=found.kernel, statistic=statistic, null="pearson")
    np.testing.assert_allclose(found.pvalue, limit.pvalue, rtol=0.1, atol=1e-4)
    assert found.explain().endswith("one pass; all cores")


def test_chunks_of_any_size_give_the_same_result():
    X, Y = pair(strength=0.15)
    one, two, three = (
        independence_test(stream(X, rows=a), stream(Y, rows=b), rng=3, landmarks=40)
        for a, b in ((1500, 1500), (77, 500), (500, 77))
    )
    for other in (two, three):
        assert other.pvalue == one.pvalue
        np.testing.assert_allclose(other.details["hsic"], one.details["hsic"], rtol=1e-6)
    assert independence_test(stream(X), Y, rng=3, landmarks=40).pvalue == one.pvalue
    assert one.details["hsic"].shape == (9,)


def test_dependence_is_seen_in_a_sorted_file_and_the_level_is_held():
    X, Y = pair(strength=0.6)
    order = np.argsort(X[:, 0])
    for options in (
        {},
        {"kernels": Gaussian("median")},
        {"plan": Plan(features=RandomFourier(50))},
    ):
        found = independence_test(stream(X[order], rows=300), stream(Y[order]), rng=0, **options)
        assert found.pvalue < 0.01
    rejected = np.zeros(2)
    for seed in range(40):
        X, Y = (stream(v) for v in pair(1000, seed=seed))
        options = {"rng": seed, "landmarks": 20}
        rejected[0] += independence_test(X, Y, n_permutations=39, **options).pvalue <= 0.05
        rejected[1] += independence_test(X, Y, kernels=Gaussian(1.0), **options).pvalue <= 0.05
    assert np.all(rejected <= 40 * 0.05 + 3.5 * np.sqrt(40 * 0.05 * 0.95))


def test_strings_and_constants():
    words = ["abab", "abba", "aabb", "bbbb"] * 300
    numbers = np.arange(1200.0)[:, None] % 4
    kernels = [Spectrum(2), Gaussian(1.0)]
    assert independence_test(stream(words), stream(numbers), kernels=kernels, rng=0).pvalue < 1e-6
    found = independence_test(
        stream(np.ones((1200, 1))), stream(numbers), kernels=Gaussian(1.0), rng=0
    )
    assert found.pvalue == 1.0
    assert "constant" in str(found)


def test_what_cannot_be_done_with_chunks_is_refused():
    X, Y = (stream(v) for v in pair())
    for options in ({"null": "permutation"}, {"groups": [0]}, {"statistic": "kcca"}):
        with pytest.raises(ValueError, match='null="spectrum"'):
            independence_test(X, Y, **options)
    with pytest.raises(ValueError, match="in pairs, got 3"):
        independence_test(X, Y, X)
    with pytest.raises(ValueError, match="the same number of observations, got 1500, 3"):
        independence_test(X, np.zeros((3, 1)))
    with pytest.raises(ValueError, match="needs 1000 observations, got 900"):
        independence_test(*(stream(v) for v in pair(900)))
    with pytest.raises(ValueError, match="is inf"):
        independence_test(X, stream(np.full((1500, 1), np.inf)), kernels=Linear())


def test_the_same_on_a_cluster():
    da = pytest.importorskip("dask.array")
    X, Y = pair(strength=0.1)
    there = [stream(da.from_array(A, chunks=(250, A.shape[1]))) for A in (X, Y)]
    found = independence_test(*there, rng=3, landmarks=40)
    known = independence_test(stream(X), stream(Y), rng=3, landmarks=40)
    assert found.pvalue == known.pvalue
    np.testing.assert_allclose(found.details["hsic"], known.details["hsic"], rtol=1e-6)
    with pytest.raises(ValueError, match="partitions of the same sizes"):
        independence_test(there[0], stream(da.from_array(Y, chunks=(300, 1))))
