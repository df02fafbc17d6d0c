import numpy as np
import pytest
import scipy.sparse as sp

from mercer import Gaussian, Linear, Plan
from mercer.gram.exponential import Factors
from mercer.gram.rows import FeatureRowGram, RowGram
from mercer.testing import check_gram


@pytest.fixture
def K(rng):
    A = rng.standard_normal((50, 50))
    return A @ A.T


def blocks(K):
    return RowGram(lambda rows, cols: K[rows][:, cols], np.diag(K))


@pytest.mark.parametrize(
    "index",
    [np.arange(10, 30), np.r_[5:20, 30:50], np.array([4, 2, 40, 2, 8]), np.r_[0:4, 10:14, 20:50]],
)
def test_subset_is_the_part_of_the_matrix(rng, K, index):
    part, exact = blocks(K).subset(index), K[np.ix_(index, index)]
    np.testing.assert_array_equal(part.diagonal, np.diag(exact))
    m = len(index)
    rows, some = rng.integers(0, m, 7), rng.integers(0, m, 4)
    for cols in (slice(0, m), slice(1, 4), slice(m - 2, m), some):
        np.testing.assert_array_equal(part.block(rows, cols), exact[rows][:, cols])
    weights = rng.standard_normal(4)
    expected = exact[np.ix_(rows, some)] @ weights
    np.testing.assert_allclose(part.product(rows, some, weights), expected)
    np.testing.assert_allclose(part.rough_product(rows, some, weights), expected)


def test_a_part_of_a_part(K):
    index, inner = np.r_[5:20, 30:50], np.r_[2:9, 20:30]
    part = blocks(K).subset(index).subset(inner)
    at = index[inner]
    rows, cols = np.arange(4), slice(0, len(at))
    np.testing.assert_array_equal(part.block(rows, cols), K[np.ix_(at, at)][rows])


def test_runs_of_parts_name_samples_of_the_whole(K):
    whole = RowGram(lambda r, c: K[r][:, c], np.diag(K), factors=Factors(K, K, np.float32(1)))
    part = whole.subset(np.r_[5:20, 30:50])
    np.testing.assert_array_equal(part.runs, [[5, 20], [30, 50]])
    np.testing.assert_array_equal(whole.subset(np.arange(7, 30)).subset(np.r_[1:3]).runs, [[8, 10]])
    assert part.subset(np.r_[0:3]).factors is None
    assert whole.subset(np.array([1, 5, 9, 12, 40])).factors is None


def test_features(rng):
    phi = rng.standard_normal((30, 4))
    part = FeatureRowGram(phi).subset(np.arange(5, 25))
    K = phi[5:25] @ phi[5:25].T
    rows, cols, weights = np.array([3, 1]), np.array([0, 7, 19]), np.array([1.0, -1.0, 0.5])
    np.testing.assert_allclose(part.block(rows, slice(2, 9)), K[rows, 2:9])
    np.testing.assert_allclose(part.product(rows, cols, weights), K[np.ix_(rows, cols)] @ weights)
    np.testing.assert_allclose(part.diagonal, np.diag(K))


@pytest.mark.parametrize("index", [np.arange(50), np.arange(10, 30), np.r_[5:20, 30:50]])
@pytest.mark.parametrize("exponential", [True, False])
def test_rows_are_written_where_they_belong(rng, index, exponential):
    X = rng.standard_normal((50, 3)).astype(np.float32)
    left, right = -(X**2).sum(axis=1, keepdims=True), np.ones((50, 1), np.float32)
    K = np.exp(left @ right.T)
    whole = RowGram(
        lambda rows, cols: K[rows][:, cols],
        np.diag(K),
        factors=Factors(left, right, np.float32(1)) if exponential else None,
        dtype=np.float32,
    )
    part, exact = whole.subset(index), K[np.ix_(index, index)]
    rows, slots = np.array([3, 0, 11]), np.array([2, 4, 1])
    for cols in (slice(2, 9), np.array([1, 15, 4])):
        cache = np.zeros((6, 20), np.float32)
        part.write(rows, cols, cache, slots, 5)
        wanted = np.zeros_like(cache)
        found = exact[rows][:, cols]
        wanted[slots, 5 : 5 + found.shape[1]] = found
        np.testing.assert_allclose(cache, wanted, rtol=1e-6)


class TestCentred:
    def test_values_differ_by_a_constant(self, rng):
        """For weights that add up to zero, and for those that do so but for rounding."""
        phi = rng.standard_normal((30, 4)) + 100
        K = FeatureRowGram(phi).centred()
        assert np.abs(K.phi.mean(axis=0)).max() < 1e-9
        everything, beta = np.arange(30), rng.standard_normal(30)
        beta -= beta.mean()
        for excess in (0.0, 1e-9):
            beta[0] += excess
            values = K.product(everything, everything, beta) + K.level(beta)
            np.testing.assert_allclose(values, phi @ (phi.T @ beta), atol=1e-6)

    def test_only_where_it_saves_digits(self, rng):
        near, far = rng.standard_normal((30, 4)), rng.standard_normal((30, 4)) + 100
        for features in (near, sp.csr_array(far)):
            K = FeatureRowGram(features)
            assert K.centred() is K
            assert K.level(np.ones(30)) == 0
        once = FeatureRowGram(far).centred()
        assert once.centred() is once
        np.testing.assert_array_equal(once.subset(np.arange(9)).origin, once.origin)


class TestGram:
    def test_it_is_one(self, K):
        check_gram(blocks(K), K)
        check_gram(blocks(K).subset(np.r_[3:9, 20:31]), K[np.ix_(*2 * [np.r_[3:9, 20:31]])])

    def test_features_make_one(self, rng):
        phi = rng.standard_normal((30, 4))
        for features in (phi, sp.csr_array(phi)):
            gram = FeatureRowGram(features)
            check_gram(gram, phi @ phi.T)
            assert gram.rank == 4
            assert "its rows computed from 4 features" in gram.explain()

    def test_all_samples_are_no_part(self, K):
        whole = blocks(K)
        assert whole.subset(np.arange(50)) is whole
        assert whole.subset(np.arange(49)) is not whole

    @pytest.mark.parametrize("storage", ["dense", "tiled"])
    def test_of_any_other(self, rng, storage):
        X, order = rng.standard_normal((40, 3)), rng.permutation(40)
        gram = Plan(storage=storage, workers=1, memory="1 MB").gram(Gaussian(), X)
        found = RowGram.of(gram, order)
        check_gram(found, Gaussian()(X[order]))
        assert (found.matrix is None) is (storage == "tiled")
        assert (found.workers, found.limit) == (1, 1e6)
        assert RowGram.of(Linear().gram(X)).features is not None
