"""Exact moments, over all permutations, of the statistics that permutation tests use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import permutations
from math import factorial, prod
from typing import Any, NamedTuple

import numpy as np

from ..engine.lapack import lapack

Graph = tuple[tuple[int, int], ...]  # edges (i, j) with i <= j, sorted; (i, i) is a loop


class Moments(NamedTuple):
    """Mean, variance, skewness and kurtosis (3 for a normal variable)."""

    mean: float
    variance: float
    skewness: float
    kurtosis: float


def permutation_moments(A: np.ndarray, B: np.ndarray) -> Moments:
    r"""The first four moments of T = sum_ij A_ij B_p(i)p(j) over all permutations p.

    A and B are symmetric, of the same size n >= 6, and have zero row sums (centred kernel
    matrices). The moment of order r is a sum over the partitions of 2r indices,

    .. math:: E\,T^r = \sum_\sigma \frac{A_\sigma B_\sigma}{n (n-1) \cdots (n - |\sigma| + 1)}

    where A_sigma adds up products of r entries of A over *distinct* indices, one per block of
    sigma. A partition is a graph: its blocks are the vertices, the r entries the edges, and A_sigma
    depends on the shape of the graph only. By Möbius inversion it follows from sums over all
    indices, of which few are not zero when row sums are. The cost is one matrix product.

    Moments are taken around the mean, tr A tr B / (n - 1): a multiple of the centring matrix is
    subtracted from both matrices, which moves T by a constant.

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
    multivariate inference*, Computational Statistics & Data Analysis 20, 1995 (three moments).
    """
    n = len(A)
    if A.shape != B.shape or A.shape != (n, n):
        raise ValueError(f"A and B must be square, of one size, got {A.shape} and {B.shape}.")
    if n < 6:
        raise ValueError(f'moments need at least 6 samples, got {n}; use null="permutation".')
    mean = float(np.trace(A)) * float(np.trace(B)) / (n - 1)
    (a, scale_a), (b, scale_b) = _invariants(A), _invariants(B)
    second, third, fourth = (_moment(order, a, b, n) for order in (2, 3, 4))
    scale = scale_a * scale_b
    if not second > 1e-14:
        return Moments(mean, max(second, 0.0) * scale**2, 0.0, 3.0)
    return Moments(mean, second * scale**2, third / second**1.5, fourth / second**2)


def _invariants(A: np.ndarray) -> tuple[dict[Graph, float], float]:
    """Sums of products of entries, by shape, of A less a multiple of H, in units of its norm."""
    n = len(A)
    level = float(np.trace(A)) / (n - 1)
    A = A + level / n
    A.flat[:: n + 1] -= level
    scale = float(np.linalg.norm(A)) or 1.0
    A /= scale
    d, square = np.diagonal(A).copy(), lapack(n, np.matmul, A, A)
    return {shape: float(value(A, square, d)) for shape, value in _SHAPES.items()}, scale


def _moment(order: int, a: dict[Graph, float], b: dict[Graph, float], n: int) -> float:
    total = 0.0
    for kind in _kinds(order):
        if kind.vertices <= n:
            ways = float(np.prod(n - np.arange(kind.vertices, dtype=float)))
            total += kind.times * kind.sum(a) * kind.sum(b) / ways
    return total


# ---- graphs --------------------------------------------------------------------------------------
class _Kind(NamedTuple):
    """Partitions with the same graph: how many there are, and sums over distinct indices.

    ``terms`` are the graphs that arise by joining vertices, as their connected shapes, with the
    Möbius function as coefficient; those with a vertex of degree one are 0 and left out.
    """

    vertices: int
    times: int
    terms: tuple[tuple[float, tuple[Graph, ...]], ...]

    def sum(self, values: dict[Graph, float]) -> float:
        """The sum over distinct indices."""
        return sum(c * prod(values[shape] for shape in shapes) for c, shapes in self.terms)


@cache
def _kinds(order: int) -> list[_Kind]:
    """The graphs of all partitions of 2 * order indices; edge k joins blocks 2k and 2k + 1."""
    found: Counter[tuple[Graph, ...]] = Counter()
    for blocks in _partitions(2 * order):
        edges = [(blocks[2 * k], blocks[2 * k + 1]) for k in range(order)]
        found[_shapes(edges)] += 1
    return [_kind(shapes, count) for shapes, count in found.items()]


def _kind(shapes: tuple[Graph, ...], count: int) -> _Kind:
    edges: list[tuple[int, int]] = []
    vertices = 0
    for shape in shapes:
        edges += [(i + vertices, j + vertices) for i, j in shape]
        vertices += 1 + max(j for _, j in shape)
    terms: Counter[tuple[Graph, ...]] = Counter()
    for blocks in _partitions(vertices):
        joined = [(blocks[i], blocks[j]) for i, j in edges]
        degrees = Counter(vertex for edge in joined for vertex in edge)
        if min(degrees.values()) > 1:
            sizes = Counter(blocks).values()
            terms[_shapes(joined)] += prod((-1) ** (s - 1) * factorial(s - 1) for s in sizes)
    return _Kind(vertices, count, tuple((float(c), t) for t, c in terms.items() if c))


def _partitions(n: int) -> Iterator[tuple[int, ...]]:
    """All partitions of n elements, as the block of each."""
    found: list[tuple[int, ...]] = [(0,)]
    for _ in range(n - 1):
        found = [(*p, block) for p in found for block in range(max(p) + 2)]
    yield from found


def _shapes(edges: list[tuple[int, int]]) -> tuple[Graph, ...]:
    """The connected parts of a graph, each in a form that does not depend on names of vertices."""
    parts: list[list[tuple[int, int]]] = []
    for edge in edges:
        touching = [part for part in parts if any(set(edge) & set(other) for other in part)]
        rest = [part for part in parts if part not in touching]
        parts = [*rest, [edge, *(e for part in touching for e in part)]]
    return tuple(sorted(_shape(_renamed(part)) for part in parts))


def _renamed(edges: list[tuple[int, int]]) -> Graph:
    """The same graph, its vertices numbered in the order in which they occur."""
    number: dict[int, int] = {}
    for edge in sorted(edges):
        for vertex in edge:
            number.setdefault(vertex, len(number))
    return _sorted((number[i], number[j]) for i, j in edges)


def _sorted(edges: Iterator[tuple[int, int]]) -> Graph:
    return tuple(sorted((min(i, j), max(i, j)) for i, j in edges))


@cache
def _shape(edges: Graph) -> Graph:
    """The smallest of the graphs that differ from this one by the names of vertices."""
    size = 1 + max(j for _, j in edges)
    return min(_sorted((p[i], p[j]) for i, j in edges) for p in permutations(range(size)))


Value = Callable[[Any, Any, Any], Any]
_SHAPES: dict[Graph, Value] = {
    _shape(_sorted(iter(edges))): value
    for edges, value in (
        # one, two and three edges; A, its square S, its diagonal d
        ([(0, 0)], lambda A, S, d: d.sum()),
        ([(0, 1)] * 2, lambda A, S, d: np.trace(S)),
        ([(0, 0)] * 2, lambda A, S, d: d @ d),
        ([(0, 1), (1, 2), (0, 2)], lambda A, S, d: np.vdot(S, A)),
        ([(0, 1)] * 3, lambda A, S, d: np.sum(A**3)),
        ([(0, 0), (0, 1), (0, 1)], lambda A, S, d: d @ np.diagonal(S)),
        ([(0, 0), (0, 1), (1, 1)], lambda A, S, d: d @ A @ d),
        ([(0, 0)] * 3, lambda A, S, d: np.sum(d**3)),
        # four edges on four, three, two vertices and one
        ([(0, 1), (1, 2), (2, 3), (0, 3)], lambda A, S, d: np.vdot(S, S)),
        ([(0, 0), (0, 1), (1, 2), (0, 2)], lambda A, S, d: d @ np.einsum("ij,ij->i", S, A)),
        ([(0, 1), (0, 1), (1, 2), (0, 2)], lambda A, S, d: np.vdot(S, A**2)),
        ([(0, 1), (0, 1), (1, 2), (1, 2)], lambda A, S, d: np.sum(np.diagonal(S) ** 2)),
        ([(0, 1), (0, 1), (1, 2), (2, 2)], lambda A, S, d: np.diagonal(S) @ A @ d),
        ([(0, 0), (0, 1), (1, 2), (2, 2)], lambda A, S, d: d @ S @ d),
        ([(0, 1)] * 4, lambda A, S, d: np.sum(A**4)),
        ([(0, 0), *[(0, 1)] * 3], lambda A, S, d: d @ np.sum(A**3, axis=1)),
        ([(0, 0), (0, 0), (0, 1), (0, 1)], lambda A, S, d: d**2 @ np.diagonal(S)),
        ([(0, 0), (1, 1), (0, 1), (0, 1)], lambda A, S, d: d @ A**2 @ d),
        ([(0, 0), (0, 0), (0, 1), (1, 1)], lambda A, S, d: d**2 @ A @ d),
        ([(0, 0)] * 4, lambda A, S, d: np.sum(d**4)),
    )
}
