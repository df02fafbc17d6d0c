"""Pictures of fitted models: the one that suits, or what they predict against what was seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.metrics import confusion_matrix
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..data import Data, as_samples, holds_numbers, is_frame
from .figure import BLUE, HUES, INK, SCALE, Axes, axes, canvas
from .intervals import intervals
from .regression import plot_fit
from .svm import plot_decision, plot_tube

_MOST_CLASSES = 25  # whose numbers are written into a confusion matrix


def plot_model(model: Any, X: Data, y: Any = None, ax: Axes | None = None, **options: Any) -> Axes:
    """The picture that suits a fitted model.

    A regression of one variable is a curve with the data (:func:`plot_fit`, or with its tube
    :func:`plot_tube`); a classifier or a one-class machine in the plane, what it decides
    (:func:`plot_decision`). With more columns, ``column`` or ``columns`` pick a section; without
    them, predictions are drawn against what was seen (:func:`plot_predictions`,
    :func:`plot_confusion`). Of what finds components or clusters, the samples
    (:func:`plot_components`).

    Parameters
    ----------
    model : estimator
        Fitted.
    X : data
        Samples.
    y : array, optional
        Their targets or labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    **options
        Those of the function that draws.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelRidge
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = KernelRidge(0.1, kernel=Gaussian()).fit(X, np.sin(X[:, 0]))
    >>> ax = model.plot(X, np.sin(X[:, 0]))  # doctest: +SKIP
    """
    check_is_fitted(model)
    width = _width(X := as_samples(X))
    if is_regressor(model):
        if width == 1 or "column" in options:
            tube = hasattr(model, "shape_fit_") and y is not None and not options
            if tube and not is_frame(X) and len(X) == model.shape_fit_[0]:
                return plot_tube(model, X, y, ax)
            return plot_fit(model, X, y, ax, **options)
        return plot_predictions(model, X, _needed(y), ax, **options)
    decides = hasattr(model, "decision_function") and (width == 2 or "columns" in options)
    if is_classifier(model):
        if decides:
            return plot_decision(model, X, y, ax, **options)
        return plot_confusion(model, X, _needed(y), ax, **options)
    if decides:
        return plot_decision(model, X, y, ax, **options)
    if hasattr(model, "transform") or hasattr(model, "predict"):
        return plot_components(model, X, y, ax, **options)
    raise TypeError(f"plot is not available for {type(model).__name__}.")


def plot_predictions(
    model: Any, X: Data, y: Any, ax: Axes | None = None, *, level: float = 0.9
) -> Axes:
    """Plot observed against predicted values of a regressor, with its intervals if it has any.

    Parameters
    ----------
    model : regressor
        Fitted.
    X : data
        Samples, preferably not used for training.
    y : array of shape (n,)
        Their targets.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    level : float
        Of the intervals.

    Returns
    -------
    matplotlib Axes
    """
    y = column_or_1d(y)
    check_consistent_length(X, y)
    f = np.asarray(model.predict(X), dtype=float).reshape(len(y), -1)
    if f.shape[1] != 1:
        raise ValueError("plot_predictions draws models with one output.")
    f = f[:, 0]
    ax = canvas(ax)
    bands = intervals(model, X, level, noise=True)
    if bands:
        ends = np.abs(np.stack([bands[0].low[:, 0], bands[0].high[:, 0]]) - f)
        style: dict[str, Any] = {"fmt": "none", "ecolor": BLUE, "alpha": 0.25, "elinewidth": 1}
        ax.errorbar(f, f, ends, label=f"{100 * level:g}% interval", **style)
    ax.scatter(f, y, s=14, color=BLUE, alpha=0.6, linewidth=0, zorder=3)
    both = np.concatenate([f, y])
    low, high = float(np.nanmin(both)), float(np.nanmax(both))
    ax.plot([low, high], [low, high], "--", color=INK, linewidth=1, zorder=2)
    error = float(np.sqrt(np.nanmean((y - f) ** 2)))
    ax.set(xlabel="predicted", ylabel="observed", title=f"RMSE {error:.3g}")
    if bands:
        ax.legend(frameon=False)
    return ax


def plot_confusion(model: Any, X: Data, y: Any, ax: Axes | None = None) -> Axes:
    """How often each class is taken for each: true ones in rows, as shares of their row.

    Parameters
    ----------
    model : classifier
        Fitted.
    X : data
        Samples, preferably not used for training.
    y : array of shape (n,)
        Their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    y = column_or_1d(y)
    check_consistent_length(X, y)
    found = np.asarray(model.predict(X))
    classes = np.unique(np.concatenate([y, found.astype(y.dtype)]))
    counts = confusion_matrix(y, found, labels=classes)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax = axes(ax)
    drawn: Any = ax.imshow(share, cmap=SCALE, vmin=0, vmax=1)
    ax.figure.colorbar(drawn, ax=ax, label="share of the true class", shrink=0.8)
    names = [str(label) for label in classes]
    turned: dict[str, Any] = {"rotation": 45, "ha": "right"} if max(map(len, names)) > 4 else {}
    ax.set_xticks(range(len(names)), names, **turned)
    ax.set_yticks(range(len(names)), names)
    if len(names) <= _MOST_CLASSES:
        for (i, j), number in np.ndenumerate(counts):
            ink = "black" if share[i, j] > 0.6 else "white"
            ax.text(j, i, str(number), ha="center", va="center", color=ink, size=8)
    ax.set(xlabel="predicted", ylabel="true", title=f"accuracy {np.mean(found == y):.3f}")
    return ax


