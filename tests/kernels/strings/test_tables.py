"""Subsequence and alignment kernels, against sums over all subsequences and alignments."""

from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb, log

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    AllSubsequences,
    BlendedSubsequence,
    GaussianProcessRegressor,
    KernelRidge,
    LocalAlignment,
    Subsequence,
    tune,
)
from mercer.exceptions import DomainError
from mercer.kernels.pairs.wide import logarithms
from mercer.kernels.strings.substitution import BLOSUM62, PROTEIN
from mercer.testing import check_psd


def strings(rng, letters, n=9, longest=7):
    return ["".join(rng.choice(list(letters), rng.integers(0, longest + 1))) for _ in range(n)]


def gram(function, X, *args):
    return np.array([[function(x, y, *args) for y in X] for x in X], dtype=float)


# ---- the definitions -----------------------------------------------------------------------------
def places(x, y, p):
    """All pairs of sets of p places at which x and y show the same."""
    for I, J in product(combinations(range(len(x)), p), combinations(range(len(y)), p)):
        if all(x[i] == y[j] for i, j in zip(I, J, strict=True)):
            yield I, J


def subsequence(x, y, p, decay):
    spans = ((I[-1] - I[0] + 1, J[-1] - J[0] + 1) for I, J in places(x, y, p))
    return sum(decay ** (a + b) for a, b in spans)


def all_subsequences(x, y, decay):
    most = min(len(x), len(y))
    return sum(decay ** (2 * p) * sum(1 for _ in places(x, y, p)) for p in range(most + 1))


def alignment(x, y, score, beta, opening, extension):
    def gap(n):
        return opening + (n - 1) * extension if n else 0.0

    total = 1.0
    for p in range(1, min(len(x), len(y)) + 1):
        for I, J in product(combinations(range(len(x)), p), combinations(range(len(y)), p)):
            value = sum(score(x[i], y[j]) for i, j in zip(I, J, strict=True))
            value -= sum(gap(b - a - 1) for K in (I, J) for a, b in pairwise(K))
            total += np.exp(beta * value)
    return total


# ---- reference values ----------------------------------------------------------------------------
@pytest.mark.parametrize("decay", [0.5, 0.8, 1.0])
def test_cat_car_bat_bar(decay):
    """The table of Lodhi et al. (2002)."""
    X = ["cat", "car", "bat", "bar"]
    near, far = decay**4, decay**6
    K = Subsequence(2, decay)(X)
    np.testing.assert_allclose(K[0], [2 * near + far, near, near, 0], rtol=1e-14)
    cosine = Subsequence(2, decay).normalize()(X)
    assert cosine[0, 1] == pytest.approx(1 / (2 + decay**2), rel=1e-14)
    assert Subsequence(3, decay)(X)[0, 0] == pytest.approx(far, rel=1e-14)
    both = Subsequence(1, decay)(X) + K  # what others call length 2: the sum over lengths up to it
    assert both[0, 0] == pytest.approx(3 * decay**2 + 2 * near + far, rel=1e-14)


def test_science_and_wisdom():
    X = ["science is organized knowledge", "wisdom is organized life"]
    found = [Subsequence(n, 0.5).normalize()(X)[0, 1] for n in range(1, 7)]
    np.testing.assert_allclose(found, [0.849, 0.580, 0.478, 0.439, 0.406, 0.369], atol=5e-4)


def test_one_letter_alignments():
    k = LocalAlignment((1.0, -0.5), beta=0.7)
    wanted = [[1 + np.exp(0.7), 1 + np.exp(-0.35)], [1 + np.exp(-0.35), 1 + np.exp(0.7)]]
    np.testing.assert_allclose(k(["A", "C"]), wanted, rtol=1e-15)


# ---- random strings against the definitions ------------------------------------------------------
@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize("decay", [0.3, 1.0])
def test_subsequences(rng, p, decay):
    X = strings(rng, "abc")
    np.testing.assert_allclose(Subsequence(p, decay)(X), gram(subsequence, X, p, decay), rtol=1e-13)


