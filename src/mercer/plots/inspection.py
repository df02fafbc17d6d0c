"""Pictures of what a model does: its curves of errors, what counts, and how predictions depend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.inspection import permutation_importance
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..checks import check_count
from ..data import Data, evenly, is_frame, take
from ..frames import names as names_of
from ..frames import opened
from .figure import BLUE, HUES, INK, Axes, canvas

_LINES = 30  # single samples that are drawn beside their mean
_MOST = 30  # columns


def plot_curve(model: Any, X: Data, y: Any, ax: Axes | None = None, *, curve: str = "roc") -> Axes:
    """Plot the ROC or the precision-recall curve of a classifier.

    ``"roc"`` draws the true positive rate against the false positive rate; ``"pr"`` draws precision
    against recall, which says more about rare classes. With several classes, there is a curve for
    each, against all others.

    Parameters
    ----------
    model : classifier or novelty detector
        Fitted, with ``decision_function`` or ``predict_proba``. For novelty detectors, y is 1 for
        inliers and -1 for outliers.
    X : data
        Samples, preferably not used for training.
    y : array of shape (n,)
        Their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    curve : {"roc", "pr"}
        Which.

    Returns
    -------
    matplotlib Axes
    """
    if curve not in ("roc", "pr"):
        raise ValueError(f'curve must be "roc" or "pr", got {curve!r}.')
    check_is_fitted(model)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    classes = getattr(model, "classes_", np.array([-1, 1]))
    scores = _scores(model, X)
    columns = (
        [(classes[1], scores)] if scores.ndim == 1 else list(zip(classes, scores.T, strict=True))
    )
    ax = canvas(ax)
    for place, (label, f) in enumerate(columns):
        hue = HUES[place % len(HUES)] if len(columns) > 1 else BLUE
        if curve == "roc":
            false, found, _ = roc_curve(y == label, f)
            ax.plot(false, found, color=hue, label=f"{label}: area {auc(false, found):.3f}")
        else:
            right, found, _ = precision_recall_curve(y == label, f)
            mean = average_precision_score(y == label, f)
            ax.step(found, right, where="post", color=hue, label=f"{label}: mean {mean:.3f}")
    if curve == "roc":
        ax.plot([0, 1], [0, 1], "--", color=INK, lw=1)
        ax.set(xlabel="false positive rate", ylabel="true positive rate")
    else:
        ax.set(xlabel="recall", ylabel="precision")
        ax.set(ylim=(0, 1.03))
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_importance(
    model: Any,
    X: Data,
    y: Any,
    ax: Axes | None = None,
    *,
    n_repeats: int = 10,
    random_state: Any = 0,
) -> Axes:
    """Plot permutation importance: the decrease of the score when a column is shuffled, with its
    variation.

    Parameters
    ----------
    model : classifier or regressor
        Fitted, with ``score``.
    X : array or table of shape (n, d)
        Samples on which the model was not trained.
    y : array of shape (n,)
        Their targets or labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    n_repeats : int
        How often each column is shuffled.
    random_state : int, RandomState or None
        The seed of the shuffles.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    check_count("n_repeats", n_repeats)
    found = permutation_importance(model, X, y, n_repeats=n_repeats, random_state=random_state)
    names = _names(X, len(found.importances_mean))
    order = np.argsort(-found.importances_mean, kind="stable")[:_MOST][::-1]
    ax = canvas(ax)
    ax.barh(
        [names[j] for j in order], found.importances_mean[order], color=BLUE, alpha=0.8,
        xerr=found.importances_std[order], ecolor=INK,
    )  # fmt: skip
    ax.axvline(0, color=INK, lw=0.8)
    ax.set(xlabel="decrease of the score when the column is shuffled")
    return ax


def plot_partial(
    model: Any, X: Data, column: Any, ax: Axes | None = None, *, grid: int = 60
) -> Axes:
    """Plot partial dependence: predictions as one column varies and all others stay fixed, for
    samples and on average.

    Lines of single samples that are not parallel indicate interactions between columns. Marks below
    are the observed values.

    Parameters
    ----------
    model : estimator
        Fitted; ``predict`` is drawn, or, for classifiers with two classes, the probability or score
        of the second.
    X : array or table of shape (n, d)
        Samples.
    column : int or str
        The number of the column, or its name in a table.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    grid : int
        The number of values.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    check_count("grid", grid, 2)
    X = opened(X)
    X = X.toarray() if sp.issparse(X) else X
    own = np.asarray(X[column] if is_frame(X) else np.asarray(X)[:, column], dtype=np.float64)
    values = np.linspace(np.nanmin(own), np.nanmax(own), grid)
    predict: Callable[[Data], np.ndarray] = model.predict
    if is_classifier(model):
        predict = _probability(model, X)
    lines = np.stack([predict(_replaced(X, column, value)) for value in values])
    if lines.ndim != 2:
        raise ValueError("plot_partial draws models with one output, or with two classes.")
    some = evenly(len(own), _LINES)
    ax = canvas(ax)
    ax.plot(values, lines[:, some], color=INK, lw=0.6, alpha=0.3)
    ax.plot(values, lines.mean(axis=1), color=BLUE, lw=2.5, label="mean")
    ax.plot(own, np.zeros(len(own)), "|", color=INK, alpha=0.5, transform=ax.get_xaxis_transform())
    ax.set(xlabel=str(column) if is_frame(X) else f"$x_{{{column + 1}}}$", ylabel="predicted")
    return ax


def plot_correlations(
    model: Any, X: Data, Y: Data = None, ax: Axes | None = None, *, component: int = 0
) -> Axes:
    """Plot the scores of two views against each other, for a canonical correlation model.

    Parameters
    ----------
    model : CCA, KernelCCA, FunctionalCCA, ...
        Fitted.
    X, Y : data
        The views, as ``transform`` takes them; X may be a list of all.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    component : int
        Which pair of scores, 0 for that of the largest correlation.

    Returns
    -------
    matplotlib Axes
    """
    check_is_fitted(model)
    scores = model.transform(X, Y) if Y is not None else model.transform(X)
    a, b = (np.asarray(view)[:, component] for view in scores[:2])
    ax = canvas(ax)
    ax.scatter(a, b, s=14, color=BLUE, alpha=0.6, linewidth=0)
    r = float(np.corrcoef(a, b)[0, 1])
    ax.set(xlabel="first view", ylabel="second view", title=f"correlation {r:.2f}")
    return ax


def _scores(model: Any, X: Data) -> np.ndarray:
    """One number for each sample, or one for each class."""
    if hasattr(model, "predict_proba"):
        p = np.asarray(model.predict_proba(X))
        return p[:, 1] if p.shape[1] == 2 else p
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    raise TypeError(
        f"{type(model).__name__} has no scores; give a model with decision_function or "
        f"predict_proba."
    )


def _probability(model: Any, X: Data) -> Callable[[Data], np.ndarray]:
    if len(model.classes_) != 2:
        raise ValueError("plot_partial draws models with one output, or with two classes.")
    return lambda rows: _scores(model, rows)


def _replaced(X: Data, column: Any, value: float) -> Data:
    """All samples with the same value in one column."""
    if is_frame(X):
        copied: Any = X
        if hasattr(copied, "with_columns"):  # polars
            return copied.with_columns(**{column: value})
        return copied.assign(**{column: value})
    array = np.array(take(X, slice(None)), dtype=np.float64)
    array[:, column] = value
    return array


def _names(X: Data, count: int) -> list[str]:
    return [str(n) for n in names_of(X)] if is_frame(X) else [f"x{j + 1}" for j in range(count)]
