"""The entry point: anything that holds samples, as chunks."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from .base import Chunks
from .source import COMPRESSED, existing

_MAKERS = {
    "array": "arrays.ArrayChunks",
    "npy": "arrays.npy",
    "parquet": "tables.ParquetChunks",
    "csv": "tables.CsvChunks",
    "svmlight": "svmlight.SvmlightChunks",
    "function": "functions.FunctionChunks",
    "dask": "dask.from_dask",
}
_FORMATS = {
    "npy": (".npy",),
    "parquet": (".parquet", ".pq", ".arrow", ".feather", ".ipc"),
    "csv": (".csv", ".tsv", ".txt"),
    "svmlight": (".svm", ".svmlight", ".libsvm"),
}


def stream(
    source: Any,
    target: Any = None,
    weight: Any = None,
    *,
    columns: Any = None,
    rows: int | None = None,
    format: str | None = None,
    **options: Any,
) -> Chunks:
    """Samples in chunks, from files, arrays, functions, or a cluster.

    Large-scale models and tests take the result in place of X, y and weights, read it as often as
    they need, and hold at most two chunks in memory.

    Parameters
    ----------
    source : path, list of paths, array, table, callable or collection of Dask
        * ``.npy`` files; arrays and memory maps; data sets of h5py, arrays of Zarr;
        * Parquet and Arrow files, folders of them, data sets and tables of pyarrow; CSV files;
        * SVMlight files, which hold their targets;
        * a function without arguments that yields X, (X, y) or (X, y, weight), afresh at each call;
        * arrays, tables and bags of Dask;
        * any other container that kernels accept: tables, sparse matrices, lists.
    target : name or number of a column, or array; optional
        The target; a list of columns for several targets.
    weight : name or number of a column, or array; optional
        The weights of samples.
    columns : list of names or numbers, optional
        The features; by default all columns that are neither target nor weight.
    rows : int, optional
        Samples in a chunk; by default as many as fit in 16 MB.
    format : {"npy", "parquet", "csv", "svmlight"}, optional
        The file format; by default it is inferred from the name.
    **options
        Options for the kind of source: ``missing="drop"`` for tables, ``n_features`` and
        ``zero_based`` for SVMlight files, ``client`` for Dask.

    Returns
    -------
    Chunks

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stream
    >>> table = np.arange(12.0).reshape(4, 3)
    >>> [chunk] = stream(table, target=-1)
    >>> chunk.X.shape, chunk.y
    ((4, 2), array([ 2.,  5.,  8., 11.]))
    """
    roles = {"columns": columns, "target": target, "weight": weight}
    options |= {} if rows is None else {"rows": rows}
    if isinstance(source, Chunks):
        chunks = source
    else:
        kind = _kind(source, format)
        if kind in ("parquet", "csv"):  # which read no other columns
            return _maker(kind)(source, **roles, **options)
        for role, name in (("target", "y"), ("weight", "weight")):
            if hasattr(roles[role], "shape"):  # an array beside the samples
                options[name] = roles.pop(role)
        chunks = _maker(kind)(source, **options)
    asked = any(role is not None for role in roles.values())
    return chunks.select(**roles) if asked else chunks


def _maker(kind: str) -> Any:
    module, _, name = _MAKERS[kind].partition(".")
    return getattr(import_module(f"{__package__}.{module}"), name)


def _kind(source: Any, format: str | None) -> str:
    """How to read it."""
    if hasattr(source, "__dask_graph__"):
        return "dask"
    if callable(source) or isinstance(source, Iterator):  # which is refused there
        return "function"
    if type(source).__module__.startswith("pyarrow"):
        return "parquet"
    if hasattr(source, "collect_schema"):  # of polars
        raise TypeError(
            "a lazy table cannot be read in several passes; write it with sink_parquet first."
        )
    if format is not None and format not in _FORMATS:
        raise ValueError(f"format must be one of {', '.join(_FORMATS)}, got {format!r}.")
    return format or _format(source) or "array"


def _format(source: Any) -> str | None:
    """The format by the name of a file; None for anything that is not a file name."""
    several = isinstance(source, list | tuple) and bool(source)
    names = list(source) if several else [source]
    if not all(isinstance(name, str | PathLike) for name in names):
        return None
    path = Path(fspath(names[0]))
    kinds = [s.lower() for s in path.suffixes if s.lower() not in COMPRESSED]
    for format, suffixes in _FORMATS.items():
        if kinds and kinds[-1] in suffixes:
            return format
    if several and isinstance(names[0], str):
        return None  # a list of strings, which are samples
    if path.is_dir():
        return "parquet"
    existing(path)
    raise ValueError(
        f"the name of {str(path)!r} does not show its format; give "
        f"format={' or '.join(map(repr, _FORMATS))}, or open it and pass the array."
    )
