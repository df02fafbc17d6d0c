"""Products of sparse features by inverted lists and BLAS, against dense arrays."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.features.inverted import Inverted, products

COLUMNS = 2**57


def sample(rng, n, codes, probability, scale=1.0):
    """A random matrix, dense and with its columns at the given codes."""
    held = rng.uniform(size=(n, len(codes))) < probability
    dense = held * rng.integers(1, 5, (n, len(codes))) * scale
    compact = sp.csr_matrix(dense)
    wide = sp.csr_matrix((n, COLUMNS))
    wide.data, wide.indices = compact.data, codes[compact.indices]
    wide.indptr = compact.indptr.astype(np.int64)
    return dense, wide


@pytest.mark.parametrize("scale", [1.0, np.sqrt(2), 2000.0])
@pytest.mark.parametrize("power", [0.0, 1.0, 6.0])
def test_blocks(rng, scale, power):
    """Everywhere, rare and frequent columns side by side, and almost only rare ones."""
    codes = np.sort(rng.choice(COLUMNS, 70, replace=False))
    often = rng.uniform(size=len(codes)) ** power
    A, wide_a = sample(rng, 40, codes, often, scale)
    B, wide_b = sample(rng, 57, codes, often, scale)
    for left, right, K in ((wide_a, wide_b, A @ B.T), (wide_a, wide_a, A @ A.T)):
        block, m = Inverted(left, right).block, K.shape[1]
        picks = [
            (slice(None), slice(None)),
            (slice(13, 40), slice(m // 2, m)),
            (rng.integers(0, 40, 9), rng.integers(0, m, 12)),  # some of them twice
            (slice(0, 1), rng.permutation(m)),
            (np.array([3]), slice(5, 5)),
        ]
        for rows, cols in picks:
            got = block(rows, cols)
            np.testing.assert_allclose(got, K[rows][:, cols], rtol=1e-13, atol=1e-13)
            assert got.dtype == np.float64


def test_whole_numbers_are_exact(rng):
    """Also where single precision would not be: the sums are checked before it is used."""
    codes = np.arange(40)
    for scale in (1.0, 4099.0):
        dense, wide = sample(rng, 30, codes, 0.9, scale)
        np.testing.assert_array_equal(Inverted(wide, wide).block(slice(None), slice(None)),
                                      dense @ dense.T)  # fmt: skip


def test_both_ways_agree(rng):
    dense, wide = sample(rng, 129, np.arange(0, 3000, 50), 0.1)
    some = wide[:100]
    rows, cols = slice(3, 70), slice(20, 100)
    small, large = products(some, some)(rows, cols), products(wide, wide)(rows, cols)
    np.testing.assert_array_equal(small, large)
    np.testing.assert_array_equal(small, dense[rows] @ dense[cols].T)


def test_precision_is_that_of_the_features(rng):
    dense, wide = sample(rng, 140, np.arange(30), 0.3)
    block = products(wide.astype(np.float32), wide.astype(np.float32))
    got = block(slice(None), slice(None))
    assert got.dtype == block(slice(0), slice(0)).dtype == np.float32
    np.testing.assert_array_equal(got, dense @ dense.T)


def test_nothing_in_common(rng):
    _, left = sample(rng, 130, np.arange(5), 0.5)
    _, right = sample(rng, 130, np.arange(10, 15), 0.5)
    empty = sp.csr_matrix((130, COLUMNS))
    for other in (right, empty):
        assert not products(left, other)(slice(None), slice(None)).any()
        assert not products(other, left)(slice(None), slice(None)).any()
