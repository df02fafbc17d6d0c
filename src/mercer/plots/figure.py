"""The figure that a picture is drawn into."""

from __future__ import annotations

from typing import Any


def axes(ax: Any = None) -> Any:
    """The given matplotlib Axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError('plots need matplotlib: pip install "mercer[plot]".') from None
    return plt.subplots(layout="constrained")[1]


def canvas(ax: Any = None) -> Any:
    """The given Axes, or those of a new, wide figure; open above and on the right."""
    drawn = axes(ax)
    if ax is None:
        drawn.figure.set_size_inches(6.4, 3.6)
    for side in ("top", "right"):
        drawn.spines[side].set_visible(False)
    return drawn
