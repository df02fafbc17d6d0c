"""Kernels with explicit features, against loops and closed forms."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from mercer import (
    XOR,
    Conic,
    FeatureMap,
    Fourier,
    Linear,
    Monomials,
    Plan,
    Sinusoids,
)
from mercer.exceptions import DomainError
from mercer.testing import check_kernel

PLANE = np.random.default_rng(0).normal(size=(8, 2))
LINE = np.linspace(-2, 2, 7)


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
        with pytest.raises(DomainError, match=r"3 columns; select .* \.on\("):
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


def test_promises_of_maps():
    check_kernel(FeatureMap(lengths), ["a b", "", "isn't amused?", "a cat is a cat"])


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
