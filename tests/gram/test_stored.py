import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Plan, Polynomial, Spectrum
from mercer.gram import stored
from mercer.gram.stored import DenseGram, LowRankGram, TiledGram, adjoint, compress, squares
from mercer.testing import check_gram


@pytest.mark.parametrize("storage", ["dense", "tiled", "lowrank"])
def test_every_storage_is_the_same_operator(rng, storage):
    X, X_new = rng.standard_normal((83, 3)), rng.standard_normal((17, 3))
    k = Polynomial(degree=2)
    gram = k.gram(X, Plan(storage=storage))
    dense = (X @ X.T + 1) ** 2
    check_gram(gram, dense, X_new, (X_new @ X.T + 1) ** 2)


def test_dense_is_computed_when_needed_and_handed_over(rng):
    gram = Gaussian().gram(rng.standard_normal((40, 2)))
    assert isinstance(gram, DenseGram)
    assert "array" not in vars(gram)
    K = gram.to_dense().copy()
    taken = gram.consume()
    assert "array" not in vars(gram)
    taken[:] = 0
    np.testing.assert_array_equal(gram.to_dense(), K)


def test_cross_of_a_dense_gram_is_never_stored(rng):
    gram = Gaussian().gram(rng.standard_normal((40, 2)))
    assert isinstance(gram.cross(rng.standard_normal((5, 2))), TiledGram)


def test_sparse_features_meet_unseen_columns():
    gram = Spectrum(2).gram(["abab", "bcbc", "xyz"])
    assert isinstance(gram, LowRankGram)
    np.testing.assert_array_equal(gram.to_dense(), [[5, 0, 0], [0, 5, 0], [0, 0, 2]])
    np.testing.assert_array_equal(gram.cross(["abqq", "nope"]).to_dense(), [[2, 0, 0], [0, 0, 0]])


def test_compress_keeps_known_columns_only():
    phi = sp.csr_matrix(np.array([[1.0, 0, 2, 3], [0, 4, 0, 0]]))
    np.testing.assert_array_equal(compress(phi, np.array([0, 2])).toarray(), [[1, 2], [0, 0]])
    assert compress(phi, np.array([], dtype=int)).nnz == 0


def test_cross_matrices_have_no_diagonal(rng):
    X = rng.standard_normal((5, 2))
    with pytest.raises(ValueError, match="no diagonal"):
        Gaussian().gram(X).cross(X[:2]).diag()


def test_matmul_names_the_shapes(rng):
    gram = Linear().gram(rng.standard_normal((5, 2)))
    with pytest.raises(ValueError, match=r"\(5, 5\).*\(4,\)"):
        gram @ np.ones(4)


def test_nobody_is_handed_an_array_twice(rng):
    gram = Gaussian().gram(rng.standard_normal((40, 2)))
    K = gram.to_dense()
    assert gram.consume() is K
    assert not np.shares_memory(gram.consume(), K)
    own = gram.detached()
    assert not np.shares_memory(own.consume(), gram.to_dense())
    np.testing.assert_array_equal(own.to_dense(), K)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32])
def test_products_of_features_are_in_double_precision(rng, form, kind):
    phi = (100_000 * rng.standard_normal((9000, 5))).astype(kind)
    C = rng.standard_normal((9000, 2))
    C[rng.random(9000) < 0.7] = 0  # most rows have no part
    exact = phi.astype(np.float64)
    for workers in (1, 3):
        found = adjoint(form(phi), C, workers)
        np.testing.assert_allclose(found, exact.T @ C, rtol=1e-10)
        np.testing.assert_array_equal(found, adjoint(form(phi), C, 2))
        np.testing.assert_allclose(squares(form(phi), workers), (exact**2).sum(axis=1), rtol=1e-12)


def test_a_wide_product_has_one_accumulator(rng, monkeypatch):
    phi, C = rng.standard_normal((3000, 6)), rng.standard_normal((3000, 4))
    several = adjoint(phi, C)
    monkeypatch.setattr(stored, "_ENTRIES", 30)
    np.testing.assert_allclose(adjoint(phi, C), several, rtol=1e-10)
