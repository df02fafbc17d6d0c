"""The pair hidden Markov model against the enumeration of all it can do."""

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from mercer import SVC, GaussianProcessRegressor, StringPairHMM, parse, tune
from mercer.exceptions import DomainError, UnresolvedError
from mercer.kernels.strings.substitution import AMINO_ACIDS

ROUGH = np.array([[0.4, 0.05, 0.1], [0.05, 0.1, 0.0], [0.1, 0.0, 0.2]])


def model(kernel):
    """Joint probabilities of letters, with mutation, and those of single ones, by their names."""
    letters = kernel.alphabet
    joint = (
        np.eye(len(letters)) / len(letters) if isinstance(kernel.letters, str) else kernel.letters
    )
    alone = np.sum(joint, axis=0)
    mixed = (1 - kernel.mutation) * np.asarray(joint) + kernel.mutation * np.outer(alone, alone)
    p = {(a, b): mixed[i, j] for i, a in enumerate(letters) for j, b in enumerate(letters)}
    return p, dict(zip(letters, alone, strict=True))


def probability(kernel, x, y):
    """The definition: a sum over all places that may be matched."""
    p, q = model(kernel)
    d, e, stop = kernel.opening, kernel.extension, kernel.stop

    def alone(s, I):
        gaps = [b - a - 1 for a, b in pairwise([-1, *I, len(s)])]
        lengths = np.prod([1 - d if n == 0 else d * (1 - e) * e ** (n - 1) for n in gaps])
        return lengths * np.prod([q[c] for i, c in enumerate(s) if i not in I])

    total = 0.0
    for m in range(min(len(x), len(y)) + 1):
        for I, J in product(combinations(range(len(x)), m), combinations(range(len(y)), m)):
            matched = np.prod([p[x[i], y[j]] for i, j in zip(I, J, strict=True)])
            total += stop * (1 - stop) ** m * matched * alone(x, I) * alone(y, J)
    return total


