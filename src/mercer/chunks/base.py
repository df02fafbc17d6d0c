"""Samples in chunks: read one after the other, worked on, and forgotten."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..data import Data, join, length, take

T = TypeVar("T")
Sums = tuple[np.ndarray, ...]

_BYTES = 64e6  # of a chunk, if nobody says how many rows it has
_ROWS = 65_536  # of a chunk whose samples are of unknown size


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some samples in a row, with their targets and weights if there are any.

    Attributes
    ----------
    X : data
        The samples, as the source has them.
    y : ndarray or None
    weight : ndarray or None
    start : int
        The number of the first of them among all.
    """

    X: Data
    y: np.ndarray | None = None
    weight: np.ndarray | None = None
    start: int = 0

    def __len__(self) -> int:
        return length(self.X)

    def rows(self, index: Any) -> Chunk:
        """Some of these samples; ``start`` is that of the chunk unless ``index`` is a slice."""
        y = None if self.y is None else self.y[index]
        weight = None if self.weight is None else self.weight[index]
        first = index.start or 0 if isinstance(index, slice) else 0
        return Chunk(take(self.X, index), y, weight, self.start + first)


class Chunks(ABC):
    """Samples that come in chunks: always the same ones, in the same order.

    Only :meth:`__iter__` is required of a subclass. Whatever is computed from all samples is a
    pass: a function of one chunk, whose results are added up (:meth:`reduce`) or put one after the
    other (:meth:`map`). So a source that is not read here, such as a cluster, overrides these two.
    """

    @abstractmethod
    def __iter__(self) -> Iterator[Chunk]:
        """The chunks in order."""

    @property
    def n_samples(self) -> int:
        """The number of samples; counted in one pass if the source does not know it."""
        if "_counted" not in vars(self):
            (count,) = self.reduce(_count)
            self.__dict__["_counted"] = int(count)
        return self.__dict__["_counted"]

    def __len__(self) -> int:
        return self.n_samples

    def reduce(self, job: Callable[[Chunk], Sums]) -> Sums:
        """The sums over all chunks of the arrays that ``job`` returns, added in order."""
        total: list[np.ndarray] | None = None
        for found in self.map(job):
            if total is None:
                total = [np.array(part, dtype=np.result_type(part, np.float64)) for part in found]
            else:
                for whole, part in zip(total, found, strict=True):
                    whole += part
        if total is None:
            raise ValueError("there are no samples: the source has no chunk.")
        return tuple(total)

    def map(self, job: Callable[[Chunk], T]) -> Iterator[T]:
        """``job`` of each chunk, in order; the next one is read meanwhile."""
        for chunk in ahead(iter(self)):
            yield job(chunk)

    def sample(self, n: int, rng: np.random.Generator) -> Chunk:
        """n samples drawn at random without replacement, in the order of the source.

        In one pass, whatever the number of samples: each gets a random key, and those with the
        smallest keys stay.
        """
        kept: Chunk | None = None
        keys = np.empty(0)
        for chunk in self:
            drawn = rng.random(len(chunk))
            if len(keys) < n:
                few = np.arange(len(chunk))
            else:
                few = np.flatnonzero(drawn < keys.max())
            if not len(few):
                continue
            kept = chunk.rows(few) if kept is None else joined([kept, chunk.rows(few)])
            keys = np.concatenate([keys, drawn[few]])
            if len(keys) > n:
                stay = np.sort(np.argpartition(keys, n)[:n])
                kept, keys = kept.rows(stay), keys[stay]
        if kept is None:
            raise ValueError("there are no samples: the source has no chunk.")
        return replace(kept, start=0)

    def beside(self, y: np.ndarray, weight: np.ndarray | None = None) -> Chunks:
        """The same samples with targets and weights that lie in memory, in place of their own."""
        return Beside(self, Slices(y, weight))


