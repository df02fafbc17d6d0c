"""Features as solvers of large problems see them: scores Phi V, and sums Phi' U, in one pass.

Functions f = <v, phi(.)> have the norm of the vector v. So a penalised loss over M features is a
problem in R^M, whatever the features come from, and however many samples there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..chunks.base import Chunk, Sums, joined
from ..chunks.changes import uniform
from ..data import as_dense
from ..engine.memory import free_memory, require_memory
from .factors import Curvatures, Factor, HostCurvatures
from .streamed import Between, Columns, Scores, StreamedGram
from .tiles import run, slices, upper

Odds = Callable[[np.ndarray, Chunk], np.ndarray]

_ROWS = 1000  # samples whose features are multiplied at a time, in their own precision
_SIDE = 500  # columns of a product of features that are one job
_PASS = 100  # operations per entry of Phi, and more, that a pass takes
_LEAST, _MOST = 2, 6  # samples per feature
_SHARE = 0.25  # of the memory of a plan
_BESIDE = 6  # numbers for each problem, beside a row of features
_FELT = 1e-9  # of the largest weight: samples with less are left out of a matrix
_STRIP, _DEVICE_STRIP = 4096, 2**18  # samples whose odds are computed at a time
_SINGLE = 3e-7  # of the trace: an alpha above is not lost in single precision


class Phi(ABC):
    """Features of n samples, the last of them the constant 1 if there is an ``intercept``.

    Attributes
    ----------
    n, size : int
        The numbers of samples and features.
    intercept : bool
        Is the last feature a constant, which no penalty sees?
    """

    n: int
    size: int
    intercept: bool

    @abstractmethod
    def through(
        self, V: np.ndarray, between: Between, outputs: int, dtype: Any = None
    ) -> tuple[np.ndarray, Sums]:
        """Phi' U of U = between(Phi V, chunk), and the other sums; see :class:`StreamedGram`."""

    def penalty(self, alpha: Any) -> np.ndarray:
        """alpha for all features but the constant, shape (size, 1), or (size, t) for several."""
        each = np.repeat(np.atleast_2d(np.asarray(alpha, dtype=np.float64)), self.size, axis=0)
        if self.intercept:
            each[-1] = 0.0
        return each


class FewPhi(Phi):
    """Features of a few samples, which are kept.

    Attributes
    ----------
    chunk : Chunk
        The samples with their targets and weights.
    dtype : dtype
        The precision of samples.
    """

    chunk: Chunk
    dtype: np.dtype

    @abstractmethod
    def scores(self, V: np.ndarray) -> np.ndarray:
        """Phi V, in double precision."""

    @abstractmethod
    def curvatures(self, h: np.ndarray, alpha: float) -> Curvatures:
        """Phi' diag(h) Phi, in the precision that alpha allows."""


