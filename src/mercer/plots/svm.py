"""Pictures of support vector machines: boundaries with margins, losses, tubes."""

from __future__ import annotations

from collections import Counter
from operator import itemgetter
from typing import Any

import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..checks import check_count
from ..data import Data, as_dense, as_samples, as_vectors, is_frame, length
from ..frames import all_numbers, as_table
from .figure import BLUE, HUES, INK, POINTS, ROSE, Axes, around, axes, canvas

_HUES = [ROSE, BLUE, *HUES[2:]]  # the negative class comes first
_MARKS = ["s", "o", "^", "D", "v"]
_PALE, _DEEP = 0.12, 0.32  # tints of a class inside and outside the margin


def plot_decision(
    model: Any,
    X: Data,
    y: Any = None,
    ax: Axes | None = None,
    resolution: int = 200,
    columns: tuple[Any, Any] | None = None,
) -> Axes:
    """Plot the decision regions of a classifier or a one-class SVM in the plane.

    Two classes: the boundary f = 0 as a line, the margins f = ±1 dashed, the tint paler between
    them; a circle around support vectors on the margin (free), a diamond around those beyond it
    (bounded). More classes: their regions. One-class machines: the region f >= 0, and levels of f
    outside.

    Parameters
    ----------
    model : SVC, NuSVC, LSSVC or OneClassSVM
        Fitted. Other models with ``decision_function`` and ``predict`` can be drawn, too.
    X : array or table
        Points to draw; they set the limits of the picture.
    y : array, optional
        Labels of the points.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    resolution : int
        Points of the grid along each axis.
    columns : pair, optional
        The two columns to draw when X has more, by position, or by name in a table. The picture is
        then a section: the others are at their medians (at the most common value if they are not
        numbers), and points are projected onto it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVC
    >>> from mercer.plots.svm import plot_decision
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> y = ["same", "same", "differ", "differ"]
    >>> ax = plot_decision(SVC(C=10).fit(X, y), X, y)  # doctest: +SKIP
    """
    check_is_fitted(model)
    if getattr(model, "kernel", None) == "precomputed":
        raise ValueError(
            "plot_decision evaluates the kernel on a grid, which is not possible with a "
            "precomputed matrix."
        )
    check_count("resolution", resolution, 2)
    section = _Section(X, columns)
    points = section.project(section.X)
    a, b = (around(values, resolution) for values in points.T)
    grid = section.lift(np.stack([u.ravel() for u in np.meshgrid(a, b)], axis=1))
    f = model.decision_function(grid)
    alone, ax = ax is None, axes(ax)
    if f.ndim == 2:
        _draw_regions(model.predict(grid).reshape(len(b), len(a)), model.classes_, a, b, ax)
    elif hasattr(model, "classes_"):
        _draw_sides(f.reshape(len(b), len(a)), a, b, ax)
    else:
        _draw_level_set(f.reshape(len(b), len(a)), a, b, ax)
    _draw_points(points, y, getattr(model, "classes_", ()), ax)
    if f.ndim == 1 and length(vectors := getattr(model, "support_vectors_", ())):
        _ring(section.project(vectors), _bounded(model, section.named(vectors)), ax)
    ax.set(xlabel=section.names[0], ylabel=section.names[1], xlim=a[[0, -1]], ylim=b[[0, -1]])
    _legend(ax, below=alone)
    return ax


def plot_losses(ax: Axes | None = None) -> Axes:
    """The hinge loss of support vector machines against the zero-one loss that it replaces.

    Both as functions of the margin y f(x), with the squared hinge and the logistic loss (to base
    2) as thin lines: all are convex and nowhere below the zero-one loss.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> from mercer.plots.svm import plot_losses
    >>> ax = plot_losses()  # doctest: +SKIP
    """
    ax = canvas(ax)
    u = np.linspace(-2, 2.5, POINTS)
    hinge = np.maximum(0, 1 - u)
    thin: dict[str, Any] = {"linewidth": 1.2, "zorder": 2}
    ax.plot(u, hinge**2, "--", color="#228833", label=r"squared hinge $\max(0, 1 - u)^2$", **thin)
    words = r"logistic $\log_2(1 + e^{-u})$"
    ax.plot(u, np.logaddexp(0, -u) / np.log(2), "-.", color="#aa3377", label=words, **thin)
    step: dict[str, Any] = {"color": _HUES[0], "linewidth": 2.4, "zorder": 3}
    ax.plot([u[0], 0, np.nan, 0, u[-1]], [1, 1, np.nan, 0, 0], label="zero-one", **step)
    for height, fill in ((1, "white"), (0, _HUES[0])):
        ax.plot([0], [height], "o", color=_HUES[0], markerfacecolor=fill, markersize=6, zorder=5)
    ax.plot(u, hinge, color=_HUES[1], linewidth=2.4, label=r"hinge $\max(0, 1 - u)$", zorder=4)
    ax.axvline(1, color="0.8", linewidth=0.8, zorder=0)
    ax.set(xlabel="$u = y f(x)$", ylabel="loss", xlim=(u[0], u[-1]), ylim=(-0.12, 4))
    handles, labels = ax.get_legend_handles_labels()
    ax.legend(handles[2:] + handles[:2], labels[2:] + labels[:2], frameon=False)
    return ax