@pytest.mark.parametrize("weights", [None, [1.0], [0.0, 2.0, 0.5], [0.3, 0.0, 1.0, 0.0]])
def test_blended_subsequences(rng, weights):
    """With zeros among the weights and at their end."""
    X, length = strings(rng, "abc"), 4 if weights is None else len(weights)
    parts = [Subsequence(p, 0.6)(X) for p in range(1, length + 1)]
    wanted = np.tensordot(np.ones(4) if weights is None else weights, parts, 1)
    k = BlendedSubsequence(length, 0.6, weights)
    np.testing.assert_allclose(k(X), wanted, rtol=1e-13)
    assert k.properties.strictly_pd.no  # the empty string has features zero
    alike = weights is not None and (weights[0] == 0 or length == 1)  # "" and "a", "ab" and "ba"
    assert k.properties.characteristic.no == alike


@pytest.mark.parametrize("decay", [0.6, 1.0])
def test_all_subsequences(rng, decay):
    X = strings(rng, "ab")
    wanted = gram(all_subsequences, X, decay)
    np.testing.assert_allclose(AllSubsequences(decay)(X), wanted, rtol=1e-14)


@pytest.mark.parametrize("costs", [(0.0, 0.0), (1.5, 0.4), (0.5, 2.0)])
def test_alignments(rng, costs):
    X, (opening, extension) = strings(rng, "abc", 8, 5), costs
    match = LocalAlignment((1.0, -0.5), beta=0.8, opening=opening, extension=extension)
    wanted = gram(alignment, X, lambda a, b: 1.0 if a == b else -0.5, 0.8, opening, extension)
    np.testing.assert_allclose(match(X), wanted, rtol=1e-12)
    S = rng.normal(size=(3, 3))
    table = match.replace(scores=S + S.T, alphabet="bac")

    def score(a, b):
        return (S + S.T)["bac".index(a), "bac".index(b)]

    wanted = gram(alignment, X, score, 0.8, opening, extension)
    np.testing.assert_allclose(table(X), wanted, rtol=1e-12)
    np.testing.assert_allclose(table.replace(log=True)(X), np.log(wanted) / 0.8, atol=1e-12)


def test_blosum62(rng):
    X = strings(rng, PROTEIN, 7, 4)

    def score(a, b):
        return BLOSUM62[PROTEIN.index(a), PROTEIN.index(b)]

    wanted = gram(alignment, X, score, 0.5, 11, 1)
    np.testing.assert_allclose(LocalAlignment("blosum62")(X), wanted, rtol=1e-12)
    assert (BLOSUM62 == BLOSUM62.T).all()
    best = BLOSUM62[np.diag_indices(20)]
    np.testing.assert_array_equal(
        best, [4, 5, 6, 6, 9, 5, 5, 6, 8, 4, 4, 5, 5, 6, 7, 4, 5, 11, 7, 4]
    )


def test_unknown_letters_score_lowest():
    k = LocalAlignment("blosum62", log=True)
    table = k(["WJW", "WJW", "W"])
    lowest = k.replace(scores=np.where(np.eye(2), [11.0, -4.0], -4.0), alphabet="Wx", log=True)
    np.testing.assert_allclose(table, lowest(["WxW", "WxW", "W"]), atol=1e-12)


# ---- long strings --------------------------------------------------------------------------------
def plain_subsequence(x, y, p, decay):
    """The recursion of the paper, one cell at a time."""
    n, m = len(x), len(y)
    H = np.ones((n + 1, m + 1))
    for _ in range(p):
        new, total = np.zeros((n + 1, m + 1)), 0.0
        for i, j in product(range(n), range(m)):
            h = decay**2 * H[i, j] if x[i] == y[j] else 0.0
            total += h
            new[i + 1, j + 1] = (
                h + decay * new[i, j + 1] + decay * new[i + 1, j] - decay**2 * new[i, j]
            )
        H = new
    return total


