"""Two triangular matrices in the memory of one square matrix, on a device.

A matrix of M x M numbers holds a lower triangular matrix below its diagonal, and another one above.
Both are cut into blocks of 1024 rows; blocks on the diagonal of a factor are kept aside, in double
precision, with their inverses, so that the next matrix can have their place. The
square of M = 150,000 takes 90 GB in single precision, and

    K = L L',    A = L' D L + penalty,    A = R R'

are computed one after the other in place: K and then L below the diagonal, A and then R above it.
Nearly all of the time goes into products of matrices. Those of the first columns, which hold most
of a kernel matrix, are in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...engine.threads import check_cancelled
from ..tiles import slices
from .panels import times
from .products import Products
from .torch_ import import_torch, torch_device

Tensor = Any
SIDE = 1024  # rows of a block
_HEAD = 2  # blocks of columns that are multiplied in double precision in any case


class Square:
    """The memory of two triangles.

    Parameters
    ----------
    size : int
        M.
    device : str
        Where.
    products : Products
        The precision, and how products are computed.
    side : int, optional
        Rows of a block, by default 1024.
    """

    def __init__(self, size: int, device: str, products: Products, side: int | None = None) -> None:
        torch = import_torch(device)
        kind = getattr(torch, products.dtype.name)
        self.array = torch.empty((size, size), dtype=kind, device=torch_device(device))
        self.place = self.array.device
        self.products, self.parts = products, slices(size, side or SIDE)

    @property
    def below(self) -> Triangle:
        """The triangle below the diagonal."""
        return Triangle(self.array, self.parts, self.products)

    @property
    def above(self) -> Triangle:
        """The triangle above the diagonal, which is a lower one of the transposed matrix."""
        return Triangle(self.array.T, self.parts, self.products)


class Triangle:
    """The lower triangle of a matrix in blocks: of a symmetric one, and later of its factor.

    Parameters
    ----------
    array : tensor of shape (M, M)
        What is below the blocks on its diagonal is used.
    parts : list of slice
        The rows of blocks.
    products : Products
        How products are computed.

    Attributes
    ----------
    diagonal, inverse : list of tensors
        The blocks on the diagonal of a factor, in double precision, and their inverses.
    """

    def __init__(self, array: Tensor, parts: list[slice], products: Products) -> None:
        self.array, self.parts, self.products = array, parts, products
        self.diagonal: list[Tensor] = []
        self.inverse: list[Tensor] = []

    def __len__(self) -> int:
        return len(self.array)

    def beside(self, j: int) -> Tensor:
        """What is below the block j on the diagonal."""
        part = self.parts[j]
        return self.array[part.stop :, part]

    def from_diagonal(self, j: int) -> Tensor:
        """The block j on the diagonal, and what is below."""
        part = self.parts[j]
        return self.array[part.start :, part]

    def fill(self, tile: Callable[[slice, slice], Tensor]) -> None:
        """A symmetric matrix from its tiles, in double precision."""
        self.diagonal, self.inverse, n = [], [], len(self)
        for j, part in enumerate(self.parts):
            check_cancelled()
            self.array[part, part] = tile(part, part)
            for rows in slices(n - part.stop, 16 * SIDE):
                here = slice(rows.start + part.stop, rows.stop + part.stop)
                self.beside(j)[rows] = tile(here, part)

    def shift(self, values: float) -> None:
        """Add a number to the diagonal of a symmetric matrix."""
        self.array.diagonal().add_(values)

    @property
    def largest(self) -> float:
        """The largest number on the diagonal."""
        return float(self.array.diagonal().max())

    def factorise(self) -> int:
        """A = L L' in place; the order of a minor that is not positive definite, or 0."""
        import torch

        self.diagonal, self.inverse = [], []
        for j, part in enumerate(self.parts):
            check_cancelled()
            L, info = torch.linalg.cholesky_ex(self.array[part, part].double())
            if int(info):
                return part.start + int(info)
            self.diagonal.append(L)
            self.inverse.append(_inverse(L))
            panel, inverse = self.beside(j), self.inverse[j].T
            for rows in slices(len(panel), 16 * SIDE):
                panel[rows] = (panel[rows].double() @ inverse).to(panel.dtype)
            self._add(panel, range(j + 1, len(self.parts)), -1.0, exactly=j < _HEAD)
        return 0

    def _add(self, A: Tensor, columns: range, sign: float, exactly: bool | None = None) -> None:
        """sign A A' onto blocks of columns, the first of which is that of the first rows of A."""
        if not len(A):
            return
        start, stop = self.parts[columns[0]].start, self.parts[columns[0]].start + len(A)
        own = self.products.operand(A)
        for i in columns:
            part = self.parts[i]
            here = slice(part.start - start, part.stop - start)
            rest, target = slice(here.start, None), self.array[part.start : stop, part]
            if i < _HEAD if exactly is None else exactly:
                self.products.add_exactly(target, A[rest], A[here], sign)
            else:
                self.products.add(target, own[rest], own[here], sign)

    def gram(self, onto: Triangle, weights: Tensor) -> None:
        """L' diag(weights) L of this factor, as another symmetric matrix; weights >= 0."""
        onto.zero()
        roots = weights.sqrt()  # of double precision, as products with them are
        for j, part in enumerate(self.parts):
            check_cancelled()
            rows = self.array[part, : part.stop] * roots[part, None]
            rows[:, part] = self.diagonal[j] * roots[part, None]
            onto.add_gram(rows)

    def zero(self) -> None:
        """Make it a matrix of zeros."""
        self.diagonal, self.inverse = [], []
        for j in range(len(self.parts)):
            self.from_diagonal(j).zero_()

    def add_gram(self, rows: Tensor) -> None:
        """rows' rows onto a symmetric matrix; rows may lack columns that are zero at the end."""
        count = sum(part.start < rows.shape[1] for part in self.parts)
        self._add(rows.T, range(count), 1.0)

    def solve(self, B: Tensor, transposed: bool = False) -> Tensor:
        """L^-1 B, or L'^-1 B, in double precision: the numbers in L are taken as they are."""
        X = B.double().clone()
        steps = range(len(self.parts))
        for j in reversed(steps) if transposed else steps:
            part, rest, panel = self.parts[j], slice(self.parts[j].stop, None), self.beside(j)
            if transposed:
                X[part] = self.inverse[j].T @ (X[part] - times(panel.T, X[rest]))
            else:
                X[part] = self.inverse[j] @ X[part]
                X[rest] -= times(panel, X[part])
        return X

    def times(self, B: Tensor, transposed: bool = False) -> Tensor:
        """L B, or L' B, in double precision."""
        import torch

        B = B.double()
        X = torch.zeros_like(B)
        for j, part in enumerate(self.parts):
            rest, panel = slice(part.stop, None), self.beside(j)
            if transposed:
                X[part] += self.diagonal[j].T @ B[part] + times(panel.T, B[rest])
            else:
                X[part] += self.diagonal[j] @ B[part]
                X[rest] += times(panel, B[part])
        return X

    def rows(self, B: Tensor) -> Tensor:
        """B L'^-1 of many rows, in place, in the precision of the matrix."""
        for j, part in enumerate(self.parts):
            check_cancelled()
            B[:, part] = (B[:, part].double() @ self.inverse[j].T).to(B.dtype)
            rest = slice(part.stop, None)
            if part.stop < len(self):
                own = self.products.operand(B[:, part])
                self.products.add(B[:, rest], own, self.products.operand(self.beside(j)), -1.0)
        return B


def _inverse(L: Tensor) -> Tensor:
    import torch

    one = torch.eye(len(L), dtype=L.dtype, device=L.device)
    return torch.linalg.solve_triangular(L, one, upper=False)
