"""Pictures of sequential tests: evidence as it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .figure import ROSE, Axes, canvas

if TYPE_CHECKING:
    from ..stats.sequential_base import Sequential


def plot_wealth(test: Sequential, ax: Axes | None = None, label: str | None = None) -> Axes:
    """The wealth of a sequential test after each bet, and the line at which it rejects.

    Parameters
    ----------
    test : SequentialTwoSampleTest or SequentialIndependenceTest
        The test.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    label : str, optional
        The name of the curve in a legend.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import SequentialTwoSampleTest
    >>> rng = np.random.default_rng(0)
    >>> test = SequentialTwoSampleTest().update(rng.normal(0, 1, 300), rng.normal(1, 1, 300))
    >>> ax = test.plot()  # doctest: +SKIP
    """
    if not test.parts:
        raise ValueError(
            f"no bets have been made yet: the first {test.warm_up} pairs set the kernels."
        )
    ax = canvas(ax)
    path = test.path / np.log(10)
    (curve,) = ax.plot(np.arange(1, len(path) + 1), path, lw=1.6, label=label)
    ax.axhline(-np.log10(test.alpha), color=ROSE, lw=1.2, ls="--")
    at = test.rejected_at
    if at is not None:
        ax.plot([at], [path[at - 1]], "o", ms=5, color=curve.get_color())
    ax.set(xlabel="bets", ylabel="wealth (power of ten)")
    if label is not None:
        ax.legend(frameon=False)
    return ax
