"""The graphlet kernel: how often each small graph occurs in a large one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from math import comb
from typing import Any

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...mixing import mix
from ...params import one_of, parameter
from ..calculus import properties as prop
from ..vectors.explicit import Explicit
from .base import GraphKernel, in_pieces
from .container import Graphs, graphs

_STEPS = 20_000_000  # of one compiled call: about a tenth of a second
_DRAWS = 200_000  # of one compiled call
_MOST = 1e11  # sets that are counted one by one: some minutes


def _samples(value: Any) -> str | None:
    fine = value is None or (type(value) is int and value > 0)
    return None if fine else "None or a positive integer"


@dataclass(eq=False, repr=False)
class Graphlet(GraphKernel, Explicit):
    r"""The graphlet kernel: how often each connected graph of a few nodes occurs in two graphs.

    .. math:: k(x, y) = \sum_{g} \#_g(x)\, \#_g(y)

    over all connected graphs g of ``size`` nodes, up to isomorphism: 2 of three nodes, 6 of four,
    21 of five. #_g(x) counts the sets of nodes of x between which the edges form g (induced
    subgraphs). Labels, weights and directions are ignored. Large graphs contain many more of them
    than small ones: ``normalize()`` compares their proportions.

    Parameters
    ----------
    size : {3, 4, 5}
        The number of nodes.
    samples : int, optional
        Estimate the counts from this many random connected sets of each graph that has more; by
        default all connected sets are counted, which is faster for sparse graphs such as molecules.
        Sets grow from a random edge by random neighbours, and are weighted by their inverse
        probability: the estimates are unbiased, and their errors decrease with the square root of
        the number of samples. The errors are small if all nodes have many neighbours, or equally
        many; a few nodes of high degree among others of low degree need more samples. The draws
        depend only on the graph.

    Examples
    --------
    >>> from mercer import Graph, Graphlet
    >>> square = Graph([(0, 1), (1, 2), (2, 3), (3, 0)])
    >>> triangle = Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    >>> k = Graphlet(3)
    >>> k.features(k.prepare([square, triangle]))  # paths, triangles
    array([[4., 0.],
           [2., 1.]])

    References
    ----------
    Shervashidze, Vishwanathan, Petri, Mehlhorn & Borgwardt, *Efficient graphlet kernels for large
    graph comparison*, AISTATS 2009; Wernicke, *Efficient detection of network motifs*, 2006;
    Kashtan, Itzkovitz, Milo & Alon, *Efficient sampling algorithm for estimating subgraph
    concentrations and detecting network motifs*, 2004.
    """

    size: int = one_of(5, 3, 4, 5)
    samples: int | None = parameter(None, check=_samples)
    because = "an inner product of explicit features: the counts of all connected graphs"

    def prepare(self, X: Data) -> np.ndarray:
        found = graphs(X, "Graphlet")
        drawn = np.zeros(len(found), bool)
        if self.samples is not None:
            sets = [comb(n, self.size) for n in found.size.tolist()]
            drawn = np.array([count > self.samples for count in sets])
        else:
            self._check_degrees(found)
        out = np.zeros((len(found), table_of(self.size)[1]))
        whole = np.flatnonzero(~drawn)
        if len(whole):
            # pieces of a few hundred nodes: the number of sets is not known
            chosen = found[whole]
            parts = in_pieces(self._counted, chosen, 50 * (chosen.size + chosen.arcs))
            out[whole] = np.concatenate(parts)
        for i in np.flatnonzero(drawn).tolist():
            out[i] = self._drawn(found[[i]])
        return out

    def _counted(self, X: Graphs) -> np.ndarray:
        """Counts of all connected sets."""
        from ...gram.tiles import check_cancelled
        from .graphlet_loops import enumerate_sets

        k, (table, columns) = self.size, table_of(self.size)
        X = _both_ways(X)
        out = np.zeros((len(X), columns + 1))
        n = int(X.size.max())
        room = (
            np.zeros(k, np.int64),
            np.zeros((k, max(n, 1)), np.int64),
            np.zeros(k, np.int64),
            np.zeros(k, np.int64),
            np.zeros(n, np.int64),
        )
        state = np.array([0, X.start[0], 0])
        at = k, X.start, X.size, X.flat.indptr, X.flat.indices, table
        while not enumerate_sets(*at, out, state, room, _STEPS):
            check_cancelled()
        return out[:, :-1]

    def _drawn(self, X: Graphs) -> np.ndarray:
        """Estimates for one graph."""
        from ...gram.tiles import check_cancelled
        from .graphlet_loops import draw_sets

        assert self.samples is not None
        table, columns = table_of(self.size)
        n, flat, left = int(X.size[0]), _simple(X.stacked()).flat, self.samples
        if not len(flat.indices):
            return np.zeros(columns)
        total = np.zeros(columns)
        state = mix(np.array([n], np.uint64)) ^ mix(np.array([len(flat.indices)], np.uint64))
        while left:
            check_cancelled()
            draws = min(left, _DRAWS)
            draw_sets(
                self.size, flat.indptr, flat.indices, table, orders_of(self.size), total, state,
                draws,
            )  # fmt: skip
            left -= draws
        return total / self.samples

    def _check_degrees(self, X: Graphs) -> None:
        """Refuse graphs in which one node has more sets of neighbours than can be counted."""
        degrees = np.diff(X.flat.indptr)
        if not len(degrees):
            return
        node = int(np.argmax(degrees))
        sets = comb(int(degrees[node]), self.size - 1)
        if sets > _MOST:
            graph = int(np.searchsorted(X.start + X.size, node, side="right"))
            raise DomainError(
                f"Graphlet: graph {graph} has a node with {degrees[node]} neighbours, so at least "
                f"{sets:.0e} connected sets of {self.size} nodes; give samples, or a smaller size."
            )

    @property
    def properties(self) -> prop.Properties:
        dimension = prop.yes(f"dimension {table_of(self.size)[1]}")
        return self._growing(f"graphs of fewer than {self.size} nodes", finite_dim=dimension)


@lru_cache(maxsize=3)
def table_of(k: int) -> tuple[np.ndarray, int]:
    """The class of each graph of k nodes, and the number of classes of connected ones.

    Bit j (j - 1) / 2 + i of a code says whether i < j are joined. Classes are sorted by edges;
    graphs that are not connected have the last number.
    """
    pairs = [(i, j) for j in range(k) for i in range(j)]
    place = {pair: bit for bit, pair in enumerate(pairs)}
    codes = np.arange(1 << len(pairs))
    least = codes.copy()
    for order in permutations(range(k)):
        moved = np.zeros_like(codes)
        for bit, (i, j) in enumerate(pairs):
            to = place[min(order[i], order[j]), max(order[i], order[j])]
            moved |= (codes >> bit & 1) << to
        np.minimum(least, moved, out=least)
    classes = [c for c in np.unique(least).tolist() if _connected(c, pairs, k)]
    classes.sort(key=lambda c: (c.bit_count(), c))
    table = np.full(len(codes), len(classes), np.int64)
    for number, c in enumerate(classes):
        table[least == c] = number
    return table, len(classes)


@lru_cache(maxsize=3)
def orders_of(k: int) -> np.ndarray:
    """For each class of connected graphs, in how many orders its nodes form connected graphs."""
    table, columns = table_of(k)
    pairs = [(i, j) for j in range(k) for i in range(j)]
    orders = np.zeros(columns)
    for c in range(columns):
        code = int(np.argmax(table == c))
        joined = {pair for bit, pair in enumerate(pairs) if code >> bit & 1}
        joined |= {(j, i) for i, j in joined}
        for order in permutations(range(k)):
            grows = (any((u, v) in joined for u in order[:d]) for d, v in enumerate(order) if d)
            orders[c] += all(grows)
    return orders


def _connected(code: int, pairs: list[tuple[int, int]], k: int) -> bool:
    group = list(range(k))
    for bit, (i, j) in enumerate(pairs):
        if code >> bit & 1:
            group = [group[i] if g == group[j] else g for g in group]
    return len(set(group)) == 1


def _both_ways(X: Graphs) -> Graphs:
    """Stacked graphs without directions."""
    X = X.stacked()
    return _simple(X) if X.directed.any() else X


def _simple(X: Graphs) -> Graphs:
    """Stacked graphs without directions, with no more than one edge between any two nodes."""
    n = len(X.flat.labels)
    sources = np.repeat(np.arange(n), np.diff(X.flat.indptr))
    keys = [sources * n + X.flat.indices, X.flat.indices * n + sources]
    sources, indices = np.divmod(np.unique(np.concatenate(keys)), max(n, 1))
    sources, indices = sources[sources != indices], indices[sources != indices]
    indptr = np.searchsorted(sources, np.arange(n + 1))
    flat = X.flat._replace(indptr=indptr, indices=indices, weights=np.ones(len(indices)))
    return Graphs(flat._replace(edge_labels=None), X.start, X.size, np.zeros_like(X.directed))
