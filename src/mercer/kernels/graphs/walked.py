"""Graphs as kernels that sum over walks see them: arcs to step along, weights, what must match."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ...data import Data, Rows, take
from ...exceptions import DomainError
from ..base import Kernel
from .container import Graphs, pack
from .graph import Graph
from .reading import read
from .walk_loops import SIZE, START

_LAG = 32  # steps after which the growth of walks is looked at
_NEAR = 0.999  # of the largest radius that walks may have, from where on it is found more exactly
_DENSE = 2000  # nodes up to which a graph has its matrix written out for that


class Walked(NamedTuple):
    """Flat arrays of nodes and arcs, and the graphs that they belong to.

    The nodes of a graph stand in the order of their labels, its arcs by node, then by mark. Loops
    take long to compile if there are many arrays, so numbers of nodes and of graphs share one each.
    """

    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray
    marks: np.ndarray
    labels: np.ndarray
    nodes: (
        np.ndarray
    )  # weights p and q of walks that start and end, dlog q / dtheta, k(v, v)^1/4, u
    graphs: np.ndarray  # first node, number of nodes, do arcs have a direction?
    radius: np.ndarray  # a number r with B u <= r u for the matrix B of :class:`Bounds`

    @property
    def start(self) -> np.ndarray:
        """The first node of each graph."""
        return self.graphs[START]

    @property
    def size(self) -> np.ndarray:
        """The number of nodes of each graph."""
        return self.graphs[SIZE]


class Bounds(NamedTuple):
    """The largest weights that arcs may have in a product of the graph with another one.

    ``base`` is a vector > 0 that they change little.
    """

    indptr: np.ndarray
    indices: np.ndarray
    bounds: np.ndarray
    base: np.ndarray


class Walks:
    """Graphs as a sequence of samples, prepared for walks; parts of it share the flat arrays.

    Parameters
    ----------
    arrays : Walked
        The graphs.
    bounds : Bounds
        What their radii are computed from.
    nodes, edges : data or None
        What the kernels on nodes and on edges compare, prepared: one for each node, and one for
        each mark.
    """

    def __init__(
        self, arrays: Walked, bounds: Bounds, nodes: Data = None, edges: Data = None
    ) -> None:
        self.arrays, self.bounds, self.nodes, self.edges = arrays, bounds, nodes, edges

    def __len__(self) -> int:
        return len(self.arrays.radius)

    def __getitem__(self, rows: Rows) -> Walks:
        A = self.arrays
        chosen = A._replace(graphs=np.ascontiguousarray(A.graphs[:, rows]), radius=A.radius[rows])
        return Walks(chosen, self.bounds, self.nodes, self.edges)

    def of(self, i: int) -> Data:
        """What the kernel on nodes compares, of one graph."""
        first = int(self.arrays.start[i])
        return take(self.nodes, slice(first, first + int(self.arrays.size[i])))


class Rule(NamedTuple):
    """How walks are weighed, for compiled loops."""

    decay: float
    series: bool  # no closed form: the sum is added up
    exponential: bool
    steps: int  # -1 for walks of any length
    turn: float  # dlog decay / dtheta
    even: bool  # walks start and end with the same weights


class Steps(NamedTuple):
    """How walks go on a graph: weights of arcs, and of nodes where walks start and end."""

    weights: np.ndarray
    p: np.ndarray
    q: np.ndarray
    turns: np.ndarray
    base: np.ndarray  # a vector > 0 that steps change little


def checked(X: Data, name: str) -> tuple[list[Graph], Graphs]:
    """Graphs without negative weights; an error otherwise."""
    found = read(X, name)
    return found, nonnegative(pack(found, name), name)


def nonnegative(packed: Graphs, name: str) -> Graphs:
    """The same graphs, whose weights must be none below 0."""
    weights = packed.flat.weights
    if len(weights) and weights.min() < 0:
        node = sources(packed)[int(np.argmin(weights))]
        bad = int(np.searchsorted(packed.start, node, side="right")) - 1
        raise DomainError(f"{name}: graph {bad} has edges of negative weight; all must be >= 0.")
    return packed


def plain_steps(packed: Graphs) -> Steps:
    """Walks that start and end everywhere, with the weight of their edges."""
    n = len(packed.flat.labels)
    return Steps(packed.flat.weights, np.ones(n), np.ones(n), np.zeros(n), np.ones(n))


def sources(packed: Graphs) -> np.ndarray:
    """The node that each arc leaves."""
    return np.repeat(np.arange(len(packed.flat.labels)), np.diff(packed.flat.indptr))


def walked(
    found: list[Graph], packed: Graphs, steps: Steps, node: Any, edge: Any, scale: float, name: str
) -> Walks:
    """Graphs, prepared for walks whose weight decays by scale^2 with every step."""
    flat = packed.flat
    n, m = len(flat.labels), len(flat.indices)
    labels = flat.labels if isinstance(node, str) else np.zeros(n, np.uint64)
    marks = np.zeros(m, np.int64)
    if isinstance(edge, str) and flat.edge_labels is not None:
        marks = flat.edge_labels.astype(np.int64)
    points = ends = None
    roots, tops = np.ones(n), np.ones(m)
    if isinstance(edge, Kernel):
        ends, marks = _of_edges(found, packed, edge, name)
        tops = np.sqrt(_diagonal(edge, ends))[marks]
    graph = np.repeat(np.arange(len(packed)), packed.size)
    order = np.lexsort((labels, graph))
    place = np.empty(n, np.int64)
    place[order] = np.arange(n)
    if isinstance(node, Kernel):
        points = take(node.prepare(of_nodes(found, packed, node, name)), order) if n else None
        roots = _diagonal(node, points) ** 0.25
    source, target = place[sources(packed)], place[flat.indices]
    arcs = np.lexsort((target, marks, source))
    source, target, weights = source[arcs], target[arcs], steps.weights[arcs]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n))]).astype(np.int64)
    bounds = Bounds(
        indptr, target, weights * tops[arcs] * roots[source] * roots[target], steps.base[order]
    )
    u, radius = radii(bounds, packed.start, packed.size, scale)
    nodes = np.stack([*(part[order] for part in (steps.p, steps.q, steps.turns)), roots, u])
    graphs = np.stack([packed.start, packed.size, packed.directed])
    arrays = Walked(indptr, target, weights, marks[arcs], labels[order], nodes, graphs, radius)
    return Walks(arrays, bounds, points, ends)


def radii(
    bounds: Bounds, start: np.ndarray, size: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """For each graph a vector u > 0 and a number r with B u <= r u, so that rho(B) <= r.

    By the largest degree, or by walks of 32 steps, whichever is better. Where 1 / scale has to be
    larger than r, and is not, u = (I - scale B)^-1 base is tried: it is positive if and only if
    rho(B) < 1 / scale.
    """
    n, some = len(bounds.base), np.flatnonzero(size)
    B = sp.csr_array((bounds.bounds, bounds.indices, bounds.indptr), shape=(n, n))
    graph = np.repeat(np.arange(len(size)), size)

    def growth(y: np.ndarray, x: np.ndarray) -> np.ndarray:
        found = np.zeros(len(size))
        if n:
            found[some] = np.maximum.reduceat(y / x, start[some])
        return found

    def better(v: np.ndarray, of: Any) -> None:
        r = growth(B @ v, v)
        found = np.zeros(len(size), bool)
        found[of] = (r < radius)[of]
        radius[found] = r[found]
        u[found[graph]] = v[found[graph]]

    u = bounds.base.copy()
    radius = growth(B @ u, u)
    with np.errstate(all="ignore"):  # what is not finite is no better
        x, pace = u, np.where(radius > 0, radius, 1.0)
        for _ in range(_LAG):
            x = B @ x / pace[graph]
        c = 1.05 * radius * growth(x, bounds.base) ** (1 / _LAG)
        pace = np.where(c > 0, c, 1.0)
        x = total = bounds.base
        for _ in range(_LAG):
            x = B @ x / pace[graph]
            total = total + x
        better(total, c > 0)
        v = np.ones(n)
        near = np.flatnonzero(radius * scale >= _NEAR)
        for g in near:
            at = slice(start[g], start[g] + size[g])
            v[at] = _resolvent(B[at, at], bounds.base[at], scale)
        if len(near):
            better(v, near)
    return u, radius


def _resolvent(B: sp.csr_array, base: np.ndarray, scale: float) -> np.ndarray:
    """(I - scale B)^-1 base if that is positive, else NaN."""
    A = sp.eye_array(len(base), format="csc") - scale * B
    with suppress(np.linalg.LinAlgError), warnings.catch_warnings():
        warnings.simplefilter("ignore", spla.MatrixRankWarning)
        if len(base) <= _DENSE:
            found = np.linalg.solve(A.toarray(), base)
        else:
            found = spla.spsolve(A.tocsc(), base)
        if found.min() > 0:
            return np.asarray(found)
    return np.full(len(base), np.nan)


# ---- what kernels on nodes and edges compare -----------------------------------------------------
def of_nodes(found: list[Graph], packed: Graphs, kernel: Kernel, name: str) -> Data:
    """The attributes of all nodes, or their labels, whichever the kernel is about."""
    if kernel.domain.whole.facts.numeric:
        if packed.flat.attributes is None:
            raise DomainError(
                f"{name}: node is a kernel on attributes, but not all nodes have the same number "
                "of attributes."
            )
        return packed.flat.attributes
    return _labels([g.labels for g in found], packed.size, "nodes", name)


def of_edges(found: list[Graph], kernel: Kernel, name: str) -> Data:
    """The labels of all edges; as numbers, for a kernel on vectors."""
    counts = [g.n_edges for g in found]
    labels = _labels([g.edge_labels for g in found], counts, "edges", name)
    if not kernel.domain.whole.facts.numeric:
        return labels
    try:
        return np.array(labels, dtype=np.float64).reshape(-1, 1)
    except (TypeError, ValueError):
        raise DomainError(
            f"{name}: edge is a kernel on numbers, but not all edge labels are numbers."
        ) from None


def _labels(parts: list, counts: Any, what: str, name: str) -> list:
    for place, (part, count) in enumerate(zip(parts, counts, strict=True)):
        if part is None and count:
            raise DomainError(f"{name}: graph {place} has no labels of {what}, which are compared.")
    return [label for part in parts if part is not None for label in part.tolist()]


def _of_edges(
    found: list[Graph], packed: Graphs, kernel: Kernel, name: str
) -> tuple[Data, np.ndarray]:
    """The different labels of edges, prepared, and for each arc which of them it has."""
    points, codes = of_edges(found, kernel, name), packed.flat.edge_labels
    if codes is None or not len(points):
        return None, np.zeros(len(packed.flat.indices), np.int64)
    labels = [label for g in found if g.edge_labels is not None for label in g.edge_labels.tolist()]
    raw = pack([Graph([], nodes=len(labels), labels=labels)], name).flat.labels
    distinct, first = np.unique(raw, return_index=True)
    return kernel.prepare(take(points, first)), np.searchsorted(distinct, codes)


def _diagonal(kernel: Kernel, points: Data) -> np.ndarray:
    """k(v, v) for all points."""
    return np.maximum(kernel.diag(points), 0) if points is not None else np.zeros(0)
