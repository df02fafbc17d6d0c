"""Sums of a kernel over all pairs of points of two bags, strip by strip."""

import numpy as np
import pytest

from mercer import Gaussian, Linear, Matern, MeanEmbedding
from mercer.gram import tiles
from mercer.kernels.bags import loops


@pytest.fixture
def narrow(monkeypatch):
    """Strips of seven points, so that bags are cut, and strips hold several bags."""
    monkeypatch.setattr(tiles, "TILE", 7)


def means(kernel, X, Y):
    return np.array([[kernel(x, y).mean() for y in Y] for x in X])


@pytest.mark.parametrize("kernel", [Gaussian(0.7), Matern(1.0), Linear() + 1, Gaussian(0.5).on(0)])
def test_every_pair_counts_once(kernel, narrow, rng):
    bags = [rng.standard_normal((n, 2)) for n in (1, 20, 3, 50, 8, 8, 1, 13)]
    K = MeanEmbedding(kernel)(bags)
    np.testing.assert_allclose(K, means(kernel, bags, bags), rtol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    others = bags[::-2]
    block = MeanEmbedding(kernel)(bags, others)
    np.testing.assert_allclose(block, means(kernel, bags, others), rtol=1e-12)


def test_two_strips_of_one_bag_are_compared_once(narrow, rng, monkeypatch):
    sizes, compiled = [], loops.add_segments

    def watched(block, *args):
        sizes.append(block.size)
        compiled(block, *args)

    monkeypatch.setattr(loops, "add_segments", watched)
    bag = rng.standard_normal((70, 2))
    k = MeanEmbedding(Gaussian(1.0))
    P = k.prepare([bag])
    np.testing.assert_allclose(k.pairwise(P, P), means(Gaussian(1.0), [bag], [bag]), rtol=1e-12)
    assert 0.5 * 70**2 < sum(sizes) <= 0.6 * 70**2
