"""Pictures of model selection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .figure import SCALE, axes

if TYPE_CHECKING:
    from ..tuning.path import RidgePath

_MARKS = 9  # most ticks of an axis, and most rows or columns of a map that shows its numbers
_RANGE = 3.0  # colours end this many times as far below the best score as the median is


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


def plot_grid(results: dict[str, Any], across: str, ax: Any = None) -> Any:
    """Plot cross-validated scores over a grid: a map for two parameters, otherwise one curve per
    setting.

    On a map the best setting is framed. Scores far below the median, as of settings that overfit
    badly, all have the darkest colour, so that differences near the best can be seen.

    Parameters
    ----------
    results : dict
        ``cv_results_`` of a search: "params" and "mean_test_score".
    across : str
        The parameter on the horizontal axis.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    params, scores = results["params"], np.asarray(results["mean_test_score"])
    values = sorted({p[across] for p in params})
    others = [{k: v for k, v in p.items() if k != across} for p in params]
    rows = list(dict.fromkeys(map(repr, others)))
    table = np.full((len(rows), len(values)), np.nan)
    for other, p, score in zip(others, params, scores, strict=True):
        table[rows.index(repr(other)), values.index(p[across])] = score
    ax.set_xlabel(across)
    if {len(o) for o in others} != {1} or len(rows) < 2:
        for name, line in zip(rows, table, strict=True):
            ax.semilogx(values, line, "o-", ms=4, label=name if name != "{}" else None)
        ax.set_ylabel("cross-validated score")
        if rows != ["{}"]:
            ax.legend(frameon=False)
        return ax
    best = float(np.nanmax(table))
    low = max(float(np.nanmin(table)), best - _RANGE * (best - float(np.nanmedian(table))))
    image = ax.imshow(table, origin="lower", aspect="auto", cmap=SCALE, vmin=low, vmax=best)
    (name,) = others[0]
    labels = [next(o[name] for o in others if repr(o) == row) for row in rows]
    ax.set_ylabel(name)
    for axis, marks in ((ax.xaxis, values), (ax.yaxis, labels)):
        shown = range(0, len(marks), -(-len(marks) // _MARKS))
        axis.set_ticks(shown, [_short(marks[i]) for i in shown])
    i, j = np.unravel_index(np.nanargmax(table), table.shape)
    ax.plot(j, i, "s", ms=18, mfc="none", mec="C3", mew=2)
    if max(table.shape) <= _MARKS:
        for (r, c), score in np.ndenumerate(table):
            ink = "w" if score < (low + best) / 2 else "k"
            ax.text(c, r, _short(score), ha="center", va="center", color=ink, size=8)
    worse = "min" if low > float(np.nanmin(table)) else "neither"
    ax.figure.colorbar(image, ax=ax, label="cross-validated score", extend=worse)
    return ax


def _short(value: Any) -> str:
    """A number with three digits; anything else as it prints."""
    return f"{value:.3g}" if isinstance(value, float | int) else str(value)
