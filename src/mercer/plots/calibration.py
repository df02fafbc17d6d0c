"""Pictures of honesty: do events of probability p happen in a fraction p of the cases?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import binom, binomtest
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from ..checks import check_count
from ..data import Data, length
from .figure import HUES, Axes, canvas
from .intervals import intervals, quantiles_of

_LEVELS = [step / 20 for step in range(1, 20)]
_SURE = 0.9  # of what chance alone does


def plot_coverage(
    model: Any,
    X: Data,
    y: Any,
    ax: Axes | None = None,
    *,
    levels: Sequence[float] | None = None,
    label: str | None = None,
) -> Axes:
    """Plot the coverage of the prediction intervals of a regressor against their nominal level.

    Below the diagonal the intervals are too narrow, above it too wide. The points of a perfect
    model are in the grey region with probability 90%: deviations inside it may be due to chance.
    Intervals are those of :func:`mercer.plots.regression.plot_fit`, noise included.

    Called again with the same ``ax`` it adds a model in the next colour.

    Parameters
    ----------
    model : regressor
        Fitted, with ``predict_interval``, ``predict(X, return_std=True)`` or several ``quantiles``.
    X : data
        Samples on which the model was not trained.
    y : array of shape (n,)
        Their targets.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    levels : list of float, optional
        Probabilities in (0, 1), by default from 5% to 95%. Bands between quantiles have their own.
    label : str, optional
        The name of the model in the legend, by default its class.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import ConformalRegressor, Gaussian, KernelRidge
    >>> from mercer.plots.calibration import plot_coverage
    >>> X = np.random.default_rng(0).uniform(0, 6, (300, 1))
    >>> y = np.sin(X[:, 0]) + np.random.default_rng(1).normal(0, 0.2, 300)
    >>> model = ConformalRegressor(KernelRidge(0.1, kernel=Gaussian())).fit(X[:200], y[:200])
    >>> ax = plot_coverage(model, X[200:], y[200:])  # doctest: +SKIP
    """
    check_is_fitted(model)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    asked = _LEVELS if levels is None and quantiles_of(model) is None else levels
    found = intervals(model, X, asked, noise=True)[::-1]
    if not found:
        raise ValueError(
            f"{type(model).__name__} has no prediction intervals: wrap it in ConformalRegressor."
        )
    if found[0].low.shape[1] != 1:
        raise ValueError("plot_coverage needs a model with one output.")
    nominal = np.array([band.level for band in found])
    inside = [np.mean((b.low[:, 0] <= y) & (y <= b.high[:, 0])) for b in found]
    hue, ax = _square(ax)
    if not ax.collections:
        p = np.linspace(0, 1, 201)
        low, high = by_chance(len(y), p)
        ax.fill_between(p, low, high, color="0.5", alpha=0.2, linewidth=0, zorder=0)
    name = type(model).__name__ if label is None else label
    ax.plot(nominal, inside, "o-", color=hue, linewidth=1.8, markersize=4, label=name)
    ax.set(xlabel="probability of the interval", ylabel="fraction of targets inside")
    ax.legend(frameon=False, loc="upper left", fontsize="small")
    return ax


def plot_reliability(
    model: Any,
    X: Data,
    y: Any,
    ax: Axes | None = None,
    *,
    bins: int = 10,
    label: str | None = None,
) -> Axes:
    r"""Plot a reliability diagram: the frequency of a class against its predicted probability.

    With two classes it is the second one; with more, the most probable class of each sample.
    Samples are sorted by that probability and cut into bins of equal size. Bars are 90% intervals
    (Wilson) for the frequency in the bin. The legend has the calibration error

    .. math:: \sum_b \frac{n_b}{n} \, | \text{frequency in bin } b
              - \text{mean probability in bin } b |

    Called again with the same ``ax`` it adds a model in the next colour.

    Parameters
    ----------
    model : classifier
        Fitted, with ``predict_proba``.
    X : data
        Samples on which the model was not trained.
    y : array of shape (n,)
        Their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    bins : int
        How many.
    label : str, optional
        The name of the model in the legend, by default its class.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, KernelLogisticRegression
    >>> from mercer.plots.calibration import plot_reliability
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> y = X[:, 0] + np.random.default_rng(1).normal(size=400) > 0
    >>> model = KernelLogisticRegression(kernel=Gaussian(2.0)).fit(X[:200], y[:200])
    >>> ax = plot_reliability(model, X[200:], y[200:])  # doctest: +SKIP

    References
    ----------
    Niculescu-Mizil & Caruana, *Predicting good probabilities with supervised learning*, ICML 2005;
    Guo, Pleiss, Sun & Weinberger, *On calibration of modern neural networks*, ICML 2017.
    """
    if not hasattr(model, "predict_proba"):
        raise TypeError(
            f"{type(model).__name__} has no predict_proba; an SVC has it with probability=True."
        )
    check_is_fitted(model)
    y = column_or_1d(y)
    check_consistent_length(X, y)
    n = length(X)
    check_count("bins", bins, 1, n)
    P = np.asarray(model.predict_proba(X))
    two = P.shape[1] == 2
    chosen = np.ones(n, int) if two else np.argmax(P, axis=1)
    p = P[np.arange(n), chosen]
    right = model.classes_[chosen] == y
    mean, frequency, ends, error = reliability(p, right, bins)
    bars = np.abs(ends.T - frequency)
    hue, ax = _square(ax)
    name = type(model).__name__ if label is None else label
    style: dict[str, Any] = {"linewidth": 1.8, "elinewidth": 1, "markersize": 4.5}
    words = f"{name} (error {error:.3f})"
    ax.errorbar(mean, frequency, bars, fmt="o-", color=hue, label=words, **style)
    which = f"the probability of {model.classes_[1]}" if two else "the largest probability"
    ax.set(xlabel=which, ylabel="frequency of that class")
    ax.legend(frameon=False, loc="upper left", fontsize="small")
    return ax


def reliability(
    p: np.ndarray, right: np.ndarray, bins: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """By bins of probabilities: their means, how often they are right, intervals; the error."""
    parts = np.array_split(np.argsort(p, kind="stable"), bins)
    mean = np.array([p[part].mean() for part in parts])
    frequency = np.array([right[part].mean() for part in parts])
    ends = np.array([wilson(int(right[part].sum()), len(part)) for part in parts])
    error = np.average(np.abs(mean - frequency), weights=[len(part) for part in parts])
    return mean, frequency, ends, float(error)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """An interval for the probability of what happened so many times out of n."""
    found = binomtest(hits, n).proportion_ci(_SURE, method="wilson")
    return float(found.low), float(found.high)


def by_chance(n: int, p: np.ndarray) -> tuple[np.ndarray, ...]:
    """Where the share of n events of probability p lies, most of the time."""
    return tuple(binom.ppf(q, n, p) / n for q in ((1 - _SURE) / 2, (1 + _SURE) / 2))


def _square(ax: Axes | None) -> tuple[str, Any]:
    """Axes from 0 to 1 with the diagonal, and the next hue."""
    drawn: Any = canvas(ax)
    if ax is None:
        drawn.figure.set_size_inches(4.4, 4.2)
    if not drawn.lines:
        drawn.plot([0, 1], [0, 1], "--", color="0.5", linewidth=1, zorder=1)
        drawn.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    curves = sum(line.get_linestyle() == "-" for line in drawn.lines)
    return HUES[curves % len(HUES)], drawn
