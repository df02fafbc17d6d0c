"""Chunks on a cluster: the partitions of collections of Dask, and passes over them there."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..data import Zipped, length
from ..engine.limits import within
from .base import Change, Chunk, Chunks, Picked, Sums, joined, no_samples

T = TypeVar("T")
_FAN_IN = 8  # sums that are added up at a time
_ATTEMPTS = 3  # at a pass whose job was lost together with all workers that had it


class DaskChunks(Chunks):
    """The partitions of a Dask collection: jobs run where the partitions are, and only sums come
    back.

    A pass sends its job to every worker once, calls it on each partition where that is, and adds
    the results up in a tree by the number of partitions. So sums do not depend on how many workers
    there are, nor on which of them finishes first. Partitions that are lost with a worker are
    computed again from their source by Dask.

    Made by :func:`~mercer.chunks.stream`. Each call of a job uses one thread, so a worker should
    have one thread for each core.

    Parameters
    ----------
    parts : list of Delayed
        Each a :class:`Chunk`.
    client : distributed.Client, optional
        Without one, the threads of this process do the work.
    lengths : list of int, optional
        Samples in each part; counted in one pass if they are not known.
    held : object
        The collections behind the parts: data persist on a cluster only as long as the collection
        itself is referenced.
    """

    def __init__(
        self,
        parts: list,
        client: Any = None,
        lengths: list[int] | None = None,
        held: object = None,
    ) -> None:
        self.client, self.held = client, held
        self._parts, self._lengths = list(parts), lengths

    @property
    def lengths(self) -> list[int]:
        """The number of samples in each partition."""
        if self._lengths is None:
            self._lengths = self._results([_lazily(length_of, part) for part in self._parts])
        return self._lengths

    @property
    def n_samples(self) -> int:
        return int(sum(self.lengths))

    def changed(self, change: Change) -> DaskChunks:
        import dask

        sent = dask.delayed(change, traverse=False)  # once, whatever it holds
        lengths, parts = [], []
        for part, start, stop in self._placed():
            parts.append(_lazily(work, sent, part, start))
            lengths.append(change.count(start, stop))
        return DaskChunks(parts, self.client, lengths, self.held)

    def __iter__(self) -> Iterator[Chunk]:
        return self.map(itself)

    def reduce(self, job: Callable[[Chunk], Sums]) -> Sums:
        def pass_over(sent: Any) -> Sums:
            level = [_lazily(summands, sent, part, start) for part, start, _ in self._placed()]
            while len(level) > 1:
                groups = range(0, len(level), _FAN_IN)
                level = [_lazily(added, level[i : i + _FAN_IN]) for i in groups]
            return self._results(level)[0]

        if not self.n_samples:
            raise no_samples("the collection")
        return self._attempted(job, pass_over)

    def map(self, job: Callable[[Chunk], T]) -> Iterator[T]:
        placed, done = self._placed(), 0
        for attempt in range(_ATTEMPTS):
            try:
                sent = self._sent(job)
                tasks = (_lazily(work, sent, part, start) for part, start, _ in placed[done:])
                for found in self._in_order(tasks):
                    done += 1
                    yield found
                return
            except self._lost:
                if attempt == _ATTEMPTS - 1:
                    raise

    def _in_order(self, tasks: Iterator[Any]) -> Iterator[Any]:
        """Results, a few of which are computed ahead."""
        if self.client is None:
            yield from (self._results([task])[0] for task in tasks)
            return
        several = 2 * max(sum(self.client.nthreads().values()), 1)  # results that wait here
        coming = deque(map(self.client.compute, islice(tasks, several)))
        while coming:
            found = coming.popleft().result()
            coming.extend(map(self.client.compute, islice(tasks, 1)))
            yield found

    def take(self, places: np.ndarray) -> Chunk:
        def pass_over(sent: Any) -> list[Chunk]:
            edges = np.searchsorted(places, [(a, b) for _, a, b in self._placed()])
            return self._results(
                [
                    _lazily(work, sent, part, start)
                    for (part, start, _), (first, last) in zip(self._placed(), edges, strict=True)
                    if first < last
                ]
            )

        found = self._attempted(Picked(places), pass_over)
        if not found:
            raise no_samples("the collection")
        return replace(joined(found), start=0)

    # ---- the cluster ---------------------------------------------------------------------------
    def _placed(self) -> list[tuple[Any, int, int]]:
        """Partitions that hold something, with the numbers of their samples."""
        stops = np.cumsum(self.lengths).tolist()
        placed = zip(self._parts, self.lengths, stops, strict=True)
        return [(part, stop - size, stop) for part, size, stop in placed if size]

    def _results(self, tasks: list) -> list:
        if self.client is None:
            import dask

            return list(dask.compute(*tasks, scheduler="threads"))
        return self.client.gather(self.client.compute(tasks))

    def _sent(self, job: Any) -> Any:
        """The job, on all workers."""
        if self.client is None:
            import dask

            return dask.delayed(job, traverse=False)
        return self.client.scatter([job], broadcast=True, hash=False)[0]

    def _attempted(self, job: Any, pass_over: Callable[[Any], T]) -> T:
        """A pass with a job; once more where all workers were lost that had the job."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return pass_over(self._sent(job))
            except self._lost:
                continue
        return pass_over(self._sent(job))

    @property
    def _lost(self) -> tuple[type[BaseException], ...]:
        """The exceptions of a job that was lost with its workers."""
        if self.client is None:
            return ()
        from distributed import CancelledError, KilledWorker

        return CancelledError, KilledWorker, OSError


