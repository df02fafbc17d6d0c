"""Data is an ordered thing with a length: arrays, sparse matrices, tables, lists of anything.

Nothing outside this file, ``frames.py`` and the vector kernels knows what a sample looks like.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from . import frames
from .exceptions import DomainError
from .frames import is_frame
from .kinds import hints

__all__ = [
    "Data",
    "Prepared",
    "Rows",
    "Zipped",
    "as_dense",
    "as_samples",
    "as_vectors",
    "column_key",
    "columns",
    "evenly",
    "holds_numbers",
    "in_double",
    "is_frame",
    "join",
    "length",
    "take",
    "unmasked",
]

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


@dataclass(eq=False, repr=False)
class Prepared:
    """Prepared samples: fields named in ``each`` have an entry for every one, others are shared."""

    each: ClassVar[tuple[str, ...]]

    def __len__(self) -> int:
        return length(getattr(self, self.each[0]))

    def __getitem__(self, rows: Rows) -> Self:
        own = {name: getattr(self, name) for name in self.each}
        return replace(self, **{k: part[rows] for k, part in own.items() if part is not None})


def as_samples(X: Data, owner: str | None = None) -> Data:
    """X, opened if polars or pyarrow hold it; refuses masks and, for ``owner``, a single string."""
    if owner is not None and isinstance(X, str | bytes):
        raise DomainError(
            f"{owner} works on a list of samples, got a single {type(X).__name__}; wrap it: [x]."
        )
    samples = unmasked(frames.opened(X), "X")
    if isinstance(samples, list | tuple):
        for place, x in enumerate(samples):
            if isinstance(x, np.ma.MaskedArray):
                unmasked(x, f"X[{place}]")
    return samples


def unmasked(values: Any, name: str) -> Any:
    """An array without its mask, which must not hide anything; what has no mask as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if np.ma.is_masked(values):
        raise DomainError(
            f"{name} has {np.ma.count_masked(values)} masked entries, whose values are missing; "
            f"fill them with {name}.filled(...), or drop their samples."
        )
    return values.data


def length(X: Data) -> int:
    """The number of samples."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def evenly(n: int, most: int) -> np.ndarray:
    """At most ``most`` of the rows 0, ..., n - 1, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))


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
    parts = tuple(map(as_samples, parts))
    if all(isinstance(part, Zipped) for part in parts):
        return Zipped(*(join(*views) for views in zip(*(p.parts for p in parts), strict=True)))
    if any(sp.issparse(part) for part in parts):
        return sp.vstack([sp.csr_matrix(part) for part in parts], format="csr")
    if any(is_frame(part) for part in parts):
        return frames.concat(list(parts))
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat([pd.Series(part) for part in parts], ignore_index=True)
    dtypes = [part.dtype for part in parts if isinstance(part, np.ndarray)]
    if dtypes:
        kind = float if _is_numeric(dtypes[0]) else object
        with suppress(TypeError, ValueError):  # not numbers, or series of different lengths
            arrays = [p if isinstance(p, np.ndarray) else np.asarray(p, kind) for p in parts]
            if {array.shape[1:] for array in arrays} == {(), (1,)}:  # both: points on the line
                arrays = [array.reshape(-1, 1) for array in arrays]
            return np.concatenate(arrays)
    return [x for part in parts for x in part]


def column_key(key: Any) -> Any:
    """Which columns: several as a list, whatever holds them (a pandas index, an array, a range)."""
    if isinstance(key, np.ndarray):
        return (np.flatnonzero(key) if key.dtype == bool else key).tolist()
    if isinstance(key, range) or hasattr(key, "get_indexer") or hasattr(key, "to_list"):
        return list(key)
    return key.item() if isinstance(key, np.generic) else key


