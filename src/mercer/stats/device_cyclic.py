"""HSIC under all permutations of an arrangement on a device: tiles, and their Fourier transforms.

What :mod:`~.cyclic` does: the diagonals of a tile of two centred matrices are transformed, and the
products of transforms added up; here nothing but their sums ever leaves the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.threads import check_cancelled
from ..gram.device.tiles import DeviceTiles
from ..gram.device.torch_ import get, import_torch, put, torch_device, within_memory
from ..gram.tiles import slices
from .bank import Bank

_COPIES = 8  # arrays of diagonals and their transforms that are there at once


class DeviceDiagonals:
    """Diagonals of centred tiles of all kernels of a bank, as tensors in single precision.

    Parameters
    ----------
    bank : Bank
        Of kernels that state formulas; its samples are in the order of the arrangement.
    shift : ndarray of shape (kernels, n)
        What is subtracted from the rows and from the columns of each matrix.
    m : int
        The rows of a tile.
    """

    def __init__(self, bank: Bank, shift: np.ndarray, m: int) -> None:
        self.m, self.device, self.scale = m, bank.device, bank.scale
        self.tiles = []
        for place, single in enumerate(bank.single()):
            formula: Any = bank.formula(place)
            dtype = np.float32 if single and bank.scale[place] == 1 else np.float64
            self.tiles.append(DeviceTiles(formula, formula, bank.device, dtype))
        self.shift = put(shift, bank.device)

    def __call__(self, u: int, v: int, offsets: slice) -> Any:
        """[A[(k, u), (k + t, v)]] for all k and some offsets t, shape (kernels, m, offsets)."""
        torch, m = import_torch(self.device), self.m
        place = torch_device(self.device)
        rows, cols = (slice(w * m, (w + 1) * m) for w in (u, v))
        k = torch.arange(m, device=place)
        index = (k[:, None] + k[offsets]) % m
        parts = []
        for tiles, shift, scale in zip(self.tiles, self.shift, self.scale, strict=True):
            T = tiles(rows, cols).double() / scale - shift[rows, None] - shift[cols]
            if u == v:
                T.fill_diagonal_(0)
            parts.append(T.float().gather(1, index))
        return torch.stack(parts)


class DeviceSums:
    """Sums of products of transforms over all tiles, for every pair of kernels.

    Parameters
    ----------
    left, right : DeviceDiagonals
        Those of the two variables.
    """

    def __init__(self, left: DeviceDiagonals, right: DeviceDiagonals) -> None:
        self.left, self.right, self.m = left, right, left.m
        shape = self.m // 2 + 1, len(left.tiles), len(right.tiles)
        torch, place = import_torch(left.device), torch_device(left.device)
        self._total = torch.zeros(shape, dtype=torch.complex128, device=place)

    def add(self, u: int, v: int, weights: np.ndarray) -> None:
        """Add the tile (u, v), its diagonals t < len(weights) weighed."""
        torch, device = import_torch(self.left.device), self.left.device
        w = put(weights, device, np.float32)
        kernels = len(self.left.tiles) + len(self.right.tiles)

        def work(size: int) -> Any:
            total = torch.zeros_like(self._total)
            for some in slices(len(weights), max(size // (_COPIES * kernels * self.m), 1)):
                check_cancelled()
                A, B = (side(u, v, some) for side in (self.left, self.right))
                F, G = torch.fft.rfft(A * w[some], dim=1), torch.fft.rfft(B, dim=1)
                total += torch.einsum("aft,bft->fab", F.conj(), G)
            return total

        self._total += within_memory(work, device, 4)

    def total(self) -> np.ndarray:
        """What was added up, shape (frequencies, a, b)."""
        return get(self._total)
