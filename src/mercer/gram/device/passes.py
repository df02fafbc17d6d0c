"""Passes over samples in chunks, with kernel values that never leave the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...chunks.base import Chunk, Sums
from ...data import Data
from ...engine.threads import go_on
from ...exceptions import not_finite
from ..streamed import in_double
from ..tiles import slices
from .tiles import DeviceTiles
from .torch_ import get, import_torch, put, within_memory

_COLUMNS, _ROWS = 1024, 64  # products that are added up in single precision, of K V and K' U

if TYPE_CHECKING:
    from ..streamed import Block, Centres, Pass


def device_pass(job: Pass, chunk: Chunk) -> Sums:
    """What a :class:`~mercer.gram.streamed.Pass` does: K' U of U = between(K V, chunk).

    The samples and U go to the device, K V comes back.
    """
    columns: Any = job.columns
    tiles = _tiles(columns, chunk.X, job.dtype)
    m, torch, dtype = columns.size, import_torch(columns.device), tiles.dtype
    V = None if job.V is None else put(job.V, columns.device, dtype)

    def work(size: int) -> Sums:
        total = torch.zeros((m, job.outputs), dtype=torch.float64, device=tiles.place)
        sums = []
        for rows in slices(len(chunk), max(size // max(m, 1), 1)):
            go_on()
            strip = tiles(rows, slice(0, m))
            count = rows.stop - rows.start
            F = np.zeros((count, 0)) if V is None else get(summed(strip, V, _COLUMNS))
            if not np.all(np.isfinite(F)):
                raise not_finite(columns.kernel)
            U, others = job.between(F, chunk.rows(rows))
            if job.outputs:
                total += summed(strip.T, put(U, columns.device, dtype), _ROWS)
            sums.append(others)
        return (get(total), *(np.sum(parts, axis=0) for parts in zip(*sums, strict=True)))

    return within_memory(work, columns.device, dtype.itemsize)


def summed(A: Any, B: Any, size: int) -> Any:
    """A B; pieces of so many products in the precision of A, added up in double precision."""
    return sum((A[:, part] @ B[part]).double() for part in slices(A.shape[1], size))


def device_block(columns: Centres, X: Data, dtype: Any) -> Block:
    """Rows of K as arrays, computed on the device: for the few samples of a preconditioner."""
    tiles = _tiles(columns, X, dtype)
    return lambda rows: [get(tiles(rows, slice(0, columns.size)))]


def _tiles(columns: Centres, X: Data, dtype: Any) -> DeviceTiles:
    """In the precision of the samples, or the one that is asked for."""
    kernel = columns.kernel
    rows: Any
    cols: Any
    rows, cols = (kernel.formula(kernel.prepare(in_double(Z, dtype))) for Z in (X, columns.Z))
    dtype = dtype or np.result_type(rows.dtype, cols.dtype)
    return DeviceTiles(rows, cols, columns.device, dtype)
