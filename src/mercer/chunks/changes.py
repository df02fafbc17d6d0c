"""Changes of chunks: functions of samples, random parts, standardised columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..checks import check_fraction
from ..data import Data, as_vectors, is_frame, length
from ..mixing import GOLDEN, mix
from ..randomness import as_generator
from .base import Change, Chunk, Chunks, Sums

_BLOCK = 1_000_000  # numbers that are hashed at a time


@dataclass
class OnSamples(Change):
    """A function of samples; targets and weights stay."""

    function: Callable[[Data], Data]

    def __call__(self, chunk: Chunk) -> Chunk:
        X = self.function(chunk.X)
        if length(X) != len(chunk):
            raise ValueError(
                f"a function of {len(chunk)} samples returned {length(X)}; apply() must keep "
                "their number; to leave samples out, use split() or change the source."
            )
        return replace(chunk, X=X)


@dataclass
class Slices(Change):
    """Targets and weights of all samples; each chunk gets its own part."""

    y: np.ndarray
    weight: np.ndarray | None = None
    alone = False

    def __call__(self, chunk: Chunk) -> Chunk:
        rows = slice(chunk.start, chunk.start + len(chunk))
        weight = None if self.weight is None else self.weight[rows]
        return Chunk(chunk.X, self.y[rows], weight, chunk.start)


@dataclass
class Band(Change):
    """The samples whose hash is at least ``low``, and less than ``high``."""

    low: float
    high: float
    seed: int
    alone = False

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.rows(np.flatnonzero(self._stay(chunk.start, chunk.start + len(chunk))))

    def count(self, start: int, stop: int) -> int:
        edges = range(start, stop, _BLOCK)
        return sum(int(self._stay(a, min(a + _BLOCK, stop)).sum()) for a in edges)

    def _stay(self, start: int, stop: int) -> np.ndarray:
        u = uniform(start, stop, self.seed)
        return (u >= self.low) & (u < self.high)


def halves(fraction: float, rng: Any) -> tuple[Band, Band]:
    """Most samples, and a fraction of them."""
    check_fraction("fraction", fraction)
    seed = int(as_generator(rng).integers(2**63))
    return Band(fraction, 1.0, seed), Band(0.0, fraction, seed)


def uniform(start: int, stop: int, seed: int) -> np.ndarray:
    """A hash of each of these numbers, uniform in [0, 1): SplitMix64 at their places."""
    z = mix(np.uint64(seed) + np.arange(start, stop, dtype=np.uint64) * GOLDEN)
    return (z >> np.uint64(11)) * 2.0**-53


def standardized(chunks: Chunks) -> tuple[Chunks, Any]:
    """Standardise every column to mean 0 and variance 1 in one pass; also returns the scaler.

    Weights are used if there are any; constant columns become 0. Sparse matrices keep their zeros:
    they are divided by standard deviations only.

    Parameters
    ----------
    chunks : Chunks
        Of vectors: arrays, sparse matrices or tables of numbers.

    Returns
    -------
    chunks : Chunks
        The same samples, scaled whenever they are read.
    scaler : sklearn.preprocessing.StandardScaler
        Fitted, for the ``transform`` of new samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stream
    >>> from mercer.chunks import standardized
    >>> scaled, scaler = standardized(stream(np.arange(12.0).reshape(6, 2), rows=2))
    >>> scaler.mean_
    array([5., 6.])
    >>> scaled.reduce(lambda chunk: (chunk.X.sum(axis=0), (chunk.X**2).mean(axis=0)))
    (array([0., 0.]), array([3., 3.]))
    """
    from sklearn.preprocessing import StandardScaler

    first = chunks.take(np.arange(1)).X
    origin = _vectors(first)[0]
    origin = origin.toarray()[0] if sp.issparse(origin) else origin
    mass, total, squares = chunks.reduce(_Moments(np.asarray(origin, dtype=float)))
    if not mass > 0:
        raise ValueError("all weights are zero: there are no samples to compute the scale from.")
    shift = total / mass
    mean, variance = origin + shift, np.maximum(squares / mass - shift**2, 0.0)
    rounding = np.finfo(float).eps * np.maximum(np.abs(mean), np.abs(shift))
    constant = np.sqrt(variance) <= 10 * rounding
    scaler = StandardScaler(with_mean=not sp.issparse(first))
    scaler.mean_, scaler.var_ = mean, variance
    scaler.scale_ = np.where(constant, 1.0, np.sqrt(variance))
    scaler.n_features_in_, scaler.n_samples_seen_ = len(mean), chunks.n_samples
    if is_frame(first):
        scaler.feature_names_in_ = np.array(first.columns, dtype=object)
        scaler.set_output(transform="pandas" if hasattr(first, "iloc") else "polars")
    return chunks.apply(scaler.transform), scaler


@dataclass
class _Moments:
    """Sums of weights, of differences to one sample, and of their squares.

    Squared differences to a sample do not suffer from cancellation, as squares of large numbers do.
    """

    origin: np.ndarray

    def __call__(self, chunk: Chunk) -> Sums:
        X, w = _vectors(chunk.X), chunk.weight
        w = np.ones(len(chunk)) if w is None else np.asarray(w, dtype=float)
        if not sp.issparse(X):
            D = X - self.origin
            return np.array(w.sum()), w @ D, w @ D**2
        D, v = X.data - self.origin[X.indices], np.repeat(w, np.diff(X.indptr))

        def by_column(values: np.ndarray | None) -> np.ndarray:
            return np.bincount(X.indices, values, X.shape[1])

        full = by_column(None) == len(chunk)
        zeros = np.where(full, 0.0, w.sum() - by_column(v))  # the weight of entries not stored
        total = by_column(v * D) - zeros * self.origin
        return np.array(w.sum()), total, by_column(v * D**2) + zeros * self.origin**2


def _vectors(X: Data) -> Any:
    return as_vectors(X, "standardized")
