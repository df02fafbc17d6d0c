"""Ordered labelled trees, from the forms people hold them in to flat arrays of nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...data import Data, Prepared, is_frame
from ...exceptions import DomainError
from ...features.sparse import stable_codes
from ..strings.sequences import is_missing
from .loops import node_codes

_TOKENS = re.compile(r"\(|\)|[^\s()]+")
_MOST_NODES = 1_000_000  # of one tree, so that unfolding a graph ends

Node = tuple[str, list[Any]]  # a label, and the children in the form they were given in
Unfold = Callable[[Any], Node]


class Nodes(NamedTuple):
    """All nodes of all trees, children before parents, one tree after the other.

    ``children[first[v]: first[v] + arity[v]]`` are the children of node v in order, as places in
    its tree.
    """

    label: np.ndarray
    production: np.ndarray
    complete: np.ndarray
    internal: np.ndarray
    first: np.ndarray
    arity: np.ndarray
    children: np.ndarray


class Visited(NamedTuple):
    """Nodes as compiled loops visit them: ``order`` lists those of each tree sorted by a code.

    ``codes`` are the codes in this order; the rest is as in :class:`Nodes`.
    """

    label: np.ndarray
    first: np.ndarray
    arity: np.ndarray
    children: np.ndarray
    order: np.ndarray
    codes: np.ndarray


@dataclass(eq=False, repr=False)
class Forest(Prepared):
    """Trees as a sequence of samples; parts of it share the arrays of nodes.

    Parameters
    ----------
    nodes : Nodes
        The nodes.
    by_label, by_production : Visited
        The same nodes, sorted by one of these codes.
    start, size, height : arrays
        For each tree its first node and the number of its nodes, and how many of them wait for
        their parent at most, as nodes come one by one.
    """

    nodes: Nodes
    by_label: Visited
    by_production: Visited
    start: np.ndarray
    size: np.ndarray
    height: np.ndarray

    each = ("start", "size", "height")

    def numbered(self, labels: Sequence[str]) -> Forest:
        """The same trees with the given labels numbered -1, -2, ... for those who visit nodes."""
        codes = stable_codes(labels)
        order = np.argsort(codes)
        at = np.minimum(np.searchsorted(codes[order], self.nodes.label), len(codes) - 1)
        named = codes[order][at] == self.nodes.label
        label = np.where(named, -1 - order[at], self.nodes.label)
        by_label, by_production = (
            visited._replace(label=label) for visited in (self.by_label, self.by_production)
        )
        return replace(self, by_label=by_label, by_production=by_production)


def forest(X: Data, name: str) -> Forest:
    """Trees in any of the forms that :func:`unfold` knows, as arrays; ``name`` is for errors."""
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1:
        X = X[:, 0]
    array = isinstance(X, np.ndarray) and (X.dtype.kind not in "OUT" or X.ndim != 1)
    if is_frame(X) or sp.issparse(X) or array:
        raise DomainError(f"{name} works on a list of trees; select a column with .on(column).")
    if isinstance(X, str | tuple):
        raise DomainError(f"{name} works on a list of trees, got a single one; wrap it: [x].")
    labels: list[str] = []
    counts: list[int] = []
    children: list[int] = []
    sizes = []
    for place, x in enumerate(X.tolist() if isinstance(X, np.ndarray) else X):
        try:
            if is_missing(x):
                raise DomainError(f"it is missing ({x!r}); drop it.")
            before = len(labels)
            _walk(x, labels, counts, children)
            sizes.append(len(labels) - before)
        except DomainError as error:
            raise DomainError(f"{name}: sample {place} is not a tree: {error}") from None
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
    production, complete, internal = node_codes(label, first, count, below, origin)
    nodes = Nodes(label, production, complete, internal, first, count, below)
    orders = [np.lexsort((code, tree)) for code in (label, production)]
    visited = [
        Visited(label, first, count, below, order - origin, code[order])
        for order, code in zip(orders, (label, production), strict=True)
    ]
    return Forest(nodes, visited[0], visited[1], start, size, _heights(count, start))


def _heights(arity: np.ndarray, start: np.ndarray) -> np.ndarray:
    """For each tree, how many nodes wait for their parents at most, as nodes come one by one."""
    waiting = np.concatenate([[0], np.cumsum(1 - arity)[:-1]])
    return np.maximum.reduceat(waiting, start) - waiting[start] + 1


def spelled(x: Any) -> list[tuple[str, list[int]]]:
    """The nodes of a tree as in a :class:`Forest`, children first: labels, places of children."""
    labels: list[str] = []
    counts: list[int] = []
    children: list[int] = []
    _walk(x, labels, counts, children)
    places = iter(children)
    return [
        (label, list(islice(places, count))) for label, count in zip(labels, counts, strict=True)
    ]


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
                raise DomainError(f"it has more than {_MOST_NODES} nodes.")
            continue
        stack.pop()
        if stack:
            stack[-1][2].append(len(labels) - origin)
        labels.append(label)
        counts.append(len(done))
        children += done


def unfolding(x: Any) -> Unfold:
    """The function that takes a node of this kind of tree apart.

    Bracket strings, nested tuples ``(label, child, ...)``, elements and documents of
    :mod:`xml.etree`, directed graphs of networkx with one root, and trees with a method ``label``
    (nltk) are known.
    """
    if isinstance(x, str):
        return lambda node: _of_tuple(_read(node) if node is x else node)
    if isinstance(x, tuple):
        return _of_tuple
    if hasattr(x, "tag") and hasattr(x, "attrib"):
        return _of_element
    if hasattr(x, "getroot"):
        return lambda node: _of_element(x.getroot() if node is x else node)
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


def _of_element(node: Any) -> Node:
    """Comments and processing instructions, whose tag is no text, are left out."""
    return str(node.tag), [child for child in node if isinstance(child.tag, str)]


def _of_graph(graph: Any) -> Unfold:
    roots = [v for v, degree in graph.in_degree() if degree == 0]
    if len(roots) != 1:
        raise DomainError(f"the graph has {len(roots)} nodes without predecessors, not one root.")
    ahead, open_ = list(roots), dict(graph.in_degree())  # edges into a node not yet gone along
    while ahead:
        for w in graph.successors(ahead.pop()):
            open_[w] -= 1
            ahead += [w] if open_[w] == 0 else []
    circling = next((v for v, edges in open_.items() if edges > 0), graph)
    if circling is not graph:
        raise DomainError(f"the graph has a cycle, at or before the node {circling!r}.")

    def unfold(node: Any) -> Node:
        v = roots[0] if node is graph else node
        return str(graph.nodes[v].get("label", v)), list(graph.successors(v))

    return unfold


def _read(text: str) -> Any:
    """Nested tuples from ``(S (NP dogs) (VP bark))``; a single word is a tree of one node."""
    tokens = [(found.group(), found.start()) for found in _TOKENS.finditer(text)]
    if not tokens:
        raise DomainError("the string is empty.")
    if len(tokens) == 1 and tokens[0][0] not in "()":
        return (tokens[0][0],)
    whole: list[Any] = []
    stack, opened = [whole], []
    for (token, place), (following, _) in zip(tokens, [*tokens[1:], ("", 0)], strict=True):
        if whole and token != ")":
            raise _malformed(text, place, f"{token!r} stands after the end of the tree")
        if token == "(":
            stack.append([""] if following in ("(", ")") else [])  # as around a whole sentence
            opened.append(place)
        elif token == ")":
            if not opened:
                raise _malformed(text, place, "a bracket is closed that was never opened")
            opened.pop()
            done = stack.pop()
            stack[-1].append(tuple(done))
        elif not opened:
            raise _malformed(text, place, f"{token!r} is outside the brackets")
        else:
            stack[-1].append(token)
    if opened:
        raise _malformed(text, opened[-1], "a bracket is never closed")
    return whole[0]


def _malformed(text: str, place: int, problem: str) -> DomainError:
    start = max(place - 10, 0)
    excerpt = text[start : place + 20]
    return DomainError(f"{problem}, at position {place} (in {excerpt!r}).")
