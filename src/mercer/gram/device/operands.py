"""The tensors behind fused products: which belong to the rows, and which operators can share."""

from __future__ import annotations

from typing import Any

from .fused import Fused


def of_rows(product: Fused) -> list[Any]:
    """The tensors that belong to the rows."""
    order = product._orders[0]
    return [x for x, _ in product._operands] + ([] if order is None else [order])


def of_columns(product: Fused) -> list[Any]:
    """The tensors that belong to the columns."""
    order = product._orders[1]
    return [y for _, y in product._operands] + ([] if order is None else [order])


def share_columns(product: Fused, other: Fused) -> None:
    """Hold the columns of two products once, where they are the same."""
    equal = product._torch.equal
    pairs = zip(list(product._operands), of_columns(other), strict=False)
    for at, ((x, y), known) in enumerate(pairs):
        if y.shape == known.shape and y.dtype == known.dtype and equal(y, known):
            product._operands[at] = x, known
