"""Pairs of functions that write and read plain values, arrays and tables."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from .kinds import Node, Reader, Unreadable, Writer, decodes, encodes

_DEEP = 20  # lists and tuples inside each other, from which on they are written in one row
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


@encodes("builtins.list", "builtins.tuple")
def _sequence(value: Any, write: Writer, place: str) -> Node:
    """Lists and tuples inside each other; in one row if they are deep, since JSON cannot be."""
    level = [value]
    for _ in range(_DEEP):
        level = [x for part in level for x in part if type(x) in (list, tuple)]
        if not level:
            return _nested(value, write, place)
    shape: list[int] = []
    leaves: list[Node] = []
    ahead = [value]
    while ahead:
        x = ahead.pop()
        inside = type(x) in (list, tuple)
        shape.append(2 * len(x) + (type(x) is list) if inside else -1)
        if inside:
            ahead += reversed(x)
        else:
            leaves.append(write(x, place))
    return {"type": "deep", "shape": shape, "leaves": leaves}


def _nested(value: Any, write: Writer, place: str) -> Node:
    below = [(x, f"{place}[{i}]") for i, x in enumerate(value)]
    items = [(_nested if type(x) in (list, tuple) else _write)(x, write, at) for x, at in below]
    return items if isinstance(value, list) else {"type": "tuple", "items": items}


def _write(value: Any, write: Writer, place: str) -> Node:
    return write(value, place)


@decodes("deep")
def _(node: dict, read: Reader) -> Any:
    """From the last container to the first: what it holds has been read by then."""
    leaves, done = read(node["leaves"]), []
    for code in reversed(node["shape"]):
        if code == -1:
            done.append(leaves.pop())
            continue
        if not 0 <= code // 2 <= len(done):
            raise Unreadable("holds a list that is longer than what is in it.")
        items = [done.pop() for _ in range(code // 2)]
        done.append(items if code % 2 else tuple(items))
    if len(done) != 1 or leaves:
        raise Unreadable("holds lists that do not fit into each other.")
    return done[0]


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
    return {"type": "slice", "items": write([value.start, value.stop, value.step], place)}


@decodes("slice")
def _(node: dict, read: Reader) -> slice:
    return slice(*read(node["items"]))


# ---- data ----------------------------------------------------------------------------------
@encodes("numpy.ndarray")
def _array(value: np.ndarray, write: Writer, place: str) -> Node:
    if value.dtype == object or value.dtype.kind == "T":  # strings of any length, in new NumPy
        items = write(value.ravel().tolist(), place)
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
    read.check_shape(node["shape"])
    return _objects(read(node["items"])).reshape(node["shape"])


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
        return pd.Series(_objects(read(node["items"])))
    items, dtype = node["strings"], node["dtype"]
    if dtype not in _TEXT or not all(isinstance(x, str | None) for x in items):
        raise Unreadable(f"holds a column that is not of strings, or of unknown type {dtype!r}.")
    try:
        return pd.Series(items, dtype=dtype)
    except TypeError:  # written by a newer pandas, whose strings have a type of their own
        return pd.Series(items, dtype=object)


def _objects(items: list) -> np.ndarray:
    """One entry per item, though items may be lists themselves."""
    flat = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        flat[i] = item
    return flat


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError('this file holds a table: pip install "mercer[table]".') from None
    return pandas
