import numpy as np
import pytest
from scipy.linalg.lapack import dpstrf

from mercer import Gaussian, Linear, Plan, Spectrum, pivoted_cholesky


@pytest.fixture
def K(rng):
    return Gaussian(1.0).gram(rng.standard_normal((300, 2)))


@pytest.mark.parametrize("block", [1, 7, None])
@pytest.mark.parametrize("random", [False, True])
def test_error_is_what_it_says_and_positive(K, random, block):
    found = pivoted_cholesky(K, rank=40, random=random, rng=0, block=block)
    A = K.to_dense()
    E = A - found.factor @ found.factor.T
    assert found.rank == len(set(found.pivots.tolist())) == 40
    np.testing.assert_allclose(np.diagonal(E), found.diagonal, atol=1e-13)
    assert found.residual == pytest.approx(np.trace(E), rel=1e-10)
    assert found.relative == pytest.approx(np.trace(E) / 300, rel=1e-10)
    assert found.worst == pytest.approx(np.abs(E).max(), rel=1e-8)
    assert np.linalg.eigvalsh(E)[0] > -1e-13
    columns = A[:, found.pivots]
    core = A[np.ix_(found.pivots, found.pivots)]
    direct = columns @ np.linalg.lstsq(core, columns.T, rcond=None)[0]
    np.testing.assert_allclose(found.factor @ found.factor.T, direct, atol=1e-6)
    np.testing.assert_allclose(np.triu(found.factor[found.pivots], 1), 0, atol=1e-12)


@pytest.mark.parametrize("block", [1, 5, 64])
def test_greedy_pivots_are_lapacks(K, block):
    order = dpstrf(K.to_dense(), lower=1)[1] - 1
    found = pivoted_cholesky(K, rank=30, random=False, block=block)
    np.testing.assert_array_equal(found.pivots, order[:30])


@pytest.mark.parametrize("random", [False, True])
def test_exact_on_matrices_of_low_rank(rng, random):
    X = rng.standard_normal((200, 6))
    gram = Linear().gram(X, Plan(storage="dense"))
    found = pivoted_cholesky(gram, tol=0, random=random, rng=0)
    assert found.rank == 6
    np.testing.assert_allclose(found.factor @ found.factor.T, X @ X.T, atol=1e-12)
    repeated = Gaussian().gram(np.repeat(X[:5], 40, axis=0))
    assert pivoted_cholesky(repeated, tol=0, random=random, rng=0).rank == 5


def test_random_pivots_come_close_to_the_best_error(rng):
    """The bound of Chen, Epperly, Tropp & Webber (2025), and far below uniform ones.

    With r / eps + r log(1 / (eps eta)) columns the expected error is (1 + eps) times the best of
    rank r, where eta is the best relative error of rank r.
    """
    X = np.concatenate([rng.normal(0, 0.1, (350, 2)), 5 * rng.normal(0, 2.0, (50, 2))])
    K = Gaussian(1.0).gram(X)
    A = K.to_dense()
    s = np.linalg.eigvalsh(A)[::-1]
    r, eps = 4, 1.0
    best = s[r:].sum()
    columns = int(r / eps + r * np.log(1 / (eps * best / s.sum()))) + 1
    errors = [pivoted_cholesky(K, rank=columns, rng=i).residual for i in range(40)]
    assert np.mean(errors) <= (1 + eps) * best

    def uniform(i):
        chosen = np.random.default_rng(i).choice(400, 40, replace=False)
        C = A[:, chosen]
        return np.trace(A - C @ np.linalg.pinv(A[np.ix_(chosen, chosen)], 1e-10) @ C.T)

    ours = np.mean([pivoted_cholesky(K, rank=40, rng=i).residual for i in range(20)])
    assert ours < 0.6 * np.mean([uniform(i) for i in range(20)])


@pytest.mark.slow
def test_blocks_do_not_change_the_distribution(rng):
    """Pairs of pivots have the same frequencies for blocks of 1 and of 8."""
    K = Gaussian(0.7).gram(rng.standard_normal((6, 1)))
    counts = np.zeros((2, 6, 6))
    for kind, block in enumerate((1, 8)):
        generator = np.random.default_rng(kind)
        for _ in range(1500):
            first, second = pivoted_cholesky(K, rank=2, rng=generator, block=block).pivots
            counts[kind, first, second] += 1
    used = counts.sum(axis=0) > 0
    a, b = counts[0][used], counts[1][used]
    chi2 = np.sum((a - b) ** 2 / (a + b))
    assert chi2 < used.sum() + 4 * np.sqrt(2 * used.sum())


def test_stops_at_the_error_asked_for(K):
    for tol in (0.1, 1e-3, 1e-6):
        found = pivoted_cholesky(K, tol=tol, rng=0)
        assert found.relative <= tol
        assert pivoted_cholesky(K, rank=found.rank // 2, tol=tol, rng=0).relative > tol
    assert "rank" in repr(found)


def test_any_operator_and_data(rng):
    X = rng.standard_normal((150, 3))
    dense, tiled = (
        pivoted_cholesky(Gaussian().gram(X, Plan(storage=s)), rank=20, rng=0)
        for s in ("dense", "tiled")
    )
    np.testing.assert_array_equal(dense.pivots, tiled.pivots)
    words = ["abab", "baba", "aabb", "cccc", "abab"]
    found = pivoted_cholesky(Spectrum(2).gram(words), tol=1e-9, rng=0)
    np.testing.assert_allclose(found.factor @ found.factor.T, Spectrum(2)(words), atol=1e-10)
    assert found.rank == 4  # one word is there twice
    single = pivoted_cholesky(Gaussian().gram(X.astype(np.float32)), tol=1e-7, rng=0)
    assert single.residual >= 0


def test_zero_and_bad_input(K):
    assert pivoted_cholesky(Linear().gram(np.zeros((4, 2))), rng=0).rank == 0
    with pytest.raises(ValueError, match="rank must be None or an integer >= 1"):
        pivoted_cholesky(K, rank=0)
    with pytest.raises(ValueError, match=r"tol must be in \[0, 1\)"):
        pivoted_cholesky(K, tol=2)
    with pytest.raises(ValueError, match="square"):
        pivoted_cholesky(K.cross(np.zeros((2, 2))))
    with pytest.raises(ValueError, match="negative diagonal"):
        pivoted_cholesky(K * -1.0)


def test_same_seed_same_pivots(K):
    first, second = (pivoted_cholesky(K, rank=30, rng=5).pivots for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_factor_in_single_precision(rng):
    X = rng.standard_normal((300, 2))
    gram = Gaussian().gram(X)
    found = pivoted_cholesky(gram, rank=60, rng=0, dtype=np.float32)
    assert found.factor.dtype == np.float32
    F = found.factor.astype(float)
    error = Gaussian()(X) - F @ F.T
    np.testing.assert_allclose(np.diag(error), found.diagonal, atol=1e-4)
    all_of_it = pivoted_cholesky(gram, tol=0, rng=0, dtype=np.float32)  # stops at its rounding
    assert all_of_it.rank < 300
    assert all_of_it.worst < 1e-4
