"""One graph, as a value: nodes, edges, and what is written on them."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...exceptions import DomainError

_PARTS = ("edges", "labels", "attributes", "edge_labels", "weights")


class Graph:
    """A graph with nodes 0, ..., n - 1, and optional labels, attributes and weights.

    A graph is immutable and owns its arrays. Two graphs are equal if all of these are equal;
    isomorphic graphs need not be equal.

    Parameters
    ----------
    edges : sequence of pairs, or array of shape (m, 2)
        The nodes that each edge joins; from the first to the second, if it is directed. An
        undirected edge that is listed in both directions, as in many files, counts once. Self-loops
        and parallel edges are allowed.
    nodes : int, optional
        The number of nodes; by default that of labels or attributes, or otherwise the largest node
        of an edge plus one. A graph may have nodes without edges, or no nodes at all.
    labels : sequence, optional
        A label for each node: strings, whole numbers, or tuples of them.
    attributes : array of shape (n, d), optional
        Numbers for each node.
    edge_labels : sequence, optional
        A label for each edge.
    weights : sequence of numbers, optional
        A weight for each edge; by default 1.
    directed : bool
        Whether edges are directed.

    Examples
    --------
    >>> from mercer import Graph
    >>> Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    Graph(3 nodes, 2 edges, labels)
    """

    __slots__ = ("_nodes", "directed", *_PARTS)

    _nodes: int
    edges: np.ndarray
    labels: np.ndarray | None
    attributes: np.ndarray | None
    edge_labels: np.ndarray | None
    weights: np.ndarray | None
    directed: bool

    def __init__(
        self,
        edges: Any,
        *,
        nodes: int | None = None,
        labels: Any = None,
        attributes: Any = None,
        edge_labels: Any = None,
        weights: Any = None,
        directed: bool = False,
    ) -> None:
        edges = _pairs(edges)
        labels = None if labels is None else as_labels(labels)
        attributes = None if attributes is None else _vectors(attributes)
        counts = {"labels": labels, "attributes": attributes}
        known = {name: len(part) for name, part in counts.items() if part is not None}
        if nodes is None:
            least = int(edges.max()) + 1 if len(edges) else 0
            nodes = next(iter(known.values()), least)
        if not isinstance(nodes, Integral) or nodes < 0:
            raise DomainError(f"nodes is a number of nodes >= 0 (names are labels), got {nodes!r}.")
        for name, count in known.items():
            if count != nodes:
                raise DomainError(f"there are {count} {name}, but {nodes} nodes.")
        if len(edges) and not (edges.min() >= 0 and edges.max() < nodes):
            bad = edges[(edges < 0) | (edges >= nodes)][0]
            raise DomainError(
                f"an edge refers to the node {bad}, but nodes are 0, ..., {nodes - 1}."
            )
        edge_labels = None if edge_labels is None else as_labels(edge_labels)
        weights = None if weights is None else _numbers(weights)
        for name, part in (("edge_labels", edge_labels), ("weights", weights)):
            if part is not None and len(part) != len(edges):
                raise DomainError(f"there are {len(part)} {name}, but {len(edges)} edges.")
        if not directed and twice(edges, edge_labels, weights):
            once = edges[:, 0] <= edges[:, 1]
            edges = edges[once]
            edge_labels = None if edge_labels is None else edge_labels[once]
            weights = None if weights is None else weights[once]
        self._set(int(nodes), bool(directed), edges, labels, attributes, edge_labels, weights)

    def _set(self, nodes: int, directed: bool, *parts: np.ndarray | None) -> None:
        object.__setattr__(self, "_nodes", nodes)
        object.__setattr__(self, "directed", directed)
        for name, part in zip(_PARTS, parts, strict=True):
            if part is not None:
                part.setflags(write=False)
            object.__setattr__(self, name, part)

    @classmethod
    def _trusted(cls, nodes: int, directed: bool, *parts: np.ndarray | None) -> Graph:
        """A graph of parts that have been checked, in the order of ``__slots__``."""
        graph = object.__new__(cls)
        graph._set(nodes, directed, *parts)
        return graph

    @classmethod
    def _literally(cls, edges: Any, *, directed: bool, **parts: Any) -> Graph:
        """A graph whose edges are what the list holds, also if it holds some in both directions."""
        graph = cls(edges, directed=True, **parts)
        object.__setattr__(graph, "directed", bool(directed))
        return graph

    @classmethod
    def from_adjacency(
        cls, adjacency: Any, *, labels: Any = None, attributes: Any = None, edge_labels: Any = None
    ) -> Graph:
        """The graph of an adjacency matrix, dense or sparse, whose entries are weights of edges.

        Entries that are not 0 are edges (of a sparse matrix, all that are stored). If the matrix is
        not symmetric, they are directed. ``edge_labels`` is a matrix, too.
        """
        A: Any = adjacency.tocoo(copy=True) if sp.issparse(adjacency) else np.asarray(adjacency)
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise DomainError(f"an adjacency matrix must be square, got shape {A.shape}.")
        if A.dtype.kind not in "biuf":
            raise DomainError(f"an adjacency matrix must hold numbers, got {A.dtype}.")
        if sp.issparse(A):
            A.sum_duplicates()
            rows, cols, values = A.row, A.col, A.data
        else:
            rows, cols = np.nonzero(A)
            values = A[rows, cols]
        edges = np.stack([rows, cols], axis=1).astype(np.int64)
        named = None
        if edge_labels is not None:
            table = edge_labels.tocsr() if sp.issparse(edge_labels) else np.asarray(edge_labels)
            if table.shape != A.shape:
                raise DomainError(
                    f"edge labels have shape {table.shape}, but the adjacency "
                    f"matrix has shape {A.shape}."
                )
            named = as_labels(np.asarray(table[rows, cols]).ravel()) if len(rows) else None
        values = _numbers(values)
        simple = None if np.all(values == 1) else values
        loops = rows == cols
        symmetric = bool(np.all(loops)) or twice(edges, named, values)
        return cls(
            edges,
            nodes=A.shape[0],
            labels=labels,
            attributes=attributes,
            edge_labels=named,
            weights=simple,
            directed=not symmetric,
        )

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return self._nodes

    @property
    def n_edges(self) -> int:
        """The number of edges."""
        return len(self.edges)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"graphs are immutable, so {name} cannot be set; make a new one.")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._nodes, self.directed, *(getattr(self, part) for part in _PARTS))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        if (self._nodes, self.directed) != (other._nodes, other.directed):
            return False
        return all(_equal(getattr(self, part), getattr(other, part)) for part in _PARTS)

    def __hash__(self) -> int:
        return hash((self._nodes, self.directed, self.edges.tobytes()))

    def __repr__(self) -> str:
        counts = [(self.n_nodes, "node"), (self.n_edges, "edge")]
        told = [f"{count} {what}{'s' * (count != 1)}" for count, what in counts]
        names = {"labels": "labels", "edge_labels": "edge labels", "weights": "weights"}
        told += [words for name, words in names.items() if getattr(self, name) is not None]
        if self.attributes is not None:
            told.append(f"{self.attributes.shape[1]} attributes")
        return f"Graph({', '.join(told + ['directed'] * self.directed)})"


def _again(nodes: int, directed: bool, *parts: np.ndarray | None) -> Graph:
    return Graph._trusted(nodes, directed, *parts)


def as_labels(labels: Any) -> np.ndarray:
    """Labels as an array: of int64 if all of them are whole numbers, else of objects."""
    if isinstance(labels, np.ndarray) and labels.dtype.kind in "biu" and labels.ndim == 1:
        return labels.astype(np.int64)
    if isinstance(labels, str | bytes) or not isinstance(labels, Sequence | np.ndarray):
        raise DomainError(f"labels must be a list or an array, got a {type(labels).__name__}.")
    listed = labels.tolist() if isinstance(labels, np.ndarray) else labels
    found = [x.item() if isinstance(x, np.generic) else x for x in listed]
    if all(type(x) is int for x in found) and all(-(2**63) <= x < 2**63 for x in found):
        return np.array(found, dtype=np.int64)
    out = np.empty(len(found), dtype=object)
    for place, label in enumerate(found):
        if isinstance(label, list | np.ndarray):
            raise DomainError(
                f"label {place} is a {type(label).__name__}; numeric values of a node are "
                "attributes."
            )
        if label is None or label != label:
            raise DomainError(
                f"label {place} is missing; use a label of its own for missing values."
            )
        out[place] = label
    return out


def twice(edges: np.ndarray, labels: np.ndarray | None, weights: np.ndarray | None) -> bool:
    """Does a list hold every edge in both directions, with the same label and weight?"""
    up, down = edges[:, 0] < edges[:, 1], edges[:, 0] > edges[:, 1]
    if not up.any() or np.count_nonzero(up) != np.count_nonzero(down):
        return False
    there, back = edges[up], edges[down][:, ::-1]
    one, other = (np.lexsort((pairs[:, 1], pairs[:, 0])) for pairs in (there, back))
    if not np.array_equal(there[one], back[other]):
        return False
    marks = [part for part in (labels, weights) if part is not None]
    return all(_equal(part[up][one], part[down][other]) for part in marks)


def _pairs(edges: Any) -> np.ndarray:
    if not isinstance(edges, np.ndarray):
        edges = np.array(list(edges)) if len(edges) else np.zeros((0, 2), np.int64)
    if edges.size == 0:
        return np.zeros((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise DomainError(
            f"edges must be pairs of whole numbers, got an array of {edges.dtype} of shape "
            f"{edges.shape}."
        )
    return edges.astype(np.int64)


def _vectors(attributes: Any) -> np.ndarray:
    found = _numbers(attributes)
    if found.ndim == 1:
        found = found[:, None]
    if found.ndim != 2:
        raise DomainError(f"attributes must be an (n, d) array, got {found.ndim} dimensions.")
    return found


def _numbers(values: Any) -> np.ndarray:
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError("attributes and weights must be numbers.") from None
    if not np.all(np.isfinite(found)):
        raise DomainError("attributes and weights must be finite numbers, not NaN or infinity.")
    return found


def _equal(a: np.ndarray | None, b: np.ndarray | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and bool(np.all(a == b))
