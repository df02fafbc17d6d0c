"""Partially directed graphs: edges, equivalence classes, distances between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class CausalGraph:
    """A causal graph of variables, with directed and undirected edges.

    Attributes
    ----------
    names : list of str
        The variables.
    adjacency : ndarray of bool, shape (d, d)
        True at (i, j) for i -> j, and at (i, j) and (j, i) for an edge without a direction.
    pvalues : ndarray of shape (d, d) or None
        For each pair, the largest p-value of all its tests.
    separated : dict
        For pairs of names without an edge, the variables given which they were independent.
    alpha : float
        The level of the tests.
    n_tests : int
        How many there were.

    Examples
    --------
    >>> from mercer.stats import CausalGraph
    >>> chain = CausalGraph.of_dag([[0, 1, 0], [0, 0, 1], [0, 0, 0]], names=["a", "b", "c"])
    >>> print(chain)  # a -> b -> c, a <- b <- c and a <- b -> c are the same to data
    a -- b
    b -- c
    """

    names: list[str]
    adjacency: np.ndarray
    pvalues: np.ndarray | None = field(default=None, repr=False)
    separated: dict[Any, list[str]] = field(default_factory=dict, repr=False)
    alpha: float = 0.05
    n_tests: int = 0

    @classmethod
    def of_dag(cls, adjacency: Any, names: list[str] | None = None) -> CausalGraph:
        """The equivalence class of a directed acyclic graph: what can be identified from data."""
        A = np.asarray(adjacency).astype(bool)
        if A.ndim != 2 or A.shape[0] != A.shape[1]:
            raise ValueError(f"adjacency must be a square matrix, got shape {A.shape}.")
        power = A.astype(np.int64)
        for _ in range(len(A)):
            power = np.minimum(power @ A, 1)
        if power.any():
            raise ValueError("adjacency has a cycle, so it is not a directed acyclic graph.")
        near = A | A.T
        graph = near.copy()
        for k in range(len(A)):
            parents = np.flatnonzero(A[:, k])
            for i in parents:
                if np.any(~near[i, parents] & (parents != i)):
                    graph[k, i] = False
        given = [f"x{i}" for i in range(len(A))] if names is None else list(names)
        return cls(given, complete(graph))

    @property
    def directed(self) -> list[tuple[str, str]]:
        """The edges that have a direction, from cause to effect."""
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(self._arrows)]

    @property
    def undirected(self) -> list[tuple[str, str]]:
        """The edges that may go either way."""
        both = np.triu(self.adjacency & self.adjacency.T)
        return [(self.names[i], self.names[j]) for i, j in np.argwhere(both)]

    @property
    def _arrows(self) -> np.ndarray:
        return np.asarray(self.adjacency & ~self.adjacency.T)

    @property
    def skeleton(self) -> np.ndarray:
        """Which variables are neighbours, whatever the direction."""
        return np.asarray(self.adjacency | self.adjacency.T)

    def parents(self, name: str) -> list[str]:
        """The direct causes of a variable."""
        if name not in self.names:
            raise ValueError(
                f"there is no variable {name!r}; the variables are {', '.join(self.names)}."
            )
        return [self.names[i] for i in np.flatnonzero(self._arrows[:, self.names.index(name)])]

    def distance(self, other: CausalGraph) -> int:
        """The structural Hamming distance: pairs of variables whose edges differ."""
        if self.names != other.names:
            raise ValueError("graphs of different variables cannot be compared.")
        differ = self.adjacency != other.adjacency
        return int(np.sum(np.triu(differ | differ.T, 1)))

    def scores(self, truth: CausalGraph) -> dict[str, float]:
        """Precision, recall and F1 of neighbours and of arrows, and the distance to the truth."""
        found: dict[str, float] = {"distance": self.distance(truth)}
        for name, mine, theirs in (
            ("skeleton", np.triu(self.skeleton), np.triu(truth.skeleton)),
            ("arrows", self._arrows, truth._arrows),
        ):
            right = float(np.sum(mine & theirs))
            precision = right / mine.sum() if mine.any() else 1.0
            recall = right / theirs.sum() if theirs.any() else 1.0
            total = precision + recall
            found |= {
                f"{name}_precision": float(precision),
                f"{name}_recall": float(recall),
                f"{name}_f1": float(2 * precision * recall / total) if total else 0.0,
            }
        return found

    def __str__(self) -> str:
        lines = [f"{a} -> {b}" for a, b in self.directed]
        lines += [f"{a} -- {b}" for a, b in self.undirected]
        return "\n".join(lines) or "no edges"

    def plot(self, ax: Axes | None = None) -> Axes:
        """The graph on a circle, arrows where directions are known."""
        from ..plots.causal import plot_causal

        return plot_causal(self, ax=ax)


def complete(graph: np.ndarray) -> np.ndarray:
    """Directions that follow from others: no further collider, and no cycle (Meek's rules)."""
    G = np.array(graph, dtype=bool)
    d = len(G)
    news = True
    while news:
        news = False
        arrows, near = G & ~G.T, G | G.T
        for i, j in np.argwhere(G & G.T):
            if i == j:
                continue
            onward = np.any(arrows[:, i] & ~near[:, j] & (np.arange(d) != j))  # k -> i -- j
            between = np.any(arrows[i] & arrows[:, j])  # i -> k -> j
            lines = np.flatnonzero(G[i] & G[:, i] & arrows[:, j])  # i -- k -> j, twice
            twice = any(not near[k, l] for k in lines for l in lines if k < l)
            if onward or between or twice:
                G[j, i] = False
                news = True
                break
    return G
