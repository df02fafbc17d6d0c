"""Gram operators made from a kernel and data: stored, tiled, or as a product of features."""

from __future__ import annotations

import operator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from ..data import Data, Rows, as_dense, in_double, length, take
from ..engine.lapack import lapack, side
from ..engine.memory import memory_words, require_memory
from ..exceptions import not_finite
from ..features.sparse import compress, occurring
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from .base import Gram
from .span import LandmarkSpan, SampleSpan, Span
from .tiles import diagonal, evaluate, multiply, run, slices

_SMALL = 1000  # samples that are all kept, whatever features the kernel has
_STRIP = 4096  # samples whose features are used at a time
_GROUPS = 8  # independent accumulators of a product with Phi', whatever the number of threads,
_ENTRIES = 2**22  # and numbers in them at most
_SEARCHED = 2000  # features for which samples are looked for that span them

Form = TypeVar("Form", bound="KernelGram")


class KernelGram(Gram):
    """Common base of Gram operators of a kernel: the kernel, and prepared rows and columns."""

    storage = ""
    of_kernel = True
    notes: tuple[str, ...] = ()  # what a model did beside it, for explain

    def __init__(
        self, kernel: Kernel, X: Data, Y: Data | None = None, *, workers: int | None = None
    ) -> None:
        self.kernel = kernel
        self.X = X
        self.Y = X if Y is None else Y
        self.workers = workers
        self.symmetric = self.Y is X
        self.shape = (length(X), length(self.Y))

    @cached_property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        first = slice(0, 1)
        return self.kernel.pairwise(take(self.X, first), take(self.Y, first)).dtype

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        slices = isinstance(rows, slice) and isinstance(cols, slice)  # arrays compare by entry
        same = self.symmetric and slices and rows == cols
        left = take(self.X, rows)
        right = left if same else take(self.Y, cols)
        return evaluate(self.kernel, left, right, workers=self.workers)

    def diag(self) -> np.ndarray:
        if not self.symmetric:
            raise ValueError(f"a {self.shape[0]} x {self.shape[1]} cross matrix has no diagonal.")
        return diagonal(self.kernel, self.X)

    def cross(self, X_new: Data) -> Gram:
        return TiledGram(self.kernel, self._prepared(X_new), self.X, workers=self.workers)

    def _prepared(self, X_new: Data) -> Data:
        """New samples; they stay in double precision if those of this operator are."""
        double = getattr(self.X, "dtype", self.dtype) == np.float64
        return self.kernel.prepare(in_double(X_new) if double else X_new)

    def subset(self, index: np.ndarray) -> Gram:
        return self._as(type(self), take(self.X, index))

    def _as(self, form: type[Form], X: Data | None = None) -> Form:
        """Another form of the same matrix, or of the part of it that belongs to X."""
        if X is not None:
            same = form(self.kernel, X, workers=self.workers)
        else:
            Y = None if self.symmetric else self.Y
            same = form(self.kernel, self.X, Y, workers=self.workers)
        same.limit = self.limit
        return same

    def explain(self) -> str:
        n, m = self.shape
        first = f"{type(self).__name__}: {n} x {m}, {self.dtype}, {self.storage}"
        size = f"{memory_words(self.nbytes)}\n  k = {self.kernel!r}"
        return "\n  ".join((f"{first}; {size}", *self.notes))


class DenseGram(KernelGram):
    """K stored as an array, computed when first needed."""

    storage = "stored as an array"
    matrix_free = False

    @cached_property
    def array(self) -> np.ndarray:
        """The matrix itself."""
        return evaluate(self.kernel, self.X, self.Y, workers=self.workers)

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        if isinstance(rows, slice) or isinstance(cols, slice):
            return self.array[rows, cols]
        return self.array[np.ix_(rows, cols)]

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return self.array @ V

    def to_dense(self) -> np.ndarray:
        return self.array

    def consume(self) -> np.ndarray:
        stored = vars(self).pop("array", None)  # in one step: no two threads are handed the same
        return self.detached().array if stored is None else stored

    def detached(self) -> DenseGram:
        return self._as(DenseGram)

    def packed(self) -> Gram:
        half = self._as(TiledGram).products(self.dtype, np.inf)
        require_memory(half.nbytes, f"half of a {len(self)} x {len(self)} kernel matrix")
        return half

    def unstored(self) -> Gram:
        return self._as(TiledGram)


class TiledGram(KernelGram):
    """K never stored: every product and block is computed tile by tile."""

    storage = "computed tile by tile, never stored"

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return multiply(self.kernel, self.X, self.Y, V, workers=self.workers)

    def products(self, dtype: Any, room: float = 0.0) -> Gram:
        from .products import ProductGram

        return ProductGram(self, dtype, room) if self.symmetric else self

    @property
    def nbytes(self) -> int:
        """Tiles in progress and accumulators; the n x m matrix is never stored."""
        return 16 * self.shape[0] * 8


