"""Sums of kernel values for all permutations, on a device: what :mod:`~.sums` does tile by tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data import Data, join, length, take
from ..engine.threads import go_on
from ..gram.device.entries import Coordinates
from ..gram.device.forms import Forms
from ..gram.device.fused import Fused, why_not
from ..gram.device.tiles import DeviceTiles
from ..gram.device.torch_ import get, import_torch, put, torch_device, within_memory
from ..gram.tiles import slices
from ..kernels.base import Kernel
from ..kernels.formula import Formula
from ..progress import progress
from .bank import Bank

_CHUNK = 2**16  # samples at a time, of which there are kernel values with all landmarks
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
    found = []
    for place in progress([*range(len(bank))], verbose, "kernels"):
        go_on()
        formula: Any = bank.formula(place)
        scale = bank.scale[place]
        dtype = np.float32 if single[place] and scale == 1 else np.float64
        factors = any(term.factors for term in formula.terms())
        if not factors and why_not(formula, device, dtype) is None:
            largest = float(np.abs(own[place]).max(initial=0.0))
            found.append(_fused(formula, there, own[place], device, points, largest))
        else:
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
                go_on()
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
    """Sums over units of k(x, z) at all landmarks z, shape (kernels, s, m); ``size`` of each."""
    m, s, torch = length(Z), len(size), import_torch(device)
    unit = np.repeat(np.arange(s), size)
    shape = len(kernels), s, m
    total = torch.zeros(shape, dtype=torch.float64, device=torch_device(device))
    for rows in progress(slices(len(order), _CHUNK), verbose, "samples"):
        go_on()
        bank = Bank(kernels, join(Z, take(X, order[rows])))
        first, last = unit[rows.start], unit[rows.stop - 1] + 1
        count = put(np.bincount(unit[rows] - first, minlength=last - first), device)
        for place, scale in enumerate(bank.scale):
            formula: Any = bank.formula(place)
            tiles = DeviceTiles(formula, formula, device, np.float32 if scale == 1 else np.float64)
            T = tiles(slice(m, m + rows.stop - rows.start), slice(0, m)).double()
            total[place, first:last] += torch.segment_reduce(T, "sum", lengths=count, axis=0)
    return get(total)
