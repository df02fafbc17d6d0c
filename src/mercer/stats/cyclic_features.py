"""HSIC under all permutations of an arrangement, from features: O(n r^2) for all of them.

With centred features F and G of two variables, the sum over pairs of products of kernel values is
|F'G|^2, the squared norm of an r x r matrix. Under shifts of the rows of the grid, each entry of
that matrix is a circular correlation; at each of m/2 frequencies they are all one product of an
r x q and a q x r matrix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import scipy.fft

from ..data import Data, take
from ..gram.tiles import run, slices
from ..kernels.base import Kernel
from .arrangement import Arrangement
from .cyclic import Shifted, in_order, multiplied, shifted_products

_HELD = 2**22  # entries of (permutations x features of X x features of Y) held by one thread
_PREPARED = 2**25  # entries of features computed at once


def shifted_feature_sums(
    kernels: tuple[Sequence[Kernel], Sequence[Kernel]],
    X: Data,
    Y: Data,
    arrangement: Arrangement,
    workers: int | None = None,
) -> Shifted:
    """What :func:`~.cyclic.shifted_sums` returns, for kernels with dense features."""
    right = [_Spectra(k, Y, arrangement) for k in kernels[1]]
    left_diag, pairs = [], []
    for k in kernels[0]:
        left = _Spectra(k, X, arrangement)
        left_diag.append(left.diag)
        pairs.append([_squared_norms(left, other, arrangement, workers) for other in right])
    x, y = np.array(left_diag), np.array([other.diag for other in right])
    own = shifted_products(x, y, arrangement)
    traces = np.multiply.outer(x.sum(axis=1), y.sum(axis=1))
    return Shifted(np.array(pairs) - own, own, traces)


class _Spectra:
    """Centred features in the order of the grid: transforms along its rows, and squared norms."""

    def __init__(self, kernel: Kernel, X: Data, arrangement: Arrangement) -> None:
        m, q = arrangement.grid.shape
        parts = list(_features(kernel, X, arrangement.order))
        phi = np.concatenate([part.astype(np.float32) for part in parts])
        phi -= phi.mean(axis=0, dtype=np.float64).astype(np.float32)
        self.diag = np.einsum("ij,ij->i", phi, phi, dtype=np.float64)
        self.fixed = phi[m * q :].astype(np.float64)
        grid = phi[: m * q].reshape(q, m, -1).swapaxes(0, 1)
        self.transform = scipy.fft.rfft(grid, axis=0)  # (frequencies, q, r)


def _squared_norms(
    left: _Spectra, right: _Spectra, arrangement: Arrangement, workers: int | None
) -> np.ndarray:
    """|F'G[p]|^2 for all permutations p."""
    m, r = len(arrangement.grid), right.transform.shape[2]
    parts = slices(left.transform.shape[2], max(1, _HELD // (m * r)))
    norms = np.zeros((len(parts), len(arrangement.multipliers), m))
    for place, a in enumerate(arrangement.multipliers):
        moved = multiplied(right.transform[None], int(a), m)[0]

        def part(i: int, place: int = place, moved: np.ndarray = moved) -> None:
            F = left.transform[:, :, parts[i]]
            G = np.matmul(F.conj().swapaxes(1, 2), moved)
            C = scipy.fft.irfft(G, m, axis=0, workers=1)
            C += (left.fixed[:, parts[i]].T @ right.fixed).astype(C.dtype)
            norms[i, place] = np.einsum("sij,sij->s", C, C, dtype=np.float64)

        run(part, range(len(parts)), workers)
    total = norms.sum(axis=0)
    ordered = [in_order(row, int(a)) for row, a in zip(total, arrangement.multipliers, strict=True)]
    return np.concatenate(ordered)


def _features(kernel: Kernel, X: Data, order: np.ndarray) -> Iterable[np.ndarray]:
    """Features of X in an order, strip by strip."""
    count = kernel.n_features(kernel.prepare(take(X, order[:1]))) or 1
    for part in slices(len(order), max(1, _PREPARED // count)):
        yield np.asarray(kernel.features(kernel.prepare(take(X, order[part]))))
