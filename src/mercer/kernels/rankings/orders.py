"""Rankings as data: the rank of each item, or items in order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, as_samples, is_frame, length
from ...exceptions import DomainError
from ...frames import matrix

_EXACT = 2.0**53  # integers below are different as floats, too
_GROUPS = list | tuple | set | frozenset  # of items that share a place


def rankings_from_orders(
    orders: Iterable[Iterable[Any]],
    items: int | Sequence[Hashable],
    *,
    rest: str = "last",
) -> np.ndarray:
    """Make rankings from ordered items, best first: ballots, lists of search results, playlists.

    Parameters
    ----------
    orders : iterable of sequences
        The items of each ranking, best first; items in a nested list, tuple or set are tied. Items
        may be left out.
    items : int or sequence
        All items; a number m stands for 0, 1, ..., m - 1.
    rest : {"last", "missing"}
        How omitted items are treated: tied behind all others, as in top-k lists, or not ranked at
        all (NaN), as if they had not been seen.

    Returns
    -------
    ndarray of shape (n, m)
        The rank of each item in each ranking, 1 for the best; tied items have the same one.

    Examples
    --------
    >>> from mercer import rankings_from_orders
    >>> rankings_from_orders([["tea", "milk", "beer"], ["beer"]], ["beer", "milk", "tea"])
    array([[3., 2., 1.],
           [1., 2., 2.]])
    >>> rankings_from_orders([[2, {0, 1}], [1, 0]], 3, rest="missing")
    array([[ 2.,  2.,  1.],
           [ 2.,  1., nan]])
    """
    if rest not in ("last", "missing"):
        raise ValueError(f'rest must be "last" or "missing", got {rest!r}.')
    whole = isinstance(items, Integral)
    known: list[Any] = list(range(items) if whole else items)  # type: ignore[arg-type]
    column = {item: j for j, item in enumerate(known)}
    if len(column) < len(known):
        raise ValueError("items must be distinct, but some are repeated.")
    rows = []
    for place, order in enumerate(orders):
        if isinstance(order, str | bytes) or not hasattr(order, "__iter__"):
            raise DomainError(
                f"rankings_from_orders: order {place} is {order!r}; pass its items as a list."
            )
        row, taken = np.full(len(known), np.nan), 0
        for group in order:
            tied = list(group) if isinstance(group, _GROUPS) else [group]
            for item in tied:
                j = column.get(item)
                if j is None:
                    listed = f"0, ..., {len(known) - 1}" if whole else "the items"
                    raise DomainError(
                        f"order {place} has the item {item!r}, which is not one of {listed}."
                    )
                if not np.isnan(row[j]):
                    raise DomainError(f"order {place} has the item {item!r} twice.")
                row[j] = taken + 1
            taken += len(tied)
        if rest == "last":
            row[np.isnan(row)] = taken + 1
        rows.append(row)
    return np.array(rows).reshape(len(rows), len(known))


def read(X: Data, owner: str) -> np.ndarray:
    """X as an (n, m) array of ranks, NaN for items that are not ranked."""
    wanted = f"{owner} works on rankings, one row each with the rank of every item"
    X = as_samples(X, owner)
    if sp.issparse(X):
        raise DomainError(f"{wanted}; pass a dense array, with NaN for items that are not ranked.")
    X = matrix(X, owner) if is_frame(X) else X
    if length(X) == 0:
        raise DomainError(f"{owner}: X has no samples.")
    try:
        X = np.asarray(X)
        numbers = X.dtype.kind in "biuf"
        ranks = np.array(X if numbers else X.tolist(), dtype=np.float64)
        if ranks.ndim == 2 and np.any(np.abs(ranks) >= _EXACT):
            ranks = _places(X if numbers else np.asarray(X, dtype=object), ranks)
        if not numbers and np.array(X.tolist()).dtype.kind in "US":
            raise TypeError
    except (TypeError, ValueError):
        raise DomainError(
            f"{wanted}, the same number in each, with NaN for items that are not ranked; "
            "rankings_from_orders makes them from ordered items."
        ) from None
    if ranks.ndim != 2:
        raise DomainError(f"{wanted}: an (n, m) array, got {ranks.ndim} dimension(s).")
    if ranks.shape[1] < 2:
        raise DomainError(f"{wanted}, got {ranks.shape[1]} item(s); at least two are needed.")
    return ranks


def _places(given: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """The places of values in their rows, as integers that differ may be equal as floats."""
    out = np.full(ranks.shape, np.nan)
    for row, values, known in zip(out, given, ~np.isnan(ranks), strict=True):
        row[known] = np.unique(values[known], return_inverse=True)[1]
    return out


def standings(ranks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many items come before each item, and how many come no later, itself included.

    NaN for items that are not ranked.
    """
    order = np.argsort(ranks, axis=1, kind="stable")  # NaN comes last
    ordered = np.take_along_axis(ranks, order, axis=1)
    m = ranks.shape[1]
    new = np.ones(ranks.shape, bool)  # is it the first of its place?
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.maximum.accumulate(np.where(new, np.arange(m), 0), axis=1)
    last = np.roll(new, -1, axis=1)
    last[:, -1] = True
    ends = np.where(last, np.arange(1, m + 1), m)
    ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
    found = np.empty((2, *ranks.shape))
    for out, values in zip(found, (starts, ends), strict=True):
        np.put_along_axis(out, order, values, axis=1)
        out[np.isnan(ranks)] = np.nan
    return found[0], found[1]
