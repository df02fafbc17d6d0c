"""Samples drawn in one pass: which they are, and what is left."""

import numpy as np
import pytest

from mercer import stream
from mercer.chunks.changes import uniform
from mercer.chunks.drawn import draw

N = 5000
X = np.arange(float(N))[:, None]


@pytest.mark.parametrize("rows", [7, 999, N])
@pytest.mark.parametrize("n", [1, 40, 4000, 2 * N])
def test_those_with_the_smallest_hashes(rows, n):
    drawn = draw(stream(X, target=X[:, 0], rows=rows), n, rng=3)
    u = uniform(0, N, drawn.seed)
    expected = np.sort(np.argsort(u)[:n])
    np.testing.assert_array_equal(drawn.chunk.X[:, 0], expected)
    np.testing.assert_array_equal(drawn.chunk.y, expected)
    np.testing.assert_array_equal(drawn.hashes, u[expected])
    assert (drawn.count, len(drawn)) == (N, min(n, N))


def test_parts_and_bands_are_disjoint_and_all_there_is():
    source = stream(X, rows=800)
    drawn = draw(source, 300, rng=0)
    few, more = (drawn.part(*places).X[:, 0] for places in ((0, 100), (100, 300)))
    rest = np.concatenate([c.X[:, 0] for c in source.changed(drawn.band(300))])
    whole = np.concatenate([few, more, rest])
    np.testing.assert_array_equal(np.sort(whole), X[:, 0])
    some = source.changed(drawn.band(100, 1000))
    found = np.concatenate([c.X[:, 0] for c in some])
    assert len(some) == len(found)
    assert abs(len(found) - 1000) < 5 * np.sqrt(1000)
    assert not set(found) & set(few)
    assert set(more) <= set(found)  # it begins with those that come next
    assert len(source.changed(drawn.band(0))) == N


def test_the_choice_is_uniform():
    """Each half of the rows has half of those drawn, over many draws."""
    firsts = [np.mean(draw(stream(X, rows=700), 50, rng=s).chunk.X < N / 2) for s in range(200)]
    assert abs(np.mean(firsts) - 0.5) < 5 * 0.5 / np.sqrt(50 * 200)


def test_nothing_to_draw_from():
    with pytest.raises(ValueError, match="no samples"):
        draw(stream(X, rows=100).split(0.5, rng=0)[0].changed(draw(stream(X), 1).band(0, 0)), 3)