class StreamedPhi(Phi):
    """Features that are computed in each pass, and never stored.

    Parameters
    ----------
    gram : StreamedGram
        The columns B, for samples in chunks.
    factor : Factor, optional
        L, lower triangular: the features are B L^-T, those of centres with k(Z, Z) = L L'. By
        default they are the columns themselves.
    intercept : bool
        Add a constant.
    """

    def __init__(
        self, gram: StreamedGram, factor: Factor | None = None, intercept: bool = False
    ) -> None:
        self.gram, self.factor, self.intercept = gram, factor, intercept
        self.size = gram.shape[1] + intercept
        self.chunks = gram.chunks

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.chunks.n_samples

    def through(
        self, V: np.ndarray, between: Between, outputs: int, dtype: Any = None
    ) -> tuple[np.ndarray, Sums]:
        weights, inner = V, between
        if self.intercept:
            weights, inner = V[:-1], Shifted(between, V[-1])
        weights = whitened(self.factor, weights, transposed=True)
        product, sums = self.gram.through(weights, inner, outputs, dtype)
        product = whitened(self.factor, product)
        if self.intercept:
            total, *rest = sums
            product, sums = np.vstack([product, total]), tuple(rest)
        return product, sums

    def few(self, rng: np.random.Generator, limit: float = np.inf, problems: int = 1) -> FewPhi:
        """Samples whose matrix is about as costly as a pass; at least twice M, if n is as much.

        Of several ``problems``, each on samples of its own, each has as many, if there is memory
        for so many rows of features, targets, scores and curvatures.
        """
        m, limit = self.size, min(limit, free_memory() / 2)
        room = _SHARE * limit / (8.0 * (m + _BESIDE * problems))
        pays = max(np.clip(_PASS * self.n / m, _LEAST * m, _MOST * m), problems * _LEAST * m)
        most = min(pays, max(room, m), self.n)
        count = int(most)
        require_memory(8.0 * (count * m + 2 * m * m), f"a preconditioner of {m} features", limit)
        return self.sample(max(count, min(self.n, 100)), rng)

    def sample(self, count: int, rng: np.random.Generator) -> StoredPhi:
        """The features of some samples, drawn at random; those of all, if these are no more."""
        return self.stored(self.chunks.sample(min(count, self.n), rng))

    def stored(self, chunk: Chunk) -> Any:
        """The features of some samples."""
        phi = Rows(self.gram.columns, self.factor, self.gram.workers)(chunk)
        return StoredPhi(phi, chunk, self.intercept, self.gram.workers)

    def drawn(self, V: np.ndarray, odds: Odds, seed: int, most: int) -> Any:
        """The features of samples with odds that depend on their scores Phi V; and these odds.

        In one pass. A sample stays if a hash of its number is below its odds. None if nothing is
        drawn, or only samples drawn alike can be kept.
        """
        weights, offset = (V[:-1], V[-1]) if self.intercept else (V, np.zeros(V.shape[1]))
        weights = whitened(self.factor, weights, transposed=True)
        scores = Scores(self.gram.columns, weights, self.gram.workers)
        parts = [p for p in self.chunks.map(Draw(scores, offset, odds, seed)) if len(p[0])]
        if not parts:
            return None
        chunk, share = joined([some for some, _ in parts]), np.concatenate([p for _, p in parts])
        if len(chunk) > most:
            stay = np.sort(np.random.default_rng(seed).permutation(len(chunk))[:most])
            chunk, share = chunk.rows(stay), share[stay] * (most / len(chunk))
        return self.stored(chunk), share

    def moments(self) -> np.ndarray:
        """Phi' W Phi, in one pass: products in the precision of the samples, sums in double."""
        job = Moments(self.gram.columns, self.factor, self.gram.workers)
        return np.asarray(self.chunks.reduce(job)[0])

    def of_moments(self, moments: np.ndarray) -> Curvatures:
        """What :meth:`moments` returned, to be factorised."""
        return HostCurvatures(moments)


class StoredPhi(FewPhi):
    """Features of a few samples, as an array."""

    def __init__(
        self, phi: np.ndarray, chunk: Chunk, intercept: bool, workers: int | None = None
    ) -> None:
        if intercept:
            phi = np.column_stack([phi, np.ones(len(phi), phi.dtype)])
        self.array, self.chunk, self.intercept, self.workers = phi, chunk, intercept, workers
        self.n, self.size = phi.shape
        self.dtype = phi.dtype

    def scores(self, V: np.ndarray) -> np.ndarray:
        """Phi V, in double precision."""
        F = np.empty((self.n, V.shape[1]))

        def strip(rows: slice) -> None:
            F[rows] = self.array[rows] @ V

        run(strip, slices(self.n, _ROWS), self.workers)
        return F

    def through(
        self, V: np.ndarray, between: Between, outputs: int, dtype: Any = None
    ) -> tuple[np.ndarray, Sums]:
        U, sums = between(self.scores(V), self.chunk)
        parts = slices(self.n, _ROWS)
        partial = np.empty((len(parts), self.size, outputs))

        def strip(i: int) -> None:
            partial[i] = self.array[parts[i]].T @ U[parts[i]]

        run(strip, range(len(parts)), self.workers)
        return partial.sum(axis=0), sums

    def curvatures(self, h: np.ndarray, alpha: float) -> Curvatures:
        sizes = np.einsum("ij,ij->i", self.array, self.array, dtype=np.float64)
        return HostCurvatures(self.moments(h, single=alpha > _SINGLE * float(h @ sizes)))

    def moments(self, weights: np.ndarray, single: bool) -> np.ndarray:
        """Phi' diag(w) Phi; its products in single precision, if that is enough."""
        total = np.zeros((self.size, self.size))
        dtype = np.float32 if single else np.float64
        felt = np.flatnonzero(weights > _FELT * weights.max(initial=0.0))
        for rows in (felt[some] for some in slices(len(felt), 4 * _ROWS)):
            part = self.array[rows].astype(dtype) * np.sqrt(weights[rows, None]).astype(dtype)
            add_product(total, part, self.workers)
        return total


