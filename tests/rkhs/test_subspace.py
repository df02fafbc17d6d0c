import numpy as np
import pytest

from mercer import Gaussian, Polynomial
from mercer.rkhs.subspace import Subspace


@pytest.fixture
def plane(rng):
    """A plane through the mean of five points, by Gram-Schmidt in feature space."""
    k, Z = Polynomial(degree=2), rng.standard_normal((5, 2))
    phi = k.features(k.prepare(Z))
    center = np.full(5, 0.2)
    mean = center @ phi
    V = np.linalg.qr((phi[:2] - mean).T)[0]
    axes = np.linalg.lstsq(phi.T, V)[0]
    return Subspace(k, Z, axes, center, mean @ V, float(mean @ mean)), mean, V


def test_is_the_plane_of_explicit_features(plane, rng):
    found, mean, V = plane
    X = rng.standard_normal((7, 2))
    phi = found.kernel.features(found.kernel.prepare(X))
    scores = (phi - mean) @ V
    np.testing.assert_allclose(found.coordinates(X), scores, atol=1e-10)
    np.testing.assert_allclose(found.project(X).weights().T, mean + scores @ V.T, atol=1e-10)
    left = ((phi - mean - scores @ V.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.squared_distances(X), left, atol=1e-9)
    np.testing.assert_allclose(found.axes.inner(found.axes), np.eye(2), atol=1e-10)
    assert found.center.norm() ** 2 == pytest.approx(found.norm)


def test_projecting_twice_changes_nothing(plane, rng):
    found, _, _ = plane
    f = found.project(rng.standard_normal((3, 2)))
    again = f.inner(found.axes) - found.offset
    np.testing.assert_allclose(found.combine(again).weights(), f.weights(), atol=1e-10)


def test_distances_are_never_negative(rng):
    X = rng.standard_normal((6, 2))
    k = Gaussian()
    K = k(X)
    s, U = np.linalg.eigh(K)
    everything = Subspace(k, X, U / np.sqrt(s), np.zeros(6), np.zeros(6), 0.0)
    squares = everything.squared_distances(X)
    assert squares.min() >= 0
    assert squares.max() < 1e-12
