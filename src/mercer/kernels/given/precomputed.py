"""A kernel matrix computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...data import Data, Prepared, as_dense, as_samples
from ...engine.threads import run
from ...exceptions import DomainError
from ..base import Kernel
from ..calculus.properties import Fact, Properties

_ASYMMETRY = 1e-5  # relative: what a matrix computed in float32 may show
_TILE = 256


class KernelMatrix:
    """Rows [k(x_i, z_1) ... k(x_i, z_n)] against the training samples z."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    @cached_property
    def square(self) -> np.ndarray:
        """The values, if these are the training samples themselves: square and symmetric."""
        m, n = self.values.shape
        if m != n:
            raise DomainError(
                "Precomputed: this needs the square kernel matrix of the training samples, got "
                f"shape {(m, n)}; for a subset of the samples pass K[np.ix_(subset, subset)], and "
                "for new samples kernel(K_new, K_train)."
            )
        K, parts = self.values, [slice(i, i + _TILE) for i in range(0, n, _TILE)]
        differences, heights = [0.0], [0.0]

        def compare(i: int) -> None:
            for cols in parts[i:]:  # in tiles, of which the transposed one is in the cache, too
                left, right = K[parts[i], cols], K[cols, parts[i]].T
                difference = left - right
                differences.extend([difference.max(), -difference.min()])
                heights.extend([left.max(), -left.min()])

        run(compare, range(len(parts)))
        worst = max(differences)
        if worst > _ASYMMETRY * max(heights):
            raise DomainError(
                "Precomputed: the training matrix is not symmetric: K and K.T differ by "
                f"{worst:.3g}; if this is noise, pass (K + K.T) / 2."
            )
        return self.values


@dataclass(eq=False, repr=False)
class MatrixRows(Prepared):
    """Some rows of a kernel matrix: a prepared sample is a row and its place in it."""

    matrix: KernelMatrix
    rows: np.ndarray

    each = ("rows",)


@dataclass(eq=False, repr=False)
class Precomputed(Kernel):
    """A kernel matrix computed elsewhere: samples are rows of this matrix.

    The training data are the square matrix K = [k(x_i, x_j)]; new data are the rows
    [k(x_new, x_j)] against the training samples, shape (m, n). Whether K is positive
    definite is not checked; :func:`mercer.testing.check_psd` does, given ``Precomputed()``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Precomputed
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> gram = Precomputed().gram(K)
    >>> gram @ [1.0, 1.0]
    array([3., 4.])
    >>> gram.cross(np.array([[0.5, 1.5]])).to_dense()
    array([[0.5, 1.5]])
    """

    because = "a user-defined matrix, assumed to hold kernel values"

    def prepare(self, X: Data) -> MatrixRows:
        values = _checked(X)
        return MatrixRows(KernelMatrix(values), np.arange(len(values)))

    def pairwise(self, X: MatrixRows, Y: MatrixRows) -> np.ndarray:
        n = len(Y.matrix.square)
        if X.matrix.values.shape[1] != n:
            raise DomainError(
                f"Precomputed: new rows must hold one value per training sample, {n} of them, got "
                f"{X.matrix.values.shape[1]}."
            )
        return X.matrix.values[np.ix_(X.rows, Y.rows)]

    def diag(self, X: MatrixRows) -> np.ndarray:
        return X.matrix.square[X.rows, X.rows]

    @property
    def properties(self) -> Properties:
        return Properties(self.domain, psd=Fact(None, "not checked; see mercer.testing.check_psd"))


def _checked(X: Data) -> np.ndarray:
    X = as_samples(X)
    try:
        values = np.asarray(as_dense(X))
        values = values.astype(np.float32 if values.dtype == np.float32 else np.float64, copy=False)
    except (TypeError, ValueError):
        raise DomainError(
            "Precomputed works on a matrix of kernel values, but X does not contain numbers; to "
            "compute them from a function use Custom(function)."
        ) from None
    if values.ndim != 2 or 0 in values.shape:
        raise DomainError(f"Precomputed works on a matrix of values, got shape {values.shape}.")
    if not np.all(np.isfinite(values)):
        i, j = np.argwhere(~np.isfinite(values))[0]
        raise DomainError(f"Precomputed: entry ({i}, {j}) of the matrix is {values[i, j]}.")
    return values
