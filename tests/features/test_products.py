"""Feature maps of sums and products, row by row."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from mercer.features.products import hashed_product, khatri_rao, side_by_side
from mercer.features.sparse import sparse_block

rng = np.random.default_rng(0)
A, B = rng.normal(size=(5, 3)), rng.normal(size=(5, 4))
A[1], B[2] = 0, 0
A[rng.random(A.shape) < 0.4] = 0


def test_khatri_rao():
    wanted = np.array([np.kron(a, b) for a, b in zip(A, B, strict=True)])
    assert np.allclose(khatri_rao(A, B), wanted)
    for left, right in ((sp.csr_matrix(A), B), (A, sp.csr_matrix(B)), map(sp.csr_matrix, (A, B))):
        assert np.allclose(khatri_rao(left, right).toarray(), wanted)


def test_side_by_side():
    both = side_by_side(sp.csr_matrix(A), sp.csr_matrix(B))
    assert np.array_equal(both.toarray(), np.hstack([A, B]))


def test_columns_beyond_int32():
    wide = sp.csr_matrix((5, 2**40))
    wide.data, wide.indptr = np.ones(5), np.arange(6)
    wide.indices = np.arange(5) * 2**30
    product = khatri_rao(wide, sp.csr_matrix(B))
    assert product.shape == (5, 2**42)
    assert product.indices.max() == 4 * 2**30 * 4 + 3
    both = side_by_side(wide, wide)
    assert both.shape == (5, 2**41)
    assert both.indices.max() == 4 * 2**30 + 2**40


def test_pairs_of_very_many_columns_are_hashed(rng):
    dense = [(rng.random((6, 5)) < 0.5) * rng.normal(size=(6, 5)) for _ in range(2)]
    A, B = (sp.csr_matrix(each) for each in dense)
    far = [
        sp.csr_matrix((M.data, M.indices.astype(np.int64) + 2**55, M.indptr), (6, 2**57))
        for M in (A, B)
    ]
    phi = hashed_product(*far)
    assert phi.shape == (6, 2**57)
    wanted = (dense[0] @ dense[0].T) * (dense[1] @ dense[1].T)
    assert np.allclose(sparse_block(phi, phi), wanted)
