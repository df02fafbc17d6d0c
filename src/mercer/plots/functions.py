"""Pictures of functions on the line: an RKHS function and its bumps, sections of a kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import as_dense
from .figure import BLUE, HUES, INK, ROSE, Axes, canvas, grid

if TYPE_CHECKING:
    from ..kernels.base import Kernel
    from ..rkhs.function import RKHSFunction

_MOST_BUMPS = 200  # drawn one by one


def plot_function(
    f: RKHSFunction, where: Any = None, ax: Axes | None = None, bumps: bool = True
) -> Axes:
    """A function on the line as the sum of its bumps a_i k(x_i, .).

    Parameters
    ----------
    f : RKHSFunction
        A function of one variable, or a family of them (drawn without bumps).
    where : (low, high) or array, optional
        An interval or a grid; by default the range of the centres and some space around.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    bumps : bool
        Draw each term of the sum, blue for a_i > 0 and red for a_i < 0, and mark the centres;
        left out when there are more than 200.

    Examples
    --------
    >>> from mercer import Gaussian, RKHSFunction
    >>> from mercer.plots.functions import plot_function
    >>> f = RKHSFunction(Gaussian(0.7), [-2.0, 0.0, 1.0], [1.0, 0.6, -0.8])
    >>> ax = plot_function(f, (-5, 4))  # doctest: +SKIP
    """
    centres = _on_the_line(f.points)
    if where is None:
        low, high = centres.min(), centres.max()
        margin = 0.3 * (high - low) or 3.0
        where = (low - margin, high + margin)
    t = grid(where)
    ax = _canvas(ax)
    values = f(t[:, None])
    single = f.coef.ndim == 1
    if bumps and single and len(centres) <= _MOST_BUMPS:
        _draw_bumps(f, centres, t, ax)
        ax.plot(t, values, color=INK, linewidth=2.4, label="their sum $f$", zorder=4)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.25 * (high - low))  # room for the legend
        ax.legend(frameon=False, ncols=2, loc="upper center")
    elif single:
        ax.plot(t, values, color=INK, linewidth=2.4)
    else:
        for j, column in enumerate(values.T):
            hue = HUES[j % len(HUES)]
            ax.plot(t, column, color=hue, linewidth=2, label=f"$f_{{{j + 1}}}$")
        ax.legend(frameon=False)
    return _labelled(ax, t, "$f(x)$")


def plot_kernel(
    kernel: Kernel, where: Any = (-4.0, 4.0), at: Any = 0.0, ax: Axes | None = None
) -> Axes:
    """Plot sections k(x0, .) of a kernel on the line, for one or several x0.

    Parameters
    ----------
    kernel : Kernel
        A kernel of one variable.
    where : (low, high) or array
        An interval or a grid.
    at : float or list of float
        The points x0.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from mercer import Matern
    >>> from mercer.plots.functions import plot_kernel
    >>> ax = plot_kernel(Matern(), at=[-1.0, 0.0, 2.0])  # doctest: +SKIP
    """
    t = grid(where)
    ax = _canvas(ax)
    for j, x0 in enumerate(np.atleast_1d(np.asarray(at, dtype=float))):
        hue = HUES[j % len(HUES)]
        section = kernel.at(float(x0))
        ax.plot(t, section(t[:, None]), color=hue, linewidth=2, label=f"$x_0 = {x0:g}$")
        ax.plot([x0], section([[x0]]), "o", color=hue, markersize=5)
    ax.legend(frameon=False)
    ax.set_title(repr(kernel), fontsize="medium")
    return _labelled(ax, t, "$k(x_0, x)$")


def _canvas(ax: Axes | None) -> Axes:
    """The axes given, or those of a new, wide figure; with a line at 0."""
    drawn = canvas(ax)
    drawn.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    return drawn


def _draw_bumps(f: RKHSFunction, centres: np.ndarray, t: np.ndarray, ax: Axes) -> None:
    """The terms of the sum, thinner and paler the more there are."""
    n = len(centres)
    style: dict[str, Any] = {"linewidth": 1.2 if n <= 20 else 0.8, "alpha": min(0.9, 0.3 + 4 / n)}
    terms = f.kernel(t[:, None], centres[:, None]) * f.coef
    terms[np.abs(terms) < 0.003 * np.abs(terms).max()] = np.nan  # tails would paint over the axis
    for sign, hue, words in ((1, BLUE, "$a_i > 0$"), (-1, ROSE, "$a_i < 0$")):
        chosen = np.sign(f.coef) == sign
        if not chosen.any():
            continue
        lines = ax.plot(t, terms[:, chosen], color=hue, zorder=2, **style)
        lines[0].set_label(rf"$a_i\, k(x_i, \cdot)$, {words}")
    dots: Any = {"marker": "o", "linestyle": "none", "markersize": 4 if n <= 50 else 2}
    ax.plot(centres, np.zeros(n), color=INK, zorder=5, label="centres $x_i$", **dots)


def _on_the_line(points: Any) -> np.ndarray:
    values = np.asarray(as_dense(points))
    if values.dtype.kind not in "biuf" or values.size != len(values):
        raise ValueError(
            "plot_function draws functions of one variable; the centres here have more."
        )
    return values.reshape(-1).astype(float)


def _labelled(ax: Axes, t: np.ndarray, words: str) -> Axes:
    ax.set_xlabel("$x$")
    ax.set_ylabel(words)
    ax.set_xlim(t.min(), t.max())
    return ax
