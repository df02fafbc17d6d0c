"""Passes over samples in chunks, with kernel values that never leave the device.

A pass goes from slab to slab of rows. While the host works on the scores of one, the device
computes those of the next; and while it does, the one after that is read, sent and prepared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from ...chunks.base import Chunk, Sums, ahead, no_samples
from ...data import Data
from ...engine.threads import check_cancelled
from ...exceptions import DeviceError, not_finite
from ..streamed import Pass, in_double
from ..tiles import slices
from .cards import FusedCard
from .columns import fused_columns
from .lanes import Lane
from .precision import is_single
from .shares import shared
from .slabs import Kept, Slab, slabs
from .tiles import DeviceTiles
from .torch_ import devices, get, import_torch, put, within_memory
from .triton_ import TritonError, warn_of_plain

if TYPE_CHECKING:
    from ..streamed import Block, Centres

_SLAB = 2**19  # rows
_NUMBERS = 2**27  # in a slab: preparing it takes some copies in double precision
_LEAST = 2**12  # rows of a slab that is not made smaller
_COLUMNS, _ROWS = 1024, 64  # products that are added up in single precision, of K V and K' U


@dataclass
class DevicePass(Pass):
    """A pass whose kernel values are computed on a device, or on several.

    Each of them takes a fixed subset of the slabs, in its own thread.
    """

    kept: Kept | None = None

    def __call__(self, chunk: Chunk) -> Sums:
        return self.over([chunk])

    def over(self, chunks: Iterable[Chunk]) -> Sums:
        """K' U, then the other sums, of all samples; sums stay on the device until the end."""
        kept = self.kept = self.kept or Kept()
        name = self.columns.device
        width = np.shape(getattr(self.columns, "Z", ()))[1:]
        rows = min(_SLAB, max(_NUMBERS // max(*width, 1, 1), _LEAST))
        torch = import_torch(name)
        while True:
            try:
                return self._over(chunks, kept, rows)
            except TritonError as error:
                kept.why_not = error.why
                warn_of_plain(name, error)
            except torch.OutOfMemoryError:
                rows = rows // 2 if kept.n is None else rows
                kept.clear()
                torch.cuda.empty_cache()
                if rows < _LEAST:
                    raise DeviceError(
                        f"the memory of device={name!r} does not suffice, not even for {_LEAST} "
                        f"samples at a time; free some of it, or take fewer landmarks."
                    ) from None

    def _over(self, chunks: Iterable[Chunk], kept: Kept, rows: int) -> Sums:
        names = devices(self.columns.device)
        work: list[Any] = [partial(self._on, name, len(names), kept) for name in names]
        found = shared(slabs(ahead(iter(chunks)), rows), work)
        sums = [each for each in found if each is not None]
        if not sums:
            raise no_samples()
        return _added(sums)

    def _on(self, name: str, many: int, kept: Kept, own: Iterator[Slab]) -> Sums | None:
        """The sums of the slabs assigned to one of several devices; None if there are none."""
        first = next(own, None)
        if first is None:
            return None
        lane, job = Lane(name), self
        with lane.here():
            centres: Any = self.columns
            columns = fused_columns(centres, first.parts[0].X, self.dtype, lane, kept)
            if columns is None:
                parts = (part for slab in chain([first], own) for part in slab.parts)
                return _added(_plain(job, part, name) for part in parts)
            card = FusedCard(job, lane, columns, kept, many)
            for slab, made in ahead((slab, card.ready(slab)) for slab in chain([first], own)):
                check_cancelled()
                card.add(slab, *made)
            return card.sums()

    def __getstate__(self) -> dict[str, Any]:
        """What is sent to workers: without what stays here."""
        return vars(self) | {"kept": None}


def _added(sums: Iterable[Sums]) -> Sums:
    return tuple(np.sum(parts, axis=0) for parts in zip(*sums, strict=True))


def _plain(job: Pass, chunk: Chunk, name: str) -> Sums:
    """Strips of K as tensors, each used twice."""
    columns: Any = job.columns
    tiles = _tiles(columns, chunk.X, job.dtype, name)
    m, torch, dtype = columns.size, import_torch(name), tiles.dtype
    V = None if job.V is None else put(job.V, name, dtype)

    def work(size: int) -> Sums:
        total = torch.zeros((m, job.outputs), dtype=torch.float64, device=tiles.place)
        sums = []
        for rows in slices(len(chunk), max(size // max(m, 1), 1)):
            check_cancelled()
            strip = tiles(rows, slice(0, m))
            count = rows.stop - rows.start
            F = np.zeros((count, 0)) if V is None else get(summed(strip, V, _COLUMNS))
            if not np.all(np.isfinite(F)):
                raise not_finite(columns.kernel)
            U, others = job.between(F, chunk.rows(rows))
            if job.outputs:
                total += summed(strip.T, put(U, name, dtype), _ROWS)
            sums.append(others)
        return (get(total), *(np.sum(parts, axis=0) for parts in zip(*sums, strict=True)))

    return within_memory(work, name, dtype.itemsize)


def summed(A: Any, B: Any, size: int) -> Any:
    """A B; pieces of so many products in the precision of A, added up in double precision."""
    return sum((A[:, part] @ B[part]).double() for part in slices(A.shape[1], size))


def device_block(columns: Centres, X: Data, dtype: Any) -> Block:
    """Rows of K as arrays, computed on the device: for the few samples of a preconditioner."""
    tiles = _tiles(columns, X, dtype, columns.device)
    return lambda rows: [get(tiles(rows, slice(0, columns.size)))]


def _tiles(columns: Centres, X: Data, dtype: Any, name: str) -> DeviceTiles:
    """Tiles in the precision of the plan, the solver or the samples."""
    kernel, Z = columns.kernel, columns.Z
    single = is_single(columns.precision, X, Z, dtype)
    rows: Any
    cols: Any
    asked = None if single else np.float64
    rows, cols = (kernel.formula(kernel.prepare(in_double(part, asked))) for part in (X, Z))
    return DeviceTiles(rows, cols, name, np.float32 if single else np.float64)
