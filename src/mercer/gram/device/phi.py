"""Features at landmarks, with all matrices on a device, for solvers that make passes.

A preconditioner is made of few samples. Those of up to six times M, with features of their own,
where they cost no more than a few passes and fit the device. Otherwise of the landmarks themselves,
as in FALKON: their features are the rows of L, so Phi' H Phi = L' H L needs no other memory than
what L leaves of its square, and M^3 / 3 operations. Targets, weights and with them curvatures are
those that the landmarks had as samples.

References: Rudi, Carratino & Rosasco, *FALKON*, NIPS 2017; Meanti, Carratino, Rosasco & Rudi,
*Kernel methods through the roof*, NeurIPS 2020 (two triangles in one square).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ...chunks.base import Chunk, Sums
from ...data import length
from ...engine.threads import check_cancelled
from ..factors import Curvatures, Solve
from ..phi import FewPhi, Moments, Rows, StreamedPhi
from ..streamed import Between, Centres, StreamedGram, in_double
from ..tiles import slices
from .landmarks import LandmarkFactor, room
from .panels import times
from .tiles import DeviceTiles
from .torch_ import entries, free_on, get, import_torch, put
from .triangles import Triangle

Tensor = Any
_PASSES = 5  # that a sample may take, before the landmarks themselves do
_ENTRY = {8: 17, 4: 75}  # operations, in double and single precision, that an entry of K takes
_LEAST, _MOST = 2, 6  # samples per feature
_SHARE = 0.5  # of free memory, for features of samples
_SUMMED = 1024  # samples whose products are added up at a time


class DevicePhi(StreamedPhi):
    """Features of samples in chunks at landmarks on a device.

    Parameters
    ----------
    gram : StreamedGram
        The columns: centres.
    factor : LandmarkFactor
        L.
    intercept : bool
        Add a constant.
    places : array of int, optional
        Where the landmarks are among all samples, if they are some of them drawn at random.
    """

    def __init__(
        self, gram: StreamedGram, factor: LandmarkFactor, intercept: bool, places: Any = None
    ) -> None:
        super().__init__(gram, factor, intercept)
        self.device_factor, self.places = factor, places

    def few(self, rng: np.random.Generator, limit: float = np.inf, problems: int = 1) -> FewPhi:
        """A sample, or the landmarks, whichever promises less work."""
        factor, m = self.device_factor, len(self.device_factor)
        factor.make()  # takes its memory first
        itemsize = factor.products.dtype.itemsize
        fits = int(_SHARE * free_on(factor.device) / (itemsize * m))
        pays = int(_PASSES * _ENTRY[itemsize] * float(self.n) / m)
        count = min(self.n, _MOST * m, fits, pays)
        if self.places is not None and count < min(_LEAST * m, self.n):
            return LandmarkPhi(factor, self.chunks.take(self.places), self.intercept)
        count = max(count, min(_LEAST * m, self.n, max(fits, 1)), min(self.n, 100))
        chunk = self.chunks.sample(count, rng)
        return self.stored(chunk)

    def stored(self, chunk: Chunk) -> Any:
        return SamplePhi(self.device_factor, self.gram.columns, chunk, self.intercept)

    def drawn(self, V: np.ndarray, odds: Any, seed: int, most: int) -> Any:
        """None, too, where the device has no room for as many samples as there are features."""
        m, itemsize = len(self.device_factor), self.device_factor.products.dtype.itemsize
        fits = int(_SHARE * free_on(self.device_factor.device) / (itemsize * m))
        return super().drawn(V, odds, seed, min(most, fits)) if fits >= m else None

    def of_moments(self, moments: np.ndarray) -> Curvatures:
        return Given(self.device_factor, moments, self.intercept)


class DeviceFew(FewPhi):
    """Features of a few samples, on a device.

    Parameters
    ----------
    factor : LandmarkFactor
        L.
    chunk : Chunk
        The samples with their targets and weights.
    intercept : bool
        Is there an additional constant?
    """

    def __init__(self, factor: LandmarkFactor, chunk: Chunk, intercept: bool) -> None:
        self.factor, self.chunk, self.intercept = factor, chunk, intercept
        self.n, self.size = len(chunk), len(factor) + intercept
        single = getattr(chunk.X, "dtype", None) == np.float32
        self.dtype = np.dtype(np.float32 if single else np.float64)

    @abstractmethod
    def times(self, V: Tensor, transposed: bool = False) -> Tensor:
        """Phi V, or Phi' V, in double precision; without the constant."""

    @abstractmethod
    def onto(self, triangle: Triangle, h: Tensor) -> None:
        """Phi' diag(h) Phi as the matrix of a triangle; without the constant."""

    def scores(self, V: np.ndarray) -> np.ndarray:
        weights, offset = (V[:-1], V[-1]) if self.intercept else (V, 0.0)
        with room(self.factor.device, len(self.factor)):
            return get(self.times(put(weights, self.factor.device, np.float64))) + offset

    def through(
        self, V: np.ndarray, between: Between, outputs: int, dtype: Any = None
    ) -> tuple[np.ndarray, Sums]:
        U, sums = between(self.scores(V), self.chunk)
        with room(self.factor.device, len(self.factor)):
            product = get(self.times(put(U, self.factor.device, np.float64), transposed=True))
        return (np.vstack([product, U.sum(axis=0)]) if self.intercept else product), sums

    def curvatures(self, h: np.ndarray, alpha: float) -> Curvatures:
        return DeviceCurvatures(self, h)


