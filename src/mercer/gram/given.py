"""Columns of a matrix that a user gave, of which nothing but new rows is needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data import Data, Rows, length
from .base import Gram


class GivenColumns(Gram):
    """Some columns of a kernel matrix that was given and is not kept.

    New samples come as rows of such a matrix, [k(x_new, x_1) ... k(x_new, x_n)], and
    :meth:`cross` takes the columns from them.

    Parameters
    ----------
    columns : array of int
        Which ones.
    note : str
        What happened to the matrix, for :meth:`explain`.
    values : array, optional
        The rows of new samples.
    """

    matrix_free = False

    def __init__(self, columns: np.ndarray, note: str = "", values: Any = None) -> None:
        self.columns, self.note, self.values = np.asarray(columns, dtype=np.intp), note, values
        self.symmetric = values is None
        self.shape = (len(columns) if values is None else length(values), len(columns))
        self.dtype = np.dtype(getattr(values, "dtype", np.float64))

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        if self.values is None:
            raise TypeError(
                "the given matrix is not kept; call cross(K_new) with rows of kernel values."
            )
        if isinstance(rows, slice):
            return self.values[rows, self.columns[cols]]
        return self.values[np.ix_(rows, self.columns[cols])]

    def cross(self, X_new: Data) -> Gram:
        return GivenColumns(self.columns, self.note, X_new)

    @property
    def nbytes(self) -> int:
        """The memory of the rows of new samples."""
        return 0 if self.values is None else self.values.nbytes

    def explain(self) -> str:
        about = f"{type(self).__name__}: {self.shape[1]} columns of a matrix that is not kept"
        return f"{about}\n  {self.note}" if self.note else about
