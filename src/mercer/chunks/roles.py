"""Which columns of samples are features, which the target, which the weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..data import Data, column_key, is_frame
from .base import Change, Chunk


@dataclass
class Roles(Change):
    """Samples, targets and weights from the columns of arrays, sparse matrices and tables.

    Parameters
    ----------
    columns : list of names or numbers, optional
        The features; by default all columns without another role.
    target, weight : name or number, optional
        A list makes a target with several columns.
    """

    columns: Any = None
    target: Any = None
    weight: Any = None

    def __post_init__(self) -> None:
        self.columns = _listed(self.columns)

    @property
    def others(self) -> list:
        """The columns that are no features."""
        return _listed(self.target) + _listed(self.weight)

    def __call__(self, chunk: Chunk) -> Chunk:
        X = chunk.X
        known = names_of(X)
        others = [place(known, key) for key in self.others]
        wanted = [place(known, key) for key in self.columns]
        wanted = wanted or [i for i in range(len(known)) if i not in others]
        if not wanted:
            raise ValueError(
                "no column is left for the features: target and weight use all of them."
            )
        y, weight = chunk.y, chunk.weight
        if self.target is not None:
            found = [values(X, place(known, key)) for key in _listed(self.target)]
            y = np.column_stack(found) if isinstance(self.target, list | tuple) else found[0]
        if self.weight is not None:
            weight = values(X, place(known, self.weight)).astype(float)
            if np.any(weight < 0):
                row = chunk.start + int(np.argmax(weight < 0))
                raise ValueError(f"row {row}: the weight {self.weight!r} is negative.")
        if wanted != list(range(len(known))):
            X = X.iloc[:, wanted] if hasattr(X, "iloc") else X[:, wanted]
        return Chunk(X, y, weight, chunk.start)


def place(known: list, key: Any) -> int:
    """The number of a column, by its name, or by a number that may count from the end."""
    if key in known:
        return known.index(key)
    if isinstance(key, int | np.integer) and -len(known) <= key < 0 and known[0] == 0:
        return len(known) + int(key)
    raise ValueError(f"there is no column {key!r}; there are {listed(known)}.")


def listed(known: list) -> str:
    """Some names of columns, for errors."""
    if len(known) > 12 and known[0] == 0:
        return f"{len(known)} columns, numbered from 0"
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    return ", ".join(map(repr, known[:12])) + more


def names_of(X: Data) -> list:
    """Names of the columns, or their numbers."""
    if is_frame(X):
        return list(X.columns)
    if len(getattr(X, "shape", ())) != 2:
        raise ValueError(
            "columns, target and weight can only be given by name if the samples "
            "have named columns."
        )
    return list(range(X.shape[1]))


def values(X: Data, column: int) -> np.ndarray:
    """One column as a vector: numbers, booleans or strings."""
    if sp.issparse(X):
        return X[:, [column]].toarray()[:, 0]
    if not is_frame(X):
        return X[:, column]
    found = X.iloc[:, column] if hasattr(X, "iloc") else X[:, column]
    array = np.asarray(found)
    return np.array(array.tolist()) if array.dtype == object else array


def _listed(key: Any) -> list:
    key = column_key(key)
    if key is None:
        return []
    return list(key) if isinstance(key, list | tuple) else [key]