def test_lanes_and_strips(rng):
    """More pairs than lanes, lengths on both sides of the width of a strip, some empty."""
    lengths = [0, 1, 2, 31, 32, 33, 40, 64, 65, 97, 3, 0]
    X = ["".join(rng.choice(list("ACGT"), n)) for n in lengths]
    for p in (1, 2, 4):
        K = Subsequence(p, 0.7)(X)
        np.testing.assert_allclose(K, gram(plain_subsequence, X, p, 0.7), rtol=1e-11, atol=1e-14)


def test_log_alignments_do_not_overflow(rng):
    """Weights grow by e^5.5 per symbol; slow logarithms of sums give the same."""
    x = "".join(rng.choice(list("ACGT"), 400))
    y = x[:150] + "T" * 30 + x[200:]
    beta, match, mismatch, opening, extension = 1.1, 5.0, -4.0, 11.0, 1.0
    k = LocalAlignment((match, mismatch), beta=beta, log=True)
    got = beta * k([x, y])

    def slow(s, t):
        M, X, Y = (np.full((len(s) + 1, len(t) + 1), -np.inf) for _ in range(3))
        for i, j in product(range(1, len(s) + 1), range(1, len(t) + 1)):
            before = (0.0, M[i - 1, j - 1], X[i - 1, j - 1], Y[i - 1, j - 1])
            score = match if s[i - 1] == t[j - 1] else mismatch
            M[i, j] = beta * score + np.logaddexp.reduce(before)
            X[i, j] = np.logaddexp(M[i - 1, j] - beta * opening, X[i - 1, j] - beta * extension)
            left = np.logaddexp(M[i, j - 1], X[i, j - 1]) - beta * opening
            Y[i, j] = np.logaddexp(left, Y[i, j - 1] - beta * extension)
        return np.logaddexp.reduce(np.append(M.ravel(), 0.0))

    assert got[0, 0] > 2000  # e to this power is far beyond what a number can hold
    assert got[0, 1] == pytest.approx(slow(x, y), rel=1e-12)
    with pytest.raises(DomainError, match="work with logarithms, or lower beta"):
        k.replace(log=False)([x, y])


def log_alignment(x, y, beta, opening, extension):
    """log k for scores 5 and -4, in logarithms throughout, one anti-diagonal after the other."""
    n, m = len(x), len(y)
    S = np.where(np.array(list(x))[:, None] == np.array(list(y)), 5 * beta, -4 * beta)
    M, X, Y = np.full((3, n + 1, m + 1), -np.inf)
    Z = np.zeros((n + 1, m + 1))
    for d in range(2, n + m + 1):
        i = np.arange(max(1, d - m), min(n, d - 1) + 1)
        j = d - i
        M[i, j] = S[i - 1, j - 1] + Z[i - 1, j - 1]
        X[i, j] = np.logaddexp(M[i - 1, j] - beta * opening, X[i - 1, j] - beta * extension)
        left = np.logaddexp(M[i, j - 1], X[i, j - 1]) - beta * opening
        Y[i, j] = np.logaddexp(left, Y[i, j - 1] - beta * extension)
        Z[i, j] = np.logaddexp(np.logaddexp(0, M[i, j]), np.logaddexp(X[i, j], Y[i, j]))
    return np.logaddexp.reduce(np.append(M.ravel(), 0.0))