class LandmarkPhi(DeviceFew):
    """Features of the landmarks themselves: the rows of L."""

    def times(self, V: Tensor, transposed: bool = False) -> Tensor:
        return self.factor.triangle.times(V, transposed)

    def onto(self, triangle: Triangle, h: Tensor) -> None:
        self.factor.triangle.gram(triangle, h)


class SamplePhi(DeviceFew):
    """Features of samples, stored in the precision of L."""

    def __init__(self, factor: LandmarkFactor, columns: Any, chunk: Chunk, intercept: bool) -> None:
        super().__init__(factor, chunk, intercept)
        torch = import_torch(factor.device)
        kind = getattr(torch, factor.products.dtype.name)
        with room(factor.device, len(factor)):
            self.array = torch.empty((self.n, len(factor)), dtype=kind, device=factor.square.place)
            for rows, part in features(columns, factor, chunk):
                self.array[rows] = part

    def times(self, V: Tensor, transposed: bool = False) -> Tensor:
        size = len(self.factor) if transposed else self.n
        out = V.new_zeros((size, V.shape[1]))
        for rows in slices(self.n, 16 * _SUMMED):
            part = self.array[rows]
            if transposed:
                out += times(part.T, V[rows])
            else:
                out[rows] = times(part, V)
        return out

    def onto(self, triangle: Triangle, h: Tensor) -> None:
        triangle.zero()
        roots = h.sqrt()
        for rows in slices(self.n, _SUMMED):
            check_cancelled()
            triangle.add_gram(self.array[rows] * roots[rows, None])


class DeviceCurvatures(Curvatures):
    """Phi' diag(h) Phi of few samples, which is made in the memory that it is factorised in."""

    def __init__(self, some: DeviceFew, h: np.ndarray) -> None:
        self.some, self.device_factor = some, some.factor
        self.h = put(h, some.factor.device, np.float64)

    def factor(self, penalty: np.ndarray, place: int) -> Solve:
        return DeviceSolve(self, self.device_factor, penalty, place, self.some.intercept)

    def onto(self, triangle: Triangle) -> None:
        """The matrix, without the constant."""
        self.some.onto(triangle, self.h)

    def border(self) -> tuple[Tensor, float]:
        """Products of the features with the constant, and of the constant with itself."""
        return self.some.times(self.h[:, None], transposed=True), float(self.h.sum())


class Given(Curvatures):
    """A matrix that is an array, factorised on the device."""

    def __init__(self, factor: LandmarkFactor, array: np.ndarray, intercept: bool) -> None:
        self.device_factor, self.array, self.intercept = factor, array, intercept

    def factor(self, penalty: np.ndarray, place: int) -> Solve:
        return DeviceSolve(self, self.device_factor, penalty, place, self.intercept)

    def onto(self, triangle: Triangle) -> None:
        """The matrix, without the constant."""
        there = put(self.array, self.device_factor.device, np.float64)
        triangle.fill(lambda rows, cols: there[rows, cols])

    def border(self) -> tuple[Tensor, float]:
        """Products of the features with the constant, and of the constant with itself."""
        column = put(self.array[:-1, -1:], self.device_factor.device, np.float64)
        return column, float(self.array[-1, -1])


