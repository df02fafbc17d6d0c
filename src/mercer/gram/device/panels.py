"""Matrices in single precision times vectors in double, on a device: each number is read once.

PyTorch would make a copy in double precision first, five times as many bytes. A system with a
triangular matrix of 100,000 rows is 20 GB of such products, one panel after the other.
"""

from __future__ import annotations

import importlib.util
from contextlib import nullcontext
from typing import Any

from .triton_ import interpreted, launch

Tensor = Any
_SIDES = 8  # columns up to which reading the matrix once for each is quicker than a copy
_LONG, _SHORT = 128, 16  # entries of a tile, along what is contiguous and across
_PROGRAMS = 2048  # at a time, at least: sums are split where there are fewer rows
_SOURCE = '''
def fused(A, X, out, rows, cols, down, along, per, R: tl.constexpr, C: tl.constexpr):
    """Sums over some columns of A, for some of its rows and one column of X."""
    i = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    part, side = tl.program_id(1).to(tl.int64), tl.program_id(2).to(tl.int64)
    total = tl.zeros((R, C), dtype=tl.float64)
    for step in range(0, per, C):
        j = part * per + step + tl.arange(0, C)
        inside = (i[:, None] < rows) & (j[None, :] < cols)
        a = tl.load(A + i[:, None] * down + j[None, :] * along, mask=inside, other=0.0)
        x = tl.load(X + side * cols + j, mask=j < cols, other=0.0)
        total += a.to(tl.float64) * x[None, :]
    place = (part * tl.num_programs(2) + side) * rows + i
    tl.store(out + place, tl.sum(total, axis=1), mask=i < rows)
'''


def times(A: Tensor, X: Tensor) -> Tensor:
    """A X in double precision, for X in double and A in any precision."""
    import torch

    reads_twice = A.dtype == torch.float64 or X.shape[1] > _SIDES or not A.numel()
    if reads_twice or not (_on_triton() if A.is_cuda else interpreted()):
        return A.double() @ X
    (n, m), t = A.shape, X.shape[1]
    down, along = A.stride()
    R, C = (_SHORT, _LONG) if along == 1 else (_LONG, _SHORT)
    blocks = -(-n // R)
    parts = max(min(-(-_PROGRAMS // blocks), -(-m // (4 * C))), 1)
    per = -(-m // (parts * C)) * C
    parts = -(-m // per)
    out = torch.empty((parts, t, n), dtype=torch.float64, device=A.device)
    with torch.cuda.device(A.device) if A.is_cuda else nullcontext():
        launch(
            _SOURCE, (blocks, parts, t),
            A, X.T.contiguous(), out, n, m, down, along, per, R=R, C=C,
        )  # fmt: skip
    return out.sum(dim=0).T


def _on_triton() -> bool:
    return importlib.util.find_spec("triton") is not None
