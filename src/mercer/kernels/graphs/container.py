"""Many graphs as flat arrays: nodes one graph after the other, and the arcs that leave each."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data import Data, Prepared
from ...exceptions import DomainError
from ...features.labels import integer_codes, label_codes
from ..strings.sequences import counted
from .graph import Graph
from .reading import read


class Flat(NamedTuple):
    """All nodes and arcs of all graphs.

    Arcs ``indptr[v]`` to ``indptr[v + 1]`` leave node v, in the order of the nodes ``indices`` that
    they lead to, which are numbered through all graphs. An edge without direction is two arcs, but
    one if it begins and ends at the same node. Edges that join the same nodes with the same label
    are one, whose weight is the sum.

    ``labels`` and ``edge_labels`` are codes that depend on the label only; 0 is that of nodes and
    edges without. ``edge_labels`` is None if no graph has any, and ``attributes`` unless all
    graphs have equally many.
    """

    indptr: np.ndarray  # int64, one more than nodes
    indices: np.ndarray  # int64, by arcs
    weights: np.ndarray  # float64, by arcs
    labels: np.ndarray  # uint64, by nodes
    edge_labels: np.ndarray | None  # uint64, by arcs
    attributes: np.ndarray | None  # float64, nodes x d


@dataclass(eq=False, repr=False)
class Graphs(Prepared):
    """Graphs as a sequence of samples, prepared; parts of it share the flat arrays.

    Parameters
    ----------
    flat : Flat
        Nodes and arcs.
    start, size : int64 arrays
        For each graph its first node and the number of its nodes, which may be 0.
    directed : bool array
        For each graph, do its edges have a direction?
    """

    flat: Flat
    start: np.ndarray
    size: np.ndarray
    directed: np.ndarray

    each = ("start", "size", "directed")

    @property
    def arcs(self) -> np.ndarray:
        """The number of arcs of each graph."""
        return self.flat.indptr[self.start + self.size] - self.flat.indptr[self.start]

    def stacked(self) -> Graphs:
        """The same graphs with arrays of their own nodes only, one graph after the other."""
        size, start = self.size, np.cumsum(self.size) - self.size
        flat, first = self.flat, int(self.start[0]) if len(self) else 0
        if np.array_equal(self.start - first, start):
            nodes: Any = slice(first, first + int(size.sum()))
            low, high = int(flat.indptr[nodes.start]), int(flat.indptr[nodes.stop])
            arcs: Any = slice(low, high)
            indptr = flat.indptr[nodes.start : nodes.stop + 1] - low
            indices = flat.indices[arcs] - first
        else:
            nodes = np.repeat(self.start, size) + counted(size)
            leaving = flat.indptr[nodes + 1] - flat.indptr[nodes]
            arcs = np.repeat(flat.indptr[nodes], leaving) + counted(leaving)
            indptr = np.concatenate([[0], np.cumsum(leaving)])
            indices = flat.indices[arcs] + np.repeat(start - self.start, self.arcs)
        marks, numbers = flat.edge_labels, flat.attributes
        own = Flat(
            indptr,
            indices,
            flat.weights[arcs],
            flat.labels[nodes],
            None if marks is None else marks[arcs],
            None if numbers is None else numbers[nodes],
        )
        return Graphs(own, start, size, self.directed)

    def pieces(self, work: np.ndarray, most: float) -> list[Graphs]:
        """Consecutive graphs, stacked, so that their work adds up to about ``most`` each."""
        if not len(self):
            return []
        before = np.cumsum(work, dtype=np.float64) - work
        cuts = np.flatnonzero(np.diff(before // most)) + 1
        edges = [0, *cuts.tolist(), len(self)]
        return [self[a:b].stacked() for a, b in pairwise(edges)]

    def adjacency(self, i: int) -> sp.csr_array:
        """The weights of the arcs of one graph, as a matrix; of parallel ones, their sum."""
        matrix = self._arcs(i)
        matrix.sum_duplicates()
        return matrix

    def shortest(self, i: int) -> sp.csr_array:
        """The same, of parallel arcs the smallest."""
        matrix = self._arcs(i)
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        order = np.lexsort((matrix.data, matrix.indices, rows))
        keys = rows[order] * matrix.shape[0] + matrix.indices[order]
        first = order[np.flatnonzero(np.diff(keys, prepend=-1))]
        ends = rows[first].astype(np.int32), matrix.indices[first].astype(np.int32)  # for csgraph
        return sp.csr_array((matrix.data[first], ends), shape=matrix.shape)

    def _arcs(self, i: int) -> sp.csr_array:
        low, n = int(self.start[i]), int(self.size[i])
        indptr = self.flat.indptr[low : low + n + 1]
        arcs = slice(int(indptr[0]), int(indptr[-1]))
        parts = self.flat.weights[arcs], self.flat.indices[arcs] - low, indptr - indptr[0]
        return sp.csr_array(parts, shape=(n, n))


def graphs(X: Data, name: str) -> Graphs:
    """Graphs in any of the forms of :mod:`.reading`, as arrays; ``name`` is for errors."""
    return pack(read(X, name), name)


def pack(found: list[Graph], name: str) -> Graphs:
    """A list of graphs as arrays."""
    n = len(found)
    size = np.fromiter((g.n_nodes for g in found), np.int64, n)
    count = np.fromiter((g.n_edges for g in found), np.int64, n)
    directed = np.fromiter((g.directed for g in found), bool, n)
    start = np.cumsum(size) - size
    edges = np.concatenate([g.edges for g in found]) + np.repeat(start, count)[:, None]
    weights = _filled([g.weights for g in found], count, np.ones)
    marks = None
    if any(g.edge_labels is not None for g in found):
        marks = _codes([g.edge_labels for g in found], count, name)
    both = np.flatnonzero(~np.repeat(directed, count) & (edges[:, 0] != edges[:, 1]))
    ends = np.concatenate([edges, edges[both][:, ::-1]])
    weights = np.concatenate([weights, weights[both]])
    marks = None if marks is None else np.concatenate([marks, marks[both]])
    indptr, indices, weights, marks = _sorted(ends, weights, marks, int(size.sum()))
    labels = _codes([g.labels for g in found], size, name)
    attributes = _attributes(found)
    return Graphs(Flat(indptr, indices, weights, labels, marks, attributes), start, size, directed)


def _sorted(
    ends: np.ndarray, weights: np.ndarray, marks: np.ndarray | None, n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Arcs by the nodes that they leave; those that are the same are one, with all the weight."""
    keys = ends[:, 0] * max(n, 1) + ends[:, 1]
    order = np.argsort(keys, kind="stable") if marks is None else np.lexsort((marks, keys))
    keys, weights = keys[order], weights[order]
    marks = None if marks is None else marks[order]
    new = np.ones(len(keys), bool)
    new[1:] = keys[1:] != keys[:-1]
    if marks is not None:
        new[1:] |= marks[1:] != marks[:-1]
    if not new.all():
        first = np.flatnonzero(new)
        keys, weights = keys[first], np.add.reduceat(weights, first)
        marks = None if marks is None else marks[first]
    sources, indices = np.divmod(keys, max(n, 1))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(sources, minlength=n))]).astype(np.int64)
    return indptr, indices, weights, marks


