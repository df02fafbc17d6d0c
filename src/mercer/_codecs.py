"""How values become descriptions in a file, and back: small pairs of functions, by type.

An encoder turns a value into a node: JSON that is the value itself, a list of nodes, or a dict
whose "type" names the decoder. Arrays are put aside by the writer and fetched by the reader.
Nothing that a node says is imported or called, except constructors in the lists below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from inspect import isabstract, signature
from math import isfinite
from typing import Any, Protocol

import numpy as np

from .params import Params

_ELSEWHERE = {  # savable, but not a name of the package
    "RidgeClassifier": "mercer.cli.ridge",
    "TableClassifier": "mercer.cli.classifier",
    "TableRegressor": "mercer.cli.model",
}
_SPLITTERS = ("GroupKFold", "KFold", "LeaveOneOut", "StratifiedKFold")
_TEXT = ("object", "str", "string")  # what pandas calls a column of strings

Node = Any


class Unreadable(ValueError):
    """What is wrong with a file, without its name."""


class Writer(Protocol):
    """From values to nodes; ``place`` says where we are, for errors."""

    def __call__(self, value: Any, place: str) -> Node:
        """The node of a value inside another one."""

    def array(self, value: np.ndarray) -> int:
        """Puts an array aside, and returns its number."""


class Reader(Protocol):
    """From nodes to values."""

    def __call__(self, node: Node) -> Any:
        """The value of a node inside another one."""

    def array(self, number: Any) -> np.ndarray:
        """The array of a number."""


ENCODERS: dict[str, Callable[[Any, Writer, str], Node]] = {}
DECODERS: dict[str, Callable[[dict[str, Node], Reader], Any]] = {}


def encodes(*types: str) -> Callable[[Any], Any]:
    """Registers a function (value, write, place) -> node for types named "package.Class"."""

    def register(function: Any) -> Any:
        ENCODERS.update(dict.fromkeys(types, function))
        return function

    return register


def decodes(tag: str) -> Callable[[Any], Any]:
    """Registers a function (node, read) -> value for nodes of a type."""
    return lambda function: DECODERS.setdefault(tag, function)


def encode(value: Any, write: Writer, place: str) -> Node:
    """The node of a value, by the first of its classes that has an encoder."""
    if hasattr(type(value), "saved_state"):
        return _estimator(value, write, place)
    for base in type(value).__mro__[:-1]:
        package = base.__module__.partition(".")[0]
        encoder = ENCODERS.get(f"{package}.{base.__qualname__}")
        if encoder is not None:
            return encoder(value, write, place)
    name = type(value).__name__
    if type(value).__module__.partition(".")[0] == "mercer":
        raise ValueError(f"cannot save {place}: this version does not store a {name}.")
    what = "a function" if callable(value) else f"a {name}"
    raise ValueError(
        f"cannot save {place}: it is {what}, and only numbers, strings, arrays, tables and "
        f"mercer's own objects are stored, never code."
    )


def decode(node: Node, read: Reader) -> Any:
    """The value of a node."""
    if isinstance(node, list):
        return [read(item) for item in node]
    if not isinstance(node, dict):
        return node
    decoder = DECODERS.get(str(node.get("type")))
    if decoder is None:
        raise Unreadable(f"holds a {node.get('type')!r}, which this version does not know.")
    return decoder(node, read)


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


# ---- objects of ours -----------------------------------------------------------------------
@encodes("mercer.Params")
def _params(value: Params, write: Writer, place: str) -> Node:
    name = type(value).__name__
    if _params_class(name) is not type(value):
        raise ValueError(
            f"cannot save {place}: {name!r} is not the name of a class of mercer, or it is that of "
            f"another class too."
        )
    named = {f.name: write(getattr(value, f.name), f"{place}.{f.name}") for f in fields(value)}
    return {"type": "params", "class": name, "fields": named}


@decodes("params")
def _(node: dict, read: Reader) -> Params:
    found = _params_class(node["class"])
    if found is None:
        raise Unreadable(
            f"holds a {node['class']!r}, which is not a kernel or plan of this version of mercer; "
            f"if it is your own class, import the module that defines it first."
        )
    return found(**{name: read(value) for name, value in node["fields"].items()})


@encodes("mercer.RKHSFunction")
def _function(value: Any, write: Writer, place: str) -> Node:
    parts = {n: write(getattr(value, n), f"{place}.{n}") for n in ("kernel", "points", "coef")}
    return {"type": "function", **parts}


@decodes("function")
def _(node: dict, read: Reader) -> Any:
    from .rkhs.function import RKHSFunction

    return RKHSFunction(read(node["kernel"]), read(node["points"]), read(node["coef"]))


@encodes("mercer.DualReport")
def _report(value: Any, write: Writer, place: str) -> Node:
    named = {f.name: write(getattr(value, f.name), f"{place}.{f.name}") for f in fields(value)}
    return {"type": "report", "fields": named}


@decodes("report")
def _(node: dict, read: Reader) -> Any:
    from .models.svm_pairs import DualReport

    return DualReport(**{name: read(value) for name, value in node["fields"].items()})


@encodes("mercer.Calibration")
def _calibration(value: Any, write: Writer, place: str) -> Node:
    return {"type": "calibration", "slopes": write(value.slopes, f"{place}.slopes")}


@decodes("calibration")
def _(node: dict, read: Reader) -> Any:
    from .models.calibration import Calibration

    found = Calibration()
    found.slopes = read(node["slopes"])
    return found


def _estimator(value: Any, write: Writer, place: str) -> Node:
    name = type(value).__name__
    if _shipped(name) is not type(value):
        raise ValueError(f"cannot save {place}: {name} is not one of mercer's own estimators.")
    params = value.get_params(deep=False)
    state = {n: getattr(value, n) for n in value.saved_state if hasattr(value, n)}
    return {
        "type": "estimator",
        "class": name,
        "params": {n: write(v, f"{place}.{n}") for n, v in params.items()},
        "state": {n: write(v, f"{place}.{n}") for n, v in state.items()},
    }


@decodes("estimator")
def _(node: dict, read: Reader) -> Any:
    found = _shipped(node["class"])
    known = getattr(found, "saved_state", None)
    if found is None or known is None:
        raise Unreadable(f"holds a {node['class']!r}, which is no estimator of this version.")
    model = found(**{name: read(value) for name, value in node["params"].items()})
    for name, value in node["state"].items():
        if name not in known:
            raise Unreadable(f"gives {node['class']} a {name!r}, which it does not have.")
        setattr(model, name, read(value))
    if node["state"]:
        model._restore()
    return model


@encodes(*(f"sklearn.{name}" for name in _SPLITTERS))
def _splitter(value: Any, write: Writer, place: str) -> Node:
    names = [n for n in signature(type(value)).parameters if hasattr(value, n)]
    named = {n: write(getattr(value, n), f"{place}.{n}") for n in names}
    return {"type": "splitter", "class": type(value).__name__, "params": named}


@decodes("splitter")
def _(node: dict, read: Reader) -> Any:
    from sklearn import model_selection

    if node["class"] not in _SPLITTERS:
        raise Unreadable(f"holds a splitter {node['class']!r}, which this version does not know.")
    found = getattr(model_selection, node["class"])
    return found(**{name: read(value) for name, value in node["params"].items()})


def _shipped(name: str) -> Any:
    """A class of mercer by its public name: the file picks from our list, it imports nothing."""
    import mercer

    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    return getattr(mercer, name) if name in mercer.__all__ else None


def _params_class(name: str) -> type[Params] | None:
    """Ours first, then what the running program has defined; no base class of ours."""
    found = _shipped(name) or Params.registry.get(name)
    if not isinstance(found, type) or not issubclass(found, Params) or isabstract(found):
        return None
    ours = found.__module__.partition(".")[0] == "mercer"
    return None if ours and _shipped(name) is not found else found
