"""K as a product of features that are computed whenever they are used: any number of samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..chunks.base import Chunk, Chunks, Sums
from ..data import Data, Rows, length, take
from ..engine.memory import memory_words, require_memory
from ..kernels.algebra.nystrom import Nystrom
from ..kernels.base import Kernel
from .base import Gram
from .factors import Factor, HostFactor
from .phi import Rows as FeatureRows
from .phi import StreamedPhi, whitened
from .span import LandmarkSpan, SampleSpan, Span
from .stored import LowRankGram
from .streamed import Centres, Columns, FeatureColumns, StreamedGram
from .tiles import slices

_STRIP = 4096  # samples whose features are there at a time


class ImplicitGram(Gram):
    """K = Phi Phi' of samples in chunks, with M features that are never stored.

    Parameters
    ----------
    kernel : Kernel
        One with M features: a :class:`~mercer.Nystrom` kernel, one with random features, or one
        that has features of its own. Resolved.
    chunks : Chunks
        The samples.
    few : data
        Some of them, from which representatives of all are chosen.
    workers : int, optional
        The number of threads.
    device, precision : str
        Where, and in how many digits, values at landmarks are computed, and multiplied with; and
        where their factor is.
    places : array of int, optional
        Where the landmarks are among the samples, if they are some of them drawn at random.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, Nystrom
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.implicit import ImplicitGram
    >>> X = np.linspace(0, 1, 500)[:, None]
    >>> k = Nystrom(Gaussian(0.5), X[::50])
    >>> K = ImplicitGram(k, ArrayChunks(X, rows=200), X)
    >>> K.shape, K.rank, np.allclose(K @ np.ones(500), k(X) @ np.ones(500))
    ((500, 500), 10, True)
    """

    streamed = True

    def __init__(
        self,
        kernel: Kernel,
        chunks: Chunks,
        few: Data,
        *,
        workers: int | None = None,
        device: str = "cpu",
        precision: str | None = None,
        places: np.ndarray | None = None,
    ) -> None:
        self.places = places
        self.kernel, self.chunks, self.few, self.workers = kernel, chunks, few, workers
        self.columns, self.factor = columns_of(kernel, few, device, precision)
        self.device = self.columns.device
        self.dtype = np.dtype(np.float64)

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        return self.chunks.n_samples, self.chunks.n_samples

    @property
    def rank(self) -> int:
        """The number of features."""
        return self.columns.size

    @cached_property
    def features(self) -> np.ndarray:
        """Phi stored after all, for methods that cannot do without, where memory suffices."""
        what = f"a method that stores {self.rank} features of {len(self)} samples"
        require_memory(8.0 * len(self) * self.rank, what, self.limit)
        job = FeatureRows(self.columns, self.factor, self.workers)
        return np.concatenate(list(self.chunks.map(job)))

    def stream(
        self, y: Any = None, weights: np.ndarray | None = None, intercept: bool = False
    ) -> StreamedPhi:
        chunks = self.chunks if y is None else self.chunks.beside(y, weights)
        gram: Any = StreamedGram(self.columns, chunks, self.workers)
        if self.device == "cpu":
            return StreamedPhi(gram, self.factor, intercept)
        from .device.phi import DevicePhi

        factor: Any = self.factor
        return DevicePhi(gram, factor, intercept, self.places)

    def features_of(self, chunk: Chunk) -> np.ndarray:
        """Phi of some samples, as an array."""
        return FeatureRows(self.columns, self.factor, self.workers)(chunk)

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        left = self._rows(rows)
        return left @ self._rows(cols).T

    def _rows(self, rows: Rows) -> np.ndarray:
        B = StreamedGram(self.columns, self.chunks).block(rows, slice(0, self.rank))
        return whitened(self.factor, B.T).T

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return self.times(self.adjoint(V))

    def times(self, weights: np.ndarray) -> np.ndarray:
        """Phi v, one row for each sample."""
        coef = whitened(self.factor, weights, transposed=True)
        return StreamedGram(self.columns, self.chunks, self.workers) @ coef

    def adjoint(self, C: np.ndarray) -> np.ndarray:
        """Phi' c, for one row of c for each sample."""
        gram = StreamedGram(self.columns, self.chunks, self.workers)
        return whitened(self.factor, gram.through(None, Taken(C), C.shape[1])[0])

    def moments(self, sample_weight: np.ndarray | None) -> np.ndarray:
        """Phi' W Phi."""
        return self.stream(np.empty((len(self), 0)), sample_weight).moments()

    def diag(self) -> np.ndarray:
        parts = self.chunks.map(Norms(self.columns, self.factor, self.workers))
        return np.concatenate(list(parts))

    def cross(self, X_new: Data) -> Gram:
        return CrossGram(self, X_new)

    def span(self) -> Span:
        if isinstance(self.kernel, Nystrom):
            return StreamedLandmarks(self)
        few = LowRankGram(self.kernel, self.kernel.prepare(self.few), workers=self.workers)
        return FewSpan(self, few)

    @property
    def nbytes(self) -> int:
        """Accumulators and strips; neither K nor the features are ever there."""
        return StreamedGram(self.columns, self.chunks).nbytes

    def explain(self) -> str:
        factor: Any = self.factor
        how = "" if self.device == "cpu" else f"\n  with {factor.words()}"
        return (
            f"{type(self).__name__}: {len(self)} x {len(self)}, as a product of {self.rank} "
            f"features that are computed in each pass, never stored; {memory_words(self.nbytes)}\n"
            f"  k = {self.kernel!r}{how}"
        )


