"""The kernels of Leslie and Kuang against the enumeration of their features."""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from mercer import (
    SVC,
    GappyKmer,
    GaussianProcessRegressor,
    Mismatch,
    RestrictedGappy,
    Spectrum,
    Subsequence,
    Substitution,
    Wildcard,
    kmer_weights,
    position_weights,
    tune,
)
from mercer.kernels.strings.substitution import AMINO_ACIDS, BLOSUM62, blosum62_joint

DNA = [
    "GATTACA",
    "ATTAC",
    "TACATA",
    "GG",
    "",
    "GATTACAGATTACA",
    "CCCCCCCC",
    "TTTT",
    "A",
    "日本GATG日",
]


def windows(x, span):
    return [x[i : i + span] for i in range(len(x) - span + 1)]


def matrix(features, X):
    """Inner products of features that are given as counters."""
    listed = [features(x) for x in X]
    return np.array([[sum(n * b[u] for u, n in a.items()) for b in listed] for a in listed])


def strings(rng, letters, n=12, most=25):
    return ["".join(rng.choice(list(letters), rng.integers(0, most))) for _ in range(n)]


# ---- restricted gappy ----------------------------------------------------------------------------
@pytest.mark.parametrize(("g", "k"), [(1, 1), (3, 2), (4, 4), (5, 3), (6, 4), (9, 8)])
def test_subsequences_of_windows(g, k, rng):
    """Each is there or not, in however many ways; with a decay every way counts, less with gaps."""
    X = DNA + strings(rng, "ab") + strings(rng, "日本語a", 4)

    def there(x):
        found = [{tuple(w[i] for i in I) for I in combinations(range(g), k)} for w in windows(x, g)]
        return Counter(u for of_one in found for u in of_one)

    np.testing.assert_array_equal(RestrictedGappy(g, k)(X), matrix(there, X))
    for decay in (1.0, 0.3):

        def weighted(x, decay=decay):
            total = Counter()
            for w in windows(x, g):
                for I in combinations(range(g), k):
                    total[tuple(w[i] for i in I)] += decay ** (I[-1] - I[0] + 1) / decay**k
            return total

        K = RestrictedGappy(g, k, decay)(X)
        np.testing.assert_allclose(K, matrix(weighted, X), rtol=1e-12)


def test_without_gaps_it_is_the_spectrum_kernel(rng):
    X = strings(rng, "ACGT")
    np.testing.assert_array_equal(RestrictedGappy(3, 3)(X), Spectrum(3)(X))
    np.testing.assert_array_equal(Wildcard(3, 0, 0.2)(X), Spectrum(3)(X))


def test_one_window_is_the_subsequence_kernel(rng):
    """Strings of length g have one window: what is restricted is nothing."""
    X = ["".join(row) for row in rng.choice(list("ab"), (10, 6))]
    decay, k = 0.7, 3
    wanted = Subsequence(k, decay)(X) / decay ** (2 * k)
    np.testing.assert_allclose(RestrictedGappy(6, k, decay)(X), wanted, rtol=1e-12)


def test_many_windows_take_compiled_code(rng, monkeypatch):
    from mercer.kernels.strings import base

    X = strings(rng, "ab", 30)
    kernels = [RestrictedGappy(5, 3), RestrictedGappy(5, 3, 0.4)]
    plain = [k(X) for k in kernels]
    monkeypatch.setattr(base, "_MANY", 0)
    for kernel, wanted in zip(kernels, plain, strict=True):
        np.testing.assert_allclose(kernel(X), wanted, rtol=1e-13)


def test_slopes_along_the_decay(rng):
    X, Y = strings(rng, "ab", 7), strings(rng, "ab", 5)
    W, w = rng.standard_normal((7, 5)), rng.standard_normal(7)
    for kernel in (RestrictedGappy(5, 3, 0.6), Wildcard(4, 3, 0.6), Wildcard(4, 0, 0.6)):
        for k in (kernel, kernel.normalize()):
            h, at = 1e-5, k.theta
            up, down = k.with_theta(at + h), k.with_theta(at - h)
            P, Q = k.prepare(X), k.prepare(Y)
            wanted = np.sum(W * (up(X, Y) - down(X, Y))) / (2 * h)
            assert k.grad_theta(P, Q, W)[0] == pytest.approx(wanted, rel=1e-6, abs=1e-8)
            wanted = w @ (up.diag(up.prepare(X)) - down.diag(down.prepare(X))) / (2 * h)
            assert k.grad_theta_diag(P, w)[0] == pytest.approx(wanted, rel=1e-6, abs=1e-8)
    assert len(RestrictedGappy().theta) == 0


def test_tuning_finds_the_decay(rng):
    X = strings(rng, "ACGT", 40, 40)
    K = Wildcard(4, 2, 0.1)(X)
    y = np.linalg.cholesky(K + 1e-2 * np.eye(40)) @ rng.standard_normal(40)
    model = tune(GaussianProcessRegressor(Wildcard(4, 2, 0.9), alpha=1e-2), X, y)
    assert model.kernel_.decay < 0.4


def test_wrong_lengths():
    with pytest.raises(ValueError, match="k must be at most g"):
        RestrictedGappy(3, 4)(DNA)
    with pytest.raises(ValueError, match="m must be less than k"):
        Wildcard(3, 3)(DNA)
    with pytest.raises(ValueError, match="decay must be None or a number in"):
        RestrictedGappy(decay=0.0)


