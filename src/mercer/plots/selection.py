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


def plot_grid(results: dict[str, Any], across: str, ax: Any = None) -> Any:
    """Cross-validated scores over a grid: a map for two parameters, else one curve per setting.

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
    image = ax.imshow(table, origin="lower", aspect="auto", cmap="viridis")
    (name,) = others[0]
    labels = [next(o[name] for o in others if repr(o) == row) for row in rows]
    ax.set(
        ylabel=name,
        xticks=range(len(values)),
        yticks=range(len(labels)),
        xticklabels=[f"{v:g}" for v in values],
        yticklabels=[f"{v:g}" if isinstance(v, float | int) else str(v) for v in labels],
    )
    i, j = np.unravel_index(np.nanargmax(table), table.shape)
    ax.plot(j, i, "s", ms=18, mfc="none", mec="white", mew=2)
    for (r, c), score in np.ndenumerate(table):
        dark = score < np.nanmean(table)
        ax.text(c, r, f"{score:.3f}", ha="center", va="center", color="w" if dark else "k", size=8)
    ax.figure.colorbar(image, ax=ax, label="cross-validated score")
    return ax
