"""What kernels on graphs with explicit features share: codes of substructures, counted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ...data import Data
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..strings.codes import Part, from_arrays, tally
from ..vectors.explicit import Explicit
from .container import Graphs, graphs
from .kind import GRAPHS

_MANY = 1_000_000  # codes from which on compiled code pays
_TOGETHER = 100_000  # units of work, such as arcs, of one piece: its arrays stay in cache

Result = TypeVar("Result")
Gains = Callable[[np.ndarray], np.ndarray]  # from columns to what each of them adds


@dataclass(eq=False, repr=False)
class CountedParts(Explicit):
    """Counts of what a graph is made of; prepared samples are the features.

    Samples are :class:`~mercer.Graph`, graphs of networkx or igraph, adjacency matrices, or tuples
    (adjacency matrix or list of edges, labels of nodes, labels of edges), in a list.
    """

    @abstractmethod
    def codes(self, X: Graphs) -> tuple[np.ndarray, np.ndarray]:
        """Columns for what the graphs are made of, one graph after the other, and how many each."""

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

        def count(piece: Graphs) -> sp.csr_matrix:
            codes, counts = self.codes(piece)
            return tally([Part(codes, counts, counts[:0], ())], len(piece), compiled=compiled)

        return stacked_rows(in_pieces(count, X, work))

    @property
    def domain(self) -> Domain:
        return GRAPHS

    def _growing(self, alike: str, empty: str = "the empty graph") -> prop.Properties:
        """The properties of counts, in which two graphs that differ are alike."""
        return self._stated(
            bounded=prop.no("k(x, x) grows with the number of nodes of x"),
            strictly_pd=prop.no(alike),
            universal=prop.no(alike),
            characteristic=prop.no(alike),
            positive_diag=prop.no(f"k(x, x) = 0 for {empty}"),
        )


def in_pieces(job: Callable[[Graphs], Result], X: Graphs, work: np.ndarray) -> list[Result]:
    """The job done on pieces of the graphs, on all cores."""
    from ...gram.tiles import run

    parts = X.pieces(work, _TOGETHER)
    found: list[Any] = [None] * len(parts)

    def one(place: int) -> None:
        found[place] = job(parts[place])

    run(one, range(len(parts)))
    return found


def stacked_rows(found: list[sp.csr_matrix]) -> sp.csr_matrix:
    """Features of the pieces of a data set as those of the whole."""
    if len(found) == 1:
        return found[0]
    ends = [np.zeros(1, np.int64), *(np.diff(phi.indptr) for phi in found)]
    return from_arrays(
        np.concatenate([phi.data for phi in found]),
        np.concatenate([phi.indices for phi in found]),
        np.cumsum(np.concatenate(ends)),
        sum(phi.shape[0] for phi in found),
    )
