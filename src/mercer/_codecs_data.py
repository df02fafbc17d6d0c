"""Pairs of functions that write and read plain values, arrays and tables."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from ._codecs import Node, Reader, Unreadable, Writer, decodes, encodes

_TEXT = ("object", "str", "string")  # what pandas calls a column of strings


# ---- values --------------------------------------------------------------------------------
@encodes("builtins.NoneType", "builtins.bool", "builtins.str", "builtins.int")
def _plain(value: Any, write: Writer, place: str) -> Node:
    return value


@encodes("builtins.float")
def _float(value: float, write: Writer, place: str) -> Node:
    return float(value) if isfinite(value) else {"type": "float", "value": repr(float(value))}


@decodes("float")
def _(node: dict, read: Reader) -> float:
    return float(node["value"])


@encodes("builtins.bytes")
def _bytes(value: bytes, write: Writer, place: str) -> Node:
    return {"type": "bytes", "value": value.decode("latin-1")}


@decodes("bytes")
def _(node: dict, read: Reader) -> bytes:
    return node["value"].encode("latin-1")


@encodes("numpy.generic")
def _scalar(value: np.generic, write: Writer, place: str) -> Node:
    plain = value.dtype.kind in "biufU"
    return write(value.item(), place) if plain else _array(np.asarray(value), write, place)


@encodes("builtins.list")
def _list(value: list, write: Writer, place: str) -> Node:
    return [write(item, f"{place}[{i}]") for i, item in enumerate(value)]


@encodes("builtins.tuple")
def _tuple(value: tuple, write: Writer, place: str) -> Node:
    return {"type": "tuple", "items": _list(list(value), write, place)}


@decodes("tuple")
def _(node: dict, read: Reader) -> tuple:
    return tuple(read(node["items"]))


@encodes("builtins.dict")
def _dict(value: dict, write: Writer, place: str) -> Node:
    items = [[write(k, f"a key of {place}"), write(v, f"{place}[{k!r}]")] for k, v in value.items()]
    return {"type": "dict", "items": items}


@decodes("dict")
def _(node: dict, read: Reader) -> dict:
    return dict(read(node["items"]))


@encodes("builtins.slice")
def _slice(value: slice, write: Writer, place: str) -> Node:
    return {"type": "slice", "items": _list([value.start, value.stop, value.step], write, place)}


@decodes("slice")
def _(node: dict, read: Reader) -> slice:
    return slice(*read(node["items"]))


# ---- data ----------------------------------------------------------------------------------
@encodes("numpy.ndarray")
def _array(value: np.ndarray, write: Writer, place: str) -> Node:
    if value.dtype == object:
        items = _strings(value.ravel().tolist(), place)
        return {"type": "objects", "shape": list(value.shape), "items": items}
    if value.dtype.kind not in "biufcUSmM" or isinstance(value, np.ma.MaskedArray):
        kind = f"{type(value).__name__} of {value.dtype}"
        raise ValueError(f"cannot save {place}: a {kind} is not stored; use a plain array.")
    return {"type": "array", "array": write.array(np.asarray(value))}


@decodes("array")
def _(node: dict, read: Reader) -> np.ndarray:
    return read.array(node["array"])


@decodes("objects")
def _(node: dict, read: Reader) -> np.ndarray:
    flat = np.empty(len(node["items"]), dtype=object)
    flat[:] = _strings(node["items"], "")
    return flat.reshape(node["shape"])


@encodes("scipy.csr_matrix", "scipy.csr_array")
def _csr(value: Any, write: Writer, place: str) -> Node:
    parts = {name: write.array(getattr(value, name)) for name in ("data", "indices", "indptr")}
    return {"type": "csr", "class": type(value).__name__, "shape": list(value.shape), **parts}


@decodes("csr")
def _(node: dict, read: Reader) -> Any:
    import scipy.sparse as sp

    kind = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array}[node["class"]]
    parts = tuple(read.array(node[name]) for name in ("data", "indices", "indptr"))
    matrix = kind(parts, shape=tuple(node["shape"]))
    matrix.check_format(full_check=True)  # compiled code trusts the indices
    return matrix


@encodes("pandas.DataFrame")
def _frame(value: Any, write: Writer, place: str) -> Node:
    if not value.columns.is_unique:
        raise ValueError(f"cannot save {place}: two of its columns have the same name.")
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
        values = column.to_numpy(dtype=float if column.hasnans and plain.kind != "f" else plain)
        return {"array": write.array(values)}
    if dtype.name not in _TEXT:
        raise ValueError(
            f"cannot save {place}: it holds {dtype}, and only numbers and strings are stored."
        )
    missing = column.isna().tolist()
    items = [None if none else x for x, none in zip(column.tolist(), missing, strict=True)]
    return {"strings": _strings(items, place), "dtype": dtype.name}


@decodes("frame")
def _(node: dict, read: Reader) -> Any:
    import pandas as pd

    found = {read(column["name"]): _read_column(column, read) for column in node["columns"]}
    if any(len(values) != node["rows"] for values in found.values()):
        raise Unreadable("holds a table whose columns have different lengths.")
    return pd.DataFrame(found, index=pd.RangeIndex(node["rows"]))


def _read_column(node: dict, read: Reader) -> Any:
    import pandas as pd

    if "array" in node:
        return pd.Series(read.array(node["array"]))
    if node["dtype"] not in _TEXT:
        raise Unreadable(f"holds a column of unknown type {node['dtype']!r}.")
    items = _strings(node["strings"], "")
    try:
        return pd.Series(items, dtype=node["dtype"])
    except TypeError:  # written by a newer pandas, whose strings have a type of their own
        return pd.Series(items, dtype=object)


def _strings(items: list, place: str) -> list:
    odd = [x for x in items if not isinstance(x, str | None)]
    if odd:
        raise ValueError(
            f"cannot save {place}: it holds a {type(odd[0]).__name__}, and only numbers and "
            f"strings are stored."
        )
    return items