class DeviceSolve:
    """R -> (A + diag(penalty))^-1 R; the factor is made again if its place was taken since.

    The constant is eliminated: with A = [[B, b], [b', c]] only B is factorised.
    """

    def __init__(
        self, matrix: Any, factor: LandmarkFactor, penalty: np.ndarray, place: int, border: bool
    ) -> None:
        self.matrix, self.factor, self.penalty = matrix, factor, penalty
        self.place, self.bordered = place, border
        with room(factor.device, len(factor)):
            self._make()

    def _make(self) -> None:
        triangle = self.factor.place(self.place)
        self.factor.owners[self.place] = self
        jitter = 0.0
        while True:
            self.matrix.onto(triangle)
            largest = max(triangle.largest, np.finfo(float).tiny)
            triangle.shift(float(self.penalty[0]) + jitter)
            if not triangle.factorise():
                break
            if not jitter <= largest:
                raise np.linalg.LinAlgError("curvatures of features have no Cholesky factor.")
            jitter = max(10 * jitter, triangle.products.rounding * largest)
        self.triangle = triangle
        if self.bordered:
            column, corner = self.matrix.border()
            self.aside = self._within(column)
            rest = corner + float(self.penalty[-1]) - float((column * self.aside).sum())
            self.corner = max(rest, float(self.penalty[-1]), 1e-12 * corner)

    def _within(self, R: Tensor) -> Tensor:
        return self.triangle.solve(self.triangle.solve(R), transposed=True)

    def __call__(self, R: np.ndarray) -> np.ndarray:
        with room(self.factor.device, len(self.factor)):
            if self.factor.owners.get(self.place) is not self:
                self._make()
            there = put(R, self.factor.device, np.float64)
            if not self.bordered:
                return get(self._within(there))
            last = (there[-1:] - self.aside.T @ there[:-1]) / self.corner
            return np.vstack([get(self._within(there[:-1]) - self.aside * last), get(last)])


def features(columns: Centres, factor: LandmarkFactor, chunk: Chunk) -> Any:
    """Slices of samples and their features, in the precision of the samples, on the device."""
    double = factor.products.dtype == np.float64
    dtype = np.float64 if double else None
    kernel = columns.kernel
    rows, cols = (kernel.formula(kernel.prepare(in_double(Z, dtype))) for Z in (chunk.X, columns.Z))
    tiles = DeviceTiles(rows, cols, factor.device, factor.products.dtype)  # type: ignore[arg-type]
    L, m = factor.triangle, len(factor)
    for part in slices(length(chunk.X), max(entries(factor.device, 8) // max(m, 1), 1)):
        check_cancelled()
        yield part, L.rows(tiles(part, slice(0, m)))


def device_rows(job: Rows, chunk: Chunk) -> np.ndarray:
    """The features of one chunk as an array, in the precision of the samples."""
    single = getattr(chunk.X, "dtype", None) == np.float32
    factor: Any = job.factor
    out = np.empty((len(chunk), len(factor)), np.float32 if single else np.float64)
    with room(factor.device, len(factor)):
        for rows, part in features(job.columns, factor, chunk):  # type: ignore[arg-type]
            out[rows] = get(part)
    return out


def device_moments(job: Moments, chunk: Chunk) -> Sums:
    """Phi' W Phi of one chunk."""
    factor: Any = job.factor
    torch, m = import_torch(factor.device), len(factor)
    with room(factor.device, m):
        total = torch.zeros((m, m), dtype=torch.float64, device=factor.square.place)
        for rows, part in features(job.columns, factor, chunk):  # type: ignore[arg-type]
            if chunk.weight is not None:
                part *= put(np.sqrt(chunk.weight[rows, None]), factor.device, factor.products.dtype)
            for some in slices(len(part), 4 * _SUMMED):
                total += part[some].T @ part[some]
        return (get(total),)
