"""Slabs: rows of K that a device works on at a time, cut from chunks; what stays there of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...chunks.base import Chunk
from ...data import Data
from .lanes import Lane
from .points import matrix

_LOOKED_AT = 16  # rows of a part, by which samples are told from others


@dataclass(frozen=True, eq=False)
class Slab:
    """Samples in a row, which may come from several chunks.

    Attributes
    ----------
    number : int
        Of the slab among all of a pass.
    parts : list of Chunk
    """

    number: int
    parts: list[Chunk]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def place(self) -> tuple[int, int]:
        """Where its samples are among all."""
        return self.parts[0].start, self.parts[0].start + len(self)

    def each(self) -> Iterator[tuple[slice, Chunk]]:
        """The parts, with their rows of the slab."""
        start = 0
        for part in self.parts:
            yield slice(start, start + len(part)), part
            start += len(part)

    def raw(self, lane: Lane) -> Any:
        """The samples on a device, where they are arrays."""
        arrays = [part.X for part in self.parts]
        if len(arrays) == 1:
            return lane.send(arrays[0])
        kind = getattr(lane.torch, arrays[0].dtype.name)
        whole = lane.torch.empty((len(self), arrays[0].shape[1]), dtype=kind, device=lane.place)
        for rows, part in self.each():
            lane.send(part.X, whole[rows])
        return whole

    def is_matrix(self, width: int) -> bool:
        """Are all samples vectors of this many numbers, in arrays?"""
        found = [matrix(part.X) for part in self.parts]
        return all(X is not None and X.shape[1] == width for X in found)

    def mark(self) -> bytes:
        """By which other samples are noticed that have come to the same place."""
        return b"".join(_mark(part.X) for part in self.parts)


class OnDevice:
    """Targets and weights of a slab on a device, sent there when needed."""

    def __init__(self, slab: Slab, lane: Lane) -> None:
        self.slab, self.lane = slab, lane

    def __len__(self) -> int:
        return len(self.slab)

    @cached_property
    def y(self) -> Any:
        """Targets, as numbers."""
        return self._sent([part.y for part in self.slab.parts])

    @cached_property
    def weight(self) -> Any:
        """Weights; None if there are none."""
        weights = [part.weight for part in self.slab.parts]
        if all(w is None for w in weights):
            return None
        each = zip(weights, self.slab.parts, strict=True)
        return self._sent([np.ones(len(part)) if w is None else w for w, part in each])

    def _sent(self, arrays: list[Any]) -> Any:
        return self.lane.send(np.concatenate(arrays, dtype=np.float64))


def slabs(chunks: Iterable[Chunk], rows: int) -> Iterator[Slab]:
    """The samples of chunks, in slabs of a fixed size except the last."""
    held: list[Chunk] = []
    count = number = 0
    for chunk in chunks:
        start = 0
        while start < len(chunk):
            stop = min(start + rows - count, len(chunk))
            whole = stop - start == len(chunk)
            held.append(chunk if whole else chunk.rows(slice(start, stop)))
            count, start = count + stop - start, stop
            if count == rows:
                yield Slab(number, held)
                held, count, number = [], 0, number + 1
    if held:
        yield Slab(number, held)


class Kept:
    """What stays on devices between passes over the same samples, and only as long as this does.

    Passes go over all samples from the first to the last: what would make room for later ones by
    forgetting the earliest would forget each of them just before it is needed. So the first slabs
    are kept as long as there is room, and the rest is sent in each pass.

    Parameters
    ----------
    n : int, optional
        The number of samples of a pass. With none, nothing stays but the columns.
    """

    def __init__(self, n: int | None = None) -> None:
        self.n = n
        self.columns: dict[str, Any] = {}  # by device
        self.why_not: str | None = None  # products are not fused
        self._slabs: dict[Any, tuple[bytes, Any]] = {}
        self._whole: dict[str, float] = {}
        self._left: dict[str, float] = {}

    def find(self, key: Any, slab: Slab) -> Any:
        """What is there of a slab; None if there is nothing, or of other samples."""
        mark, found = self._slabs.get((key, slab.place), (b"", None))
        return found if found is not None and mark == slab.mark() else None

    def keep(self, key: Any, slab: Slab, found: Any, nbytes: float, lane: Lane) -> None:
        """Keep it if there is room."""
        if self.n is None:
            return
        left = self._left.get(lane.name, self.room(lane))
        if self._slabs.pop((key, slab.place), None) is None:
            left -= nbytes
        if left >= 0:
            self._slabs[key, slab.place] = slab.mark(), found
            self._left[lane.name] = left

    def room(self, lane: Lane) -> float:
        """Bytes that all samples may take on a device."""
        if lane.name not in self._whole:  # what is kept takes none of it away
            self._whole[lane.name] = lane.free()
        return self._whole[lane.name]

    def clear(self) -> None:
        """Forget all, and keep nothing from now on: there was no room."""
        self._slabs.clear()
        self.columns.clear()
        self.n = None


def _mark(X: Data) -> bytes:
    """Some rows of an array, and its size."""
    array = matrix(X)
    if array is None:
        return b""
    some = array[:: max(len(array) // _LOOKED_AT, 1)]
    return repr((array.shape, array.dtype)).encode() + some.tobytes()
