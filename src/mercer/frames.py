"""Tables with named columns, of pandas, polars or pyarrow: the only file that knows them.

None has to be installed: tables are recognised by their methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from .exceptions import DomainError
from .tensors import on_host

Frame = Any  # a pandas.DataFrame or a polars.DataFrame
_LISTED = 12  # columns that an error lists


def is_frame(X: Any) -> bool:
    """Is X a table with named columns?"""
    return (hasattr(X, "iloc") or hasattr(X, "get_columns")) and hasattr(X, "columns")


def opened(X: Any) -> Any:
    """X in a container that the rest of the library accepts.

    Data of pyarrow become a table or Series of pandas, a Series of polars becomes an array of
    numbers or a list of anything else, and a tensor a NumPy array; lazy tables are rejected, and
    everything else stays as it is.
    """
    X = on_host(X)
    if hasattr(X, "collect") and hasattr(X, "collect_schema"):  # of polars
        raise DomainError("a lazy table of polars holds no samples yet; pass its .collect().")
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_pandas"):
        pandas()
        return X.to_pandas()
    return _of_polars(X) if hasattr(X, "get_chunks") and hasattr(X, "is_null") else X


def names(X: Frame, key: slice | None = None) -> list:
    """The names of the columns; of those in a slice of places, or of names with both ends."""
    known = list(X.columns)
    if key is None:
        return known
    start, stop = key.start, key.stop
    if isinstance(start, str):
        start = _place(start, known)
    if isinstance(stop, str):
        stop = _place(stop, known) + 1
    return known[start : stop : key.step]


def column(X: Frame, name: Any) -> np.ndarray | list:
    """One column: a float array if it holds numbers, with NaN for missing ones, else a list."""
    place = _place(name, list(X.columns))
    values = X.iloc[:, place] if hasattr(X, "iloc") else X[name]
    dtype = values.dtype
    if hasattr(X, "iloc") and getattr(dtype, "kind", "O") in "biuf":
        plain = isinstance(dtype, np.dtype)
        return values.to_numpy(dtype=float, **({} if plain else {"na_value": np.nan}))
    if not hasattr(X, "iloc"):
        found = _of_polars(values)
        return found if isinstance(found, list) else found.astype(float)
    items = values.to_list()
    numbers = _numbers(items) if is_object(dtype) else None
    return items if numbers is None else numbers


def matrix(X: Frame, owner: str) -> np.ndarray:
    """All columns as an (n, d) array; refuses, for ``owner``, those that do not hold numbers."""
    if hasattr(X, "iloc") and all(_is_plain(dtype) for dtype in X.dtypes):
        return X.to_numpy()
    found = [column(X, name) for name in X.columns]
    for name, values in zip(X.columns, found, strict=True):
        if isinstance(values, list):
            if holds_dates(values):
                raise dates(owner, f"column {name!r}")
            raise DomainError(
                f"{owner} works on vectors, but column {name!r} does not contain numbers; select "
                "columns with .on([...]) and give the others their own kernels."
            )
    return np.column_stack(found) if found else np.empty((X.shape[0], 0))


def concat(parts: list) -> Frame:
    """The rows of several tables, or arrays as wide, with the columns of the first table."""
    like = next(part for part in parts if is_frame(part))
    tables = [align(as_table(part, like), like, whole=True) for part in parts]
    if hasattr(like, "iloc"):
        import pandas as pd

        return pd.concat(tables, ignore_index=True)
    whole = tables[0]
    for part in tables[1:]:
        whole = whole.vstack(part)
    return whole


def as_table(X: Any, like: Frame) -> Frame:
    """A table as it is, an array as a table with the columns of another one."""
    if is_frame(X):
        return X
    X = np.asarray(X)
    known = list(like.columns)
    if X.ndim != 2 or X.shape[1] != len(known):
        raise DomainError(
            f"a table of {len(known)} columns and an array of shape {X.shape} have no columns in "
            f"common; give both the same number."
        )
    return type(like)(dict(zip(known, X.T, strict=True)))


def align(X: Any, like: Any, *, whole: bool) -> Any:
    """X with its columns in the order of another table; anything but two tables as it is.

    If the names differ, X is rejected if rows are used as a ``whole``; if columns are selected by
    name, the others do not matter.
    """
    return in_order(X, list(like.columns), whole=whole) if is_frame(X) and is_frame(like) else X


def in_order(X: Frame, wanted: list, *, whole: bool) -> Frame:
    """A table with its columns in the order of these names, as in :func:`align`."""
    mine = list(X.columns)
    if mine == wanted:
        return X
    if len(mine) == len(wanted) and set(mine) == set(wanted):
        return X[wanted]
    if not whole:
        return X
    only = [c for c in wanted if c not in mine] or [c for c in mine if c not in wanted] or wanted
    raise DomainError(
        f"tables with different columns cannot be compared: {only[0]!r} is not in both. Rename "
        "columns with the same meaning, and drop those that are not in both."
    )


def records(X: Frame) -> list[dict]:
    """The rows as dicts."""
    return X.to_dict("records") if hasattr(X, "iloc") else X.to_dicts()


def rows(X: Frame) -> list[tuple]:
    """The rows as tuples."""
    return list(X.itertuples(index=False, name=None)) if hasattr(X, "iloc") else X.rows()


def in_double(X: Frame) -> Frame:
    """Columns of single precision in double."""
    if not hasattr(X, "iloc"):
        return X  # columns are read as floats, one by one
    single = [c for c in X.columns if X[c].dtype == np.float32]
    return X.astype(dict.fromkeys(single, np.float64)) if single else X


def is_gap(x: Any) -> bool:
    """Is an item a missing value: None, NaN, or NA of pandas?"""
    return x is None or type(x).__name__ == "NAType" or bool(x != x)


def distinct(series: Any) -> tuple[np.ndarray, np.ndarray]:
    """The place of each value of a pandas column among the distinct values, and these values.

    The place of a missing value is -1. Objects of different types are distinct: True and 1 are
    equal, but not the same label.
    """
    pd = pandas()
    if series.dtype.name == "category":
        codes, found = series.cat.codes.to_numpy(), series.cat.categories
    elif is_object(series.dtype) and pd.api.types.infer_dtype(series, skipna=True) != "string":
        codes, found = np.where(series.isna(), -1, np.arange(len(series))), series
    else:
        codes, found = pd.factorize(series)
    levels = np.empty(len(found), dtype=object)
    levels[:] = list(found)
    return codes.astype(np.intp), levels


def holds_dates(values: Any) -> bool:
    """Are these dates or durations?"""
    if getattr(getattr(values, "dtype", None), "kind", "") in ("m", "M"):
        return True
    while isinstance(values, list | tuple) or (isinstance(values, np.ndarray) and values.ndim):
        values = next((x for x in values if x is not None), None)
    return isinstance(values, date | timedelta | np.datetime64 | np.timedelta64)


def dates(owner: str, what: str) -> DomainError:
    """The error of a kernel on numbers that was given dates or durations."""
    return DomainError(
        f"{owner} works on numbers, but {what} holds dates or durations; count them in a unit of "
        f"your choice, for example (t - t.min()) / np.timedelta64(1, 'D')."
    )


def _of_polars(values: Any) -> np.ndarray | list:
    """A Series of polars: numbers as they are stored, floats if some are missing, or its items."""
    dtype = values.dtype
    if not (dtype.is_numeric() or str(dtype) == "Boolean"):
        return values.to_list()
    special = str(dtype).startswith(("Decimal", "Int128", "UInt128"))
    if special or values.null_count():
        return np.array(values.to_list(), dtype=float)
    return values.to_numpy()


def all_numbers(items: list) -> bool:
    """Are these plain numbers, of any class?"""
    return bool(items) and all(isinstance(x, Real | Decimal) for x in items)


def _numbers(items: list) -> np.ndarray | None:
    """Numbers of any class as floats, and NaN where they are missing; None if there are others."""
    missing = [x is None or type(x).__name__ in ("NAType", "NaTType") for x in items]
    if not all_numbers([x for x, absent in zip(items, missing, strict=True) if not absent]):
        return None
    pairs = zip(items, missing, strict=True)
    return np.array([np.nan if absent else float(x) for x, absent in pairs])


def is_object(dtype: Any) -> bool:
    """Does a column of this type hold Python objects?"""
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _is_plain(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind in "biuf"


def lacking(missing: Sequence[Any], known: Sequence[Any]) -> str:
    """A message about columns that a table does not have, with similar names."""
    listed = ", ".join(map(repr, missing[:_LISTED])) + ", ..." * (len(missing) > _LISTED)
    said = f"the table has no column{'s' * (len(missing) > 1)} {listed}"
    alike = {str(name).lower(): name for name in known}
    close = get_close_matches(str(missing[0]).lower(), alike, n=1, cutoff=0.75)
    if len(missing) == 1 and close:
        return f"{said}; did you mean {alike[close[0]]!r}?"
    more = f", ... ({len(known)} in all)" if len(known) > _LISTED else ""
    return f"{said}; it has: {', '.join(map(repr, known[:_LISTED]))}{more}."


def _place(name: Any, known: list) -> int:
    """The place of the only column with this name."""
    count = known.count(name)
    if not count:
        raise DomainError(lacking([name], known))
    if count > 1:
        raise DomainError(f"the table has {count} columns {name!r}; rename all but one.")
    return known.index(name)


def pandas() -> Any:
    """The module pandas, which is needed to read tables."""
    try:
        import pandas
    except ImportError:
        raise ImportError('reading tables needs pandas: pip install "mercer[table]".') from None
    return pandas
