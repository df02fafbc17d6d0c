"""Word histograms, against loops and scikit-learn."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from mercer import (
    FeatureMap,
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


def test_words_are_counted():
    def tokens(text):
        kept = "".join(c if c.isalnum() or c == "'" else " " for c in text.lower())
        return Counter(kept.split())

    counts = [tokens(d) for d in DOCUMENTS]
    expected = [[sum(a[w] * b[w] for w in a) for b in counts] for a in counts]
    np.testing.assert_array_equal(Words()(DOCUMENTS), expected)


def test_promises_of_words():
    for kernel in (Words(), Words().normalize() + 1):
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


def test_marks_belong_to_the_letters_before_them():
    """Accents that no letter includes, vowel signs, joiners; soft hyphens are no letters."""
    cases = {
        "e\u0301cole \u00e9cole": ["\u00e9cole", "\u00e9cole"],
        "q\u0301a q": ["q\u0301a", "q"],
        "नमस्ते, दुनिया!": ["नमस्ते", "दुनिया"],
        "می\u200cخواهم": ["می\u200cخواهم"],
        "co\u00adoperate": ["cooperate"],
        "l\u2019été d'été": ["l'été", "d'été"],
        "\u0301 a": ["a"],  # a mark without a letter is no word
    }
    for text, words in cases.items():
        assert Words.words(text) == words
    np.testing.assert_array_equal(Words()(["नमस्ते", "नमस्त"]), np.eye(2))
