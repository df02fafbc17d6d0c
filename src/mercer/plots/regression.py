"""Pictures of regression on the line: curves with bands and data, draws of a Gaussian process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from ..checks import check_count
from ..data import Data, as_samples, as_vectors, is_frame
from ..randomness import as_generator
from .figure import HUES, POINTS, Axes, around, canvas, grid
from .intervals import LEVEL, as_columns, intervals, middle, normal_quantile
from .svm import _legend, _Section

if TYPE_CHECKING:
    from ..kernels.base import Kernel

_INK = "0.25"  # of data


def plot_fit(
    model: Any,
    X: Data,
    y: Any = None,
    ax: Axes | None = None,
    *,
    level: float | Sequence[float] | None = None,
    noise: bool | None = None,
    samples: int = 0,
    where: Any = None,
    column: Any = None,
    label: str | None = None,
    rng: Any = 0,
) -> Axes:
    """Plot a regressor of one variable: its curve, its uncertainty, and the data.

    The uncertainty comes from one of three sources: ``predict_interval``
    (:class:`mercer.ConformalRegressor`); ``predict(X, return_std=True)``, as the band mean ± z std
    of a normal distribution (Gaussian processes and their parts); or several ``quantiles``, as the
    bands between them (:class:`mercer.KernelQuantileRegressor`). All other models are drawn as a
    curve. A model with several outputs has a curve for each.

    Called again with the same ``ax`` it adds a model in the next colour.

    Parameters
    ----------
    model : regressor
        Fitted, of this library or of scikit-learn; or a part of a Gaussian process.
    X : array of shape (n,) or (n, d), or a table
        Samples; they set the limits of the picture.
    y : array of shape (n,) or (n, t), optional
        Their targets, NaN where missing: drawn as points.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    level : float or list of float, optional
        The coverage probability of the band at each x, by default that of the model or 0.9; a list
        gives nested bands. Bands between quantiles have their own.
    noise : bool, optional
        Whether to draw the band for new observations instead of the function, if the model
        distinguishes them. By default true if y is given, unless functions are drawn or the noise
        is known for each sample.
    samples : int
        Functions drawn from the posterior, of models with ``sample_y``.
    where : (low, high) or array, optional
        An interval or a grid; by default the range of X and some space around.
    column : int or str, optional
        The column to draw when X has more, by position, or by name in a table. The picture is then
        a section: the others are at their medians (at the most common value if they are not
        numbers).
    label : str, optional
        The name of the model in the legend.
    rng : int, Generator or None
        Used to draw the functions.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import GaussianProcessRegressor
    >>> from mercer.plots.regression import plot_fit
    >>> X = np.linspace(0, 6, 20)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> ax = plot_fit(GaussianProcessRegressor().fit(X, y), X, y, samples=3)  # doctest: +SKIP
    """
    check_count("samples", samples, 0)
    _check_model(model, samples)
    line = _Line(X, column)
    t = around(line.x, POINTS) if where is None else grid(where)
    T = line.lift(t[:, None])
    curves, words = middle(model, T)
    several = curves.shape[1] > 1
    if noise is None:
        noise = y is not None and not samples and np.ndim(getattr(model, "alpha", 0)) == 0
    bands = intervals(model, T, level, noise)
    targets = _check_targets(y, line.x, max(1, curves.shape[1]))
    draws = _draws(model, T, samples, rng)

    alone, ax = ax is None, canvas(ax)
    start = len({drawn.get_gid() for drawn in ax.lines} - {None})
    for j in range(max(1, curves.shape[1])):
        hue = HUES[(start + j) % len(HUES)]
        mark: dict[str, Any] = {"color": hue, "gid": f"fit {start + j}"}
        for depth, band in enumerate(bands):
            about = f"{label}: {band.words}" if label else band.words
            shade: dict[str, Any] = {"alpha": 0.18 + 0.3 * depth / len(bands)}
            shade["label"] = None if several or depth > 2 else about
            _draw_band(t, band.low[:, j], band.high[:, j], mark, ax, edges=not samples, **shade)
        if samples:
            lines = ax.plot(t, draws[:, j], linewidth=0.9, alpha=0.7, zorder=2.5, **mark)
            lines[0].set_label(None if several else "draws")
        if curves.size:
            name = f"{label or 'output'} {j + 1}" if several else label or words
            ax.plot(t, curves[:, j], linewidth=2.2, label=name, zorder=3, **mark)
        if targets is not None:
            size = 4 if len(targets) <= 200 else 2.5
            dots: dict[str, Any] = {"color": hue if several else _INK, "markersize": size}
            ax.plot(line.x, targets[:, j], "o", zorder=2.2, **dots)
    ax.set(xlabel=line.name, ylabel="$y$", xlim=(t.min(), t.max()))
    _legend(ax, below=alone)
    return ax


def plot_process(
    kernel: Kernel,
    where: Any = (-4.0, 4.0),
    ax: Axes | None = None,
    *,
    samples: int = 5,
    level: float | None = LEVEL,
    rng: Any = 0,
) -> Axes:
    r"""Functions drawn from the Gaussian process with mean zero whose covariance is a kernel.

    The band :math:`\pm z \sqrt{k(x, x)}` holds each value with the probability ``level``. With
    ``k.given(z, noise)`` these are functions that were seen to be zero at z.

    Parameters
    ----------
    kernel : Kernel
        A kernel of one variable.
    where : (low, high) or array
        An interval or a grid.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    samples : int
        The number of functions.
    level : float or None
        The probability that the band holds at each x; None draws no band.
    rng : int, Generator or None
        Used to draw the functions.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer import Matern
    >>> from mercer.plots.regression import plot_process
    >>> ax = plot_process(Matern(), (0, 10))  # doctest: +SKIP
    """
    check_count("samples", samples)
    t = grid(where)
    K = kernel(t[:, None])
    ax = canvas(ax)
    if level is not None:
        edge = normal_quantile(level) * np.sqrt(np.maximum(np.diagonal(K), 0))
        _draw_band(t, -edge, edge, {"color": "0.55"}, ax, alpha=0.18)
    normal = as_generator(rng).standard_normal((len(t), samples))
    values, vectors = np.linalg.eigh(K)  # close points: rounding leaves no Cholesky factor
    draws = vectors * np.sqrt(np.maximum(values, 0)) @ normal
    for j, f in enumerate(draws.T):
        ax.plot(t, f, color=HUES[j % len(HUES)], linewidth=1.5)
    ax.set_title(repr(kernel), fontsize="medium")
    ax.set(xlabel="$x$", ylabel="$f(x)$", xlim=(t.min(), t.max()))
    return ax


def _draws(model: Any, X: Data, count: int, rng: Any) -> np.ndarray:
    """Functions drawn from the posterior, shape (m, outputs, count)."""
    m = len(X)
    if not count:
        return np.empty((m, 1, 0))
    seed = int(as_generator(rng).integers(2**31))
    return np.asarray(model.sample_y(X, count, random_state=seed)).reshape(m, -1, count)


def _draw_band(
    t: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    mark: dict[str, Any],
    ax: Axes,
    edges: bool = True,
    **shade: Any,
) -> None:
    ax.fill_between(t, low, high, color=mark["color"], linewidth=0, **shade)
    for edge in (low, high) if edges else ():
        ax.plot(t, edge, linewidth=0.8, alpha=0.7, **mark)


# ---- what a model and its data are ---------------------------------------------------------
class _Line(_Section):
    """A line in the space of samples: one column varies, the others stay in the middle."""

    def __init__(self, X: Data, column: Any) -> None:
        X = as_samples(X)
        X = X if is_frame(X) else as_vectors(X, "plot_fit")
        known = list(X.columns) if is_frame(X) else list(range(X.shape[1]))
        if column is None and len(known) != 1:
            raise ValueError(
                f"plot_fit draws functions of one variable, but X has {len(known)} columns; choose "
                f"one with column={known[0]!r}."
            )
        column = known[0] if column is None else column
        if column not in known:
            raise ValueError(
                f"column must be one of {', '.join(map(repr, known))}; got {column!r}."
            )
        self.X, self.places = X, [known.index(column)]
        if is_frame(X):
            as_vectors(X[[column]], "plot_fit")
            self.name = str(column)
        else:
            self.name = "$x$" if len(known) == 1 else f"$x_{{{column + 1}}}$"
        self.x = self.project(X)[:, 0].astype(float)


def _check_model(model: Any, samples: int) -> None:
    if not hasattr(model, "predict"):
        raise TypeError(
            f"plot_fit draws fitted regressors, and {type(model).__name__} has no predict; for "
            f"kernels there is plot_process."
        )
    if hasattr(model, "fit"):
        check_is_fitted(model)
    if samples and not hasattr(model, "sample_y"):
        raise ValueError(f"{type(model).__name__} has no sample_y to draw from; omit samples.")


def _check_targets(y: Any, x: np.ndarray, outputs: int) -> np.ndarray | None:
    if y is None:
        return None
    Y = as_columns(np.asarray(y, dtype=float))
    check_consistent_length(x, Y)
    if Y.shape[1] != outputs:
        raise ValueError(f"y has {Y.shape[1]} columns, but the model has outputs: {outputs}.")
    return Y
