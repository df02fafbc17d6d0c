"""Matches of points in the order of time, against enumeration."""

from itertools import combinations, pairwise
from math import comb, log

import numpy as np
import pytest

from mercer import AllSubsequences, PairHMM, SoftSubsequence, Subsequence
from mercer.exceptions import DomainError, UnresolvedError


def local(x, y, s):
    return np.exp(-np.sum((x[:, None] - y[None]) ** 2, axis=-1) / (2 * s**2))


def matches(x, y, s, m):
    """All pairs of m times of x and of y, each with its product of local kernels."""
    e = local(x, y, s)
    for I in combinations(range(len(x)), m):
        for J in combinations(range(len(y)), m):
            yield I, J, np.prod([e[i, j] for i, j in zip(I, J, strict=True)])


def gaps(I, T, opening, extension):
    """The factor for the stretches of a series of T points that are not in I."""
    ends, factor = [-1, *I, T], 1.0
    for a, b in pairwise(ends):
        if b - a > 1:
            factor *= opening * extension ** (b - a - 2)
    return factor


@pytest.fixture
def few(rng):
    return [rng.normal(size=(n, 2)) for n in (1, 2, 3, 5, 7)]


# ---- subsequences ----------------------------------------------------------------------------
@pytest.mark.parametrize(("length", "decay"), [(1, 0.5), (2, 0.7), (3, 1.0), (5, 0.9)])
def test_subsequences_are_enumerated(few, length, decay):
    def value(x, y):
        return sum(
            decay ** (I[-1] - I[0] + J[-1] - J[0] + 2) * product
            for I, J, product in matches(x, y, 1.3, length)
        )

    expected = [[value(x, y) for y in few] for x in few]
    kernel = SoftSubsequence(1.3, length, decay)
    np.testing.assert_allclose(kernel(few), expected, rtol=1e-13)
    np.testing.assert_allclose(kernel(few[:2], few[1:]), np.array(expected)[:2, 1:], rtol=1e-13)


def test_narrow_matches_are_those_of_strings(rng):
    """Points are equal or far apart: the kernel on strings."""
    words = ["".join(rng.choice(list("abc"), n)) for n in (3, 18, 40, 70)]
    X = [1000.0 * np.array([ord(letter) for letter in word]) for word in words]
    for length, decay in ((2, 0.5), (4, 0.8)):
        expected = Subsequence(length, decay)(words)
        np.testing.assert_allclose(SoftSubsequence(1.0, length, decay)(X), expected, rtol=1e-12)


def test_constant_series_have_all_subsequences():
    x = np.zeros(60)
    got = SoftSubsequence(1.0, length=7, decay=1.0)([x], [x[:40]])[0, 0]
    assert got == pytest.approx(comb(60, 7) * comb(40, 7), rel=1e-13)
    with pytest.raises(DomainError, match="lower decay"):
        SoftSubsequence(1.0, length=200, decay=1.0)([np.zeros(1500)])


def test_subsequence_properties():
    p = SoftSubsequence(length=2).properties
    assert p.psd
    assert p.strictly_pd.no
    assert p.positive_diag.no
    assert SoftSubsequence(length=1).properties.positive_diag
    assert SoftSubsequence(1.0, length=3)([[1.0, 2.0]])[0, 0] == 0
    with pytest.raises(ValueError, match=r"decay must be a number in \(0, 1\]"):
        SoftSubsequence(decay=0.0)


# ---- pairs -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("opening", "extension"), [(0.5, 0.5), (0.1, 0.9), (1.0, 1.0)])
def test_pairs_are_enumerated(few, opening, extension):
    def value(x, y):
        return sum(
            gaps(I, len(x), opening, extension) * gaps(J, len(y), opening, extension) * product
            for m in range(min(len(x), len(y)) + 1)
            for I, J, product in matches(x, y, 1.3, m)
        )

    K = np.array([[value(x, y) for y in few] for x in few])
    d = np.sqrt(np.diagonal(K))
    kernel = PairHMM(1.3, opening, extension)
    np.testing.assert_allclose(kernel(few), K / d[:, None] / d, rtol=1e-13)
    P = kernel.points(few)
    i, j = np.divmod(np.arange(25), 5)
    np.testing.assert_allclose(kernel.logs(P, P, i, j), np.log(K).ravel(), rtol=1e-12, atol=1e-12)


