"""Centres on a device, prepared once for all passes over samples."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...data import Data, as_vectors, join, take
from ...kernels.formula import Atom, Formula
from .fused import Fused, why_not
from .lanes import Lane
from .operands import share_columns
from .points import Points, matrix, recipe
from .precision import is_single, products_in
from .slabs import Kept, Slab
from .torch_ import put

if TYPE_CHECKING:
    from ..streamed import Centres


class FusedColumns:
    """What makes fused products of slabs of rows.

    Parameters
    ----------
    columns : Centres
        Of a kernel with a formula for which :func:`~mercer.gram.device.fused.why_not` is None.
    lane : Lane
        Where.
    """

    def __init__(self, columns: Centres, lane: Lane) -> None:
        self.kernel, self.device = columns.kernel, lane.name
        self.precision = products_in(columns.precision)
        self.recipe, raw = recipe(columns.kernel, columns.Z), matrix(columns.Z)
        if self.recipe is not None and raw is not None:
            self.width = raw.shape[1]
            self.formula = self.recipe(lane.send(raw), keep=True)
        else:
            prepared: Any = columns.kernel.formula(columns.kernel.prepare(columns.Z))
            self.formula = self._sent(prepared)
        self._first: Fused | None = None

    def _sent(self, formula: Formula) -> Formula:
        known: dict[int, Points] = {}

        def sent(atom: Atom) -> Atom:
            host = np.asarray(atom.points)
            made = known.setdefault(id(atom.points), Points(put(host, self.device), host))
            return replace(atom, points=made)

        return formula.map(sent)

    def takes(self, slab: Slab) -> bool:
        """Are coordinates of these samples made on the device?"""
        return self.recipe is not None and slab.is_matrix(self.width)

    def raw(self, slab: Slab, lane: Lane) -> Any:
        """Samples as they are, on the device; refused if they are not finite."""
        raw = slab.raw(lane)
        if not bool(lane.torch.isfinite(raw).all()):
            for part in slab.parts:
                as_vectors(part.X, type(self.kernel).__name__)  # raises
        return raw

    def products(self, slab: Slab, raw: Any) -> Fused:
        """K of these samples, whose raw numbers are on the device already if that is enough."""
        if raw is not None and self.recipe is not None:
            rows = self.recipe(raw)
        else:
            rows = self._prepared(slab)
        made = Fused(rows, self.formula, self.device, self.precision)
        if self._first is None:
            self._first = made
        share_columns(made, self._first)
        return made

    def _prepared(self, slab: Slab) -> Formula:
        X: Data = join(*(part.X for part in slab.parts))
        formula = self.kernel.formula(self.kernel.prepare(X))
        assert formula is not None  # as that of the centres
        return formula


def fused_columns(columns: Centres, X: Data, dtype: Any, lane: Lane, kept: Kept) -> Any:
    """:class:`FusedColumns`, once for all passes; None where products are not fused."""
    if kept.why_not is not None or not is_single(columns.precision, X, columns.Z, dtype):
        return None
    if lane.name not in kept.columns:
        kernel, few = columns.kernel, take(columns.Z, slice(0, 1))
        why = why_not(kernel.formula(kernel.prepare(few)), lane.name, np.float32)
        kept.columns[lane.name] = None if why is not None else FusedColumns(columns, lane)
        lane.settle()
    return kept.columns[lane.name]
