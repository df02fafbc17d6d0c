"""Trees of nested level sets: branches as wide as the mass above each level."""

from __future__ import annotations

from typing import Any

import numpy as np

from .figure import HUES, Axes, canvas

_GREY = "#999999"
_STEPS = 200  # of the outline of a branch
_GAP = 0.05  # of all mass, between roots


def plot_levels(model: Any, ax: Axes | None = None) -> Axes:
    """The cluster tree of a :class:`LevelSetTree`.

    Each branch is a component of the level set {f >= level}, at the height of the level and as wide
    as the share of the data in it. Where one splits, its parts stand on it side by side; leaves are
    coloured.

    Parameters
    ----------
    model : LevelSetTree
        Fitted.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, LevelSetTree
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(m, 0.5, 200) for m in (-2, 2)])[:, None]
    >>> ax = LevelSetTree(Gaussian(0.3)).fit(X).plot()  # doctest: +SKIP
    """
    tree, values, weights = model.tree_, model.leave_one_out_, model.dual_coef_
    ax = canvas(ax)
    known = values[np.isfinite(values)]
    floor = float(known.min()) if len(known) else 0.0
    inside = _inside(tree)
    leaves = tree.leaves.tolist()
    middles: dict[int, float] = {}
    start = 0.0
    for root in np.flatnonzero(tree.parent < 0).tolist():
        start = _placed(tree, root, start, middles) + _GAP
    for v, middle in middles.items():
        children = np.flatnonzero(tree.parent == v)
        top = float(tree.base[children].max()) if len(children) else float(tree.top[v])
        base = max(float(tree.base[v]), floor)
        rows = inside[v][tree.node]
        levels = np.linspace(base, max(top, base), _STEPS)
        order = np.sort(values[rows])
        held = np.append(np.cumsum(weights[rows][np.argsort(-values[rows])])[::-1], 0.0)
        wide = held[np.searchsorted(order, levels)]
        hue = HUES[leaves.index(v) % len(HUES)] if v in leaves else _GREY
        ax.fill_betweenx(levels, middle - wide / 2, middle + wide / 2, color=hue, alpha=0.75, lw=0)
        if v in leaves:
            ax.annotate(
                f"{tree.mass[v]:.0%}", (middle, float(tree.top[v])), xytext=(0, 3), ha="center",
                textcoords="offset points", fontsize="small",
            )  # fmt: skip
    ax.set(xlabel="share of the data above the level", ylabel="log density", xticks=[])
    ax.margins(y=0.08)
    return ax


def _inside(tree: Any) -> np.ndarray:
    """[v, u]: is branch u a part of v? The last column is for samples in none."""
    m = len(tree.parent)
    found = np.zeros((m, m + 1), dtype=bool)
    for u in range(m):
        v = u
        while v >= 0:
            found[v, u] = True
            v = int(tree.parent[v])
    return found


def _placed(tree: Any, v: int, start: float, middles: dict[int, float]) -> float:
    """Branches from left to right, those of a split side by side; returns where the next begins."""
    mass = float(tree.mass[v])
    middles[v] = start + mass / 2
    children = np.flatnonzero(tree.parent == v).tolist()
    children.sort(key=lambda c: -tree.mass[c])
    at = start + (mass - float(tree.mass[children].sum())) / 2
    for child in children:
        at = _placed(tree, child, at, middles)
    return start + mass