def plot_components(model: Any, X: Data, y: Any = None, ax: Axes | None = None) -> Axes:
    """Samples by the first two components of a transformer; or in the plane, by their cluster.

    Parameters
    ----------
    model : transformer or clustering
        Fitted: KernelPCA, KernelKMeans, ...
    X : data
        Samples.
    y : array, optional
        Labels or numbers that colour the points; by default those of clusters.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
    """
    clusters = np.asarray(model.predict(X)) if hasattr(model, "predict") else None
    if clusters is not None and _width(X) in (1, 2):
        points, names = np.asarray(X, dtype=float).reshape(len(X), -1), ("$x_1$", "$x_2$")
    else:
        points, names = np.asarray(model.transform(X)), ("component 1", "component 2")
    if points.ndim != 2:
        raise ValueError("plot_components draws models of one data set.")
    if points.shape[1] == 1:
        points = np.column_stack([points[:, 0], np.zeros(len(points))])
    labels = clusters if y is None else np.asarray(y)
    ax = canvas(ax)
    dots: dict[str, Any] = {"s": 18, "linewidth": 0.3, "edgecolor": "white"}
    if labels is None:
        ax.scatter(points[:, 0], points[:, 1], color=BLUE, **dots)
    elif labels.dtype.kind == "f" and len(np.unique(labels)) > 10:
        drawn: Any = ax.scatter(points[:, 0], points[:, 1], c=labels, cmap=SCALE, **dots)
        ax.figure.colorbar(drawn, ax=ax)
    else:
        for k, label in enumerate(np.unique(labels)):
            at = labels == label
            hue = HUES[k % len(HUES)]
            ax.scatter(points[at, 0], points[at, 1], color=hue, label=str(label), **dots)
        ax.legend(frameon=False, fontsize="small")
    ax.set(xlabel=names[0], ylabel=names[1])
    return ax


def _width(X: Data) -> int:
    """The number of columns; 0 if samples are no rows of numbers."""
    if is_frame(X):
        return len(X.columns)
    if not holds_numbers(X):
        return 0
    shape = X.shape if hasattr(X, "shape") else np.shape(X)
    return int(shape[1]) if len(shape) > 1 else 1


def _needed(y: Any) -> Any:
    if y is None:
        raise ValueError(
            "observed values are drawn against predictions: pass y, or select columns."
        )
    return y
