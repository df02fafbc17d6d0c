"""The filtration kernel: when the colours of nodes are there, as edges are added to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from ...checks import is_count
from ...data import Data
from ...params import integer, one_of, parameter, positive
from ..base import not_resolved, weigh
from ..calculus import properties as prop
from .base import GraphKernel, in_pieces
from .container import Graphs, graphs
from .lists import Lists, add_shared, join
from .refinement import colour_codes


def _thresholds(value: Any) -> str | None:
    wanted = "a number of levels >= 1, or numbers in descending order"
    if isinstance(value, Integral):
        return None if is_count(value) else wanted
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return wanted
    fine = array.ndim == 1 and array.size > 0 and bool(np.all(np.isfinite(array)))
    return None if fine and bool(np.all(np.diff(array) < 0)) else wanted


@dataclass(eq=False, repr=False)
class GraphFiltration(GraphKernel):
    r"""The graph filtration kernel: the colours of nodes as edges are added in order of their
    weights.

    .. math:: k(x, y) = \sum_{c} m_c(x)\, m_c(y)\, e^{-\gamma W(f_c(x), f_c(y))}

    A graph is considered at several levels: at level l with the edges whose weight is at least the
    threshold alpha_l, at the last level with all edges. For each colour c of
    :class:`~mercer.WeisfeilerLehman`, of depth 0, ..., h, m_c(x) adds up how many nodes of x have
    it at each level, and f_c(x) is the distribution of this number over the levels. W is the
    Wasserstein distance between two of them, where levels are as far apart as their thresholds:
    with the distribution functions F,

    .. math:: W(f, g) = \sum_{l} (\alpha_l - \alpha_{l+1})\, |F_l - G_l|.

    With one level, this is :class:`~mercer.WeisfeilerLehman`.

    Parameters
    ----------
    iterations : int
        h, the number of refinements.
    thresholds : int or sequence of numbers
        alpha_1 > alpha_2 > ...; or the number of levels, for quantiles of the weights of the edges
        of the training data.
    weights : {"degree", "given"}
        How edges are ordered: by the sum of the degrees of their nodes, so that edges in the
        densest parts come first; or by the weights of the graph, 1 if it has none.
    gamma : float
        How quickly the similarity decreases with the distance.

    Examples
    --------
    >>> from mercer import Graph, GraphFiltration
    >>> near = Graph([(0, 1), (1, 2)], weights=[3.0, 1.0])
    >>> far = Graph([(0, 1), (1, 2)], weights=[3.0, 2.0])
    >>> k = GraphFiltration(iterations=1, thresholds=[3.0, 2.0, 1.0], weights="given")
    >>> k([near, far]).round(2)
    array([[122.  , 119.43],
           [119.43, 122.  ]])

    References
    ----------
    Schulz, Welke & Wrobel, *Graph filtration kernels*, AAAI 2022.
    """

    iterations: int = integer(3)
    thresholds: int | Sequence[float] | np.ndarray = parameter(4, check=_thresholds)
    weights: str = one_of("degree", "degree", "given")
    gamma: float = positive(1.0)
    because = (
        "a sum of products of an inner product (of numbers of nodes) and the exponential of a "
        "negative L1 distance (of distribution functions)"
    )

    @property
    def unresolved(self) -> str | None:
        is_count = isinstance(self.thresholds, Integral)
        return f"thresholds={self.thresholds}" if is_count else None

    def resolve(self, X: Data) -> GraphFiltration:
        if not isinstance(self.thresholds, Integral):
            return self
        found = self._weights(graphs(X, "GraphFiltration"))
        levels = int(self.thresholds)
        if not len(found):
            return self.replace(thresholds=[0.0])
        shares = np.arange(levels)[::-1] / levels
        chosen = np.unique(np.quantile(found, shares, method="lower"))[::-1]
        return self.replace(thresholds=chosen.tolist())

    def _weights(self, X: Graphs) -> np.ndarray:
        """The weights by which arcs are sorted."""
        flat = X.flat
        if self.weights == "given":
            return flat.weights
        n = len(flat.labels)
        sources = np.repeat(np.arange(n), np.diff(flat.indptr))
        both = np.repeat(X.directed, X.size)[sources]
        degree = np.diff(flat.indptr) + np.bincount(flat.indices[both], minlength=n)
        return (degree[sources] + degree[flat.indices]).astype(float)

    def prepare(self, X: Data) -> Lists:
        if self.unresolved:
            raise not_resolved(self)
        found = graphs(X, "GraphFiltration")
        levels = len(np.atleast_1d(self.thresholds))
        work = levels * (self.iterations + 1) * (found.arcs + found.size)
        return join(in_pieces(self._histograms, found, work))

    def _histograms(self, X: Graphs) -> Lists:
        """Colours of each graph: numbers of nodes, and distribution functions over the levels."""
        alpha = np.asarray(self.thresholds, dtype=float)
        weights = self._weights(X)
        floors = [*alpha[:-1], -np.inf]
        seen = np.stack(
            [colour_codes(_part(X, weights >= floor), self.iterations).ravel() for floor in floors]
        )
        graph = np.repeat(np.arange(len(X)), X.size * (self.iterations + 1))
        level = np.repeat(np.arange(len(alpha)), len(graph))
        codes, graph = seen.ravel(), np.tile(graph, len(alpha))
        order = np.lexsort((codes, graph))
        codes, graph, level = codes[order], graph[order], level[order]
        new = np.ones(len(codes), bool)
        new[1:] = (codes[1:] != codes[:-1]) | (graph[1:] != graph[:-1])
        first, run = np.flatnonzero(new), np.cumsum(new) - 1
        counts = np.bincount(run * len(alpha) + level, minlength=len(first) * len(alpha))
        counts = counts.reshape(len(first), len(alpha)).astype(float)
        mass = counts.sum(axis=1, keepdims=True)
        steps = np.cumsum(counts, axis=1)[:, :-1] / mass * -np.diff(alpha)
        size = np.bincount(graph[first], minlength=len(X))
        return Lists(codes[first], np.hstack([mass, steps]), np.cumsum(size) - size, size)

    def pairwise(self, X: Lists, Y: Lists) -> np.ndarray:
        return self._block(X, Y, False)

    def _block(self, X: Lists, Y: Lists, sloped: bool) -> np.ndarray:
        from .list_loops import add_decays

        out = np.zeros((len(X), len(Y)))
        add_shared(X, Y, add_decays, out, float(self.gamma), sloped)
        return out

    def diag(self, X: Lists) -> np.ndarray:
        return X.sums(X.numbers[:, 0] ** 2)

    def grad_theta(self, X: Lists, Y: Lists, W: np.ndarray) -> np.ndarray:
        return weigh(W, [self._block(X, Y, True)])

    def grad_theta_diag(self, X: Lists, w: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    @property
    def properties(self) -> prop.Properties:
        return self._growing("the empty graph")


def _part(X: Graphs, kept: np.ndarray) -> Graphs:
    """The same nodes with some of the arcs."""
    flat, at = X.flat, np.flatnonzero(kept)
    indptr = np.concatenate([[0], np.cumsum(kept)])[flat.indptr]
    marks = None if flat.edge_labels is None else flat.edge_labels[at]
    part = flat._replace(
        indptr=indptr, indices=flat.indices[at], weights=flat.weights[at], edge_labels=marks
    )
    return Graphs(part, X.start, X.size, X.directed)
