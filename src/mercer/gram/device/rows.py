"""Rows of K on a device, for solvers that request them: from K itself if it fits, or from tiles."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...engine.threads import check_cancelled
from ...kernels.base import Kernel
from ..rows import RowGram
from ..tiles import slices
from .tiles import DeviceTiles
from .torch_ import free_on, get, import_torch, put, torch_device, within_memory

Tensor = Any

_SHARE = 0.6  # of the free memory of a device that K may take
_PROBES = 64  # samples on which the rounding error of kernel values is measured


class DeviceMatrix:
    """K of one sample on a device: in the precision in which it is kept, and in double.

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
        self._formula = formula if order is None else formula.take(order)
        self.device, self.dtype = device, np.dtype(dtype)
        self.place, self._torch = torch_device(device), import_torch(device)
        self.kind = getattr(self._torch, self.dtype.name)
        diagonal = np.asarray(kernel.diag(P), np.float64)
        self.diagonal = diagonal if order is None else diagonal[order]
        self._diagonal = put(self.diagonal, device)
        self._tiles: dict[Any, DeviceTiles] = {}

    def __len__(self) -> int:
        return len(self.diagonal)

    def tile(self, rows: Any, cols: Any, kind: Any = None) -> Tensor:
        """K[rows, cols] for slices or tensors of numbers; computed, in any precision."""
        kind = kind or self.kind
        if kind not in self._tiles:
            dtype = str(kind).removeprefix("torch.")
            self._tiles[kind] = DeviceTiles(self._formula, self._formula, self.device, dtype)
        total = self._tiles[kind](rows, cols)
        r, c = (torch_index(self._torch, at, self.place) for at in (rows, cols))
        i, j = (r[:, None] == c).nonzero(as_tuple=True)
        total[i, j] = self._diagonal[c[j]].to(kind)
        return total

    @cached_property
    def whole(self) -> Tensor | None:
        """K, where there is room for it."""
        n = len(self)
        if n * n * self.dtype.itemsize > _SHARE * free_on(self.device):
            return None
        K = self._torch.empty((n, n), dtype=self.kind, device=self.place)

        def work(size: int) -> None:
            for rows in slices(n, max(size // n, 1)):
                check_cancelled()
                K[rows] = self.tile(rows, slice(0, n))

        within_memory(work, self.device, self.dtype.itemsize)
        return K

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
                check_cancelled()
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