def plot_tube(model: Any, X: Data, y: Any, ax: Axes | None = None) -> Axes:
    """A support vector regression on the line, with its tube f ± epsilon.

    Samples inside the tube are grey and leave the solution as it is. A circle marks support
    vectors on the edge of the tube (free), a diamond those outside (bounded).

    Parameters
    ----------
    model : SVR or NuSVR
        Fitted to X and y.
    X : array of shape (n,) or (n, 1)
        The training samples.
    y : array of shape (n,)
        Their targets.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SVR, Gaussian
    >>> from mercer.plots.svm import plot_tube
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> ax = plot_tube(SVR(kernel=Gaussian(), epsilon=0.2).fit(X, y), X, y)  # doctest: +SKIP
    """
    check_is_fitted(model)
    x = np.asarray(X, dtype=float).reshape(length(X), -1)
    y = np.asarray(y, dtype=float)
    check_consistent_length(x, y)
    if x.shape[1] != 1:
        raise ValueError(f"plot_tube draws functions of one variable, but X has {x.shape[1]}.")
    if len(x) != model.shape_fit_[0]:
        raise ValueError(f"plot_tube needs the {model.shape_fit_[0]} samples the model was fitted "
                         f"to, got {len(x)}.")  # fmt: skip
    epsilon = getattr(model, "epsilon_", None)
    epsilon = model.epsilon if epsilon is None else epsilon
    t = around(x[:, 0], POINTS)
    f = model.predict(t[:, None])
    alone, ax = ax is None, canvas(ax)
    words = rf"tube $f \pm {epsilon:.2g}$"
    ax.fill_between(
        t, f - epsilon, f + epsilon, color=_HUES[1], alpha=0.15, linewidth=0, label=words
    )
    for edge in (f - epsilon, f + epsilon):
        ax.plot(t, edge, "--", color=_HUES[1], linewidth=1)
    ax.plot(t, f, color=_HUES[1], linewidth=2.2, label="$f$", zorder=3)
    support = np.zeros(len(x), bool)
    support[model.support_] = True
    style: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 4, "zorder": 4}
    ax.plot(x[~support, 0], y[~support], color="0.6", **style)
    ax.plot(x[support, 0], y[support], color=INK, **style)
    beyond = np.abs(y - model.predict(x)) > epsilon + model.tol
    _ring(np.column_stack([x, y])[support], beyond[support], ax)
    ax.set(xlabel="$x$", ylabel="$y$", xlim=t[[0, -1]])
    _legend(ax, below=alone)
    return ax


class _Section:
    """A plane in the space of samples: two columns vary, the others stay in the middle."""

    def __init__(self, X: Data, pair: Any) -> None:
        X = as_samples(X)
        known = list(X.columns) if is_frame(X) else list(range(_dense(X).shape[1]))
        if pair is None and len(known) != 2:
            raise ValueError(
                f"plot_decision draws two columns, but X has {len(known)}; choose them with "
                f"columns=({known[0]!r}, {known[-1]!r})."
            )
        pair = known if pair is None else list(pair)
        if len(pair) != 2 or not all(c in known for c in pair):
            listed = ", ".join(map(repr, known))
            raise ValueError(f"columns must be two of {listed}; got {pair!r}.")
        self.X, self.places = X, [known.index(c) for c in pair]
        self.names = [str(c) if is_frame(X) else f"$x_{{{c + 1}}}$" for c in pair]

    def project(self, X: Data) -> np.ndarray:
        """The two columns of samples, as an (n, 2) array."""
        if is_frame(X):
            return _dense(X[[list(X.columns)[place] for place in self.places]])
        return _dense(X)[:, self.places]

    def named(self, X: Data) -> Data:
        """Samples of which a model has dropped the names, with those of the table again."""
        return as_table(X, self.X) if is_frame(self.X) else X

    def lift(self, points: np.ndarray) -> Data:
        """Samples with the given two columns, in the container of X."""
        if not is_frame(self.X):
            samples = np.tile(np.median(_dense(self.X), axis=0), (len(points), 1))
            samples[:, self.places] = points
            return samples
        middle = {name: [_middle(self.X, name)] * len(points) for name in self.X.columns}
        moved = {self.X.columns[j]: points[:, k] for k, j in enumerate(self.places)}
        return type(self.X)({**middle, **moved})


