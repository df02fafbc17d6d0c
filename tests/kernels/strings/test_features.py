"""String kernels with explicit features, against their definitions written out."""

from itertools import combinations, product

import numpy as np
import pytest

from mercer import (
    BlendedSpectrum,
    Constant,
    GappyKmer,
    Gaussian,
    KernelRidge,
    Mismatch,
    Plan,
    Profile,
    Spectrum,
    WeightedDegree,
    two_sample_test,
)
from mercer.exceptions import DomainError, UnresolvedError
from mercer.features.sparse import sparse_block
from mercer.gram.rows import FeatureRowGram
from mercer.gram.stored import DenseGram, LowRankGram
from mercer.kernels.strings.codes import Part, tally
from mercer.kernels.strings.inexact import pattern_weights, shared_neighbours
from mercer.models.svm_rows import training_rows


def strings(rng, letters, n=8, longest=9):
    drawn = [rng.choice(list(letters), rng.integers(0, longest + 1)) for _ in range(n)]
    return ["".join(letters) for letters in drawn]


def windows(x, k):
    return [x[i : i + k] for i in range(len(x) - k + 1)]


def gram(function, X, *args):
    return np.array([[function(x, y, *args) for y in X] for x in X], dtype=float)


# ---- the definitions -----------------------------------------------------------------------------
def gapped(x, y, g, k):
    pairs = product(windows(x, g), windows(y, g), combinations(range(g), k))
    return sum(all(a[p] == b[p] for p in kept) for a, b, kept in pairs)


def mismatched(x, y, k, m, alphabet):
    def features(s):
        inside = [w for w in windows(s, k) if set(w) <= set(alphabet)]
        return np.array(
            [
                sum(sum(a != b for a, b in zip(u, w, strict=True)) <= m for w in inside)
                for u in product(alphabet, repeat=k)
            ]
        )

    return features(x) @ features(y)


def degree(x, y, k, shift):
    total = 0.0
    for j in range(1, k + 1):
        weight = 2 * (k - j + 1) / (k * (k + 1))
        for (i, a), (l, b) in product(enumerate(windows(x, j)), enumerate(windows(y, j))):
            total += weight * (a == b) * max(0.0, 1 - abs(i - l) / (shift + 1))
    return total


def profiled(x, y, k, threshold):
    def features(p):
        strings = list(product(range(p.shape[1]), repeat=k))
        costs = [[-sum(np.log(p[i + j, u[j]]) for j in range(k)) for i in range(len(p) - k + 1)]
                 for u in strings]  # fmt: skip
        return np.array([sum(c < threshold for c in row) for row in costs])

    return features(x) @ features(y)


# ---- exact values --------------------------------------------------------------------------------
def test_two_spectrum_of_gaga():
    K = Spectrum(2)(["GAGA", "AGAG"])
    np.testing.assert_array_equal(K, [[5, 4], [4, 5]])
    assert Spectrum(2).normalize()(["GAGA", "AGAG"])[0, 1] == pytest.approx(0.8, abs=1e-15)


def test_blended_spectrum_is_a_sum(rng):
    X = strings(rng, "abc", 12)
    weights = [0.5, 0.0, 2.0, 1.0]
    parts = sum(a * Spectrum(j + 1)(X) for j, a in enumerate(weights))
    np.testing.assert_allclose(BlendedSpectrum(4, weights)(X), parts, rtol=1e-13)
    plain = sum(Spectrum(j)(X) for j in (1, 2, 3))
    np.testing.assert_array_equal(BlendedSpectrum(3)(X), plain)
    long = ["abcdefghij" * 2, "bcdefghijk" * 2]  # 9-mers do not fit into a code
    wanted = sum(Spectrum(j)(long) for j in range(1, 10))
    np.testing.assert_array_equal(BlendedSpectrum(9)(long), wanted)


def test_mismatch_reference_values():
    K = Mismatch(3, 1, "ACGT")(["AAA", "AAC", "ACC", "CCC"])
    np.testing.assert_array_equal(K[0], [10, 4, 2, 0])


