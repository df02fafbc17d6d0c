"""Samples in chunks: read one after the other, processed, and discarded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ..checks import check_count
from ..data import Data, join, length, take
from ..randomness import as_generator

T = TypeVar("T")
Sums = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive samples, with their targets and weights if there are any.

    Attributes
    ----------
    X : data
        The samples, as the source has them.
    y : ndarray or None
    weight : ndarray or None
    start : int
        The row number of the first sample.
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


class Change(ABC):
    """A transformation of chunks: a picklable function of a chunk that keeps all samples or some of
    them.

    Attributes
    ----------
    alone : bool
        Whether the result for a sample depends only on the sample itself (and not on its row
        number).
    """

    alone = True

    @abstractmethod
    def __call__(self, chunk: Chunk) -> Chunk: ...

    def count(self, start: int, stop: int) -> int:
        """How many of the samples with these numbers are kept."""
        return stop - start


class Chunks(ABC):
    """Samples in chunks: always the same samples, in the same order.

    Subclasses must define :meth:`__iter__`. Anything computed from all samples is a pass: a
    function of one chunk, whose results are summed (:meth:`reduce`) or returned one after the other
    (:meth:`map`). A source that is not read locally, such as a cluster, overrides these two.

    :func:`~mercer.chunks.stream` makes chunks from files, arrays, functions and Dask collections.
    """

    @abstractmethod
    def __iter__(self) -> Iterator[Chunk]:
        """The chunks in order, none of them empty."""

    @property
    def n_samples(self) -> int:
        """The number of samples; counted in one pass if the source does not know it."""
        if "_counted" not in vars(self):
            (count,) = self.reduce(_count)
            self.__dict__["_counted"] = int(count)
        return self.__dict__["_counted"]

    def __len__(self) -> int:
        return self.n_samples

    def about(self) -> float | None:
        """About how many samples there are, if that can be said without a pass."""
        return vars(self).get("_counted")

    # ---- passes --------------------------------------------------------------------------------
    def reduce(self, job: Callable[[Chunk], Sums]) -> Sums:
        """The sums over all chunks of the arrays that ``job`` returns, added in order.

        A job with a method ``over`` is given all chunks at once: its sums stay elsewhere, such as
        on a GPU, until the pass is over.
        """
        over = getattr(job, "over", None)
        if over is not None:
            return over(self)
        total: list[np.ndarray] | None = None
        for found in self.map(job):
            if total is None:
                total = [np.array(part, dtype=np.result_type(part, np.float64)) for part in found]
            else:
                for whole, part in zip(total, found, strict=True):
                    whole += part
        if total is None:
            raise no_samples()
        return tuple(total)

    def map(self, job: Callable[[Chunk], T]) -> Iterator[T]:
        """``job`` of each chunk with samples, in order; the next one is read meanwhile."""
        for chunk in ahead(iter(self)):
            if len(chunk):
                yield job(chunk)

    def sample(self, n: int, rng: Any = None) -> Chunk:
        """Draw n samples at random without replacement, in the order of the source.

        The choice depends only on ``rng`` (a generator, or its seed) and the number of samples: it
        is the same for a file, an array or a cluster, whatever the size of the chunks.
        """
        check_count("n", n)
        total = self.n_samples
        rng = as_generator(rng)
        return self.take(np.sort(rng.choice(total, min(n, total), replace=False)))

    def take(self, places: np.ndarray) -> Chunk:
        """The samples with these row numbers, which must be increasing."""
        found = []
        for part in self.map(Picked(places)):
            if len(part):
                found.append(part)
            if part.start > places[-1]:
                break
        if not found:
            raise no_samples()
        return replace(joined(found), start=0)

    def targets(self) -> tuple[np.ndarray, np.ndarray | None]:
        """The targets of all samples, and their weights if there are any, as arrays."""
        parts = list(self.map(_targets))
        if not parts:
            raise no_samples()
        if any(y is None for y, _ in parts):
            raise ValueError("these chunks have no targets y, which are needed here.")
        y = np.concatenate([y for y, _ in parts])
        if all(w is None for _, w in parts):
            return y, None
        return y, np.concatenate([np.ones(len(y)) if w is None else w for y, w in parts])

    # ---- chunks made of others -----------------------------------------------------------------
    def changed(self, change: Change) -> Chunks:
        """Apply ``change`` to each chunk whenever it is read."""
        return Changed(self, change)

    def apply(self, function: Callable[[Data], Data]) -> Chunks:
        """The samples after ``function``, such as the ``transform`` of a fitted transformer.

        Parameters
        ----------
        function : callable
            A function of consecutive samples that returns the same number of samples.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import stream
        >>> chunks = stream(np.arange(1.0, 4.0)[:, None]).apply(np.log)
        >>> chunks.take(np.array([0])).X
        array([[0.]])
        """
        from .changes import OnSamples

        return self.changed(OnSamples(function))

    def select(self, columns: Any = None, target: Any = None, weight: Any = None) -> Chunks:
        """Choose the columns of the features, the target and the weight.

        Parameters
        ----------
        columns : list of names or numbers, optional
            By default all columns that are neither target nor weight.
        target, weight : name or number of a column, optional
            A list for several targets. By default existing ones are kept.
        """
        from .roles import Roles

        return self.changed(Roles(columns, target, weight))

    def beside(self, y: np.ndarray, weight: np.ndarray | None = None) -> Chunks:
        """The same samples with other targets and weights, given as arrays in memory."""
        from .changes import Slices

        return self.changed(Slices(y, weight))

    def split(self, fraction: float = 0.2, rng: Any = None) -> tuple[Chunks, Chunks]:
        """Split at random into two parts: most of the samples, and about a ``fraction`` for
        validation.

        The part of a sample is chosen by a hash of its row number, so both parts are the same in
        every pass, for any chunk size, and nothing is stored.

        Parameters
        ----------
        fraction : float
            The share of the second part, between 0 and 1.
        rng : None, int or Generator
            Used to draw the hash.

        Examples
        --------
        >>> import numpy as np
        >>> from mercer import stream
        >>> most, held_out = stream(np.arange(1000.0)[:, None]).split(0.1, rng=0)
        >>> len(most) + len(held_out), 60 < len(held_out) < 140
        (1000, True)
        """
        from .changes import halves

        first, second = halves(fraction, rng)
        return self.changed(first), self.changed(second)


class Changed(Chunks):
    """The chunks of another source after a change.

    Parameters
    ----------
    source : Chunks
    change : Change
    """

    def __init__(self, source: Chunks, change: Change) -> None:
        self.source, self.change = source, change

    @property
    def n_samples(self) -> int:
        return self.change.count(0, self.source.n_samples)

    def about(self) -> float | None:
        whole = self.source.about()
        return None if whole is None else self.change.count(0, int(whole))

    def __iter__(self) -> Iterator[Chunk]:
        start = 0
        for chunk in self.source:
            found = self.change(chunk)
            if len(found):
                yield replace(found, start=start)
                start += len(found)

    def take(self, places: np.ndarray) -> Chunk:
        if self.change.alone:
            return self.change(self.source.take(places))
        return super().take(places)


@dataclass
class Picked:
    """The samples of a chunk with given numbers."""

    places: np.ndarray

    def __call__(self, chunk: Chunk) -> Chunk:
        """The result is often empty."""
        first, last = np.searchsorted(self.places, [chunk.start, chunk.start + len(chunk)])
        return chunk.rows(self.places[first:last] - chunk.start)


def joined(chunks: list[Chunk]) -> Chunk:
    """Several chunks as one."""
    first = chunks[0]
    y = None if first.y is None else np.concatenate([c.y for c in chunks])
    weight = None
    if any(c.weight is not None for c in chunks):  # others count once
        weight = np.concatenate([np.ones(len(c)) if c.weight is None else c.weight for c in chunks])
    return Chunk(join(*(c.X for c in chunks)), y, weight, first.start)


def regrouped(chunks: Iterator[Chunk], rows: int) -> Iterator[Chunk]:
    """The same samples, ``rows`` in each chunk but the last."""
    held: list[Chunk] = []
    count = 0
    for chunk in chunks:
        start = 0
        while len(chunk) - start + count >= rows:
            stop = start + rows - count
            whole = start == 0 and stop == len(chunk)
            part = chunk if whole else chunk.rows(slice(start, stop))
            yield joined([*held, part])
            held, count, start = [], 0, stop
        if start < len(chunk):
            held.append(chunk.rows(slice(start, len(chunk))))
            count += len(chunk) - start
    if held:
        yield joined(held)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, each fetched by another thread while the one before is in use."""
    end = object()
    with ThreadPoolExecutor(1, thread_name_prefix="mercer-reader") as reader:
        coming = reader.submit(next, items, end)
        while (item := coming.result()) is not end:
            coming = reader.submit(next, items, end)
            yield item  # type: ignore[misc]


def no_samples(name: str = "the source") -> ValueError:
    """The error of a source without any chunk."""
    return ValueError(f"there are no samples: {name} has no rows.")


def _count(chunk: Chunk) -> Sums:
    return (np.array(len(chunk)),)


def _targets(chunk: Chunk) -> tuple[Any, Any]:
    return chunk.y, chunk.weight
