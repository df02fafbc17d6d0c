"""Rows of K on a device, for solvers that ask for them: K itself where it fits, or its tiles."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...engine.memory import free_memory
from ...engine.threads import go_on
from ...kernels.base import Kernel
from ...kernels.formula import INNER, TAXICAB, Atom
from ...kernels.vectors.distances import _KINKED, _RELATIVE, _SMOOTH, centre
from ..rows import RowGram
from ..tiles import slices
from .tiles import function_of
from .torch_ import get, import_torch, put, torch_device, within_memory

Tensor = Any

_SHARE = 0.6  # of the free memory of a device that K may take
_PROBES = 64  # samples on which the rounding error of kernel values is measured
_NUMBERS = 2**26  # that are written out at a time to take differences


class DeviceMatrix:
    """K of one sample on a device: in a precision that is worth keeping, and in double.

    Parameters
    ----------
    kernel : Kernel
        One that states a formula whose profiles are known there.
    P : prepared samples
        Those of K.
    order : ndarray, optional
        The samples in another order.
    device : str
        Where.
    dtype : dtype
        The precision of what is kept.
    """

    def __init__(
        self, kernel: Kernel, P: Any, order: np.ndarray | None, device: str, dtype: Any
    ) -> None:
        formula: Any = kernel.formula(P)
        self.device, self.dtype = device, np.dtype(dtype)
        self.place, self._torch = torch_device(device), import_torch(device)
        self.kind = getattr(self._torch, self.dtype.name)
        at = None if order is None else put(order, device)
        diagonal = np.asarray(kernel.diag(P), np.float64)
        self.diagonal = diagonal if order is None else diagonal[order]
        self._diagonal = put(self.diagonal, device)
        points: dict[int, _Points] = {}
        self._terms: list[tuple[float, list[tuple[_Points, Atom, Any]], list[Tensor]]] = []
        for term in formula.terms():
            atoms = []
            for atom in term.atoms:
                if id(atom.points) not in points:
                    points[id(atom.points)] = _Points(atom.points, at, device)
                atoms.append((points[id(atom.points)], atom, function_of(atom.profile)))
            factors = [put(f, device, np.float64) for f in term.factors]
            factors = factors if at is None else [f[at] for f in factors]
            self._terms.append((term.weight, atoms, factors))

    def __len__(self) -> int:
        return len(self.diagonal)

    def tile(self, rows: Any, cols: Any, kind: Any = None) -> Tensor:
        """K[rows, cols] for slices or tensors of numbers; computed, in any precision."""
        kind = kind or self.kind
        total: Any = 0.0
        for weight, atoms, factors in self._terms:
            product: Any = weight
            for points, atom, profile in atoms:
                product = profile(points.metric(atom, rows, cols, kind)).mul_(product)
            for f in factors:
                product = product * f[rows, None].to(kind) * f[cols].to(kind)
            total = product + total
        r, c = (torch_index(self._torch, at, self.place) for at in (rows, cols))
        if not self._torch.is_tensor(total):
            total = self._torch.full((len(r), len(c)), total, dtype=kind, device=self.place)
        i, j = (r[:, None] == c).nonzero(as_tuple=True)
        total[i, j] = self._diagonal[c[j]].to(kind)
        return total

    @cached_property
    def whole(self) -> Tensor | None:
        """K, where there is room for it."""
        n = len(self)
        if n * n * self.dtype.itemsize > _SHARE * self._free():
            return None
        K = self._torch.empty((n, n), dtype=self.kind, device=self.place)

        def work(size: int) -> None:
            for rows in slices(n, max(size // n, 1)):
                go_on()
                K[rows] = self.tile(rows, slice(0, n))

        within_memory(work, self.device, self.dtype.itemsize)
        return K

    def _free(self) -> float:
        if self.place.type != "cuda":
            return free_memory()
        cuda = self._torch.cuda
        kept = cuda.memory_reserved(self.place) - cuda.memory_allocated(self.place)
        return float(cuda.mem_get_info(self.place)[0] + kept)

    def part(self, rows: Tensor, cols: Tensor) -> Tensor:
        """K[rows, cols], of what is kept."""
        if self.whole is None:
            return self.tile(rows, cols)
        return self.whole[rows[:, None], cols]

    def product(self, rows: Tensor, cols: Tensor, weights: Tensor, exact: bool = True) -> Tensor:
        """K[rows, cols] @ weights, added up in double precision; of values in it if ``exact``."""
        torch = self._torch
        out = torch.zeros((len(rows), *weights.shape[1:]), dtype=torch.float64, device=self.place)
        kind = torch.float64 if exact else self.kind

        def work(size: int) -> None:
            for at in slices(len(rows), max(size // max(len(cols), 1), 1)):
                go_on()
                out[at] = self.tile(rows[at], cols, kind).double() @ weights

        if len(cols):
            within_memory(work, self.device, 16)
        return out

    def error(self) -> float:
        """By how much values that are kept are off, found at some of them."""
        n = len(self)
        some = self._torch.linspace(0, n - 1, min(n, _PROBES), device=self.place).long()
        off = self.tile(some, some).double() - self.tile(some, some, self._torch.float64)
        found = float(off.abs().max())
        return found if np.isfinite(found) else np.inf


class _Points:
    """Coordinates that distances and inner products are taken of, in two precisions."""

    def __init__(self, points: np.ndarray, order: Tensor | None, device: str) -> None:
        self.torch = import_torch(device)
        there = put(points, device, np.float64)
        self.raw = there if order is None else there[order]
        self._kept: dict[Any, tuple[Tensor, Tensor]] = {}
        self._plain: dict[Any, Tensor] = {}
        self.origin = put(centre(np.asarray(points, np.float64)), device)

    def _near(self, kind: Any) -> tuple[Tensor, Tensor]:
        """Coordinates less the centre, and squared norms."""
        if kind not in self._kept:
            near = self.raw - self.origin
            self._kept[kind] = near.to(kind), near.square().sum(1)
        return self._kept[kind]

    def metric(self, atom: Atom, rows: Any, cols: Any, kind: Any) -> Tensor:
        """Weighted distances or inner products, fresh."""
        weight = atom.weight
        if atom.metric == INNER:
            X = self._plain.setdefault(kind, self.raw.to(kind))
            return (X[rows] @ X[cols].T).mul_(weight)
        near, norms = self._near(kind)
        if atom.metric == TAXICAB:
            return self.torch.cdist(near[rows], near[cols], p=1).mul_(weight)
        D = (near[rows] @ near[cols].T).mul_(-2 * weight)
        D.add_((weight * norms[rows, None]).to(kind)).add_((weight * norms[cols]).to(kind))
        doubt = self._doubt(atom, norms, kind)
        if float(doubt.max()) > 0:
            self._mend(D, atom.weight, doubt, rows, cols)
        return D.clamp_(min=0) if weight > 0 else D.clamp_(max=0)

    def _doubt(self, atom: Atom, norms: Tensor, kind: Any) -> Tensor:
        """As :class:`~mercer.kernels.vectors.distances.SquaredDistances` has it."""
        dtype = np.dtype(str(kind).removeprefix("torch."))
        error = float(np.finfo(dtype).eps) * abs(atom.weight) * norms
        doubt = error / _SMOOTH[dtype] - 0.5
        if atom.profile.kinked:
            root = (error / _KINKED[dtype]).square() / 2
            doubt = self.torch.maximum(doubt, self.torch.maximum(root, _RELATIVE * error))
        return self.torch.nan_to_num(doubt, nan=self.torch.inf)

    def _mend(self, D: Tensor, weight: float, doubt: Tensor, rows: Any, cols: Any) -> None:
        """Differences taken where the product has cancelled."""
        i, j = (~(D.abs() >= doubt[rows, None] + doubt[cols])).nonzero(as_tuple=True)
        left, right = self.raw[rows], self.raw[cols]
        for some in slices(len(i), max(1, _NUMBERS // left.shape[1])):
            apart = (left[i[some]] - right[j[some]]).square_().sum(1)
            D[i[some], j[some]] = apart.mul_(weight).to(D.dtype)


def torch_index(torch: Any, at: Any, place: Any) -> Tensor:
    """Numbers, given as a slice or as they are."""
    if isinstance(at, slice):
        return torch.arange(at.start, at.stop, device=place)
    return at


class DeviceRowGram(RowGram):
    """Rows, blocks and products of K, or of a part of it, that a device computes.

    Parameters
    ----------
    card : DeviceMatrix
        K of all samples there.
    index : ndarray, optional
        Those that this is the matrix of.
    error : float, optional
        Of entries that are kept.
    workers : int, optional
        Threads of what is done on the processor.
    """

    def __init__(
        self,
        card: DeviceMatrix,
        index: np.ndarray | None = None,
        error: float | None = None,
        workers: int | None = None,
    ) -> None:
        self.card = card
        self.index = np.arange(len(card)) if index is None else index
        super().__init__(
            self._values,
            card.diagonal[self.index],
            product=self._product_there,
            dtype=card.dtype,
            error=card.error() if error is None else error,
            workers=workers,
            how=f"its rows on {card.device}",
        )
        self.device = card.device

    def _there(self, at: Any) -> Tensor:
        return put(self.index[at], self.card.device)

    def _values(self, rows: Any, cols: Any) -> np.ndarray:
        return get(self.card.tile(self._there(rows), self._there(cols)))

    def _product_there(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self._multiplied(rows, cols, weights, True)

    def rough_product(self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return self._multiplied(rows, cols, weights, False)

    def _multiplied(
        self, rows: np.ndarray, cols: np.ndarray, weights: np.ndarray, exact: bool
    ) -> np.ndarray:
        there = put(weights, self.card.device, np.float64)
        return get(self.card.product(self._there(rows), self._there(cols), there, exact))

    def subset(self, index: np.ndarray) -> DeviceRowGram:
        part = DeviceRowGram(self.card, self.index[index], self.error, self.workers)
        part.limit = self.limit
        return part
