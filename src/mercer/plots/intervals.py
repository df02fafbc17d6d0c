"""The uncertainty of regressors, in whichever form they provide it, as intervals for plots."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.pipeline import Pipeline

from ..checks import check_fraction
from ..data import Data

LEVEL = 0.9


class Interval(NamedTuple):
    """Lower and upper ends at some samples, one column per output, and what they hold."""

    level: float
    low: np.ndarray
    high: np.ndarray
    words: str


def intervals(
    model: Any, X: Data, level: float | Sequence[float] | None = None, noise: bool = False
) -> list[Interval]:
    """The intervals of a model, widest first; empty if it says nothing."""
    if isinstance(model, Pipeline) and len(model.steps) > 1:  # the last step says how sure it is
        return intervals(model[-1], model[:-1].transform(X), level, noise)
    quantiles = quantiles_of(model)
    if quantiles is not None:
        if level is not None:
            raise ValueError("level is given by the quantiles here; omit it.")
        return _between_quantiles(quantiles, model.predict(X))
    usual = getattr(model, "level", LEVEL) if level is None else level
    levels = sorted(map(float, np.atleast_1d(usual)), reverse=True)
    if hasattr(model, "predict_interval") and not _takes(model, "include_noise"):
        ends = np.asarray(model.predict_interval(X, levels))  # all of them cost what one does
        return [
            Interval(p, ends[:, :1, j], ends[:, 1:, j], f"{100 * p:g}% interval of $y$")
            for j, p in enumerate(levels)
        ]
    if not _takes(model, "return_std"):
        return []
    options, words = {}, "band"
    if _takes(model, "include_noise"):
        options, words = {"include_noise": noise}, "band of $y$" if noise else "band of $f$"
    mean, std = map(as_columns, model.predict(X, return_std=True, **options))
    half = [normal_quantile(p) * std for p in levels]
    return [
        Interval(p, mean - h, mean + h, f"{100 * p:g}% {words}")
        for p, h in zip(levels, half, strict=True)
    ]


def _between_quantiles(quantiles: np.ndarray, values: np.ndarray) -> list[Interval]:
    """The lowest quantile with the highest, the second with the last but one, ..."""
    order = np.argsort(quantiles)
    q, values = quantiles[order], as_columns(values)[:, order]
    return [
        Interval(
            q[-1 - i] - q[i],
            values[:, i : i + 1],
            values[:, [-1 - i]],
            f"quantiles {q[i]:g} to {q[-1 - i]:g}",
        )
        for i in range(len(q) // 2)
    ]


def middle(model: Any, X: Data) -> tuple[np.ndarray, str]:
    """The curves, one column each (none between two middle quantiles), and what they are."""
    values = as_columns(model.predict(X))
    quantiles = quantiles_of(model)
    if quantiles is None:
        return values, "mean" if _takes(model, "return_std") else "prediction"
    if len(quantiles) % 2 == 0:
        return values[:, :0], ""
    at = np.argsort(quantiles)[len(quantiles) // 2]
    q = quantiles[at]
    return values[:, [at]], "median" if q == 0.5 else f"quantile {q:g}"


def _takes(model: Any, option: str) -> bool:
    """Does predict have this option? A pipeline hands it on to its last step."""
    last = model[-1] if isinstance(model, Pipeline) else model
    return option in signature(last.predict).parameters


def quantiles_of(model: Any) -> np.ndarray | None:
    """The quantiles a model predicts, if that is what it does."""
    last = model[-1] if isinstance(model, Pipeline) else model
    q = getattr(last, "quantiles", None)
    return None if q is None else np.atleast_1d(np.asarray(q, dtype=float))


def normal_quantile(level: float) -> float:
    """z such that a standard normal variable is between -z and z with this probability."""
    check_fraction("level", level)
    return float(norm.ppf((1 + level) / 2))


def as_columns(values: Any) -> np.ndarray:
    """Values of shape (m, outputs), whatever their shape."""
    values = np.asarray(values)
    return values.reshape(len(values), -1)
