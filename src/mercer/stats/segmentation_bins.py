"""Samples by their features: bins of them as items, and changes moved to single samples."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..engine.memory import require_memory
from ..gram.base import Gram
from ..gram.tiles import slices

_STRIP = 4096  # samples whose features are added up at a time
_NEGLIGIBLE = 2.0**-40  # share of the sum of squares by which a move has to lower the cost


def centred_features(gram: Gram) -> np.ndarray | None:
    """Dense features from their median as origin, in double precision; None without such.

    Costs do not depend on the origin, but sums of numbers far from it cancel. An outlier does not
    move the median.
    """
    phi = gram.features
    if phi is None or sp.issparse(phi):
        return None
    require_memory(8.0 * phi.size, f"a copy of the features of {len(gram)} samples", gram.limit)
    phi = np.array(phi, dtype=np.float64)
    phi -= np.median(phi, axis=0)
    return phi


def squares(phi: np.ndarray) -> np.ndarray:
    """The squared norm of each row."""
    return np.einsum("ij,ij->i", phi, phi)


def refined(phi: np.ndarray, changes: np.ndarray, least: int) -> np.ndarray:
    """Move each change to the best place between its neighbours, until none moves.

    Every move lowers the total cost by more than rounding does, so there is an end.

    Parameters
    ----------
    phi : ndarray of shape (n, r)
        Features.
    changes : ndarray of int
        Where segments begin, but for the first.
    least : int
        The smallest number of samples of a segment.
    """
    edges = np.concatenate([[0], changes, [len(phi)]]).astype(np.intp)
    negligible = _NEGLIGIBLE * float(squares(phi).sum())
    waiting = np.ones(len(edges), dtype=bool)
    waiting[[0, -1]] = False
    while waiting.any():
        at = int(np.argmax(waiting))
        waiting[at] = False
        left, right = edges[at - 1], edges[at + 1]
        gain = _gains(phi[left:right])
        gain[: least - 1], gain[right - left - least :] = -1.0, -1.0
        place = int(np.argmax(gain))
        if gain[place] > gain[edges[at] - left - 1] + negligible:
            edges[at] = left + place + 1
            waiting[at - 1] |= at > 1
            waiting[at + 1] |= at + 2 < len(edges)
    return edges[1:-1]


def cost_of(phi: np.ndarray, changes: np.ndarray) -> float:
    """The sum of squared distances from the mean of each segment."""
    parts = np.split(phi, changes)
    return float(sum(squares(part - part.mean(axis=0)).sum() for part in parts))


def _gains(phi: np.ndarray) -> np.ndarray:
    """By how much a change after the first 1, 2, ... rows lowers the cost; after all: by 0."""
    n, mean = len(phi), phi.mean(axis=0)
    total, gain = np.zeros(phi.shape[1]), np.empty(n)
    for rows in slices(n, _STRIP):
        sums = np.cumsum(phi[rows] - mean, axis=0)
        sums += total
        total = sums[-1]
        gain[rows] = squares(sums)
    sizes = np.arange(1, n)
    gain[:-1] *= n / (sizes * (n - sizes))
    gain[-1] = 0.0
    return gain
