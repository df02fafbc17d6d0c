"""Exact moments, over all permutations, of the statistics that permutation tests use."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np


class Moments(NamedTuple):
    """Mean, variance and skewness."""

    mean: float
    variance: float
    skewness: float


def permutation_moments(A: np.ndarray, B: np.ndarray) -> Moments:
    r"""Mean, variance and skewness of sum_ij A_ij B_p(i)p(j) over all permutations p.

    A and B are symmetric, of the same size n >= 6, and have zero row sums (centred kernel
    matrices). The moment of order r is a sum over the partitions of 2r indices,

    .. math:: E\,T^r = \sum_\sigma \frac{A_\sigma B_\sigma}{n (n-1) \cdots (n - |\sigma| + 1)}

    where A_sigma adds up products of r entries of A over *distinct* indices, one per block of
    sigma. By Möbius inversion these follow from sums over all indices, of which only eight are
    not zero when row sums are. The cost is one matrix product.

    Parameters
    ----------
    A, B : array of shape (n, n)
        The matrices.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.moments import permutation_moments
    >>> H = np.eye(6) - 1 / 6
    >>> m = permutation_moments(H, H)  # invariant: always tr H = 5
    >>> round(m.mean, 6), abs(m.variance) < 1e-10
    (5.0, True)

    References
    ----------
    Kazi-Aoual, Hitier, Sabatier & Lebreton, *Refined approximations to permutation tests for
    multivariate inference*, Computational Statistics & Data Analysis 20, 1995.
    """
    n = len(A)
    if A.shape != B.shape or A.shape != (n, n):
        raise ValueError(f"A and B must be square, of one size, got {A.shape} and {B.shape}.")
    if n < 6:
        raise ValueError(f'three moments need at least 6 samples, got {n}; use null="permutation".')
    scale_a, scale_b = (float(np.abs(M).max()) or 1.0 for M in (A, B))
    a, b = _invariants(A / scale_a), _invariants(B / scale_b)
    first, second, third = (_moment(order, a, b, n) for order in (1, 2, 3))
    variance = second - first**2
    central = third - 3 * first * second + 2 * first**3
    skewness = central / variance**1.5 if variance > 1e-12 * second else 0.0
    scale = scale_a * scale_b
    return Moments(first * scale, max(variance, 0.0) * scale**2, skewness)


def _invariants(A: np.ndarray) -> dict[str, float]:
    """Sums of products of entries in which no index occurs only once."""
    d = np.diagonal(A).copy()
    square = A @ A
    own = np.diagonal(square)
    return {
        "loop": float(d.sum()),
        "pair": float(own.sum()),
        "loops2": float(d @ d),
        "triangle": float(np.vdot(square, A)),
        "loop+pair": float(d @ own),
        "triple": float(np.sum(A**3)),
        "dumbbell": float(d @ A @ d),
        "loops3": float(np.sum(d**3)),
    }


def _moment(order: int, a: dict[str, float], b: dict[str, float], n: int) -> float:
    partitions, mobius = _lattice(order)
    sums_a, sums_b = (mobius @ np.array([_value(p, order, v) for p in partitions]) for v in (a, b))
    falling = np.cumprod(n - np.arange(2.0 * order))
    weights = np.array([1 / falling[max(p)] for p in partitions])
    return float(np.sum(sums_a * sums_b * weights))


def _value(partition: tuple[int, ...], order: int, v: dict[str, float]) -> float:
    """The sum over all indices, one per block, of the product of entries (2k, 2k + 1)."""
    if min(np.bincount(partition)) < 2:
        return 0.0  # a row sum
    edges = [partition[2 * k : 2 * k + 2] for k in range(order)]
    value = 1.0
    for component in _components(edges):
        value *= v[_shape(component)]
    return value


def _components(edges: list[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
    found: list[list[tuple[int, ...]]] = []
    for edge in edges:
        touching = [c for c in found if any(set(edge) & set(other) for other in c)]
        rest = [c for c in found if c not in touching]
        found = [*rest, [edge, *(e for c in touching for e in c)]]
    return found


def _shape(edges: list[tuple[int, ...]]) -> str:
    """The name of a connected graph of at most three edges without vertices of degree one."""
    loops = sum(i == j for i, j in edges)
    vertices = len({i for edge in edges for i in edge})
    return {
        (1, 1, 1): "loop",
        (2, 0, 2): "pair",
        (2, 2, 1): "loops2",
        (3, 0, 3): "triangle",
        (3, 0, 2): "triple",
        (3, 1, 2): "loop+pair",
        (3, 2, 2): "dumbbell",
        (3, 3, 1): "loops3",
    }[len(edges), loops, vertices]


@cache
def _lattice(order: int) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """All partitions of 2 * order indices, and the inverse of "is refined by"."""
    partitions: list[tuple[int, ...]] = [(0,)]
    for _ in range(2 * order - 1):
        partitions = [(*p, block) for p in partitions for block in range(max(p) + 2)]
    P = np.array(partitions)
    same = P[:, :, None] == P[:, None, :]
    coarser = (same[:, None] <= same[None]).all(axis=(2, 3))  # sums split by which indices agree
    return partitions, np.linalg.inv(coarser.astype(float)).round()
