"""What kernels on rankings share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base import Kernel
from .kind import RANKINGS


@dataclass(eq=False, repr=False)
class RankingKernel(Kernel):
    """A kernel on rankings, each a row with the rank of every item."""

    domain = RANKINGS


def same_items(X: np.ndarray, Y: np.ndarray) -> None:
    """Refuse rankings of different numbers of items, given by their places."""
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has rankings of {X.shape[1]} items, but the other sample has rankings of "
            f"{Y.shape[1]}."
        )
