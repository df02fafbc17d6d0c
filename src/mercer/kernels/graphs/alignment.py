"""The alignment kernel of Weisfeiler-Leman colours: edges of two graphs laid over each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...data import Data
from ...mixing import mix
from ...params import integer
from ..calculus import properties as prop
from ..strings.codes import as_code
from .base import GraphKernel, in_pieces
from .container import Graphs, graphs
from .lists import Lists, add_shared, join
from .refinement import colours


@dataclass(eq=False, repr=False)
class WLAlignment(GraphKernel):
    r"""The graph alignment kernel: edges that two graphs share once nodes of the same colour are
    aligned.

    .. math:: k(x, y) = \sum_{i=0}^{h} \sum_{a, b} \sqrt{\rho_{ab}^i(x)\, \rho_{ab}^i(y)}\,
              \min\{\#_a^i(x), \#_a^i(y)\}\, \min\{\#_b^i(x), \#_b^i(y)\}

    over ordered pairs of colours after i refinements (those of :class:`~mercer.WeisfeilerLehman`),
    where #_a(x) counts the nodes of colour a, and rho_ab(x) is the share of edges among the ordered
    pairs of two nodes of x with colours a and b. Nodes of one colour are interchangeable, so each
    graph is represented by the density of edges between any two colours; the product of minima is
    the number of pairs of nodes that have a partner in the other graph.

    Edges with different labels are counted separately, and so are directed and undirected ones;
    self-loops are left out. Weights and attributes are ignored.

    Parameters
    ----------
    iterations : int
        h, the number of refinements.

    Examples
    --------
    >>> from mercer import Graph, WLAlignment
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> hydronium = Graph([(0, 1), (0, 2), (0, 3)], labels=["O", "H", "H", "H"])
    >>> WLAlignment(0)([water, hydronium])  # O-H and H-O: all of 1 * 2 pairs
    array([[4., 4.],
           [4., 6.]])

    References
    ----------
    Nikolentzos & Vazirgiannis, *Graph alignment kernels using Weisfeiler and Leman hierarchies*,
    AISTATS 2023.
    """

    iterations: int = integer(5)
    because = (
        "a sum of products of kernels: of square roots of densities, an inner product, and of "
        "minima of counts, inner products of the indicators that a count is at least 1, 2, ..."
    )

    def prepare(self, X: Data) -> Lists:
        found = graphs(X, "WLAlignment")
        return join(in_pieces(self._classes, found, (self.iterations + 1) * found.arcs))

    def _classes(self, X: Graphs) -> Lists:
        """Classes of edges of each graph: codes, roots of densities, nodes of the two colours."""
        graph = np.repeat(np.arange(len(X)), X.size)
        sources = np.repeat(np.arange(len(graph)), np.diff(X.flat.indptr))
        arcs = np.flatnonzero(sources != X.flat.indices)
        u, v = sources[arcs], X.flat.indices[arcs]
        ordered = X.directed[graph[u]]
        marks = mix(np.zeros(1, np.uint64))
        if X.flat.edge_labels is not None:
            marks = mix(X.flat.edge_labels[arcs])
        codes, numbers = [], []
        for state in colours(X, self.iterations):
            count = _alike(graph, state)
            swap = ~ordered & (state[u] > state[v])
            one, other = np.where(swap, v, u), np.where(swap, u, v)
            ends = mix(mix(state[one]) + np.uint64(3) * mix(state[other]) + ordered)
            codes.append(as_code(mix(ends ^ marks)))
            a, b = count[one], count[other]
            pairs = a * b - np.where(state[one] == state[other], a, 0)
            numbers.append(np.stack([pairs, a, b], axis=1))
        return _merged(np.tile(graph[u], len(codes)), codes, numbers, len(X))

    def pairwise(self, X: Lists, Y: Lists) -> np.ndarray:
        from .list_loops import add_matches

        out = np.zeros((len(X), len(Y)))
        add_shared(X, Y, add_matches, out)
        return out

    def diag(self, X: Lists) -> np.ndarray:
        s, a, b = X.numbers.T
        return X.sums(s**2 * a * b)

    @property
    def properties(self) -> prop.Properties:
        alike = "graphs without edges all have k(x, y) = 0, whatever their nodes"
        return self._growing("graphs without edges", alike)


def _alike(graph: np.ndarray, state: np.ndarray) -> np.ndarray:
    """For each node, the number of nodes of its graph with the same colour, itself included."""
    order = np.lexsort((state, graph))
    new = np.ones(len(order), bool)
    new[1:] = (state[order][1:] != state[order][:-1]) | (graph[order][1:] != graph[order][:-1])
    run = np.cumsum(new) - 1
    out = np.empty(len(order))
    out[order] = np.bincount(run)[run]
    return out


def _merged(graph: np.ndarray, codes: list, numbers: list, n: int) -> Lists:
    """One entry for all arcs of a graph with the same code: the root of the sum of their shares."""
    code, number = np.concatenate(codes), np.concatenate(numbers)
    order = np.lexsort((code, graph))
    code, graph, number = code[order], graph[order], number[order]
    new = np.ones(len(code), bool)
    new[1:] = (code[1:] != code[:-1]) | (graph[1:] != graph[:-1])
    first = np.flatnonzero(new)
    arcs = np.diff(np.append(first, len(code)))
    number = number[first]
    number[:, 0] = np.sqrt(arcs / number[:, 0])
    size = np.bincount(graph[first], minlength=n)
    return Lists(code[first], number, np.cumsum(size) - size, size)
