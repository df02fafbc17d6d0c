"""Kernels given pair by pair: blocks, diagonals and slopes from lists of pairs."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer import (
    DynamicTimeWarping,
    Gaussian,
    GlobalAlignment,
    PairHMM,
    Signature,
    SoftSubsequence,
)
from mercer.kernels.pairs import base as pairs
from mercer.kernels.pairs.base import Paired, all_pairs, weighted_pairs
from mercer.params import positive
from mercer.testing import check_kernel


@dataclass(eq=False, repr=False)
class Bump(Paired):
    """exp(-|x - y| / s) of numbers, which counts the pairs that it is asked for."""

    s: float = positive(1.0)
    backwards = False

    def prepare(self, X):
        return np.ravel(X).astype(float)

    def arranged(self, X):
        return np.argsort(X)[::-1] if self.backwards else super().arranged(X)

    def pairs(self, X, Y, i, j):
        Bump.asked = i, j
        return np.exp(-np.abs(X[i] - Y[j]) / self.s)

    def slopes(self, X, Y, i, j):
        Bump.asked = i, j
        D = np.abs(X[i] - Y[j]) / self.s
        return D * np.exp(-D)


@dataclass(eq=False, repr=False)
class Still(Bump):
    s: float = positive(1.0, tuned=False)


@pytest.fixture(params=[False, True])
def kernel(request):
    k = Bump(0.7)
    k.backwards = request.param
    return k


def test_contract(kernel, rng):
    check_kernel(kernel, rng.normal(size=(9, 1)))


def test_half_of_a_symmetric_block_is_asked_for(kernel, rng):
    x, y = rng.normal(size=6), rng.normal(size=4)
    wanted = np.exp(-np.abs(np.subtract.outer(x, x)) / 0.7)
    np.testing.assert_allclose(kernel.pairwise(x, x), wanted, rtol=1e-15)
    assert len(Bump.asked[0]) == 21
    np.testing.assert_allclose(
        kernel.pairwise(x, y), np.exp(-np.abs(np.subtract.outer(x, y)) / 0.7), rtol=1e-15
    )
    assert len(Bump.asked[0]) == 24
    if kernel.backwards:
        np.testing.assert_array_equal(Bump.asked[0][::4], np.argsort(x)[::-1])
    tile = kernel.tiles(x, x)
    tile(slice(0, 3), slice(0, 3))
    assert len(Bump.asked[0]) == 6
    tile(slice(0, 3), slice(3, 6))
    assert len(Bump.asked[0]) == 9


def test_pairs_without_weight_have_no_slope(kernel, rng):
    x, y = rng.normal(size=6), rng.normal(size=4)
    W = rng.normal(size=(6, 4)) * (rng.uniform(size=(6, 4)) < 0.4)
    D = np.abs(np.subtract.outer(x, y)) / 0.7
    np.testing.assert_allclose(kernel.grad_theta(x, y, W), [np.sum(W * D * np.exp(-D))])
    assert len(Bump.asked[0]) == np.count_nonzero(W)
    V, E = rng.normal(size=(6, 6)), np.abs(np.subtract.outer(x, x)) / 0.7
    np.testing.assert_allclose(kernel.grad_theta(x, x, V), [np.sum(V * E * np.exp(-E))])
    assert len(Bump.asked[0]) == 21
    assert Still().grad_theta(x, x, V).shape == (0,)


def test_lists_of_pairs():
    np.testing.assert_array_equal(
        all_pairs(lambda i, j: 10.0 * i + j, 2, 3, False), [[0, 1, 2], [10, 11, 12]]
    )
    np.testing.assert_array_equal(all_pairs(lambda i, j: i * j, 0, 3, False), np.empty((0, 3)))
    i, j, weights = weighted_pairs(np.array([[1, 2], [3, 0]]), True)
    assert (i.tolist(), j.tolist(), weights.tolist()) == ([0, 0], [0, 1], [1.0, 5.0])


def test_pieces_have_about_as_many_cells(rng, monkeypatch):
    monkeypatch.setattr(pairs, "_CELLS", 1000)
    cells = rng.integers(0, 400, 500)
    cells[[3, 77, 78]] = 5000  # more than a piece should have
    cut = pairs.pieces(cells)
    assert np.concatenate([np.arange(500)[part] for part in cut]).tolist() == list(range(500))
    for part in cut:
        assert part.stop - part.start <= 1 or cells[part][:-1].sum() <= 1000
    assert pairs.pieces(np.array([])) == []
    assert pairs.pieces(np.zeros(7)) == [slice(0, 7)]


@pytest.mark.parametrize(
    "kernel",
    [
        GlobalAlignment(2.0),
        DynamicTimeWarping(0.1),
        PairHMM(2.0),
        SoftSubsequence(2.0),
        Signature(lengthscale=9.0),
        Signature(Gaussian(2.0)),
    ],
    ids=lambda kernel: repr(kernel)[:12],
)
def test_no_compiled_call_is_long(kernel, rng, monkeypatch):
    """So that Ctrl-C is heard, and cut or not, values and slopes are the same."""
    X = [rng.standard_normal(T) for T in rng.integers(1, 40, 30)]
    P = kernel.prepare(X)
    whole, W = kernel.pairwise(P, P), rng.standard_normal((30, 30))
    slopes = kernel.grad_theta(P, P, W)
    calls, sizes = [], kernel.sizes(P)

    def watched(self, X, Y, i, j):
        calls.append(float(np.sum(sizes[i] * sizes[j])))
        return pairs_of(self, X, Y, i, j)

    pairs_of = type(kernel).pairs
    monkeypatch.setattr(pairs, "_CELLS", 2000)
    monkeypatch.setattr(type(kernel), "pairs", watched)
    np.testing.assert_allclose(kernel.pairwise(P, P), whole, rtol=1e-10)
    assert len(calls) > 10
    assert max(calls) <= 2000 + max(sizes) ** 2
    np.testing.assert_allclose(kernel.grad_theta(P, P, W), slopes, rtol=1e-10)


def test_few_samples_are_many_jobs(monkeypatch):
    """A pair may take long: 16 cores have several tiles each, of sums with such a kernel, too."""
    from mercer.gram import tiles

    jobs = []

    def counted(job, items, workers=None):
        jobs.append(len(items))
        tiles_run(job, items, workers)

    tiles_run = tiles.run
    monkeypatch.setattr(tiles, "run", counted)
    X = np.linspace(0, 3, 250)[:, None]
    expected = np.exp(-np.abs(X - X.T))
    assert np.allclose(Bump()(X), expected)
    assert max(jobs) >= 5 * 16
    jobs.clear()
    kernel = 2.0 * Bump() + Gaussian()
    assert kernel.by_pairs
    assert not Gaussian().by_pairs
    assert np.allclose(kernel(X), 2 * expected + Gaussian()(X))
    assert max(jobs) >= 5 * 16
