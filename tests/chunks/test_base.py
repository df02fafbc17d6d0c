"""Samples in chunks: slices of containers, passes over them, samples drawn in one pass."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer.chunks import ArrayChunks, Chunk, Chunks


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


def test_chunks_of_a_container_are_its_slices():
    X = np.random.default_rng(0).standard_normal((25, 3))
    for form in (X, sp.csr_matrix(X), [tuple(x) for x in X]):
        chunks = list(ArrayChunks(form, np.arange(25), rows=10))
        assert [len(c) for c in chunks] == [10, 10, 5]
        assert [c.start for c in chunks] == [0, 10, 20]
        np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), np.arange(25))
        assert chunks[0].weight is None


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


def test_a_memory_map_is_read_chunk_by_chunk(tmp_path):
    X = np.arange(60.0).reshape(30, 2)
    np.save(tmp_path / "X.npy", X)
    chunks = ArrayChunks(np.load(tmp_path / "X.npy", mmap_mode="r"), rows=8)
    assert all(type(c.X) is np.ndarray for c in chunks)
    np.testing.assert_array_equal(np.concatenate([c.X for c in chunks]), X)


def test_an_error_in_the_source_is_raised():
    class Broken(Chunks):
        def __iter__(self):
            yield Chunk(np.zeros((2, 1)))
            raise OSError("the disk is gone")

    with pytest.raises(OSError, match="disk is gone"):
        Broken().reduce(lambda c: (c.X.sum(),))