@pytest.mark.parametrize(
    ("beta", "opening", "extension"),
    [(0.5, 11.0, 1.0), (0.9, 60.0, 20.0), (0.5, 1e6, 1.0), (9.0, 2.0, 0.1)],
)
def test_what_begins_late_is_not_lost(rng, beta, opening, extension):
    """Two blocks in either order: the better one begins where the other already has e^900."""
    one, two = ("".join(rng.choice(list("ACGT"), n)) for n in (360, 420))
    x, y = one + two, two + one
    k = LocalAlignment(beta=beta, opening=opening, extension=extension, log=True)
    wanted = log_alignment(x, y, beta, opening, extension)
    assert wanted >= beta * 5 * 420
    for a, b in ((x, y), (y, x)):
        assert beta * k([a], [b])[0, 0] == pytest.approx(wanted, rel=1e-11)
    P, Q, W, h = k.prepare([x]), k.prepare([y]), np.ones((1, 1)), 1e-4
    moved = (log_alignment(x, y, beta * np.exp(t), opening, extension) for t in (h, -h))
    up, down = (value / (beta * np.exp(t)) for value, t in zip(moved, (h, -h), strict=True))
    assert k.grad_theta(P, Q, W)[0] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-3)
    cosine = k.replace(log=False).normalize()
    own = [log_alignment(z, z, beta, opening, extension) for z in (x, y)]
    assert cosine([x], [y])[0, 0] == pytest.approx(np.exp(wanted - sum(own) / 2), abs=1e-9)


def test_normalised_alignments_of_any_length(rng):
    X = ["".join(rng.choice(list("ACGT"), n)) for n in (0, 1, 300, 2000)]
    k = LocalAlignment().normalize()
    K = k(X)
    assert np.isfinite(K).all()
    np.testing.assert_array_equal(np.diag(K), 1)
    wanted = log_alignment(X[2], X[3], 0.5, 11.0, 1.0)
    own = [log_alignment(z, z, 0.5, 11.0, 1.0) for z in X[2:3]] + [2 * wanted]
    assert K[2, 3] < np.exp(wanted - own[0] / 2)  # k(z, z) > 1
    P = k.prepare(X)
    assert np.isfinite(k.grad_theta(P, P, np.ones((4, 4)))).all()


def cosine(value, left, right):
    return float(np.sqrt(float(Fraction(value**2, left * right))))


def blocks(first, second, p):
    """Common subsequences of a^m b^n and a^k b^l of length p: products of binomial coefficients."""
    (m, n), (k, l) = first, second
    return sum(comb(m, q) * comb(k, q) * comb(n, p - q) * comb(l, p - q) for q in range(p + 1))


def test_long_subsequences_beyond_all_numbers(monkeypatch):
    m, n, p = 500, 50, 210
    count = blocks((m, n), (m, n), p)
    assert count > 10**309
    k = Subsequence(p, 1.0)
    P = k.prepare(["a" * m + "b" * n])
    found = k.found(P, P, np.zeros(1, int), np.zeros(1, int))
    assert logarithms(*found[:2])[0] == pytest.approx(log(count), rel=1e-13)
    monkeypatch.setattr(Subsequence, "found", lambda *_: found)
    with pytest.raises(DomainError, match=r"larger than 1e308 .* 550 symbols; use \.normalize\(\)"):
        k(["a" * m + "b" * n])


def test_cosines_of_long_subsequences(monkeypatch):
    monkeypatch.setattr("mercer.kernels.strings.subsequence.LARGEST", 1e80)
    sizes, p = [(190, 20), (160, 50)], 70
    X = ["a" * m + "b" * n for m, n in sizes]
    pairs = [(sizes[0], sizes[1]), (sizes[0], sizes[0]), (sizes[1], sizes[1])]
    values = [blocks(*pair, p) for pair in pairs]
    assert min(values) > 10**80
    assert Subsequence(p, 1.0).normalize()(X)[0, 1] == pytest.approx(cosine(*values), rel=1e-12)
    several = [sum(blocks(*pair, q) for q in range(1, p + 1)) for pair in pairs]
    got = BlendedSubsequence(p, 1.0).normalize()(X)[0, 1]
    assert got == pytest.approx(cosine(*several), rel=1e-12)


def test_huge_weights_of_lengths():
    k, X = BlendedSubsequence(2, 0.5, [1e306, 1e307]), ["ab" * 30, "ba" * 20]
    with pytest.raises(DomainError, match="1e308"):
        k(X)
    small = BlendedSubsequence(2, 0.5, [1.0, 10.0])
    np.testing.assert_allclose(k.normalize()(X), small.normalize()(X), rtol=1e-12)


