"""Sparse features with enormously many columns, against the same numbers in few columns."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.features.sparse import common_columns, compress, occurring, sparse_block, stable_codes

STRETCH = 2**62 // 9


def wide(small):
    """The same matrix with its columns spread over 2^62."""
    small = sp.csr_matrix(small)
    indices = small.indices.astype(np.int64) * STRETCH
    return sp.csr_matrix((small.data, indices, small.indptr), (small.shape[0], 2**62))


@pytest.fixture
def matrices():
    rng = np.random.default_rng(0)
    A = rng.integers(-2, 3, (6, 9)) * (rng.random((6, 9)) < 0.4)
    B = rng.integers(-2, 3, (4, 9)) * (rng.random((4, 9)) < 0.4)
    A[2] = 0
    return A.astype(float), B.astype(float)


def test_sparse_block(matrices):
    A, B = matrices
    np.testing.assert_array_equal(sparse_block(wide(A), wide(B)), A @ B.T)
    W = wide(A)
    np.testing.assert_array_equal(sparse_block(W, W), A @ A.T)
    np.testing.assert_array_equal(sparse_block(W[1:3], W[[4, 2]]), A[1:3] @ A[[4, 2]].T)


def test_nothing_in_common():
    A, B = np.array([[1.0, 0]]), np.array([[0, 1.0], [0, 0]])
    np.testing.assert_array_equal(sparse_block(wide(A), wide(B)), [[0, 0]])
    np.testing.assert_array_equal(sparse_block(wide(B[1:]), wide(A)), [[0]])


def test_compress_takes_known_columns_and_adds_repeated_ones(matrices):
    A, _ = matrices
    columns = np.array([1, 4, 8]) * STRETCH
    np.testing.assert_array_equal(compress(wide(A), columns).toarray(), A[:, [1, 4, 8]])
    repeated = sp.csr_matrix(
        (np.array([1.0, 2, 5]), np.array([7, 7, 3]) * 2**58, [0, 3]), (1, 2**62)
    )
    np.testing.assert_array_equal(compress(repeated, np.array([7 * 2**58])).toarray(), [[3]])
    a, b = common_columns(repeated, repeated)
    assert a is b
    assert (a @ b.T).toarray() == 9 + 25


def test_codes_are_stable_and_spread():
    words = [f"word {i}" for i in range(2000)]
    codes = stable_codes(words)
    assert codes.dtype == np.int64
    assert len(np.unique(codes)) == 2000
    assert codes.min() >= 0
    assert codes.max() < 2**62
    assert abs(codes.mean() / 2**62 - 0.5) < 0.03
    np.testing.assert_array_equal(stable_codes(words[::-1])[::-1], codes)
    np.testing.assert_array_equal(stable_codes(words, bits=20), codes >> 42)
    np.testing.assert_array_equal(
        stable_codes(["é", b"x", "\ud800"]),
        stable_codes(["é".encode(), "x", "\ud800".encode("utf-8", "surrogatepass")]),
    )
    assert stable_codes([]).shape == (0,)


def test_few_columns_as_many():
    """The table for few columns, and the search for enormously many, find the same."""
    A = sp.random(40, 300, 0.1, format="csr", random_state=0)
    huge = sp.csr_matrix((A.data, A.indices.astype(np.int64), A.indptr), shape=(40, 2**50))
    columns = occurring(A)
    assert np.array_equal(columns, np.unique(A.indices))
    assert np.array_equal(occurring(huge), columns)
    some = columns[::2]
    few, many = compress(A, some), compress(huge, some)
    assert np.array_equal(few.toarray(), A[:, some].toarray())
    assert np.array_equal(many.toarray(), few.toarray())
