"""Sums and minima over alignments, against enumeration and recursions in logarithms."""

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest

from mercer import DynamicTimeWarping, GlobalAlignment
from mercer.exceptions import UnresolvedError
from mercer.kernels.series import alignment, alignment_loops


def paths(m, n):
    """All alignments of m and n points, as lists of pairs."""
    if m == n == 1:
        return [[(0, 0)]]
    before = [(m - 1, n), (m, n - 1), (m - 1, n - 1)]
    return [p + [(m - 1, n - 1)] for a, b in before if a and b for p in paths(a, b)]


def squared(x, y):
    return np.sum((x[:, None] - y[None]) ** 2, axis=-1)


def enumerated(x, y, s, band=None):
    """The global alignment kernel, one alignment after the other."""
    e = np.exp(-squared(x, y) / (2 * s**2))
    if band:
        i, j = np.indices(e.shape)
        e = e * np.maximum(1 - abs(i - j) / band, 0)
    local = e / (2 - e)
    return sum(np.prod([local[c] for c in p]) for p in paths(len(x), len(y)))


@pytest.mark.parametrize("band", [None, 1, 2, 3, 9])
def test_global_alignment_is_the_sum_over_alignments(rng, band):
    X = [rng.normal(size=(n, 2)) for n in (1, 2, 3, 5, 6)]
    kernel = GlobalAlignment(lengthscale=1.3, band=band)
    K = np.array([[enumerated(x, y, 1.3, band) for y in X] for x in X])
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(kernel.log_values(X), np.log(K), rtol=1e-13, atol=1e-13)
    d = np.sqrt(np.diagonal(K))
    np.testing.assert_allclose(kernel(X), K / d[:, None] / d, rtol=1e-13)
    np.testing.assert_allclose(kernel(X[:2], X[1:]), (K / d[:, None] / d)[:2, 1:], rtol=1e-13)


def test_reference_values():
    """Delannoy numbers, and the values in tslearn's documentation."""
    constant = [np.ones(n) for n in (1, 2, 3, 4, 5)]
    delannoy = np.exp(GlobalAlignment(1.0).log_values(constant))
    np.testing.assert_allclose(np.diagonal(delannoy), [1, 3, 13, 63, 321], rtol=1e-14)
    assert delannoy[4, 2] == pytest.approx(41, rel=1e-14)
    kernel = GlobalAlignment(2.0)
    x, y = [1, 2, 3], [1, 2, 2, 3]
    assert exp(kernel.log_values([x], [y])[0, 0]) == pytest.approx(15.358189998, rel=1e-9)
    assert kernel([x], [y])[0, 0] == pytest.approx(0.8393369079, rel=1e-9)
    assert kernel([[1, 2, 2, 3]], [[1, 2, 3, 4]])[0, 0] == pytest.approx(0.65629661, rel=1e-7)


def test_local_kernel_is_accurate_over_its_whole_range():
    """Series of one point: log K is log(e / (2 - e)), with e from the exponential function."""
    gap = np.concatenate([np.linspace(0, 60, 2000), [0, 1e-9, 37.63, 1e6]])
    got = GlobalAlignment(1.0).log_values(np.zeros((1, 1)), gap[:, None])[0]
    half = gap**2 / 2
    expected = -half - np.log1p(-np.expm1(-half))
    np.testing.assert_allclose(got, expected, rtol=1e-14, atol=1e-15)
    K = GlobalAlignment(1.0)(np.zeros((1, 1)), gap[:, None])[0]
    np.testing.assert_allclose(K, np.exp(expected), rtol=1e-12, atol=1e-300)


def log_recursion(x, y, s):
    """log K by a recursion that never leaves logarithms."""
    a = squared(x, y) / (2 * s**2)
    local = -a - np.log(2 - np.exp(-a))
    A = np.full((len(x) + 1, len(y) + 1), -np.inf)
    A[0, 0] = 0
    for i in range(len(x)):
        for j in range(len(y)):
            A[i + 1, j + 1] = np.logaddexp(np.logaddexp(A[i, j + 1], A[i + 1, j]), A[i, j])
            A[i + 1, j + 1] += local[i, j]
    return A[-1, -1]


@pytest.mark.parametrize("s", [0.3, 2.0, 30.0])
def test_long_series_against_logarithms(rng, s):
    x, y = (rng.normal(size=(n, 1)).cumsum(axis=0) / 5 for n in (230, 310))
    got = GlobalAlignment(s).log_values([x], [y])[0, 0]
    assert got == pytest.approx(log_recursion(x, y, s), rel=1e-12)


def test_any_length_and_any_distance_without_nan(rng):
    long = rng.normal(size=10_000).cumsum() / 10
    X = [long, long[:2000], long[:5], rng.normal(size=2000), 1e8 * np.ones(40), long[:5] + 1e8]
    kernel = GlobalAlignment().resolve(X[:4])
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        K = kernel(X)
        logs = kernel.log_values(X[1:4])
    assert np.all(np.isfinite(K))
    assert np.all((K >= 0) & (K <= 1))
    np.testing.assert_array_equal(np.diagonal(K), 1)
    np.testing.assert_array_equal(K[:4, 4:], 0)
    assert logs[0, 0] > 710  # K itself would be infinite
    beyond = kernel([1e200 * np.ones(3), -1e200 * np.ones(30), long[:7]])
    np.testing.assert_array_equal(beyond, np.eye(3))
    constant = GlobalAlignment(1.0).log_values([np.zeros(2000)])[0, 0]
    assert constant == pytest.approx(_log_delannoy(1999), rel=1e-12)


