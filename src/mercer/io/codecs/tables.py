"""Pairs of functions that write and read tables: of pandas and of polars."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kinds import needed
from .data import as_objects
from .kinds import Node, Reader, Unreadable, Writer, decodes, encodes

_TEXT = ("object", "str", "string")  # what pandas calls a column of strings


# ---- pandas --------------------------------------------------------------------------------
@encodes("pandas.Series")
def _series(value: Any, write: Writer, place: str) -> Node:
    return {"type": "series", "name": write(value.name, place), **_column(value, write, place)}


@decodes("series")
def _(node: dict, read: Reader) -> Any:
    return _read_column(node, read).rename(read(node["name"]))


@encodes("pandas.DataFrame")
def _frame(value: Any, write: Writer, place: str) -> Node:
    if not value.columns.is_unique:
        raise ValueError(f"cannot save {place}: two of its columns have the same name.")
    if not len(value.columns):
        raise ValueError(f"cannot save {place}: it has no columns.")
    columns = [
        {"name": write(name, f"a column name of {place}"), **_column(value[name], write, place)}
        for name in value.columns
    ]
    return {"type": "frame", "rows": len(value), "columns": columns}


def _column(column: Any, write: Writer, place: str) -> Node:
    dtype, place = column.dtype, f"column {column.name!r} of {place}"
    if dtype.name == "category":  # kept as the labels themselves: equal numbers stay one label
        numbers = dtype.categories.dtype.kind in "biuf"
        column = column.astype(float if numbers else object)
        dtype = column.dtype
    if dtype.kind in "biuf":
        plain = getattr(dtype, "numpy_dtype", dtype)  # Int64, boolean, ... hold missing values too
        holes = column.hasnans
        values = (
            column.to_numpy(dtype=float, na_value=np.nan) if holes else column.to_numpy(dtype=plain)
        )
        return {"array": write.array(values.astype(plain) if plain.kind == "f" else values)}
    if dtype.name not in _TEXT:
        raise ValueError(
            f"cannot save {place}: it holds {dtype}; make it a column of numbers or strings first."
        )
    missing = column.isna().tolist()
    items = [None if none else x for x, none in zip(column.tolist(), missing, strict=True)]
    if all(isinstance(x, str | None) for x in items):
        return {"strings": items, "dtype": dtype.name}
    return {"items": write(items, place)}


@decodes("frame")
def _(node: dict, read: Reader) -> Any:
    pd = _pandas()
    found = {read(column["name"]): _read_column(column, read) for column in node["columns"]}
    if not found or any(len(values) != node["rows"] for values in found.values()):
        raise Unreadable("holds a table whose columns have different lengths.")
    return pd.DataFrame(found, index=pd.RangeIndex(node["rows"]))


def _read_column(node: dict, read: Reader) -> Any:
    pd = _pandas()
    if "array" in node:
        return pd.Series(read.array(node["array"]))
    if "items" in node:
        return pd.Series(as_objects(read(node["items"])))
    items, dtype = node["strings"], node["dtype"]
    if dtype not in _TEXT or not all(isinstance(x, str | None) for x in items):
        raise Unreadable(
            f"contains a column that is not a column of strings, or has the unknown type {dtype!r}."
        )
    try:
        return pd.Series(items, dtype=dtype)
    except TypeError:  # written by a newer pandas, whose strings have a type of their own
        return pd.Series(items, dtype=object)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError('this file holds a table: pip install "mercer[table]".') from None
    return pandas


# ---- polars --------------------------------------------------------------------------------
@encodes("polars.Series")
def _polars_series(value: Any, write: Writer, place: str) -> Node:
    return {"type": "polars series", **_polars_column(value, write, place)}


@encodes("polars.DataFrame")
def _polars_frame(value: Any, write: Writer, place: str) -> Node:
    if not value.columns:
        raise ValueError(f"cannot save {place}: it has no columns.")
    columns = [_polars_column(column, write, place) for column in value.get_columns()]
    return {"type": "polars", "columns": columns}


def _polars_column(column: Any, write: Writer, place: str) -> Node:
    """Numbers as an array; anything else, or if some of them are missing, one by one."""
    dtype, place = column.dtype, f"column {column.name!r} of {place}"
    if dtype.is_temporal():
        raise ValueError(
            f"cannot save {place}: it holds {dtype}; make it a column of numbers or strings first."
        )
    named = {"name": column.name, "objects": str(dtype).startswith("Object")}
    if dtype.is_decimal():
        column = column.cast(float)
    if dtype.is_numeric() and not column.null_count():
        return {**named, "array": write.array(column.to_numpy())}
    return {**named, "items": write(column.to_list(), place)}


@decodes("polars series")
def _(node: dict, read: Reader) -> Any:
    polars = needed("polars", "a table")
    values = read.array(node["array"]) if "array" in node else read(node["items"])
    if "array" in node and values.ndim != 1:
        raise Unreadable("holds a column that is a matrix.")
    try:
        return polars.Series(node["name"], values, polars.Object if node["objects"] else None)
    except polars.exceptions.PolarsError as error:
        raise Unreadable(f"holds a damaged column of a table ({error}).") from None


@decodes("polars")
def _(node: dict, read: Reader) -> Any:
    columns = [read({**column, "type": "polars series"}) for column in node["columns"]]
    names = {column.name for column in columns}
    if len(names) != len(columns) or len({len(column) for column in columns}) != 1:
        raise Unreadable("holds a table whose columns have different lengths, or the same name.")
    return needed("polars", "a table").DataFrame(columns)