def test_free_gaps_and_narrow_matches_are_all_subsequences(rng):
    words = ["".join(rng.choice(list("abcd"), n)) for n in (3, 18, 40, 70)]
    X = [1000.0 * np.array([ord(letter) for letter in word]) for word in words]
    expected = AllSubsequences().normalize()(words)
    np.testing.assert_allclose(PairHMM(1.0, 1.0, 1.0)(X), expected, rtol=1e-11)


def joint_probability(x, y, s, stop, opened, continued):
    """A hidden Markov model of pairs, written out; inserted points have density 1.

    Before every match, and at the end, there is a stretch of points of x alone and then one of y
    alone: none with probability 1 - opened, else n with (1 - continued) continued^(n-1).
    """

    def stretch(n):
        return opened * (1 - continued) * continued ** (n - 1) if n else 1 - opened

    def stretches(I, T):
        ends = [-1, *I, T]
        return np.prod([stretch(b - a - 1) for a, b in pairwise(ends)])

    return sum(
        stop * (1 - stop) ** m * stretches(I, len(x)) * stretches(J, len(y)) * product
        for m in range(min(len(x), len(y)) + 1)
        for I, J, product in matches(x, y, s, m)
    )


def test_it_is_the_probability_of_a_pair_up_to_factors_of_one_series(few):
    """With c = (1 - stop)(1 - opened)^2 for a match, of which each gap point costs its root."""
    stop, opened, continued = 0.05, 0.2, 0.3
    P = [[joint_probability(x, y, 0.8, stop, opened, continued) for y in few] for x in few]
    d = np.sqrt(np.diagonal(P))
    root = np.sqrt((1 - stop) * (1 - opened) ** 2)
    opening = opened * (1 - continued) / (1 - opened) / root
    K = PairHMM(0.8, opening, continued / root)(few)
    np.testing.assert_allclose(K, P / d[:, None] / d, rtol=1e-12)


def test_pairs_of_any_length_and_distance(rng):
    long = rng.normal(size=5000).cumsum() / 10
    X = [long, long[:2000], long[:5], rng.normal(size=2000), 1e8 + np.zeros(40), np.full(3, 1e200)]
    kernel = PairHMM().resolve(X[:4])
    for some in (kernel, kernel.replace(opening=0.01, extension=0.01)):
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            K = some(X)
        assert np.isfinite(K).all()
        assert np.all((K >= 0) & (K <= 1))
        np.testing.assert_array_equal(np.diagonal(K), 1)
    even = PairHMM(1.0, 0.5, 0.5)
    P = even.points([np.zeros(2000), 1e6 + np.zeros(1000)])
    nothing = even.logs(P, P, np.array([0]), np.array([1]))[0]
    assert nothing == pytest.approx(3000 * log(0.5), rel=1e-12)  # all points are gaps


def test_pairs_are_strictly_positive_definite(rng):
    X = [rng.normal(size=n).cumsum() for n in rng.integers(1, 30, 60)]
    kernel = PairHMM(0.3, extension=0.3)
    assert np.linalg.eigvalsh(kernel(X))[0] > 1e-6
    p = kernel.properties
    assert p.strictly_pd
    assert p.bounded
    assert "Watkins" in kernel.explain()


def test_median_rule(rng):
    X = [rng.normal(size=(n, 2)) for n in (3, 4, 8)]
    Z = np.concatenate(X)
    far = np.sqrt(np.sum((Z[:, None] - Z) ** 2, axis=-1)[np.triu_indices(len(Z), 1)])
    for kernel in (PairHMM(), SoftSubsequence()):
        assert kernel.resolve(X).lengthscale == pytest.approx(np.median(far))
        assert kernel.resolve([np.ones(3)]).lengthscale > 0
        with pytest.raises(UnresolvedError, match="resolve"):
            kernel(X, X[:1])