def test_what_windows_and_places_add(rng):
    """The weights of windows add up to the function, as for other kernels of substrings."""
    X = [x for x in strings(rng, "ACGT", 30) if len(x) > 6]
    y = np.arange(len(X)) % 2
    for kernel in (
        RestrictedGappy(4, 3),
        RestrictedGappy(4, 3, 0.5),
        Wildcard(4, 1),
        Substitution(k=3),
    ):
        model = SVC(kernel=kernel).fit(X, y)
        f = model.decision_function(X[:3]) - model.intercept_
        for x, value in zip(X[:3], f, strict=True):
            assert np.sum(position_weights(model, [x])[0]) == pytest.approx(value, abs=1e-9)
        assert len(kmer_weights(model, 3)) == 3


# ---- wildcards -----------------------------------------------------------------------------------
@pytest.mark.parametrize(("k", "m"), [(1, 0), (3, 1), (4, 3), (5, 2), (9, 2)])
def test_wildcards(k, m, rng):
    X = DNA + strings(rng, "ab", 6, 14)

    def starred(x):
        total = Counter()
        for w in windows(x, k):
            for j in range(m + 1):
                for at in combinations(range(k), j):
                    total[tuple("*" if i in at else (c,) for i, c in enumerate(w))] += 0.6**j
        return total

    np.testing.assert_allclose(Wildcard(k, m, 0.6)(X), matrix(starred, X), rtol=1e-12)
    terms = [0.6 ** (2 * j) * GappyKmer(k, k - j) for j in range(m + 1)]
    np.testing.assert_allclose(Wildcard(k, m, 0.6)(X), sum(terms)(X), rtol=1e-12)


# ---- substitution --------------------------------------------------------------------------------
def test_substrings_that_are_likely(rng):
    P = rng.dirichlet([0.4] * 4, 4)
    P[1] = [0.0, 0.5, 0.25, 0.25]  # a change that cannot be
    letters = "ACGT"
    X = DNA + strings(rng, letters)
    with np.errstate(divide="ignore"):
        cost = -np.log(P)
    for k, threshold in ((1, 1.0), (3, 2.5), (3, 4.0)):

        def likely(x, k=k, threshold=threshold):
            total = Counter()
            for w in windows(x, k):
                if set(w) <= set(letters):
                    for u in product(range(4), repeat=k):
                        spent = [cost[b, letters.index(a)] for a, b in zip(w, u, strict=True)]
                        total[u] += sum(spent) < threshold
            return total

        K = Substitution(P, letters, k, threshold)(X)
        np.testing.assert_array_equal(K, matrix(likely, X))


def test_equal_changes_are_mismatches(rng):
    """One wrong letter costs log(0.7 / 0.1) more: a threshold counts how many are wrong."""
    P = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    X = strings(rng, "ACGT")
    right, wrong = -np.log(0.7), -np.log(0.1)
    for m in range(3):
        threshold = (4 - m) * right + m * wrong + 0.1
        K = Substitution(P, "ACGT", 4, threshold)(X)
        np.testing.assert_array_equal(K, Mismatch(4, m, "ACGT")(X))


def test_the_model_behind_blosum62():
    """Frequencies near to those of amino acids, and log-odds that are the scores."""
    joint = blosum62_joint()
    p = joint.sum(axis=1)
    assert p.sum() == pytest.approx(1, abs=1e-13)
    np.testing.assert_allclose(joint, joint.T, rtol=1e-13)
    odds = np.log(joint / np.outer(p, p))
    unit = odds[0, 0] / BLOSUM62[0, 0]
    assert unit == pytest.approx(np.log(2) / 2, rel=0.1)  # half bits, as published
    np.testing.assert_allclose(odds, unit * BLOSUM62[:20, :20], atol=1e-12)
    found = dict(zip(AMINO_ACIDS, p, strict=True))
    assert min(found, key=found.get) == "W"
    assert max(found, key=found.get) == "L"
    assert np.all((p > 0.01) & (p < 0.1))


def test_letters_of_proteins():
    X = ["MKVLAA", "mkvlaa", "MKXLAA", "MKV", "日本語X"]
    K = Substitution(k=3, threshold=7.0)(X)
    np.testing.assert_array_equal(K[0], K[1])
    assert K[2, 2] == Substitution(k=3, threshold=7.0)(["LAA"])[0, 0]  # the only known window
    assert K[4, 4] == 0
    for wanted, options in (
        ("a square matrix whose rows", {"probabilities": [[0.5, 0.6], [0.5, 0.5]]}),
        ("a square matrix whose rows", {"probabilities": [[0.5, 0.5]]}),
        ("a square matrix whose rows", {"probabilities": "pam250"}),
    ):
        with pytest.raises(ValueError, match=wanted):
            Substitution(**options)
    with pytest.raises(ValueError, match="alphabet must name the 2 letters"):
        Substitution([[0.5, 0.5], [0.5, 0.5]], "abc")(X)
    with pytest.raises(ValueError, match="more than 2\\^56"):
        Substitution(k=14)(["A" * 20])


def test_what_is_too_unlikely_is_nothing():
    k = Substitution(k=3, threshold=0.5)
    assert not k(["WWWWWW"]).any()
    assert k.properties.bounded
    assert Substitution().properties.bounded.no
    assert Substitution().properties.finite_dim
