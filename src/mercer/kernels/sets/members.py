"""Finite sets, with weights or without, as sparse rows: an element is a column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Prepared, Rows
from ...exceptions import DomainError
from ...features.labels import COLUMNS, label_codes
from ...features.sparse import common_columns
from ..base import Tile


@dataclass(eq=False, repr=False)
class Members(Prepared):
    """Finite sets, prepared.

    Parameters
    ----------
    rows : CSR matrix
        The weight of each element in each set, times its measure; columns are codes of elements.
    plain : array of bool
        Which sets have no weights of their own: there each element counts its measure, as in all.
    """

    rows: sp.csr_matrix
    plain: np.ndarray

    each = ("rows", "plain")

    def sizes(self) -> np.ndarray:
        """The measure of each set."""
        return np.asarray(self.rows.sum(axis=1)).reshape(-1)

    def overlaps(self, other: Members) -> Tile:
        """Tiles of the measures of intersections."""
        A, B = common_columns(self.rows, other.rows)
        plain = bool(self.plain.all() and other.plain.all())
        if plain:
            A, B = _rooted(A), _rooted(B)

        def tile(rows: Rows, cols: Rows) -> np.ndarray:
            left, right = A[rows], B[cols]
            if plain:
                return np.asarray((left @ right.T).toarray())
            from .loops import shared_minima

            return np.asarray(shared_minima(_parts(left), _parts(right), A.shape[1]))

        return tile

    def features(self) -> sp.csr_matrix | None:
        """The indicator of each element, times the root of its measure."""
        return _rooted(self.rows) if self.plain.all() else None

    @property
    def n_features(self) -> int | None:
        """All codes that there are; sets with weights have no finite map."""
        return COLUMNS if self.plain.all() else None


def members(X: Iterable[Any], measure: Any, owner: str) -> Members:
    """Sets and frozensets, or dicts from elements to weights."""
    X = list(X)
    counts = np.array([len(x) for x in X], dtype=np.int64)
    known: dict[Any, int] = {}
    places = np.array([known.setdefault(e, len(known)) for x in X for e in x], dtype=np.int64)
    weights = np.array([w for x in X for w in _weights(x)], dtype=np.float64)
    ends = np.concatenate([[0], np.cumsum(counts)])
    plain = np.array([not isinstance(x, Mapping) for x in X])
    return _made(list(known), places, weights, ends, plain, measure, owner)


def sparse_members(X: Any, measure: Any, owner: str) -> Members:
    """The rows of a sparse matrix, as weights of the numbers of its columns."""
    X = sp.csr_matrix(X, copy=True)
    X.sum_duplicates()
    columns, places = np.unique(X.indices, return_inverse=True)
    weights = X.data.astype(np.float64)
    ends = X.indptr.astype(np.int64)
    others = np.concatenate([[0], np.cumsum(weights != 1)])
    plain = others[ends[1:]] == others[ends[:-1]]
    return _made(columns.tolist(), places.reshape(-1), weights, ends, plain, measure, owner)


def _made(
    elements: list,
    places: np.ndarray,
    weights: np.ndarray,
    ends: np.ndarray,
    plain: np.ndarray,
    measure: Any,
    owner: str,
) -> Members:
    """From the elements that occur, and the place of each member among them."""
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        place = int(np.searchsorted(ends, np.argmax(bad), side="right")) - 1
        raise DomainError(f"{owner}: weights must be finite and >= 0, but are not in set {place}.")
    if isinstance(measure, Mapping):
        weights = weights * np.array([_measure(measure, e, owner) for e in elements])[places]
    codes = label_codes(elements, owner)[places]
    order = np.lexsort((codes, np.repeat(np.arange(len(plain)), np.diff(ends))))
    shape = (len(plain), COLUMNS)
    return Members(sp.csr_matrix((weights[order], codes[order], ends), shape=shape), plain)


def _weights(x: Any) -> Iterable[float]:
    return x.values() if isinstance(x, Mapping) else [1.0] * len(x)


def _measure(measure: Mapping, element: Any, owner: str) -> float:
    if element not in measure:
        raise DomainError(
            f"{owner}: measure has no weight for the element {element!r}; give it one (0 to ignore "
            f"it)."
        )
    return float(measure[element])


def _rooted(rows: sp.csr_matrix) -> sp.csr_matrix:
    return sp.csr_matrix((np.sqrt(rows.data), rows.indices, rows.indptr), shape=rows.shape)


def _parts(rows: sp.csr_matrix) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What loops take, of the same types for all matrices."""
    return rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data
