"""Pictures of segmentations: what each further change saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .figure import BLUE, INK, ROSE, Axes, canvas

if TYPE_CHECKING:
    from ..stats.segmentation_result import Segmentation


def plot_costs(found: Segmentation, ax: Axes | None = None) -> Axes:
    """Least costs by the number of changes, with the penalised ones and the number chosen.

    Parameters
    ----------
    found : Segmentation
        What :func:`mercer.change_points` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import change_points
    >>> ax = change_points(np.repeat([0.0, 1.0], 20)).plot()  # doctest: +SKIP
    """
    ax = canvas(ax)
    numbers = np.arange(len(found.costs))
    ax.plot(numbers, found.costs, "o-", ms=3, color=BLUE, label="cost")
    if found.penalties is not None:
        penalised = found.costs + found.penalties
        ax.plot(numbers, penalised, "o-", ms=3, color=ROSE, label="with penalty")
    ax.axvline(found.n_changes, color=INK, lw=0.8, ls=":")
    ax.set(xlabel="changes", ylabel="cost")
    ax.legend(frameon=False)
    return ax