def test_narrow_kernels(rng):
    """Local kernels down to the smallest numbers, in all places."""
    kernel = GlobalAlignment(1.0)
    X = [rng.choice([0.0, 20.0, 37.0, 37.6], size=(n, 1)) for n in rng.integers(1, 7, 40)]
    logs = np.array([[log_recursion(x, y, 1.0) for y in X] for x in X])
    np.testing.assert_allclose(kernel.log_values(X), logs, rtol=1e-12, atol=1e-12)
    d = np.diagonal(logs) / 2
    K = kernel(X)
    np.testing.assert_allclose(K, np.exp(logs - d[:, None] - d), rtol=1e-10, atol=1e-305)
    assert np.count_nonzero((K > 0) & (K < 1e-250)) > 10


def _log_delannoy(n):
    """Central Delannoy numbers: n D(n) = 3 (2n - 1) D(n-1) - (n-1) D(n-2)."""
    ratio, total = 3.0, log(3.0)
    for k in range(2, n + 1):
        ratio = (3 * (2 * k - 1) - (k - 1) / ratio) / k
        total += log(ratio)
    return total


def test_median_rule(rng):
    X = [rng.normal(size=(n, 2)) for n in (3, 4, 8)]
    Z = np.concatenate(X)
    distance = np.median(np.sqrt(squared(Z, Z)[np.triu_indices(len(Z), 1)]))
    assert GlobalAlignment().resolve(X).lengthscale == pytest.approx(distance * sqrt(4))
    with pytest.raises(UnresolvedError, match="resolve"):
        GlobalAlignment()(X, X[:1])
    assert GlobalAlignment()([np.ones(3)])[0, 0] == 1  # no two distinct points


@pytest.mark.parametrize("band", [None, 5])
def test_global_alignment_is_strictly_positive_definite(rng, band):
    X = [rng.normal(size=n).cumsum() for n in rng.integers(1, 30, 60)]
    K = GlobalAlignment(1.0, band)(X)
    assert np.linalg.eigvalsh(K)[0] > 1e-6
    p = GlobalAlignment(1.0, band).properties
    assert p.strictly_pd
    assert p.characteristic
    assert p.universal
    assert p.bounded


def test_warping_is_the_smallest_alignment(rng):
    X = [rng.normal(size=(n, 2)) for n in (1, 2, 4, 5)] + [rng.normal(size=(37, 2))]
    for band in (None, 1, 3):
        got = DynamicTimeWarping(gamma=0.7, band=band).distances(X)
        for (i, x), (j, y) in product(enumerate(X[:4]), repeat=2):
            inside = [
                p for p in paths(len(x), len(y)) if not band or all(abs(a - b) < band for a, b in p)
            ]
            costs = [sum(squared(x, y)[c] for c in p) for p in inside]
            assert got[i, j] == pytest.approx(min(costs, default=np.inf), rel=1e-14)
        K = DynamicTimeWarping(gamma=0.7, band=band)(X)
        np.testing.assert_allclose(K, np.exp(-0.7 * got), rtol=1e-14)


def test_warping_is_not_said_to_be_a_kernel(rng):
    walks = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in rng.integers(4, 40, 24)]
    kernel = DynamicTimeWarping()
    assert kernel.properties.psd.no
    assert "is not a kernel" in kernel.explain()
    far = kernel.distances(walks)
    assert kernel.resolve(walks).gamma == pytest.approx(1 / np.median(far[far > 0]))
    assert not (kernel + GlobalAlignment(1.0)).properties.psd


def test_the_median_rule_is_over_distances_that_are_not_zero():
    """Copies say nothing of the scale: most pairs here are at distance 0."""
    X = [[0.0]] * 6 + [[0.0, 0.0]] * 2 + [[2.0], [5.0]]
    dtw = [[_warped(x, y) for y in X] for x in X]
    positive = [d for row in dtw for d in row if d > 0]
    assert np.median(dtw) == 0
    assert DynamicTimeWarping().resolve(X).gamma == pytest.approx(1 / np.median(positive))
    assert DynamicTimeWarping().resolve([[3.0]] * 4).gamma == 1.0
    # lengths too far apart for the band are at an infinite distance, which does not count either
    far = DynamicTimeWarping(band=2).resolve([[0.0], [2.0], [0.0] * 9, [1.0] * 9])
    assert far.gamma == pytest.approx(1 / np.median([4.0, 9.0]))


def _warped(x, y):
    """Dynamic time warping by its recursion."""
    D = np.full((len(x) + 1, len(y) + 1), np.inf)
    D[0, 0] = 0
    for i, j in np.ndindex(len(x), len(y)):
        best = min(D[i, j], D[i, j + 1], D[i + 1, j])
        D[i + 1, j + 1] = (x[i] - y[j]) ** 2 + best
    return D[-1, -1]


@pytest.mark.parametrize(
    "kernel",
    [GlobalAlignment(2.0), GlobalAlignment(2.0, band=9), DynamicTimeWarping(0.1)],
    ids=repr,
)
def test_one_long_pair_is_cut_too(kernel, rng, monkeypatch):
    """So that Ctrl-C is heard; the table is filled by the same operations."""
    X = [rng.standard_normal((T, 2)) for T in (40, 3, 45, 1)]
    P = kernel.prepare(X)
    whole = kernel.pairwise(P, P)
    W = rng.standard_normal((4, 4))
    slopes = kernel.grad_theta(P, P, W)
    calls, compiled = [], alignment_loops.alignments

    def watched(*args):
        calls.append(compiled(*args))
        return calls[-1]

    monkeypatch.setattr(alignment_loops, "alignments", watched)
    monkeypatch.setattr(alignment, "_MOST", 100)
    np.testing.assert_array_equal(kernel.pairwise(P, P), whole)
    assert len(calls) > 10
    np.testing.assert_allclose(kernel.grad_theta(P, P, W), slopes, rtol=1e-12)
