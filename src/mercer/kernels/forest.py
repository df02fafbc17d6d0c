"""Ordered labelled trees, from the forms people hold them in to flat arrays of nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..data import Data, Rows, is_frame
from ..exceptions import DomainError
from ..features.sparse import stable_codes
from .tree_loops import subtree_codes, tuple_codes

_TOKENS = re.compile(r"\(|\)|[^\s()]+")
_MOST_NODES = 1_000_000  # of one tree, so that unfolding a graph ends

Node = tuple[str, list[Any]]  # a label, and the children in the form they were given in
Unfold = Callable[[Any], Node]


class Nodes(NamedTuple):
    """All nodes of all trees, children before parents, one tree after the other.

    ``children[first[v]: first[v] + arity[v]]`` are the children of node v in order, as places in
    its tree. ``by_label`` and ``by_production`` list the nodes of each tree sorted by that code.
    """

    label: np.ndarray
    production: np.ndarray
    complete: np.ndarray
    internal: np.ndarray
    first: np.ndarray
    arity: np.ndarray
    children: np.ndarray
    by_label: np.ndarray
    by_production: np.ndarray


class Forest:
    """Trees as a sequence of samples; parts of it share the arrays of nodes.

    Parameters
    ----------
    nodes : Nodes
        The nodes.
    start, size : arrays
        For each tree its first node and the number of its nodes.
    """

    def __init__(self, nodes: Nodes, start: np.ndarray, size: np.ndarray) -> None:
        self.nodes, self.start, self.size = nodes, start, size

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, rows: Rows) -> Forest:
        return Forest(self.nodes, self.start[rows], self.size[rows])


def forest(X: Data, name: str) -> Forest:
    """Trees in any of the forms that :func:`unfold` knows, as arrays; ``name`` is for errors."""
    if is_frame(X) or sp.issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind != "O"):
        raise DomainError(f"{name} works on a list of trees; pick a column with .on(column).")
    if isinstance(X, str | tuple):
        raise DomainError(f"{name} works on a list of trees, got a single one; wrap it: [x].")
    labels: list[str] = []
    counts: list[int] = []
    children: list[int] = []
    sizes = []
    for place, x in enumerate(X):
        try:
            before = len(labels)
            _walk(x, labels, counts, children)
            sizes.append(len(labels) - before)
        except DomainError as error:
            raise DomainError(f"{name}: sample {place} is no tree: {error}") from None
    if not sizes:
        raise DomainError(f"{name}: X has no samples.")
    distinct, which = np.unique(np.array(labels, dtype=object), return_inverse=True)
    label = stable_codes(distinct.tolist())[which]
    size = np.array(sizes, dtype=np.int64)
    start = np.cumsum(size) - size
    count = np.array(counts, dtype=np.int64)
    first = np.cumsum(count) - count
    below = np.array(children, dtype=np.int64)
    tree = np.repeat(np.arange(len(size)), size)
    origin = np.repeat(start, size)
    production = tuple_codes(label, first, count, below, origin)
    complete, internal = subtree_codes(label, first, count, below, origin)
    orders = [np.lexsort((code, tree)) - origin for code in (label, production)]
    return Forest(
        Nodes(label, production, complete, internal, first, count, below, *orders), start, size
    )


def _walk(x: Any, labels: list[str], counts: list[int], children: list[int]) -> None:
    """Append the nodes of a tree, children first; without recursion, since trees may be deep."""
    origin = len(labels)
    unfold = unfolding(x)
    label, below = unfold(x)
    stack: list[tuple[str, Iterator[Any], list[int]]] = [(label, iter(below), [])]
    while stack:
        label, rest, done = stack[-1]
        child = next(rest, stack)
        if child is not stack:
            label, below = unfold(child)
            stack.append((label, iter(below), []))
            if len(labels) - origin + len(stack) > _MOST_NODES:
                raise DomainError(f"it has more than {_MOST_NODES} nodes, or never ends.")
            continue
        stack.pop()
        if stack:
            stack[-1][2].append(len(labels) - origin)
        labels.append(label)
        counts.append(len(done))
        children += done


def unfolding(x: Any) -> Unfold:
    """The function that takes a node of this kind of tree apart.

    Bracket strings, nested tuples ``(label, child, ...)``, elements of :mod:`xml.etree`, directed
    graphs of networkx with one root, and trees with a method ``label`` (nltk) are known.
    """
    if isinstance(x, str):
        return lambda node: _of_tuple(_read(node) if node is x else node)
    if isinstance(x, tuple):
        return _of_tuple
    if hasattr(x, "tag") and hasattr(x, "attrib"):
        return lambda node: (str(node.tag), list(node))
    if callable(getattr(x, "label", None)):
        return lambda node: (
            (str(node.label()), list(node)) if hasattr(node, "label") else (str(node), [])
        )
    if hasattr(x, "successors") and hasattr(x, "in_degree"):
        return _of_graph(x)
    raise DomainError(
        f"it is a {type(x).__name__}; give a bracket string, nested tuples (label, child, ...), an "
        f"xml element, or a directed networkx graph."
    )


def _of_tuple(node: Any) -> Node:
    if isinstance(node, tuple):
        if not node:
            raise DomainError("a tuple is empty; a node is (label, child, ...).")
        if isinstance(node[0], tuple | list):
            raise DomainError("a label is a tuple or list; a node is (label, child, ...).")
        return str(node[0]), list(node[1:])
    if isinstance(node, list):
        raise DomainError("a node is a list; a node is a tuple (label, child, ...), or a leaf.")
    return str(node), []


def _of_graph(graph: Any) -> Unfold:
    roots = [v for v, degree in graph.in_degree() if degree == 0]
    if len(roots) != 1:
        raise DomainError(f"the graph has {len(roots)} nodes without predecessors, not one root.")

    def unfold(node: Any) -> Node:
        v = roots[0] if node is graph else node
        return str(graph.nodes[v].get("label", v)), list(graph.successors(v))

    return unfold


def _read(text: str) -> Any:
    """Nested tuples from ``(S (NP dogs) (VP bark))``; a string without brackets is one node."""
    tokens = _TOKENS.findall(text)
    if tokens and "(" not in tokens and ")" not in tokens:
        return (" ".join(tokens),)
    stack: list[list[Any]] = [[]]
    for place, token in enumerate(tokens):
        if token == "(":
            stack.append([])
            if place + 1 < len(tokens) and tokens[place + 1] in "()":
                stack[-1].append("")  # a node without a label, as around a whole sentence
        elif token == ")":
            if len(stack) == 1:
                raise DomainError("a bracket is closed that was never opened.")
            done = stack.pop()
            stack[-1].append(tuple(done))
        elif len(stack) == 1:
            raise DomainError(f"{token!r} is outside the brackets.")
        else:
            stack[-1].append(token)
    if len(stack) > 1 or len(stack[0]) != 1:
        problem = "a bracket is never closed" if len(stack) > 1 else "there is not one root"
        raise DomainError(f"{problem}.")
    return stack[0][0]
