"""Graphs in the forms people hold them in, each as a :class:`~mercer.Graph`.

================================  ==================================================================
form                              labels, attributes and weights
================================  ==================================================================
``mercer.Graph``                  its own
networkx graphs of all four       nodes: ``"label"``, and ``"attributes"``, ``"attr"`` or ``"x"``;
classes                           edges: ``"label"``, ``"weight"``
igraph graphs                     the same names
adjacency matrix                  none; entries are weights
``(adjacency, labels)``           of nodes: a list, or None
``(adjacency, labels, edge        of edges: a matrix, or a dict from pairs of nodes
labels)``
``(edges, labels)``               of nodes: a list, a dict from nodes, or a number of nodes
``(edges, labels, edge labels)``  of edges: a list in the same order, or a dict from pairs of nodes
================================  ==================================================================

An adjacency matrix is an array or a sparse matrix, and directed if it is not symmetric; edges are a
list of pairs, or an array of two columns, and have no direction. Either all nodes of a graph have
labels or none, and so have edges; a weight that is not given is 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, is_frame
from ...exceptions import DomainError
from ..strings.sequences import is_missing
from .graph import Graph, as_labels

_ATTRIBUTES = ("attributes", "attr", "x")
_FORMS = (
    "a mercer.Graph, a networkx or igraph graph, an adjacency matrix, or a tuple (adjacency or "
    "list of edges, labels of nodes, labels of edges)"
)


def read(X: Data, name: str) -> list[Graph]:
    """X as a list of graphs; ``name`` is the kernel, for errors."""
    wanted = f"{name} works on a list of graphs"
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    if isinstance(X, Graph) or _is_other(X) or _is_one(X):
        raise DomainError(f"{wanted}, got a single one; wrap it: [x].")
    flat = isinstance(X, np.ndarray) and X.ndim != 3 and (X.dtype != object or X.ndim != 1)
    if is_frame(X) or sp.issparse(X) or flat:
        raise DomainError(
            f"{wanted}; pick a column with .on(column), or wrap one adjacency matrix: [x]."
        )
    if isinstance(X, str | bytes | dict) or not hasattr(X, "__len__"):
        raise DomainError(f"{wanted}, got a {type(X).__name__}.")
    found = []
    for place, x in enumerate(X):
        try:
            found.append(x if isinstance(x, Graph) else as_graph(x))
        except DomainError as error:
            raise DomainError(f"{name}: sample {place} is not a graph: {error}") from None
    if not found:
        raise DomainError(f"{name}: X has no samples.")
    return found


def as_graph(x: Any) -> Graph:
    """One graph in any of the forms above.

    Examples
    --------
    >>> from mercer.kernels.graphs.reading import as_graph
    >>> as_graph(([("O", "H1"), ("O", "H2")], {"O": 8, "H1": 1, "H2": 1}))
    Graph(3 nodes, 2 edges, labels)
    """
    if isinstance(x, Graph):
        return x
    if _is_networkx(x):
        return _of_networkx(x)
    if _is_igraph(x):
        return _of_igraph(x)
    if _is_matrix(x, None):
        return Graph.from_adjacency(x)
    if isinstance(x, tuple) and 1 <= len(x) <= 3:
        return _of_tuple(*x)
    if is_missing(x):
        raise DomainError(f"it is missing ({x!r}); drop it.")
    raise DomainError(f"it is a {type(x).__name__}; give {_FORMS}.")


# ---- tuples ----------------------------------------------------------------------------------
def _of_tuple(structure: Any, labels: Any = None, edge_labels: Any = None) -> Graph:
    count = None
    if isinstance(labels, Integral):
        count, labels = int(labels), None
    elif isinstance(labels, dict):
        count = len(labels)
    elif labels is not None:
        labels = as_labels(labels)
        count = len(labels)
    if _is_matrix(structure, count):
        matrix = structure if sp.issparse(structure) else np.asarray(structure)
        if isinstance(labels, dict):
            labels = [labels.get(v) for v in range(matrix.shape[0])]
        if isinstance(edge_labels, dict):
            edge_labels = _table(edge_labels, matrix)
        return Graph.from_adjacency(matrix, labels=labels, edge_labels=edge_labels)
    if not isinstance(structure, Iterable) or isinstance(structure, str | bytes):
        raise DomainError(
            f"its first entry is a {type(structure).__name__}, not an adjacency matrix or a list "
            f"of edges."
        )
    edges = [tuple(edge) if isinstance(edge, Iterable) else (edge,) for edge in structure]
    if any(len(edge) != 2 for edge in edges):
        raise DomainError(
            "its first entry is not a list of edges, which are pairs of nodes; pass an adjacency "
            "matrix as an array, and edges without labels as the tuple (edges,)."
        )
    if isinstance(labels, dict):
        place = {v: i for i, v in enumerate(labels)}
        strange = next((v for edge in edges for v in edge if v not in place), None)
        if strange is not None:
            raise DomainError(f"an edge refers to the node {strange!r}, which has no label.")
        numbered = [(place[u], place[v]) for u, v in edges]
        labels = list(labels.values())
    else:
        numbered = edges
    if isinstance(edge_labels, dict):
        edge_labels = [_either(edge_labels, u, v) for u, v in edges]
    return Graph(numbered, nodes=count, labels=labels, edge_labels=edge_labels)


def _table(edge_labels: dict, matrix: Any) -> np.ndarray:
    """A matrix of labels from those of pairs of nodes."""
    table = np.full(matrix.shape, None, dtype=object)
    for u, v in zip(*matrix.nonzero(), strict=True):
        table[u, v] = _either(edge_labels, int(u), int(v))
    return table


def _either(edge_labels: dict, u: Any, v: Any) -> Any:
    found = edge_labels.get((u, v), edge_labels.get((v, u)))
    if found is None:
        raise DomainError(f"the edge ({u!r}, {v!r}) has no label.")
    return found


# ---- graphs of other packages ------------------------------------------------------------------
def _of_networkx(graph: Any) -> Graph:
    place = {v: i for i, v in enumerate(graph)}
    ends = [(place[u], place[v]) for u, v, *_ in graph.edges]
    return _marked(
        ends,
        [data for _, data in graph.nodes(data=True)],
        [data for *_, data in graph.edges(data=True)],
        graph.is_directed(),
    )


def _of_igraph(graph: Any) -> Graph:
    return _marked(
        graph.get_edgelist(),
        [v.attributes() for v in graph.vs],
        [e.attributes() for e in graph.es],
        graph.is_directed(),
    )


def _marked(ends: list, nodes: list[dict], edges: list[dict], directed: bool) -> Graph:
    """A graph from dicts of what is written on its nodes and edges."""
    name = next((name for name in _ATTRIBUTES if nodes and nodes[0].get(name) is not None), "")
    weights = [data.get("weight", 1.0) for data in edges]
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    labels = _all_or_none(nodes, "label", lambda i: f"node {i}")
    edge_labels = _all_or_none(edges, "label", lambda i: f"edge {tuple(pairs[i].tolist())}")
    return Graph._literally(
        pairs,
        nodes=len(nodes),
        labels=labels,
        attributes=_all_or_none(nodes, name, lambda i: f"node {i}") if name else None,
        edge_labels=edge_labels,
        weights=None if all(w == 1 for w in weights) else weights,
        directed=directed,
    )


def _all_or_none(marks: list[dict], name: str, who: Callable[[int], str]) -> list | None:
    """What is written under a name on nodes or edges, if anything is."""
    found = [data.get(name) for data in marks]
    missing = [i for i, x in enumerate(found) if x is None]
    if len(missing) == len(found):
        return None
    if missing:
        raise DomainError(f"{who(missing[0])} has no {name!r}, while others have one.")
    return found


# ---- which form --------------------------------------------------------------------------------
def _is_other(x: Any) -> bool:
    return _is_networkx(x) or _is_igraph(x)


def _is_networkx(x: Any) -> bool:
    return hasattr(x, "is_multigraph") and hasattr(x, "adj")


def _is_igraph(x: Any) -> bool:
    return hasattr(x, "get_edgelist") and hasattr(x, "vs")


def _is_matrix(x: Any, count: int | None) -> bool:
    """Is this an adjacency matrix? Of two nodes, or a list of two edges: as many as labels say."""
    if sp.issparse(x):
        return True
    if not isinstance(x, np.ndarray) or x.ndim != 2:
        return False
    return x.shape[0] == x.shape[1] and (x.shape[0] != 2 or count in (None, 2))


def _is_one(X: Any) -> bool:
    """Is this a tuple that describes one graph, where a list of graphs is wanted?"""
    if not isinstance(X, tuple) or not 2 <= len(X) <= 3:
        return False
    structure, labels = X[:2]
    if isinstance(structure, Graph | tuple) or _is_other(structure):
        return False
    if isinstance(labels, list):
        return not any(isinstance(x, Graph) or _is_other(x) for x in labels)
    return labels is None or isinstance(labels, dict | Integral) or getattr(labels, "ndim", 0) == 1
