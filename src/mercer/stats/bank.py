"""Several kernels on one sample, tile by tile: those of the same distance share its computation."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from ..data import Data, evenly, length, take
from ..gram.base import HOST
from ..gram.tiles import COMPILED
from ..kernels.base import Kernel
from ..kernels.evaluator import Evaluator
from ..kernels.formula import INNER, Atom, Formula

_PROBE = 200  # samples on which the precision that a kernel needs is judged
_SINGLE = float(np.finfo(np.float32).eps)
_ORDINARY = 1e6  # kernel values between this and its inverse are left in their own unit
_FEW = 20  # samples whose kernel values are looked at, of kernels that are not positive definite
_RESOLVED = 1e-2  # centred kernel values this large, relative to the largest: float32 is enough

Tiles = Callable[[slice, slice], Iterator[tuple[int, np.ndarray]]]
UnitSums = Callable[[slice, slice, np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


class Bank:
    """Tiles of several kernels of one sample, in the precision that their statistics need.

    Kernels whose formulas have a distance in common form a family: the distance of a tile is
    computed once. Distances are in the precision of the data; kernel values are in single
    precision where those that remain after centring are not small, in double otherwise. They are in
    units of ``scale``, so that single precision can hold them.

    Parameters
    ----------
    kernels : list of Kernel
        Resolved kernels.
    X : data
        The sample, raw.
    order : array, optional
        The order in which its samples are used.

    Attributes
    ----------
    scale : ndarray of shape (kernels,)
        The unit of each kernel: 1, or the power of two next to its largest value if that is far
        from 1.
    """

    device = HOST  # where sums over all pairs are computed

    def __init__(self, kernels: Sequence[Kernel], X: Data, order: np.ndarray | None = None) -> None:
        self.n = length(X)
        self.kernels = list(kernels)
        self.scale = np.ones(len(self))
        self.families: list[_Stated | _Alone] = []
        known: dict[Hashable, Atom] = {}
        stated: dict[int, Formula] = {}
        for place, kernel in enumerate(self.kernels):
            P = kernel.prepare(X)
            P = P if order is None else take(P, order)
            formula = kernel.formula(P)
            self.scale[place] = _scale_of(kernel, P, formula)
            if formula is None or not any(formula.atoms()):
                self.families.append(_Alone(place, kernel, P, self.scale[place]))
            else:
                stated[place] = formula.shared(known)
        self.families += [_Stated(members, self.scale) for members in _connected(stated)]
        self._judged: dict[int, set[int]] = {}

    def __len__(self) -> int:
        return len(self.kernels)

    def diag(self) -> np.ndarray:
        """[k(x_i, x_i)] of every kernel, shape (kernels, n)."""
        out = np.empty((len(self), self.n))
        for family in self.families:
            for place, values in family.diag():
                out[place] = values
                out[place] /= self.scale[place]
        return out

    def eps(self) -> np.ndarray:
        """The precision of the tiles of each kernel, shape (kernels,)."""
        out = np.full(len(self), _SINGLE)
        for family in self.families:
            precise = list(self._precise(family))
            out[precise] = self.exact[precise]
        return out

    def formula(self, place: int) -> Formula | None:
        """The formula of a kernel on the samples, which share points; None if it has none."""
        for family in self.families:
            if place in family.members:
                return family.members[place]
        return None

    def single(self) -> np.ndarray:
        """Is single precision enough for each kernel, in all that its formula combines?"""
        return (self.eps() == _SINGLE) & self.mild()

    def mild(self) -> np.ndarray:
        """Can single precision hold all that the formula of each kernel combines?"""
        mild = [f is None or _mild(f) for f in map(self.formula, range(len(self)))]
        return np.array(mild, dtype=bool)

    @property
    def exact(self) -> np.ndarray:
        """The precision of the data, in which kernels are evaluated, shape (kernels,)."""
        out = np.full(len(self), np.finfo(np.float64).eps)
        for family in self.families:
            for place in family.rounded:
                out[place] = _SINGLE
        return out

    def tiles(self) -> Tiles:
        """A function from rows and columns to the tiles of all kernels, each with its number."""
        parts = [family.tiles(self._precise(family)) for family in self.families]

        def all_tiles(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
            for part in parts:
                yield from part(rows, cols)

        return all_tiles

    def unit_sums(self) -> UnitSums:
        """A function that sums the tiles of all kernels over units of rows and columns.

        Its arguments are rows and columns, the starts of the units among them and the end of the
        last one, and accumulators: sums of shape (kernels, units, units), and sums of squares
        (kernels,). The diagonal of K is left out.
        """
        compiled = len(self) * self.n**2 >= COMPILED
        parts = [family.unit_sums(self._precise(family), compiled) for family in self.families]

        def all_sums(*args: Any) -> None:
            for part in parts:
                part(*args)

        return all_sums

    def _precise(self, family: _Stated | _Alone) -> set[int]:
        """The kernels of a family that need double precision."""
        if id(family) not in self._judged:
            self._judged[id(family)] = self._judge(family)
        return self._judged[id(family)]

    def _judge(self, family: _Stated | _Alone) -> set[int]:
        some = evenly(self.n, _PROBE)
        precise = set()
        for place, K in family.on(some).tiles(set(range(len(self))))(slice(None), slice(None)):
            np.fill_diagonal(K, 0)
            largest, n = float(max(K.max(), -K.min())), len(K)
            means = K.sum(axis=0) / max(1, n - 1)
            np.fill_diagonal(K, means)  # they are those of whole rows now
            whole = np.einsum("ij,ij->", K, K)  # not by BLAS, whose threads would be woken for it
            centred = whole - 2 * n * np.sum(means**2) + means.sum() ** 2
            if centred < K.size * (_RESOLVED * largest) ** 2:
                precise.add(place)
        return precise


class _Alone:
    """A kernel without a formula."""

    def __init__(self, place: int, kernel: Kernel, X: Data, scale: float) -> None:
        self.place, self.kernel, self.X, self.scale = place, kernel, X, scale
        self.members: dict[int, Formula] = {}
        self.rounded = [place] if getattr(X, "dtype", None) == np.float32 else []

    def on(self, some: np.ndarray) -> _Alone:
        """The same kernel on some of the samples."""
        return _Alone(self.place, self.kernel, take(self.X, some), self.scale)

    def diag(self) -> Iterator[tuple[int, Any]]:
        yield self.place, self.kernel.diag(self.X)

    def tiles(self, precise: set[int]) -> Tiles:
        block = self.kernel.tiles(self.X, self.X)
        dtype = np.float64 if self.place in precise else np.float32

        def tiles(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
            T = block(rows, cols)
            yield self.place, _in_units(T, self.scale).astype(dtype, copy=False)

        return tiles

    def unit_sums(self, precise: set[int], compiled: bool) -> UnitSums:
        return _added_up(self.tiles(precise), compiled)


class _Stated:
    """Kernels whose formulas have distances in common."""

    def __init__(self, members: dict[int, Formula], scale: np.ndarray) -> None:
        self.members, self.scale = members, scale
        self.rounded = [place for place, f in members.items() if f.dtype == np.float32]

    def on(self, some: np.ndarray) -> _Stated:
        """The same kernels on some of the samples."""
        taken: dict[int, Any] = {}
        parts = {place: formula.take(some, taken) for place, formula in self.members.items()}
        return _Stated(parts, self.scale)

    def diag(self) -> Iterator[tuple[int, Any]]:
        for place, formula in self.members.items():
            yield place, formula.diag()

    def _evaluator(self, dtypes: dict[int, Any]) -> Evaluator:
        inside = [
            np.float64 if self.scale[place] != 1 or not _mild(formula) else dtypes[place]
            for place, formula in self.members.items()
        ]
        return Evaluator([*self.members.values()], dtypes=inside)

    def tiles(self, precise: set[int]) -> Tiles:
        dtypes = {p: np.float64 if p in precise else np.float32 for p in self.members}
        evaluator = self._evaluator(dtypes)

        def tiles(rows: slice, cols: slice) -> Iterator[tuple[int, np.ndarray]]:
            for place, T in zip(self.members, evaluator(rows, cols), strict=True):
                yield place, _in_units(T, self.scale[place]).astype(dtypes[place], copy=False)

        return tiles

    def unit_sums(self, precise: set[int], compiled: bool) -> UnitSums:
        places = np.array([*self.members])
        bare = compiled and not precise and np.all(self.scale[places] == 1)
        found = self._evaluator(dict.fromkeys(places, np.float32)).exponentials() if bare else None
        if found is None:
            return _added_up(self.tiles(precise), compiled)
        from .sum_loops import exp_sums

        distances, weights = found

        def add(
            rows: slice,
            cols: slice,
            at: np.ndarray,
            to: np.ndarray,
            sums: np.ndarray,
            squares: np.ndarray,
        ) -> None:
            own, square = np.zeros((len(places), *sums.shape[1:])), np.zeros(len(places))
            exp_sums(distances(rows, cols), weights, at, to, rows == cols, own, square)
            sums[places] += own
            squares[places] += square

        return add  # fmt: skip


def _added_up(tiles: Tiles, compiled: bool) -> UnitSums:
    """Sums over units of tiles that are stored."""
    total: Callable[..., None] = _total
    if compiled:
        from .sum_loops import unit_sums as total

    def add(
        rows: slice,
        cols: slice,
        at: np.ndarray,
        to: np.ndarray,
        sums: np.ndarray,
        squares: np.ndarray,
    ) -> None:
        for place, T in tiles(rows, cols):
            some = np.ascontiguousarray(T), at, to, rows == cols
            total(*some, sums[place], squares[place : place + 1])

    return add  # fmt: skip


def _total(
    T: np.ndarray, rows: np.ndarray, cols: np.ndarray, diagonal: bool,
    sums: np.ndarray, squares: np.ndarray,
) -> None:  # fmt: skip
    """As :func:`~.sum_loops.unit_sums`, not compiled."""
    if diagonal:
        np.fill_diagonal(T, 0)
    squares += np.vdot(T, T)
    by_row = np.add.reduceat(T, rows[:-1], axis=0, dtype=np.float64)
    sums += np.add.reduceat(by_row, cols[:-1], axis=1)


def _connected(formulas: dict[int, Formula]) -> list[dict[int, Formula]]:
    """Groups of formulas that have atoms with the same distances."""
    groups: list[tuple[set[Hashable], dict[int, Formula]]] = []
    for place, formula in formulas.items():
        keys = {atom.key for atom in formula.atoms()}
        members: dict[int, Formula] = {}
        for group in [group for group in groups if group[0] & keys]:
            groups.remove(group)
            keys |= group[0]
            members |= group[1]
        groups.append((keys, members | {place: formula}))
    return [members for _, members in groups]


def _mild(formula: Formula) -> bool:
    """Can all terms of a formula be computed in single precision?

    Those of functions of distances are largest where x = y.
    """
    if isinstance(formula, Atom):
        return formula.metric != INNER
    with np.errstate(over="ignore"):
        sizes = [np.abs(node.diag()) for node in formula.nodes()]
    return all(np.ndim(s) == 0 and (s == 0 or 1 / _ORDINARY < s < _ORDINARY) for s in sizes)


def _in_units(T: np.ndarray, scale: float) -> np.ndarray:
    return T if scale == 1 else T / scale


def _scale_of(kernel: Kernel, X: Data, formula: Formula | None) -> float:
    """The unit of a kernel; a function of a distance is largest at 0."""
    if isinstance(formula, Atom) and formula.metric != INNER:
        return unit_of(abs(formula.diag()), kernel)
    return scale_of(kernel, X)


def scale_of(kernel: Kernel, X: Data) -> float:
    """The unit of the values of a kernel on some samples, from those on the diagonal.

    No other value of a positive definite kernel is larger. For other kernels, some values are
    checked.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        largest = float(np.max(np.abs(kernel.diag(X)), initial=0.0))
        if not kernel.properties.psd:
            some = take(X, evenly(length(X), _FEW))
            largest = max(largest, float(np.abs(kernel.pairwise(some, some)).max()))
    return unit_of(largest, kernel)


def unit_of(largest: float, kernel: Kernel) -> float:
    """1, or a power of two if the largest number is far from 1; an error if it is not finite."""
    if not np.isfinite(largest):
        raise not_finite(repr(kernel))
    ordinary = largest == 0 or 1 / _ORDINARY < largest < _ORDINARY
    return 1.0 if ordinary else float(2.0 ** np.round(np.log2(largest)))


def not_finite(what: str) -> ValueError:
    """The error of a test whose kernel values overflow."""
    return ValueError(
        f"{what} has values on these samples that are not finite numbers, so there is nothing to "
        f"compare; use its .normalize(), or bring the data to a smaller scale."
    )