def _middle(X: Any, name: Any) -> Any:
    """The median of a column of numbers; the most frequent value of one of anything else."""
    values = X[name].to_list()
    present = [v for v in values if v is not None and v == v]
    if all_numbers(present) and not all(isinstance(v, bool) for v in present):
        return float(np.median(present))
    return max(Counter(present).items(), key=itemgetter(1), default=(None, 0))[0]


def _draw_sides(f: np.ndarray, a: np.ndarray, b: np.ndarray, ax: Axes) -> None:
    """Two classes: tints of both sides, boundary and margins."""
    tints = [(_HUES[0], _DEEP), (_HUES[0], _PALE), (_HUES[1], _PALE), (_HUES[1], _DEEP)]
    ax.contourf(a, b, f, levels=[-np.inf, -1, 0, 1, np.inf], colors=tints)
    for level, style, width in ((-1, "--", 1.0), (0, "-", 1.8), (1, "--", 1.0)):
        if f.min() < level < f.max():
            ax.contour(a, b, f, levels=[level], colors=INK, linestyles=style, linewidths=width)


def _draw_regions(labels: np.ndarray, classes: Any, a: np.ndarray, b: np.ndarray, ax: Axes) -> None:
    """Many classes: a tint for each region, and the lines between."""
    for k, label in enumerate(classes):
        # blurred by a cell, so that lines are not stairs
        here = gaussian_filter((labels == label).astype(float), 1.0, mode="nearest")
        if here.max() > 0.5:
            ax.contourf(a, b, here, levels=[0.5, 2], colors=[(_HUES[k % len(_HUES)], _DEEP)])
        if here.min() < 0.5 < here.max():
            ax.contour(a, b, here, levels=[0.5], colors=INK, linewidths=1)


def _draw_level_set(f: np.ndarray, a: np.ndarray, b: np.ndarray, ax: Axes) -> None:
    """One class: the region, its edge, and how f falls off outside."""
    if f.min() < 0:
        levels = np.linspace(f.min(), 0, 6)
        greys = [("0.4", shade) for shade in np.linspace(0.4, 0.05, len(levels) - 1)]
        ax.contourf(a, b, f, levels=levels, colors=greys)
    if f.max() > 0:
        ax.contourf(a, b, f, levels=[0, np.inf], colors=[(_HUES[1], _DEEP)])
    if f.min() < 0 < f.max():
        ax.contour(a, b, f, levels=[0], colors=INK, linewidths=1.8)


def _draw_points(points: np.ndarray, y: Any, classes: Any, ax: Axes) -> None:
    """The samples, with a colour and a mark for each label."""
    style: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.5, "zorder": 3}
    style["s"] = 26 if len(points) <= 400 else 9
    a, b = points.T
    if y is None:
        ax.scatter(a, b, color="0.35", **style)
        return
    y = np.asarray(y)
    check_consistent_length(points, y)
    for k, label in enumerate(dict.fromkeys([*classes, *np.unique(y)])):
        hue, mark = _HUES[k % len(_HUES)], _MARKS[k % len(_MARKS)]
        at = y == label
        ax.scatter(a[at], b[at], color=hue, marker=mark, label=str(label), **style)


def _bounded(model: Any, vectors: Data) -> np.ndarray:
    """Which support vectors lie beyond the margin."""
    f = model.decision_function(vectors)
    slack = 1 - np.sign(model.dual_coef_[0]) * f if hasattr(model, "classes_") else -f
    if not hasattr(model, "reports_"):
        return slack > model.tol
    # as many as the certificate counts: the picture and decision_path() agree, whatever tol is
    bounded = np.zeros(len(slack), bool)
    bounded[np.argsort(-slack, kind="stable")[: model.reports_[0].bounded]] = True
    return bounded


def _ring(points: np.ndarray, bounded: np.ndarray, ax: Axes) -> None:
    """Circles around free support vectors, diamonds around bounded ones."""
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "zorder": 4}
    for at, mark, size, width, words in (
        (~bounded, "o", 95, 1.5, "free support vectors"),
        (bounded, "D", 58, 0.7, "bounded support vectors"),
    ):
        if at.any():
            a, b = points[at].T
            ax.scatter(a, b, s=size, marker=mark, linewidths=width, label=words, **ring)


def _legend(ax: Axes, below: bool) -> None:
    """Below the axes of a figure of our own, where it covers nothing; else inside."""
    options: dict[str, Any] = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"}
    if below:
        options |= {"loc": "upper center", "bbox_to_anchor": (0.5, -0.13), "ncols": 2}
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**options)


def _dense(X: Data) -> np.ndarray:
    return as_dense(as_vectors(X, "plot_decision"))
