"""Data that are kept: they must not change when the caller's do."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np
import scipy.sparse as sp

from .data import Data, as_samples
from .frames import is_frame, is_object

_CONSTANT = (str, bytes, Number, type(None), np.generic, frozenset)


def owned(X: Data, given: Data = None) -> Data:
    """X, or a copy of it, so that it stays as it is whatever happens to what was ``given``.

    ``given`` is what X was made from (X itself by default): nothing is copied twice. Containers
    are copied at every level, objects of other classes (graphs, trees) are not. Data that cannot be
    written to, such as a memory map opened for reading, are not copied.
    """
    X, given = as_samples(X), X if given is None else given
    if isinstance(X, np.ndarray) and X.dtype != object:
        # containers of other packages may hand out the very array that they hold
        plain = isinstance(given, np.ndarray | list | tuple) or is_frame(given)
        fresh = X is not given and X.flags.owndata and plain
        return X if fresh or _is_constant(X) else np.array(X, order="C")
    if sp.issparse(X):
        return X.copy() if X is given or _shares(X, given) else X
    return _copy(X)


def _copy(x: Any) -> Any:
    if isinstance(x, _CONSTANT):
        return x
    if isinstance(x, np.ndarray):
        return _objects(x) if x.dtype == object else x.copy()
    if type(x) in (list, set):
        return type(x)(v if isinstance(v, _CONSTANT) else _sample(v) for v in x)
    if type(x) is tuple:
        new = tuple(v if isinstance(v, _CONSTANT) else _sample(v) for v in x)
        return new if any(a is not b for a, b in zip(new, x, strict=True)) else x
    if type(x) is dict:
        return {key: _sample(v) for key, v in x.items()}
    if hasattr(x, "iloc"):
        return _table(x) if is_frame(x) else _series(x)
    if is_frame(x):
        return x.clone()  # of polars, whose columns never change
    return x.copy() if sp.issparse(x) else x


def _sample(x: Any) -> Any:
    try:
        return _copy(x)
    except RecursionError:  # a tree of a thousand levels
        return x


def _objects(x: np.ndarray) -> np.ndarray:
    new = np.empty(x.shape, dtype=object)
    for place in np.ndindex(x.shape):  # by entry: they may be arrays of one length
        new[place] = _sample(x[place])
    return new


def _table(X: Any) -> Any:
    new = X.copy()
    for place, dtype in enumerate(X.dtypes):
        if is_object(dtype):
            new.isetitem(place, _objects(X.iloc[:, place].to_numpy()))
    return new


def _series(x: Any) -> Any:
    new = x.copy()
    if is_object(x.dtype):
        new[:] = _objects(x.to_numpy())
    return new


def _shares(X: Any, given: Any) -> bool:
    parts = ("data", "indices", "indptr")
    theirs = [getattr(given, part, None) for part in parts] if sp.issparse(given) else []
    return any(
        isinstance(a, np.ndarray) and np.may_share_memory(a, getattr(X, part, a))
        for part, a in zip(parts, theirs, strict=False)
    )


def _is_constant(x: Any) -> bool:
    """Are this array, and those that it is a view of, read-only?"""
    while isinstance(x, np.ndarray):
        if x.flags.writeable:
            return False
        x = x.base
    return True
