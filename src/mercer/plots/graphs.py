"""Pictures of graphs: what each node adds to a decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from ..kernels.graphs.graph import Graph
from ..kernels.graphs.reading import as_graph
from .figure import Axes, axes

if TYPE_CHECKING:
    from ..explain.trees import NodeWeight

_MAP, _LINE = "RdBu", "#777777"
_ROUNDS = 500
_APART = 0.12  # between the lines of one edge, where edges have length 1


def plot_graph(
    graph: Any,
    nodes: Sequence[NodeWeight],
    ax: Axes | None = None,
    *,
    limit: float | None = None,
    label: Callable[[Any], str] = str,
    lines: Callable[[Any], int] = lambda label: 1,
    colorbar: bool = True,
) -> Axes:
    """A graph with the weights of its nodes as colours: blue for the decision, red against.

    Parameters
    ----------
    graph : graph
        In any form that kernels take.
    nodes : list of NodeWeight
        What :func:`mercer.node_weights` returned for it.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    limit : float, optional
        The weight of the deepest colours; by default the largest one.
    label : callable
        From the label of a node to what is written.
    lines : callable
        From the label of an edge, None if there is none, to the number of its lines: bonds of
        molecules may have several.
    colorbar : bool
        Draw a colour bar beside the picture.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer import Graph, KernelRidge, WeisfeilerLehman, node_weights
    >>> from mercer.plots.graphs import plot_graph
    >>> water = Graph([(0, 1), (0, 2)], labels=["O", "H", "H"])
    >>> ammonia = Graph([(0, 1), (0, 2), (0, 3)], labels=["N", "H", "H", "H"])
    >>> model = KernelRidge(0.1, kernel=WeisfeilerLehman(1)).fit([water, ammonia], [1.0, -1.0])
    >>> ax = plot_graph(water, node_weights(model, water))  # doctest: +SKIP
    """
    graph = as_graph(graph)
    if len(nodes) != graph.n_nodes:
        raise ValueError(f"nodes: {len(nodes)} weights are given for {graph.n_nodes} nodes.")
    ax = axes(ax)
    places = layout(graph)
    marks = [None] * graph.n_edges if graph.edge_labels is None else graph.edge_labels.tolist()
    for (u, v), mark in zip(graph.edges, marks, strict=True):
        along = places[v] - places[u]
        across = np.array([-along[1], along[0]]) / (np.hypot(*along) or 1.0)
        for shift in _APART * (np.arange(count := lines(mark)) - (count - 1) / 2):
            ends = places[[u, v]] + shift * across
            ax.plot(*ends.T, color=_LINE, linewidth=1.2, zorder=1)
    weights = np.array([node.weight for node in nodes])
    limit = float(limit or np.abs(weights).max(initial=0.0) or 1.0)
    shades: dict[str, Any] = {"c": weights, "cmap": _MAP, "vmin": -limit, "vmax": limit}
    x, y = places.T
    drawn = ax.scatter(x, y, s=180, edgecolor=_LINE, zorder=2, clip_on=False, **shades)
    for place, node in enumerate(nodes):
        color = "white" if abs(node.weight) > 0.7 * limit else "black"
        text = "" if node.label is None else label(node.label)
        ax.text(x[place], y[place], text, ha="center", va="center", size=8, color=color)
    ax.margins(0.1)
    ax.set_aspect("equal", adjustable="datalim")
    ax.axis("off")
    if colorbar:
        ax.figure.colorbar(drawn, ax=ax, label="contribution of the node", shrink=0.7, aspect=12)
    return ax


def layout(graph: Graph) -> np.ndarray:
    """Places of the nodes in the plane whose distances are close to those in the graph.

    Squared differences are weighted by 1 / d^2 and made smaller by majorisation, from classical
    scaling as a start. Parts that are not connected lie side by side.
    """
    n = graph.n_nodes
    if n < 2:
        return np.zeros((n, 2))
    u, v = graph.edges.T.astype(np.int32) if graph.n_edges else np.zeros((2, 0), np.int32)
    steps = dijkstra(coo_array((np.ones(len(u)), (u, v)), shape=(n, n)).tocsr(), directed=False)
    joined = np.isfinite(steps)
    d = np.where(joined, steps, steps[joined].max() + 2)
    center = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * center @ d**2 @ center)
    places = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(values[-1:-3:-1], 0))
    places = places + 0.05 * np.random.default_rng(0).normal(size=(n, 2))  # no two at one place
    weights = 1 / np.where(d > 0, d, np.inf) ** 2
    spread = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_ROUNDS):
        now = np.hypot(*(places[:, None] - places).T)
        pull = weights * d / np.where(now > 0, now, np.inf)
        places = spread @ (pull.sum(axis=1)[:, None] * places - pull @ places)
    return places
