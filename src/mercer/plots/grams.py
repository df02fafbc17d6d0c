"""Pictures of kernel matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .figure import SCALE, SIGNED, Axes, axes

if TYPE_CHECKING:
    from ..gram.base import Gram

_MOST = 1000  # rows and columns of a picture


def plot_gram(gram: Gram, ax: Axes | None = None, *, order: Any = None) -> Axes:
    """Plot a kernel matrix as a heat map; of a large one, evenly spaced rows and columns.

    Parameters
    ----------
    gram : Gram
        The result of ``kernel.gram(X)``; only the entries that are drawn are computed.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    order : array, optional
        The order of the samples, for example by class: ``np.argsort(y)``.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> ax = Gaussian().gram(np.linspace(0, 5, 40)).plot()  # doctest: +SKIP
    """
    n, m = gram.shape
    rows = np.arange(n) if order is None else np.asarray(order)
    if order is not None and (n != m or not np.array_equal(np.sort(rows), np.arange(n))):
        raise ValueError(
            f"order must contain each of the {n} samples of a square Gram exactly once."
        )
    columns = np.arange(m) if order is None else rows
    rows, columns = (places[_evenly(len(places))] for places in (rows, columns))
    values = np.asarray(gram.block(rows, columns), dtype=float)
    size = float(np.abs(values).max())
    both = bool(values.min() < -1e-9 * size)
    ends: dict[str, Any] = {"vmin": -size, "vmax": size} if both else {}
    ax = axes(ax)
    edges = (-0.5, m - 0.5, n - 0.5, -0.5)
    cmap = SIGNED if both else SCALE
    drawn: Any = ax.imshow(values, cmap=cmap, extent=edges, interpolation="nearest", **ends)
    ax.figure.colorbar(drawn, ax=ax, label="$k(x_i, x_j)$", shrink=0.8)
    ax.set(xlabel="$j$", ylabel="$i$", aspect="equal" if 0.2 < n / m < 5 else "auto")
    return ax


def _evenly(n: int) -> np.ndarray:
    return np.unique(np.linspace(0, n - 1, min(n, _MOST)).round().astype(int))
