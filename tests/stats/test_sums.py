"""Sums over pairs for all permutations against the whole matrix."""

from __future__ import annotations

import numpy as np
import pytest

import mercer as m
from mercer.stats import bank
from mercer.stats.bank import Bank
from mercer.stats.permutations import Units
from mercer.stats.sums import feature_sums, tile_sums

LADDER = [m.Gaussian(1.0), m.Gaussian(3.0), m.Laplacian(2.0, p=1), m.Laplacian(5.0, p=1)]
OTHERS = [m.Laplacian(2.0), m.Matern(2.0), m.Polynomial(2), 1e9 * m.Gaussian(1.0)]


class Own(m.Gaussian):
    """A subclass with values of its own, which no formula describes."""

    def tiles(self, X, Y):
        block = super().tiles(X, Y)
        return lambda rows, cols: block(rows, cols) ** 2


def units_of(n: int, rng: np.random.Generator) -> Units:
    """Units of one to forty samples, in order."""
    sizes = rng.integers(1, 41, n)
    return Units(np.repeat(np.arange(n), sizes)[:n])


def whole(kernel, X, units, U):
    """The same sums from the whole matrix in double precision."""
    K = np.array(kernel(np.asarray(X, float)))
    own = K.diagonal().copy()
    np.fill_diagonal(K, 0)
    E = np.eye(len(units))[units.place]
    S = E.T @ K @ E
    return np.einsum("ic,ij,jc->c", U, S, U, optimize=True), S.sum(axis=1), E.T @ own, np.sum(K**2)


@pytest.mark.parametrize("kernels", [LADDER, LADDER[:1], OTHERS, [Own(2.0)], LADDER + OTHERS])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("data", ["float64", "float32", "outlier", "ties"])
def test_sums_over_units_are_those_of_the_matrix(kernels, compiled, data, monkeypatch):
    monkeypatch.setattr(bank, "COMPILED", 0 if compiled else np.inf)
    rng, n = np.random.default_rng(0), 500
    X = rng.standard_normal((n, 3))
    if data == "ties":
        X = np.round(X)
    if data == "outlier":
        X[n // 2] = 1e4
    if data == "float32":
        X = X.astype(np.float32)
    units = units_of(n, rng)
    U = rng.standard_normal((len(units), 7)).astype(np.float32)
    found = tile_sums(Bank(kernels, X), units, U)
    for place, kernel in enumerate(kernels):
        quadratic, rows, diag, squares = whole(kernel, X, units, U)
        size = np.sqrt(squares) * n
        assert np.abs(found.quadratic[place] - quadratic).max() < 1e-5 * size
        assert np.abs(found.rows[place] - rows).max() < 1e-6 * max(np.abs(rows).max(), 1e-3 * size)
        np.testing.assert_allclose(found.diag[place], diag, rtol=1e-5)
        np.testing.assert_allclose(found.squares[place], squares, rtol=1e-4)
        assert np.abs(found.quadratic[place] - quadratic).max() < found.rounding[place, 0] * 40**2


@pytest.mark.parametrize("compiled", [False, True])
def test_the_number_of_threads_changes_nothing(compiled, monkeypatch):
    monkeypatch.setattr(bank, "COMPILED", 0 if compiled else np.inf)
    kernels, rng = LADDER + OTHERS, np.random.default_rng(0)
    X, units = rng.standard_normal((700, 3)), units_of(700, rng)
    U = rng.standard_normal((len(units), 5)).astype(np.float32)
    one, three = (tile_sums(Bank(kernels, X), units, U, workers) for workers in (1, 3))
    for a, b in zip(vars(one).values(), vars(three).values(), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_unit_may_be_longer_than_a_tile(compiled, monkeypatch):
    monkeypatch.setattr(bank, "COMPILED", 0 if compiled else np.inf)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1000, 2))
    units = Units(np.repeat([0, 1, 2], [700, 3, 297]))
    U = rng.standard_normal((3, 4)).astype(np.float32)
    found = tile_sums(Bank(LADDER, X), units, U)
    for place, kernel in enumerate(LADDER):
        np.testing.assert_allclose(found.quadratic[place], whole(kernel, X, units, U)[0], rtol=1e-4)


def test_dense_features_are_moved_to_an_origin_near_their_mean(rng):
    """So that an offset common to all samples costs no digits."""
    near = rng.standard_normal((60, 3))
    units, U = Units(np.arange(60)), rng.choice([-1.0, 1.0], (30, 5))
    U = np.concatenate([U, -U])
    far = feature_sums([near[:40] + 1e8, near[40:] + 1e8], units, U)
    moved = near - near[:40].mean(axis=0)
    np.testing.assert_allclose(far.diag[0], np.sum(moved**2, axis=1), atol=1e-5)
    K = moved @ moved.T - np.diag(np.sum(moved**2, axis=1))
    np.testing.assert_allclose(far.quadratic[0], np.einsum("ic,ij,jc->c", U, K, U), atol=1e-3)
