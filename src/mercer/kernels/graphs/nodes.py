"""Kernels between the nodes of one graph: near, if many short walks lead from one to the other.

Each is a decreasing function of the Laplacian, f(L): functions on the nodes that change little
along edges have a small norm.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Prepared, as_samples, is_frame, length
from ...exceptions import DomainError
from ...params import integer, one_of, parameter, positive, same
from ..base import Tile, Tiled, weigh
from ..calculus import properties as prop
from ..calculus.domains import Domain
from ..labels.kind import LABELS  # registers the kind
from .container import pack
from .reading import as_graph
from .spectral import Laplacian, laplacian

_AT_ONCE = 2**25  # numbers of a matrix that is computed before it is cut into tiles


@dataclass(eq=False, repr=False)
class Nodes(Prepared):
    """Nodes of a graph as samples: their places, and the Laplacian of the graph."""

    laplacian: Laplacian
    places: np.ndarray

    each = ("places",)


@dataclass(eq=False, repr=False)
class NodeKernel(Tiled):
    """f(L) for the Laplacian L of a graph: samples are nodes.

    They are named as in the graph: the nodes of a networkx graph, the keys of ``(edges, {node:
    label, ...})``, and 0, ..., n - 1 in all other forms.
    """

    graph: Any = parameter()
    if TYPE_CHECKING:  # a field, which comes after those of the kernels themselves
        normalized: bool = False
    domain = Domain(LABELS.kind, "the nodes of a graph")

    @abstractmethod
    def function(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        """f, which is >= 0; no eigenvalue of this graph exceeds ``upper``."""

    def slope(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        """df/dtheta, of a kernel with one hyper-parameter."""
        raise NotImplementedError

    # ---- samples -------------------------------------------------------------------------
    def prepare(self, X: Data) -> Nodes:
        name = type(self).__name__
        X = as_samples(X, name)
        adjacency, names = _read(self.graph, name)
        return Nodes(self._checked(laplacian(adjacency, self.normalized)), _places(X, names, name))

    def _checked(self, laplacian: Laplacian) -> Laplacian:
        """The Laplacian, if the kernel is defined on it."""
        return laplacian

    # ---- values --------------------------------------------------------------------------
    def tiles(self, X: Nodes, Y: Nodes) -> Tile:
        if X.laplacian.small:
            left = self._coordinates(X)
            right = left if X is Y else self._coordinates(Y)
            return lambda rows, cols: left[rows] @ right[cols].T
        if len(X) * len(Y) <= _AT_ONCE:  # columns once, and not for every tile
            whole = X.laplacian.block(self.function, X.places, Y.places)
            return lambda rows, cols: whole[rows][:, cols].copy()
        return lambda rows, cols: X.laplacian.block(self.function, X.places[rows], Y.places[cols])

    def diag(self, X: Nodes) -> np.ndarray:
        return X.laplacian.entries(self.function, X.places)

    def features(self, X: Nodes) -> np.ndarray | None:
        return self._coordinates(X) if X.laplacian.small else None

    def n_features(self, X: Nodes) -> int | None:
        return len(X.laplacian) if X.laplacian.small else None

    def _coordinates(self, X: Nodes) -> np.ndarray:
        """Features, from all eigenvectors."""
        values, vectors = X.laplacian.spectrum
        return vectors[X.places] * np.sqrt(self.function(values, X.laplacian.upper))

    def grad_theta(self, X: Nodes, Y: Nodes, W: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        if X.laplacian.small:
            values, U = X.laplacian.spectrum
            along = np.einsum("ij,ij->j", U[X.places], W @ U[Y.places])
            return np.array([along @ self.slope(values, X.laplacian.upper)])
        return weigh(W, [X.laplacian.block(self.slope, X.places, Y.places)])

    def grad_theta_diag(self, X: Nodes, w: np.ndarray) -> np.ndarray:
        if not self.hyperparameters():
            return np.zeros(0)
        return np.array([w @ X.laplacian.entries(self.slope, X.places)])

    # ---- as a value ----------------------------------------------------------------------
    def __eq__(self, other: object) -> bool:
        """Graphs of networkx do not define equality."""
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, NodeKernel)
        mine, theirs = dict(self._items()), dict(other._items())
        one, two = mine.pop("graph"), theirs.pop("graph")
        if not same(mine, theirs):
            return False
        return same(one, two) or same(_read(one, "graph"), _read(two, "graph"))

    __hash__ = None  # type: ignore[assignment]  # mutable, compared by value

    # ---- facts ---------------------------------------------------------------------------

    def _invertible(self, why: str) -> prop.Properties:
        """What is true of f(L) for f > 0, on finitely many nodes."""
        every = f"{why}, and so every function on the nodes is in H_k"
        return self._stated(
            bounded=prop.yes("there are finitely many nodes"),
            finite_dim=prop.yes("as many dimensions as nodes"),
            strictly_pd=prop.yes(why),
            universal=prop.yes(every),
            characteristic=prop.yes(every),
            integrally_pd=prop.yes(why),
            positive_diag=prop.yes(why),
        )


@dataclass(eq=False, repr=False)
class Diffusion(NodeKernel):
    r"""The diffusion (or heat) kernel between the nodes of a graph.

    .. math:: K = e^{-\beta L}, \qquad L = D - A

    K[u, v] is the heat at v at time beta if all of it was at u at time 0.

    Parameters
    ----------
    graph : Graph, networkx or igraph graph, adjacency matrix, or tuple
        The graph, without directions, with weights >= 0.
    beta : float
        The time; the larger it is, the farther apart similar nodes may be.
    normalized : bool
        Take the Laplacian D^-1/2 (D - A) D^-1/2 instead.

    Notes
    -----
    Graphs up to 2000 nodes are diagonalised once. For larger graphs, columns of K are computed only
    for the nodes that occur, by an expansion in Chebyshev polynomials of L that is exact up to
    rounding.

    Examples
    --------
    >>> from mercer import Diffusion
    >>> path = ([("a", "b"), ("b", "c")], {"a": 0, "b": 0, "c": 0})
    >>> Diffusion(path, beta=1.0)(["a", "b", "c"]).round(3)
    array([[0.526, 0.317, 0.158],
           [0.317, 0.367, 0.317],
           [0.158, 0.317, 0.526]])

    References
    ----------
    Kondor & Lafferty, *Diffusion kernels on graphs and other discrete structures*, ICML 2002.
    """

    beta: float = positive(1.0)
    normalized: bool = one_of(False, False, True)
    because = "exp(-beta L), the exponential of a symmetric matrix"

    def function(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        return np.exp(-self.beta * eigenvalues)

    def slope(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        return -self.beta * eigenvalues * self.function(eigenvalues, upper)

    @property
    def properties(self) -> prop.Properties:
        return self._invertible("the exponential of a matrix is invertible")


@dataclass(eq=False, repr=False)
class RegularizedLaplacian(NodeKernel):
    r"""The regularised Laplacian kernel between the nodes of a graph.

    .. math:: K = (I + \sigma^2 L)^{-1}

    The squared norm of a function f on the nodes is the sum of its squares plus sigma^2 times the
    sum over edges of w_uv (f(u) - f(v))^2.

    Parameters
    ----------
    graph : Graph, networkx or igraph graph, adjacency matrix, or tuple
        The graph, without directions, with weights >= 0.
    sigma : float
        The weight of differences along edges.
    normalized : bool
        Take the Laplacian D^-1/2 (D - A) D^-1/2 instead of D - A.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import RegularizedLaplacian
    >>> edge = np.array([[0, 1], [1, 0]])
    >>> RegularizedLaplacian(edge, sigma=1.0)([0, 1])
    array([[0.66666667, 0.33333333],
           [0.33333333, 0.66666667]])

    References
    ----------
    Smola & Kondor, *Kernels and regularization on graphs*, COLT 2003.
    """

    sigma: float = positive(1.0)
    normalized: bool = one_of(False, False, True)
    because = "the inverse of I + sigma^2 L, which is positive definite"

    def function(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        return 1 / (1 + self.sigma**2 * eigenvalues)

    def slope(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        return -2 * self.sigma**2 * eigenvalues * self.function(eigenvalues, upper) ** 2

    @property
    def properties(self) -> prop.Properties:
        return self._invertible("it is the inverse of a matrix")


@dataclass(eq=False, repr=False)
class PStep(NodeKernel):
    r"""The p-step random walk kernel between the nodes of a graph.

    .. math:: K = (a I - L)^p

    With the normalised Laplacian and a = 2 this is (I + D^-1/2 A D^-1/2)^p: p steps of a lazy
    random walk. Nodes more than p steps apart have k = 0.

    Parameters
    ----------
    graph : Graph, networkx or igraph graph, adjacency matrix, or tuple
        The graph, without directions, with weights >= 0.
    p : int
        The number of steps.
    a : float, optional
        A number that no eigenvalue of L exceeds. By default 2 for the normalised Laplacian; else
        the largest sum of the degrees of two neighbours, which is the least that is allowed.
    normalized : bool
        Take the Laplacian D^-1/2 (D - A) D^-1/2 (by default), or D - A.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import PStep
    >>> path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> PStep(path, p=1)([0, 1, 2]).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 1.    , 0.7071],
           [0.    , 0.7071, 1.    ]])

    References
    ----------
    Smola & Kondor, *Kernels and regularization on graphs*, COLT 2003.
    """

    p: int = integer(2, low=1)
    a: float | None = parameter(
        None, check=lambda a: None if a is None else positive().metadata["check"](a)
    )
    normalized: bool = one_of(True, False, True)
    because = "a power of a I - L, which has no negative eigenvalue"

    def _checked(self, laplacian: Laplacian) -> Laplacian:
        if self.a is not None and self.a < laplacian.upper:
            raise DomainError(
                f"PStep: a must be at least {laplacian.upper:g} on this graph, got {self.a:g}: "
                f"below that, a I - L may have negative eigenvalues."
            )
        return laplacian

    def function(self, eigenvalues: np.ndarray, upper: float) -> np.ndarray:
        return ((upper if self.a is None else self.a) - eigenvalues) ** self.p

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("there are finitely many nodes"),
            finite_dim=prop.yes("as many dimensions as nodes"),
        )


def _read(graph: Any, name: str) -> tuple[sp.csr_array, list | range]:
    """The adjacency matrix, symmetric and >= 0, and the names of the nodes."""
    try:
        found = pack([as_graph(graph)], name)
    except DomainError as error:
        raise DomainError(f"{name}: invalid graph: {error}") from None
    A = found.adjacency(0)
    if found.directed[0]:
        raise DomainError(
            f"{name}: graph has directed edges; make it undirected, for example by A + A.T."
        )
    if A.nnz and A.data.min() < 0:
        raise DomainError(
            f"{name}: graph has an edge of weight {A.data.min():g}; all must be >= 0."
        )
    if hasattr(graph, "adj") and hasattr(graph, "nodes"):  # of networkx
        return A, list(graph.nodes)
    keyed = isinstance(graph, tuple) and len(graph) > 1 and isinstance(graph[1], dict)
    return A, list(graph[1]) if keyed else range(A.shape[0])


def _places(X: Data, names: list | range, name: str) -> np.ndarray:
    """The places of nodes, given by their names."""
    if is_frame(X) or sp.issparse(X) or getattr(X, "ndim", 1) > 2:
        raise DomainError(f"{name} works on a list of nodes; pick a column with .on(column).")
    if length(X) == 0:
        raise DomainError(f"{name}: X has no samples.")
    if isinstance(X, np.ndarray) and X.ndim == 2:
        if X.shape[1] != 1:
            raise DomainError(f"{name} works on one column of nodes, X has {X.shape[1]}.")
        X = X[:, 0]
    nodes = X.tolist() if hasattr(X, "tolist") else list(X)
    known = {node: place for place, node in enumerate(names)}
    try:
        return np.array([known[node] for node in nodes], dtype=np.int64)
    except (KeyError, TypeError):
        strange = next(node for node in nodes if not _is_key(node, known))
        few = ", ".join(map(repr, names[:3]))
        raise DomainError(
            f"{name}: {strange!r} is not a node of the graph; its {len(names)} nodes are {few}, ..."
        ) from None


def _is_key(node: Any, known: dict) -> bool:
    try:
        return node in known
    except TypeError:  # not hashable
        return False
