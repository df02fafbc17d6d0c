"""Which samples are near to each other, in the metric of a kernel or in any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp

Pairs: TypeAlias = tuple[np.ndarray, np.ndarray]
Strip: TypeAlias = tuple[slice, np.ndarray, np.ndarray | float]

_STRIP = 1_000_000  # distances at a time
_ROUNDING = 1e-14  # of squared distances, as a part of the terms that they are a difference of
_INEXACT = 2.0**-38  # and of what smooth functions of distances make of the rounding of these


def nearest(far: np.ndarray, count: int, start: int) -> Pairs:
    """Pairs of samples, one of them in each row, with their nearest neighbours.

    Samples that are as far away as any other are neighbours only if there is room for all of them:
    which were taken would be chance. A sample far from all others so has none.

    Parameters
    ----------
    far : array of shape (n, m)
        Distances of the samples ``start``, ``start + 1``, ... from all m samples; overwritten.
        Samples at infinite distance are not neighbours.
    count : int
        The number of neighbours.
    start : int
        The sample in the first row.

    Returns
    -------
    tuple of ndarray
        Numbers of samples, and of their neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.algebra.neighbors import nearest
    >>> x = np.array([0.0, 1.0, 5.0, 7.0])
    >>> [pairs.tolist() for pairs in nearest(abs(x[:, None] - x), 1, start=0)]
    [[0, 1, 2, 3], [1, 0, 3, 2]]
    """
    n, m = far.shape
    rows, count = np.arange(n), min(int(count), m - 1)
    if n == 0 or count == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    far[rows, rows + start] = -np.inf
    most = far.max(axis=1)
    far[rows, rows + start] = np.inf
    found = np.argpartition(far, count - 1, axis=1)[:, :count]
    values = np.take_along_axis(far, found, axis=1)
    kept = (values < most[:, None]) | (count == m - 1)
    row, place = np.nonzero(kept & (values < np.inf))
    return row + start, found[row, place]


def _originals(far: np.ndarray, start: int, rounding: np.ndarray | float) -> np.ndarray:
    """The first sample that is as near to that of a row as it is to itself, up to rounding."""
    rows = np.arange(len(far))
    own = far[rows, rows + start] + rounding
    same = far <= np.where(own < np.inf, own, -np.inf)[:, None]
    same[rows, rows + start] = True
    return same.argmax(axis=1)


def neighbor_pairs(strips: Callable[[], Iterator[Strip]], count: int) -> tuple[Pairs, np.ndarray]:
    """Pairs of neighbours, and for each sample the first of those that are identical with it.

    Neighbours are searched among distinct samples, since copies would hide all others. The i-th
    copy of a sample is joined with the i-th copy of its neighbours, counted again from the first
    where these have fewer. So data that are repeated as a whole have the same graph, repeated.
    Copies are not joined with each other.

    Parameters
    ----------
    strips : callable
        Yields rows, as slices in order; distances of these from all samples, which are
        overwritten; and by how much rounding may put a copy farther away than a sample is from
        itself. It is called once more if there are copies.
    count : int
        The number of neighbours.

    Returns
    -------
    tuple
        Numbers of samples and of their neighbours, as of :func:`nearest`; numbers of originals.
    """
    parts, first = [], []
    for rows, far, rounding in strips():
        first.append(_originals(far, rows.start, rounding))
        parts.append(nearest(far, count, rows.start))
    original = np.concatenate(first)
    while np.any(original != original[original]):
        original = original[original]
    own, code = np.unique(original, return_inverse=True)
    if len(own) < len(original):
        parts = []
        for rows, far, _ in strips():
            start, stop = np.searchsorted(own, [rows.start, rows.stop])
            inside = far[np.ix_(own[start:stop] - rows.start, own)]
            parts.append(nearest(inside, count, int(start)))
    one, other = (np.concatenate(part) for part in zip(*parts, strict=True))
    return (one, other) if len(own) == len(original) else _copied(one, other, code), original


def _copied(one: np.ndarray, other: np.ndarray, code: np.ndarray) -> Pairs:
    """Pairs of distinct samples as pairs of their copies."""
    members, sizes = np.argsort(code, kind="stable"), np.bincount(code)
    begin, times = np.cumsum(sizes) - sizes, sizes[one]
    copy = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
    one, other = np.repeat(one, times), np.repeat(other, times)
    return members[begin[one] + copy], members[begin[other] + copy % sizes[other]]


def graph_of(pairs: Pairs, n: int) -> sp.csr_array:
    """Edges of weight 1 between samples of which one is a neighbour of the other."""
    A = sp.coo_array((np.ones(len(pairs[0])), pairs), shape=(n, n)).tocsr()
    return A.maximum(A.T).tocsr()


def neighbor_graph(K: np.ndarray, count: int) -> sp.csr_array:
    """The graph of nearest neighbours by k(x, x) + k(y, y) - 2 k(x, y), for a kernel matrix.

    Copies of a sample are not joined: functions have the same value there.
    """
    n, squares = len(K), K.diagonal().astype(np.float64)

    def strips() -> Iterator[Strip]:
        step = max(_STRIP // n, 1)
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            D = squares[rows, None] + squares - 2 * K[rows].astype(np.float64)
            most = np.minimum(squares[rows], D.max(axis=1))
            yield rows, D, _ROUNDING * squares[rows] + _INEXACT * most

    return graph_of(neighbor_pairs(strips, count)[0], n)