def test_tiny_subsequence_weights(rng):
    """0.001^120 is below all numbers, but the cosine is not."""
    x = "".join(rng.choice(list("ab"), 70))
    y = x[:35] + "b" + x[35:]
    K = Subsequence(60, 0.001).normalize()([x, y, "a" * 59])
    wanted = gram(plain_in_units, [x, y], 60, 0.001)
    np.testing.assert_allclose(np.diag(K), [1, 1, 0])
    assert K[0, 1] == pytest.approx(wanted[0, 1] / np.sqrt(wanted[0, 0] * wanted[1, 1]), rel=1e-10)
    assert Subsequence(60, 0.001)([x])[0, 0] == 0.0  # smaller than all numbers


def plain_in_units(x, y, p, decay):
    """k / decay^(2 p), where only gaps are discounted."""
    n, m = len(x), len(y)
    H = np.ones((n + 1, m + 1))
    for _ in range(p):
        new, total = np.zeros((n + 1, m + 1)), 0.0
        for i in range(n):
            run = 0.0
            for j in range(m):
                h = H[i, j] if x[i] == y[j] else 0.0
                total, run = total + h, decay * run + h
                new[i + 1, j + 1] = decay * new[i, j + 1] + run
        H = new
    return total


@pytest.mark.parametrize(
    "kernel",
    [
        Subsequence(1, 0.4),
        Subsequence(3, 0.9),
        BlendedSubsequence(3, 0.6, [0.0, 2.0, 1.0]),
        AllSubsequences(0.3),
        LocalAlignment(beta=0.3),
        LocalAlignment("blosum62", beta=0.2),
    ],
    ids=repr,
)
def test_wide_numbers_are_the_same_numbers(kernel, rng, monkeypatch):
    """What is computed in wide numbers only where it has to be, everywhere."""
    from mercer.kernels.strings import alignment, subsequence

    X = ["".join(rng.choice(list("ACGT"), n)) for n in (0, 1, 7, 33, 70)]
    W = rng.normal(size=(5, 5))

    def all_of():
        P = kernel.prepare(X)
        Q = kernel.normalize().prepare(X)
        return kernel(X), kernel.grad_theta(P, P, W), kernel.normalize().grad_theta(Q, Q, W)

    before = all_of()
    monkeypatch.setattr(subsequence, "LARGEST", -1.0)
    monkeypatch.setattr(alignment, "_UNSCALED", -1.0)
    monkeypatch.setattr(alignment, "_NARROWEST", 1000)
    for got, wanted in zip(all_of(), before, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-11, atol=1e-12)


def test_slopes_beyond_all_numbers(rng):
    X = ["".join(rng.choice(list("ab"), n)) for n in (900, 880)]
    k = AllSubsequences(0.9)
    P, W = k.normalize().prepare(X), np.array([[0.0, 1.0], [1.0, 0.0]])
    assert P.parts[1].max() < -400  # log f = -log k / 2
    logs = [AllSubsequences(d).log_tiles(P.parts[0], P.parts[0])(slice(0, 2), slice(0, 2))
            for d in 0.9 * np.exp([1e-4, -1e-4])]  # fmt: skip
    wanted = np.sum(W * (logs[0] - logs[1])) / 2e-4
    assert k.grad_log_theta(P.parts[0], P.parts[0], W)[0] == pytest.approx(wanted, rel=1e-6)
    with pytest.raises(DomainError, match="1e308"):
        k.grad_theta(P.parts[0], P.parts[0], W)


def test_all_subsequences_at_any_length(rng):
    x, y = ("".join(rng.choice(list("ab"), n)) for n in (700, 760))

    def count(a, b):
        row = [1] * (len(b) + 1)
        for s in a:
            run, before = 0, row[0]
            for j, t in enumerate(b):
                run += before if s == t else 0
                before, row[j + 1] = row[j + 1], row[j + 1] + run
        return row[-1]

    xy, xx, yy = count(x, y), count(x, x), count(y, y)
    assert xx > 10**320
    got = AllSubsequences().normalize()([x, y, ""])
    assert got[0, 1] == pytest.approx(cosine(xy, xx, yy), rel=1e-11)
    assert got[2, 0] < 1e-100