@pytest.mark.parametrize(
    ("letters", "k", "m", "wanted"),
    [
        (4, 5, 1, [16, 4, 2]),
        (4, 5, 2, [106, 52, 34, 18, 6]),
        (4, 6, 1, [19, 4, 2]),
        (20, 5, 1, [96, 20, 2]),
        (20, 5, 2, [3706, 1540, 514, 114, 6]),
        (20, 6, 2, [5530, 1920, 552, 114, 6]),
    ],
)
def test_sizes_of_shared_neighbourhoods(letters, k, m, wanted):
    assert shared_neighbours(letters, k, m) == wanted
    if m == 1:  # the closed form of the weights
        one = letters - 2 * (k - 1)
        zero = 1 + k * (letters - 1) - k * one - k * (k - 1)
        assert pattern_weights(letters, k, m) == [zero, one, 2]


def test_gapped_reference_values():
    np.testing.assert_array_equal(GappyKmer(3, 2)(["AAA", "AAC"]), [[3, 1], [1, 3]])


# ---- random strings against the definitions ------------------------------------------------------
@pytest.mark.parametrize("letters", ["ab", "abcdefg"])
@pytest.mark.parametrize(("g", "k"), [(3, 2), (4, 4), (5, 1), (6, 3), (12, 8)])
def test_gapped_kmers(rng, letters, g, k):
    X = strings(rng, letters, 6, g + 4)
    np.testing.assert_array_equal(GappyKmer(g, k)(X), gram(gapped, X, g, k))


@pytest.mark.parametrize("letters", ["a", "ab", "abcd", "abcdefg"])
@pytest.mark.parametrize(("k", "m"), [(2, 1), (3, 0), (3, 1), (3, 2), (4, 2)])
def test_mismatches(rng, letters, k, m):
    """Small alphabets have negative weights of patterns, large ones have not."""
    X = strings(rng, letters, 5)
    K = gram(mismatched, X, k, m, letters) if len(letters) ** k < 500 else None
    kernel = Mismatch(k, m, letters)
    if K is not None:
        np.testing.assert_array_equal(kernel(X), K)
    phi = kernel.features(kernel.prepare(X))
    np.testing.assert_allclose(sparse_block(phi, phi), kernel(X), rtol=1e-13, atol=1e-12)


def test_mismatch_leaves_out_what_is_not_in_the_alphabet(rng):
    X = [*strings(rng, "abx", 8), "xxxx", "abxab", ""]
    kernel = Mismatch(2, 1, "ab")
    np.testing.assert_array_equal(kernel(X), gram(mismatched, X, 2, 1, "ab"))
    phi = kernel.features(kernel.prepare(X))
    np.testing.assert_allclose(sparse_block(phi, phi), kernel(X), rtol=1e-13)


def test_mismatch_finds_its_alphabet():
    kernel = Mismatch(2, 1)
    assert kernel.unresolved == "alphabet=None"
    assert kernel.resolve(["banana", "cab"]).alphabet == "abcn"
    assert kernel.resolve([[3, 1], [2, 3]]).alphabet == [1, 2, 3]
    assert kernel.resolve(["", ""]).alphabet == " "
    np.testing.assert_array_equal(kernel(["ab", "ba"]), Mismatch(2, 1, "ab")(["ab", "ba"]))
    with pytest.raises(UnresolvedError, match="resolve"):
        kernel(["ab"], ["ba"])
    with pytest.raises(UnresolvedError, match="resolve"):
        kernel.prepare(["ab"])
    order = Mismatch(3, 1, "TGCA")(["ACGT", "TTTA"])  # the order of the alphabet does not matter
    np.testing.assert_array_equal(order, Mismatch(3, 1, "ACGT")(["ACGT", "TTTA"]))


def test_large_blocks_by_lists_and_by_counts(rng):
    """Many strings: patterns with few values are multiplied, those with many are looked up."""
    for letters, length in (("ACGT", 120), ("ACDEFGHIKLMNPQRSTVWY", 40)):
        X = ["".join(row) for row in rng.choice(list(letters), (140, length))]
        for kernel in (GappyKmer(6, 3), GappyKmer(5, 4), Mismatch(4, 1, letters)):
            K, phi = kernel(X), kernel.features(kernel.prepare(X))
            np.testing.assert_allclose(K, sparse_block(phi, phi), rtol=1e-12)
            np.testing.assert_allclose(kernel(X[:30], X), K[:30], rtol=1e-12)


