"""What kernels on R^d share: checked (n, d) arrays or CSR matrices, and products of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, as_dense, as_vectors
from ..base import Kernel
from ..calculus.domains import Domain
from .kind import VECTORS

Vectors = Any  # an (n, d) float array or a CSR matrix


@dataclass(eq=False, repr=False)
class VectorKernel(Kernel):
    """A kernel on vectors, dense or sparse, float32 or float64."""

    def prepare(self, X: Data) -> Vectors:
        return as_vectors(X, type(self).__name__)

    @property
    def domain(self) -> Domain:
        return VECTORS


def check_widths(X: Vectors, Y: Vectors) -> None:
    """Refuse samples with different numbers of features."""
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but the other sample has {Y.shape[1]} features."
        )


def inner_products(X: Vectors, Y: Vectors) -> np.ndarray:
    """[<x_i, y_j>] as a dense array."""
    check_widths(X, Y)
    return np.asarray(as_dense(X @ Y.T))


def squared_norms(X: Vectors) -> np.ndarray:
    """[<x_i, x_i>] in float64."""
    if sp.issparse(X):
        X = X.astype(np.float64, copy=False)
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
