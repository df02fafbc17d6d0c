"""Alignments of all pairs of two samples of series, on a device.

Sums over alignments are numbers times a power of two for each pair, taken out row by row: nothing
overflows, at any length. All terms are positive, so the error of a sum is that of the cells along
its alignments, relative to it.

They are computed in double precision on cards that have it at half the speed of single precision,
and on others in single precision, with an error of about 1e-5 in values of series of a hundred
points; there, too, points far from their centre, in units of the lengthscale, are compared in
double precision.
"""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np

from ...data import Zipped
from ..base import Values
from .alignment_source import FAR, Aligned, written
from .on_device import LANES, AllPairs, padded, strips
from .ragged import Ragged, segments

_SINGLE = 64.0  # coordinates beyond it are compared in double precision


class DeviceAlignments(AllPairs):
    """The log of the sum over all alignments, or the smallest sum of squared distances.

    Parameters
    ----------
    band : int, optional
        As in :class:`~mercer.GlobalAlignment`.
    minimum : bool
        The smallest sum, as in :class:`~mercer.DynamicTimeWarping`.
    device : str
        The name of a device that runs kernels of Triton.
    double : bool, optional
        In double precision? By default, where the device is made for it.
    """

    def __init__(
        self, band: int | None, minimum: bool, device: str, double: bool | None = None
    ) -> None:
        from ...gram.device.torch_ import quick_in_double

        super().__init__(device)
        self.band, self.minimum = band, minimum
        self.double = quick_in_double(device) if double is None else double

    @property
    def dtype(self) -> Any:
        """The precision of values."""
        return np.dtype(np.float64 if self.double else np.float32)

    def _sorted(self, X: Ragged, Y: Ragged, symmetric: bool) -> Any:
        from ...engine.threads import check_cancelled
        from ...gram.device.torch_ import import_torch, put
        from ...gram.device.triton_ import launch

        torch, n, m = import_torch(self.device), len(X), len(Y)
        origin = Y.values[segments(Y.start, Y.size)].mean(axis=0)
        unit = 1.0 if self.minimum else sqrt(1 / log(2))  # powers of two, not of e
        x, y = (padded(Z, FAR, int(Z.size.max()), origin, unit) for Z in (X, Y))
        reach = max(float(np.abs(z[z != FAR]).max()) for z in (x, y))
        double = self.double or reach > _SINGLE
        task = Aligned(X.channels, double, self.band is not None, self.minimum)
        beyond = np.full((-y.shape[1] % task.strip, *y.shape[2:], m), FAR)
        points = np.concatenate([y.transpose(1, 2, 0), beyond])
        left, right = (put(z, self.device, task.real.name) for z in (x, points))
        sizes = put(X.size, self.device), put(Y.size, self.device)
        out = torch.zeros((n, m), dtype=torch.float64, device=left.device)
        blocks, rows = strips(n, m, x.shape[1])
        room = rows * blocks * LANES * x.shape[1]
        edge = torch.empty(room, dtype=left.dtype, device=left.device)
        power = torch.empty(room, dtype=torch.int32, device=left.device)
        for start in range(0, n, rows):
            check_cancelled()
            launch(
                written(task), (min(rows, n - start), blocks),
                left, right, *sizes, edge, power, out, start, m, x.shape[1], self.band or 0,
                int(symmetric), L=LANES, num_warps=LANES // 32,
            )  # fmt: skip
        return out


def kernel_values(band: int | None, device: str) -> Values:
    """Those of :class:`~mercer.GlobalAlignment`, of prepared series."""
    from ...gram.device.torch_ import get, put

    def values(X: Zipped, Y: Zipped) -> np.ndarray:
        (P, p), (Q, q) = X.parts, Y.parts
        alignments = DeviceAlignments(band, False, device)
        found = alignments(P, Q)
        found -= (put(p, device)[:, None] + put(q, device)) / 2
        found.clamp_(max=0).exp_()
        if X is Y:
            found.fill_diagonal_(1)
        return get(found, alignments.dtype)

    return values


def warping_values(gamma: float, band: int | None, device: str) -> Values:
    """Those of :class:`~mercer.DynamicTimeWarping`, of prepared series."""
    from ...gram.device.torch_ import get

    def values(X: Ragged, Y: Ragged) -> np.ndarray:
        alignments = DeviceAlignments(band, True, device)
        return get(alignments(X, Y).mul_(-gamma).exp_(), alignments.dtype)

    return values
