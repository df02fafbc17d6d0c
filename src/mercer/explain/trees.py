"""What a fitted model has learned about trees: which nodes and fragments matter.

A kernel on trees is a sum over pairs of nodes, so f(x) is a sum over the nodes of x. A node
contributes the weights of the fragments of x of which it is the root.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from ..checks import check_count
from ..data import Data
from ..kernels.trees.base import TreeKernel
from ..kernels.trees.forest import spelled
from ..kernels.trees.fragments import SubsetTree, Subtree
from .terms import Term, by_column, function_of

_KNOWN = "kernels on trees (Subtree, SubsetTree, PartialTree, ElasticTree)"

Fragment = tuple[Any, ...]  # a label and children, each a label or a fragment


class NodeWeight(NamedTuple):
    """What one node of a tree or graph adds to the function of a model.

    Attributes
    ----------
    label : str
        The label of the node; of a graph without labels, None.
    weight : float
        What the node adds: in a tree, the fragments of which it is the root.
    parent : int or None
        The place of its parent in the list; None for the root, and in graphs.
    """

    label: Any
    weight: float
    parent: int | None


class FragmentWeight(NamedTuple):
    """What one occurrence of a fragment adds to the function of a model.

    Attributes
    ----------
    text : str
        The fragment as a bracket string.
    weight : float
        What it adds, before normalisation.
    """

    text: str
    weight: float


def fragment_weights(
    model: Any, n: int | None = 20, *, size: int = 3, output: int = 0, column: Hashable = None
) -> list[FragmentWeight]:
    """The fragments of the training trees with the largest weights in a fitted model.

    Parameters
    ----------
    model : estimator or RKHSFunction
        As for :func:`node_weights`, with the kernel :class:`~mercer.SubsetTree` or
        :class:`~mercer.Subtree`, whose fragments can be listed.
    n : int, optional
        How many to return; None for all.
    size : int
        The maximum number of productions (nodes with children) of a fragment: the number of
        fragments grows exponentially with it.
    output, column
        As for :func:`node_weights`.

    Returns
    -------
    list of FragmentWeight
        Sorted by size. The weight is what one more occurrence adds to the decision, for a
        normalised kernel before it is divided by the norm of the features.

    Examples
    --------
    >>> from mercer import KernelRidge, SubsetTree, fragment_weights
    >>> X = ["(S (N dogs) (V bark))", "(S (N cats) (V purr))", "(S (N dogs) (V purr))"]
    >>> model = KernelRidge(0.1, kernel=SubsetTree()).fit(X, [1.0, -1.0, -1.0])
    >>> for text, weight in fragment_weights(model, 3):
    ...     print(f"{weight:5.2f} {text}")
    -0.58 (V purr)
     0.54 (V bark)
    -0.23 (S N (V purr))
    """
    check_count("size", size)
    check_count("n", n, 0, also=(None,))
    f = function_of(model, output)
    found: dict[Fragment, float] = {}
    for term in by_column(f, column, TreeKernel, "trees", _KNOWN):
        for fragment, weight in _fragments(term, size):
            found[fragment] = found.get(fragment, 0.0) + weight
    best = sorted(found, key=lambda fragment: -abs(found[fragment]))[:n]
    return [FragmentWeight(_brackets(fragment), found[fragment]) for fragment in best]


def tree_nodes(terms: list[Term], x: Any, X: Data) -> list[NodeWeight]:
    """The nodes of a tree x, the root first, with what terms add to the function at X = [x]."""
    weights = sum(_gains(term, X) for term in terms)
    nodes = spelled(x)
    out: list[NodeWeight] = []
    ahead: list[tuple[int, int | None]] = [(len(nodes) - 1, None)]
    while ahead:
        place, parent = ahead.pop()
        label, children = nodes[place]
        ahead += [(child, len(out)) for child in reversed(children)]
        out.append(NodeWeight(label, float(weights[place]), parent))
    return out


def _gains(term: Term, X: Data) -> Any:
    trees, scale = term.seen(X)
    kernel: Any = term.kernel
    points, scale = kernel.prepare(term.points), term.scale + scale[0]
    return kernel.gains(kernel.prepare(trees), points, term.coef, scale)


def _fragments(term: Term, size: int) -> Iterator[tuple[Fragment, float]]:
    """Fragments of the trees of a term, with weights that remain to be added up.

    Nodes with the same tree below them have the same fragments, which are listed once.
    """
    kernel = term.kernel
    if not isinstance(kernel, SubsetTree | Subtree):
        raise TypeError(
            f"the fragments of {type(kernel).__name__} are too many to list (those of SubsetTree "
            "and Subtree can be listed); node_weights shows which nodes of a tree matter."
        )
    kinds: dict[tuple[str, tuple[int, ...]], int] = {}
    totals: list[float] = []
    for x, coef in zip(term.points, term.scaled, strict=True):
        here: list[int] = []
        for label, children in spelled(x):
            key = label, tuple(here[child] for child in children)
            here.append(kinds.setdefault(key, len(kinds)))
            totals += [0.0] * (len(kinds) - len(totals))
            totals[here[-1]] += float(coef)
    whole = isinstance(kernel, Subtree)
    known: list[list[tuple[int, Any]]] = []
    for (label, below), total in zip(kinds, totals, strict=True):
        listed = _rooted(label, [known[child] for child in below], size) if below else []
        for productions, fragment in listed:
            yield fragment, total * float(kernel.decay) ** productions
        cut = [] if whole and below else [(0, label)]
        known.append(cut + [choice for choice in listed if choice[0] < size])


def _rooted(
    label: str, choices: list[list[tuple[int, Any]]], size: int
) -> list[tuple[int, Fragment]]:
    """Fragments with a root, and their productions, from the choices for each of its children."""
    listed: list[tuple[int, Fragment]] = [(1, (label,))]
    for choice in choices:
        listed = [
            (productions + more, (*fragment, child))
            for productions, fragment in listed
            for more, child in choice
            if productions + more <= size
        ]
    return listed


def _brackets(fragment: Any) -> str:
    return fragment if isinstance(fragment, str) else f"({' '.join(map(_brackets, fragment))})"
