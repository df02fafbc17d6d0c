"""Chunks of one container: slices of an array, a memory map, a table, a list."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import check_count
from ..data import Data, length, take
from ..exceptions import FileFormatError
from ..tensors import on_host
from .base import Chunk, joined
from .source import Source, existing, rows_of_chunk

_PLACES = 128  # single rows that are read from a file at a time
_ROWS = 65_536  # of a chunk whose samples are of unknown size


class ArrayChunks(Source):
    """Slices of one container: an array, a memory map, a CSR matrix, a table, a list.

    Any container with a shape that can be sliced is read slice by slice, such as h5py data sets and
    Zarr arrays.

    Parameters
    ----------
    X : data
        Any container with a length that can be sliced.
    y, weight : array, optional
        Targets and weights; they are sliced like X, so they may also be in files.
    rows : int, optional
        Samples in a chunk; by default as many as take 16 MB.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.chunks import ArrayChunks
    >>> chunks = ArrayChunks(np.arange(10.0)[:, None], np.ones(10), rows=4)
    >>> [len(chunk) for chunk in chunks]
    [4, 4, 2]
    >>> chunks.reduce(lambda chunk: (chunk.X.sum(), chunk.y.sum()))
    (array(45.), array(10.))
    """

    def __init__(self, X: Data, y: Any = None, weight: Any = None, rows: int | None = None) -> None:
        super().__init__("X")
        X, y, weight = map(on_host, (X, y, weight))
        self.X = X.tocsr() if sp.issparse(X) else X
        self.y, self.weight = _vector(y), _vector(weight)
        self.rows = check_count("rows", rows, also=(None,)) or _rows(self.X)
        for name, values in (("targets", self.y), ("weights", self.weight)):
            if values is not None and length(values) != length(X):
                raise ValueError(f"{length(X)} samples, but {length(values)} {name}.")

    @property
    def n_samples(self) -> int:
        return length(self.X)

    def _read(self) -> Iterator[Chunk]:
        n = self.n_samples
        for start in range(0, n, self.rows):
            yield self._rows(slice(start, min(start + self.rows, n)))

    def beside(self, y: np.ndarray, weight: np.ndarray | None = None) -> ArrayChunks:
        return ArrayChunks(self.X, y, weight, self.rows)

    def take(self, places: np.ndarray) -> Chunk:
        if _is_foreign(self.X):  # picks single rows slowly, or not at all
            return super().take(places)
        if not isinstance(self.X, np.memmap):
            return self._rows(places)
        found = []
        for some in np.array_split(places, len(places) // _PLACES + 1):
            found.append(self._rows(some))
            _let_go(self.X)  # a row brings the pages around it
        return joined(found)

    def _rows(self, index: Any) -> Chunk:
        y, weight = (None if v is None else _read_now(v[index]) for v in (self.y, self.weight))
        return Chunk(_read_now(take(self.X, index)), y, weight)


def npy(path: str | PathLike[str], **options: Any) -> ArrayChunks:
    """The chunks of an array in a .npy file, which is mapped into memory."""
    path = existing(path)
    try:
        X = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise FileFormatError(
            f"{path} is not a .npy file of numbers, or is truncated: {error}"
        ) from None
    chunks = ArrayChunks(X, **options)
    Source.__init__(chunks, str(path), [path])
    return chunks


def _rows(X: Data) -> int:
    """Rows that take some megabytes; whole pieces of what is stored in pieces."""
    if sp.issparse(X):
        return rows_of_chunk(12 * X.nnz / max(X.shape[0], 1))
    itemsize = getattr(getattr(X, "dtype", None), "itemsize", 0)
    if not itemsize or X.dtype == object or not hasattr(X, "shape"):
        return _ROWS
    rows = rows_of_chunk(itemsize * int(np.prod(X.shape[1:])))
    stored = getattr(X, "chunks", None)
    piece = stored[0] if stored else 1
    return max(rows // piece, 1) * piece


def _vector(values: Any) -> Any:
    """Targets that can be sliced: lists and columns as arrays, arrays on disk as they are."""
    return values if values is None or _is_foreign(values) else np.asanyarray(values)


def _is_foreign(X: Any) -> bool:
    """Is this an array of another library, of h5py or Zarr, which slices of it are read from?"""
    return hasattr(X, "chunks") and hasattr(X, "shape") and not isinstance(X, np.ndarray)


def _read_now(X: Data) -> Data:
    """Reads ahead of the work on the data, and releases the pages of the file."""
    if not isinstance(X, np.memmap):
        return X
    found = np.array(X)
    _let_go(X)
    return found


def _let_go(X: np.memmap) -> None:
    """Pages of the file that this process holds; they stay in the cache of the system."""
    pages: Any = getattr(X, "_mmap", None)
    if X.mode in ("r", "r+") and hasattr(pages, "madvise") and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)
