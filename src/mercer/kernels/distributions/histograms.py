"""Histograms: rows of numbers >= 0."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from ...data import Data, as_vectors
from ...exceptions import DomainError


def histograms(X: Data, owner: str) -> Any:
    """X as an array or CSR matrix of numbers >= 0."""
    X = as_vectors(X, owner)
    values = X.data if sp.issparse(X) else X
    if values.size and values.min() < 0:
        raise DomainError(
            f"{owner} works on histograms, rows of numbers >= 0, but X contains {values.min():g}."
        )
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
