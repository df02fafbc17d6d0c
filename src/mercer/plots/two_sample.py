"""Pictures of tests: null distributions, and where two samples differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Data, as_vectors
from .figure import BLUE, INK, POINTS, ROSE, SIGNED, Axes, around, axes, canvas

if TYPE_CHECKING:
    from ..stats.result import TestResult

_GRID = 120  # points of a picture of the plane, along each axis
_TAIL = 1e-4  # probability beyond the end of a curve


def plot_null(result: TestResult, ax: Axes | None = None) -> Axes:
    """Plot the distribution of a statistic under the null hypothesis, and the observed value.

    Parameters
    ----------
    result : TestResult
        What a test returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import two_sample_test
    >>> from mercer.plots.two_sample import plot_null
    >>> rng = np.random.default_rng(0)
    >>> result = two_sample_test(rng.normal(0, 1, 50), rng.normal(1, 1, 50), rng=0)
    >>> ax = plot_null(result)  # doctest: +SKIP
    """
    if result.null is None and result.distribution is None:
        raise ValueError("this result has no null distribution to draw.")
    ax = canvas(ax)
    style: dict[str, Any] = {"color": BLUE, "alpha": 0.45, "label": "under the null hypothesis"}
    if result.null is not None:
        count = min(60, max(10, round(np.sqrt(len(result.null)))))
        ax.hist(result.null, bins=count, density=True, **style)
    else:
        t, density = _density(result)
        ax.fill_between(t, density, **style)
    ax.axvline(result.statistic, color=ROSE, linewidth=2.2, label="observed")
    ax.set(xlabel="statistic", ylabel="density", title=f"p = {result.pvalue:.3g}")
    ax.set_ylim(0, 1.25 * ax.get_ylim()[1])  # room for the legend
    ax.legend(frameon=False)
    return ax


def plot_witness(X: Data, Y: Data, kernel: Any = None, ax: Axes | None = None) -> Axes:
    """Plot the witness function of two samples on the line or in the plane, with the samples.

    Parameters
    ----------
    X, Y : array of shape (n,), (n, 1) or (n, 2)
        The samples.
    kernel : Kernel, optional
        As for :func:`mercer.witness`.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.plots.two_sample import plot_witness
    >>> rng = np.random.default_rng(0)
    >>> ax = plot_witness(rng.normal(0, 1, 200), rng.laplace(0, 0.7, 200))  # doctest: +SKIP
    """
    from ..stats.witnesses import witness

    A, B = (as_vectors(Z, "plot_witness") for Z in (X, Y))
    if A.shape[1] not in (1, 2) or A.shape[1] != B.shape[1]:
        raise ValueError(
            f"plot_witness draws on the line or in the plane, got {A.shape[1]} and {B.shape[1]} "
            f"features."
        )
    w = witness(A, B, kernel)
    if A.shape[1] == 1:
        return _on_the_line(w, A[:, 0], B[:, 0], canvas(ax))
    return _in_the_plane(w, A, B, axes(ax))


def _on_the_line(w: Any, a: np.ndarray, b: np.ndarray, ax: Axes) -> Axes:
    t = around(np.concatenate([a, b]), POINTS)
    values = w(t[:, None])
    edges = np.linspace(t[0], t[-1], min(60, max(15, len(t) // 10)))
    heights = [np.histogram(z, edges, density=True)[0] for z in (a, b)]
    tallest = max(float(h.max()) for h in heights)
    scale = 0.8 * tallest / max(float(np.abs(values).max()), 1e-300)
    for h, hue, name in zip(heights, (BLUE, ROSE), ("X", "Y"), strict=True):
        ax.stairs(h, edges, fill=True, color=hue, alpha=0.3, label=f"${name}$")
    ax.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    ax.plot(t, scale * values, color=INK, linewidth=2.2, label="witness function, scaled")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.3 * (high - low))  # room for the legend
    ax.set(xlabel="$x$", ylabel="density", xlim=(t[0], t[-1]))
    ax.legend(frameon=False, loc="upper right")
    return ax


def _in_the_plane(w: Any, A: np.ndarray, B: np.ndarray, ax: Axes) -> Axes:
    u, v = (around(np.concatenate([A[:, j], B[:, j]]), _GRID) for j in (0, 1))
    grid = np.stack([g.ravel() for g in np.meshgrid(u, v)], axis=1)
    values = w(grid).reshape(len(v), len(u))
    size = float(np.abs(values).max())
    levels = np.linspace(-size, size, 15)
    drawn = ax.contourf(u, v, values, levels=levels, cmap=SIGNED, alpha=0.8)
    for Z, hue, name in ((A, BLUE, "X"), (B, ROSE, "Y")):
        dots: Any = {"s": 9, "color": hue, "edgecolor": "white", "linewidth": 0.3}
        ax.scatter(Z[:, 0], Z[:, 1], label=f"${name}$", **dots)
    ax.figure.colorbar(drawn, ax=ax, label="witness: more of Y  |  more of X")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=u[[0, -1]], ylim=v[[0, -1]])
    ax.legend(loc="upper right", framealpha=0.85, edgecolor="none")
    return ax


def _density(result: TestResult) -> tuple[np.ndarray, np.ndarray]:
    """A density from the survival function, over all but its far tails and up to the statistic."""
    null: Any = result.distribution
    high = max(abs(result.statistic), 1e-300)
    while float(null.sf(high)) > _TAIL:
        high *= 2
    low = -high
    t = np.linspace(low, max(high, result.statistic), POINTS)
    tail = np.asarray(null.sf(t))
    inside = np.flatnonzero((tail < 1 - _TAIL) & (tail > _TAIL))
    first, last = (inside[0], inside[-1]) if len(inside) else (0, -1)
    t = np.linspace(t[max(first - 1, 0)], max(t[last], result.statistic), POINTS)
    return t, np.maximum(-np.gradient(np.asarray(null.sf(t)), t), 0)
