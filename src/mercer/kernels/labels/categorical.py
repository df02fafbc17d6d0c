"""The kernel on labels: 1 for the same label, 0 for different ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, is_frame, length
from ...exceptions import DomainError
from ...features.labels import COLUMNS, label_codes
from ..base import Kernel
from ..calculus import properties as prop
from .kind import LABELS


@dataclass(eq=False, repr=False)
class Categorical(Kernel):
    """The kernel on labels: 1 if they are equal, else 0.

    .. math:: k(x, y) = 1[x = y]

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
    domain = LABELS

    def prepare(self, X: Data) -> np.ndarray:
        labels, places = _distinct(_column(X))
        return label_codes(labels, "Categorical")[places]

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return (X[:, None] == Y[None, :]).astype(np.float64)

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))

    def features(self, X: np.ndarray) -> sp.csr_matrix:
        n = len(X)
        return sp.csr_matrix((np.ones(n), X, np.arange(n + 1)), shape=(n, COLUMNS))

    def n_features(self, X: np.ndarray) -> int:
        return COLUMNS

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
