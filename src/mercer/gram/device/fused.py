r"""Products with K, each in one Triton kernel: values of K never leave the registers.

Squared distances are one product on tensor cores. In ``"fp32"`` every coordinate is split into two
halves of 11 bits, h + l, and the product keeps h h' + h l' + l h'; squared norms are columns of it,
in two parts. So its error is about that of single precision,

.. math:: |\delta| \le 2^{-20} |w| (\|x\|^2 + \|y\|^2),

and tiles with an entry for which that is too much (near duplicates far from the centre, outliers,
kernels with a kink at 0) are marked, and corrected by a second kernel, from differences. Samples
are sorted so that few tiles have to be checked: those in doubt come last or, for kernels with a
kink, samples are sorted along a direction in which most are farther apart than that. Coordinates
whose squares exceed half precision, and inner products, are split by the hardware instead (3 x
TF32). In ``"tf32"`` coordinates have 11 bits. Products in double precision are left to PyTorch.
Sums over columns are in single precision for some thousands of them, then in double, in a fixed
order. With several right-hand sides, the values of bounded kernels are split like coordinates.
"""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np

from ...engine.threads import check_cancelled
from ...kernels.formula import INNER, SQUARED, TAXICAB, Atom, Formula, Profile
from ...kernels.vectors.distances import centre
from .functions import Powers, unit_of, value
from .halves import halves, longer, padded, pieces, shared, short, singles, split
from .shapes import Shape, mix_of, shape_of
from .sides import Side, along, doubts_of
from .source import TILES, Seen, Tile, sortable, written
from .torch_ import import_torch, put, torch_device
from .triton_ import interpreted, launch

_ERROR = {"fp32": 2.0**-20, "tf32": 2.0**-10}  # of squared norms, by the product
_FLOOR = 2.0**-23  # what half precision does not resolve, of a coordinate of any size
_SMOOTH = {"fp32": 2.0**-14, "tf32": 2.0**-8}  # allowed error of a distance, relative to 1 + D
_KINKED = {"fp32": 2.0**-13, "tf32": 2.0**-6}  # likewise for its root
_RELATIVE = 256
_HALF = 2.0**-4, 3e4  # the largest coordinates and norms that half precision is used for
_PROGRAMS = 4096  # minimum at a time: sums over columns are split if there are fewer rows
_SPAN = 64 * TILES, 64  # maximum of columns, and minimum of tiles, added up in single precision
_MOST_ROWS = 2**19  # of a launch
_SIDES = 64  # right-hand sides of a launch
_FEW = 4  # right-hand sides that are summed without tensor cores
_NARROW = 32  # columns of V: with 16, Triton 3.6 compiles kernels that read where they may not
_PARTIAL = 2**28  # sums of a launch
_LOWEST = 70.0  # of an exponent, in absolute size, that no power has to be protected from
_TILE = 256  # columns, of which those of all tiles are divisors
_FULL = 2.0**14  # the largest entry of K, and of a right-hand side, in half precision
_MOST_ATOMS = 16
_DECREASING = ("laplacian", "matern", "rational quadratic")  # from 1 to 0, as distances grow


