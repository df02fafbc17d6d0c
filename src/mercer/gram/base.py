"""The Gram operator: a kernel matrix that may be stored, computed on the fly, or factorised."""

from __future__ import annotations

from abc import ABC, abstractmethod
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Data, Rows
from ..engine.memory import memory_words, require_memory
from ..exceptions import DenseWarning, not_finite, warn
from ..shown import Shown
from .arrays import HOST_ARRAYS, Arrays

if TYPE_CHECKING:
    from .phi import StreamedPhi
    from .span import Span

HOST = "cpu"  # the device of operators that compute on the processor
_STRIP = 1_000_000  # entries of a strip of rows, where it has at least 256 of them


class Gram(Shown, ABC):
    """A kernel matrix as a linear operator, which knows its kernel and data, and can be extended to
    new data.

    Subclasses must define :meth:`block`, ``shape`` and ``dtype``. ``rows`` and ``cols`` are slices
    or integer arrays. Solvers choose by the attributes below, never by the class.

    Attributes
    ----------
    shape : tuple of two ints
    dtype : numpy dtype
    symmetric : bool
        Whether it is K of one data set, rather than of new data against that set.
    matrix_free : bool
        Whether K is computed whenever it is used. Solvers then ask only for products and a few
        rows. A solver that needs all of K warns first (:class:`~mercer.exceptions.DenseWarning`).
        True unless a subclass says otherwise.
    features : array, CSR matrix or None
        Phi with K = Phi Phi', if there is such a factor with few columns.
    device : str
        Where products are computed.
    limit : float
        The memory, in bytes, that a plan allows for K and for what solvers derive from it.
    workers : int or None
        The number of threads; None for all cores.
    streamed : bool
        Whether K is a product of features that are never stored. Then :meth:`stream` provides them,
        for solvers that make passes over the samples.
    of_kernel : bool
        Whether entries are exactly the values of ``kernel`` at the samples, so that they may also
        be computed in another, faster way.
    """

    shape: tuple[int, int]
    dtype: np.dtype
    symmetric: bool = True
    matrix_free: bool = True
    device: str = HOST
    limit: float = float("inf")
    workers: int | None = None
    of_kernel: bool = False
    streamed: bool = False

    @property
    def arrays(self) -> Arrays:
        """Where vectors of iterations with this operator are stored (:mod:`mercer.gram.arrays`)."""
        return HOST_ARRAYS

    @abstractmethod
    def block(self, rows: Rows, cols: Rows) -> np.ndarray:
        """K[rows, cols] as an array."""

    def __matmul__(self, V: Any) -> np.ndarray:
        """K @ V for a vector or matrix V; the n x n matrix is never formed unless it is stored."""
        V = np.asarray(V)
        if V.shape[:1] != self.shape[1:]:
            raise ValueError(f"cannot multiply K of shape {self.shape} with V of shape {V.shape}.")
        product = self._matmul(V[:, None] if V.ndim == 1 else V)
        if not np.all(np.isfinite(product)) and np.all(np.isfinite(V)):
            raise not_finite(getattr(self, "kernel", self))
        return product[:, 0] if V.ndim == 1 else product

    def _matmul(self, V: np.ndarray) -> np.ndarray:
        step = 512
        everything = slice(0, self.shape[1])
        starts = range(0, self.shape[0], step)
        return np.concatenate([self.block(slice(i, i + step), everything) @ V for i in starts])

    @property
    def features(self) -> Any:
        """Phi with K = Phi Phi', an array or a CSR matrix; None where K is not such a product."""
        return None

    @property
    def rank(self) -> int | None:
        """The number of features, an upper bound on the rank of K; None where there are none."""
        return None if self.features is None else int(self.features.shape[1])

    def stream(
        self, y: Any = None, weights: np.ndarray | None = None, intercept: bool = False
    ) -> StreamedPhi:
        """The features of a ``streamed`` K, with targets and weights, for solvers that make passes.

        Without y, these are those that come with the samples.
        """
        raise TypeError(f"{type(self).__name__} has no streamed features.")

    def normal(self, V: np.ndarray) -> np.ndarray:
        """K' K V in one pass: every entry of K is computed once, and used twice."""
        V = np.asarray(V)
        columns = V[:, None] if V.ndim == 1 else V
        everything, total = slice(0, self.shape[1]), np.zeros((self.shape[1], columns.shape[1]))
        for rows in self.by_rows():
            block = self.block(rows, everything)
            total += block.T @ (block @ columns)
        return total[:, 0] if V.ndim == 1 else total

    def slopes(self, left: Any, right: Any, own: np.ndarray) -> np.ndarray | None:
        """sum_ij W_ij dk(x_i, x_j)/dtheta for a symmetric W = L R' + diag(own).

        L and R are on the device of the operator. None where there is no quicker way than tile by
        tile (:func:`mercer.gram.tiles.contract`).
        """
        return None

    def rows(self, index: Rows) -> np.ndarray:
        """K[index], all columns."""
        return self.block(index, slice(0, self.shape[1]))

    def subset(self, index: np.ndarray) -> Gram:
        """K[index, index] as an operator; an index may occur more than once."""
        from .algebra import SubsetGram

        return SubsetGram(self, index)

    def span(self) -> Span | None:
        """A few samples that can replace all in any sum_i c_i k(x_i, .); None if all are needed."""
        return None

    def diag(self) -> np.ndarray:
        """The diagonal of a square K."""
        step = 64
        blocks = [slice(i, min(i + step, len(self))) for i in range(0, len(self), step)]
        return np.concatenate([np.diagonal(self.block(b, b)) for b in blocks])

    def to_dense(self) -> np.ndarray:
        """K as an array (a fresh one, or the stored one: do not write into it)."""
        return self.block(slice(0, self.shape[0]), slice(0, self.shape[1]))

    def by_rows(self) -> list[slice]:
        """All rows in strips, of which no block with all columns is large."""
        size = max(_STRIP // max(self.shape[1], 1), 256)
        return [slice(i, min(i + size, len(self))) for i in range(0, len(self), size)]

    def fits(self, doubles: int) -> bool:
        """Whether K is on a device with room for this many matrices of its size."""
        return False

    def whole(self, what: str, nbytes: float | None = None) -> Any:
        """As :meth:`dense`, in double precision, on the device of this operator."""
        return np.ascontiguousarray(self.dense(what, nbytes), dtype=np.float64)

    def factored(self, noise: float | np.ndarray) -> Any:
        """The factor of K + diag(noise) on the device, where K :meth:`fits` twice.

        It has the methods of :class:`~mercer.solvers.cholesky.CholeskyFactor`.
        """
        raise TypeError(f"{type(self).__name__} is not on a device.")

    def consume(self) -> np.ndarray:
        """K as an array the caller may overwrite; a stored one is handed over, not copied."""
        return self.to_dense()

    def dense(self, what: str, nbytes: float | None = None) -> np.ndarray:
        """K as an array that may be overwritten, for methods that need all of it.

        Raises an error if the memory, or that of the plan, is not enough; warns if K is not meant
        to be formed.

        Parameters
        ----------
        what : str
            What it is needed for, in words: "the eigendecomposition of 2000 samples".
        nbytes : float, optional
            The total memory that it takes, by default that of K alone.
        """
        size = float(self.shape[0]) * self.shape[1] * self.dtype.itemsize
        require_memory(size if nbytes is None else nbytes, what, self.limit)
        if self.matrix_free:
            warn(
                f"{what} needs all of K, which {type(self).__name__} does not store: "
                f"{self.shape[0]} x {self.shape[1]} entries, {memory_words(size)}, are computed "
                f"now.",
                DenseWarning,
            )
        return self.consume()

    def packed(self) -> Gram:
        """The same operator, in the form for very many products."""
        return self

    def products(self, dtype: Any, room: float = 0.0) -> Gram:
        """The same operator for many products in this precision, with tiles kept in this much
        memory; the operator itself if it has no other form.
        """
        return self

    def unstored(self) -> Gram:
        """The same operator, in the form for a few of its rows: no others are computed."""
        return self

    def detached(self) -> Gram:
        """The same operator without its stored array, for code that overwrites what others use.

        A fitted model may be asked by several threads at once: none of them may write into an
        array that another one reads.
        """
        return self

    def cross(self, X_new: Data) -> Gram:
        """The operator K(X_new, X) that belongs to this one: same kernel, same approximation."""
        raise TypeError(f"{type(self).__name__} does not know the data it was computed from.")

    @property
    def nbytes(self) -> int:
        """The memory the operator needs once it is in use."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def explain(self) -> str:
        """Say how K is stored, and at what cost."""
        return f"{type(self).__name__}: {self.shape[0]} x {self.shape[1]}, {self.dtype}"

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """K as a heat map: see :func:`mercer.plots.plot_gram`."""
        from ..plots.grams import plot_gram

        return plot_gram(self, ax=ax, **options)

    # ---- algebra -------------------------------------------------------------------------
    def center(self) -> Gram:
        """H K H with H = I - 11'/n: the Gram matrix of centred features."""
        from .algebra import CenteredGram

        return CenteredGram(self)

    def shift(self, value: float | np.ndarray) -> Gram:
        """K + value * I, or K + diag(value)."""
        from .algebra import ShiftedGram

        return ShiftedGram(self, value)

    def __add__(self, other: Any) -> Gram:
        from .algebra import SumGram

        return SumGram([self, other], [1.0, 1.0]) if isinstance(other, Gram) else NotImplemented

    def __mul__(self, weight: Any) -> Gram:
        from .algebra import SumGram

        return SumGram([self], [float(weight)]) if isinstance(weight, Real) else NotImplemented

    __rmul__ = __mul__

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return self.explain()