def columns(X: Data, key: Any) -> Data:
    """The columns ``key`` of a table, array or list of tuples or dicts.

    One column of numbers becomes an (n, 1) array, one of anything else a list; several
    columns become an (n, d) array of numbers.
    """
    key, X = column_key(key), as_samples(X, f".on({key!r})")
    many = isinstance(key, list | slice)
    if is_frame(X):
        return _of_frame(X, key)
    if isinstance(X, np.ndarray) or sp.issparse(X):
        X = X.tocsr() if sp.issparse(X) else X
        if X.ndim != 2:
            raise DomainError(f".on({key!r}) needs a 2-d array, got {X.ndim}-d.")
        if isinstance(key, tuple):
            key, many = list(key), True
        try:
            chosen = X[:, key] if many else X[:, [key]]
        except (IndexError, ValueError) as error:
            raise DomainError(f".on({key!r}): X has {X.shape[1]} columns ({error}).") from None
        if many or _is_numeric(X.dtype):
            return chosen
        return _column(chosen[:, 0].tolist())
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
                f".on({key!r}): not all of these entries are numbers; use a separate kernel for "
                "those that are not, for example Spectrum(3).on(key)."
            ) from None
    return _column(values)


def in_double(X: Data) -> Data:
    """Arrays, sparse matrices and columns of single precision in double; all else as it is."""
    if is_frame(X):
        return frames.in_double(X)
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def as_dense(X: Any) -> np.ndarray:
    """A sparse matrix as an array; arrays as they are."""
    return X.toarray() if hasattr(X, "toarray") else X


def as_vectors(X: Data, owner: str) -> np.ndarray | sp.csr_matrix:
    """X as a C-ordered (n, d) float array or CSR matrix; refuses what is not vectors.

    float32 stays float32, everything else becomes float64; a 1-d array is n points on the line.
    """
    X = _numbers(as_samples(X, owner), owner)
    values = X.data if sp.issparse(X) else X
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


def holds_numbers(X: Data) -> bool:
    """Is X an array or table of numbers, or a list that makes one?"""
    try:
        _numbers(X, "")
    except DomainError:
        return False
    return True


def _numbers(X: Data, owner: str) -> np.ndarray | sp.csr_matrix:
    """X as an (n, d) array of floats or a CSR matrix, which may still hold NaN or be empty."""
    if sp.issparse(X):
        X = X.tocsr()
        if X.dtype.kind not in "biuf":
            raise DomainError(f"{owner} works on real numbers, got a matrix of {X.dtype}.")
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    kind = type(X).__name__
    X = frames.matrix(X, owner) if is_frame(X) else X
    try:
        X = np.asarray(X)
        numbers = np.array(X.tolist(), dtype=np.float64) if X.dtype == object else X
        if numbers.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        if frames.holds_dates(X):
            raise frames.dates(owner, f"the {kind}") from None
        raise DomainError(
            f"{owner} works on vectors: an (n, d) array of numbers, got a {kind} of "
            f"something else. {hints()}"
        ) from None
    single = numbers.dtype == np.float32
    X = np.ascontiguousarray(numbers, dtype=np.float32 if single else np.float64)
    X = X[:, None] if X.ndim == 1 else X
    if X.ndim != 2:
        raise DomainError(f"{owner} works on (n, d) arrays, got {X.ndim} dimensions.")
    return X


def _of_frame(X: Data, key: Any) -> Data:
    if isinstance(key, tuple) and key not in list(X.columns):
        key = list(key)
    if not isinstance(key, list | slice):
        values = frames.column(X, key)
        return values if isinstance(values, list) else values[:, None]
    wanted = frames.names(X, key) if isinstance(key, slice) else key
    found = [frames.column(X, name) for name in wanted]
    for name, values in zip(wanted, found, strict=True):
        if isinstance(values, list):
            if frames.holds_dates(values):
                raise frames.dates(f".on({key!r})", f"column {name!r}")
            raise DomainError(
                f"column {name!r} does not contain numbers; give it its own kernel, "
                f"for example Categorical().on({name!r})."
            )
    return np.column_stack(found) if found else np.empty((length(X), 0))


def _column(values: list) -> Data:
    """Numbers as an (n, 1) array, anything else as it is."""
    return np.array(values, dtype=float)[:, None] if frames.all_numbers(values) else values


def _is_numeric(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "biuf"
