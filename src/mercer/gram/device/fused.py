r"""Products with K in one kernel of Triton each: values of K never leave the registers.

Squared distances are one product on tensor cores. In ``"fp32"`` every coordinate is split into two
halves of 11 bits, h + l, and the product keeps h h' + h l' + l h'; squared norms are columns of it,
in three parts. So its error is about that of single precision,

.. math:: |\delta| \le 2^{-20} |w| (\|x\|^2 + \|y\|^2),

and an entry for which that is too much (near duplicates far from the centre, outliers, kernels with
a kink at 0) has its tile computed again from differences, in double precision. Coordinates whose
squares do not fit half precision, and inner products, are split by the hardware instead (3 x TF32).
In ``"tf32"`` coordinates have 11 bits. Products in double precision are left to PyTorch.
Sums over columns are added up in double precision and a fixed order.
"""

from __future__ import annotations

import importlib.util
import os
from typing import Any

import numpy as np

from ...engine.threads import go_on
from ...kernels.formula import INNER, SQUARED, TAXICAB, Atom, Formula
from ...kernels.vectors.distances import centre
from .source import LOG2E, Seen, Tile, compiled, value, written
from .torch_ import import_torch, put, torch_device

_ERROR = {"fp32": 2.0**-20, "tf32": 2.0**-10}  # of squared norms, by the product
_FLOOR = 2.0**-23  # what half precision does not resolve, of a coordinate of any size
_SMOOTH = {"fp32": 2.0**-16, "tf32": 2.0**-8}  # error of a distance, beside 1 + D, that is allowed
_KINKED = {"fp32": 2.0**-13, "tf32": 2.0**-6}  # and of its root
_RELATIVE = 256
_HALF = 2.0**-4, 3e4  # the largest coordinates and norms that half precision is used for
_ROWS, _COLUMNS = 64, 128  # of a tile
_PROGRAMS = 4096  # at a time, at least: sums over columns are split where there are fewer rows
_MOST_ROWS = 2**19  # of a launch
_SIDES = 64  # right-hand sides of a launch
_MOST_ATOMS = 16


def interpreted() -> bool:
    """Does Triton run its kernels in Python, on the processor?"""
    return os.environ.get("TRITON_INTERPRET") == "1"


def why_not(formula: Formula | None, device: str, dtype: Any) -> str | None:
    """Why products are not fused; None if they are."""
    if formula is None:
        return "the kernel states no formula"
    if np.dtype(dtype) != np.float32:
        return "products in double precision are those of PyTorch"
    if device == "torch-cpu" and not interpreted():
        return "the processor has no fused kernels"
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    terms = formula.terms()
    if not any(True for _ in formula.atoms()):
        return "the formula has no metric"
    if sum(len(term.atoms) for term in terms) > _MOST_ATOMS:
        return f"the formula has more than {_MOST_ATOMS} factors"
    for atom in formula.atoms():
        if value(atom.profile, "t", False) is None:
            return f"{atom.profile.name} has no fused form"
        if atom.points.shape[1] == 0:
            return "samples have no columns"
    return None


