"""One device at work on its slabs of a pass, by fused products."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ...chunks.base import Sums
from ...engine.threads import run
from ...exceptions import not_finite
from ..tiles import slices
from .columns import FusedColumns
from .fused import Fused
from .lanes import Lane
from .operands import of_columns, of_rows
from .slabs import Kept, OnDevice, Slab
from .torch_ import get, put
from .triton_ import interpreted

if TYPE_CHECKING:
    from ..streamed import Pass

_STRIP = 2**15  # rows whose scores one thread of the host works on at a time
_interpreter = threading.Lock()  # which works for one thread at a time


def turn() -> Any:
    """A context in which kernels are launched."""
    return _interpreter if interpreted() else nullcontext()


class FusedCard:
    """K' U of slabs, one after the other.

    Parameters
    ----------
    job : Pass
        What is computed.
    lane : Lane
        The device.
    columns : FusedColumns
        The centres on it.
    kept : Kept
        What stays there after the pass.
    many : int
        Devices among which samples are divided.
    """

    def __init__(
        self, job: Pass, lane: Lane, columns: FusedColumns, kept: Kept, many: int = 1
    ) -> None:
        self.job, self.lane, self.columns, self.kept, self.many = job, lane, columns, kept, many
        self.V = None if job.V is None else put(job.V, lane.name, np.float64)
        double, shape = lane.torch.float64, (job.columns.size, job.outputs)
        self.total = lane.torch.zeros(shape, dtype=double, device=lane.place)
        self.there = None if self.V is None else getattr(job.between, "on_device", None)
        self._others: list[Any] = []
        self._waiting: tuple[Slab, Fused, Any] | None = None

    def ready(self, slab: Slab) -> tuple[Fused, Any]:
        """The products of a slab, prepared beside what the device computes; and when they are."""
        found = self.kept.find((self.lane.name, "products"), slab)
        return (found, None) if found is not None else self.lane.beside(lambda: self._made(slab))

    def _made(self, slab: Slab) -> Fused:
        lane, samples = self.lane, (self.lane.name, "samples")
        raw = self.kept.find(samples, slab)
        fresh = raw is None
        if fresh and self.columns.takes(slab):
            raw = self.columns.raw(slab, lane)
        found = self.columns.products(slab, raw)
        if fresh:
            self._keep(slab, raw, found)
        return found

    def _keep(self, slab: Slab, raw: Any, products: Fused) -> None:
        """The operands of products, if there is room for those of all samples; else these."""
        lane, kept = self.lane, self.kept
        nbytes = float(sum(tensor.nbytes for tensor in of_rows(products)))
        whole = nbytes / len(slab) * (kept.n or 0) / self.many
        if raw is None or whole <= kept.room(lane):
            kept.keep((lane.name, "products"), slab, products, nbytes, lane)
        else:
            kept.keep((lane.name, "samples"), slab, raw, float(raw.nbytes), lane)

    def add(self, slab: Slab, products: Fused, done: Any) -> None:
        """The sums of one more slab; the device works on it when this returns."""
        self.lane.after(done, of_rows(products) + of_columns(products))
        if self.V is None:
            self._finish(slab, products, lambda: np.zeros((len(slab), 0)))
            return
        with turn():
            F = products(self.V)
        if self.there is not None:
            U, sums = self.there(F, OnDevice(slab, self.lane))
            self._add(products, U)
            self._others.append(sums)
            return
        before, self._waiting = self._waiting, (slab, products, self.lane.fetch(F))
        if before is not None:
            self._finish(*before)

    def _finish(self, slab: Slab, products: Fused, fetched: Any) -> None:
        """The work of the host on scores, and of the device on the result."""
        job, F = self.job, fetched()
        if not np.all(np.isfinite(F)):
            raise not_finite(job.columns.kernel)
        jobs = [
            (part.rows(rows), slice(at.start + rows.start, at.start + rows.stop))
            for at, part in slab.each()
            for rows in slices(len(part), _STRIP)
        ]
        staged = self.lane.buffer((len(slab), job.outputs))
        sums: list[Sums] = [()] * len(jobs)
        U = staged.numpy()

        def strip(number: int) -> None:
            part, rows = jobs[number]
            U[rows], sums[number] = job.between(F[rows], part)

        run(strip, range(len(jobs)), job.workers)
        self._others += sums
        if job.outputs:
            self._add(products, self.lane.sent(staged))

    def _add(self, products: Fused, U: Any) -> None:
        with turn():
            self.total += products.transposed(U)

    def sums(self) -> Sums:
        """K' U, and the other sums, after all slabs."""
        if self._waiting is not None:
            self._finish(*self._waiting)
            self._waiting = None
        total = get(self.total)
        if self.there is not None and not np.all(np.isfinite(total)):
            raise not_finite(self.job.columns.kernel)
        as_array = get if self.there is not None else np.asarray
        each = zip(*self._others, strict=True)
        return (total, *(np.sum([as_array(part) for part in parts], axis=0) for parts in each))
