"""Rows and columns of fused products, and which of their distances may have cancelled.

They are sorted so that columns in doubt are adjacent for each block of rows, and few tiles have to
be checked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .halves import longer
from .shapes import Shape


class Side(NamedTuple):
    """Rows or columns of K: the tensors that are read.

    Parameters
    ----------
    operands : list of Tensor
    order : Tensor or None
        Which of them the operands belong to, one after the other, where they are sorted.
    along : Tensor or None
        Where they are in the direction along which they are sorted, if there is one.
    size : int
        How many there are.
    sure : int
        How many of the first have no distance in doubt to any sample of the other side.
    """

    operands: list[Any]
    order: Any
    along: Any
    size: int
    sure: int = 0

    def part(self, start: int, stop: int) -> Side:
        """Some of them, as they are sorted."""
        here = slice(start, stop)
        order, along = (None if x is None else x[here] for x in (self.order, self.along))
        sure = min(max(self.sure - start, 0), stop - start)
        return Side([x[here] for x in self.operands], order, along, stop - start, sure)

    def in_doubt(self, step: int) -> int:
        """How many pieces of a given size have samples in doubt: they are the last."""
        return -(-self.size // step) - self.sure // step if self.sure < self.size else 0


def along(torch: Any, X: Any, Y: Any) -> tuple[Any, Any]:
    """Positions of samples along approximately the direction of largest spread of Y."""
    u = Y.std(0, correction=0)
    for _ in range(3):
        u = Y.T @ (Y @ u)
        u = u / u.norm()
    return tuple(torch.nan_to_num(part @ u, nan=0.0, posinf=0.0, neginf=0.0) for part in (X, Y))


def doubts_of(torch: Any, rows: Side, columns: Side, x: Any, y: Any, tile: Shape) -> Any:
    """The first tile of columns that may be in doubt, and the one after the last.

    For each block of rows, given the limits x of rows and the largest y of each tile of columns.
    """
    x = longer(torch, x, -rows.size % tile.rows, float("-inf")).view(-1, tile.rows).amax(1)
    if rows.along is None:  # sorted by limits; behind all are zeros
        low = torch.searchsorted(y.cummax(0).values, -x, right=True)
        high = torch.full_like(low, len(y))
    else:
        reach = (x + y.max()).clamp(min=0.0).double().sqrt()
        ends = torch.arange(1, len(x) + 1, device=x.device) * tile.rows
        least, most = rows.along[:: tile.rows], rows.along[ends.clamp(max=rows.size) - 1]
        places = columns.along.view(-1, tile.columns)
        low = torch.searchsorted(places[:, -1].contiguous(), least - reach)
        high = torch.searchsorted(places[:, 0].contiguous(), most + reach, right=True)
    return torch.stack((low, high), 1)
