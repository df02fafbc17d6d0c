"""The kernel on labels: 1 for the same label, 0 for different ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, is_frame, length
from ...exceptions import DomainError
from ...features.sparse import stable_codes
from ..base import Kernel
from ..calculus import properties as prop
from ..calculus.domains import Domain
from .kind import LABELS

_WHOLE = 2**55  # whole numbers between -2^55 and 2^55 are their own code, moved to be >= 0
_HASHED = 2**56  # the codes of all other labels lie in [2^56, 2^57)
_COLUMNS = 2**57


@dataclass(eq=False, repr=False)
class Categorical(Kernel):
    """The kernel on labels: k(x, y) = 1 if x = y, else 0.

    Labels are strings, numbers, booleans, dates, or anything else with a value-like ``repr``;
    equal numbers are one label (1, 1.0 and True), and so are None and NaN: *missing*. Works on
    one column: combine several as ``Categorical().on("a") * Categorical().on("b")`` (all must
    match) or with ``+`` (matches are counted).

    Examples
    --------
    >>> from mercer import Categorical
    >>> Categorical()(["red", "blue", "red"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    because = "an inner product of explicit features: the indicator of each label"

    def prepare(self, X: Data) -> np.ndarray:
        labels, places = _distinct(_column(X))
        return _codes(labels)[places]

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return (X[:, None] == Y[None, :]).astype(np.float64)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))

    def features(self, X: np.ndarray) -> sp.csr_matrix:
        n = len(X)
        return sp.csr_matrix((np.ones(n), X, np.arange(n + 1)), shape=(n, _COLUMNS))

    def n_features(self, X: np.ndarray) -> int:
        return _COLUMNS

    @property
    def domain(self) -> Domain:
        return LABELS

    @property
    def properties(self) -> prop.Properties:
        identity = "the Gram matrix of distinct labels is the identity"
        return self._stated(
            bounded=prop.yes("k(x, x) = 1"),
            strictly_pd=prop.yes(identity),
            universal=prop.yes(f"compact sets of labels are finite, and {identity}"),
            characteristic=prop.yes("MMD^2 is the sum of squared differences of probabilities"),
            integrally_pd=prop.yes("a signed measure m has an embedding of norm^2 sum_x m(x)^2"),
            positive_diag=prop.yes("k(x, x) = 1"),
        )


def _column(X: Data) -> Data:
    """X as one array of numbers or one list of labels."""
    if isinstance(X, str | bytes):
        raise DomainError(
            f"Categorical works on a list of labels, got a single {type(X).__name__}; wrap it: [x]."
        )
    if length(X) == 0:
        raise DomainError("Categorical: X has no samples.")
    width = X.shape[1] if len(getattr(X, "shape", ())) > 1 else 1
    if is_frame(X) and width == 1:
        return X[X.columns[0]].to_list()
    if isinstance(X, np.ndarray) and width == 1:
        X = X.reshape(len(X))
        return X if X.dtype.kind in "biuf" else X.tolist()
    if width == 1:
        labels = list(X)
        width = max(len(x) if isinstance(x, list | tuple) else 1 for x in labels)
        if width <= 1:
            return [x[0] if isinstance(x, list | tuple) and x else x for x in labels]
    raise DomainError(
        f"Categorical works on one column, X has {width}; give each its own kernel: "
        f"Categorical().on(0) * Categorical().on(1) (or + to count matches)."
    )


def _distinct(column: Data) -> tuple[list, np.ndarray]:
    """The different labels of a column, and for each sample the place of its label."""
    if isinstance(column, np.ndarray):
        values, places = np.unique(column, return_inverse=True)
        return values.tolist(), places.reshape(-1)
    seen: dict[Any, int] = {}
    try:
        places = np.array([seen.setdefault(x, len(seen)) for x in column], dtype=np.int64)
    except TypeError:
        raise DomainError(
            "Categorical: labels must be hashable (strings, numbers, dates, ...)."
        ) from None
    return list(seen), places


def _codes(labels: list) -> np.ndarray:
    """An int64 code for each label, that depends on the label only."""
    names = [_name(x) for x in labels]
    codes = np.zeros(len(names), np.int64)
    whole = np.array([isinstance(name, int) for name in names])
    codes[whole] = [_WHOLE + name for name in names if isinstance(name, int)]
    codes[~whole] = _HASHED + stable_codes((s for s in names if isinstance(s, str)), bits=56)
    return codes


def _name(x: Any) -> int | str:
    """What tells a label apart: itself if a whole number, else a text with its kind in front."""
    if x is None or type(x).__name__ == "NAType" or x != x:
        return "missing"
    if isinstance(x, str):
        return "str:" + x
    if isinstance(x, Real):
        return _number(x)
    kind = type(x)
    printed = any("__repr__" in vars(c) for c in kind.__mro__[:-1])  # not as an address
    if not printed or (isinstance(x, Collection) and not isinstance(x, bytes)):
        raise DomainError(
            f"Categorical: labels are strings, numbers, dates, ..., not of type {kind.__name__}."
        )
    return f"{kind.__qualname__}:{x!r}"


def _number(x: Any) -> int | str:
    if not isinstance(x, Integral) and not (np.isfinite(float(x)) and x == int(x)):
        return f"number:{float(x)!r}"
    return int(x) if abs(x) < _WHOLE else f"number:{int(x)}"