def test_too_many_subsequences_are_reported():
    assert AllSubsequences()(["a" * 500])[0, 0] == pytest.approx(2.7028824094543655e299, rel=1e-12)
    with pytest.raises(DomainError, match="600 and 600 symbols"):
        AllSubsequences()(["a" * 600, "b"])
    assert np.isfinite(AllSubsequences(0.5)(["a" * 600])[0, 0])


# ---- what is known of them -----------------------------------------------------------------------
def test_different_strings_have_independent_subsequences(rng):
    k = AllSubsequences()
    assert k.properties.strictly_pd
    assert k.properties.universal
    X = ["".join(u) for n in range(4) for u in product("ab", repeat=n)]
    assert np.linalg.matrix_rank(k(X)) == len(X)
    phi = np.array([[sum(1 for I in combinations(range(len(x)), len(u))
                         if "".join(x[i] for i in I) == u) for u in X] for x in X])  # fmt: skip
    np.testing.assert_array_equal(k(X), phi @ phi.T)


def test_positive_definiteness_of_alignments_is_stated():
    assert LocalAlignment().properties.psd
    assert LocalAlignment("blosum62").properties.psd
    assert LocalAlignment(log=True).properties.psd.unknown
    assert "logarithm" in LocalAlignment(log=True).explain()
    wrong = LocalAlignment((-1.0, 1.0))  # the same letter is worse than another
    assert wrong.properties.psd.no
    assert not check_psd(wrong, ["A", "C", "G"])
    low = LocalAlignment("blosum62", beta=0.1)  # the row of unknown letters spoils it
    assert not low.properties.psd


