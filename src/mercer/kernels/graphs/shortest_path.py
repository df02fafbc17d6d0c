"""The shortest path kernel: pairs of nodes, how far apart they are, and their labels."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ...exceptions import DomainError
from ...mixing import mix
from ...params import one_of
from ..calculus import properties as prop
from ..strings.codes import Part, as_code, from_arrays, tally
from .base import CountedParts, Gains
from .container import Graphs, graphs

_PAIRS = 2_000_000  # of nodes that one compiled call looks at: hundredths of a second
_BITS = 34  # to which lengths of paths are compared: ten digits


@dataclass(eq=False, repr=False)
class ShortestPath(CountedParts):
    r"""The shortest path kernel: how many pairs of nodes are equally far apart in two graphs.

    .. math:: k(x, y) = \sum_{(u, v) \in x} \sum_{(u', v') \in y}
              [d(u, v) = d(u', v')]\, [\ell(u) = \ell(u')]\, [\ell(v) = \ell(v')]

    over ordered pairs of different nodes that a path joins, where d is the length of a shortest one
    and l the label of a node: a pair u, v of an undirected graph counts as (u, v) and as (v, u).
    Features are explicit: the counts of all (label, length, label).

    Parameters
    ----------
    labels : bool
        Whether to compare node labels; otherwise only lengths.
    weighted : bool
        Whether the length of a path is the sum of the weights of its edges, which must be positive,
        instead of their number. Lengths that agree to ten digits are equal.

    Examples
    --------
    >>> from mercer import Graph, ShortestPath
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> hydronium = Graph([(0, 1), (0, 2), (0, 3)], labels=["O", "H", "H", "H"])
    >>> ShortestPath()([water, hydronium])  # O-H, H-O: 2 * 2 + 2 * 2, H-O-H: 2 * 2
    array([[12., 24.],
           [24., 54.]])
    >>> ShortestPath(labels=False)([water, hydronium])
    array([[20., 36.],
           [36., 72.]])

    References
    ----------
    Borgwardt & Kriegel, *Shortest-path kernels on graphs*, ICDM 2005.
    """

    labels: bool = one_of(True, True, False)
    weighted: bool = one_of(False, False, True)
    because = "an inner product of explicit features: the counts of all (label, length, label)"

    def prepare(self, X: Data) -> sp.csr_matrix:
        found = graphs(X, "ShortestPath")
        if self.weighted:
            _check_weights(found)
        return self.counts(found)

    def work(self, X: Graphs) -> np.ndarray:
        return X.size * X.size + X.arcs

    def shares(self, X: Graphs, gains: Gains) -> np.ndarray:
        codes, counts = self._paths(X, 0, int(X.size.sum()))
        node = np.repeat(np.arange(len(counts)), counts)
        return np.bincount(node, weights=gains(codes), minlength=len(counts))

    def tallied(self, X: Graphs, compiled: bool) -> sp.csr_matrix:
        """From some of the nodes at a time."""
        from ...gram.tiles import check_cancelled

        reached = np.cumsum(np.repeat(X.size, X.size), dtype=np.float64)
        cuts = np.flatnonzero(np.diff(reached // _PAIRS)) + 1
        edges = [0, *cuts.tolist(), len(reached)]
        found = []
        for first, stop in pairwise(edges):
            check_cancelled()
            codes, counts = self._paths(X, first, stop)
            part = Part(codes, _by_graph(X, first, counts), X.start, ())
            found.append(tally([part], len(X), compiled=compiled))
        return found[0] if len(found) == 1 else _added(found)

    def _paths(self, X: Graphs, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Columns of the paths from some nodes, one node after the other, and how many each has."""
        graph = np.repeat(np.arange(len(X)), X.size)
        marks = mix(X.flat.labels if self.labels else np.zeros_like(X.flat.labels))
        if self.weighted:
            return self._lengths(X, graph, marks, first, stop)
        from .path_loops import path_states

        begin = np.stack([X.start[graph], (X.start + X.size)[graph]])
        states = np.empty(int(X.size[graph[first:stop]].sum()), np.uint64)
        counts = path_states(first, stop, begin, X.flat.indptr, X.flat.indices, marks, states)
        return as_code(states[: int(counts.sum())]), counts

    def _lengths(
        self, X: Graphs, graph: np.ndarray, marks: np.ndarray, first: int, stop: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The same of paths whose edges have lengths."""
        from scipy.sparse.csgraph import dijkstra

        states, counts = [np.zeros(0, np.uint64)], np.zeros(stop - first, np.int64)
        for g in np.unique(graph[first:stop]).tolist():
            low, high = int(X.start[g]), int(X.start[g] + X.size[g])
            sources = np.arange(max(first, low), min(stop, high)) - low
            lengths = dijkstra(X.shortest(g), indices=sources)
            finite = np.isfinite(lengths)
            finite[np.arange(len(sources)), sources] = False
            u, v = np.nonzero(finite)
            there = _rounded(lengths[u, v]).view(np.uint64)
            seen = marks[low:high]
            states.append(mix(mix(seen[sources[u]] + there) + np.uint64(3) * seen[v]))
            counts[sources + low - first] = finite.sum(axis=1)
        return as_code(np.concatenate(states)), counts

    @property
    def properties(self) -> prop.Properties:
        alike = "graphs without edges all have features 0, whatever their nodes"
        return self._growing("graphs without edges", alike)


def _by_graph(X: Graphs, first: int, counts: np.ndarray) -> np.ndarray:
    """Sums over the nodes of each graph, of numbers for the nodes from ``first`` on."""
    graph = np.repeat(np.arange(len(X)), X.size)[first : first + len(counts)]
    return np.bincount(graph, weights=counts, minlength=len(X)).astype(np.int64)


def _rounded(lengths: np.ndarray) -> np.ndarray:
    """Positive numbers rounded to a number of bits, so that sums in any order are equal."""
    mantissas, exponents = np.frexp(lengths)
    return np.ldexp(np.rint(np.ldexp(mantissas, _BITS)), exponents - _BITS)


def _check_weights(X: Graphs) -> None:
    weights = X.flat.weights
    if not np.all(weights > 0):
        bad = int(np.argmin(weights > 0))
        node = int(np.searchsorted(X.flat.indptr, bad, side="right")) - 1
        graph = int(np.searchsorted(X.start + X.size, node, side="right"))
        raise DomainError(
            f"ShortestPath: weights are lengths of edges and must be positive, but graph {graph} "
            f"has the weight {weights[bad]:g}; use weighted=False, or drop such edges."
        )


def _added(found: list[sp.csr_matrix]) -> sp.csr_matrix:
    """The sum of matrices of the same rows, whose columns are too many to be held at once."""
    n = found[0].shape[0]
    rows = np.concatenate([np.repeat(np.arange(n), np.diff(phi.indptr)) for phi in found])
    order = np.argsort(rows, kind="stable")
    columns = np.concatenate([phi.indices for phi in found])[order]
    values = np.concatenate([phi.data for phi in found])[order]
    ends = np.searchsorted(rows[order], np.arange(n + 1))
    total = from_arrays(values, columns, ends, n)
    total.sum_duplicates()
    return total
