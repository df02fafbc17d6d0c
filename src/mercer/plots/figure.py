"""One look for all pictures: their figures, and their colours, which everybody can tell apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
else:
    Axes = Any  # matplotlib is imported when something is drawn

HUES = ["#4477aa", "#cc6677", "#228833", "#ccbb44", "#66ccee", "#aa3377"]  # after Paul Tol
BLUE, ROSE, INK = HUES[0], HUES[1], "#222222"
SCALE, SIGNED = "cividis", "RdBu"  # of values of one sign, and of both
POINTS = 500  # of a curve


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


def around(values: np.ndarray, count: int) -> np.ndarray:
    """A grid over the range of the values, and some space around it."""
    low, high = float(values.min()), float(values.max())
    space = 0.08 * (high - low) or 1.0
    return np.linspace(low - space, high + space, count)


def grid(where: Any) -> np.ndarray:
    """A grid as it is, two numbers as an interval."""
    t = np.asarray(where, dtype=float).reshape(-1)
    return np.linspace(t[0], t[1], POINTS) if len(t) == 2 else t
