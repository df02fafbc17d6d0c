"""Which samples are near to each other, in the metric of a kernel or in any other."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

_STRIP = 1_000_000  # distances at a time
_ROUNDING = 1e-14  # of squared distances, as a part of the terms that they are a difference of


def nearest(
    far: np.ndarray, count: int, start: int, rounding: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of samples, one of them in each row, with their nearest neighbours.

    Samples that are as far away as any other are neighbours only if there is room for all of them:
    which were taken would be chance. A sample far from all others so has none.

    Parameters
    ----------
    far : array of shape (n, m)
        Distances of the samples ``start``, ``start + 1``, ... from all m samples; overwritten.
        What is infinitely far away is no neighbour.
    count : int
        The number of neighbours.
    start : int
        The sample in the first row.
    rounding : float
        Distances up to it count as 0.

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
    if count == 0:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    zero = far[rows, rows + start] + rounding
    far[rows, rows + start] = -np.inf
    most = far.max(axis=1)
    far[rows, rows + start] = np.inf
    found = np.argpartition(far, count - 1, axis=1)[:, :count]
    values = np.take_along_axis(far, found, axis=1)
    kept = (values < most[:, None]) | (most <= zero)[:, None] | (count == m - 1)
    row, place = np.nonzero(kept & (values < np.inf))
    return row + start, found[row, place]


def graph_of(pairs: list[tuple[np.ndarray, np.ndarray]], n: int) -> sp.csr_array:
    """Edges of weight 1 between samples of which one is a neighbour of the other."""
    first, second = (np.concatenate(part) for part in zip(*pairs, strict=True))
    A = sp.csr_array((np.ones(len(first)), (first, second)), shape=(n, n))
    return A.maximum(A.T).tocsr()


def neighbor_graph(K: np.ndarray, count: int) -> sp.csr_array:
    """The graph of nearest neighbours by k(x, x) + k(y, y) - 2 k(x, y), for a kernel matrix."""
    squares = K.diagonal().astype(np.float64)
    n, rounding = len(K), _ROUNDING * float(squares.max(initial=0.0))
    step, pairs = max(_STRIP // n, 1), []
    for start in range(0, n, step):
        rows = slice(start, start + step)
        D = squares[rows, None] + squares[None, :] - 2 * K[rows].astype(np.float64)
        pairs.append(nearest(D, count, start, rounding))
    return graph_of(pairs, n)