class CrossGram(Gram):
    """K between new samples and those of an :class:`ImplicitGram`."""

    symmetric = False

    def __init__(self, parent: ImplicitGram, X_new: Data) -> None:
        self.parent, self.phi = parent, parent.features_of(Chunk(X_new))
        self.shape, self.dtype = (length(X_new), len(parent)), parent.dtype

    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        return self.phi[rows] @ self.parent._rows(cols).T

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        return self.phi @ self.parent.adjoint(V)


class StreamedLandmarks(LandmarkSpan):
    """The landmarks, by the factor that makes features of them."""

    def combine(self, weights: np.ndarray) -> np.ndarray:
        coef = np.zeros((length(self._kernel.reference), *weights.shape[1:]))
        kept = slice(None) if self.gram.device != "cpu" else self._kernel._basis().kept
        coef[kept] = whitened(self.gram.factor, weights, transposed=True)
        return coef


class FewSpan(SampleSpan):
    """Samples that span all features, chosen among a few."""

    def __init__(self, gram: ImplicitGram, few: LowRankGram) -> None:
        super().__init__(few)
        self.whole = gram

    def points(self, X: Data) -> Data:
        return super().points(self.whole.few)

    def _adjoint(self, C: np.ndarray) -> np.ndarray:
        return self.whole.adjoint(C)

    def moments(self, sample_weight: np.ndarray | None) -> np.ndarray:
        return self.whole.moments(sample_weight)


def columns_of(
    kernel: Any, few: Data, device: str = "cpu", precision: str | None = None
) -> tuple[Columns, Factor | None]:
    """The samples to compare with, and the factor that turns kernel values into features."""
    if isinstance(kernel, Nystrom):
        if device != "cpu":
            from .device.landmarks import landmark_columns

            return landmark_columns(kernel, device, precision)
        basis = kernel._basis()
        centres = Centres(kernel.kernel, take(kernel.reference, basis.kept))
        return centres, HostFactor(basis.factor)
    return FeatureColumns(kernel, int(kernel.n_features(kernel.prepare(few)))), None


@dataclass
class Taken:
    """U = rows of an array, whatever the scores are."""

    C: np.ndarray

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        return self.C[chunk.start : chunk.start + len(chunk)], ()


@dataclass
class Norms(FeatureRows):
    """k(x, x) = |phi(x)|^2 of one chunk."""

    def __call__(self, chunk: Chunk) -> np.ndarray:
        norms = np.empty(len(chunk))
        for rows in slices(len(chunk), _STRIP):
            phi = super().__call__(chunk.rows(rows))
            norms[rows] = np.einsum("ij,ij->i", phi, phi)
        return norms
