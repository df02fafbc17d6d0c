"""How trees of other packages are written to files.

Trees may be deep, so nothing here calls itself: nodes stand in one row, each with its number of
children, parents before children.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...kinds import Stored, needed


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
        raise ValueError("an incomplete tree")
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
            raise ValueError("an xml element whose tag or text is not a string")
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
    Tree = needed("nltk", "trees").Tree

    def join(parts: Any, children: list) -> Any:
        inner, label = parts
        return Tree(label, children) if inner else label

    return _put_together(nodes, counts, join)


STORED = (
    Stored("element", ("xml.Element",), _of_element, _element),
    Stored("document", ("xml.ElementTree",), lambda x: {"root": x.getroot()}, _document),
    Stored("nltk", ("nltk.Tree",), _of_tree, _tree),
)
