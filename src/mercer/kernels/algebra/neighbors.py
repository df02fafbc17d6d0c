"""Which samples are near to each other in the metric of a kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

_STRIP = 1_000_000  # kernel values at a time


def nearest(
    block: Callable[[slice], np.ndarray], rows: np.ndarray, cols: np.ndarray, count: int,
    *, itself: bool = False,
) -> np.ndarray:  # fmt: skip
    """The samples closest to each other one, by k(x, x) + k(y, y) - 2 k(x, y).

    Parameters
    ----------
    block : callable
        Kernel values of a slice of rows with all columns.
    rows, cols : arrays of shape (n,) and (m,)
        k(x, x) of rows and of columns.
    count : int
        How many.
    itself : bool
        May row i be its own neighbour, column i?

    Returns
    -------
    ndarray of shape (n, count)
        Numbers of columns, the closest first.
    """
    n, m = len(rows), len(cols)
    count = min(count, m if itself else m - 1)
    found = np.empty((n, count), np.int64)
    step = max(_STRIP // m, 1)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        D = rows[part, None] + cols[None, :] - 2 * np.asarray(block(part), dtype=np.float64)
        if not itself:
            D[np.arange(len(D)), np.arange(part.start, part.stop)] = np.inf
        some = np.argpartition(D, count - 1, axis=1)[:, :count] if count else found[part]
        order = np.argsort(np.take_along_axis(D, some, axis=1), axis=1, kind="stable")
        found[part] = np.take_along_axis(some, order, axis=1)
    return found


def neighbor_graph(
    block: Callable[[slice], np.ndarray], squares: np.ndarray, count: int
) -> sp.csr_array:
    """Edges of weight 1 between samples of which one is among the nearest of the other."""
    n = len(squares)
    found = nearest(block, squares, squares, count)
    first = np.repeat(np.arange(n), found.shape[1])
    ones = np.ones(found.size)
    A = sp.csr_array((ones, (first, found.ravel())), shape=(n, n))
    return A.maximum(A.T).tocsr()
