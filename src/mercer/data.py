"""Data is an ordered thing with a length: arrays, sparse matrices, tables, lists of anything.

Nothing outside this file and the vector kernels knows what a sample looks like.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import scipy.sparse as sp

from .exceptions import DomainError

Data = Any
Rows = Any  # a slice, or integers as an array or list


class Zipped:
    """Several prepared views of the same samples, indexed together."""

    def __init__(self, *parts: Data) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return length(self.parts[0])

    def __getitem__(self, rows: Rows) -> Zipped:
        return Zipped(*(take(part, rows) for part in self.parts))


def is_frame(X: Data) -> bool:
    """Is X a pandas DataFrame? (Told by its attributes: pandas stays optional.)"""
    return hasattr(X, "iloc") and hasattr(X, "columns")


def length(X: Data) -> int:
    """The number of samples."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Data, rows: Rows) -> Data:
    """The samples ``rows`` of X, in the same kind of container."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return list(X[rows]) if isinstance(rows, slice) else [X[int(i)] for i in rows]
    return X[rows]


def join(*parts: Data) -> Data:
    """Concatenate data sets of the same kind."""
    if len(parts) == 1:
        return parts[0]
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    dtypes = [part.dtype for part in parts if isinstance(part, np.ndarray)]
    if dtypes:
        kind = float if _is_numeric(dtypes[0]) else object
        with suppress(TypeError, ValueError):  # not numbers, or series of different lengths
            arrays = [p if isinstance(p, np.ndarray) else np.asarray(p, kind) for p in parts]
            if {array.shape[1:] for array in arrays} == {(), (1,)}:  # both: points on the line
                arrays = [array.reshape(-1, 1) for array in arrays]
            return np.concatenate(arrays)
    return [x for part in parts for x in part]


def columns(X: Data, key: Any) -> Data:
    """The columns ``key`` of a table, array or list of tuples or dicts.

    One column of numbers becomes an (n, 1) array, one of anything else a list; several
    columns become an (n, d) array of numbers.
    """
    many = isinstance(key, list | slice)
    if is_frame(X):
        names = X.columns[key].tolist() if isinstance(key, slice) else key
        missing = [c for c in (names if many else [names]) if c not in X.columns]
        if missing:
            known = ", ".join(map(repr, X.columns))
            raise DomainError(f"the table has no column {missing[0]!r}; it has: {known}.")
        if many:
            bad = [c for c in names if not _is_numeric(X[c].dtype)]
            if bad:
                raise DomainError(
                    f"column {bad[0]!r} does not hold numbers; give it a kernel of its own, "
                    f"for example Categorical().on({bad[0]!r})."
                )
            return X[names].to_numpy(dtype=float)
        values = X[key]
        return values.to_numpy(dtype=float)[:, None] if _is_numeric(values.dtype) else list(values)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        X = X.tocsr() if sp.issparse(X) else X
        if X.ndim != 2:
            raise DomainError(f".on({key!r}) needs a 2-d array, got {X.ndim}-d.")
        try:
            chosen = X[:, key] if many else X[:, [key]]
        except (IndexError, ValueError) as error:
            raise DomainError(f".on({key!r}): X has {X.shape[1]} columns ({error}).") from None
        if many or _is_numeric(X.dtype):
            return chosen
        values = chosen[:, 0].tolist()
        return np.array(values, dtype=float)[:, None] if _all_numbers(values) else values
    try:
        if many:
            keys = range(*key.indices(len(X[0]))) if isinstance(key, slice) else key
            rows = [[x[k] for k in keys] for x in X]
        else:
            values = [x[key] for x in X]
    except (KeyError, IndexError, TypeError) as error:
        raise DomainError(f".on({key!r}): samples have no such entry ({error!r}).") from None
    if many:
        try:
            return np.array(rows, dtype=float)
        except (TypeError, ValueError):
            raise DomainError(
                f".on({key!r}): these entries do not all hold numbers; give those that do not a "
                f"kernel of their own, for example Spectrum(3).on(key)."
            ) from None
    return np.array(values, dtype=float)[:, None] if _all_numbers(values) else values


def in_double(X: Data) -> Data:
    """Arrays, sparse matrices and columns of single precision in double; all else as it is."""
    if is_frame(X):
        single = [c for c in X.columns if X[c].dtype == np.float32]
        return X.astype(dict.fromkeys(single, np.float64)) if single else X
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"


def _all_numbers(values: list) -> bool:
    return bool(values) and all(isinstance(v, int | float | np.number) for v in values)


def as_vectors(X: Data, owner: str) -> np.ndarray | sp.csr_matrix:
    """X as a C-ordered (n, d) float array or CSR matrix; refuses what is not vectors.

    float32 stays float32, everything else becomes float64; a 1-d array is n points on the line.
    """
    if sp.issparse(X):
        X = X.tocsr()
        if X.dtype.kind not in "biuf":
            raise DomainError(f"{owner} works on real numbers, got a matrix of {X.dtype}.")
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        values = X.data
    else:
        kind = type(X).__name__
        if is_frame(X):
            bad = [c for c in X.columns if not _is_numeric(X[c].dtype)]
            if bad:
                raise DomainError(
                    f"{owner} works on vectors, but column {bad[0]!r} does not hold numbers; "
                    f"pick columns with .on([...]) and give the others their own kernels."
                )
            X = X.to_numpy()
        try:
            X = np.asarray(X)
            if X.dtype == object or X.dtype.kind in "US":
                X = np.array(X.tolist(), dtype=np.float64) if X.dtype == object else None
            if X is None or X.dtype.kind not in "biuf":
                raise TypeError
        except (TypeError, ValueError):
            raise DomainError(
                f"{owner} works on vectors: an (n, d) array of numbers, got a {kind} of "
                f"something else. For strings use Spectrum(k), for labels Categorical(), for "
                f"series GlobalAlignment()."
            ) from None
        X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        X = X[:, None] if X.ndim == 1 else X
        if X.ndim != 2:
            raise DomainError(f"{owner} works on (n, d) arrays, got {X.ndim} dimensions.")
        values = X
    if X.shape[0] == 0:
        raise DomainError(f"{owner}: X has no samples (shape {X.shape}).")
    if X.shape[1] == 0:
        raise DomainError(f"{owner}: X has 0 feature(s), at least one is needed.")
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=np.float64)  # one pass; a second one only if it looks bad
    if not np.isfinite(total) and not np.all(np.isfinite(values)):
        raise DomainError(
            f"{owner}: X contains NaN or infinity; fill or drop those rows first "
            f"(sklearn.impute.SimpleImputer does)."
        )
    return X
