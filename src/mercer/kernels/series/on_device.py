"""All pairs of two samples of series on a device: common code of kernels computed there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .ragged import Ragged, same_channels, segments

LANES = 128  # pairs of a program, one for each of its threads
_NUMBERS = 2**26  # that programs may leave behind at a time


class AllPairs(ABC):
    """Values for all pairs of series, as a tensor.

    Parameters
    ----------
    device : str
        The name of a device that runs kernels of Triton.
    """

    def __init__(self, device: str) -> None:
        self.device = device

    @abstractmethod
    def _sorted(self, X: Ragged, Y: Ragged, symmetric: bool) -> Any:
        """Values; with ``symmetric``, those of the lower triangle mean nothing."""

    def __call__(self, X: Ragged, Y: Ragged) -> Any:
        """Values of all pairs; where Y is X, half of them are computed."""
        from ...gram.device.torch_ import put

        same_channels(X, Y)
        if not len(X) or not len(Y):
            return put(np.empty((len(X), len(Y))), self.device)
        # lanes of about one length do not wait for each other
        rows, cols = np.argsort(X.size, kind="stable"), np.argsort(Y.size, kind="stable")
        found = self._sorted(X[rows], Y[cols], X is Y)
        if X is Y:  # infinite values may be among them
            upper = found.new_ones(found.shape).triu().bool()
            found = found.where(upper, found.T)
        back, across = (put(np.argsort(order), self.device) for order in (rows, cols))
        return found[back][:, across]


def padded(X: Ragged, fill: float, size: int, origin: Any = 0.0, unit: float = 1.0) -> np.ndarray:
    """Series of one length, (n, size, channels), with ``fill`` behind their ends."""
    out = np.full((len(X), size, X.channels), fill)
    place = segments(X.start, X.size)
    row = np.repeat(np.arange(len(X)), X.size)
    out[row, place - X.start[row]] = (X.values[place] - origin) * unit
    return out


def strips(n: int, m: int, left_behind: int) -> tuple[int, int]:
    """How many programs compare a series with m others, and how many of n series at a time.

    ``left_behind`` is what a program writes for each of its lanes.
    """
    blocks = -(-m // LANES)
    return blocks, max(1, min(n, _NUMBERS // (left_behind * LANES * blocks)))