@dataclass
class Draw:
    """Samples of one chunk, drawn with odds that depend on their scores; and these odds."""

    scores: Scores
    offset: np.ndarray
    odds: Odds
    seed: int

    def __call__(self, chunk: Chunk) -> tuple[Chunk, np.ndarray]:
        """The result is often empty."""
        odds = np.empty(len(chunk))
        host = self.scores.columns.device == "cpu"
        for rows in slices(len(chunk), _STRIP if host else _DEVICE_STRIP):
            part = chunk.rows(rows)
            odds[rows] = self.odds(self.scores(part) + self.offset, part)
        stay = np.flatnonzero(uniform(chunk.start, chunk.start + len(chunk), self.seed) < odds)
        return chunk.rows(stay), np.minimum(odds[stay], 1.0)


@dataclass
class Shifted:
    """What lies between, with constants added to the scores, and the sums of U beside the rest."""

    between: Between
    offset: np.ndarray

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        U, sums = self.between(F + self.offset, chunk)
        return U, (U.sum(axis=0), *sums)


@dataclass
class Rows:
    """The features of one chunk, as an array in the precision of the samples."""

    columns: Columns
    factor: Factor | None
    workers: int | None = None

    def __call__(self, chunk: Chunk) -> np.ndarray:
        """One row for each sample."""
        if self.columns.device != "cpu":
            from .device.phi import device_rows

            return device_rows(self, chunk)
        block = self.columns.blocks(chunk.X)
        dtype = _side_by_side(block(slice(0, 1))).dtype
        factor = None if self.factor is None else self.factor.of(dtype)
        out = np.empty((len(chunk), self.columns.size), dtype)

        def strip(rows: slice) -> None:
            out[rows] = whitened(factor, _side_by_side(block(rows)).T).T

        run(strip, slices(len(chunk), _ROWS), self.workers)
        return out


@dataclass
class Moments(Rows):
    """Phi' W Phi of one chunk."""

    def __call__(self, chunk: Chunk) -> Sums:  # type: ignore[override]
        """The only sum."""
        if self.columns.device != "cpu":
            from .device.phi import device_moments

            return device_moments(self, chunk)
        total = np.zeros((self.columns.size, self.columns.size))
        for rows in slices(len(chunk), _SIDE * 8):
            part = chunk.rows(rows)
            phi = super().__call__(part)
            if part.weight is not None:
                phi *= np.sqrt(part.weight[:, None]).astype(phi.dtype)
            for few in slices(len(phi), _ROWS):
                add_product(total, phi[few], self.workers)
        return (total,)


def _side_by_side(pieces: list[Any]) -> np.ndarray:
    return np.hstack([as_dense(p) for p in pieces])


def whitened(factor: Factor | None, B: np.ndarray, transposed: bool = False) -> np.ndarray:
    """L^-1 B, or L^-T B; B itself if there is no factor."""
    return B if factor is None else factor.solve(B, transposed)


def add_product(total: np.ndarray, phi: np.ndarray, workers: int | None) -> None:
    """total += phi' phi, on all cores; what is below the diagonal is copied from above."""

    def add(at: tuple[slice, slice]) -> None:
        rows, cols = at
        product = phi[:, rows].T @ phi[:, cols]
        total[rows, cols] += product
        if rows != cols:
            total[cols, rows] += product.T

    run(add, upper(phi.shape[1], _SIDE), workers)
