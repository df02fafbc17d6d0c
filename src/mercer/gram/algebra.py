"""Gram operators made from others: shifted, scaled, summed, centred. None stores a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, reduce
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..data import Data, Rows
from .base import Gram


class Wrapped(Gram):
    """A changed operator: on the same device, and in the memory of the original."""

    words: ClassVar[str]  # what was done to it

    def __init__(self, inner: Gram) -> None:
        self.inner, self.shape, self.dtype = inner, inner.shape, inner.dtype
        self.symmetric, self.matrix_free = inner.symmetric, inner.matrix_free
        self.device, self.limit, self.workers = inner.device, inner.limit, inner.workers

    @property
    def nbytes(self) -> int:
        """The memory of the operator inside."""
        return self.inner.nbytes

    def explain(self) -> str:
        return f"{self.words}:\n{_indent(self.inner)}"


class ShiftedGram(Wrapped):
    """K + value * I (or K + diag(value)); new data meet K itself, since the shift is noise."""

    words = "shifted on the diagonal"

    def __init__(self, inner: Gram, value: float | np.ndarray) -> None:
        if inner.shape[0] != inner.shape[1]:
            raise ValueError(f"only a square K can be shifted, got shape {inner.shape}.")
        super().__init__(inner)
        self.value = np.broadcast_to(np.asarray(value, dtype=float), (len(inner),))

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        n = len(self)
        i, j = np.arange(n)[rows], np.arange(n)[cols]
        K = self.inner.block(rows, cols)
        K = K if self.matrix_free else K.copy()  # what is computed is ours already
        on = np.nonzero(i[:, None] == j[None, :])
        K[on] += self.value[i[on[0]]].astype(self.dtype)
        return K

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return self.inner @ V + self.value[:, None] * V

    def diag(self) -> np.ndarray:
        return self.inner.diag() + self.value

    def cross(self, X_new: Data) -> Gram:
        return self.inner.cross(X_new)


class ScaledGram(Wrapped):
    """S K S with S = diag(scale): k(x, y) becomes s(x) k(x, y) s(y)."""

    words = "scaled from both sides"

    def __init__(self, inner: Gram, scale: np.ndarray) -> None:
        super().__init__(inner)
        self.scale = np.asarray(scale, dtype=np.float64)

    @property
    def features(self) -> Any:
        """Those of the samples, scaled."""
        phi = self.inner.features
        if phi is None:
            return None
        return sp.diags(self.scale) @ phi if sp.issparse(phi) else self.scale[:, None] * phi

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        scaled = self.scale[rows][:, None] * self.inner.block(rows, cols) * self.scale[cols]
        return scaled.astype(self.dtype, copy=False)

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return self.scale[:, None] * (self.inner @ (self.scale[:, None] * V))

    def diag(self) -> np.ndarray:
        return self.inner.diag() * self.scale**2

    def detached(self) -> Gram:
        return ScaledGram(self.inner.detached(), self.scale)


class SumGram(Gram):
    """sum_m w_m K_m."""

    def __init__(self, parts: Sequence[Gram], weights: Sequence[float]) -> None:
        shapes = {p.shape for p in parts}
        if len(shapes) != 1:
            raise ValueError(f"only operators of one shape can be added, got {sorted(shapes)}.")
        self.parts, self.weights = list(parts), list(weights)
        self.shape = parts[0].shape
        self.dtype = np.result_type(*(p.dtype for p in parts))
        self.symmetric = all(p.symmetric for p in parts)
        self.matrix_free = any(p.matrix_free for p in parts)
        self.device, self.limit = parts[0].device, min(p.limit for p in parts)

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        return self._total(lambda p: p.block(rows, cols))

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return self._total(lambda p: p @ V)

    def diag(self) -> np.ndarray:
        return self._total(lambda p: p.diag())

    def _total(self, part: Callable[[Gram], np.ndarray]) -> np.ndarray:
        terms = [w * part(p) for w, p in zip(self.weights, self.parts, strict=True)]
        return reduce(np.add, terms)

    def cross(self, X_new: Data) -> Gram:
        return SumGram([p.cross(X_new) for p in self.parts], self.weights)

    @property
    def nbytes(self) -> int:
        """The memory of all summands."""
        return sum(p.nbytes for p in self.parts)

    def explain(self) -> str:
        pairs = zip(self.weights, self.parts, strict=True)
        return "weighted sum:\n" + "\n".join(f"{_indent(p)}\n  weight {w:g}" for w, p in pairs)


class CenteredGram(Wrapped):
    """K with centred features: H K H on the training data, and its extension to new data.

    For new points, (k_new - column means) - row means + grand mean, all over training data.
    """

    words = "centred features, H K H"

    def __init__(self, inner: Gram, train: CenteredGram | None = None) -> None:
        super().__init__(inner)
        self._train = train

    @cached_property
    def row_means(self) -> np.ndarray:
        """Mean of each row of K over the training data."""
        m = self.shape[1]
        return self.inner @ np.full(m, 1 / m)

    @property
    def col_means(self) -> np.ndarray:
        """Mean of each column of the *training* K."""
        return self._train.row_means if self._train else self.row_means

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        means = self.col_means
        block = self.inner.block(rows, cols) - self.row_means[rows][:, None]
        block -= means[cols][None, :] - means.mean()
        return block.astype(self.dtype, copy=False)

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        total, means = V.sum(axis=0), self.col_means
        return (
            self.inner @ V
            - np.outer(self.row_means, total)
            - (means @ V - means.mean() * total)[None, :]
        )

    def diag(self) -> np.ndarray:
        return self.inner.diag() - 2 * self.row_means + self.row_means.mean()

    def cross(self, X_new: Data) -> Gram:
        return CenteredGram(self.inner.cross(X_new), train=self)


class SubsetGram(Wrapped):
    """K[index, index] of some samples."""

    def __init__(self, inner: Gram, index: np.ndarray) -> None:
        super().__init__(inner)
        self.index = np.arange(len(inner))[index]
        self.shape = (len(self.index), len(self.index))

    @property
    def features(self) -> Any:
        """Those of the samples."""
        return None if self.inner.features is None else self.inner.features[self.index]

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        return self.inner.block(self.index[rows], self.index[cols])

    def diag(self) -> np.ndarray:
        return self.inner.diag()[self.index]

    def subset(self, index: np.ndarray) -> Gram:
        return SubsetGram(self.inner, self.index[index])

    def explain(self) -> str:
        return f"{len(self)} of {len(self.inner)} samples:\n{_indent(self.inner)}"


def _indent(gram: Gram) -> str:
    return "  " + gram.explain().replace("\n", "\n  ")
