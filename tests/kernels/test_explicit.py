"""Kernels with explicit features, against loops and closed forms."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from mercer import (
    XOR,
    Conic,
    FeatureMap,
    Fourier,
    Linear,
    Monomials,
    Plan,
    Polynomial,
    Sinusoids,
    Words,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

DOCUMENTS = [
    "The dog chases the cat; the cat isn't amused.",
    "A cat is a cat, and a DOG is a dog.",
    "",
    "isn't amused? Isn't!",
]
PLANE = np.random.default_rng(0).normal(size=(8, 2))
LINE = np.linspace(-2, 2, 7)


def test_xor():
    expected = [[x @ y + x[0] * x[1] * y[0] * y[1] for y in PLANE] for x in PLANE]
    np.testing.assert_allclose(XOR()(PLANE), expected)
    corners = np.array([[1.0, 1], [-1, -1], [1, -1], [-1, 1]])
    phi = XOR().features(XOR().prepare(corners))
    np.testing.assert_array_equal(np.sign(phi @ [0, 0, 1]), [1, 1, -1, -1])


def test_conic():
    np.testing.assert_allclose(Conic()(PLANE), (PLANE @ PLANE.T + 1) ** 2)
    np.testing.assert_allclose(Conic()(PLANE), Polynomial(degree=2)(PLANE))
    # an ellipse with its centre at c and half axes h is linear in the features
    c, h, t = np.array([0.5, -1.0]), np.array([2.0, 0.7]), np.linspace(0, 2 * np.pi, 9)
    ellipse = c + h * np.stack([np.cos(t), np.sin(t)], axis=1)
    a, b = 1 / h**2
    w = np.array([a, b, 0, -2 * c[0] * a / np.sqrt(2), -2 * c[1] * b / np.sqrt(2), 0])
    w[5] = a * c[0] ** 2 + b * c[1] ** 2 - 1
    phi = Conic().features(Conic().prepare(np.vstack([ellipse, c, c + 3])))
    np.testing.assert_allclose(phi[:9] @ w, 0, atol=1e-12)
    assert phi[9] @ w < 0 < phi[10] @ w


def test_monomials_and_sinusoids():
    expected = [[sum((x * y) ** j for j in (1, 2, 3)) for y in LINE] for x in LINE]
    np.testing.assert_allclose(Monomials(3)(LINE), expected)
    expected = [[sum(np.cos(j * (x - y)) for j in (1, 2, 3)) for y in LINE] for x in LINE]
    np.testing.assert_allclose(Sinusoids(3)(LINE), expected, atol=1e-13)
    np.testing.assert_allclose(Sinusoids(2)(LINE), Fourier([0, 0.5, 0.5])(LINE), atol=1e-13)
    phi = Sinusoids(2).features(Sinusoids(2).prepare([0.3]))
    np.testing.assert_allclose(phi, [[np.sin(0.3), np.cos(0.3), np.sin(0.6), np.cos(0.6)]])
    np.testing.assert_allclose(Monomials(3).prepare([2.0]), [[2, 4, 8]])


@pytest.mark.parametrize(
    ("kernel", "X"),
    [
        (XOR(), PLANE),
        (Conic(), PLANE),
        (Monomials(4), LINE[:, None]),
        (Sinusoids(3), LINE[:, None]),
    ],
    ids=repr,
)
class TestVectors:
    def test_promises(self, kernel, X):
        check_kernel(kernel, X)

    def test_gradient_by_differences(self, kernel, X):
        rng = np.random.default_rng(1)
        Y, h = rng.normal(size=(5, X.shape[1])), 1e-6
        W = rng.normal(size=(len(X), 5))
        got = kernel.grad_input(kernel.prepare(X), kernel.prepare(Y), W)
        assert got.shape == X.shape
        for c in range(X.shape[1]):
            step = h * np.eye(X.shape[1])[c]
            slope = (kernel(X + step, Y) - kernel(X - step, Y)) / (2 * h)
            np.testing.assert_allclose(got[:, c], (W * slope).sum(axis=1), atol=1e-6)

    def test_low_rank_and_diag(self, kernel, X):
        K = kernel(X)
        P = kernel.prepare(X)
        np.testing.assert_allclose(kernel.diag(P), np.diagonal(K))
        phi = kernel.features(P)
        assert phi.shape[1] == kernel.n_features(P) == np.linalg.matrix_rank(phi)
        low = kernel.gram(X, Plan(storage="lowrank"))
        np.testing.assert_allclose(low.to_dense(), K, atol=1e-12)
        np.testing.assert_allclose(low.cross(X[:3]).to_dense(), K[:3], atol=1e-12)

    def test_float32_sparse_and_clone(self, kernel, X):
        assert kernel(X.astype(np.float32)).dtype == np.float32
        np.testing.assert_allclose(kernel(sp.csr_matrix(X)), kernel(X))
        assert clone(kernel) == kernel

    def test_properties(self, kernel, X):
        p = kernel.properties
        assert {n for n, f in p.facts().items() if f} >= {"finite_dim", "analytic", "continuous"}
        assert {n for n, f in p.facts().items() if f.no} >= {"strictly_pd", "characteristic"}
        zero = kernel(np.zeros((1, X.shape[1]))).item()
        assert bool(p.positive_diag) == (zero > 0)
        assert bool(p.stationary) == bool(p.bounded) == isinstance(kernel, Sinusoids)

    def test_the_width_is_checked(self, kernel, X):
        with pytest.raises(DomainError, match=r"3 columns; pick .* \.on\("):
            kernel(np.zeros((2, 3)))


def test_monomials_that_overflow_are_refused():
    with pytest.raises(DomainError, match="overflows for sample 1; rescale X"):
        Monomials(20)([1.0, 1e20])
    with pytest.raises(DomainError, match="overflows"):
        Monomials(3)(np.array([1e20], dtype=np.float32))


# ---- FeatureMap ----------------------------------------------------------------------------
def lengths(samples):
    return np.array([[len(s), s.count("a"), 1] for s in samples])


def test_feature_map_on_anything():
    samples = ["banana", "apple", "kiwi"]
    phi = lengths(samples)
    k = FeatureMap(lengths)
    np.testing.assert_array_equal(k(samples), phi @ phi.T)
    np.testing.assert_array_equal(k(samples, samples[:2]), phi @ phi[:2].T)
    assert repr(k) == "FeatureMap(map=lengths)"
    assert k.properties.finite_dim
    assert k.properties.strictly_pd.unknown  # strings of one length may be all there is
    np.testing.assert_array_equal((k + Linear().pullback(lengths))(samples), 2 * phi @ phi.T)
    assert clone(k) == k


def test_feature_map_may_be_sparse():
    raw = np.array([[0, 1.0, 2], [0, 0, 0], [3, 0, 1]])

    def sparse(rows):
        i = np.asarray(rows)
        phi = sp.csr_matrix(raw[i])
        return sp.csr_matrix(
            (phi.data, phi.indices.astype(np.int64) * 2**60, phi.indptr), (3, 2**62)
        )

    k = FeatureMap(sparse)
    K = k([0, 1, 2])
    np.testing.assert_array_equal(K, raw @ raw.T)
    np.testing.assert_array_equal(k.diag(k.prepare([0, 1, 2])), np.diagonal(raw @ raw.T))


def test_feature_map_with_repeated_entries():
    repeated = sp.csr_matrix((np.ones(2), np.zeros(2, int), [0, 2]), (1, 5))
    k = FeatureMap(lambda X: repeated)
    assert k(["x"]) == 4
    assert repeated.nnz == 2  # the matrix of the map is not touched


def test_feature_map_mistakes():
    with pytest.raises(ValueError, match="map must be a function"):
        FeatureMap(3)
    with pytest.raises(ValueError, match="one row of features per sample, got 1 rows for 2"):
        FeatureMap(lambda X: np.ones((1, 2)))([1, 2])
    with pytest.raises(DomainError, match=r"what map returns.*NaN"):
        FeatureMap(lambda X: np.full((1, 2), np.nan))([1])
    with pytest.raises(DomainError, match="array of numbers"):
        FeatureMap(lambda X: [["a"]])([1])
    with pytest.raises(DomainError, match="no samples"):
        FeatureMap(lengths)([])


# ---- Words ---------------------------------------------------------------------------------
def test_words_are_counted():
    def tokens(text):
        kept = "".join(c if c.isalnum() or c == "'" else " " for c in text.lower())
        return Counter(kept.split())

    counts = [tokens(d) for d in DOCUMENTS]
    expected = [[sum(a[w] * b[w] for w in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(Words()(DOCUMENTS), expected)


def test_promises_of_words_and_maps():
    for kernel in (Words(), Words().normalize() + 1, FeatureMap(lengths)):
        check_kernel(kernel, DOCUMENTS)


def test_words_against_scikit_learn():
    rng = np.random.default_rng(0)
    vocabulary = [f"w{i}" for i in range(40)]
    documents = [" ".join(rng.choice(vocabulary, rng.integers(0, 60))) for _ in range(30)]
    phi = CountVectorizer(token_pattern=r"\w+").fit_transform(documents).toarray()
    K = Words()(documents)
    np.testing.assert_array_equal(K, phi @ phi.T)
    np.testing.assert_array_equal(Words()(documents[:4], documents), K[:4])


def test_what_a_word_is():
    words = Words.words("Don't (stop) 'quoted' x_y don\u2019t 3rd caf\u00e9 cafe\u0301 été—été")
    assert words == [
        *("don't", "stop", "quoted", "x", "y", "don't", "3rd"),
        *("café", "café", "été", "été"),
    ]


def test_word_histograms_as_features():
    k = Words()
    P = k.prepare(DOCUMENTS)
    assert sp.issparse(k.features(P))
    assert P.shape == (4, k.n_features(P))
    assert np.all(k.diag(P) == np.diagonal(k(DOCUMENTS)))
    K = k(DOCUMENTS)
    gram = k.gram(DOCUMENTS)
    assert type(gram).__name__ == "LowRankGram"
    np.testing.assert_allclose(gram.to_dense(), K)
    new = ["a dog of unseen words", "amused"]
    np.testing.assert_allclose(gram.cross(new).to_dense(), k(new, DOCUMENTS))
    for part in (slice(1, 3), np.array([3, 0])):
        np.testing.assert_array_equal(k.pairwise(P[part], P), K[part])


@pytest.mark.parametrize(
    "make",
    [
        lambda k: k + 1,
        lambda k: 2 * k,
        lambda k: k.normalize(),
        lambda k: k**2,
        lambda k: k + k.normalize() + 3,
        lambda k: k * k,
    ],
)
def test_words_in_expressions(make):
    k = make(Words())
    expected = make(FeatureMap(dense_counts))(DOCUMENTS)
    np.testing.assert_allclose(k(DOCUMENTS), expected, atol=1e-12)
    gram = k.gram(DOCUMENTS)
    np.testing.assert_allclose(gram.to_dense(), expected, atol=1e-12)
    np.testing.assert_allclose(gram @ np.arange(4.0), expected @ np.arange(4.0), atol=1e-11)


def dense_counts(documents):
    counts = [Counter(Words.words(d)) for d in documents]
    vocabulary = sorted({w for d in DOCUMENTS for w in Words.words(d)})
    return np.array([[c[w] for w in vocabulary] for c in counts], dtype=float)


def test_sums_of_words_keep_their_features():
    gram = (Words() + 1).gram(DOCUMENTS)
    assert type(gram).__name__ == "LowRankGram"


def test_codes_are_the_same_in_every_process():
    code = "from mercer import Words; print(Words().prepare(['kernel method']).indices.tolist())"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {str(Words().prepare(["kernel method"]).indices.tolist()) + "\n"}


def test_words_on_containers():
    pd = pytest.importorskip("pandas")
    K = Words()(DOCUMENTS)
    table = pd.DataFrame({"text": DOCUMENTS, "n": [1, 2, 3, 4]})
    for X in (np.array(DOCUMENTS), np.array(DOCUMENTS)[:, None], table["text"], tuple(DOCUMENTS)):
        np.testing.assert_array_equal(Words()(X), K)
    np.testing.assert_array_equal(Words().on("text")(table), K)
    with pytest.raises(DomainError, match=r"\.on\(column\)"):
        Words()(table)


def test_words_refuse_what_is_not_text():
    with pytest.raises(DomainError, match="got one string"):
        Words()("one document")
    with pytest.raises(DomainError, match="sample 1 is a int"):
        Words()(["a", 3])
    with pytest.raises(DomainError, match="sample 0 is a list"):
        Words()([["a", "b"]])
    with pytest.raises(DomainError, match="no samples"):
        Words()([])


def test_properties_of_words():
    facts = Words().properties.facts()
    assert facts["psd"]
    assert {n for n, f in facts.items() if f.no} >= {
        *("bounded", "strictly_pd", "universal", "characteristic", "finite_dim", "positive_diag")
    }
