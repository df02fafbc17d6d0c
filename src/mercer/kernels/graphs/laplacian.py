"""The multiscale Laplacian kernel: graphs compared by balls around nodes, and balls in these."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from ...data import Data, Prepared, take
from ...engine.memory import require_memory
from ...exceptions import DomainError
from ...params import integer, parameter, positive
from ..base import Kernel
from ..calculus import properties as prop
from ..pairs.base import Paired
from .base import GraphKernel
from .container import Graphs
from .laplacian_loops import across, balls, factorise
from .walked import checked, of_nodes

_OPERATIONS = 3e7  # of one compiled call, about
_ROUNDING = 1e-13  # relative error of determinants
_TOLERATED = 1e-4  # the same of k


def _is_base(value: Any) -> str | None:
    fine = isinstance(value, Kernel) or value in ("labels", "degrees")
    return None if fine else '"labels", "degrees" or a kernel'


class Balls(NamedTuple):
    """Sets of nodes of graphs, with the factors Q and logarithms of the constants c of each.

    ``members[ends[i]: ends[i + 1]]`` are nodes, counted from the first of their graph.
    """

    ends: np.ndarray
    members: np.ndarray
    squares: np.ndarray
    factors: np.ndarray
    constants: np.ndarray


@dataclass(eq=False, repr=False)
class Scales(Prepared):
    """Graphs as a sequence of samples, prepared: their balls of all sizes, the last the graphs.

    Parameters
    ----------
    levels : list of Balls
        One ball around each node for all radii but the last, for which there is one for each graph.
    points : data
        What the kernel on nodes compares, for each node.
    start, size, place : arrays
        For each graph its first node, the number of its nodes, and its place in the last level.
    """

    levels: list[Balls]
    points: Data
    start: np.ndarray
    size: np.ndarray
    place: np.ndarray

    each = ("start", "size", "place")

    def at(self, level: int, i: int) -> tuple[int, int]:
        """Where the balls of a graph begin at a level, and how many they are."""
        if level == len(self.levels) - 1:
            return int(self.place[i]), 1
        return int(self.start[i]), int(self.size[i])

    def widest(self, level: int, i: int) -> int:
        """The number of nodes of its largest ball."""
        first, count = self.at(level, i)
        ends = self.levels[level].ends[first : first + count + 1]
        return int(np.diff(ends).max(initial=0))


@dataclass(eq=False, repr=False)
class MultiscaleLaplacian(GraphKernel, Paired):
    r"""The multiscale Laplacian graph kernel: Gaussians whose covariances are inverse Laplacians.

    Nodes with features phi(v) and the Laplacian L of a graph give the covariance matrix

    .. math:: S = \sum_{u, v} \big[(L + \eta I)^{-1}\big]_{uv}\, \phi(u) \phi(v)^\top + \gamma I

    and two graphs are compared by the Bhattacharyya kernel of the normal distributions with mean 0
    and these covariances,

    .. math:: k(G, G') = \frac{|S|^{1/4}\, |S'|^{1/4}}{\big|\tfrac12 (S + S')\big|^{1/2}},

    the feature space Laplacian kernel. It depends only on inner products of features, that is, on a
    kernel on nodes. On several scales, the same kernel is applied recursively to the subgraphs
    around nodes,

    .. math:: \kappa_l(v, v') = k^{\kappa_{l-1}}\big(N_l(v), N_l(v')\big), \qquad
              k(G, G') = k^{\kappa_h}(G, G'),

    where N_l(v) is the subgraph of all nodes at most l steps from v, and kappa_0 compares nodes
    as they are.

    Parameters
    ----------
    levels : int
        h, the number of ball sizes; 0 compares nodes as they are.
    eta : float
        Added to the Laplacian, which is singular otherwise.
    gamma : float
        Added to covariances; the smaller it is, the more sharply graphs are distinguished.
    node : "labels", "degrees" or Kernel
        kappa_0: 1 for nodes with the same label, or with the same degree (the sum of the weights
        of its edges); or a kernel, on the attributes of nodes if it is one on vectors, else on
        their labels.

    Notes
    -----
    The values are those of the definition: no basis is computed from samples of the data. With B =
    L + eta I + K / (2 gamma) = Q Q' of each ball, |S + S'| comes down to the determinant of a
    matrix I - Z'Z of the size of the smaller ball, Z = Q^-1 K Q'^-T / (2 gamma); Q, and everything
    else that is about one graph, is computed once for each. Graphs must be undirected, without
    negative weights; loops make no difference. A graph without nodes has S = gamma I.

    Rounding errors grow by about 1 / (2 eta gamma) from level to level. Parameters for which they
    would exceed 1e-4 of k are rejected; k is then close to 0 for all graphs that differ anyway.

    Examples
    --------
    >>> from mercer import Graph, MultiscaleLaplacian
    >>> path = Graph([(0, 1), (1, 2)], labels=["a", "b", "a"])
    >>> edge = Graph([(0, 1)], labels=["a", "b"])
    >>> MultiscaleLaplacian(levels=1, eta=0.5, gamma=0.5)([path, edge]).round(4)
    array([[1.    , 0.9835],
           [0.9835, 1.    ]])

    References
    ----------
    Kondor & Pan, *The multiscale Laplacian graph kernel*, NIPS 2016.
    """

    levels: int = integer(2)
    eta: float = positive(0.1, tuned=False)
    gamma: float = positive(0.1, tuned=False)
    node: Any = parameter("labels", check=_is_base)
    because = "the Bhattacharyya kernel of normal distributions, an inner product of square roots"

    def resolve(self, X: Data) -> Self:
        if not isinstance(self.node, Kernel):
            return self
        found, packed = checked(X, "MultiscaleLaplacian")
        points = of_nodes(found, packed, self.node, "MultiscaleLaplacian")
        return replace(self, node=self.node.resolve(points))

    # ---- samples -------------------------------------------------------------------------
    def prepare(self, X: Data) -> Scales:
        from ...gram.tiles import run

        name = "MultiscaleLaplacian"
        found, packed = checked(X, name)
        lost = _ROUNDING * (0.5 / (self.eta * self.gamma)) ** self.levels
        if lost > _TOLERATED:
            raise DomainError(
                f"{name}: eta={self.eta:g} and gamma={self.gamma:g} are too small for "
                f"{self.levels} levels: rounding errors, which grow by 1 / (2 eta gamma) from "
                f"level to level, would be about {lost:.0e} of k; raise eta or gamma."
            )
        if packed.directed.any():
            place = int(np.argmax(packed.directed))
            raise DomainError(
                f"{name}: graph {place} is directed; this kernel needs undirected graphs."
            )
        points: Data = packed.flat.labels
        if isinstance(self.node, Kernel):
            read = of_nodes(found, packed, self.node, name)
            points = self.node.prepare(read) if len(read) else np.zeros(0)
        elif self.node == "degrees":
            points = np.concatenate([_plain(packed, i).sum(axis=1) for i in range(len(packed))])
        levels = [*(self._balls(packed, l) for l in range(1, self.levels + 1)), _whole(packed)]
        every = np.arange(len(packed))
        scales = Scales(levels, points, packed.start, packed.size, every)

        def one(i: int) -> None:
            A, K = _plain(packed, i), self._base(scales, scales, i, i)
            for level, held in enumerate(levels):
                widest = scales.widest(level, i)
                room = np.empty((1, widest, widest))
                factorise(held, *scales.at(level, i), A, K, self.eta, self.gamma, room)
                if level < self.levels:
                    K = self._lifted(scales, scales, i, i, level, K)

        run(one, every)
        return scales

    def _balls(self, X: Graphs, radius: int) -> Balls:
        flat, n = X.flat, len(X.flat.labels)
        ends, members = np.zeros(n + 1, np.int64), np.zeros(0, np.int64)
        for filled in range(2):
            for a, size in zip(X.start.tolist(), X.size.tolist(), strict=True):
                balls(flat.indptr, flat.indices, a, a + size, radius, ends, members)
            if not filled:
                ends = np.cumsum(ends)
                members = np.empty(int(ends[-1]), np.int64)
                if not len(members):
                    break
        return _with_factors(ends, members)

    def _base(self, X: Scales, Y: Scales, i: int, j: int) -> np.ndarray:
        """kappa_0 between the nodes of two graphs."""
        left, right = (
            take(Z.points, slice(int(Z.start[k]), int(Z.start[k] + Z.size[k])))
            for Z, k in ((X, i), (Y, j))
        )
        if isinstance(self.node, Kernel) and len(left) and len(right):
            return np.ascontiguousarray(self.node.pairwise(left, right), dtype=np.float64)
        return (left[:, None] == right[None, :]).astype(np.float64)

    def _lifted(
        self, X: Scales, Y: Scales, i: int, j: int, level: int, K: np.ndarray
    ) -> np.ndarray:
        """The kernel of the balls at a level, from that of the nodes."""
        from ...gram.tiles import check_cancelled

        (a, p), (b, q) = X.at(level, i), Y.at(level, j)
        m, l = X.widest(level, i), Y.widest(level, j)
        out = np.empty((p, q))
        room = np.empty((m, K.shape[1])), np.empty((l, m)), np.empty((min(m, l),) * 2)
        step = max(1, int(_OPERATIONS / (q * m * l * (m + l + 1.0) + m * m * K.shape[1] + 1)))
        for first in range(0, p, step):
            check_cancelled()
            last = min(p, first + step)
            args = X.levels[level], a, Y.levels[level], b, q, first, last, K, self.gamma
            across(*args, room, out)
        return out

    # ---- values --------------------------------------------------------------------------
    def sizes(self, X: Scales) -> np.ndarray:
        """A pair of nodes takes about a thousand operations."""
        return 30.0 * X.size

    def pairs(self, X: Scales, Y: Scales, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = np.empty(len(i))
        for t, (one, other) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
            K = self._base(X, Y, one, other)
            for level in range(self.levels + 1):
                K = self._lifted(X, Y, one, other, level, K)
            out[t] = K[0, 0]
        return out

    def diag(self, X: Scales) -> np.ndarray:
        return np.ones(len(X))

    @property
    def properties(self) -> prop.Properties:
        alike = "a node of label a without edges, and the same with loops, have the same Laplacian"
        return self._stated(
            bounded=prop.yes("k(x, x) = 1"),
            strictly_pd=prop.no(alike),
            universal=prop.no(alike),
            characteristic=prop.no(alike),
            positive_diag=prop.yes("k(x, x) = 1"),
        )


def _plain(X: Graphs, i: int) -> np.ndarray:
    """The adjacency matrix of a graph, without loops."""
    A = X.adjacency(i).toarray()
    np.fill_diagonal(A, 0)
    return A


def _whole(X: Graphs) -> Balls:
    """Graphs as balls of all their nodes."""
    ends = np.concatenate([[0], np.cumsum(X.size)])
    return _with_factors(ends, np.arange(int(ends[-1])) - np.repeat(X.start, X.size))


def _with_factors(ends: np.ndarray, members: np.ndarray) -> Balls:
    """Balls with room for what is computed of them."""
    squares = np.concatenate([[0], np.cumsum(np.diff(ends) ** 2)])
    require_memory(8.0 * squares[-1], "MultiscaleLaplacian: factors of all neighbourhoods")
    return Balls(ends, members, squares, np.empty(int(squares[-1])), np.empty(len(ends) - 1))
