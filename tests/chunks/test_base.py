"""Samples in chunks: passes over them, samples drawn in one pass, chunks made of others."""

import numpy as np
import pytest

from mercer.chunks import ArrayChunks, Chunk, Chunks
from mercer.chunks.base import regrouped


class Numbers(Chunks):
    """A source that knows nothing but its chunks."""

    def __init__(self, sizes):
        self.sizes = sizes

    def __iter__(self):
        start = 0
        for size in self.sizes:
            X = np.arange(start, start + size, dtype=float)[:, None]
            yield Chunk(X, 2 * X[:, 0], np.full(size, 0.5), start)
            start += size


def test_a_source_that_only_iterates_is_counted_and_added_up():
    chunks = Numbers([3, 4, 1])
    assert len(chunks) == 8
    total, weight = chunks.reduce(lambda c: (c.y.sum(), c.weight.sum()))
    assert total == 2 * sum(range(8))
    assert weight == 4
    assert list(chunks.map(len)) == [3, 4, 1]


def test_an_empty_source_is_refused():
    with pytest.raises(ValueError, match="no samples"):
        Numbers([]).reduce(lambda c: (c.y,))


@pytest.mark.parametrize("chunks", [Numbers([7, 13, 1, 19]), ArrayChunks(np.arange(40.0)[:, None])])
def test_samples_are_drawn_without_replacement_and_uniformly(chunks):
    rng, counts = np.random.default_rng(0), np.zeros(40)
    for _ in range(400):
        drawn = chunks.sample(10, rng).X[:, 0].astype(int)
        assert len(np.unique(drawn)) == 10
        assert np.all(np.diff(drawn) > 0)
        counts[drawn] += 1
    assert np.all(np.abs(counts - 100) < 5 * np.sqrt(400 * 0.25 * 0.75))
    assert len(chunks.sample(100, rng)) == 40


def test_an_error_in_the_source_is_raised():
    class Broken(Chunks):
        def __iter__(self):
            yield Chunk(np.zeros((2, 1)))
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        Broken().reduce(lambda c: (c.X.sum(),))


def test_the_same_samples_are_drawn_from_any_chunks():
    X = np.arange(40.0)[:, None]
    sources = [Numbers([7, 13, 1, 19]), Numbers([40]), ArrayChunks(X, rows=9)]
    sources += [s.apply(np.copy) for s in sources]
    drawn = [s.sample(11, np.random.default_rng(3)).X for s in sources]
    for other in drawn[1:]:
        np.testing.assert_array_equal(other, drawn[0])


def test_samples_by_number():
    taken = Numbers([3, 4, 5]).take(np.array([0, 2, 3, 11]))
    np.testing.assert_array_equal(taken.X[:, 0], [0, 2, 3, 11])
    np.testing.assert_array_equal(taken.y, [0, 4, 6, 22])
    assert taken.start == 0


@pytest.mark.parametrize("sizes", [[10], [1] * 10, [3, 4, 3], [4, 4, 2], [9, 1]])
@pytest.mark.parametrize("rows", [1, 3, 4, 10, 100])
def test_regrouped_chunks_hold_the_same_samples(sizes, rows):
    found = list(regrouped(iter(Numbers(sizes)), rows))
    assert [len(c) for c in found[:-1]] == [rows] * (len(found) - 1)
    assert 1 <= len(found[-1]) <= rows
    np.testing.assert_array_equal(np.concatenate([c.X[:, 0] for c in found]), np.arange(10))
    np.testing.assert_array_equal(np.concatenate([c.y for c in found]), 2 * np.arange(10))


def test_only_two_chunks_are_alive_at_a_time():
    import gc
    import weakref

    alive, most = [], 0

    class Large(Chunks):
        def __iter__(self):
            for start in range(8):
                X = np.zeros((1, 1))
                alive.append(weakref.ref(X))
                yield Chunk(X, start=start)
                del X

    def job(chunk):
        nonlocal most
        gc.collect()
        most = max(most, sum(ref() is not None for ref in alive))
        return (np.zeros(1),)

    Large().reduce(job)
    assert most <= 3  # the one at work, the next one, and one that is being let go
