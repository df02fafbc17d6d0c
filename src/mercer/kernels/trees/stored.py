"""How trees and graphs of other packages are written to files.

Trees may be deep, so nothing here calls itself: nodes stand in one row, each with its number of
children, parents before children.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...kinds import Stored

_GRAPHS = ("DiGraph", "Graph", "MultiDiGraph", "MultiGraph")


def _in_a_row(root: Any, children: Callable[[Any], list]) -> list[tuple[Any, int]]:
    """All nodes of a tree with their numbers of children."""
    row, ahead = [], [root]
    while ahead:
        node = ahead.pop()
        below = children(node)
        row.append((node, len(below)))
        ahead += reversed(below)
    return row


def _put_together(row: list, counts: list, join: Callable[[Any, list], Any]) -> Any:
    """The tree, from its last node to its first: children are done before their parents."""
    done: list[Any] = []
    for node, count in zip(reversed(row), reversed(counts), strict=True):
        if not 0 <= count <= len(done):
            raise ValueError("a tree whose nodes have more children than there are")
        done.append(join(node, [done.pop() for _ in range(count)]))
    if len(done) != 1:
        raise ValueError("a tree that is not whole")
    return done[0]


# ---- xml -----------------------------------------------------------------------------------
def _of_element(element: Any) -> dict[str, Any]:
    """Without comments and processing instructions."""
    row = _in_a_row(element, lambda node: [child for child in node if isinstance(child.tag, str)])
    parts = [[x.tag, dict(x.attrib), x.text, x.tail] for x, _ in row]
    return {"nodes": parts, "counts": [n for _, n in row]}


def _element(nodes: list, counts: list) -> Any:
    from xml.etree import ElementTree

    def join(parts: Any, children: list) -> Any:
        tag, attributes, text, tail = parts
        if not all(isinstance(x, str | None) for x in (tag, text, tail)):
            raise ValueError("an xml element whose tag or text is no string")
        element = ElementTree.Element(tag, attributes)
        element.text, element.tail = text, tail
        element.extend(children)
        return element

    return _put_together(nodes, counts, join)


def _document(root: Any) -> Any:
    from xml.etree import ElementTree

    return ElementTree.ElementTree(root)


# ---- nltk ----------------------------------------------------------------------------------
def _of_tree(tree: Any) -> dict[str, Any]:
    row = _in_a_row(tree, lambda node: list(node) if hasattr(node, "label") else [])
    labels = [[True, x.label()] if hasattr(x, "label") else [False, x] for x, _ in row]
    return {"nodes": labels, "counts": [n for _, n in row]}


def _tree(nodes: list, counts: list) -> Any:
    Tree = _needed("nltk").Tree

    def join(parts: Any, children: list) -> Any:
        inner, label = parts
        return Tree(label, children) if inner else label

    return _put_together(nodes, counts, join)


# ---- networkx ------------------------------------------------------------------------------
def _of_graph(graph: Any) -> dict[str, Any]:
    """Nodes, edges and all that is written on them."""
    directed = {False: "", True: "Di"}[graph.is_directed()]
    name = f"Multi{directed}Graph" if graph.is_multigraph() else f"{directed}Graph"
    edges = graph.edges(data=True, keys=True) if graph.is_multigraph() else graph.edges(data=True)
    return {
        "class": name,
        "graph": dict(graph.graph),
        "nodes": [[v, dict(data)] for v, data in graph.nodes(data=True)],
        "edges": [list(edge) for edge in edges],
    }


def _graph(graph: dict, nodes: list, edges: list, **names: str) -> Any:
    name = names["class"]
    if name not in _GRAPHS:
        raise ValueError(f"a graph of unknown type {name!r}")
    found = getattr(_needed("networkx"), name)()
    found.graph.update(graph)
    found.add_nodes_from((v, data) for v, data in nodes)
    if not all(u in found and v in found for u, v, *_ in edges):
        raise ValueError("a graph with an edge to a node that it does not have")
    found.add_edges_from(edges)
    return found


def _needed(package: str) -> Any:
    """One of the two packages above, which the program that wrote the file had too."""
    try:
        return import_module(package)
    except ImportError:
        raise ImportError(f"this file holds trees or graphs of {package}: install it.") from None


STORED = (
    Stored("element", ("xml.Element",), _of_element, _element),
    Stored("document", ("xml.ElementTree",), lambda x: {"root": x.getroot()}, _document),
    Stored("nltk", ("nltk.Tree",), _of_tree, _tree),
    Stored("graph", tuple(f"networkx.{name}" for name in _GRAPHS), _of_graph, _graph),
)