def test_symbols_beyond_any_code(rng):
    """So many symbols that patterns have no numbers: the features are multiplied."""
    X = [rng.integers(0, 10**6, 20).tolist() for _ in range(3)]
    X += [X[0][:18] + X[1][:2], [5, *X[2][1:]]]
    kernel = GappyKmer(16, 14)
    wanted = gram(gapped, X, 16, 14)
    assert np.count_nonzero(wanted) > len(X)
    np.testing.assert_array_equal(kernel(X), wanted)
    np.testing.assert_array_equal(kernel(X[1:], X), wanted[1:])
    np.testing.assert_array_equal(kernel.diag(kernel.prepare(X)), np.diag(wanted))


@pytest.mark.parametrize(("k", "shift"), [(1, 0), (3, 0), (2, 1), (4, 3)])
def test_weighted_degree(rng, k, shift):
    X = strings(rng, "ab", 10, 12)
    wanted = gram(degree, X, k, shift)
    np.testing.assert_allclose(WeightedDegree(k, shift)(X), wanted, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("k", "threshold"), [(1, 1.0), (2, 2.0), (3, 3.5)])
def test_profiles(rng, k, threshold):
    X = [rng.dirichlet([0.5] * 3, rng.integers(0, 7)) for _ in range(8)]
    wanted = gram(profiled, X, k, threshold)
    np.testing.assert_array_equal(Profile(k, threshold)(X), wanted)


def test_a_sure_profile_is_a_string(rng):
    """With probability 1 - e of its letters, one or no mismatch is likely enough."""
    X = [x for x in strings(rng, "abcd", 8) if x]
    profiles = [np.where(np.equal.outer(list(x), list("abcd")), 0.97, 0.01) for x in X]
    for m in (0, 1):
        threshold = -np.log(0.01) * m - np.log(0.97) * (3 - m) + 1e-9
        np.testing.assert_array_equal(Profile(3, threshold)(profiles), Mismatch(3, m, "abcd")(X))


# ---- why they do not tell everything apart -------------------------------------------------------
@pytest.mark.parametrize("k", [1, 2, 4])
def test_the_examples_of_the_properties_hold(k):
    a, b = "a" * k, "b"
    twins = [a + b + a + b + a + "a", a + b + a + "a" + b + a]
    K = BlendedSpectrum(k)(twins)
    assert np.all(K[0, 0] == K)
    for shift in (0, 2):
        middle = "c" * (k + shift)
        four = [f"a{middle}a", f"b{middle}b", f"a{middle}b", f"b{middle}a"]
        v = np.array([1, 1, -1, -1])
        assert abs(v @ WeightedDegree(k, shift)(four) @ v) < 1e-12
    for kernel in (GappyKmer(k + 1, k), Mismatch(k + 1, 1, "ab")):
        assert not kernel(["a" * k, "b"]).any()
        assert kernel.properties.characteristic.no
        assert kernel.properties.strictly_pd.no
    assert Mismatch(2, 1, "ab").properties.finite_dim
    assert Mismatch(2, 1).properties.finite_dim.unknown


# ---- counting ------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 5, 300])
def test_counting_compiled_and_by_sorting(rng, n):
    """The same code in a sample and in the one 128 samples on must not be mistaken."""
    counts = rng.integers(0, 4, n)
    codes = rng.integers(0, 3, (counts.sum(), 2)) + rng.choice([0, 2**56], (counts.sum(), 1))
    part = Part(codes, counts, np.zeros(counts.sum(), int), [0], 0.5)
    other = Part(codes[:, 0] + 10, counts, part.starts, [0], 2.0)
    slow = tally([part, other], n)
    fast = tally([part, other], n, compiled=True)
    rows = np.repeat(np.arange(n), counts)
    for phi in (slow, fast):
        assert phi.shape == (n, 2**57)
        np.testing.assert_array_equal(np.diff(phi.indptr) > 0, counts > 0)
        for i in range(min(n, 20)):
            found = dict(zip(phi[[i]].indices, phi[[i]].data, strict=True))
            mine = codes[rows == i]
            for code in np.unique(mine):
                assert found[code] == 0.5 * np.sum(mine == code)
            for code in np.unique(mine[:, 0]):
                assert found[code + 10] == 2.0 * np.sum(mine[:, 0] == code)
            assert len(found) == len(np.unique(mine)) + len(np.unique(mine[:, 0]))


