import numpy as np
import pytest

from mercer import Gaussian, Linear, Plan
from mercer.gram.algebra import ScaledGram
from mercer.testing import check_gram


@pytest.fixture
def X(rng):
    return rng.standard_normal((61, 3))


@pytest.fixture
def X_new(rng):
    return rng.standard_normal((9, 3))


@pytest.mark.parametrize("storage", ["dense", "tiled"])
def test_centred_is_HKH_and_extends_to_new_points(X, X_new, storage):
    k = Gaussian()
    K, n = k(X), len(X)
    H = np.eye(n) - 1 / n
    new = k(X_new, X)
    # features of new points minus the training mean: (k_new - 1'K/n) H
    expected = (new - K.mean(axis=0)) @ H
    check_gram(k.gram(X, Plan(storage=storage)).center(), H @ K @ H, X_new, expected)


def test_shifted(X, X_new):
    K = Gaussian()(X)
    noise = np.linspace(0.1, 1, len(X))
    check_gram(Gaussian().gram(X).shift(0.5), K + 0.5 * np.eye(len(X)))
    check_gram(Gaussian().gram(X).shift(noise), K + np.diag(noise), X_new, Gaussian()(X_new, X))


def test_weighted_sums(X, X_new):
    gram = 2.0 * Gaussian().gram(X) + Linear().gram(X)
    check_gram(gram, 2 * Gaussian()(X) + X @ X.T, X_new, 2 * Gaussian()(X_new, X) + X_new @ X.T)


def test_algebra_of_algebra(X):
    K = Gaussian()(X) + X @ X.T
    H = np.eye(len(X)) - 1 / len(X)
    gram = (Gaussian().gram(X) + Linear().gram(X)).center().shift(0.1)
    check_gram(gram, H @ K @ H + 0.1 * np.eye(len(X)))


def test_shapes_are_checked(X):
    with pytest.raises(ValueError, match="one shape"):
        Gaussian().gram(X) + Gaussian().gram(X[:5])
    with pytest.raises(ValueError, match="square"):
        Gaussian().gram(X).cross(X[:5]).shift(1.0)


def test_scaled_from_both_sides(X, rng):
    scale, V = rng.uniform(0, 2, len(X)), rng.standard_normal((len(X), 2))
    S = np.diag(scale)
    K = ScaledGram(Gaussian().gram(X, Plan(storage="tiled")), scale)
    check_gram(K, S @ Gaussian()(X) @ S)
    np.testing.assert_allclose(K @ V, S @ Gaussian()(X) @ S @ V)
    assert "scaled" in repr(K)
    low = ScaledGram(Linear().gram(X), scale)
    np.testing.assert_allclose(low.features @ low.features.T, S @ Linear()(X) @ S)
