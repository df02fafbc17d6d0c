"""Kernels of Weisfeiler-Leman colours: how many two graphs share, and how well they match."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...mixing import mix
from ...params import integer
from ..calculus import properties as prop
from ..strings.codes import Part, as_code, from_arrays, tally
from ..strings.sequences import counted
from .base import CountedParts, Gains
from .container import Graphs
from .refinement import colour_codes


@dataclass(eq=False, repr=False)
class Coloured(CountedParts):
    """Counts of the colours of nodes after 0, 1, ..., ``iterations`` refinements."""

    iterations: int = integer(5)

    def tallied(self, X: Graphs, compiled: bool) -> sp.csr_matrix:
        part = Part(colour_codes(X, self.iterations), X.size, X.start, ())
        return tally([part], len(X), compiled=compiled)

    def work(self, X: Graphs) -> np.ndarray:
        return (self.iterations + 1) * X.size + X.arcs

    @property
    def properties(self) -> prop.Properties:
        return self._growing(
            "the empty graph",
            "a cycle of six nodes and two cycles of three have the same colours at all depths",
        )


@dataclass(eq=False, repr=False)
class WeisfeilerLehman(Coloured):
    r"""The Weisfeiler-Lehman subtree kernel: the number of pairs of nodes with the same colour.

    .. math:: k(x, y) = \sum_{i=0}^{h} \sum_{c} \#_c^i(x)\, \#_c^i(y)

    where #_c^i(x) counts the nodes of x with colour c after i refinements. A colour is at first the
    label of the node; a refinement replaces it by itself together with the multiset of the colours
    of the neighbours and the labels of the edges to them. So colours of depth i stand for trees of
    walks of length i. For directed edges, in- and out-neighbours are distinguished. Nodes without
    labels all have the same label; weights and attributes are ignored.

    Features are explicit and sparse: the cost is linear in the number of edges, and a linear SVM on
    many graphs never forms K.

    Parameters
    ----------
    iterations : int
        h, the number of refinements; 0 compares labels only.

    Examples
    --------
    >>> from mercer import Graph, WeisfeilerLehman
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> hydronium = Graph([(0, 1), (0, 2), (0, 3)], labels=["O", "H", "H", "H"])
    >>> WeisfeilerLehman(0)([water, hydronium])
    array([[ 5.,  7.],
           [ 7., 10.]])
    >>> WeisfeilerLehman(1)([water, hydronium])  # H next to O: 2 * 3
    array([[10., 13.],
           [13., 20.]])

    References
    ----------
    Shervashidze, Schweitzer, van Leeuwen, Mehlhorn & Borgwardt, *Weisfeiler-Lehman graph kernels*,
    JMLR 2011.
    """

    because = "an inner product of explicit features: the counts of all colours of nodes"

    def shares(self, X: Graphs, gains: Gains) -> np.ndarray:
        return gains(colour_codes(X, self.iterations)).sum(axis=1)


@dataclass(eq=False, repr=False)
class WLOptimalAssignment(Coloured):
    r"""The Weisfeiler-Lehman optimal assignment kernel: how well the nodes of two graphs match.

    .. math:: k(x, y) = \max_{B} \sum_{(u, v) \in B} \sum_{i=0}^{h} [c_i(u) = c_i(v)]
              = \sum_{i=0}^{h} \sum_{c} \min\{\#_c^i(x), \#_c^i(y)\}

    over all one-to-one matchings B of the nodes of the smaller graph with some of the other.
    Colours c_i and their counts are those of :class:`WeisfeilerLehman`; since each colour refines
    those before, the best matching is found colour by colour, which gives the sum on the right.

    A count m is the sum of m indicators "at least 1", "at least 2", ..., and min(m, n) the inner
    product of those of m and n. So features are explicit and sparse here, too.

    Parameters
    ----------
    iterations : int
        h, the number of refinements.

    Examples
    --------
    >>> from mercer import Graph, WLOptimalAssignment
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> hydronium = Graph([(0, 1), (0, 2), (0, 3)], labels=["O", "H", "H", "H"])
    >>> WLOptimalAssignment(1)([water, hydronium])
    array([[6., 5.],
           [5., 8.]])

    References
    ----------
    Kriege, Giscard & Wilson, *On valid optimal assignment kernels and applications to graph
    classification*, NIPS 2016.
    """

    because = "an inner product of explicit features: colour c occurs at least once, twice, ..."

    def counts(self, X: Graphs) -> sp.csr_matrix:
        phi = super().counts(X)
        columns, times = _ranked(phi.indices, phi.data)
        ends = np.concatenate([[0], np.cumsum(times)])[phi.indptr]
        return from_arrays(np.ones(len(columns)), columns, ends, len(X))

    def shares(self, X: Graphs, gains: Gains) -> np.ndarray:
        """Nodes of one colour share what the indicators of their number add."""
        out = np.zeros(len(X.flat.labels))
        for i in range(len(X)):
            own = slice(X.start[i], X.start[i] + X.size[i])
            for codes in colour_codes(X[i : i + 1].stacked(), self.iterations).T:
                distinct, which, times = np.unique(codes, return_inverse=True, return_counts=True)
                columns, _ = _ranked(distinct, times)
                colour = np.repeat(np.arange(len(distinct)), times)
                sums = np.bincount(colour, weights=gains(columns), minlength=len(distinct))
                out[own] += (sums / times)[which]
        return out


def _ranked(codes: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns for "at least once", "at least twice", ... of each code, and how many of them."""
    times = times.astype(np.int64)
    rank = counted(times).astype(np.uint64)
    return as_code(mix(np.repeat(codes, times).astype(np.uint64) ^ mix(rank))), times
