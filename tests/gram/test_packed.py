import numpy as np
import pytest

from mercer import Gaussian, Spectrum
from mercer.gram.packed import PackedGram
from mercer.testing import check_gram


@pytest.mark.parametrize("n", [1, 3, 499, 500, 501, 1203])
@pytest.mark.parametrize("columns", [1, 16, 31])
def test_product(rng, n, columns):
    X, k = rng.standard_normal((n, 2)), Gaussian()
    V = rng.standard_normal((n, columns))
    K = PackedGram(k, k.prepare(X))
    np.testing.assert_allclose(K @ V, k(X) @ V, atol=1e-11)
    assert K.nbytes == sum(tile.nbytes for strip in K.strips for tile in strip)


def test_is_the_operator_it_stands_for(rng):
    X, k = rng.standard_normal((60, 2)), Gaussian()
    K = PackedGram(k, k.prepare(X))
    check_gram(K, k(X))
    np.testing.assert_allclose(K.cross(X[:3]).to_dense(), k(X[:3], X))
    assert "upper triangle" in repr(K)


def test_precision_threads_and_strings(rng):
    X, k = rng.standard_normal((1203, 2)), Gaussian()
    V = rng.standard_normal((1203, 5))
    single = PackedGram(k, k.prepare(X.astype(np.float32)))
    assert single.strips[0][0].dtype == np.float32
    np.testing.assert_allclose(single @ V, k(X) @ V, atol=1e-2)
    P = k.prepare(X)
    one, two = (PackedGram(k, P, workers=w) @ V for w in (1, 2))
    np.testing.assert_array_equal(one, two)
    words, s = ["abab", "ba", "abba"], Spectrum(2)
    np.testing.assert_allclose(PackedGram(s, s.prepare(words)) @ np.ones(3), s(words).sum(axis=1))