def test_alignments_with_a_psd_table_are_psd(rng):
    X = strings(rng, PROTEIN[:20], 30, 25)
    assert check_psd(LocalAlignment("blosum62", beta=0.2), X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Subsequence(0), "length must be an integer >= 1"),
        (lambda: Subsequence(2, 0.0), "decay must be a number in"),
        (lambda: Subsequence(2, 1.5), "decay must be a number in"),
        (lambda: BlendedSubsequence(2, weights=[0.0, 0.0]), "not all zero"),
        (lambda: BlendedSubsequence(2, weights=[1.0])(["a"]), "one number for each length up to 2"),
        (lambda: AllSubsequences(True), "decay must be a number in"),
        (lambda: LocalAlignment("pam250"), "scores must be a pair"),
        (lambda: LocalAlignment([[1, 2], [3, 4]]), "symmetric matrix"),
        (lambda: LocalAlignment((1.0, np.nan)), "scores must be a pair"),
        (lambda: LocalAlignment(opening=-1), "opening must be a finite number >= 0"),
        (lambda: LocalAlignment(np.eye(3), alphabet="AC")(["A"]), "3 symbols"),
        (lambda: LocalAlignment(beta=100.0)(["A"]), "lower beta"),
    ],
)
def test_bad_parameters(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- slopes --------------------------------------------------------------------------------------
LENGTHS = (0, 1, 5, 31, 33, 40, 66, 12, 8, 9, 20, 3, 17, 22, 45, 44, 43)
TUNED = [
    Subsequence(1, 0.4),
    Subsequence(2, 0.7),
    Subsequence(4, 0.9),
    BlendedSubsequence(3, 0.6),
    BlendedSubsequence(3, 0.6, [0.0, 2.0, 1.0]),
    AllSubsequences(0.3),
    LocalAlignment((1.0, -0.5), beta=0.3, opening=2.0),
    LocalAlignment(beta=1.3, log=True),  # grows beyond what a number can hold
    LocalAlignment("blosum62", beta=0.1),
    LocalAlignment("blosum62", beta=0.2, log=True),
    Subsequence(3).normalize(),
    2 * Subsequence(2, 0.5) + AllSubsequences(0.2),
]


def differences(kernel, X, Y, W, h=1e-4):
    """The derivatives of sum(W * kernel(X, Y)) along each entry of theta, to order h^4."""

    def value(move):
        return np.sum(W * kernel.with_theta(kernel.theta + move)(X, Y))

    return [
        (8 * (value(e) - value(-e)) - (value(2 * e) - value(-2 * e))) / (12 * h)
        for e in h * np.eye(len(kernel.theta))
    ]


@pytest.mark.parametrize("kernel", TUNED, ids=repr)
def test_slopes_are_those_of_the_values(kernel, rng):
    X = ["".join(rng.choice(list("ACGT"), n)) for n in LENGTHS]
    Y = [*X[3:9], "ACGGT"]
    P, Q = kernel.prepare(X), kernel.prepare(Y)
    W, V = rng.normal(size=(len(X), len(Y))), rng.normal(size=(len(X), len(X)))
    np.testing.assert_allclose(kernel.grad_theta(P, Q, W), differences(kernel, X, Y, W), rtol=1e-8)
    np.testing.assert_allclose(kernel.grad_theta(P, P, V), differences(kernel, X, X, V), rtol=1e-8)
    w = rng.normal(size=len(X))
    wanted = differences(kernel, X, X, np.diag(w))
    np.testing.assert_allclose(kernel.grad_theta_diag(P, w), wanted, rtol=1e-7, atol=1e-12)


def test_slopes_by_hand():
    """k(cat, cat) = 2 d^4 + d^6 and k(cat, car) = d^4, with respect to log d."""
    d, k = 0.5, Subsequence(2, 0.5)
    P = k.prepare(["cat", "car"])
    got = [k.grad_theta(P, P, W)[0] for W in (np.diag([1.0, 0]), np.eye(2)[::-1] / 2)]
    np.testing.assert_allclose(got, [8 * d**4 + 6 * d**6, 4 * d**4], rtol=1e-14)
    one = LocalAlignment((1.0, -0.5), beta=0.7)
    P = one.prepare(["A"])
    assert one.grad_theta_diag(P, np.ones(1))[0] == pytest.approx(0.7 * np.exp(0.7), rel=1e-14)


@pytest.mark.parametrize("start", [0.3, 1.0])
def test_decays_are_tuned(rng, start):
    """From either side, an end of the range included, to where the evidence is largest."""
    X = ["".join(rng.choice(list("ACGT"), rng.integers(15, 40))) for _ in range(60)]
    K = Subsequence(3, 0.7).normalize()(X) + 1e-3 * np.eye(60)
    y = np.linalg.cholesky(K) @ rng.normal(size=60)
    model = GaussianProcessRegressor(
        Subsequence(3, start).normalize(), alpha=1e-3, fixed=("alpha",), normalize_y=False
    )
    found = model.fit(X, y).kernel_.kernel.decay
    decays = np.linspace(0.5, 1.0, 51)
    grams = [Subsequence(3, d).normalize()(X) + 1e-3 * np.eye(60) for d in decays]
    costs = [y @ np.linalg.solve(A, y) + np.linalg.slogdet(A)[1] for A in grams]
    assert abs(found - decays[np.argmin(costs)]) < 0.011


def test_a_search_turns_back_where_values_overflow(rng):
    X = ["".join(rng.choice(list("ACGT"), 160)) for _ in range(10)]
    model = KernelRidge(alpha=0.1, kernel=LocalAlignment(beta=0.86))
    with pytest.raises(DomainError, match="overflows"):
        tune(clone(model).set_params(kernel__beta=2.0), X, np.arange(10.0))
    assert 0 < tune(model, X, np.arange(10.0)).kernel_.beta < 1
    cosine = clone(model).set_params(kernel=LocalAlignment(beta=2.0).normalize())
    assert 0 < tune(cosine, X, np.arange(10.0)).kernel_.kernel.beta < 10
