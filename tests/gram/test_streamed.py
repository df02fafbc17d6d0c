"""K between samples in chunks and M columns, against the dense matrix."""

import numpy as np
import pytest
from scipy.special import expit

from mercer import Gaussian, Laplacian, Linear, Spectrum
from mercer.chunks import ArrayChunks
from mercer.exceptions import DomainError
from mercer.gram.streamed import Centres, FeatureColumns, StreamedGram
from mercer.testing import check_gram

RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 3))
Z = X[RNG.choice(700, 40, replace=False)]
STRINGS = ["".join(RNG.choice(list("ab"), 6)) for _ in range(50)]
VECTORS = Gaussian(1.3)


def dense(columns, data):
    pieces = columns.blocks(data)(slice(0, len(data)))
    return np.hstack([p.toarray() if hasattr(p, "toarray") else p for p in pieces])


CASES = {
    "centres": (Centres(VECTORS, Z), X),
    "kink": (Centres(Laplacian(), Z), X),
    "single": (Centres(VECTORS, Z.astype(np.float32)), X.astype(np.float32)),
    "strings": (Centres(Spectrum(2), STRINGS[:5]), STRINGS),
    "features": (FeatureColumns(Linear(), 3), X),
}


@pytest.mark.parametrize("rows", [700, 256, 33])
@pytest.mark.parametrize("name", CASES)
def test_passes_are_those_of_the_matrix(name, rows):
    columns, data = CASES[name]
    n, rng = len(data), np.random.default_rng(1)
    y, w = rng.standard_normal(n), rng.random(n)
    K = StreamedGram(columns, ArrayChunks(data, y, w, rows=rows))
    A = dense(columns, data).astype(float)
    tol = 2e-5 if name == "single" else 1e-11
    V = rng.standard_normal((A.shape[1], 2))
    assert K.shape == A.shape
    np.testing.assert_allclose(K @ V, A @ V, atol=tol * np.abs(A).sum(axis=1).max())
    scale = tol * np.abs(A.T @ A).sum()
    np.testing.assert_allclose(K.normal(V), A.T @ (w[:, None] * (A @ V)), atol=scale)

    def slope(F, chunk):
        return chunk.weight[:, None] * (expit(F) - chunk.y[:, None]), (chunk.weight.sum(), F.sum())

    product, (total, scores) = K.through(V, slope, 2)
    np.testing.assert_allclose(
        product, A.T @ (w[:, None] * (expit(A @ V) - y[:, None])), atol=scale
    )
    assert total == pytest.approx(w.sum())
    assert scores == pytest.approx((A @ V).sum(), rel=1e-4, abs=scale)


def test_a_pass_without_scores_is_a_product_with_the_transpose():
    columns, data = CASES["centres"]
    y = np.random.default_rng(2).standard_normal(len(data))
    K = StreamedGram(columns, ArrayChunks(data, y, rows=100))
    product, _ = K.through(None, lambda F, chunk: (chunk.y[:, None], ()), 1)
    np.testing.assert_allclose(product[:, 0], VECTORS(Z, X) @ y, atol=1e-10)


def test_the_answer_does_not_depend_on_the_number_of_threads():
    columns, data = CASES["centres"]
    V = np.ones((len(Z), 1))
    one, four = (
        StreamedGram(columns, ArrayChunks(data, rows=256), workers=w).normal(V) for w in (1, 4)
    )
    np.testing.assert_array_equal(one, four)


def test_it_is_a_gram_operator():
    K = StreamedGram(Centres(VECTORS, Z), ArrayChunks(X, rows=128))
    check_gram(K, VECTORS(X, Z))


def test_values_that_are_not_finite_are_refused():
    huge = np.full((10, 1), 1e200)
    K = StreamedGram(FeatureColumns(Linear(), 1), ArrayChunks(huge))
    with pytest.raises(DomainError, match="not finite"):
        K.normal(np.array([1e200]))
