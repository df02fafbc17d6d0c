"""Pictures of screenings: the score of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .figure import ROSE, Axes, canvas

if TYPE_CHECKING:
    from ..tables.screening import Screening

_NO = "#bbbbbb"
_MOST = 30  # columns


def plot_screening(found: Screening, ax: Axes | None = None, alpha: float = 0.05) -> Axes:
    """The score of each column as a bar, the largest first; significant ones are in red.

    Parameters
    ----------
    found : Screening
        What :func:`mercer.tables.compare_tables` or ``screen_columns`` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    alpha : float
        The level, of corrected p-values.

    Returns
    -------
    matplotlib Axes
    """
    ax = canvas(ax)
    order = np.lexsort((-found.statistics, found.adjusted))[:_MOST][::-1]
    colours = [ROSE if found.adjusted[i] <= alpha else _NO for i in order]
    ax.barh([str(found.names[i]) for i in order], found.statistics[order], color=colours)
    for place, i in enumerate(order):
        ends = max(float(found.statistics[i]), 0.0)
        ax.annotate(f" {found.adjusted[i]:.3g}", (ends, place), va="center", fontsize=8)
    ax.set(xlabel="score (with corrected p-value)")
    return ax
