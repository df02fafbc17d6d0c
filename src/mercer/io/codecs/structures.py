"""Pairs of functions that write and read trees and graphs of other packages.

Trees may be deep, so nothing here calls itself: nodes stand in one row, each with its number of
children, parents before children.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from .kinds import Node, Reader, Unreadable, Writer, decodes, encodes, needed

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
            raise Unreadable("holds a tree whose nodes have more children than there are.")
        done.append(join(node, [done.pop() for _ in range(count)]))
    if len(done) != 1:
        raise Unreadable("holds a tree that is not whole.")
    return done[0]


# ---- xml -----------------------------------------------------------------------------------
@encodes("xml.Element")
def _element(value: Any, write: Writer, place: str) -> Node:
    """Without comments and processing instructions."""
    row = _in_a_row(value, lambda node: [child for child in node if isinstance(child.tag, str)])
    parts = [[x.tag, dict(x.attrib), x.text, x.tail] for x, _ in row]
    return {"type": "element", "nodes": write(parts, place), "counts": [n for _, n in row]}


@decodes("element")
def _(node: dict, read: Reader) -> Any:
    def join(parts: Any, children: list) -> Any:
        tag, attributes, text, tail = parts
        if not all(isinstance(x, str | None) for x in (tag, text, tail)):
            raise Unreadable("holds an xml element whose tag or text is no string.")
        element = ElementTree.Element(tag, attributes)
        element.text, element.tail = text, tail
        element.extend(children)
        return element

    return _put_together(read(node["nodes"]), node["counts"], join)


@encodes("xml.ElementTree")
def _document(value: Any, write: Writer, place: str) -> Node:
    return {"type": "document", "root": write(value.getroot(), place)}


@decodes("document")
def _(node: dict, read: Reader) -> Any:
    return ElementTree.ElementTree(read(node["root"]))


# ---- nltk ----------------------------------------------------------------------------------
@encodes("nltk.Tree")
def _tree(value: Any, write: Writer, place: str) -> Node:
    row = _in_a_row(value, lambda node: list(node) if hasattr(node, "label") else [])
    labels = [[True, x.label()] if hasattr(x, "label") else [False, x] for x, _ in row]
    return {"type": "nltk", "nodes": write(labels, place), "counts": [n for _, n in row]}


@decodes("nltk")
def _(node: dict, read: Reader) -> Any:
    Tree = needed("nltk", "trees").Tree

    def join(parts: Any, children: list) -> Any:
        inner, label = parts
        return Tree(label, children) if inner else label

    return _put_together(read(node["nodes"]), node["counts"], join)


# ---- networkx ------------------------------------------------------------------------------
@encodes(*(f"networkx.{name}" for name in _GRAPHS))
def _graph(value: Any, write: Writer, place: str) -> Node:
    """Nodes, edges and all that is written on them."""
    directed = {False: "", True: "Di"}[value.is_directed()]
    name = f"Multi{directed}Graph" if value.is_multigraph() else f"{directed}Graph"
    edges = value.edges(data=True, keys=True) if value.is_multigraph() else value.edges(data=True)
    return {
        "type": "graph",
        "class": name,
        "graph": write(dict(value.graph), place),
        "nodes": write([[v, dict(data)] for v, data in value.nodes(data=True)], place),
        "edges": write([list(edge) for edge in edges], place),
    }


@decodes("graph")
def _(node: dict, read: Reader) -> Any:
    if node["class"] not in _GRAPHS:
        raise Unreadable(f"holds a graph of unknown type {node['class']!r}.")
    graph = getattr(needed("networkx", "graphs"), node["class"])()
    graph.graph.update(read(node["graph"]))
    graph.add_nodes_from((v, data) for v, data in read(node["nodes"]))
    edges = read(node["edges"])
    if not all(u in graph and v in graph for u, v, *_ in edges):
        raise Unreadable("holds a graph with an edge to a node that it does not have.")
    graph.add_edges_from(edges)
    return graph