def from_dask(source: Any, y: Any = None, weight: Any = None, client: Any = None) -> DaskChunks:
    """The partitions of an array, a table or a bag.

    Parameters
    ----------
    source : dask.array.Array, dask.dataframe.DataFrame or dask.bag.Bag
        The samples. A bag holds one in each item.
    y, weight : array, optional
        Of Dask or NumPy.
    client : Client, LocalCluster or address, optional
        Where to work; by default the client that is there already, or else the threads of this
        process.
    """
    lengths, held = None, (source, y, weight)
    if hasattr(source, "rechunk"):  # an array
        source = source.rechunk(dict.fromkeys(range(1, source.ndim), -1))
        known = source.chunks[0]
        lengths = None if np.isnan(known).any() else [int(size) for size in known]
    parts = _delayed(source)
    alone = [_lazily(as_chunk, part) for part in parts]
    found = DaskChunks(alone, as_client(client), lengths, held)
    if y is None and weight is None:
        return found
    beside = [
        _beside(values, len(parts), found, name) for values, name in ((y, "y"), (weight, "weight"))
    ]
    whole = [_lazily(as_chunk, *part) for part in zip(parts, *beside, strict=True)]
    return DaskChunks(whole, found.client, lengths, held)


def beside_each_other(sources: list[DaskChunks]) -> DaskChunks:
    """The samples of several collections, partition by partition, each as one of :class:`Zipped`.

    Raises
    ------
    ValueError
        Where partitions are not of the same sizes: rows would have to move between workers.
    """
    first = sources[0]
    for other in sources[1:]:
        if list(other.lengths) != list(first.lengths):
            raise ValueError(
                "paired collections need partitions of the same sizes; rechunk or repartition "
                "one of them."
            )
    each = zip(*(source._parts for source in sources), strict=True)
    parts = [_lazily(zipped, *chunks) for chunks in each]
    held = tuple(source.held for source in sources)
    return DaskChunks(parts, first.client, list(first.lengths), held)


def as_client(client: Any) -> Any:
    """A client of what was given: itself, a cluster, an address; or the one that is there."""
    if client is None:
        try:
            from distributed import default_client

            return default_client()
        except (ImportError, ValueError):
            return None
    try:
        from distributed import Client
    except ImportError:
        raise ImportError('a cluster needs Dask: pip install "mercer[cluster]".') from None
    return client if isinstance(client, Client) else Client(client)


def _beside(values: Any, n: int, chunks: DaskChunks, name: str) -> list:
    """Targets or weights of each partition."""
    if values is None:
        return [None] * n
    if not hasattr(values, "__dask_graph__"):
        if len(values) != chunks.n_samples:
            raise ValueError(f"{chunks.n_samples} samples, but {len(values)} entries in {name}.")
        return np.split(np.asarray(values), np.cumsum(chunks.lengths)[:-1])
    if hasattr(values, "rechunk") and values.chunks[0] != tuple(chunks.lengths):
        if sum(values.chunks[0]) != chunks.n_samples:
            raise ValueError(
                f"{chunks.n_samples} samples, but {values.shape[0]} entries in {name}."
            )
        values = values.rechunk({0: tuple(chunks.lengths)})
    parts = _delayed(values)
    if len(parts) != n:
        raise ValueError(f"{n} partitions of samples, but {len(parts)} of {name}.")
    return parts


def _delayed(collection: Any) -> list:
    return list(np.ravel(collection.to_delayed()))


def _lazily(function: Callable[..., Any], *arguments: Any) -> Any:
    import dask

    return dask.delayed(function, pure=False)(*arguments)


# ---- what workers do -----------------------------------------------------------------------
def as_chunk(X: Any, y: Any = None, weight: Any = None) -> Chunk:
    """A partition of samples, with those of targets and weights."""
    if not hasattr(X, "shape"):
        X = list(X)  # of a bag
    X = X.tocsr() if sp.issparse(X) else X
    y, weight = (None if v is None else np.asarray(v) for v in (y, weight))
    for name, values in (("targets", y), ("weights", weight)):
        if values is not None and len(values) != length(X):
            raise ValueError(f"a partition has {length(X)} samples, but {len(values)} {name}.")
    return Chunk(X, y, weight)


def work(job: Callable[[Chunk], T], chunk: Chunk, start: int) -> T:
    """A job on one partition, in one thread: other partitions take the others."""
    with within(1, np.inf):
        return job(replace(chunk, start=start))


def summands(job: Callable[[Chunk], Sums], chunk: Chunk, start: int) -> Sums:
    """What one partition adds to the sums, in double precision."""
    found = work(job, chunk, start)
    return tuple(np.asarray(part, dtype=np.result_type(part, np.float64)) for part in found)


def added(sums: list[Sums]) -> Sums:
    """The sums of several partitions, one after the other."""
    total = [np.array(part) for part in sums[0]]
    for found in sums[1:]:
        for whole, part in zip(total, found, strict=True):
            whole += part
    return tuple(total)


def length_of(chunk: Chunk) -> int:
    """The number of samples in a partition."""
    return len(chunk)


def zipped(*chunks: Chunk) -> Chunk:
    """Chunks of several sources, as one of their rows side by side, with weights of the first."""
    weight = next((chunk.weight for chunk in chunks if chunk.weight is not None), None)
    return Chunk(Zipped(*(chunk.X for chunk in chunks)), None, weight)


def itself(chunk: Chunk) -> Chunk:
    """The partition, fetched to this process."""
    return chunk
