"""What kernels of one real variable share: one number per sample, and scalar parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...data import Data, as_vectors
from ...exceptions import DomainError
from ..base import Kernel
from ..calculus.domains import Domain
from .kind import VECTORS


@dataclass(eq=False, repr=False)
class LineKernel(Kernel):
    """A kernel on the real line or a part of it; prepared samples are an (n,) float array."""

    def prepare(self, X: Data) -> np.ndarray:
        return one_column(X, type(self).__name__)

    @property
    def domain(self) -> Domain:
        return VECTORS


def one_column(X: Data, owner: str) -> np.ndarray:
    """X as an (n,) float array; refuses samples that are not one number each."""
    X = as_vectors(X, owner)
    if X.shape[1] != 1:
        raise DomainError(
            f"{owner} works on one number per sample, but X has {X.shape[1]} columns; select one "
            "with .on(column)."
        )
    return X.toarray()[:, 0] if sp.issparse(X) else X[:, 0]
