"""Two-sample tests of samples in chunks."""

import numpy as np
import pytest

from mercer import Gaussian, Plan, Spectrum, stream, two_sample_test
from mercer.stats.chunked import spread


def pair(n=900, m=1300, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), scale * rng.normal(size=(m, 2))


def test_the_statistic_is_that_of_the_kernel_through_landmarks():
    X, Y = pair(scale=1.2)
    found = two_sample_test(
        stream(X, rows=200), stream(Y, rows=333), Gaussian(1.0), statistic="v", landmarks=50, rng=0
    )
    k = found.kernel
    known = k(X).mean() + k(Y).mean() - 2 * k(X, Y).mean()
    np.testing.assert_allclose(found.statistic, known, rtol=1e-3)
    unbiased = two_sample_test(stream(X), stream(Y), Gaussian(1.0), landmarks=50, rng=0)
    n, m = len(X), len(Y)
    own = [(k(A).sum() - np.trace(k(A))) / (len(A) * (len(A) - 1)) for A in (X, Y)]
    np.testing.assert_allclose(
        unbiased.statistic, sum(own) - 2 * k(X, Y).mean(), atol=0.02 * (1 / n + 1 / m)
    )


def test_chunks_of_any_size_give_the_same_result():
    X, Y = pair(scale=1.1)
    results = [
        two_sample_test(stream(X, rows=a), stream(Y, rows=b), rng=3, landmarks=60)
        for a, b in ((900, 1300), (77, 500))
    ]
    assert results[0].pvalue == results[1].pvalue
    np.testing.assert_allclose(results[0].statistic, results[1].statistic, rtol=1e-4)
    beside = two_sample_test(stream(X, rows=50), Y, rng=3, landmarks=60)
    assert beside.pvalue == results[0].pvalue


def test_differences_are_seen_and_the_level_is_held():
    X, Y = pair(scale=1.4)
    assert two_sample_test(stream(X), stream(Y), rng=0, plan=Plan(rank=80)).pvalue <= 0.01
    options = {"n_permutations": 19, "landmarks": 15, "bins": 60}
    rejected = 0
    for seed in range(200):
        X, Y = pair(100, 160, seed=seed)
        p = two_sample_test(stream(X), stream(Y), Gaussian(1.0), rng=seed, **options).pvalue
        rejected += p <= 0.05
    assert rejected <= 200 * 0.05 + 3.5 * np.sqrt(200 * 0.05 * 0.95)
    assert rejected > 0


def test_strings_in_chunks():
    X, Y = ["abab", "abba", "aabb"] * 40, ["aaab", "bbba"] * 60
    found = two_sample_test(stream(X, rows=50), stream(Y), Spectrum(2), landmarks=5, rng=0)
    assert found.pvalue <= 0.01


@pytest.mark.parametrize(("n", "width"), [(100, 7), (1000, 10), (97, 96), (40, 40)])
def test_bins_are_of_equal_size(n, width):
    bins = spread(n, width, np.random.default_rng(n))
    which = bins(0, n)
    np.testing.assert_array_equal(np.bincount(which, minlength=len(bins)), bins.sizes)
    np.testing.assert_array_equal(which[10:30], bins(10, 30))


def test_what_cannot_be_done_with_chunks_is_refused():
    X, Y = map(stream, pair())
    for options in (
        {"null": "gamma", "kernel": Gaussian(1.0)},
        {"blocks": 5},
        {"groups": np.zeros(2200)},
        {"kernel": "optimize"},
        {"stop_after": 3},
    ):
        with pytest.raises(ValueError, match="by permutations of bins"):
            two_sample_test(X, Y, **options)
    with pytest.raises(ValueError, match="needs 40 observations, got 10"):
        two_sample_test(X, stream(np.zeros((10, 2))))


def test_the_same_on_a_cluster():
    da = pytest.importorskip("dask.array")
    X, Y = pair(scale=1.1)
    there = [stream(da.from_array(A, chunks=(250, 2))) for A in (X, Y)]
    found = two_sample_test(*there, rng=3, landmarks=60)
    known = two_sample_test(stream(X), stream(Y), rng=3, landmarks=60)
    assert found.pvalue == known.pvalue
    np.testing.assert_allclose(found.statistic, known.statistic, rtol=1e-4)
