"""Samples by their features: bins of them as items, and changes moved to single samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..engine.memory import require_memory
from ..gram.base import Gram
from ..gram.plan import Plan
from ..gram.tiles import slices
from ..kernels.vectors.dot import Linear
from .segmentation_search import Search

_STRIP = 4096  # samples whose features are added up at a time
_DOUBLE, _SINGLE = 2.0**-38, 2.0**-13  # rounding of costs, relative to the trace
_TRIED = 2  # numbers of segments that are no better, before the search for fewer ends
_NEGLIGIBLE = 2.0**-40  # share of the sum of squares by which a move has to lower the cost


class Items:
    """What segments consist of: samples, or bins of them, and how sure costs are.

    Parameters
    ----------
    gram : Gram
        K of the samples.
    step : int
        Samples of a bin, or one more.
    min_size : int
        Samples of a segment.
    """

    def __init__(self, gram: Any, step: int, min_size: int) -> None:
        self.step, self.min_size = step, min_size
        n = len(gram)
        bins = max(n // step, 1)
        self.edges = np.arange(bins + 1) * n // bins  # sizes differ by one at most
        self.sizes = np.diff(self.edges)
        self.least = min(-(-min_size // (n // bins)), bins)  # one segment may always be shorter
        self.most = bins // self.least
        self.phi = centred_features(gram)  # whose rounding enters squared
        self.precision = _SINGLE if self.phi is None and gram.dtype.itemsize < 8 else _DOUBLE
        if self.phi is None:
            self.gram, self.trace = gram, np.asarray(gram.diag(), dtype=np.float64)
            return
        sums = self.phi if step == 1 else np.add.reduceat(self.phi, self.edges[:-1], axis=0)
        self.gram = Plan(workers=gram.workers, storage="lowrank").gram(Linear(), sums)
        self.gram.limit = gram.limit
        self.trace = np.add.reduceat(squares(self.phi), self.edges[:-1])

    def rounding(self, search: Search) -> np.ndarray:
        """By how much costs may be off; those of a single item are exact."""
        sums = np.concatenate([[0.0], np.cumsum(self.trace)])
        totals = []
        for segments in range(1, len(search.costs) + 1):
            edges = np.concatenate([[0], search.changes(segments), [len(self.trace)]])
            several = np.diff(edges) > 1
            totals.append(np.diff(sums[edges])[several].sum())
        return self.precision * np.array(totals)

    def found(
        self, search: Search, segments: int, penalties: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """Changes as numbers of samples, and their cost; fewer where bins hid that fewer do.

        A bin with a change inside is unlike both sides, and may have been cut out by two changes,
        of which one is left over once the other is moved. So fewer are tried as well, until
        that has not helped twice.
        """
        if self.step == 1 or self.phi is None:
            return search.changes(segments), float(search.costs[segments - 1])
        least, chosen, tried = np.inf, (np.empty(0, dtype=np.intp), np.inf), 0
        while segments and tried < _TRIED:
            changes = refined(self.phi, self.edges[search.changes(segments)], self.min_size)
            cost = cost_of(self.phi, changes)
            if penalties is None:
                return changes, cost
            tried += 1
            if cost + penalties[segments - 1] < least:
                least, chosen, tried = cost + penalties[segments - 1], (changes, cost), 0
            segments -= 1
        return chosen


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
