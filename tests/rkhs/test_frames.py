"""Frames: inner products by every route agree with those of the functions themselves."""

from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, RKHSFunction
from mercer.rkhs.frames import Family, Features, combine, dense, orthonormal

K = Gaussian()


@pytest.fixture
def frames():
    rng = np.random.default_rng(4)
    family = RKHSFunction(K, rng.normal(size=(5, 1)), rng.normal(size=(5, 3)))
    X, Y = rng.normal(size=(6, 1)), rng.normal(size=(4, 1))
    return [Family(family), Features(K, X), Features(K, X, center=True), Features(K, Y, True)]


def elements(F):
    """The elements one at a time, each as a function."""
    return [F.combine(e) for e in np.eye(F.size)]


@pytest.mark.parametrize("i", range(4))
@pytest.mark.parametrize("j", range(4))
def test_products(frames, i, j):
    F, G = frames[i], frames[j]
    expected = np.array([[f @ g for g in elements(G)] for f in elements(F)])
    assert dense(F, G) == pytest.approx(expected, abs=1e-12)
    rows, cols = slice(1, 3), slice(0, 2)
    assert F.products(G)(rows, cols) == pytest.approx(expected[rows, cols], abs=1e-12)


@pytest.mark.parametrize("i", range(4))
def test_along(frames, i):
    F, f = frames[i], RKHSFunction(K, [0.0, 1.0], [[1.0, 0.0], [2.0, -1.0]])
    assert F.along(f[0]) == pytest.approx([e @ f[0] for e in elements(F)])
    assert F.along(f) == pytest.approx(np.array([e.inner(f) for e in elements(F)]))


def test_centred_features_add_up_to_zero(frames):
    assert frames[2].combine(np.ones(6)).norm() == pytest.approx(0, abs=1e-7)


def test_many_products_are_computed_in_tiles():
    X = np.linspace(0, 1, 1100)[:, None]
    K1 = K(X)
    H = np.eye(1100) - 1 / 1100
    assert dense(Features(K, X, True), Features(K, X)) == pytest.approx(H @ K1, abs=1e-12)


def test_orthonormal_basis(frames):
    Q, S = orthonormal(frames[:2])
    basis = combine(frames[:2], S)
    assert basis.inner(basis) == pytest.approx(np.eye(S.shape[1]), abs=1e-4)
    gram = np.block([[dense(F, G) for G in frames[:2]] for F in frames[:2]])
    rebuilt = Q @ Q.T
    assert rebuilt == pytest.approx(gram, abs=1e-10)
    assert S.shape[1] <= 9


def test_what_centring_leaves_of_a_constant_is_rounding():
    """Whatever n is: sums of equal numbers are seldom exact."""
    for n in range(2, 60):
        for scale in (0.1, 1 / 3, 1e10 / 7):
            constant = Features(scale * K, np.ones((n, 1)), center=True)
            assert orthonormal([constant])[0].shape == (n, 0)
    narrow = Features(K, 1e-5 * np.arange(5.0)[:, None], center=True)  # hardly different, but so
    assert orthonormal([narrow])[0].shape[1] == 1
