r"""Derivatives with respect to hyper-parameters, summed over all pairs of samples on a device.

For a symmetric W = L R' of low rank,

.. math:: \sum_{ij} W_{ij} \frac{\partial k(x_i, x_j)}{\partial \theta}

is a sum over the terms of the formula, products of profiles g(t). A program computes a tile of W
on tensor cores and distances from differences, and adds up what derivatives of g by t, by squared
differences of each coordinate and by parameters of g amount to; no entry of K or W is ever written
to memory. How lengthscales, weights and parameters depend on theta is a small matrix of
differences (of theta, not of K): they are functions of theta alone, whatever the samples are.

In single precision this is a kernel of Triton: W by 3 x TF32, sums of a tile added up in double
precision, an error of about 1e-6 of sum_ij |W_ij dk_ij|. Otherwise PyTorch does it, tile by tile,
in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...data import Data, length, take
from ...engine.threads import check_cancelled
from ...kernels.base import Kernel
from ...kernels.formula import INNER, SQUARED, TAXICAB, Atom, Formula
from ..tiles import slices
from .distances import from_differences
from .entries import (
    Coordinates,
    Numbers,
    Taken,
    change,
    constants,
    difference_lines,
    distance_lines,
)
from .fused import why_not as why_not_fused
from .torch_ import get, import_torch, put, within_memory
from .triton_ import TritonError, launch, warn_of_plain

_STEP = 1e-4  # of theta, whose entries are logarithms where that is natural
_SEEN = 16  # samples on which derivatives are compared with those of the kernel
_AGREES = 1e-5
_ROWS, _COLUMNS, _RANK = 64, 128, 32  # of a tile, and of a piece of L and R
_PROGRAMS = 2048  # at least
_COPIES = 12  # arrays of a tile that PyTorch has at once
_ORDER = {SQUARED: 2, TAXICAB: 1}  # of the metric in the lengthscale


def why_not(kernel: Kernel, P: Data) -> str | None:
    """Why derivatives are not summed on devices; None if they are."""
    formula = kernel.formula(P)
    if formula is None:
        return "it states no formula"
    if any(term.factors for term in formula.terms()):
        return "its formula has factors f(x), which depend on hyper-parameters"
    some = take(P, np.unique(np.linspace(0, length(P) - 1, _SEEN).astype(int)))
    try:
        there = Slopes(kernel, some, "torch-cpu", np.float64)
    except KeyError as missing:
        return f"the derivative of {missing.args[0]} has no form there"
    V = np.random.default_rng(0).standard_normal((length(some), 2))
    found, exact = there(V, V), kernel.grad_theta(some, some, V @ V.T)
    if np.abs(found - exact).max(initial=0.0) > _AGREES * max(np.abs(exact).max(initial=0.0), 1.0):
        return "its hyper-parameters are not those of its formula alone"
    return None


class Wanted(NamedTuple):
    """A sum over all pairs of W times an expression, and what it is of.

    Attributes
    ----------
    place : int
        Where it goes among the numbers that the formula depends on.
    entry : str
        The expression, of the distances t0, t1, ... and the profiles v0, v1, ... of them.
    factor : float
        What the sum is multiplied by.
    atom : int or None
        Of each coordinate of this atom there is a sum, of the expression times its distance.
    """

    place: int
    entry: str
    factor: float = 1.0
    atom: int | None = None


class Slopes:
    """The sums above, for a kernel and samples.

    Parameters
    ----------
    kernel : Kernel
        Resolved, with a formula for which :func:`why_not` is None.
    P : prepared samples
    device : str
    dtype : dtype
        The precision of K: in single precision, sums are fused where products are.
    """

    def __init__(self, kernel: Kernel, P: Data, device: str, dtype: Any) -> None:
        formula = _formula(kernel, P)
        self.n, self.device = length(P), device
        self.taken = Taken.of(formula)
        self.fused = why_not_fused(formula, device, dtype) is None
        self.jacobian = _jacobian(kernel, take(P, slice(0, 1)))
        self.numbers = Numbers()
        atoms = self.taken.atoms
        changes = [change(atom.profile, f"t{a}", self.numbers) for a, atom in enumerate(atoms)]
        self.weights = [self.numbers(atom.weight) for atom in atoms]
        self.factors = [self.numbers(weight) for weight, _ in self.taken.terms]
        for atom, found in zip(atoms, changes, strict=True):
            if found is None:
                raise KeyError(atom.profile.name)
        self.changes: list[Any] = changes
        self.wanted = [one for one in self._all() if np.any(self.jacobian[self._places(one)])]

    def __call__(self, left: Any, right: Any) -> np.ndarray:
        """[sum_ij (L R')_ij dk_ij / dtheta] for arrays, or tensors on the device, of shape (n, q).

        L R' has to be symmetric: only half of it is used.
        """
        torch = import_torch(self.device)
        if not torch.is_tensor(left):
            left, right = put(left, self.device), put(right, self.device)
        totals = np.zeros(len(self.jacobian))
        if self.wanted:
            found = self._sums(left, right)
            for one, sums in zip(self.wanted, found, strict=True):
                totals[self._places(one)] = one.factor * sums
        return np.asarray(totals @ self.jacobian)

    def _sums(self, left: Any, right: Any) -> list[Any]:
        if self.fused:
            try:
                return self._by_triton(left, right)
            except TritonError as error:
                warn_of_plain(self.device, error)
                self.fused = False
        return self._by_torch(left, right)

    def _all(self) -> Iterator[Wanted]:
        """All possible sums: one for each number in the formula, in order."""
        atoms, terms = self.taken
        for place, (_, several) in enumerate(terms):
            yield Wanted(place, " * ".join(["1.0", *(f"v{a}" for a in several)]))
        place = len(terms)
        for a, atom in enumerate(atoms):
            beside = self._beside(a)
            slope, t = f"({beside}) * {self.changes[a].slope}", f"t{a}"
            yield Wanted(place, f"{slope} * {t}")
            size, order = np.size(atom.scale), -_ORDER.get(atom.metric, 0)
            if size == 1:
                yield Wanted(place + 1, f"{slope} * {t}", order)
            else:
                yield Wanted(place + 1, slope, order * atom.weight, a)
            place += 1 + size
            for name in constants(atom.profile):
                by = self.changes[a].parameters.get(name)
                if by is None and np.any(self.jacobian[place]):
                    raise KeyError(f"{atom.profile.name} by {name}")
                if by is not None:
                    yield Wanted(place, f"({beside}) * {by}")
                place += 1

    def _beside(self, a: int) -> str:
        """The factors of the profile of an atom, in all terms."""
        products = []
        for factor, (_, several) in zip(self.factors, self.taken.terms, strict=True):
            for at in (at for at, other in enumerate(several) if other == a):
                others = several[:at] + several[at + 1 :]
                products.append(" * ".join([factor, *(f"v{b}" for b in others)]))
        return " + ".join(products)

    def _places(self, one: Wanted) -> slice:
        return slice(one.place, one.place + self._width(one))

    def _width(self, one: Wanted) -> int:
        return 1 if one.atom is None else np.size(self.taken.atoms[one.atom].scale)

    def _points(self, dtype: Any) -> list[Any]:
        points = Coordinates(self.device, dtype)
        return [points.of(atom) for atom in self.taken.atoms]

    # ---- by PyTorch, tile by tile ------------------------------------------------------------
    def _by_torch(self, left: Any, right: Any) -> list[Any]:
        left, right, points = left.double(), right.double(), self._points(np.float64)

        def work(size: int) -> list[Any]:
            totals: list[Any] = [0.0] * len(self.wanted)
            parts = slices(self.n, max(int(np.sqrt(size / _COPIES)), 1))
            for k, rows in enumerate(parts):
                for cols in parts[k:]:
                    check_cancelled()
                    W = left[rows] @ right[cols].T
                    found = self._tile(W if rows == cols else 2 * W, points, rows, cols)
                    totals = [total + sums for total, sums in zip(totals, found, strict=True)]
            return [get(total) for total in totals]

        return within_memory(work, self.device, 8)

    def _tile(self, W: Any, points: list[Any], rows: slice, cols: slice) -> list[Any]:
        torch = import_torch(self.device)
        scope: dict[str, Any] = {"tl": torch}
        scope |= {f"p{k}": value for k, value in enumerate(self.numbers.values)}
        for a, (atom, Z) in enumerate(zip(self.taken.atoms, points, strict=True)):
            x, y = Z[:, rows].T, Z[:, cols].T
            t = x @ y.T if atom.metric == INNER else from_differences(atom.metric, x, y)
            scope[f"t{a}"] = t * atom.weight
            scope[f"v{a}"] = eval(self.changes[a].value, scope)  # of numbers and names, see entries
        found = []
        for one in self.wanted:
            E = W * eval(one.entry, scope)
            if one.atom is None:
                found.append(E.sum())
            else:
                Z, atom = points[one.atom], self.taken.atoms[one.atom]
                found.append(_by_column(torch, atom, E, Z[:, rows], Z[:, cols]))
        return found

    # ---- by Triton ---------------------------------------------------------------------------
    def _by_triton(self, left: Any, right: Any) -> list[np.ndarray]:
        torch, n = import_torch(self.device), self.n
        pad = -left.shape[1] % _RANK
        L, R = (torch.nn.functional.pad(M.float(), (0, pad)).contiguous() for M in (left, right))
        points = self._points(np.float32)
        ends = np.cumsum([0, *(self._width(one) for one in self.wanted)])
        blocks = -(-n // _ROWS)
        splits = max(1, min(-(-_PROGRAMS // blocks), n // (16 * _COLUMNS)))
        span = -(-n // (splits * _COLUMNS)) * _COLUMNS
        splits = -(-n // span)
        width = 1 << max(int(ends[-1]) - 1, 1).bit_length()
        out = torch.empty((blocks * splits, width), dtype=torch.float64, device=L.device)
        launch(
            self._source, (blocks, splits),
            *points, *self.numbers.values, L, R, out, n, span, splits,
            Q=L.shape[1], P=_RANK, OUT=width, BM=_ROWS, BN=_COLUMNS, num_warps=8, stages=2,
        )  # fmt: skip
        sums = get(out.sum(0))
        return [sums[i:j] for i, j in pairwise(ends.tolist())]

    @cached_property
    def _source(self) -> str:
        """The source of a program: some rows, and the columns of a span after them.

        Tensor cores truncate sums, so W is a sum of short products, which are rounded.
        """
        atoms = self.taken.atoms
        names = "".join(f"c{a}, " for a in range(len(atoms))) + self.numbers.names
        lines = [
            f"def fused({names}L, R, out, n, span, splits, Q: tl.constexpr, P: tl.constexpr,",
            "          OUT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):",
            "    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)",
            "    p = tl.arange(0, P)",
            "    o = tl.arange(0, OUT)",
            "    acc = tl.zeros((OUT,), tl.float64)",
            "    base = tl.program_id(1).to(tl.int64) * span",
            "    first = tl.maximum(base, tl.program_id(0).to(tl.int64) * BM // BN * BN)",
            "    last = tl.minimum(base + span, n)",
            "    for start in range(first, last, BN):",
            "        j = start + tl.arange(0, BN)",
            "        w = tl.zeros((BM, BN), tl.float32)",
            "        for at in range(0, Q, P):",
            "            a = tl.load(L + i[:, None] * Q + (at + p)[None, :], mask=i[:, None] < n,",
            "                        other=0.0)",
            "            b = tl.load(R + j[:, None] * Q + (at + p)[None, :], mask=j[:, None] < n,",
            "                        other=0.0)",
            "            w += tl.dot(a, tl.trans(b), input_precision='tf32x3')",
            "        above = j[None, :] - i[:, None]",
            "        w = tl.where(above > 0, 2.0 * w, tl.where(above == 0, w, 0.0))",
        ]
        for a, atom in enumerate(atoms):
            lines += ["        " + line for line in distance_lines(a, atom, self.weights[a])]
            lines += [f"        v{a} = {self.changes[a].value}"]
        place = 0
        for one in self.wanted:
            lines += ["        " + line for line in self._summed(one, place)]
            place += self._width(one)
        lines += [
            "    to = tl.program_id(0).to(tl.int64) * splits + tl.program_id(1)",
            "    tl.store(out + to * OUT + o, acc)",
        ]
        return "\n".join(lines) + "\n"

    def _summed(self, one: Wanted, place: int) -> list[str]:
        def add(what: str, to: str) -> str:
            total = f"tl.sum(tl.sum({what}, axis=1), axis=0).to(tl.float64)"
            return f"acc += tl.where(o == {to}, {total}, 0.0)"

        if one.atom is None:
            return [add(f"w * ({one.entry})", str(place))]
        step = "u * u" if self.taken.atoms[one.atom].metric == SQUARED else "tl.abs(u)"
        return [
            f"e = w * ({one.entry})",
            f"for at in range({self._width(one)}):",
            *("    " + line for line in difference_lines(one.atom)),
            "    " + add(f"e * ({step})", f"{place} + at"),
        ]


def _by_column(torch: Any, atom: Atom, E: Any, x: Any, y: Any) -> Any:
    """[sum_ij E_ij d(x_ci, y_cj)] for every coordinate c."""
    if atom.metric == SQUARED and not atom.profile.cusped:
        return x.square() @ E.sum(1) + y.square() @ E.sum(0) - 2 * (x * (y @ E.T)).sum(1)
    order = _ORDER[atom.metric]
    differences = ((a[:, None] - b).abs_().pow_(order) for a, b in zip(x, y, strict=True))
    return torch.stack([(E * u).sum() for u in differences])


def _formula(kernel: Kernel, P: Data) -> Formula:
    found = kernel.formula(P)
    assert found is not None  # see why_not
    return found


def _numbers(formula: Formula) -> np.ndarray:
    """The numbers in a formula: weights of terms, then those of each atom."""
    atoms, terms = Taken.of(formula)
    found = [weight for weight, _ in terms]
    for atom in atoms:
        found.append(np.log(abs(atom.profile.weight)))
        found += np.log(np.ravel(np.asarray(atom.scale, dtype=float))).tolist()
        found += constants(atom.profile).values()
    return np.array(found, dtype=float)


def _jacobian(kernel: Kernel, one: Data) -> np.ndarray:
    """Derivatives of these numbers by theta, from differences; samples play no part in them."""
    theta, columns = kernel.theta, []
    for step in _STEP * np.eye(len(theta)):
        up, down = (_numbers(_formula(kernel.with_theta(theta + s), one)) for s in (step, -step))
        columns.append((up - down) / (2 * _STEP))
    rows = len(_numbers(_formula(kernel, one)))
    return np.stack(columns, axis=1) if columns else np.zeros((rows, 0))
