"""Nested graph kernels: how complex a graph is, seen from its centre, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import integer, one_of, positive
from ..base import Tile, weigh
from ..calculus import properties as prop
from ..overrides import by_tiles
from ..series.alignment import GlobalAlignment
from .base import GraphKernel
from .container import Graphs, graphs
from .nested_loops import trace
from .walked import nonnegative

_OPERATIONS = 3e7  # of one compiled call


class _Arcs(NamedTuple):
    indptr: np.ndarray
    indices: np.ndarray
    weights: np.ndarray


@dataclass(eq=False, repr=False)
class NestedGraph(GraphKernel):
    r"""Nested kernels on graphs: they compare the entropies of growing subgraphs around the centre.

    The **centroid** of a graph is the node whose shortest paths to the others vary least in length:
    the smallest variance of the numbers of edges. Around it, G_l is the subgraph of all nodes at
    most l steps away, l = 1, ..., e, so that G_e is all of the graph that can be reached. The
    **complexity trace** is the sequence of the Shannon entropies of the stationary distribution of
    a random walk on each of these,

    .. math:: h_l = - \sum_{v \in G_l} P_l(v) \log P_l(v), \qquad
              P_l(v) = \frac{d_l(v)}{\sum_{w \in G_l} d_l(w)}

    with degrees d_l in G_l (sums of weights). Two graphs are compared by their traces: by the
    global alignment kernel, normalised, over all ways to stretch one trace to the other
    ("aligned"); or layer by layer with the reproducing kernel of the Sobolev space H^1
    ("reproducing"),

    .. math:: k(x, y) = \frac12 \sum_{l=1}^{m} \exp\Big(-\frac{|h_l(x) - h_l(y)|}{s}\Big),

    where a trace of fewer than m layers is continued with its last entropy.

    Parameters
    ----------
    kind : {"aligned", "reproducing"}
        How traces are compared.
    lengthscale : float
        The difference of entropies (in nats) that counts: s, and that of :class:`GlobalAlignment`.
    layers : int
        The number of layers m of the reproducing kernel.

    Notes
    -----
    Cases that the definition leaves open: in a disconnected graph, the centroid is among the nodes
    that reach most others. Of several centroids, the one with the longest trace is used, then the
    one whose trace is larger where they first differ. Subgraphs without edges, and the graph
    without nodes, have entropy 0. Labels are ignored, loops count once towards degrees, and
    directed graphs are rejected.

    Examples
    --------
    >>> from mercer import Graph, NestedGraph
    >>> star, path = Graph([(0, 1), (0, 2), (0, 3)]), Graph([(0, 1), (1, 2), (2, 3)])
    >>> NestedGraph(lengthscale=0.3)([star, path]).round(4)
    array([[1.    , 0.4399],
           [0.4399, 1.    ]])

    References
    ----------
    Bai, Rossi, Cui & Hancock, *Local-global nested graph kernels using nested complexity traces*,
    Pattern Recognition Letters 2020.
    """

    kind: str = one_of("aligned", "aligned", "reproducing")
    lengthscale: float = positive(1.0)
    layers: int = integer(10, low=1)
    because = "a kernel on series, or on vectors, at the complexity traces of graphs"

    def prepare(self, X: Data) -> Any:
        found = nonnegative(graphs(X, "NestedGraph"), "NestedGraph")
        if found.directed.any():
            place = int(np.argmax(found.directed))
            raise DomainError(
                f"NestedGraph: graph {place} is directed; this kernel needs undirected graphs."
            )
        traces = complexity_traces(found)
        if self.kind == "aligned":
            return self._alignment.prepare(traces)
        out = np.empty((len(traces), self.layers))
        for row, entropies in zip(out, traces, strict=True):
            row[: len(entropies)] = entropies[: self.layers]
            row[len(entropies) :] = entropies[-1]
        return out

    @property
    def _alignment(self) -> GlobalAlignment:
        return GlobalAlignment(self.lengthscale)

    # ---- values --------------------------------------------------------------------------
    def pairwise(self, X: Any, Y: Any) -> np.ndarray:
        if self.kind == "aligned":
            return self._alignment.pairwise(X, Y)
        return by_tiles(self, NestedGraph, X, Y)

    def tiles(self, X: Any, Y: Any) -> Tile:
        if self.kind == "aligned":
            return self._alignment.tiles(X, Y)
        return lambda rows, cols: self._sum(X[rows], Y[cols], sloped=False)

    def diag(self, X: Any) -> np.ndarray:
        if self.kind == "aligned":
            return self._alignment.diag(X)
        return np.full(len(X), 0.5 * self.layers)

    def grad_theta(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        if self.kind == "aligned":
            return self._alignment.grad_theta(X, Y, W)
        return weigh(W, [self._sum(X, Y, sloped=True)])

    def grad_theta_diag(self, X: Any, w: np.ndarray) -> np.ndarray:
        return np.zeros(1)

    def _sum(self, X: np.ndarray, Y: np.ndarray, sloped: bool) -> np.ndarray:
        """k, or dk/dlog(lengthscale)."""
        out = np.zeros((len(X), len(Y)))
        for h, g in zip(X.T, Y.T, strict=True):
            d = np.abs(h[:, None] - g[None, :]) / self.lengthscale
            out += np.exp(-d) * (d if sloped else 1.0)
        return out / 2

    @property
    def properties(self) -> prop.Properties:
        alike = "graphs that differ in their labels only have the same traces"
        same = "k(x, x) is the same for all graphs"
        return self._stated(
            bounded=prop.yes(same),
            strictly_pd=prop.no(alike),
            universal=prop.no(alike),
            characteristic=prop.no(alike),
            positive_diag=prop.yes(same),
        )


def complexity_traces(X: Graphs) -> list[np.ndarray]:
    """The entropies of growing subgraphs around the centroid of each graph."""
    from ...gram.tiles import check_cancelled, run

    arcs = _Arcs(X.flat.indptr, X.flat.indices, X.flat.weights)
    found = [np.zeros(1)] * len(X)

    def one(i: int) -> None:
        first, n, root = int(X.start[i]), int(X.size[i]), 0
        if n == 0:
            return
        out, state = np.empty(n), np.zeros(3, np.int64)
        room = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n), np.empty(n)
        while root < n:
            check_cancelled()
            root = trace(arcs, first, n, root, room, state, out, _OPERATIONS)
        found[i] = out[: state[2]].copy()

    run(one, range(len(X)))
    return found
