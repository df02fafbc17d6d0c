"""Pairs of functions that write and read plain values and arrays."""

from __future__ import annotations

from datetime import date, datetime
from math import isfinite
from typing import Any

import numpy as np

from .kinds import Node, Reader, Unreadable, Writer, decodes, encodes

_DEEP = 20  # lists and tuples inside each other, from which on they are written in one row


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


@encodes("datetime.date")
def _date(value: date, write: Writer, place: str) -> Node:
    return {"type": "date", "value": value.isoformat()}


@decodes("date")
def _(node: dict, read: Reader) -> date:
    return date.fromisoformat(node["value"])


@encodes("datetime.datetime")
def _datetime(value: datetime, write: Writer, place: str) -> Node:
    if value.tzinfo is not None:
        raise ValueError(
            f"cannot save {place}: it is a time with a time zone; store times in UTC without one, "
            "such as x.astimezone(UTC).replace(tzinfo=None)."
        )
    return {"type": "datetime", "value": value.isoformat()}


@decodes("datetime")
def _(node: dict, read: Reader) -> datetime:
    return datetime.fromisoformat(node["value"])


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
            raise Unreadable("contains a list that is longer than its content.")
        items = [done.pop() for _ in range(code // 2)]
        done.append(items if code % 2 else tuple(items))
    if len(done) != 1 or leaves:
        raise Unreadable("contains lists that do not fit together.")
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
        raise ValueError(f"cannot save {place}: a {kind} cannot be stored; use a plain array.")
    return {"type": "array", "array": write.array(np.asarray(value))}


@decodes("array")
def _(node: dict, read: Reader) -> np.ndarray:
    return read.array(node["array"])


@decodes("objects")
def _(node: dict, read: Reader) -> np.ndarray:
    read.check_shape(node["shape"])
    return as_objects(read(node["items"])).reshape(node["shape"])


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


def as_objects(items: list) -> np.ndarray:
    """One entry per item, though items may be lists themselves."""
    flat = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        flat[i] = item
    return flat
