"""Subsequence and alignment kernels, against sums over all subsequences and alignments."""

from itertools import combinations, pairwise, product

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
    with pytest.raises(DomainError, match="log=True, or lower beta"):
        k.replace(log=False)([x, y])


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
    model = KernelRidge(alpha=0.1, kernel=LocalAlignment(beta=0.86).normalize())
    with pytest.raises(DomainError, match="overflows"):
        tune(clone(model).set_params(kernel__kernel__beta=2.0), X, np.arange(10.0))
    assert 0 < tune(model, X, np.arange(10.0)).kernel_.kernel.beta < 1
