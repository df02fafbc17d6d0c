"""Pictures of causal graphs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .figure import BLUE, INK, Axes, axes

if TYPE_CHECKING:
    from ..stats.causal_result import CausalGraph

_NODE, _LINE = "#dde6f0", "#bbbbbb"


def plot_causal(graph: CausalGraph, ax: Axes | None = None) -> Axes:
    """A causal graph with its variables on a circle.

    Edges with a direction are arrows; those that may go either way are grey lines.

    Parameters
    ----------
    graph : CausalGraph
        What :func:`mercer.causal_graph` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    d = len(graph.names)
    turn = np.pi / 2 - 2 * np.pi * np.arange(d) / d
    place = dict(zip(graph.names, np.column_stack([np.cos(turn), np.sin(turn)]), strict=True))
    for edges, style, colour in (
        (graph.undirected, "-", _LINE),
        (graph.directed, "-|>", BLUE),
    ):
        for a, b in edges:
            how = {"arrowstyle": style, "color": colour, "lw": 1.8, "shrinkA": 17, "shrinkB": 17}
            ax.annotate("", xy=place[b], xytext=place[a], arrowprops=how)
    for name, (x, y) in place.items():
        box = {"boxstyle": "round,pad=0.35", "facecolor": _NODE, "edgecolor": BLUE}
        ax.text(x, y, name, ha="center", va="center", fontsize=9, color=INK, bbox=box)
    ax.set(xlim=(-1.35, 1.35), ylim=(-1.25, 1.25), aspect="equal")
    ax.axis("off")
    return ax