@dataclass
class Mapped(Chunks):
    """Chunks to each of which something is done, sample by sample, where it is.

    Parameters
    ----------
    chunks : Chunks
        The source.
    step : callable
        A function of a chunk with a chunk as its value.
    """

    chunks: Chunks
    step: Callable[[Chunk], Chunk]

    @property
    def n_samples(self) -> int:
        return self.chunks.n_samples

    def __iter__(self) -> Iterator[Chunk]:
        return map(self.step, self.chunks)

    def map(self, job: Callable[[Chunk], T]) -> Iterator[T]:
        return self.chunks.map(After(self.step, job))

    def reduce(self, job: Callable[[Chunk], Sums]) -> Sums:
        return self.chunks.reduce(After(self.step, job))

    def sample(self, n: int, rng: np.random.Generator) -> Chunk:
        return self.step(self.chunks.sample(n, rng))


@dataclass
class Beside(Mapped):
    """Chunks to which targets are added by the number of their first sample."""

    def sample(self, n: int, rng: np.random.Generator) -> Chunk:
        return Chunks.sample(self, n, rng)  # whose samples have lost their numbers elsewhere


@dataclass
class Slices:
    """A step: the targets and weights of a chunk are slices of these."""

    y: np.ndarray
    weight: np.ndarray | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        rows = slice(chunk.start, chunk.start + len(chunk))
        weight = None if self.weight is None else self.weight[rows]
        return Chunk(chunk.X, self.y[rows], weight, chunk.start)


@dataclass
class After:
    """A job on chunks after a step."""

    step: Callable[[Chunk], Chunk]
    job: Callable[[Chunk], Any]

    def __call__(self, chunk: Chunk) -> Any:
        return self.job(self.step(chunk))


class ArrayChunks(Chunks):
    """Slices of one container: an array, a memory map, a CSR matrix, a table, a list.

    Parameters
    ----------
    X : data
        Whatever has a length and can be sliced.
    y, weight : array, optional
        Targets, and weights.
    rows : int, optional
        Samples in a chunk; by default as many as take 64 MB.

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
        self.X, self.y, self.weight = X, y, weight
        self.rows = rows or rows_of_chunk(X)

    @property
    def n_samples(self) -> int:
        return length(self.X)

    def __iter__(self) -> Iterator[Chunk]:
        whole = Chunk(self.X, self.y, self.weight)
        for start in range(0, self.n_samples, self.rows):
            chunk = whole.rows(slice(start, min(start + self.rows, self.n_samples)))
            if isinstance(chunk.X, np.memmap):  # read here, ahead of the work on it
                chunk = replace(chunk, X=np.array(chunk.X))
            yield chunk

    def beside(self, y: np.ndarray, weight: np.ndarray | None = None) -> Chunks:
        return ArrayChunks(self.X, y, weight, self.rows)

    def sample(self, n: int, rng: np.random.Generator) -> Chunk:
        few = min(n, self.n_samples)
        places = np.sort(rng.choice(self.n_samples, few, replace=False))
        return Chunk(self.X, self.y, self.weight).rows(places)


def rows_of_chunk(X: Data) -> int:
    """How many samples make a chunk of some megabytes."""
    itemsize = getattr(getattr(X, "dtype", None), "itemsize", 0)
    if not isinstance(X, np.ndarray) or not itemsize or X.dtype == object:
        return _ROWS
    return int(max(1024, _BYTES // max(itemsize * int(np.prod(X.shape[1:])), 1)))


def joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    first = chunks[0]
    y = None if first.y is None else np.concatenate([c.y for c in chunks])
    weight = None if first.weight is None else np.concatenate([c.weight for c in chunks])
    return Chunk(join(*(c.X for c in chunks)), y, weight, first.start)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each fetched by another thread while the one before is in use."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="mercer-reader") as reader:
        coming = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield item  # type: ignore[misc]


def _count(chunk: Chunk) -> Sums:
    return (np.array(len(chunk)),)