KERNELS = [
    StringPairHMM(alphabet="abc", mutation=0.1, opening=0.1),
    StringPairHMM(alphabet="abc", mutation=0, opening=0.5, extension=0.1, stop=0.3),
    StringPairHMM(ROUGH, "abc", mutation=0.2, opening=0.3, extension=0.7, stop=0.05),
    StringPairHMM(alphabet="abc", mutation=1.0, opening=0.9, extension=0.95),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_against_enumeration(kernel):
    X = ["", "a", "b", "ab", "cab", "abba", "bcabc", "aaaaa"]
    wanted = [[probability(kernel, x, y) for y in X] for x in X]
    np.testing.assert_allclose(kernel(X), wanted, rtol=1e-11)
    np.testing.assert_allclose(kernel(X[1:4], X), wanted[1:4], rtol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS[1:3], ids=repr)
def test_it_is_a_probability(kernel):
    """All pairs of strings up to a length hold nearly all of it, if few letters are written."""
    kernel = kernel.replace(stop=0.9, opening=0.2, extension=0.1)
    X = ["".join(u) for n in range(5) for u in product("abc", repeat=n)]
    total = kernel(X).sum()
    assert 0.99 < total <= 1 + 1e-9


def log_probability(kernel, x, y):
    """The same by the recursion, in logarithms, for strings of any length."""
    (table, _, _, opening, extension), P = kernel._weights(), kernel.prepare([x, y])
    a, b, m = P.one(0), P.one(1), len(y)
    with np.errstate(divide="ignore"):
        pair, lo, le = np.log(table), np.log(opening), np.log(extension)
    at, none = np.arange(m + 1), np.full(m + 1, -np.inf)
    M, X = none.copy(), none.copy()
    M[0] = 0.0

    def all_of(M, X):
        sums = np.logaddexp.accumulate(np.logaddexp(M, X) - at * le)
        Y = none.copy()
        Y[1:] = lo + sums[:-1] + (at[1:] - 1) * le
        return np.logaddexp(np.logaddexp(M, X), Y)

    Z = all_of(M, X)
    for letter in a:
        X, M = np.logaddexp(lo + M, le + X), none.copy()
        M[1:] = pair[letter, b] + Z[:-1]
        Z = all_of(M, X)
    ends = np.log(kernel.stop) + 2 * np.log1p(-kernel.opening)
    q = np.log(np.append(kernel._model()[1], 1.0))
    return Z[-1] + ends + q[a].sum() + q[b].sum()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"opening": 1e-3, "extension": 0.1},
        {"opening": 1e-8, "extension": 1e-8, "mutation": 0.0},
        {"opening": 0.9, "extension": 0.95, "stop": 0.9},
    ],
)
def test_strings_of_any_length(options, rng):
    """Repeats, parts, and nothing in common: best alignments along the edges of the table."""
    kernel = StringPairHMM("blosum62", **({"mutation": 0.01} | options))
    q, r = ("".join(rng.choice(list(AMINO_ACIDS), n)) for n in (700, 450))
    X = [q, q[:350] + q, q[350:], r + q, q + r, r, "", "W" * 700, "WWW", "X" * 30]
    P = kernel.prepare(X)
    i, j = np.array([0, 0, 0, 3, 0, 0, 7, 4, 1, 1, 9]), np.array([0, 1, 2, 4, 5, 6, 8, 5, 2, 6, 0])
    wanted = [log_probability(kernel, X[a], X[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(kernel.logs(P, P, i, j), wanted, rtol=1e-11)
    np.testing.assert_allclose(kernel.logs(P, P, j, i), wanted, rtol=1e-11)
    h, slopes = 1e-5, kernel.log_slopes(P, P, i, j)
    for column, e in enumerate(h * np.eye(len(kernel.theta))):
        up, down = (kernel.with_theta(kernel.theta + s * e) for s in (1, -1))
        moved = (up.logs(P, P, i, j) - down.logs(P, P, i, j)) / (2 * h)
        scale = np.abs(moved).max() + 1
        np.testing.assert_allclose(slopes[:, column], moved, rtol=1e-5, atol=1e-5 * scale)


def test_letters_that_could_not_be_read():
    """The probability of the others: a sum over what the letter may have been."""
    kernel = KERNELS[2]
    every = kernel([f"a{c}b" for c in "abc"], ["ca"]).sum()
    assert kernel(["a?b"], ["ca"])[0, 0] == pytest.approx(every, rel=1e-12)
    both = kernel([f"a{c}" for c in "abc"], [f"{c}b" for c in "abc"]).sum()
    assert kernel(["a日"], ["?b"])[0, 0] == pytest.approx(both, rel=1e-12)
    protein = StringPairHMM("blosum62")
    assert np.ptp(protein(["mkv", "MKV"], ["MKVX"])) == 0


def test_long_strings_ask_for_logarithms(rng):
    x = "".join(rng.choice(list("ACGT"), 800))
    with pytest.raises(DomainError, match=r"e\^-\d+ for strings of 800 and 800 .* use .normalize"):
        StringPairHMM()([x])
    K = StringPairHMM().normalize()([x, x[:400] + x[401:], x[::-1]])
    assert K[0, 1] > 1e-6 > K[0, 2] > 0


def test_parameters():
    for name, wrong in (("opening", 0.0), ("extension", 1.0), ("stop", 2.0), ("opening", "a")):
        with pytest.raises(ValueError, match=f"{name} must be a number between"):
            StringPairHMM(**{name: wrong})
    for letters in ([[0.5]], [[0.5, 0.3], [0.1, 0.1]], [[1.0, 0.0], [0.0, 0.0]], "pam", [[np.nan]]):
        with pytest.raises(ValueError, match="letters must be 'equal', 'blosum62', or a symmetric"):
            StringPairHMM(letters)
    with pytest.raises(ValueError, match="mutation must be a number in"):
        StringPairHMM(mutation=1.5)
    with pytest.raises(ValueError, match="alphabet must name the 3 letters"):
        StringPairHMM(ROUGH)(["a"])
    with pytest.raises(UnresolvedError, match="alphabet=None"):
        StringPairHMM()(["a"], ["b"])
    rare = np.diag([1 - 1e-120, 1e-120])
    with pytest.raises(ValueError, match="merge rare letters"):
        StringPairHMM(rare, "ab", mutation=0.0)(["ab"])
    kernel = KERNELS[2]
    assert parse(repr(kernel.replace(letters=ROUGH.tolist()))) == kernel


def test_positive_definite_as_far_as_letters_are():
    assert KERNELS[0].properties.psd
    assert KERNELS[2].properties.psd
    crossed = StringPairHMM([[0.05, 0.45], [0.45, 0.05]], "ab", mutation=0.1)
    assert crossed.properties.psd.unknown
    assert np.linalg.eigvalsh(crossed(["a", "b"]))[0] < 0
    assert crossed.replace(mutation=1.0).properties.psd


def test_in_use(rng):
    """Copies of two ancestors with mistakes; and the rate of mistakes, from values."""
    ancestors = ["".join(rng.choice(list("ACGT"), 30)) for _ in range(2)]

    def copy(s):
        kept = [c for c in s if rng.random() > 0.1]
        return "".join(c if rng.random() > 0.2 else rng.choice(list("ACGT")) for c in kept)

    y = np.arange(60) % 2
    X = [copy(ancestors[c]) for c in y]
    model = SVC(kernel=StringPairHMM().normalize()).fit(X[:20], y[:20])
    assert model.score(X[20:], y[20:]) > 0.95
    # a number between 0 and 1 for strings, and slopes that climb the evidence
    start = StringPairHMM(alphabet="ACGT", mutation=0.9).normalize()
    K = StringPairHMM(alphabet="ACGT", mutation=0.2).normalize()(X)
    values = np.linalg.cholesky(K + 1e-4 * np.eye(60)) @ rng.standard_normal(60)
    tuned = tune(GaussianProcessRegressor(start, alpha=1e-4), X, values)
    before = GaussianProcessRegressor(start, alpha=1e-4, optimizer=None).fit(X, values)
    assert tuned.log_marginal_likelihood_value_ > before.log_marginal_likelihood_value_