def _filled(parts: list[np.ndarray | None], counts: np.ndarray, default: Any) -> np.ndarray:
    """The parts one after the other, with a default for those that are not there."""
    if all(part is None for part in parts):
        return default(int(counts.sum()))
    pairs = zip(parts, counts.tolist(), strict=True)
    return np.concatenate([default(c) if part is None else part for part, c in pairs])


def _codes(parts: list[np.ndarray | None], counts: np.ndarray, name: str) -> np.ndarray:
    """Codes of labels; 0 where there are none."""
    codes = np.zeros(int(counts.sum()), np.uint64)
    there = np.array([part is not None for part in parts])
    whole = np.array([part is not None and part.dtype != object for part in parts])
    for chosen in (whole, there & ~whole):
        some: list[Any] = [part for part, one in zip(parts, chosen, strict=True) if one]
        if some:
            labels: np.ndarray = np.concatenate(some)
            codes[np.repeat(chosen, counts)] = (
                integer_codes(labels) if labels.dtype != object else _hashed(labels.tolist(), name)
            )
    return codes


def _hashed(labels: list, name: str) -> np.ndarray:
    seen: dict = {}
    try:
        places = np.fromiter((seen.setdefault(x, len(seen)) for x in labels), np.int64, len(labels))
    except TypeError:
        raise DomainError(f"{name}: labels must be hashable: strings, numbers, tuples.") from None
    return label_codes(seen, name)[places]


def _attributes(found: list[Graph]) -> np.ndarray | None:
    """The attributes of all nodes, if all have some, and equally many."""
    parts = [g.attributes for g in found if g.n_nodes or g.attributes is not None]
    widths = {None if part is None else part.shape[1] for part in parts}
    return np.concatenate(parts) if len(widths) == 1 and None not in widths else None  # type: ignore[arg-type]