class Fused:
    """K between two samples, as products on a device.

    Parameters
    ----------
    rows, cols : Formula
        The same formula on the samples of rows and of columns, for which :func:`why_not` is None.
    device : str
        Where.
    precision : {"fp32", "tf32"}
        That of distances and inner products.
    """

    def __init__(self, rows: Formula, cols: Formula, device: str, precision: str = "fp32") -> None:
        self.device, self.precision = device, precision
        self.place, self._torch = torch_device(device), import_torch(device)
        left, right = rows.terms(), cols.terms()
        self.shape = _size(rows), _size(cols)
        atoms = [
            pair
            for a, b in zip(left, right, strict=True)
            for pair in zip(a.atoms, b.atoms, strict=True)
        ]
        users: dict[Any, list[Atom]] = {}
        for atom, other in atoms:
            users.setdefault(_place(atom, other), []).append(atom)
        folds = {at: all(a.profile.name == "exp" for a in of) for at, of in users.items()}
        kinks = {at: any(a.profile.kinked for a in of) for at, of in users.items()}
        index: dict[Any, int] = {}
        seen: list[Seen] = []
        self._operands: list[tuple[Any, Any]] = []
        for atom, other in atoms:
            at = _place(atom, other)
            if at not in index:
                index[at] = len(seen)
                metric, operands = self._metric(atom, other, folds[at], kinks[at])
                seen.append(metric)
                self._operands += operands
        factors: list[tuple[Any, Any]] = []
        terms: list[Tile] = []
        for a, b in zip(left, right, strict=True):
            several = []
            for atom, other in zip(a.atoms, b.atoms, strict=True):
                q = index[_place(atom, other)]
                profile = value(atom.profile, f"t{q}", folds[_place(atom, other)])
                assert profile is not None  # see why_not
                several.append((q, profile))
            bits = 0
            for f, g in zip(a.factors, b.factors, strict=True):
                bits |= 1 << len(factors)
                factors.append((self._put(f), self._put(g)))
            terms.append((a.weight, tuple(several), bits))
        self._operands += factors
        self._kernel = compiled(written(tuple(seen), tuple(terms), len(factors)))

    def _put(self, array: Any, dtype: Any = np.float32) -> Any:
        return put(array, self.device, dtype)

    def _metric(
        self, atom: Atom, other: Atom, folded: bool, kinked: bool
    ) -> tuple[Seen, list[tuple[Any, Any]]]:
        """How a metric is computed, and the tensors that are read for it."""
        torch, sign = self._torch, -1 if atom.weight < 0 else 1
        weight = abs(atom.weight) * (LOG2E if folded else 1.0)
        same = other.points is atom.points
        X = self._put(atom.points, np.float64)
        Y = X if same else self._put(other.points, np.float64)
        d = X.shape[1]
        if atom.metric == INNER:
            return self._inner(X, Y, sign * weight)
        if len(other.points):
            origin = self._put(centre(np.asarray(other.points, np.float64)), np.float64)
            X = X - origin
            Y = X if same else Y - origin
        if atom.metric == TAXICAB:
            X, Y = (weight * X).float(), (weight * Y).float()
            return Seen(TAXICAB, (), "ieee", d, False, sign), [(X, Y)]
        X, Y = weight**0.5 * X, weight**0.5 * Y
        norms = X.square().sum(1), Y.square().sum(1)
        largest = max(float(norm.max()) if len(norm) else 0.0 for norm in norms)
        half = self.precision == "fp32" and _HALF[0] <= largest <= _HALF[1]
        unit = LOG2E if folded else 1.0
        limits = [self._limit(norm, d, kinked, unit, half) for norm in norms]
        doubt = kinked or bool(sum(float(x.max()) if len(x) else -unit for x in limits) > 0)
        parts = _halves if half else _singles if self.precision == "fp32" else _short
        pairs, width = parts(torch, X, Y, *norms, float(sign))
        pieces = _pieces(width, 16 if half else 8)
        operands = [tuple(_padded(torch, part, sum(pieces)) for part in pairs)]
        if doubt:
            operands += [(X, Y), tuple(limit.float() for limit in limits)]
        dot = "tf32x3" if self.precision == "fp32" and not half else "tf32"
        return Seen(SQUARED, pieces, dot, d if doubt else 0, True, sign), operands

    def _inner(self, X: Any, Y: Any, weight: float) -> tuple[Seen, list[tuple[Any, Any]]]:
        pieces = _pieces(X.shape[1], 8)
        left, right = ((weight * X).float(), Y.float())
        operands = tuple(_padded(self._torch, part, sum(pieces)) for part in (left, right))
        dot = "tf32x3" if self.precision == "fp32" else "tf32"
        return Seen(INNER, pieces, dot, 0, False, 1), [operands]

    def _limit(self, norms: Any, d: int, kinked: bool, unit: float, half: bool) -> Any:
        """What samples with these norms add to the limit below which a distance is in doubt."""
        torch = self._torch
        error = _ERROR[self.precision] * norms
        if half:
            error = error + _FLOOR * (d * norms).sqrt()
        doubt = error / _SMOOTH[self.precision] - unit / 2
        if kinked:
            root = (error / _KINKED[self.precision]).square() / 2
            doubt = torch.maximum(doubt, torch.maximum(root, _RELATIVE * error))
        return torch.nan_to_num(doubt, nan=torch.inf, posinf=torch.inf)

    def __call__(self, V: Any, rows: slice | None = None) -> Any:
        """K V, or some rows of it, of a tensor with one column for each right-hand side."""
        return self._product(V, self._operands, rows or slice(0, self.shape[0]), self.shape[1])

    def transposed(self, U: Any, rows: slice | None = None) -> Any:
        """K' U, or its part that belongs to some rows of K, whose U is given."""
        at = rows or slice(0, self.shape[0])
        swapped = [(y, x[at]) for x, y in self._operands]
        return self._product(U, swapped, slice(0, self.shape[1]), at.stop - at.start)

    def normal(self, V: Any) -> Any:
        """K' K V; K V stays on the device."""
        return self.transposed(self(V))

    def _product(self, V: Any, operands: list[tuple[Any, Any]], rows: slice, m: int) -> Any:
        """In double precision; columns are scaled by powers of two, which rounds nothing."""
        torch, n = self._torch, rows.stop - rows.start
        out = torch.zeros((n, V.shape[1]), dtype=torch.float64, device=self.place)
        if not (n and m):
            return out
        largest = V.double().abs().amax(0)
        unit = torch.exp2(torch.floor(torch.log2(torch.where(largest > 0, largest, 1.0))))
        scaled = (V.double() / unit).float()
        for first in range(0, V.shape[1], _SIDES):
            side = scaled[:, first : first + _SIDES].contiguous()
            for start in range(0, n, _MOST_ROWS):
                go_on()
                stop = min(start + _MOST_ROWS, n)
                some = slice(rows.start + start, rows.start + stop)
                part = [(x[some], y) for x, y in operands]
                out[start:stop, first : first + _SIDES] = self._launch(part, side, stop - start, m)
        return out * unit

    def _launch(self, operands: list[tuple[Any, Any]], V: Any, n: int, m: int) -> Any:
        torch, width = self._torch, V.shape[1]
        blocks = -(-n // _ROWS)
        splits = max(1, min(-(-_PROGRAMS // blocks), m // (16 * _COLUMNS)))
        span = -(-m // (splits * _COLUMNS)) * _COLUMNS
        splits = -(-m // span)
        out = torch.empty((splits, n, width), dtype=torch.float64, device=self.place)
        sides = 1 if width == 1 else max(16, 1 << (width - 1).bit_length())
        dot = "tf32x3" if self.precision == "fp32" else "tf32"
        tensors = [tensor for pair in operands for tensor in pair]
        self._kernel[(blocks, splits)](
            *tensors, V, out, n, m, width, span,
            R=sides, DOT=dot, BM=_ROWS, BN=_COLUMNS, num_warps=4, num_stages=3,
        )  # fmt: skip
        return out.sum(0)


def _place(atom: Atom, other: Atom) -> Any:
    return atom.metric, id(atom.points), id(other.points), atom.weight


def _size(formula: Formula) -> int:
    for node in formula.nodes():
        held = getattr(node, "points", getattr(node, "factor", None))
        if held is not None:
            return len(held)
    raise ValueError("a formula without samples has no size.")


def _pieces(width: int, unit: int) -> tuple[int, ...]:
    """Powers of two, at least 16, into which operands of this width are cut."""
    unit = max(unit, 16)
    width = -(-max(width, 1) // unit) * unit
    if width > 256:
        return (64,) * -(-width // 64)
    return tuple(1 << b for b in reversed(range(9)) if width >> b & 1)


def _padded(torch: Any, part: Any, width: int) -> Any:
    return torch.nn.functional.pad(part, (0, width - part.shape[1])).contiguous()


def _split(torch: Any, x: Any, kind: Any, parts: int) -> list[Any]:
    """Numbers as sums of shorter ones."""
    out = []
    for _ in range(parts):
        out.append(x.to(kind))
        x = x - out[-1].to(x.dtype)
    return out


def _halves(torch: Any, X: Any, Y: Any, nx: Any, ny: Any, sign: float) -> tuple[Any, int]:
    """[h, h, l] and [h', l', h'] in half precision, with norms in three parts beside them."""
    (xh, xl), (yh, yl) = (_split(torch, Z, torch.half, 2) for Z in (-2 * sign * X, Y))
    left, right = torch.cat([xh, xh, xl], 1), torch.cat([yh, yl, yh], 1)
    return _beside(torch, left, right, *(_split(torch, sign * n, torch.half, 3) for n in (nx, ny)))


def _singles(torch: Any, X: Any, Y: Any, nx: Any, ny: Any, sign: float) -> tuple[Any, int]:
    """In single precision; the hardware splits."""
    left, right = (-2 * sign * X).float(), Y.float()
    return _beside(
        torch, left, right, *(_split(torch, sign * n, torch.float32, 1) for n in (nx, ny))
    )


def _short(torch: Any, X: Any, Y: Any, nx: Any, ny: Any, sign: float) -> tuple[Any, int]:
    """Coordinates of 11 bits; norms, in three parts, have more."""
    left, right = (-2 * sign * X).float(), Y.float()
    norms = ([h.float() for h in _split(torch, sign * n, torch.bfloat16, 3)] for n in (nx, ny))
    return _beside(torch, left, right, *norms)


def _beside(torch: Any, left: Any, right: Any, nx: list[Any], ny: list[Any]) -> tuple[Any, int]:
    kind, k = left.dtype, len(nx)
    ones = [torch.ones((len(Z), k), dtype=kind, device=Z.device) for Z in (left, right)]
    left = torch.cat([left, torch.stack(nx, 1).to(kind), ones[0]], 1)
    right = torch.cat([right, ones[1], torch.stack(ny, 1).to(kind)], 1)
    return (left, right), left.shape[1]
