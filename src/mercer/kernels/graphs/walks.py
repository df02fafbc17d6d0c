"""The random walk kernel: all walks that two graphs have in common.

Without labels it is an inner product: of the numbers of walks of each length. These are features,
and kernel matrices come from products of them. With labels, or kernels on nodes and edges, it is a
sum over walks on the product of two graphs, pair by pair.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp

from ...data import Data, take
from ...engine.memory import require_memory
from ...exceptions import DomainError
from ...features.inverted import products
from ...params import integer, one_of, parameter, positive
from ..base import Kernel, Tile, no_gradient
from ..calculus import properties as prop
from ..pairs.base import Paired
from .base import GraphKernel
from .graph import Graph
from .walk_counts import walk_counts, width
from .walk_loops import ONE_WAY, pairs
from .walked import Rule, Steps, Walks, checked, of_edges, of_nodes, plain_steps, walked

_OPERATIONS = 5e7  # of one compiled call


def matched(value: Any) -> str | None:
    """What a kernel on nodes or edges must be; None if this is one."""
    fine = value is None or value == "labels" if not isinstance(value, Kernel) else True
    return None if fine else 'None, "labels" or a kernel'


@dataclass(eq=False, repr=False)
class WalkKernel(GraphKernel, Paired):
    """What kernels that sum over walks on two graphs at once share."""

    if TYPE_CHECKING:  # fields, which come after those of the kernels themselves
        node: Any
        edge: Any

    @abstractmethod
    def rule(self) -> Rule:
        """How walks are weighed."""

    def resolve(self, X: Data) -> Self:
        changes: dict[str, Any] = {}
        if isinstance(self.node, Kernel) or isinstance(self.edge, Kernel):
            name = type(self).__name__
            found, packed = checked(X, name)
            if isinstance(self.node, Kernel):
                changes["node"] = self.node.resolve(of_nodes(found, packed, self.node, name))
            if isinstance(self.edge, Kernel):
                changes["edge"] = self.edge.resolve(of_edges(found, self.edge, name))
        return replace(self, **changes) if changes else self

    def _walks(self, found: list[Graph], packed: Any, steps: Steps) -> Walks:
        """Graphs prepared for walks; each has to have a finite k(x, x)."""
        rule, name = self.rule(), type(self).__name__
        fading = not rule.exponential and rule.steps < 0
        scale = np.sqrt(rule.decay) if fading else 0.0
        walks = walked(found, packed, steps, self.node, self.edge, scale, name)
        if fading and len(walks) and not scale * walks.arrays.radius.max() < 1:
            raise self._endless(int(np.argmax(walks.arrays.radius)), walks)
        return walks

    @abstractmethod
    def _endless(self, place: int, walks: Walks) -> DomainError:
        """The error for a graph on which the walks of all lengths have no finite sum."""

    # ---- pairs ---------------------------------------------------------------------------
    def sizes(self, X: Walks) -> np.ndarray:
        return X.arrays.size

    def pairs(self, X: Walks, Y: Walks, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._solved(X, Y, i, j)

    def slopes(self, X: Walks, Y: Walks, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        slopes = np.zeros(len(i))
        self._solved(X, Y, i, j, slopes)
        return slopes

    def grad_theta(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        if len(self.theta) > 1:  # those of kernels on nodes and edges are not written down
            raise no_gradient(self)
        return super().grad_theta(X, Y, W)

    def _solved(
        self, X: Walks, Y: Walks, i: np.ndarray, j: np.ndarray, slopes: np.ndarray | None = None
    ) -> np.ndarray:
        """Values of pairs; slopes, too, if there is room for them."""
        from ...gram.tiles import check_cancelled

        A, B = X.arrays, Y.arrays
        out, cells = np.zeros(len(i)), A.size[i] * B.size[j]
        if not len(i):
            return out
        widest, largest = int(B.size[j].max(initial=0)), int(A.size[i].max(initial=0))
        width = max(int(cells.max()), widest, 1)
        require_memory(80.0 * width, f"{type(self).__name__}: walks on two graphs of {width} pairs")
        places = np.cumsum(cells) - cells
        values = self._values(X, Y, i, j, places, int(cells.sum()))
        table = np.empty((0, 0))
        if isinstance(self.edge, Kernel) and X.edges is not None and Y.edges is not None:
            table = self.edge.pairwise(X.edges, Y.edges).astype(np.float64, copy=False)
        state, scalars = np.zeros(5, np.int64), np.zeros(4)
        ranges, V = np.zeros((3, largest + 1), np.int64), np.empty((10, width))
        rule, directed = self.rule(), A.graphs[ONE_WAY].any() or B.graphs[ONE_WAY].any()
        series = True if rule.series or directed or len(values) else None
        args = (A, B, i, j, values, places, table, rule, state, ranges, V, scalars)
        while not pairs(series, slopes, *args, out, _OPERATIONS):
            check_cancelled()
        if not np.all(np.isfinite(out)):
            t = int(np.argmin(np.isfinite(out)))
            raise DomainError(
                f"{type(self).__name__}: the sum over walks on two graphs of {A.size[i[t]]} and "
                f"{B.size[j[t]]} nodes exceeds 1e300, or does not converge; lower decay."
            )
        return out

    def _values(
        self, X: Walks, Y: Walks, i: np.ndarray, j: np.ndarray, places: np.ndarray, total: int
    ) -> np.ndarray:
        """The kernel on nodes, for all pairs of nodes of these pairs of graphs; empty if none."""
        if not isinstance(self.node, Kernel) or X.nodes is None or Y.nodes is None:
            return np.empty(0)
        values, A, B = np.empty(total), X.arrays, Y.arrays
        starts = np.flatnonzero(np.diff(i, prepend=-1))
        for first, last in zip(starts, [*starts[1:], len(i)], strict=True):
            rows = B.start[j[first:last]], B.size[j[first:last]]
            cols = np.concatenate([np.arange(a, a + n) for a, n in zip(*rows, strict=True)])
            if not (len(cols) and A.size[i[first]]):
                continue
            block = self.node.pairwise(X.of(i[first]), take(Y.nodes, cols))
            ends = np.cumsum(rows[1])
            for t, part in zip(range(first, last), np.split(block, ends[:-1], axis=1), strict=True):
                values[places[t] : places[t] + part.size] = part.ravel()
        return values


ALIKE = (
    "a cycle of six nodes and two cycles of three, with the same marks on all nodes and edges, "
    "have the same walks"
)


@dataclass(eq=False, repr=False)
class RandomWalk(WalkKernel):
    r"""The random walk kernel on graphs: all walks, of any length, that two graphs share.

    .. math:: k(G, G') = \sum_{l=0}^{\infty} c_l \sum_{v_0 .. v_l} \sum_{v'_0 .. v'_l}
              \prod_{t=0}^{l} \kappa(v_t, v'_t)
              \prod_{t=1}^{l} w(e_t)\, w'(e'_t)\, \kappa_e(e_t, e'_t)

    over walks along edges of G and of G' at the same time, with c_l = decay^l (geometric) or
    decay^l / l! (exponential). Walks start and end at all nodes, each with the weight 1: with the
    adjacency matrix W of the product graph, k = 1'(I - decay W)^-1 1 or 1' exp(decay W) 1. Pairs of
    nodes that do not match are not nodes of the product, and no walk starts there.

    Parameters
    ----------
    decay : float
        The weight of a step. The geometric sum is finite only if decay rho(G)^2 < 1, where rho is
        the spectral radius of the adjacency matrix (the degree, if all are the same): graphs for
        which it is not are rejected, whatever they are compared with. (Without labels, those for
        which decay rho(G)^2 is above 0.99, too.)
    kind : {"geometric", "exponential"}
        Weights of lengths. The exponential sum is finite for all graphs.
    node : None, "labels" or Kernel
        Which nodes match: all; those with the same label (nodes without labels all match); or
        partially, by the values of a kernel, on node attributes if it is a vector kernel, otherwise
        on node labels.
    edge : None, "labels" or Kernel
        The same for edges and their labels, which must be numbers for a vector kernel.
    steps : int, optional
        The maximum number of steps of a walk.

    Notes
    -----
    Undirected edges are walked both ways, loops count once, and weights are multiplied. A graph
    without nodes has k = 0; without edges, walks have no steps, and k counts pairs of matching
    nodes.

    Without labels 1'W^l 1 is a product of two numbers, one for each graph: sums of powers of the
    adjacency matrices, computed until the rest is below 1e-16 of the whole. Otherwise the system
    is solved for each pair of graphs by conjugate gradients, whose residual bounds the error of k
    by 1e-15 of its value; where it is not symmetric (directed graphs, kernels on nodes with
    negative values), and for exponential or finite sums, walks are added up step by step until a
    bound on the rest is below 1e-16 of the sum.

    Examples
    --------
    >>> from mercer import RandomWalk
    >>> triangle, square = ([(0, 1), (1, 2), (2, 0)],), ([(0, 1), (1, 2), (2, 3), (3, 0)],)
    >>> RandomWalk(decay=0.1)([triangle, square])  # n n' / (1 - 0.1 * 2 * 2)
    array([[15.        , 20.        ],
           [20.        , 26.66666667]])
    >>> water, edge = ([(0, 1), (1, 2)], ["H", "O", "H"]), ([(0, 1)], ["H", "O"])
    >>> RandomWalk(decay=0.1, node="labels")([water, edge])
    array([[6.04166667, 3.46938776],
           [3.46938776, 2.22222222]])

    References
    ----------
    Gärtner, Flach & Wrobel, *On graph kernels: hardness results and efficient alternatives*, COLT
    2003; Vishwanathan, Schraudolph, Kondor & Borgwardt, *Graph kernels*, JMLR 2010.
    """

    decay: float = positive(0.1)
    kind: str = one_of("geometric", "geometric", "exponential")
    node: Any = parameter(None, check=matched)
    edge: Any = parameter(None, check=matched)
    steps: int | None = integer(None, also=(None,))
    because = "a sum, with weights >= 0, of products of kernels along walks"

    def rule(self) -> Rule:
        exponential, steps = self.kind == "exponential", -1 if self.steps is None else self.steps
        return Rule(self.decay, exponential or steps >= 0, exponential, steps, 1.0, True)

    @property
    def plain(self) -> bool:
        """Do all nodes match, and all edges? Then there are features."""
        return self.node is None and self.edge is None

    def prepare(self, X: Data) -> Any:
        found, packed = checked(X, "RandomWalk")
        walks = self._walks(found, packed, plain_steps(packed))
        return walk_counts(walks, self.rule()) if self.plain else walks

    def _endless(self, place: int, walks: Walks) -> DomainError:
        n = int(walks.arrays.size[place])
        told = ""
        if n <= 500:
            first = int(walks.arrays.start[place])
            ends = walks.arrays.indptr[first : first + n + 1]
            arcs = slice(int(ends[0]), int(ends[-1]))
            parts = (
                walks.bounds.bounds[arcs],
                walks.arrays.indices[arcs] - first,
                ends - ends[0],
            )
            rho = np.abs(np.linalg.eigvals(sp.csr_array(parts, shape=(n, n)).toarray())).max()
            told = f", which is {1 / rho / rho:.3g} for it"
        return DomainError(
            f"RandomWalk: decay={self.decay:g} is too large for graph {place} of {n} nodes: there "
            f"are so many walks that their sum is infinite (or nearly) unless decay is below 1 / "
            f'rho^2{told}; lower decay, set steps, or use kind="exponential".'
        )

    # ---- values --------------------------------------------------------------------------
    def pairwise(self, X: Any, Y: Any) -> np.ndarray:
        if self.plain:
            return products(X, Y)(slice(0, X.shape[0]), slice(0, Y.shape[0]))
        return super().pairwise(X, Y)

    def tiles(self, X: Any, Y: Any) -> Tile:
        return products(X, Y) if self.plain else super().tiles(X, Y)

    def diag(self, X: Any) -> np.ndarray:
        if not self.plain:
            return super().diag(X)
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.bincount(row, weights=X.data * X.data, minlength=X.shape[0]).astype(np.float64)

    def features(self, X: Any) -> Any | None:
        return X if self.plain else None

    def n_features(self, X: Any) -> int | None:
        return width(self.rule()) if self.plain else None

    def grad_theta(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        if not self.plain:
            return super().grad_theta(X, Y, W)
        terms = int(min(X.indices.max(initial=0), Y.indices.max(initial=0))) + 1
        left, right = X[:, :terms].toarray(), Y[:, :terms].toarray()
        return np.array([np.sum(left * (W @ right), axis=0) @ np.arange(terms)])

    @property
    def properties(self) -> prop.Properties:
        return self._growing("the graph without nodes", ALIKE)