def test_many_sequences_are_counted_in_pieces(rng):
    X = ["".join(row) for row in rng.choice(list("ACGT"), (600, 200))]
    kernel = BlendedSpectrum(12)  # more than a million codes
    P = kernel.prepare(X)
    for i in (0, 249, 250, 599):
        alone = kernel.prepare([X[i]])
        assert sparse_block(alone, P[[i]])[0, 0] == kernel.diag(alone)[0] == kernel.diag(P)[i]


def test_features_serve_linear_models(rng):
    X = strings(rng, "ACGT", 40, 30)
    y = np.array([x.count("GA") - x.count("TT") for x in X], float)
    for kernel in (Spectrum(2), GappyKmer(4, 2), Mismatch(3, 1, "ACGT"), WeightedDegree(3, 1)):
        low = KernelRidge(0.1, kernel=kernel, plan=Plan(storage="lowrank")).fit(X, y)
        full = KernelRidge(0.1, kernel=kernel, plan=Plan(storage="dense")).fit(X, y)
        new = [*strings(rng, "ACGT", 5, 20), "", "NNNNN"]
        np.testing.assert_allclose(low.predict(new), full.predict(new), atol=1e-8)


# ---- bad parameters and data ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: GappyKmer(3, 4)(["abcd"]), "k must be at most g"),
        (lambda: Mismatch(3, 3, "ab")(["abcd"]), "m must be less than k"),
        (lambda: Mismatch(3, 1, "aa"), "distinct symbols"),
        (lambda: Mismatch(3, 1, ""), "distinct symbols"),
        (lambda: Mismatch(3, 1, [0.5]), "distinct symbols"),
        (lambda: Mismatch(30, 1, "ACGT").features(Mismatch(30, 1, "ACGT").prepare(["A" * 40])),
         "lower k"),
        (lambda: BlendedSpectrum(3, [1, 2])(["abcd"]), "one number for each length up to k=3"),
        (lambda: BlendedSpectrum(2, [1, -2]), "numbers >= 0"),
        (lambda: BlendedSpectrum(2, [0, 0]), "not all zero"),
        (lambda: WeightedDegree(0), "k must be an integer >= 1"),
        (lambda: WeightedDegree(2, -1), "shift must be an integer >= 0"),
        (lambda: Profile(9)([np.full((9, 100), 0.01)]), "lower k"),
    ],
)  # fmt: skip
def test_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "no samples"),
        ([np.ones((2, 3))], "probabilities"),
        ([np.array([[0.5, 0.6, -0.1]])], "probabilities"),
        (["abc"], "sample 0 is not a profile"),
        ([np.full((2, 2), 0.5), np.ones(3)], "sample 1 is not a profile"),
        ([np.full((2, 2), 0.5), np.full((1, 4), 0.25)], "2 to 4 columns"),
    ],
)
def test_bad_profiles(X, message):
    with pytest.raises(DomainError, match=message):
        Profile(2)(X)


# ---- which way to the kernel matrix --------------------------------------------------------------
def test_features_pay_where_they_are_small(rng, monkeypatch):
    """Models, plans and statistics ask the kernel, whatever stands around it."""
    few = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(20)]
    many = ["".join(rng.choice(list("ACGT"), 120)) for _ in range(80)]
    gapped = GappyKmer(8, 4)
    for k in (gapped, gapped.normalize(), 2 * gapped + Constant(1), gapped + Spectrum(3)):
        for X, pays in ((few, True), (many, False)):
            P = k.prepare(X)
            assert k.features_pay(P) is pays
            assert k.n_features(P) == k.features(P).shape[1]
            chosen = LowRankGram if pays else DenseGram
            assert isinstance(k.gram(X), chosen), (k, pays)
            assert isinstance(training_rows(k.gram(X), X, 1e-3), FeatureRowGram) is pays
    assert Spectrum(3).features_pay(Spectrum(3).prepare(many))
    both = gapped.on(1) * Gaussian().on(0)  # a map without end
    assert not both.features_pay(both.prepare([(0.1, x) for x in few]))

    sizes = []
    counts = GappyKmer.counts
    monkeypatch.setattr(
        GappyKmer, "counts", lambda self, P: sizes.append(len(P)) or counts(self, P)
    )
    two_sample_test(many[:40], many[40:], kernel=gapped.normalize(), n_permutations=20, rng=0)
    assert max(sizes, default=0) < 40
