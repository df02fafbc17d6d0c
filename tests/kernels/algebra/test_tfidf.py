"""Weights by inverse document frequency, against scikit-learn."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from mercer import SVC, Linear, Spectrum, TfIdf, Words
from mercer.exceptions import UnresolvedError
from mercer.testing import check_kernel

DOCUMENTS = [
    "The dog barks at the cat.",
    "A cat sleeps; the dog does not.",
    "Kernels measure how alike two samples are.",
    "Two samples of the same kernel, the same dog.",
    "...",
]
NEW = ["the cat measures a new kernel", "nothing that was seen: zebra", ""]


@pytest.mark.parametrize("norm", [None, "l2"])
def test_is_what_scikit_learn_computes(norm):
    peer = TfidfVectorizer(analyzer=Words.words, norm=norm).fit(DOCUMENTS)
    kernel = TfIdf(Words()).resolve(DOCUMENTS)
    kernel = kernel.normalize() if norm else kernel
    A, B = peer.transform(DOCUMENTS), peer.transform(NEW)
    np.testing.assert_allclose(kernel(DOCUMENTS), (A @ A.T).toarray(), atol=1e-13)
    np.testing.assert_allclose(kernel(NEW, DOCUMENTS), (B @ A.T).toarray(), atol=1e-13)
    np.testing.assert_allclose(kernel(NEW), (B @ B.T).toarray(), atol=1e-13)


def test_substrings(rng):
    X = ["".join(rng.choice(list("abc"), 12)) for _ in range(9)]
    peer = TfidfVectorizer(analyzer="char", ngram_range=(3, 3), norm=None).fit(X)
    A = peer.transform(X)
    np.testing.assert_allclose(TfIdf(Spectrum(3))(X), (A @ A.T).toarray(), atol=1e-12)


def test_contract():
    check_kernel(TfIdf(Words()), DOCUMENTS)
    check_kernel(TfIdf(Words()).normalize() + 1, DOCUMENTS)


def test_weights_come_from_the_training_data():
    kernel = TfIdf(Words())
    assert kernel.unresolved == "weights=None"
    with pytest.raises(UnresolvedError):
        kernel(DOCUMENTS, NEW)
    with pytest.raises(UnresolvedError):
        kernel.prepare(DOCUMENTS)
    model = SVC(kernel=kernel.normalize()).fit(DOCUMENTS, [0, 0, 1, 1, 1])
    one = model.decision_function(NEW[:1])
    np.testing.assert_allclose(model.decision_function(NEW)[:1], one)
    learned = model.kernel_.kernel
    assert learned.resolve(NEW) == learned
    held = sum("dog" in Words.words(d) for d in DOCUMENTS)
    code = Words().prepare(["dog"]).indices
    assert learned.weigh(code)[0] == pytest.approx(1 + np.log(6 / (1 + held)))
    assert learned.weigh(Words().prepare(["zebra"]).indices)[0] == 0


def test_needs_sparse_features():
    with pytest.raises(ValueError, match="sparse features"):
        TfIdf(Linear())([[1.0], [2.0]])


def test_properties():
    p = TfIdf(Words()).properties
    assert p.psd
    assert p.characteristic.no
    assert p.positive_diag.no