def why_not(formula: Formula | None, device: str, dtype: Any) -> str | None:
    """Why products are not fused; None if they are."""
    if formula is None:
        return "the kernel states no formula"
    if np.dtype(dtype) != np.float32:
        return "products in double precision are those of PyTorch"
    if device == "torch-cpu" and not interpreted():
        return "there are no fused kernels for the CPU"
    if importlib.util.find_spec("triton") is None:
        return "Triton is not installed"
    terms = formula.terms()
    if not any(True for _ in formula.atoms()):
        return "the formula has no metric"
    if sum(len(term.atoms) for term in terms) > _MOST_ATOMS:
        return f"the formula has more than {_MOST_ATOMS} factors"
    for atom in formula.atoms():
        if value(atom.profile, "t", 1.0, False, repr) is None:
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
        users: dict[Any, list[Atom]] = {}
        for a, b in zip(left, right, strict=True):
            for atom, other in zip(a.atoms, b.atoms, strict=True):
                users.setdefault(_place(atom, other), []).append(atom)
        units = {at: unit_of([atom.profile for atom in of]) for at, of in users.items()}
        index: dict[Any, int] = {}
        seen: list[Seen] = []
        self._operands: list[tuple[Any, Any]] = []
        self._limits: list[int] = []  # which of them say where distances are in doubt
        self._along: tuple[Any, ...] = ()  # where samples are, in one direction
        self._weights: list[float] = []  # of metrics, without their signs
        self._largest = 0.0  # exponent, with both signs
        held = 0  # bytes of operands of a row
        for a, b in zip(left, right, strict=True):
            for atom, other in zip(a.atoms, b.atoms, strict=True):
                at = _place(atom, other)
                if at not in index:
                    index[at] = len(seen)
                    metric, operands = self._metric(atom, other, users[at], units[at])
                    seen.append(metric)
                    if metric.pieces and metric.held:
                        held += operands[0][0][:1].nbytes
                    self._operands += operands
                    if metric.checked:
                        self._limits.append(len(self._operands) - 1)
        numbers: list[float] = []

        def number(x: float) -> str:
            numbers.append(x)
            return f"n{len(numbers) - 1}"

        factors: list[tuple[Any, Any]] = []
        terms: list[Tile] = []
        largest = 0.0
        for a, b in zip(left, right, strict=True):
            several, size = [], abs(a.weight)
            for atom, other in zip(a.atoms, b.atoms, strict=True):
                at = _place(atom, other)
                q = index[at]
                profile = value(atom.profile, f"t{q}", units[at], seen[q].bounded, number)
                assert profile is not None  # see why_not
                several.append((q, profile))
                size *= 1.0 if _at_most_one(atom.profile, seen[q]) else np.inf
            bits = 0
            for f, g in zip(a.factors, b.factors, strict=True):
                bits |= 1 << len(factors)
                factors.append((self._put(f, np.float32), self._put(g, np.float32)))
                size *= float(np.abs(f).max(initial=0.0)) * float(np.abs(g).max(initial=0.0))
            terms.append((None if a.weight == 1 else number(a.weight), tuple(several), bits))
            largest += size
        self._operands += factors
        self._unit = 2.0 ** np.floor(np.log2(_FULL / largest)) if 0 < largest < np.inf else 0.0
        self._numbers = self._put(np.array([*numbers, self._unit, *self._weights]), np.float32)
        self._work, self._held = sum(metric.work for metric in seen), held
        self._made = tuple(seen), tuple(terms), len(factors), len(numbers)
        self._sources: dict[int, str] = {}
        self._orders: tuple[Any, Any] = (None, None)
        self._sure = 0, 0  # the first rows and columns without any doubt
        if sortable(tuple(seen)):  # those in doubt side by side: few tiles have any
            by = self._along or self._operands[self._limits[0]]
            rows_first, cols_first = (self._torch.argsort(part) for part in by)
            self._operands = [(x[rows_first], y[cols_first]) for x, y in self._operands]
            self._orders = rows_first, cols_first
            if self._along:
                self._along = self._along[0][rows_first], self._along[1][cols_first]
            else:
                x, y = self._operands[self._limits[0]]
                self._sure = _sure(x, y), _sure(y, x)

    def _put(self, array: Any, dtype: Any = None) -> Any:
        return put(array, self.device, dtype)

    def _metric(
        self, atom: Atom, other: Atom, users: list[Atom], unit: float
    ) -> tuple[Seen, list[tuple[Any, Any]]]:
        """How a metric is computed, and the tensors it reads."""
        torch, sign = self._torch, -1 if atom.weight < 0 else 1
        kinked = any(user.profile.kinked for user in users)
        weight = abs(atom.weight) * unit
        same = other.points is atom.points
        raw = self._put(atom.points)
        points = raw, (raw if same else self._put(other.points))
        X, Y = (part.double() for part in points)
        d = X.shape[1]
        self._weights.append(weight)
        if atom.metric == INNER:
            return self._inner(X, Y, sign * weight)
        if len(other.points):
            origin = self._put(centre(np.asarray(other.points, np.float64)), np.float64)
            X, Y = X - origin, Y - origin
        if atom.metric == TAXICAB:
            self._weights[-1], self._largest = 1.0, np.inf
            X, Y = (weight * X).float(), (weight * Y).float()
            return Seen(TAXICAB, (), "ieee", d, False, sign), [(X, Y)]
        X, Y = weight**0.5 * X, weight**0.5 * Y
        norms = [part.square().sum(1) for part in (X, Y)]
        most = [float(norm.max()) if len(norm) else 0.0 for norm in norms]
        farthest = 2 * sum(most) if np.isfinite(sum(most)) else np.inf
        if sign > 0:  # then roots and logarithms of it become exponents
            farthest = (
                np.inf if any(_mixed(user) for user in users) else 2.5 * (farthest / unit) ** 0.5
            )
        self._largest = max(self._largest, farthest)
        half = self.precision == "fp32" and _HALF[0] <= max(most) <= _HALF[1]
        errors = [self._error(norm, d, half) for norm in norms]
        limits = [self._limit(error, kinked, unit) for error in errors]
        doubt = kinked or bool(sum(float(x.max()) if len(x) else -unit for x in limits) > 0)
        # so that by rounding no distance is below zero, or none by more than an exponent can take
        norms = [
            norm + (error if sign > 0 else error * (error > 1))
            for norm, error in zip(norms, errors, strict=True)
        ]
        parts: Any = halves if half else singles if self.precision == "fp32" else short
        pairs, width = parts(torch, X, Y, *norms, float(sign))
        both = half and shared(d)
        widths = pieces(width, 16 if half else 8, 1 + both)
        for part, limit in zip(pairs, limits, strict=True):
            part[limit == torch.inf] = 0  # all of these are mended, and have to be finite before
        whole = sum(widths) * (1 + both)
        operands = [tuple(padded(torch, part, whole) for part in pairs)]
        double = any(part.dtype == torch.float64 for part in points)
        if doubt:
            operands += [tuple(part.double() if double else part for part in points)]
            operands += [tuple(limit.float() for limit in limits)]
            if kinked:
                self._along = along(torch, X, Y)
        dot = "tf32x3" if self.precision == "fp32" and not half else "tf32"
        seen = Seen(SQUARED, widths, dot, d if doubt else 0, double and doubt, sign, both)
        return seen, operands

    def _inner(self, X: Any, Y: Any, weight: float) -> tuple[Seen, list[tuple[Any, Any]]]:
        widths = pieces(X.shape[1], 8)
        left, right = ((weight * X).float(), Y.float())
        operands = tuple(padded(self._torch, part, sum(widths)) for part in (left, right))
        dot = "tf32x3" if self.precision == "fp32" else "tf32"
        return Seen(INNER, widths, dot, 0, False, 1), [operands]

    def _error(self, norms: Any, d: int, half: bool) -> Any:
        """The contribution of samples with these norms to the error of a distance."""
        error = _ERROR[self.precision] * norms
        return error + _FLOOR * (1 + (d * norms).sqrt()) if half else error

    def _limit(self, error: Any, kinked: bool, unit: float) -> Any:
        """What samples with these errors add to the limit below which distances are in doubt."""
        torch, error = self._torch, 2 * error  # where distances were made longer by as much
        doubt = error / _SMOOTH[self.precision] - unit / 2
        if kinked:
            root = (error / _KINKED[self.precision]).square() / 2
            doubt = torch.maximum(doubt, torch.maximum(root, _RELATIVE * error))
        return torch.nan_to_num(doubt, nan=torch.inf, posinf=torch.inf)

    def __call__(self, V: Any, rows: slice | None = None) -> Any:
        """K V, or some rows of it, of a tensor with one column for each right-hand side."""
        return self._product(V, self._rows(rows), self._columns())

    def transposed(self, U: Any, rows: slice | None = None) -> Any:
        """K' U, or its part from some rows of K, whose U is given."""
        return self._product(U, self._columns(), self._rows(rows))

    def normal(self, V: Any) -> Any:
        """K' K V; K V stays on the device."""
        return self.transposed(self(V))

    def _columns(self) -> Side:
        along = self._along[1] if self._along else None
        operands = [y for _, y in self._operands]
        return Side(operands, self._orders[1], along, self.shape[1], self._sure[1])

    def _rows(self, rows: slice | None) -> Side:
        """All rows, or those of a slice."""
        operands, order = [x for x, _ in self._operands], self._orders[0]
        along = self._along[0] if self._along else None
        if rows is None:
            return Side(operands, order, along, self.shape[0], self._sure[0])
        size = rows.stop - rows.start
        if order is None:
            return Side([x[rows] for x in operands], None, along, size)
        places = ((order >= rows.start) & (order < rows.stop)).nonzero()[:, 0]
        along = None if along is None else along[places]
        sure = int((places < self._sure[0]).sum())
        return Side([x[places] for x in operands], order[places] - rows.start, along, size, sure)

    def _product(self, V: Any, rows: Side, columns: Side) -> Any:
        """In double precision; columns are scaled by powers of two, which rounds nothing."""
        torch, n, m, sides = self._torch, rows.size, columns.size, V.shape[1]
        out = torch.zeros((n, sides), dtype=torch.float64, device=self.place)
        if not (n and m):
            return out
        if columns.order is not None:
            V = V[columns.order]
        missing = -m % _TILE
        if missing:  # columns of zeros, beside which V is zero
            fill = [0.0] * len(columns.operands)
            for at in self._limits:
                fill[at] = float("-inf")
            read = zip(columns.operands, fill, strict=True)
            columns = columns._replace(
                operands=[longer(torch, y, missing, x) for y, x in read],
                along=longer(torch, columns.along, missing, float("inf")) if self._along else None,
                size=m + missing,
            )
            V = longer(torch, V, missing, 0.0)
        largest = V.abs().amax(0).double()
        unit = torch.exp2(torch.floor(torch.log2(torch.where(largest > 0, largest, 1.0))))
        for first in range(0, sides, _SIDES):
            some = slice(first, min(first + _SIDES, sides))
            width = some.stop - first
            both = bool(width > _FEW and self.precision == "fp32" and self._unit > 0)
            full, scale = (_FULL, unit[some] / _FULL / self._unit) if both else (1.0, unit[some])
            side = (V[:, some].double() * (full / unit[some])).float()
            if width > _FEW:
                least = _NARROW // 2 if both else _NARROW
                side = padded(torch, side, max(least, 1 << (width - 1).bit_length()))
                side = torch.cat(split(torch, side, torch.half, 2), 1) if both else side
            room = _PARTIAL // (side.shape[1] * -(-columns.size // _SPAN[0]))
            most = max(min(_MOST_ROWS, room) // _TILE, 1) * _TILE
            for start in range(0, n, most):
                check_cancelled()
                part = rows.part(start, min(start + most, n))
                to = slice(start, start + part.size) if part.order is None else part.order
                out[to, some] = self._launch(part, columns, side, width, both) * scale
        return out

    def _launch(self, rows: Side, columns: Side, V: Any, width: int, both: bool) -> Any:
        """K V for the first columns of V, in units if ``both`` halves of V are side by side."""
        torch, n, m = self._torch, rows.size, columns.size
        few = width if width <= _FEW else 0
        tile = shape_of(self._work, bool(few), self._held)
        blocks, tiles = -(-n // tile.rows), m // tile.columns
        splits = max(1, min(-(-_PROGRAMS // blocks), tiles // _SPAN[1]), -(-m // _SPAN[0]))
        span = -(-tiles // splits) * tile.columns
        splits = -(-m // span)
        out = torch.empty((splits, n, V.shape[1]), dtype=torch.float32, device=self.place)
        marks = torch.zeros(
            (tiles, blocks) if self._limits else 1, dtype=torch.int8, device=self.place
        )
        tensors: list[Any] = []
        for at, (x, y) in enumerate(zip(rows.operands, columns.operands, strict=True)):
            tensors += [x, y.view(-1, tile.columns).amax(1) if at in self._limits else y]
        doubts = marks
        if rows.order is not None:
            at = 2 * self._limits[0]
            doubts = doubts_of(torch, rows, columns, tensors[at], tensors[at + 1], tile)
        dot = "tf32x3" if self.precision == "fp32" else "tf32"
        grids = {"fused": (blocks, splits)}
        if self._limits:
            grids["mended"] = rows.in_doubt(tile.rows), columns.in_doubt(span)
        for kernel, grid in grids.items():
            if not all(grid):
                continue
            launch(
                self._source(few, tile), grid,
                *tensors, self._numbers, V.T.contiguous() if few else V, marks, doubts, out, n, m,
                span, name=kernel, stages=tile.stages if kernel == "fused" else 1,
                R=V.shape[1], SPLIT=both, DOT=dot, BM=tile.rows, BN=tile.columns,
                num_warps=tile.warps,
            )  # fmt: skip
        total = out.sum(0, dtype=torch.float64)
        return (total.view(n, 2, -1).sum(1) if both else total)[:, :width]

    def _source(self, few: int, tile: Shape) -> str:
        """The source for this many right-hand sides; 0 if they are summed on tensor cores."""
        if few not in self._sources:
            powers = None
            if self.place.type == "cuda" and not interpreted():
                mix = mix_of(self._made[1], self._work, few)
                powers = Powers(*mix, not self._largest < _LOWEST)
            self._sources[few] = written(*self._made, powers, few, tile.ahead)
        return self._sources[few]


def _at_most_one(profile: Profile, metric: Seen) -> bool:
    """Is a function of a metric between 0 and 1?"""
    return metric.bounded if profile.name == "exp" else profile.name in _DECREASING


def _mixed(user: Atom) -> bool:
    """Is the exponent of a function of a distance more than its root, times sqrt(3)?"""
    return user.profile.name not in ("laplacian", "matern")


def _sure(mine: Any, theirs: Any) -> int:
    """How many of the first samples, sorted by their limits, have no distance in doubt."""
    return int((mine + theirs.max() <= 0).sum()) if len(theirs) else len(mine)


def _place(atom: Atom, other: Atom) -> Any:
    return atom.metric, id(atom.points), id(other.points), atom.weight


def _size(formula: Formula) -> int:
    for node in formula.nodes():
        held = getattr(node, "points", getattr(node, "factor", None))
        if held is not None:
            return len(held)
    raise ValueError("a formula without samples has no size.")
