"""The best segmentations of an ordered sample, for every number of segments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engine.memory import require_memory
from ..engine.threads import run
from ..exceptions import not_finite
from ..gram.base import Gram
from ..gram.tiles import slices
from .segmentation_loops import earlier_starts, later_starts

_STRIP = 256  # ends at a time; for each, costs of all starts
_STARTS = 1024  # of a job, at least
_JOBS = 32  # at most


@dataclass(frozen=True)
class Search:
    """The least costs of all numbers of segments, and how they are attained.

    Attributes
    ----------
    costs : ndarray of shape (D,)
        Of 1, ..., D segments.
    path : ndarray of shape (D, items + 1)
        Where the last of d + 1 segments of the first items begins.
    """

    costs: np.ndarray
    path: np.ndarray

    def changes(self, segments: int) -> np.ndarray:
        """The change points of the best segmentation into this many segments."""
        found, end = np.empty(segments - 1, dtype=np.intp), self.path.shape[1] - 1
        for d in range(segments - 1, 0, -1):
            end = found[d - 1] = self.path[d, end]
        return found


def best_segmentations(
    gram: Gram, trace: np.ndarray, sizes: np.ndarray, most: int, least: int
) -> Search:
    r"""Minimise the sum of the costs of segments, exactly, for 1, 2, ..., ``most`` of them.

    .. math:: C(s, e) = \sum_{s \le i < e} T_i - \frac{\sum_{s \le i, j < e} K_{ij}}{\sum_i N_i}

    Time grows with the square of the number of items, times ``most``; memory with the items alone.

    Parameters
    ----------
    gram : Gram
        K of items: samples, or sums of features over bins of them.
    trace : ndarray of shape (items,)
        T, the sum of k(x, x) over the samples of an item.
    sizes : ndarray of shape (items,)
        N, their number.
    most : int
        The largest number of segments, at most items / least.
    least : int
        The smallest number of items of a segment.

    References
    ----------
    Celisse, Marot, Pierre-Jean & Rigaill, *New efficient algorithms for multiple change-point
    detection with reproducing kernels*, CSDA 2018.
    """
    n = len(gram)
    jobs = slices(n, max(_STARTS, -(-n // _JOBS)))
    require_memory(
        8.0 * n * (1.5 * most + 3 * _STRIP) + 16.0 * len(jobs) * _STRIP * most,
        f"the search for changes among {n} places",
        gram.limit,
    )
    counts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.float64)
    own = np.asarray(gram.diag(), dtype=np.float64)
    gram.block(slice(0, 1), slice(0, 1))  # a K that is stored is computed here, on all cores
    V = np.full((most + 1, n + 1), np.inf)
    V[0, 0] = 0.0
    path = np.zeros((most, n + 1), dtype=np.int32)
    A, T = np.zeros((2, n))
    for strip in slices(n, _STRIP):
        K = _strip_of(gram, strip)
        before = slices(strip.start, jobs[0].stop)
        total, *above = _sums_from(K, before)
        if not np.all(np.isfinite(total)):
            raise not_finite(getattr(gram, "kernel", gram))
        shared = own[strip], trace[strip], counts, least, V, A, T
        best, where = _of_earlier(K, before, above, shared, most, gram.workers)
        later_starts(K, *shared, best, where, path)
    return Search(np.maximum(V[1:, n], 0.0), path)


def _strip_of(gram: Gram, rows: slice) -> np.ndarray:
    """Rows of K up to the diagonal, in double precision."""
    K = np.empty((rows.stop - rows.start, rows.stop))

    def fill(cols: slice) -> None:
        K[:, cols] = gram.block(rows, cols)

    run(fill, slices(rows.stop, _STARTS), gram.workers)
    return K


def _of_earlier(
    K: np.ndarray,
    before: list[slice],
    above: list[np.ndarray],
    shared: tuple,
    most: int,
    workers: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The best last segments that begin before a strip: least costs and starts, for each end."""
    shape = (len(before) + 1, len(K), most)  # the last one stands for "none"
    best, where = np.full(shape, np.inf), np.zeros(shape, dtype=np.int32)
    bounds = np.full(shape[1:], np.inf)  # shared: a lost update costs time, and changes no result

    def job(place: int) -> None:
        part = before[place]
        span = np.array([part.start, part.stop])
        earlier_starts(K, above[place], span, *shared, bounds, best[place], where[place])

    run(job, range(len(before)), workers)
    first = best.argmin(axis=0)[None]  # of equal ones: ties go to the first start
    return np.take_along_axis(best, first, 0)[0], np.take_along_axis(where, first, 0)[0]


def _sums_from(K: np.ndarray, before: list[slice]) -> np.ndarray:
    """Of every end, sums of K over items from each range of starts on, and from the strip on."""
    first = before[-1].stop if before else 0
    inside = np.tril(K[:, first:], -1).sum(axis=1)
    if not before:
        return inside[None]
    ranges = np.add.reduceat(K[:, :first], [part.start for part in before], axis=1)
    sums = np.column_stack([ranges, inside])
    return np.ascontiguousarray(np.cumsum(sums[:, ::-1], axis=1)[:, ::-1].T)
