from __future__ import annotations

import numpy as np
import pytest

from mercer import Gaussian, Laplacian, Nystrom, Plan
from mercer.gram import tiles
from mercer.gram.microkernel import exp_panels, panels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 64, 3), (13, 65, 5), (20, 300, 40)])
def test_exponentials_of_products(rng, dtype, shape):
    n, m, d = shape
    left, right = -rng.random((n, d)).astype(dtype), rng.random((m, d)).astype(dtype)
    out = np.full((n + 1, m), np.nan, dtype)
    exp_panels(left, panels(right), out[:n])
    expected = np.exp(left.astype(float) @ right.astype(float).T)
    np.testing.assert_allclose(out[:n], expected, rtol=200 * np.finfo(dtype).eps)
    assert np.all(np.isnan(out[n]))  # nothing is written elsewhere


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_coordinate_is_the_exponential_itself(rng, dtype):
    """In full precision, for all numbers that have a normal exponential."""
    lowest = {np.float32: -86.0, np.float64: -707.0}[dtype]
    x = np.concatenate([rng.uniform(lowest, 0, 500), -np.logspace(-30, 0, 100), [0.0, 1e-6]])
    x = x.astype(dtype)
    out = np.empty((len(x), 1), dtype)
    exp_panels(x[:, None], panels(np.ones((1, 1), dtype)), out)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(out[:, 0], np.exp(x.astype(np.longdouble)), rtol=3 * eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_far_away_is_as_good_as_zero(dtype):
    x = np.array([-1e3, -1e30, -np.inf], dtype)
    out = np.empty((3, 3), dtype)
    exp_panels(x[:, None], panels(np.ones((3, 1), dtype)), out)
    assert np.all(out >= 0)
    assert np.all(out < 1e-37)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tails_of_all_sizes(rng, dtype):
    """Nothing is read or written beside, wherever arrays begin."""
    for n, m in [*((n, 70) for n in range(1, 14)), *((7, m) for m in range(1, 71)), (0, 3), (3, 0)]:
        left, right = -rng.random((n, 2)).astype(dtype), rng.random((m, 2)).astype(dtype)
        memory = np.full(n * m + 40, 7, dtype)
        out = memory[17 : 17 + n * m].reshape(n, m)
        left.flags.writeable = False
        exp_panels(left, panels(right), out)
        np.testing.assert_allclose(out, np.exp(left @ right.T), rtol=50 * np.finfo(dtype).eps)
        assert np.all(memory[:17] == 7)
        assert np.all(memory[17 + n * m :] == 7)


def test_arrays_in_another_order_are_refused(rng):
    """Addresses are computed for rows one after the other."""
    left, right = rng.normal(size=(12, 3)), panels(rng.normal(size=(5, 3)))
    for bad in (np.asfortranarray(left), np.hstack([left, left])[:, ::2]):
        with pytest.raises(Exception, match="ascontiguousarray"):
            exp_panels(bad, right, np.empty((12, 5)))
    with pytest.raises(Exception, match="ascontiguousarray"):
        exp_panels(left, right, np.empty((12, 10))[:, ::2])


def test_samples_in_any_order_in_memory(rng, compiled):
    """Slices, columns one after the other, and arrays that must not be written to."""
    X, Z = rng.normal(size=(60, 3)), rng.normal(size=(70, 3))
    expected = np.exp(-((X[:, None] - Z) ** 2).sum(axis=2) / 2)
    strided, fixed = np.repeat(X, 2, axis=1)[:, ::2], Z.copy()
    fixed.flags.writeable = False
    for A in (X, np.asfortranarray(X), strided):
        for B in (np.asfortranarray(Z), fixed):
            k = Gaussian(1.0)
            assert tiles.exponential(k, k.prepare(A), k.prepare(B)) is not None
            np.testing.assert_allclose(k(A, B), expected, rtol=1e-12)


@pytest.fixture
def compiled(monkeypatch):
    """Compiled loops for small matrices, too."""
    monkeypatch.setattr(tiles, "COMPILED", 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("given", [np.float32, np.float64])
@pytest.mark.parametrize("room", [0.0, 1e5, 1e9])
def test_products_of_a_symmetric_matrix(rng, monkeypatch, dtype, given, room):
    """The same as those of tiles by BLAS."""
    X = 5 + rng.normal(size=(700, 3)).astype(given)
    V = rng.normal(size=(700, 2))
    gram = Gaussian(1.5).gram(X, Plan(storage="tiled"))
    expected = gram.products(dtype, room) @ V
    monkeypatch.setattr(tiles, "COMPILED", 1)
    K = gram.products(dtype, room)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for _ in range(2):  # from tiles that are kept, too
        np.testing.assert_allclose(K @ V, expected, atol=tolerance)


def test_features_of_landmarks(rng, compiled):
    X = rng.normal(size=(300, 4))
    k = Nystrom(Gaussian(2.0), X[:40])
    phi = k.features(k.prepare(X))
    K = Gaussian(2.0)(X, X[:40])
    np.testing.assert_allclose(phi @ phi.T, K @ np.linalg.solve(K[:40], K.T), atol=1e-8)


def test_what_is_no_exponential_or_cancels_takes_the_other_way(rng, compiled):
    X = rng.normal(size=(50, 3))
    P = Laplacian(1.0).prepare(X)
    assert tiles.exponential(Laplacian(1.0), P, P) is None
    far = X.copy()
    far[0] = 1e9
    k = Gaussian(1.0)
    assert tiles.exponential(k, k.prepare(far), k.prepare(X)) is None
    expected = np.exp(-((far[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    np.testing.assert_allclose(k(far, X), expected, atol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "m", "t"), [(1, 1, 1), (7, 64, 2), (250, 700, 3), (13, 65, 8)])
def test_products_without_tiles(rng, dtype, n, m, t):
    """Sums of exponentials in one call; exp itself is rounded by a sum, which has its order."""
    left, right = -rng.random((n, 5)).astype(dtype), rng.random((m + 9, 5)).astype(dtype)
    weights, out = rng.normal(size=(m, t)), np.ones((n + 2, t))
    tiles.Exponential(left, right).adder(slice(9, m + 9), weights)(slice(0, n), out[2:])
    exact = 1 + np.exp(left.astype(float) @ right[9:].T.astype(float)) @ weights
    np.testing.assert_allclose(out[2:], exact, atol=(1e-4 if dtype == np.float32 else 1e-12))
    assert np.all(out[:2] == 1)


@pytest.mark.parametrize("n", [1, 2, 12, 40])
def test_tiles_of_a_triangle_are_dealt_evenly(n):
    """A job for each row of tiles would leave one of 12 with 12 tiles, another with one."""
    hands = tiles.dealt(n)
    dealt = sorted(pair for hand in hands for pair in hand)
    assert dealt == [(i, j) for i in range(n) for j in range(i, n)]
    sizes = [len(hand) for hand in hands]
    assert max(sizes) - min(sizes) <= 1
    assert len(hands) == min(16, len(dealt))
