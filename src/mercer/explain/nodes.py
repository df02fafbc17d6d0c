"""What a fitted model has learned about trees and graphs: which nodes matter."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from ..data import Data, is_frame
from ..kernels.graphs.base import CountedParts
from ..kernels.graphs.container import pack
from ..kernels.graphs.reading import as_graph
from ..kernels.trees.base import TreeKernel
from .terms import Term, by_column, function_of, look_up
from .trees import NodeWeight, tree_nodes

_KNOWN = (
    "kernels on trees (Subtree, SubsetTree, PartialTree, ElasticTree) or of kernels on graphs that "
    "are sums over nodes (WeisfeilerLehman, WLOptimalAssignment, ShortestPath)"
)


def node_weights(
    model: Any, x: Any, *, output: int = 0, column: Hashable = None
) -> list[NodeWeight]:
    """How much each node of a tree or graph adds to the decision of a model.

    Parameters
    ----------
    model : estimator or RKHSFunction
        A model with a kernel on trees, or a :class:`~mercer.WeisfeilerLehman`,
        :class:`~mercer.WLOptimalAssignment` or :class:`~mercer.ShortestPath` kernel on graphs:
        normalised, multiplied by numbers, on a column of a table, or added to other kernels.
    x : tree, graph, or table of one row
        The tree or graph in any form that the kernel takes, or the row of a table that holds it.
    output : int
        Which function, for models with several: with more than two classes, the index of the pair
        of classes in the order of ``decision_function_shape="ovo"``.
    column : label, optional
        The column of the tree or graph, if the kernel uses several.

    Returns
    -------
    list of NodeWeight
        The nodes of a tree in reading order: the root first, each node before its children; those
        of a graph in their own order. A node of a tree contributes the fragments of which it is the
        root; a node of a graph contributes its colours, or the paths that begin there. The weights
        sum to the decision value minus the intercept, and minus the contributions of kernels that
        do not use this sample.

    Examples
    --------
    >>> from mercer import KernelRidge, SubsetTree, node_weights
    >>> X = ["(S (N dogs) (V bark))", "(S (N cats) (V purr))", "(S (N dogs) (V purr))"]
    >>> model = KernelRidge(0.1, kernel=SubsetTree()).fit(X, [1.0, -1.0, -1.0])
    >>> nodes = node_weights(model, "(S (N cats) (V bark))")
    >>> [(node.label, round(node.weight, 2)) for node in nodes]
    [('S', 0.14), ('N', -0.08), ('cats', 0.0), ('V', 0.54), ('bark', 0.0)]
    >>> round(sum(node.weight for node in nodes), 4)
    0.6059
    >>> model.predict(["(S (N cats) (V bark))"]).round(4)
    array([0.6059])

    In a graph, nodes that look alike weigh the same:

    >>> from mercer import Graph, WeisfeilerLehman
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> ammonia = Graph([(0, 1), (0, 2), (0, 3)], labels=["N", "H", "H", "H"])
    >>> model = KernelRidge(0.1, kernel=WeisfeilerLehman(1)).fit([water, ammonia], [1.0, -1.0])
    >>> [(node.label, round(node.weight, 2)) for node in node_weights(model, water)]
    [('O', 0.31), ('H', 0.34), ('H', 0.34)]
    """
    X = x if is_frame(x) else [x]
    f = function_of(model, output)
    terms = by_column(f, column, TreeKernel | CountedParts, "trees or graphs", _KNOWN)
    samples, _ = terms[0].seen(X)
    if len(samples) != 1:
        raise ValueError(
            f"node_weights: x must be one tree or graph, or one row of a table, got {len(X)}."
        )
    of_tree = isinstance(terms[0].kernel, TreeKernel)
    return (tree_nodes if of_tree else _graph_nodes)(terms, samples[0], X)


def _graph_nodes(terms: list[Term], x: Any, X: Data) -> list[NodeWeight]:
    """The nodes of a graph x, with what terms add to the function at X = [x]."""
    graph = as_graph(x)
    labels = [None] * graph.n_nodes if graph.labels is None else graph.labels.tolist()
    weights = np.zeros(graph.n_nodes)
    for term in terms:
        kernel: Any = term.kernel
        gains = partial(look_up, *term.column_weights(kernel.prepare(term.points)))
        shares = kernel.shares(pack([graph], "node_weights"), gains)
        weights += np.exp(term.seen(X)[1][0]) * shares
    return [NodeWeight(*pair, None) for pair in zip(labels, weights.tolist(), strict=True)]
