"""A kernel matrix from elsewhere behaves like the kernel it came from."""

import numpy as np
import pytest
from scipy import sparse

from mercer import Gaussian, Linear, Plan, Precomputed
from mercer.exceptions import DomainError
from mercer.testing import check_gram, check_kernel, check_psd

rng = np.random.default_rng(0)
X, X_NEW = rng.standard_normal((30, 2)), rng.standard_normal((7, 2))
K, K_NEW = Gaussian()(X), Gaussian()(X_NEW, X)
k = Precomputed()


def test_values():
    np.testing.assert_array_equal(k(K), K)
    np.testing.assert_array_equal(k(K_NEW, K), K_NEW)
    np.testing.assert_array_equal(k.diag(k.prepare(K)), np.diag(K))


def test_contract():
    check_kernel(k, K)
    check_kernel(k, K.astype(np.float32))
    check_kernel(2 * k + 1, K)
    check_kernel(k.center(), K)
    check_kernel(k.through(), K)


@pytest.mark.parametrize("storage", ["auto", "dense", "tiled"])
def test_gram_and_cross(storage):
    gram = Plan(storage=storage).gram(k, K)
    check_gram(gram, K, K_NEW, K_NEW)
    check_gram(gram, K, K_NEW[:1], K_NEW[:1])


def test_as_many_new_samples_as_training_samples():
    """A square matrix of new rows is not symmetric, and need not be."""
    X_new = rng.standard_normal(X.shape)
    new = Gaussian()(X_new, X)
    np.testing.assert_array_equal(k(new, K), new)
    check_gram(k.gram(K), K, new, new)


def test_like_the_kernel_it_came_from():
    for build in (lambda b, Z: b.center(Z), lambda b, Z: b.through(Z), lambda b, Z: 3 * b**2 + 1):
        wanted = build(Gaussian(), X)(X_NEW, X)
        np.testing.assert_allclose(build(k, K)(K_NEW, K), wanted, atol=1e-13)


def test_results_do_not_share_memory():
    before = K.copy()
    block = k(K)
    block[...] = 0
    gram = k.gram(K)
    gram.to_dense()[...] = 0
    np.testing.assert_array_equal(K, before)


def test_other_containers():
    pd = pytest.importorskip("pandas")
    for M in (pd.DataFrame(K), K.tolist(), sparse.csr_matrix(K)):
        np.testing.assert_array_equal(k(M), K)
    L = np.array([[2, 1], [1, 2]])
    assert k(L).dtype == np.float64


def test_rounding_is_no_asymmetry():
    noisy = Linear()(X).astype(np.float32) * (1 + 1e-6 * rng.standard_normal((30, 30)))
    assert k(noisy).shape == (30, 30)


def test_definiteness_is_not_claimed_but_can_be_checked():
    assert k.properties.psd.unknown
    assert check_psd(k, K)
    assert not check_psd(k, K - 0.5)


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        (K[:5], None, r"square kernel matrix.*got shape \(5, 30\).*np.ix_"),
        (K, K_NEW, r"square kernel matrix.*got shape \(7, 30\)"),
        (K + np.triu(K), None, "not symmetric: K and K.T differ by"),
        (K_NEW[:, :4], K, "one value per training sample, 30 of them, got 4"),
        (np.where(K > 0.99, np.nan, K), None, r"entry \(0, 0\) of the matrix is nan"),
        (np.zeros((0, 3)), None, "shape"),
        (np.zeros(3), None, r"shape \(3,\)"),
        ([["a", "b"], ["b", "a"]], None, "does not contain numbers"),
    ],
    ids=["rows", "right", "asymmetric", "width", "nan", "empty", "vector", "text"],
)
def test_bad_data(left, right, message):
    with pytest.raises(DomainError, match=message):
        k(left, right)


def test_normalisation_needs_the_norms_of_new_samples():
    d = np.sqrt(np.diag(3 * K + np.eye(30)))
    np.testing.assert_allclose(
        k.normalize()(3 * K + np.eye(30)), (3 * K + np.eye(30)) / np.outer(d, d)
    )
    with pytest.raises(DomainError, match="square"):
        k.normalize()(K_NEW, K)
