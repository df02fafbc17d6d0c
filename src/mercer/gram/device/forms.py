r"""Quadratic forms of K in very many vectors at once, in one kernel of Triton.

.. math:: 2 \sum_{i < j} k(x_i, x_j)\, v_{ic} v_{jc}, \qquad c = 1, 2, \dots

are all that permutation tests ask of K, a column for each permutation. A program computes a tile of
K above the diagonal from differences, multiplies it with 256 columns on tensor cores, weighs the
product, and adds it up: neither K nor K V is ever stored. Entries and vectors are split into two
halves in half precision, h + l, of which h h' + h l' + l h' is kept: their errors are below
2^-21 of the unit of K, those of single precision. Larger entries are split by the hardware
(3 x TF32).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ...engine.threads import check_cancelled
from ...kernels.formula import Formula
from .entries import Coordinates, Numbers, Taken, change, distance_lines
from .torch_ import import_torch
from .triton_ import launch

_ROWS, _COLUMNS, _SIDES = 64, 128, 256  # of a tile, and of the vectors of a launch
_PROGRAMS = 2048  # at least
_HALF = 64.0  # the largest entry of K that half precision is used for


class Forms:
    """Quadratic forms of K, without its diagonal, of one sample.

    Parameters
    ----------
    formula : Formula
        One whose products are fused, without factors f(x).
    device : str
        Where.
    points : Coordinates
        Coordinates that several formulas may share.
    largest : float
        A bound of |k|.
    """

    def __init__(self, formula: Formula, device: str, points: Coordinates, largest: float) -> None:
        self.device, self.half = device, largest <= _HALF
        self.taken, self.numbers = Taken.of(formula), Numbers()
        changes = enumerate(self.taken.atoms)
        self.changes: list[Any] = [change(a.profile, f"t{q}", self.numbers) for q, a in changes]
        self.weights = [self.numbers(atom.weight) for atom in self.taken.atoms]
        self.factors = [self.numbers(weight) for weight, _ in self.taken.terms]
        self._points = [points.of(atom) for atom in self.taken.atoms]
        self.n = self._points[0].shape[1]

    def __call__(self, V: Any) -> tuple[Any, float]:
        """The forms of the columns of V, a tensor of shape (n, c), and the sum of squares of K."""
        torch, (n, c) = import_torch(self.device), V.shape
        blocks = -(-n // _ROWS)
        splits = max(1, min(-(-_PROGRAMS // blocks), n // (16 * _COLUMNS)))
        span = -(-n // (splits * _COLUMNS)) * _COLUMNS
        splits = -(-n // span)
        total = torch.zeros(c, dtype=torch.float64, device=V.device)
        squares = 0.0
        sides = min(_SIDES, max(16, 1 << max(c - 1, 1).bit_length()))
        out = torch.empty((blocks * splits, sides), dtype=torch.float64, device=V.device)
        norms = torch.empty(blocks * splits, dtype=torch.float64, device=V.device)
        for first in range(0, max(c, 1), sides):
            check_cancelled()
            some = V[:, first : first + sides].float()
            side = torch.nn.functional.pad(some, (0, sides - some.shape[1])).contiguous()
            high = side.half()
            low = (side - high.float()).half()
            launch(
                self._source, (blocks, splits),
                *self._points, *self.numbers.values, side, high, low, out, norms, n, span, splits,
                R=sides, HALF=self.half, LOW=bool((low != 0).any()), BM=_ROWS, BN=_COLUMNS,
                num_warps=8, stages=2,
            )  # fmt: skip
            total[first : first + some.shape[1]] = 2 * out.sum(0)[: some.shape[1]]
            squares = 2 * float(norms.sum())
        return total, squares

    @cached_property
    def _source(self) -> str:
        """The source of a program: some rows, and the columns of a span after them."""
        atoms = self.taken.atoms
        entry: list[str] = []
        for a, atom in enumerate(atoms):
            entry += distance_lines(a, atom, self.weights[a])
            entry += [f"v{a} = {self.changes[a].value}"]
        products = [
            " * ".join([factor, *(f"v{a}" for a in several)])
            for factor, (_, several) in zip(self.factors, self.taken.terms, strict=True)
        ]
        points = "".join(f"c{a}, " for a in range(len(atoms)))
        return f"""
def fused({points}{self.numbers.names}V, H, S, out, norms, n, span, splits,
          R: tl.constexpr, HALF: tl.constexpr, LOW: tl.constexpr,
          BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    r = tl.arange(0, R)
    mine = tl.load(V + i[:, None] * R + r[None, :], mask=i[:, None] < n, other=0.0)
    acc = tl.zeros((R,), tl.float64)
    norm = tl.zeros((1,), tl.float64)
    base = tl.program_id(1).to(tl.int64) * span
    first = tl.maximum(base, tl.program_id(0).to(tl.int64) * BM // BN * BN)
    last = tl.minimum(base + span, n)
    for start in range(first, last, BN):
        j = start + tl.arange(0, BN)
        {_indented(entry)}
        k = tl.zeros((BM, BN), tl.float32) + {" + ".join(products)}
        above = (j[None, :] > i[:, None]) & (j[None, :] < n)
        k = tl.where(above, k, 0.0)
        norm += tl.sum(tl.sum(k * k, axis=1), axis=0).to(tl.float64)
        there = j[:, None] * R + r[None, :]
        if HALF:
            high = k.to(tl.float16)
            low = (k - high.to(tl.float32)).to(tl.float16)
            v = tl.load(H + there, mask=j[:, None] < n, other=0.0)
            kv = tl.dot(low, v)
            if LOW:
                kv = tl.dot(high, tl.load(S + there, mask=j[:, None] < n, other=0.0), kv)
            kv = tl.dot(high, v, kv)
        else:
            v = tl.load(V + there, mask=j[:, None] < n, other=0.0)
            kv = tl.dot(k, v, input_precision="tf32x3")
        acc += tl.sum(mine * kv, axis=0).to(tl.float64)
    at = tl.program_id(0).to(tl.int64) * splits + tl.program_id(1)
    tl.store(out + at * R + r, acc)
    tl.store(norms + at + tl.arange(0, 1), norm)
"""


def _indented(lines: list[str]) -> str:
    return "\n        ".join(lines)
