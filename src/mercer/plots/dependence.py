"""Pictures of dependence: the functions of two variables that vary together most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Data, as_vectors
from ..exceptions import DomainError
from .figure import BLUE, INK, POINTS, ROSE, Axes, axes

if TYPE_CHECKING:
    from ..rkhs.function import RKHSFunction
    from ..stats.constrained import COCO


def plot_coco(
    found: COCO, X: Data, Y: Data, axes: Sequence[Axes] | None = None
) -> np.ndarray[Any, Any]:
    """The functions that attain the constrained covariance, and how they vary together.

    Three panels: f over X, g over Y, and g(Y) against f(X). A function of anything but one number
    is drawn as a histogram of its values.

    Parameters
    ----------
    found : COCO
        What :func:`mercer.coco` returned; of several pairs of functions, the first is drawn.
    X, Y : data
        The sample.
    axes : three matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import coco
    >>> from mercer.plots.dependence import plot_coco
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, 200)
    >>> y = x**2 + 0.3 * rng.normal(size=200)
    >>> panels = plot_coco(coco(x, y), x, y)  # doctest: +SKIP
    """
    panels = _panels(axes)
    f, g = (h if h.coef.ndim == 1 else h[0] for h in (found.f, found.g))
    u, v = f(X), g(Y)
    sign = 1.0 if u[np.argmax(np.abs(u - u.mean()))] > u.mean() else -1.0
    f, g, u, v = sign * f, sign * g, sign * u, sign * v  # both signs change, the product does not
    _draw_function(panels[0], f, X, u, BLUE, ("x", "f(x)"))
    _draw_function(panels[1], g, Y, v, ROSE, ("y", "g(y)"))
    panels[2].scatter(u, v, s=9, color=INK, alpha=0.6, linewidth=0)
    correlation = np.corrcoef(u, v)[0, 1]
    panels[2].set(
        xlabel="$f(x)$",
        ylabel="$g(y)$",
        title=f"covariance {found.value:.3g},\ncorrelation {correlation:.2f}",
    )
    for ax in panels:
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    return panels


def _draw_function(
    ax: Axes, f: RKHSFunction, Z: Data, values: np.ndarray, hue: str, names: tuple[str, str]
) -> None:
    z = _line(Z)
    if z is None:
        ax.hist(values, bins=min(40, max(10, len(values) // 10)), color=hue, alpha=0.6)
        ax.set(xlabel=f"${names[1]}$", ylabel="samples")
        return
    margin = 0.04 * float(np.ptp(z)) or 1.0
    t = np.linspace(z.min() - margin, z.max() + margin, POINTS)
    ax.plot(t, f(t[:, None]), color=hue, linewidth=2.2)
    ax.scatter(z, values, s=7, color=INK, alpha=0.35, linewidth=0, zorder=3)
    ax.set(xlabel=f"${names[0]}$", ylabel=f"${names[1]}$", xlim=(t[0], t[-1]))


def _line(Z: Data) -> np.ndarray | None:
    """The sample as numbers on the line, if it has one column."""
    try:
        V: Any = as_vectors(Z, "plot_coco")
    except DomainError:
        return None
    return None if hasattr(V, "toarray") or V.shape[1] != 1 else np.asarray(V[:, 0], dtype=float)


def _panels(given: Sequence[Axes] | None) -> np.ndarray[Any, Any]:
    if given is None:
        first = axes(None)
        figure: Any = first.figure
        first.remove()
        figure.set_size_inches(9.6, 3.2)
        return np.asarray(figure.subplots(1, 3))
    if len(given) != 3:
        raise ValueError(f"plot_coco draws three panels, got {len(given)} axes.")
    return np.asarray(given)
