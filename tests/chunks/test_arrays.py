"""Chunks of containers: arrays, memory maps, sparse matrices, lists; HDF5 and Zarr."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import stream
from mercer.chunks import ArrayChunks
from mercer.exceptions import FileFormatError


def test_chunks_of_a_container_are_its_slices():
    X = np.random.default_rng(0).standard_normal((25, 3))
    for form in (X, sp.csr_matrix(X), sp.coo_matrix(X), [tuple(x) for x in X]):
        chunks = list(ArrayChunks(form, np.arange(25), rows=10))
        assert [len(c) for c in chunks] == [10, 10, 5]
        assert [c.start for c in chunks] == [0, 10, 20]
        np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), np.arange(25))
        assert chunks[0].weight is None


def test_a_npy_file_is_read_chunk_by_chunk(tmp_path):
    X = np.arange(60.0).reshape(30, 2)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", X[:, 0])
    y = np.load(tmp_path / "y.npy", mmap_mode="r")
    chunks = stream(tmp_path / "X.npy", target=y, rows=8)
    assert len(chunks) == 30
    assert all(type(c.X) is np.ndarray and type(c.y) is np.ndarray for c in chunks)
    np.testing.assert_array_equal(np.concatenate([c.X for c in chunks]), X)
    np.testing.assert_array_equal(chunks.take(np.array([3, 29])).y, X[[3, 29], 0])


def test_what_is_written_to_a_map_of_ones_own_stays(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((4, 1)))
    X = np.load(tmp_path / "X.npy", mmap_mode="c")  # copy on write: pages hold what no file has
    X[2] = 5
    for _ in range(2):
        assert sum(c.X.sum() for c in ArrayChunks(X, rows=2)) == 5


def test_a_file_that_is_cut_off_or_something_else_is_refused(tmp_path):
    np.save(tmp_path / "X.npy", np.zeros((100, 2)))
    whole = (tmp_path / "X.npy").read_bytes()
    for content in (whole[:500], whole[:20], b"", b"not a file of numbers"):
        (tmp_path / "bad.npy").write_bytes(content)
        with pytest.raises(FileFormatError, match=r"bad\.npy"):
            stream(tmp_path / "bad.npy")
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    with pytest.raises(FileFormatError, match=r"objects\.npy"):
        stream(tmp_path / "objects.npy")


def test_lengths_have_to_agree():
    with pytest.raises(ValueError, match="5 samples, but 4 targets"):
        ArrayChunks(np.zeros((5, 1)), np.zeros(4))
    with pytest.raises(ValueError, match="5 samples, but 6 weights"):
        ArrayChunks(np.zeros((5, 1)), weight=np.ones(6))


def test_chunks_take_some_megabytes_by_default():
    assert len(next(iter(ArrayChunks(np.zeros((3_000_000, 4)))))) == 500_000
    assert len(next(iter(ArrayChunks(np.zeros((3_000_000, 4), np.float32))))) == 1_000_000


def test_arrays_of_h5py(tmp_path):
    h5py = pytest.importorskip("h5py")
    X = np.random.default_rng(0).standard_normal((50, 3))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["X"], file["y"] = X, X[:, 0]
        file.create_dataset("pieces", data=X, chunks=(7, 3))
        _agrees(stream(file["X"], target=file["y"], rows=20), X)
        _agrees(stream(file["pieces"], target=X[:, 0], rows=14), X)


def test_arrays_of_zarr(tmp_path):
    zarr = pytest.importorskip("zarr")
    X = np.random.default_rng(0).standard_normal((50, 3))
    stored = zarr.open_array(
        str(tmp_path / "a.zarr"), mode="w", shape=X.shape, chunks=(8, 3), dtype="f8"
    )
    stored[:] = X
    _agrees(stream(stored, target=X[:, 0], rows=16), X)


def _agrees(chunks, X):
    assert len(chunks) == len(X)
    np.testing.assert_array_equal(np.concatenate([c.X for c in chunks]), X)
    few = chunks.sample(10, 0)
    np.testing.assert_array_equal(few.X, ArrayChunks(X).sample(10, 0).X)
    np.testing.assert_array_equal(few.y, few.X[:, 0])
