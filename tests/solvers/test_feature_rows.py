import numpy as np
import pytest
import scipy.sparse as sp

from mercer.solvers.feature_rows import FeatureRows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csc_matrix, np.asfortranarray])
def test_products_in_double(rng, form, dtype):
    X = np.where(rng.random((5000, 7)) < 0.5, 0.0, rng.standard_normal((5000, 7))).astype(dtype)
    rows = FeatureRows.of(form(X), workers=2)
    exact = X.astype(np.float64)
    w, beta = rng.standard_normal(7), rng.standard_normal(5000)
    beta[::3] = 0
    assert rows.double == (dtype is np.float64)
    assert np.allclose(rows.scores(w), exact @ w, rtol=1e-13, atol=1e-13)
    assert np.allclose(rows.combine(beta), exact.T @ beta, rtol=1e-12, atol=1e-11)
    assert np.allclose(rows.squares(), (exact**2).sum(axis=1), rtol=1e-13)
    one = FeatureRows.of(form(X), workers=1)
    assert np.array_equal(rows.combine(beta), one.combine(beta))


def test_rounded_only_where_single_precision_holds_squares(rng):
    X = rng.standard_normal((10, 3))
    rows = FeatureRows.of(X)
    small = rows.rounded(rows.squares())
    assert not small.double
    assert np.array_equal(small.values, X.astype(np.float32))
    large = FeatureRows.of(X * 1e20)
    assert large.rounded(large.squares()) is large
    single = FeatureRows.of(X.astype(np.float32))
    assert single.rounded(single.squares()) is single


def test_integers_become_double():
    rows = FeatureRows.of(np.arange(6).reshape(3, 2))
    assert np.array_equal(rows.scores(np.ones(2)), [1.0, 5.0, 9.0])
