"""Sums of features over bins of very many samples, for kernels approximated with landmarks.

The features of a Nyström kernel are linear in the kernel values with its landmarks. So these values
are added up over each bin, in one pass over the samples for all kernels together, and a bin costs
one triangular solve instead of one for each of its samples: n m operations in place of n m^2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..data import Data, evenly, join, length, take
from ..gram.base import HOST
from ..gram.tiles import run, slices
from ..kernels.algebra.nystrom import Basis, Nystrom
from ..kernels.base import Kernel
from ..progress import counted
from .bank import Bank
from .device_sums import landmark_values
from .permutations import Units

_ROWS = 4000  # samples that are prepared at a time by one thread, whole units at least
_STEP = 500  # samples of a tile
_KEPT = 1e-7  # squared pivots, relative to the first: those below are rounding in single precision
_PROBE = 2000  # samples from which the mean of k(x, x) is estimated


def landmark_groups(kernels: Sequence[Kernel]) -> list[list[int]]:
    """The places of kernels that are approximated with landmarks, by landmarks."""
    groups: dict[int, list[int]] = {}
    for place, kernel in enumerate(kernels):
        if isinstance(kernel, Nystrom) and kernel.reference is not None:
            groups.setdefault(id(kernel.reference), []).append(place)
    return list(groups.values())


def landmark_sums(
    kernels: Sequence[Any],
    X: Data,
    units: Units,
    order: np.ndarray,
    workers: int | None = None,
    verbose: bool = False,
    device: str = HOST,
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Sums over units of features, and of squared norms, of kernels with the same landmarks.

    Parameters
    ----------
    kernels : list of Nystrom
        The kernels.
    X : data
        The samples, raw.
    units : Units
        Which samples belong together.
    order : array of shape (n,)
        The samples unit after unit.
    workers, verbose
        The number of threads; a progress bar?
    device : str
        Where kernel values are computed.

    Returns
    -------
    list of (features, norms, noise)
        For each kernel, arrays of shape (s, r) and (s,), and the rounding error of a row of
        features. The squared norm of a unit is its size times the mean over 2000 samples: a
        constant, which moves a statistic under all permutations alike.
    """
    Z, inner = kernels[0].reference, [k.kernel for k in kernels]
    if device != HOST:
        sums = landmark_values(inner, Z, X, units.size, order, device, verbose)
    else:
        sums = value_sums(inner, Z, X, units.size, order, workers, verbose)
    some = take(X, order[evenly(len(order), _PROBE)])
    return features_of_sums(kernels, sums, units.size, some)


def value_sums(
    kernels: Sequence[Kernel],
    Z: Data,
    X: Data,
    size: np.ndarray,
    order: np.ndarray,
    workers: int | None = None,
    verbose: bool = False,
) -> np.ndarray:
    """Sums over units of k(x, z) at all landmarks z, shape (kernels, s, m); ``size`` of each."""
    m, s = length(Z), len(size)
    sums = np.zeros((len(kernels), s, m))
    ends = np.cumsum(size)
    unit = np.repeat(np.arange(s), size)

    def job(part: slice) -> None:
        rows = slice(ends[part.start] - size[part.start], ends[part.stop - 1])
        for chunk in slices(rows.stop - rows.start, _ROWS):
            here = slice(rows.start + chunk.start, rows.start + chunk.stop)
            for at, place, T, scale in _values(kernels, Z, take(X, order[here])):
                which = unit[here][at]
                inside = which[:, None] == np.arange(which[0], which[-1] + 1)
                sums[place, which[0] : which[-1] + 1] += scale * (inside.T.astype(T.dtype) @ T)

    parts = slices(s, max(1, _ROWS * s // len(order)))
    run(counted(job, len(parts), verbose, "samples"), parts, workers)
    return sums


def features_of_sums(
    kernels: Sequence[Any], sums: np.ndarray, size: np.ndarray, some: Data
) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """What :func:`landmark_sums` returns, from sums of kernel values and some of the samples."""
    found = []
    for kernel, total in zip(kernels, sums, strict=True):
        basis = _trimmed(kernel._basis())
        K = kernel.kernel.pairwise(kernel.kernel.prepare(some), basis.landmarks)
        phi = solve_triangular(basis.factor, K.T, lower=True, check_finite=False)
        norms = size * float(np.sum(phi**2)) / K.shape[0]
        typical = float(np.sqrt(np.mean(total**2)))
        found.append((_features(total, basis), norms, amplified(basis, typical, np.float32)))
    return found


def amplified(basis: Basis, size: float, dtype: Any) -> float:
    """The rounding error of features made of kernel values of some size and precision."""
    inverse = solve_triangular(basis.factor, np.eye(len(basis.factor)), lower=True)
    return float(np.finfo(dtype).eps * size * np.linalg.norm(inverse))


Values = Iterator[tuple[slice, int, np.ndarray, float]]


def _values(kernels: Sequence[Kernel], Z: Data, X: Data) -> Values:
    """Tiles of k(x, z) in single precision: rows of X, number of the kernel, values, their unit."""
    m = length(Z)
    bank = Bank(kernels, join(Z, X))
    for family in bank.families:
        tiles = family.tiles(set())
        for at in slices(length(X), _STEP):
            for place, T in tiles(slice(m + at.start, m + at.stop), slice(0, m)):
                yield at, place, T, bank.scale[place]


def _trimmed(basis: Basis) -> Basis:
    """The landmarks that count in single precision: the first ones, since pivots decrease."""
    pivots = np.diagonal(basis.factor) ** 2
    rank = int(np.sum(pivots > _KEPT * pivots[0]))
    return Basis(
        basis.kept[:rank], take(basis.landmarks, slice(0, rank)), basis.factor[:rank, :rank]
    )


def _features(sums: np.ndarray, basis: Basis) -> np.ndarray:
    columns = np.asfortranarray(sums[:, basis.kept].T)
    return np.asarray(solve_triangular(basis.factor, columns, lower=True, check_finite=False).T)
