"""Sums of products A B' on a device, added to tiles in place: in double, single or split precision.

Split precision is that of single numbers at the speed of tensor cores. A number is the sum of two
halves, high + low, of 22 bits together, and three products of halves,

    A B' = low high' + high low' + high high',

are one product of matrices three times as wide, added up in single precision. The omitted part, low
low', is 2^-22 of the whole. But tensor cores cut off what does not fit their sums, each time that
they add sixteen products, so sums of one sign are too small by 6e-9 times the width: small parts
come first, and products that hold most of a matrix are computed in double precision
(:meth:`Products.add_exactly`).

Reference: Ootomo & Yokota, *Recovering single precision accuracy from tensor cores while
surpassing the FP32 theoretical peak performance*, 2022.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tiles import slices
from .torch_ import import_torch, torch_device

Tensor = Any
_STRIP = 2**14  # rows that are copied in double precision at a time
_ROOM = 4096.0  # largest size of a number as halves: far from overflow, and from what vanishes


@dataclass
class Operand:
    """A matrix as products use it: on the left, and on the right."""

    left: Tensor
    right: Tensor
    unit: float = 1.0

    def __getitem__(self, rows: slice) -> Operand:
        return Operand(self.left[rows], self.right[rows], self.unit)


class Products(ABC):
    """How products of matrices are computed on a device.

    Attributes
    ----------
    dtype : dtype
        The precision in which matrices are stored.
    rounding : float
        The size of errors of a product, as a part of the lengths of its rows.
    """

    dtype: np.dtype
    rounding: float

    @abstractmethod
    def operand(self, A: Tensor) -> Operand:
        """A matrix, in any precision, prepared for several products."""

    @abstractmethod
    def add(self, target: Tensor, A: Operand, B: Operand, sign: float = 1.0) -> None:
        """target += sign A B'; a tile of a matrix with rows or columns next to each other."""

    def add_exactly(self, target: Tensor, A: Tensor, B: Tensor, sign: float = 1.0) -> None:
        """The same from matrices, in double precision."""
        right = B.double().T
        for rows in slices(len(target), _STRIP):
            target[rows] += (A[rows].double() @ right).mul_(sign)


class Plain(Products):
    """In the precision of the matrices, double or single."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.rounding = float(np.finfo(self.dtype).eps)

    def operand(self, A: Tensor) -> Operand:
        import torch

        A = A.to(getattr(torch, self.dtype.name))
        return Operand(A, A)

    def add(self, target: Tensor, A: Operand, B: Operand, sign: float = 1.0) -> None:
        target.addmm_(A.left, B.right.T, alpha=sign)


class Split(Products):
    """Single precision from halves."""

    dtype = np.dtype(np.float32)
    rounding = 2.0**-22

    def operand(self, A: Tensor) -> Operand:
        import torch

        m, k = A.shape
        largest = float(A.abs().max()) if A.numel() else 1.0
        unit = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 1.0
        scaled = A * (_ROOM / unit)
        pieces = torch.empty((m, 4 * k), dtype=torch.float16, device=A.device)
        high = pieces[:, :k]
        high.copy_(scaled)
        pieces[:, k : 2 * k] = scaled.sub_(high)
        pieces[:, 2 * k : 3 * k] = high
        pieces[:, 3 * k :] = high
        return Operand(pieces[:, k:], pieces[:, : 3 * k], float(unit))

    def add(self, target: Tensor, A: Operand, B: Operand, sign: float = 1.0) -> None:
        scale = sign * (A.unit / _ROOM) * (B.unit / _ROOM)
        left, right = A.left, B.right
        if target.stride(1) != 1:  # columns next to each other
            target, left, right = target.T, right, left
        _added(target, left, right.T, scale)


def _added(target: Tensor, A: Tensor, B: Tensor, scale: float) -> None:
    """target += scale A B, of halves; their products are single on a GPU, and made so elsewhere."""
    import torch

    if target.is_cuda:
        torch.addmm(target, A, B, alpha=scale, out_dtype=torch.float32, out=target)
    else:
        target.addmm_(A.float(), B.float(), alpha=scale)


def products_for(device: str, dtype: Any) -> Products:
    """In this precision: for single, in halves where PyTorch and the device have such products."""
    if np.dtype(dtype) == np.float64:
        return Plain(np.float64)
    torch, place = import_torch(device), torch_device(device)
    halves = "dtype_out" in torch.ops.aten.addmm.overloads()
    fast = place.type != "cuda" or torch.cuda.get_device_capability(place) >= (7, 0)
    return Split() if halves and fast else Plain(np.float32)
