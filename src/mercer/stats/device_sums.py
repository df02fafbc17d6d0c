"""Sums of kernel values for all permutations, on a device: what :mod:`~.sums` does tile by tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data import Data, length, take
from ..engine.threads import check_cancelled
from ..gram.device.entries import Coordinates
from ..gram.device.forms import Forms
from ..gram.device.fused import Fused, why_not
from ..gram.device.points import matrix, recipe
from ..gram.device.tiles import DeviceTiles, ManyTiles
from ..gram.device.torch_ import get, import_torch, put, torch_device, within_memory
from ..gram.device.triton_ import TritonError, warn_of_plain
from ..gram.tiles import slices
from ..kernels.base import Kernel
from ..kernels.formula import Formula
from ..progress import progress
from .bank import Bank

_PIECE = 64  # samples of a unit that one thread adds up
_COPIES = 6  # arrays of a tile that PyTorch has at once


class KernelSums(NamedTuple):
    """What is summed of one kernel, off the diagonal.

    Attributes
    ----------
    quadratic : ndarray of shape (c,)
        v'K0v for each column of weights.
    rows : ndarray of shape (n,)
        Sums of rows of K0.
    squares : float
        The sum of squares of K0.
    """

    quadratic: np.ndarray
    rows: np.ndarray
    squares: float


def device_sums(
    bank: Bank, weights: np.ndarray, unit: np.ndarray, verbose: bool = False
) -> list[KernelSums]:
    """Sums of each kernel of a bank, in its unit, for weights of units, shape (s, c).

    ``unit`` has the unit of each sample. In single precision, where that is enough, values of K
    never leave the registers of the device, and 256 permutations at a time are multiplied with
    them (:mod:`mercer.gram.device.forms`).
    """
    device, single, own = bank.device, bank.single(), bank.diag()
    there, points = put(weights, device), Coordinates(device, np.float32)
    if len(unit) != len(weights):
        there = there[put(unit, device)]
    found, failed = [], False
    for place in progress([*range(len(bank))], verbose, "kernels"):
        check_cancelled()
        formula: Any = bank.formula(place)
        scale = bank.scale[place]
        dtype = np.float32 if single[place] and scale == 1 else np.float64
        factors = any(term.factors for term in formula.terms())
        fused = not factors and why_not(formula, device, dtype) is None
        if fused and not failed:
            largest = float(np.abs(own[place]).max(initial=0.0))
            try:
                found.append(_fused(formula, there, own[place], device, points, largest))
                continue
            except TritonError as error:
                warn_of_plain(device, error)
                failed = True
        found.append(_tiled(formula, there, device, dtype, scale))
    return found


def _fused(
    formula: Formula, V: Any, own: np.ndarray, device: str, points: Coordinates, largest: float
) -> KernelSums:
    torch = import_torch(device)
    quadratic, squares = Forms(formula, device, points, largest)(V)
    ones = torch.ones((len(V), 1), dtype=torch.float64, device=V.device)
    rows = get(Fused(formula, formula, device)(ones))[:, 0] - own
    return KernelSums(get(quadratic), rows, squares)


def _tiled(formula: Formula, V: Any, device: str, dtype: Any, scale: float) -> KernelSums:
    """By tiles above the diagonal of a matrix in double precision or without a fused form."""
    torch, n = import_torch(device), len(V)
    tiles, weights = (
        DeviceTiles(formula, formula, device, dtype),
        V.to(getattr(torch, dtype.__name__)),
    )

    def work(size: int) -> KernelSums:
        quadratic = torch.zeros(V.shape[1], dtype=torch.float64, device=V.device)
        rows = torch.zeros(n, dtype=torch.float64, device=V.device)
        squares = torch.zeros((), dtype=torch.float64, device=V.device)
        parts = slices(n, max(int(np.sqrt(size / _COPIES)), 1))
        for k, a in enumerate(parts):
            for b in parts[k:]:
                check_cancelled()
                T, twice = tiles(a, b), 1 if a == b else 2
                if scale != 1:
                    T = T / scale
                if a == b:
                    T.fill_diagonal_(0)
                else:
                    rows[b] += T.sum(0, dtype=torch.float64)
                rows[a] += T.sum(1, dtype=torch.float64)
                squares += twice * T.square().sum(dtype=torch.float64)
                forms = (weights[a] * (T @ weights[b])).sum(0, dtype=torch.float64)
                quadratic += twice * forms
        return KernelSums(get(quadratic), get(rows), float(squares))

    return within_memory(work, device, np.dtype(np.float64).itemsize)


def landmark_values(
    kernels: Sequence[Kernel],
    Z: Data,
    X: Data,
    size: np.ndarray,
    order: np.ndarray,
    device: str,
    verbose: bool = False,
) -> np.ndarray:
    """Sums over units of k(x, z) at all landmarks z, shape (kernels, s, m); ``size`` of each.

    Samples are sent once, and coordinates made there. Distances that kernels share are computed
    once; values are in single precision where that holds them, and added up in double.
    """
    m, s, torch = length(Z), len(size), import_torch(device)
    seen = _Landmarks(kernels, Z, device)
    unit = np.repeat(np.arange(s), size)

    def work(entries: int) -> Any:
        total = torch.zeros((len(kernels), s, m), dtype=torch.float64, device=torch_device(device))
        for rows in progress(slices(len(order), max(entries // m, 1)), verbose, "samples"):
            check_cancelled()
            first, last = unit[rows.start], unit[rows.stop - 1] + 1
            pieces = _pieces(np.bincount(unit[rows] - first, minlength=last - first), device)
            for place, T in seen(take(X, order[rows])):
                total[place, first:last] += _added_up(T.double(), pieces)
        return total

    return get(within_memory(work, device, np.dtype(np.float64).itemsize))


class _Landmarks:
    """Values of several kernels with the same landmarks, at any samples."""

    def __init__(self, kernels: Sequence[Kernel], Z: Data, device: str) -> None:
        self.kernels, self.m, self.device = kernels, length(Z), device
        self.recipes = [recipe(kernel, Z) for kernel in kernels]
        bank = Bank(kernels, Z)
        single = (bank.scale == 1) & bank.mild()
        groups = ((np.float32, single), (np.float64, ~single))
        self.groups = [(dtype, np.flatnonzero(which)) for dtype, which in groups if which.any()]
        self.landmarks = self._formulas(Z)

    def __call__(self, X: Data) -> Iterator[tuple[int, Any]]:
        """The number of each kernel, and [k(x_i, z_j)] as a fresh tensor."""
        rows = self._formulas(X)
        everything = slice(0, length(X)), slice(0, self.m)
        for dtype, places in self.groups:
            left, right = ([of[place] for place in places] for of in (rows, self.landmarks))
            tiles = ManyTiles(left, right, self.device, dtype)
            yield from zip(places, tiles.each(*everything), strict=True)

    def _formulas(self, X: Data) -> list[Formula]:
        """With coordinates that are made on the device, where these are columns of samples."""
        plain = matrix(X)
        there = None if plain is None or not any(self.recipes) else put(plain, self.device)
        if there is not None and not bool(there.isfinite().all()):
            there = None  # the kernel says what is wrong
        known: dict[Any, Any] = {}
        found = []
        for kernel, made in zip(self.kernels, self.recipes, strict=True):
            formula: Any = None if made is None or there is None else made(there)
            formula = formula or kernel.formula(kernel.prepare(X))
            found.append(formula.shared(known))
        return found


def _pieces(count: np.ndarray, device: str) -> tuple[Any, Any]:
    """Units of consecutive samples in pieces: the sizes of pieces, and how many make a unit."""
    pieces = -(-count // _PIECE)
    size, last, some = np.full(pieces.sum(), _PIECE), np.cumsum(pieces) - 1, count > 0
    size[last[some]] = (count - (pieces - 1) * _PIECE)[some]
    return put(size, device), put(pieces, device)


def _added_up(T: Any, pieces: tuple[Any, Any]) -> Any:
    """Sums of rows of T over units: by pieces, since one thread adds up a column of each."""
    import torch

    for size in pieces:
        T = torch.segment_reduce(T, "sum", lengths=size, axis=0, unsafe=True)
    return T
