"""Pictures of model selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import axes

if TYPE_CHECKING:
    from ..selection import RidgePath


def plot_path(path: RidgePath, ax: Any = None) -> Any:
    """Leave-one-out error and generalised cross-validation along a ridge path.

    Parameters
    ----------
    path : RidgePath
        The result of :func:`mercer.ridge_path`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    best = int(np.argmin(path.loo))
    ax.loglog(path.alphas, path.loo, "o-", ms=4, label="leave-one-out")
    ax.loglog(path.alphas, path.gcv, "--", label="generalised cross-validation")
    words = f"alpha = {path.alphas[best]:.2g}, {path.dof[best]:.1f} degrees of freedom"
    mark = {"ms": 9, "mfc": "none", "mec": "C3", "mew": 2, "ls": "none"}
    ax.plot(path.alphas[best], path.loo[best], "o", label=words, **mark)
    ax.set(xlabel="penalty alpha", ylabel="mean squared error")
    ax.legend(frameon=False)
    return ax