class LowRankGram(KernelGram):
    """K = Phi(X) Phi(Y)' for a kernel with a finite feature map, dense or sparse."""

    storage = "as a product of features"
    matrix_free = False

    def __init__(
        self,
        kernel: Kernel,
        X: Data,
        Y: Data | None = None,
        *,
        workers: int | None = None,
        parent: LowRankGram | None = None,
    ) -> None:
        super().__init__(kernel, X, Y, workers=workers)
        self._parent = parent

    @cached_property
    def _trained(self) -> tuple[Any, np.ndarray | None]:
        """Features of the training data, and which columns occur there if they are sparse."""
        phi: Any = self.kernel.features(self.Y)
        if not np.isfinite(squares(phi, self.workers).sum()):  # the trace of K
            raise not_finite(self.kernel)
        if not sp.issparse(phi):
            return phi, None
        columns = occurring(phi)
        return compress(phi, columns), columns

    @cached_property
    def phi(self) -> Any:
        """Features of the rows, restricted to columns that occur in the training data."""
        if self._parent is None:
            return self._trained[0]
        columns = self._parent._trained[1]
        phi: Any = self.kernel.features(self.X)
        if columns is None:  # samples that consist of nothing have sparse features in any case
            few = np.arange(self.psi.shape[1])
            return compress(phi, few).toarray() if sp.issparse(phi) else phi
        return compress(phi, columns) if sp.issparse(phi) else phi[:, columns]

    @property
    def psi(self) -> Any:
        """Features of the columns of K."""
        return self._parent.phi if self._parent else self.phi

    @property
    def features(self) -> Any:
        """Those of the rows, which are those of the columns too if K is square."""
        return self.phi

    @cached_property
    def dtype(self) -> np.dtype:  # type: ignore[override]
        return np.result_type(self.phi.dtype, self.psi.dtype)

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        return as_dense(self.phi[rows] @ self.psi[cols].T)

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        if sp.issparse(self.phi) or V.dtype == self.dtype:
            return np.asarray(self.phi @ (self.psi.T @ V))
        # numpy would convert all features to the precision of V at once
        combined = sum(self.psi[at].T @ V[at] for at in slices(self.shape[1], _STRIP))
        return np.concatenate([self.phi[at] @ combined for at in slices(self.shape[0], _STRIP)])

    def adjoint(self, C: np.ndarray) -> np.ndarray:
        """Phi' c, for one row of c for each sample; in double precision."""
        return adjoint(self.phi, C, self.workers)

    def moments(self, sample_weight: np.ndarray | None) -> np.ndarray:
        """Phi' W Phi, in double precision."""
        return moments(self.phi, sample_weight)

    def cross(self, X_new: Data) -> Gram:
        return LowRankGram(
            self.kernel, self._prepared(X_new), self.X, workers=self.workers, parent=self
        )

    def span(self) -> Span | None:
        """The landmarks of a :class:`~mercer.Nystrom` kernel, or samples with independent features.

        None if these are hardly fewer than the samples, or too many to search for; and for up to a
        thousand samples, unless landmarks were requested.
        """
        if not self.symmetric or self._parent is not None:
            return None
        if isinstance(self.kernel, Nystrom):
            return LandmarkSpan(self) if length(self.kernel.reference) < len(self) else None
        few = len(self) > _SMALL and 2 * self.phi.shape[1] <= len(self)
        return SampleSpan(self) if few and self.phi.shape[1] <= _SEARCHED else None

    @property
    def nbytes(self) -> int:
        """The memory of the features."""
        phi = self.phi
        return int(phi.data.nbytes + phi.indices.nbytes if sp.issparse(phi) else phi.nbytes)

    def explain(self) -> str:
        sparse = ", sparse" if sp.issparse(self.phi) else ""
        return f"{super().explain()}\n  {self.rank} features{sparse}"


# ---- products with features in double precision, of which a few rows are converted at a time -----
def _strips(phi: Any, size: int = _STRIP) -> list[slice]:
    return [slice(0, phi.shape[0])] if sp.issparse(phi) else slices(phi.shape[0], size)


def times(phi: Any, weights: np.ndarray) -> np.ndarray:
    """Phi w, one row for each sample."""
    found = [phi[at].astype(np.float64, copy=False) @ weights for at in _strips(phi)]
    return np.concatenate(found)


def squares(phi: Any, workers: int | None = None) -> np.ndarray:
    """The squared length of each row of Phi."""
    sparse, out = sp.issparse(phi), np.empty(phi.shape[0])
    phi = phi.tocsr() if sparse else phi

    def strip(at: slice) -> None:
        part = phi[at]
        if sparse:
            out[at] = np.asarray(part.astype(np.float64).power(2).sum(axis=1)).ravel()
        else:
            np.einsum("ij,ij->i", part, part, dtype=np.float64, out=out[at])

    run(strip, slices(phi.shape[0], _STRIP), workers)
    return out


def adjoint(phi: Any, C: np.ndarray, workers: int | None = None) -> np.ndarray:
    """Phi' c, for one row of c for each sample; rows of zeros cost nothing.

    What is added to what does not depend on the number of threads.
    """
    strips = _strips(phi, _STRIP // 4)  # each thread converts one
    groups = max(1, min(_GROUPS, len(strips), _ENTRIES // max(phi.shape[1] * C.shape[1], 1)))
    parts = np.zeros((groups, phi.shape[1], C.shape[1]))

    def group(k: int) -> None:
        for at in strips[k::groups]:
            part, c = phi[at], C[at].astype(np.float64, copy=False)
            some = np.flatnonzero(c.any(axis=1))
            if 2 * len(some) < len(c):
                part, c = part[some], c[some]
            parts[k] += part.T.astype(np.float64, copy=False) @ c

    if groups == 1:  # with all threads of BLAS
        group(0)
    else:
        run(group, range(groups), workers)
    return parts.sum(axis=0)


def moments(phi: Any, sample_weight: np.ndarray | None) -> np.ndarray:
    """Phi' W Phi."""
    m = phi.shape[1]
    A = np.zeros((m, m))
    for at in _strips(phi):
        part = phi[at].astype(np.float64, copy=False)
        weighted = part
        if sample_weight is not None:
            w = sample_weight[at]
            weighted = sp.diags(w) @ part if sp.issparse(part) else w[:, None] * part
        A += as_dense(lapack(side(part.shape[0], m, m), operator.matmul, part.T, weighted))
    return A
