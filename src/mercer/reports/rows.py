"""How single rows are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, is_frame, take
from .markup import number, short


def cell(value: Any) -> str:
    """A value of a row."""
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return number(value)
    return short(value, 40)


def cells(X: Data, row: int, columns: list[int]) -> list[str]:
    """Some columns of a row."""
    one = take(X, slice(row, row + 1)) if not hasattr(X, "get_columns") else X[row : row + 1]
    if is_frame(X):
        values = one.to_numpy()[0].tolist()
    elif sp.issparse(one):
        values = one.toarray()[0].tolist()
    else:
        values = np.atleast_1d(np.asarray(one)[0]).tolist()
    return [cell(values[j]) for j in columns]


def whole(X: Data, row: int) -> str:
    """A sample that is not a row of columns, in a line."""
    sample = take(X, [row])
    sample = sample.iloc[0] if hasattr(sample, "iloc") else sample[0]
    if isinstance(sample, str):
        return short(sample, 90)
    if isinstance(sample, np.ndarray):
        return short(f"array of shape {sample.shape}", 90)
    return short(repr(sample), 90)


def label(X: Data, row: int) -> str:
    """The name of a row: of a table with an index of its own, that; else its number."""
    if hasattr(X, "index") and hasattr(X, "iloc"):
        name = X.index[row]
        return str(row) if isinstance(name, int | np.integer) and name == row else short(name, 30)
    return str(row)
