"""Functions by weights and by coefficients of eigenfunctions."""

import numpy as np
import pytest

from mercer import (
    EigenSpace,
    FeatureFunction,
    Gaussian,
    Linear,
    MercerExpansion,
    Monomials,
    Polynomial,
    RKHSFunction,
)


def test_reproducing_property_and_algebra(rng):
    k = MercerExpansion(n_terms=6)
    w, v = rng.normal(size=(2, 6))
    f, g = RKHSFunction.from_weights(k, w), FeatureFunction(k, v)
    x = rng.normal(size=5)
    for point in x:
        assert f @ k.at(point) == pytest.approx(f([point])[0])
        assert k.at(point) @ f == pytest.approx(f([point])[0])
    np.testing.assert_allclose((2 * f - g / 4)(x), 2 * f(x) - g(x) / 4)
    assert f @ g == pytest.approx(w @ v)
    assert f.distance(g) == pytest.approx(np.linalg.norm(w - v))
    assert sum([f, g]).norm() == pytest.approx(np.linalg.norm(w + v))
    by_points = RKHSFunction(k, x, rng.normal(size=5))
    np.testing.assert_allclose((f + by_points)(x), f(x) + by_points(x))
    np.testing.assert_allclose((by_points - f)(x), by_points(x) - f(x))
    again = RKHSFunction.from_weights(k, by_points.weights())
    assert again.norm() == pytest.approx(by_points.norm())
    np.testing.assert_allclose(again(x), by_points(x))


def test_weights_of_polynomials(rng):
    f = RKHSFunction.from_weights(Linear(), [1.0, -2.0])
    X = rng.normal(size=(4, 2))
    np.testing.assert_allclose(f(X), X @ [1.0, -2.0])
    p = RKHSFunction(Polynomial(2), X, rng.normal(size=4))
    np.testing.assert_allclose(RKHSFunction.from_weights(Polynomial(2), p.weights())(X), p(X))


def test_eigen_expansions(rng):
    k = MercerExpansion(lengthscale=1.0, n_terms=8)
    space = EigenSpace(k.eigenvalues, k.eigenfunctions)
    c = rng.normal(size=8) * k.eigenvalues
    f = space.function(c)
    x = rng.normal(size=6)
    np.testing.assert_allclose(f(x), k.eigenfunctions(x) @ c)
    assert f.norm() ** 2 == pytest.approx(np.sum(c**2 / k.eigenvalues))
    assert space.norm(c) == pytest.approx(f.norm())
    np.testing.assert_allclose(space.coefficients(f), c)
    np.testing.assert_allclose(space.kernel(x), k(x), rtol=1e-10)
    flat = EigenSpace([1.0, 0.0], lambda x: np.column_stack([np.ones(len(x)), np.ravel(x)]))
    assert flat.norm([1.0, 1.0]) == np.inf
    with pytest.raises(ValueError, match="eigenvalue 1 is 0"):
        flat.function([1.0, 1.0])
    assert flat.function([2.0, 0.0])([5.0])[0] == pytest.approx(2.0)


def test_errors():
    with pytest.raises(ValueError, match="no finite feature map"):
        FeatureFunction(Gaussian(), [1.0])([0.0])
    with pytest.raises(ValueError, match="2 features"):
        FeatureFunction(Monomials(2), [1.0])([0.0])
    with pytest.raises(ValueError, match="finite numbers"):
        FeatureFunction(Linear(), [np.nan])
    with pytest.raises(TypeError, match="different"):
        FeatureFunction(Linear(), [1.0]) @ FeatureFunction(Linear() * 2.0, [1.0])
    with pytest.raises(ValueError, match="cannot be combined"):
        FeatureFunction(Linear(), [1.0]) + FeatureFunction(Linear(), [1.0, 2.0])
    with pytest.raises(ValueError, match="eigenvalues"):
        EigenSpace([-1.0], np.ravel)
    with pytest.raises(ValueError, match="2 values"):
        EigenSpace([1.0, 1.0], lambda x: np.ones((len(x), 3))).function([1.0, 0.0])([0.0])
