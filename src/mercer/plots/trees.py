"""Pictures of trees: what each node adds to a decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .figure import Axes, axes

if TYPE_CHECKING:
    from ..explain.trees import NodeWeight

_MAP, _LINE = "RdBu", "#999999"
_MARGIN = 2.0  # letters between labels
_LETTER, _LEVEL = 0.085, 0.62  # inches of a letter and of a generation, in a figure of our own
_POINTS = 72 / 0.62  # of a font whose letters are an inch wide


def plot_nodes(
    nodes: Sequence[NodeWeight],
    ax: Axes | None = None,
    *,
    limit: float | None = None,
    label: Callable[[str], str] = str,
) -> Axes:
    """A tree with the weights of its nodes as colours: blue for the model's decision, red against.

    Parameters
    ----------
    nodes : list of NodeWeight
        What :func:`mercer.node_weights` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure, as wide as the tree needs, by default.
    limit : float, optional
        The weight of the deepest colours; by default the largest one.
    label : callable
        From the label of a node to what is written.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer import SVC, SubsetTree, node_weights
    >>> from mercer.plots.trees import plot_nodes
    >>> X = ["(S (N dogs) (V bark))", "(S (N cats) (V purr))", "(S (N dogs) (V purr))"]
    >>> model = SVC(kernel=SubsetTree()).fit(X, ["loud", "soft", "soft"])
    >>> ax = plot_nodes(node_weights(model, X[0]))  # doctest: +SKIP
    """
    texts = [label(node.label) for node in nodes]
    parents = [node.parent for node in nodes]
    x, depth, width = _layout([len(text) + _MARGIN for text in texts], parents)
    if ax is None:
        ax = axes(None)
        figure: Any = ax.figure
        figure.set_size_inches(max(width * _LETTER, 4.0) + 1.0, (depth.max() + 1) * _LEVEL + 0.4)
    weights = np.array([node.weight for node in nodes])
    limit = float(limit or np.abs(weights).max() or 1.0)
    import matplotlib as mpl

    colours = mpl.cm.ScalarMappable(mpl.colors.Normalize(-limit, limit), mpl.colormaps[_MAP])
    inches = ax.get_window_extent().width / ax.figure.dpi
    size = float(np.clip(0.9 * _POINTS * inches / width, 4, 10))
    for place, parent in enumerate(parents):
        if parent is not None:
            ax.plot(x[[place, parent]], -depth[[place, parent]], color=_LINE, linewidth=1, zorder=1)
        red, green, blue, _ = colours.to_rgba(weights[place])
        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.45
        ax.text(
            x[place],
            -depth[place],
            texts[place],
            ha="center",
            va="center",
            size=size,
            color="white" if dark else "black",
            bbox={"boxstyle": "round,pad=0.25", "fc": (red, green, blue), "ec": _LINE, "lw": 0.6},
        )
    ax.set(xlim=(0, width), ylim=(-depth.max() - 0.5, 0.5))
    ax.axis("off")
    ax.figure.colorbar(colours, ax=ax, label="contribution of the node", shrink=0.7, aspect=12)
    return ax


def _layout(
    widths: Sequence[float], parents: Sequence[int | None]
) -> tuple[np.ndarray, np.ndarray, float]:
    """Places of the nodes from left to right, their depths, and the width of the whole.

    A node has the width of its label or that of its children side by side, whichever is more.
    """
    room, below = np.array(widths, dtype=float), np.zeros(len(widths))
    for place in range(len(parents) - 1, -1, -1):  # children come after their parents
        room[place] = max(room[place], below[place])
        if (parent := parents[place]) is not None:
            below[parent] += room[place]
    depth, left = np.zeros(len(parents)), np.zeros(len(parents))
    used = (room - below) / 2  # where the next child of a node begins
    for place, parent in enumerate(parents):
        if parent is not None:
            depth[place] = depth[parent] + 1
            left[place] = left[parent] + used[parent]
            used[parent] += room[place]
    return left + room / 2, depth, float(room[0])
