"""The constrained covariance: its value, its functions, its spectrum."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Spectrum, coco, cross_covariance, hsic


@pytest.fixture
def pair(rng):
    X = rng.standard_normal((40, 2))
    return X, np.c_[X[:, :1] ** 2, rng.standard_normal((40, 1))]


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def test_value_is_the_root_of_the_largest_eigenvalue(pair):
    k = Gaussian()
    K, L = (centred(k(Z)) for Z in pair)
    found = coco(*pair, k, k)
    expected = np.sqrt(np.linalg.eigvals(K @ L).real.max()) / 40
    assert found.value == pytest.approx(expected)
    assert found.value < np.sqrt(np.linalg.norm(K @ L, 2)) / 40 * 0.999  # not the spectral norm
    assert found.value == pytest.approx(cross_covariance(k, pair[0], k, pair[1]).norm())
    assert np.sum(found.spectrum**2) == pytest.approx(hsic(*pair, k, k, biased=True))
    assert found.value**2 <= hsic(*pair, k, k, biased=True)


def test_functions_attain_it(pair, rng):
    X, Y = pair
    k, m = Gaussian(), Gaussian(0.7)
    found = coco(X, Y, k, m)
    assert found.f.norm() == pytest.approx(1)
    assert found.g.norm() == pytest.approx(1)
    assert np.cov(found.f(X), found.g(Y), ddof=0)[0, 1] == pytest.approx(found.value)
    for _ in range(20):  # no other pair of functions of norm 1 covaries more
        f, g = (type(h)(h.kernel, h.points, rng.standard_normal(40)) for h in (found.f, found.g))
        cov = np.cov((f / f.norm())(X), (g / g.norm())(Y), ddof=0)[0, 1]
        assert abs(cov) < found.value


def test_several_pairs_of_functions(pair):
    X, Y = pair
    found = coco(X, Y, Gaussian(), Gaussian(), n_functions=3)
    cross = (found.f(X) - found.f(X).mean(0)).T @ (found.g(Y) - found.g(Y).mean(0)) / 40
    assert cross == pytest.approx(np.diag(found.spectrum[:3]), abs=1e-10)
    assert found.f @ found.f == pytest.approx(np.eye(3), abs=1e-8)


def test_linear_kernels_give_the_norm_of_the_covariance(pair):
    X, Y = pair
    C = (X - X.mean(0)).T @ (Y - Y.mean(0)) / 40
    assert coco(X, Y, Linear(), Linear()).value == pytest.approx(np.linalg.norm(C, 2))


def test_low_rank_agrees_where_the_rank_is_full(pair):
    whole = coco(*pair, Gaussian(), Gaussian())
    assert coco(*pair, Gaussian(), Gaussian(), rank=40).value == pytest.approx(whole.value)
    low = coco(*pair, Gaussian(), Gaussian(), rank=25, n_functions=2)
    assert low.value == pytest.approx(whole.value, rel=0.02)
    assert low.f[0].norm() == pytest.approx(1)
    f, g = low.f[0](pair[0]), low.g[0](pair[1])
    assert np.cov(f, g, ddof=0)[0, 1] == pytest.approx(low.value)


def test_strings(rng):
    words = ["aab", "aaa", "aba", "bbb", "bab", "bba"] * 3
    y = np.array([1.0, 1.1, 0.9, -1.0, -0.8, -1.2] * 3)
    found = coco(words, y, Spectrum(1), Linear())
    assert abs(np.corrcoef(found.f(words), y)[0, 1]) > 0.8


def test_bad_input(pair):
    X, Y = pair
    with pytest.raises(ValueError, match="n_functions"):
        coco(X, Y, n_functions=0)
    with pytest.raises(ValueError, match="constant"):
        coco(X, np.ones(40))
    with pytest.raises(ValueError, match="the same number of observations"):
        coco(X, Y[:5])
