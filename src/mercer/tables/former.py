"""Models from files of earlier versions, which held one machine on complete rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.algebra.nystrom import Nystrom
from .roles import Table, incomplete


def predict_former(model: Any, table: Table, return_std: bool) -> Any:
    """Means, and standard deviations if wanted; NaN where a value is missing."""
    mean = _per_row(model, table, lambda rows: model.ridge_.predict(rows) + model.offset_)
    if not return_std:
        return mean
    return mean, _per_row(model, table, lambda rows: _std(model, rows))


def classify_former(model: Any, table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Labels and probabilities; None and NaN where a value is missing."""
    labels, P = np.full(len(table), None), np.full((len(table), len(model.classes_)), np.nan)
    complete = ~incomplete(table, model.roles_)
    if complete.any():
        rows = table[complete].reset_index(drop=True)
        labels[complete] = model.machine_.predict(rows)
        P[complete] = model.machine_.predict_proba(rows)
    return labels, P


def _per_row(model: Any, table: Table, values: Any) -> np.ndarray:
    found = np.full(len(table), np.nan)
    complete = ~incomplete(table, model.roles_)
    if complete.any():
        found[complete] = values(table[complete].reset_index(drop=True))
    return found


def _std(model: Any, rows: Table) -> np.ndarray:
    ridge = model.ridge_
    spread = ridge.posterior_variance(rows)
    kernel: Any = ridge.kernel_
    if isinstance(kernel, Nystrom):  # k(x, x) - |phi(x)|^2, which landmarks do not see
        P = kernel.prepare(rows)
        spread = spread + np.maximum(kernel.kernel.diag(P.parts[0]) - kernel.diag(P), 0)
    return np.sqrt(model.variance_ * (spread + ridge.alpha))
