"""Kernels that propagate labels or attributes to neighbours, and count nodes that look alike."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from ...data import Data, Zipped
from ...exceptions import DomainError
from ...features.inverted import products
from ...mixing import mix
from ...params import integer, one_of, positive
from ..base import Tile, Tiled
from ..calculus import properties as prop
from ..strings.codes import Part, as_code, from_arrays, tally
from .base import CountedParts, Gains, GraphKernel
from .container import Graphs, graphs
from .walked import nonnegative, sources

_ALIKE = "a cycle of six nodes and two cycles of three, all with the same label, look the same"


@dataclass(eq=False, repr=False)
class Propagation(CountedParts):
    r"""The propagation kernel: distributions of labels, or attributes, that spread along edges.

    .. math:: k(x, y) = \sum_{t=0}^{T} \#\{(u, v): h_t(p_t(u)) = h_t(p_t(v))\}, \qquad
              p_{t+1}(u) = \sum_w \frac{a_{uw}}{\sum_{w'} a_{uw'}}\, p_t(w)

    over nodes u of x and v of y. At first p_0(u) is the indicator of the label of u, or its
    attributes; with each step a node takes the mean over its neighbours, weighted as the edges are.
    Nodes without outgoing edges keep their values. h_t is a locality-sensitive hash: nearby vectors
    mostly fall into the same bin,

    .. math:: h_t(p) = \lfloor (\langle g_t, s(p) \rangle + b_t) / w \rfloor

    with s(p) = p and Cauchy numbers g_t for the total variation, s(p) = p and normal numbers for
    the Euclidean distance, and s(p) = sqrt(p) and normal numbers for the Hellinger distance. They
    are hashes of the seed, t and the label or the column, so they are the same for all data, and
    the features of a graph do not depend on other graphs.

    Parameters
    ----------
    iterations : int
        T, the number of propagation steps.
    width : float
        w, the width of a bin; small for labels; for attributes, about the size of relevant
        differences.
    metric : {"tv", "hellinger", "l2"}
        The distance for which near vectors fall into the same bin.
    use : {"labels", "attributes", "both"}
        What is propagated. With both, nodes match if they match in either respect.
    seed : int
        The seed of the random numbers.

    Examples
    --------
    >>> from mercer import Graph, Propagation
    >>> path = Graph([(0, 1), (1, 2)], labels=["a", "b", "a"])
    >>> edge = Graph([(0, 1)], labels=["a", "b"])
    >>> Propagation(1)([path, edge])  # both ends of an edge see the label of the other
    array([[10.,  6.],
           [ 6.,  4.]])

    References
    ----------
    Neumann, Garnett, Bauckhage & Kersting, *Propagation kernels: efficient graph kernels from
    propagated information*, Machine Learning 2016.
    """

    iterations: int = integer(5)
    width: float = positive(1e-3, tuned=False)
    metric: str = one_of("tv", "tv", "hellinger", "l2")
    use: str = one_of("labels", "labels", "attributes", "both")
    seed: int = integer(0)
    because = "an inner product of explicit features: the numbers of nodes in all bins"

    def prepare(self, X: Data) -> sp.csr_matrix:
        found = nonnegative(graphs(X, "Propagation"), "Propagation")
        if self.use != "labels":
            if self.metric == "hellinger":
                raise DomainError(
                    'Propagation: metric="hellinger" compares distributions, but attributes are '
                    'not distributions; use "l2" or "tv".'
                )
            if found.flat.attributes is None and found.size.any():
                raise DomainError(
                    f'Propagation: use="{self.use}", but not all nodes have the same number of '
                    "attributes."
                )
        return self.counts(found)

    def work(self, X: Graphs) -> np.ndarray:
        return (self.iterations + 1) * (X.arcs + X.size)

    def tallied(self, X: Graphs, compiled: bool) -> sp.csr_matrix:
        return tally([Part(self._bins(X), X.size, X.start, ())], len(X), compiled=compiled)

    def shares(self, X: Graphs, gains: Gains) -> np.ndarray:
        return gains(self._bins(X)).sum(axis=1)

    def _bins(self, X: Graphs) -> np.ndarray:
        """The bins of all nodes, one column for each step."""
        n = len(X.flat.labels)
        state = np.tile(_step_hashes(self.seed, self.iterations), (n, 1))
        if self.use != "attributes":
            labels, places = np.unique(X.flat.labels, return_inverse=True)
            first = sp.csr_array((np.ones(n), (np.arange(n), places)), shape=(n, len(labels)))
            for t, p in enumerate(self._spread(X, first)):
                state[:, t] = mix(state[:, t] ^ self._bin(p, labels, t))
        if self.use != "labels" and X.flat.attributes is not None:
            columns = np.arange(X.flat.attributes.shape[1], dtype=np.uint64)
            for t, p in enumerate(self._spread(X, X.flat.attributes)):
                state[:, t] = mix(state[:, t] ^ self._bin(p, columns, t))
        return as_code(state)

    def _spread(self, X: Graphs, p: Any) -> Iterator[Any]:
        """p_0, p_1, ..., p_T."""
        yield p
        if self.iterations == 0:
            return
        flat, source = X.flat, sources(X)
        n = len(flat.labels)
        degree = np.bincount(source, weights=flat.weights, minlength=n)
        weights = flat.weights / np.where(degree > 0, degree, 1)[source]
        step = sp.csr_array((weights, flat.indices, flat.indptr), shape=(n, n))
        step = step + sp.diags_array((degree == 0).astype(float), format="csr")
        for _ in range(self.iterations):
            p = step @ p
            yield p

    def _bin(self, p: Any, names: np.ndarray, t: int) -> np.ndarray:
        """h_t as 64 bits, of vectors with one column for each name."""
        step = mix(_step_hashes(self.seed, self.iterations)[t : t + 1])
        uniform = _uniform(mix(names ^ step))
        g = np.tan(np.pi * (uniform - 0.5)) if self.metric == "tv" else ndtri(uniform)
        values = (np.sqrt(p) if self.metric == "hellinger" else p) @ g
        moved = _uniform(mix(~step))
        return (np.floor(values / self.width + moved) + 0.0).view(np.uint64)

    @property
    def properties(self) -> prop.Properties:
        return self._growing("the empty graph", _ALIKE)


def _step_hashes(seed: int, iterations: int) -> np.ndarray:
    """64 bits for each step."""
    steps = np.arange(iterations + 1, dtype=np.uint64)
    return mix(mix(np.uint64(seed % 2**64) + np.zeros(1, np.uint64)) ^ mix(steps))


def _uniform(bits: np.ndarray) -> np.ndarray:
    """Numbers in (0, 1) from 64 bits each."""
    return ((bits >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


@dataclass(eq=False, repr=False)
class NeighborhoodHash(GraphKernel, Tiled):
    r"""The neighbourhood hash kernel: the proportion of hashed neighbourhoods that two graphs have
    in common.

    .. math:: k(x, y) = \frac1R \sum_{r=1}^{R} \frac{c_r}{|x| + |y| - c_r}, \qquad
              c_r = \sum_{l} \min\{\#_l^r(x), \#_l^r(y)\}

    where #_l^r(x) counts the nodes of x with the 64-bit label l after r rounds, and |x| all nodes.
    In each round the label of a node becomes

    .. math:: l'(v) = \mathrm{rot}_1(l(v)) \oplus \bigoplus_{w \in N(v)} l(w)

    by rotations and "exclusive or" of bits. Two neighbours with the same label cancel in that; if
    labels are ``counted``, a label that o neighbours have adds rot_o(l xor o) instead. Nodes
    without labels all have the same; labels of edges, weights and attributes are ignored,
    and directed edges are followed in their direction.

    Parameters
    ----------
    rounds : int
        R, the number of rounds.
    counted : bool
        Whether to distinguish how many neighbours have the same label.

    Examples
    --------
    >>> from mercer import Graph, NeighborhoodHash
    >>> path = Graph([(0, 1), (1, 2)], labels=["a", "b", "a"])
    >>> edge = Graph([(0, 1)], labels=["a", "b"])
    >>> NeighborhoodHash(1)([path, edge])  # one node of either: an a next to a b
    array([[1.  , 0.25],
           [0.25, 1.  ]])

    References
    ----------
    Hido & Kashima, *A linear-time graph kernel*, ICDM 2009.
    """

    rounds: int = integer(3, low=1)
    counted: bool = one_of(False, False, True)
    because = "a mean of kernels min / max of counts, the Jaccard similarity of multisets"

    def prepare(self, X: Data) -> Zipped:
        found = graphs(X, "NeighborhoodHash")
        each = [_at_least(state, found) for state in self._labels(found)]
        return Zipped(found.size.astype(np.float64), *each)

    def _labels(self, X: Graphs) -> Iterator[np.ndarray]:
        flat = X.flat
        state, source = mix(flat.labels), sources(X)
        for _ in range(self.rounds):
            around = state[flat.indices]
            if self.counted:
                around = _times(source, around)
            running = np.zeros(len(around) + 1, np.uint64)
            np.bitwise_xor.accumulate(around, out=running[1:])
            state = _rotated(state, 1) ^ running[flat.indptr[1:]] ^ running[flat.indptr[:-1]]
            yield state

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        same = X is Y
        pairs = zip(X.parts[1:], Y.parts[1:], strict=True)
        common = [products(A, A if same else B) for A, B in pairs]
        left, right = X.parts[0], Y.parts[0]

        def tile(rows: Any, cols: Any) -> np.ndarray:
            sizes = left[rows, None] + right[None, cols]
            out = np.zeros(sizes.shape)
            for block in common:
                c = block(rows, cols)
                out += c / np.where(sizes > 0, sizes - c, 1.0)
            return out / self.rounds

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        return (X.parts[0] > 0).astype(np.float64)

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("a mean of shares, which are at most 1"),
            strictly_pd=prop.no(_ALIKE),
            universal=prop.no(_ALIKE),
            characteristic=prop.no(_ALIKE),
            positive_diag=prop.no("k(x, x) = 0 for the empty graph"),
        )


def _rotated(bits: np.ndarray, by: Any) -> np.ndarray:
    """Bits moved to the left, those that fall out coming in from the right."""
    by = np.asarray(by, np.uint64) % np.uint64(64)
    return (bits << by) | (bits >> ((np.uint64(64) - by) % np.uint64(64)))


def _times(source: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """For each node, its labels once each, rotated by how often they occur; 0 for the others."""
    out = np.zeros_like(labels)
    if not len(labels):
        return out
    order = np.lexsort((labels, source))
    node, label = source[order], labels[order]
    new = np.ones(len(label), bool)
    new[1:] = (node[1:] != node[:-1]) | (label[1:] != label[:-1])
    first = np.flatnonzero(new)
    times = np.diff(first, append=len(label)).astype(np.uint64)
    out[first] = _rotated(label[first] ^ times, times)
    return out


def _at_least(labels: np.ndarray, X: Graphs) -> sp.csr_matrix:
    """Indicators of "a label occurs at least once", "at least twice", ... in a graph.

    Inner products of them are sums of the smaller one of two counts.
    """
    graph = np.repeat(np.arange(len(X)), X.size)
    order = np.lexsort((labels, graph))
    labels, graph, place = labels[order], graph[order], np.arange(len(order))
    new = np.ones(len(order), bool)
    new[1:] = (labels[1:] != labels[:-1]) | (graph[1:] != graph[:-1])
    rank = place - np.maximum.accumulate(np.where(new, place, 0))
    columns = as_code(mix(labels ^ mix(rank.astype(np.uint64))))
    ends = np.concatenate([[0], np.cumsum(X.size)])
    return from_arrays(np.ones(len(columns)), columns, ends, len(X))
