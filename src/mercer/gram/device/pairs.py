"""K on a device for kernels that state no formula: values pair by pair, of series and the like."""

from __future__ import annotations

import importlib.util
from functools import cached_property
from typing import Any

import numpy as np

from ...data import Data, Rows, length, take
from ...engine.memory import require_memory
from ...engine.threads import check_cancelled
from ...kernels.base import Kernel
from ..base import Gram
from ..stored import DenseGram, TiledGram
from ..tiles import slices
from .torch_ import torch_device
from .triton_ import interpreted

_PAIRS = 2**25  # of samples, that a device compares at a time


def why_not_pairs(kernel: Kernel, device: str) -> str | None:
    """Why a device does not compute values of pairs of samples; None if it does.

    For kernels with a formula the reason is empty: they are not computed pair by pair.
    """
    place = torch_device(device)
    if kernel.on_device(device) is None:
        return ""
    if importlib.util.find_spec("triton") is None:
        return "it needs Triton, which is not installed"
    if place.type != "cuda" and not interpreted():
        return "it needs Triton, which does not support CPUs"
    return None


def _values(kernel: Kernel, X: Data, Y: Data, device: str) -> np.ndarray:
    """[k(x_i, y_j)] of prepared samples; symmetric to the last bit if Y is X."""
    values: Any = kernel.on_device(device)
    n, m = length(X), length(Y)
    if n * m <= _PAIRS:
        return np.asarray(values(X, Y))
    one = take(X, slice(0, 1))
    dtype = values(one, one).dtype
    require_memory(float(dtype.itemsize) * n * m, f"a {n} x {m} kernel matrix")
    out = np.empty((n, m), dtype)
    for rows in slices(n, max(1, _PAIRS // m)):
        check_cancelled()
        some = take(X, rows)
        if X is not Y:
            out[rows] = values(some, Y)
            continue
        out[rows, rows] = values(some, some)
        after = slice(rows.stop, m)
        if rows.stop < m:
            out[rows, after] = values(some, take(Y, after))
            out[after, rows] = out[rows, after].T
    return out


class _OnDevice:
    """What both forms share: values of pairs come from a device."""

    kernel: Any
    device: str
    X: Any

    def __init__(
        self,
        kernel: Any,
        X: Data,
        Y: Data | None = None,
        *,
        workers: int | None = None,
        device: str = "cuda",
    ) -> None:
        super().__init__(kernel, X, Y, workers=workers)  # type: ignore[call-arg]
        self.device = device

    @cached_property
    def dtype(self) -> np.dtype:
        """The precision of values there."""
        one = take(self.X, slice(0, 1))
        return np.asarray(self.kernel.on_device(self.device)(one, one)).dtype

    def _as(self, form: Any, X: Data | None = None) -> Any:
        same = super()._as(form, X)  # type: ignore[misc]
        same.device = self.device
        return same

    def cross(self, X_new: Data) -> Gram:
        """Between new samples and these."""
        new = self.kernel.prepare(X_new)
        return PairTiles(self.kernel, new, self.X, device=self.device)

    def products(self, dtype: Any, room: float = 0.0) -> Gram:
        """Values are no cheaper in single precision."""
        return self  # type: ignore[return-value]

    def packed(self) -> Gram:
        """There is no other form that a device computes."""
        return self  # type: ignore[return-value]

    def unstored(self) -> Gram:
        return self._as(PairTiles)


class StoredPairs(_OnDevice, DenseGram):  # type: ignore[override]
    """K stored as an array, whose entries a device computes when it is first needed."""

    @property
    def storage(self) -> str:  # type: ignore[override]
        """Where K is, in words."""
        return f"computed on {self.device} pair by pair, stored as an array"

    @cached_property
    def array(self) -> np.ndarray:
        """The matrix itself."""
        return _values(self.kernel, self.X, self.Y, self.device)

    def detached(self) -> DenseGram:
        same: DenseGram = self._as(StoredPairs)
        return same


class PairTiles(_OnDevice, TiledGram):  # type: ignore[override]
    """K never stored, whose entries a device computes in every product."""

    @property
    def storage(self) -> str:  # type: ignore[override]
        """Where K is, in words."""
        return f"computed on {self.device} pair by pair, never stored"

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        ends = isinstance(rows, slice) and isinstance(cols, slice)
        left = take(self.X, rows)
        same = self.symmetric and ends and rows == cols
        return _values(self.kernel, left, left if same else take(self.Y, cols), self.device)

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, np.float64)
        out = np.zeros((self.shape[0], V.shape[1]))
        size = max(1, int(_PAIRS**0.5)) if self.symmetric else max(1, _PAIRS // self.shape[1])
        for rows in slices(self.shape[0], size):
            check_cancelled()
            if not self.symmetric:
                out[rows] = self.block(rows, slice(0, self.shape[1])) @ V
                continue
            for cols in slices(self.shape[1], size):
                if cols.start >= rows.start:
                    tile = self.block(rows, cols)
                    out[rows] += tile @ V[cols]
                    if cols != rows:
                        out[cols] += tile.T @ V[rows]
        return out
