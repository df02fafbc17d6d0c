"""Joint independence statistics under given permutations, one variable after the other permuted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..gram.tiles import run, slices

_GROUPS = 16  # permutations are dealt to this many jobs


class Permuted(NamedTuple):
    """Sums under permutations of products of the kernel matrices of all variables.

    Attributes
    ----------
    pairs : ndarray of shape (permutations,)
        sum over i != j of prod_v K^v[p_v(i), p_v(j)].
    own : ndarray of shape (permutations,)
        sum over i of prod_v K^v[p_v(i), p_v(i)].
    """

    pairs: np.ndarray
    own: np.ndarray


def permuted_sums(
    matrices: Sequence[np.ndarray], permutations: np.ndarray, workers: int | None = None
) -> Permuted:
    """Sums of products of d symmetric matrices, all but the first one permuted.

    Parameters
    ----------
    matrices : list of arrays of shape (n, n)
        Symmetric matrices, in single precision.
    permutations : array of shape (B, d - 1, n)
        One permutation for each matrix but the first.
    workers : int, optional
        The number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.gather import permuted_sums
    >>> K, L = np.ones((2, 3, 3), np.float32)
    >>> permuted_sums([K, L], np.array([[[2, 0, 1]]])).pairs
    array([6.])
    """
    from .gather_loops import sum_of_products

    first, rest = np.ascontiguousarray(matrices[0]), np.ascontiguousarray(matrices[1:])
    B = len(permutations)
    pairs = np.empty(B)
    jobs = slices(B, max(1, -(-B // _GROUPS)))

    def job(at: slice) -> None:
        moved = np.ascontiguousarray(permutations[at], dtype=np.int32)
        sum_of_products(first, rest, moved, pairs[at])

    run(job, jobs, workers)
    own = np.tile(np.diagonal(first).astype(np.float64), (B, 1))
    for v, M in enumerate(rest):
        own *= np.diagonal(M)[permutations[:, v]]
    return Permuted(2 * pairs, own.sum(axis=1))
