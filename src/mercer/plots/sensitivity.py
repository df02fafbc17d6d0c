"""Pictures of sensitivity: how much of an output each input explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .figure import BLUE, INK, ROSE, Axes, axes

if TYPE_CHECKING:
    from ..stats.sensitivity import SensitivityResult

_WIDTH = 0.38


def plot_indices(found: SensitivityResult, ax: Axes | None = None) -> Axes:
    """First-order and total indices as bars side by side, with their intervals.

    Parameters
    ----------
    found : SensitivityResult
        What :func:`mercer.sensitivity_indices` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import sensitivity_indices
    >>> X = np.random.default_rng(0).uniform(size=(100, 2))
    >>> ax = sensitivity_indices(X, X[:, 0], rng=0).plot()  # doctest: +SKIP
    """
    ax = axes(ax)
    places = np.arange(len(found.names))
    for side, values, ends, colour, label in (
        (-1, found.first, found.first_interval, BLUE, "first order"),
        (1, found.total, found.total_interval, ROSE, "total"),
    ):
        at = places + side * _WIDTH / 2
        ax.bar(at, values, _WIDTH, color=colour, label=label)
        if ends is not None:
            ax.vlines(at, ends[:, 0], ends[:, 1], color=INK, lw=1.2)
    ax.axhline(0, color=INK, lw=0.8)
    ax.set_xticks(places, found.names)
    ax.set(ylabel="share of the dependence")
    ax.legend(frameon=False)
    return ax
