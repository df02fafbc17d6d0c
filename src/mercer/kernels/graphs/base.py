"""What kernels on graphs with explicit features share: codes of substructures, counted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ..base import Kernel
from ..calculus import properties as prop
from ..strings.codes import stacked
from ..vectors.explicit import Explicit
from .container import Graphs, graphs
from .kind import GRAPHS

_MANY = 1_000_000  # codes from which on compiled code pays
_TOGETHER = 100_000  # units of work, such as arcs, of one piece: its arrays stay in cache

Result = TypeVar("Result")
Gains = Callable[[np.ndarray], np.ndarray]  # from columns to what each of them adds


@dataclass(eq=False, repr=False)
class GraphKernel(Kernel):
    """A kernel on graphs."""

    domain = GRAPHS

    def _growing(self, empty: str, alike: str = "", **facts: Any) -> prop.Properties:
        """The properties of counts: 0 for some graphs and, perhaps, the same for others."""
        if alike:
            facts |= prop.blind(alike)
        return self._stated(
            bounded=prop.no("k(x, x) grows with the size of x"),
            positive_diag=prop.no(f"k(x, x) = 0 for {empty}"),
            **facts,
        )


@dataclass(eq=False, repr=False)
class CountedParts(GraphKernel, Explicit):
    """Counts of the parts of a graph; prepared samples are the features.

    Samples are :class:`~mercer.Graph`, graphs of networkx or igraph, adjacency matrices, or tuples
    (adjacency matrix or list of edges, labels of nodes, labels of edges), in a list.
    """

    @abstractmethod
    def tallied(self, X: Graphs, compiled: bool) -> sp.csr_matrix:
        """The features of stacked graphs; in compiled code, where there are many."""

    @abstractmethod
    def shares(self, X: Graphs, gains: Gains) -> np.ndarray:
        """What each node of stacked graphs adds to a function, from what columns add to it."""

    def work(self, X: Graphs) -> np.ndarray:
        """About how many codes each graph has."""
        return X.arcs + X.size

    def prepare(self, X: Data) -> sp.csr_matrix:
        return self.counts(graphs(X, type(self).__name__))

    def counts(self, X: Graphs) -> sp.csr_matrix:
        """The features of graphs."""
        work = self.work(X)
        compiled = float(work.sum()) > _MANY
        return stacked(in_pieces(lambda piece: self.tallied(piece, compiled), X, work))


def in_pieces(job: Callable[[Graphs], Result], X: Graphs, work: np.ndarray) -> list[Result]:
    """The job done on pieces of the graphs, on all cores."""
    from ...gram.tiles import run

    parts = X.pieces(work, _TOGETHER)
    found: list[Any] = [None] * len(parts)

    def one(place: int) -> None:
        found[place] = job(parts[place])

    run(one, range(len(parts)))
    return found
