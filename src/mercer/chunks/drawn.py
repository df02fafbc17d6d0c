"""Random samples drawn in one pass over samples whose number is not known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import check_count
from ..randomness import as_generator
from .base import Chunk, Chunks, joined, no_samples
from .changes import Band, uniform

_SLACK = 1.5  # times as many as are wanted are held, before some of them are let go


@dataclass(frozen=True, eq=False)
class Drawn:
    """The samples with the smallest hashes, whose order is random.

    Attributes
    ----------
    count : int
        The number of samples of the source.
    chunk : Chunk
        Those drawn, in the order of the source.
    hashes : ndarray
        Theirs, between 0 and 1.
    seed : int
        What :func:`~mercer.chunks.changes.uniform` was given.
    """

    count: int
    chunk: Chunk
    hashes: np.ndarray
    seed: int

    def __len__(self) -> int:
        return len(self.hashes)

    def part(self, start: int, stop: int) -> Chunk:
        """The samples at these places in the order of their hashes."""
        order = np.argsort(self.hashes, kind="stable")
        return replace(self.chunk.rows(np.sort(order[start:stop])), start=0)

    def band(self, start: int, count: int | None = None) -> Band:
        """A change that keeps samples from this place on: about this many, or all that there are.

        The place is at most the number of samples drawn.
        """
        if start < len(self):
            low = float(np.partition(self.hashes, start)[start]) if start else 0.0
        else:
            low = float(np.nextafter(self.hashes.max(), 1.0))
        left = self.count - start
        high = 1.0 if count is None or count >= left else low + (1.0 - low) * count / left
        return Band(low, high, self.seed)


def draw(chunks: Chunks, n: int, rng: Any = None) -> Drawn:
    """Draw n samples without replacement in one pass, however many there are.

    They are those with the smallest hashes of their row numbers: the same for any size of chunks,
    from a file, an array or a cluster. Another pass can return those with the next hashes
    (:meth:`Drawn.band`).

    Parameters
    ----------
    chunks : Chunks
    n : int
        How many are drawn; all, if there are no more.
    rng : None, int or Generator
        Used to draw the hash.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stream
    >>> from mercer.chunks.drawn import draw
    >>> source = stream(np.arange(1000.0)[:, None], rows=100)
    >>> drawn = draw(source, 30, rng=0)
    >>> few, others = drawn.part(0, 10), drawn.part(10, 30)
    >>> drawn.count, len(few), len(others), len(source.changed(drawn.band(10)))
    (1000, 10, 20, 990)
    """
    check_count("n", n)
    seed = int(as_generator(rng).integers(2**63))
    job = _Lowest(n, seed)
    count, parts, hashes = 0, list[Chunk](), list[np.ndarray]()
    for size, part, u in chunks.map(job):
        count += size
        parts.append(part)
        hashes.append(u)
        if sum(map(len, hashes)) > _SLACK * n:
            parts, hashes = _fewest(parts, hashes, n)
            job.limit = float(hashes[0].max())
    if not parts:
        raise no_samples()
    parts, hashes = _fewest(parts, hashes, n)
    return Drawn(count, parts[0], hashes[0], seed)


@dataclass
class _Lowest:
    """The size of a chunk, and those of its samples whose hashes are small enough to be drawn."""

    n: int
    seed: int
    limit: float = 1.0

    def __call__(self, chunk: Chunk) -> tuple[int, Chunk, np.ndarray]:
        u = uniform(chunk.start, chunk.start + len(chunk), self.seed)
        stay = np.flatnonzero(u < self.limit)
        if len(stay) > self.n:
            stay = np.sort(stay[np.argpartition(u[stay], self.n - 1)[: self.n]])
        return len(chunk), chunk.rows(stay), u[stay]


def _fewest(
    parts: list[Chunk], hashes: list[np.ndarray], n: int
) -> tuple[list[Chunk], list[np.ndarray]]:
    """The n samples with the smallest hashes, as one part."""
    whole, u = joined([part for part in parts if len(part)]), np.concatenate(hashes)
    if len(u) > n:
        stay = np.sort(np.argpartition(u, n - 1)[:n])
        whole, u = whole.rows(stay), u[stay]
    return [whole], [u]
