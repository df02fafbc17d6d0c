"""Series of points, of one length or of many, from the forms people hold them in to flat arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...data import Data, Prepared, is_frame
from ...exceptions import DomainError

_MEDIAN_POINTS = 1000


@dataclass(eq=False, repr=False)
class Ragged(Prepared):
    """Series as a sequence of samples; parts of it share the points.

    Parameters
    ----------
    values : ndarray of shape (total, d), or what a kernel on points has made of it
        The points of all series, one series after the other.
    start, size : arrays
        For each series its first point and the number of its points.
    times : ndarray of shape (total,), optional
        When the points of series with time stamps were observed, from the first on; infinite where
        a stamp is missing, and NaN for other series.
    """

    values: Data
    start: np.ndarray
    size: np.ndarray
    times: np.ndarray | None = None

    each = ("start", "size")

    @property
    def channels(self) -> int:
        """The dimension of the points."""
        return int(self.values.shape[1])

    def scaled(self, lengthscale: float) -> Ragged:
        """The same series, divided by a number."""
        return replace(self, values=self.values / lengthscale)

    def some_points(self) -> np.ndarray:
        """All points of the series, or 1000 of them at random (always the same)."""
        places = segments(self.start, self.size)
        if len(places) > _MEDIAN_POINTS:
            places = np.random.default_rng(0).choice(places, _MEDIAN_POINTS, replace=False)
        return np.asarray(self.values[places])


def segments(start: np.ndarray, size: np.ndarray) -> np.ndarray:
    """The numbers start, start + 1, ..., start + size - 1 of all segments, one after the other."""
    offset = np.cumsum(size) - size
    return np.arange(size.sum()) + np.repeat(start - offset, size)


def ragged(X: Data, name: str) -> Ragged:
    """Series in any of the forms below; ``name`` is the kernel, for errors.

    An (n, T) array holds n series of numbers, an (n, T, d) array n series of points in R^d, and a
    list one array of shape (T,) or (T, d) per series. NaN at the end of a series is padding. An
    (n, T, d) array with fewer times than channels is rejected: it is one of (n, d, T) by mistake,
    or it is meant so, which a list of its series says.
    """
    samples = _samples(X, name)
    if not len(samples):
        raise DomainError(f"{name}: X has no samples.")
    if _is_full(samples):
        return _equal_lengths(samples)
    parts = [_series(x, f"{name}: sample {place}") for place, x in enumerate(samples)]
    widths = np.array([part.shape[1] for part in parts])
    other = int(np.argmax(widths != widths[0]))
    if widths[other] != widths[0]:
        raise DomainError(
            f"{name}: sample {other} has {widths[other]} channels, but sample 0 has {widths[0]}; "
            "all series need the same channels."
        )
    size = np.array([len(part) for part in parts], dtype=np.int64)
    times = None
    if any(hasattr(x, "index") and hasattr(x, "iloc") for x in samples):
        each = [_times(x, len(part)) for x, part in zip(samples, parts, strict=True)]
        times = np.concatenate(each)
    return Ragged(np.concatenate(parts), np.cumsum(size) - size, size, times)


def _is_full(X: Any) -> bool:
    """An array of series without padding or gaps?"""
    numbers = isinstance(X, np.ndarray) and X.dtype.kind in "biuf"
    return numbers and bool(X[0].size) and bool(np.isfinite(X).all())


def _equal_lengths(X: np.ndarray) -> Ragged:
    n, T = X.shape[:2]
    values = np.array(X, dtype=np.float64).reshape(n * T, -1)
    return Ragged(values, T * np.arange(n, dtype=np.int64), np.full(n, T, dtype=np.int64))


def same_channels(X: Ragged, Y: Ragged) -> None:
    """Refuse to compare points of different dimensions."""
    if X.channels != Y.channels:
        raise ValueError(
            f"points with {X.channels} channels cannot be compared with points with {Y.channels}: "
            "all series need the same channels, in fit and in predict."
        )


def _samples(X: Data, name: str) -> Any:
    """X as a sequence of series."""
    if is_frame(X) or sp.issparse(X):
        raise DomainError(
            f"{name} works on a list of series; select a column of series with .on(column), or "
            "pass X.to_numpy() if each row is one series."
        )
    if isinstance(X, str):
        raise DomainError(f"{name} works on a list of series of numbers, got a string.")
    if isinstance(X, np.ndarray) and X.dtype.kind != "O":
        if X.ndim not in (2, 3):
            raise DomainError(
                f"{name} works on arrays (series, time) or (series, time, channels), got "
                f"{X.ndim} dimension(s); wrap a single series: [x]."
            )
        if X.ndim == 3 and X.shape[1] < X.shape[2]:
            raise DomainError(
                f"{name} reads an array of shape {X.shape} as {X.shape[1]} times of {X.shape[2]} "
                "channels; if it is (series, channels, time), as in aeon and sktime, pass "
                "X.transpose(0, 2, 1); otherwise pass list(X)."
            )
        return X
    return list(X)


def _series(x: Any, where: str) -> np.ndarray:
    """One series as a (T, d) array without padding."""
    if np.iscomplexobj(x):
        raise DomainError(f"{where} is complex; pass real and imaginary parts as two channels.")
    try:
        points = np.array(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise DomainError(
            f"{where} is not a series: pass an array of numbers of shape (time,) or (time, "
            "channels)."
        ) from None
    if points.ndim == 0:
        raise DomainError(
            f"{where} is {x!r}, not a series: pass an array of numbers of shape (time,) or (time, "
            "channels); wrap a single series: [x]."
        )
    if points.ndim > 2:
        raise DomainError(
            f"{where} has {points.ndim} dimensions; a series is an array of shape (time,) or "
            f"(time, channels)."
        )
    points = points[:, None] if points.ndim == 1 else points
    used = np.flatnonzero(~np.isnan(points).all(axis=1))
    points = points[: used[-1] + 1 if len(used) else 0]
    if not points.size:
        raise DomainError(f"{where} is empty; a series needs at least one point.")
    if not np.isfinite(points).all():
        step = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise DomainError(
            f"{where} holds NaN or infinity at time {step}; fill it in, or drop that time point "
            "(NaN is padding only at the end of a series)."
        )
    return points


def _times(x: Any, count: int) -> np.ndarray:
    """Seconds, or what the index of a pandas Series or DataFrame counts, since its first point."""
    index: Any = getattr(x, "index", None) if hasattr(x, "iloc") else None
    kind = index.dropna().inferred_type if index is not None else None
    if kind == "period":
        index = index.to_timestamp()
    elif kind in ("date", "datetime"):  # objects of Python, which may be of several time zones
        index = index.astype("datetime64[us, UTC]")
    if getattr(index, "tz", None) is not None:
        index = index.tz_convert(None)
    stamps = np.asarray(index)[:count] if index is not None else np.empty(0, object)
    if stamps.dtype.kind not in "mMiuf":
        return np.full(count, np.nan)
    if stamps.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            missing, since = ~np.isfinite(stamps), stamps - stamps[0]
    else:
        missing, unit = np.zeros(count, bool), 1.0
        if stamps.dtype.kind in "mM":
            missing = np.isnat(stamps)
            second = np.timedelta64(1, "s").astype(f"m8[{np.datetime_data(stamps.dtype)[0]}]")
            unit = float(second.view(np.int64))
            stamps = stamps.view(np.int64)
        since = _since_first(stamps) / unit
    return np.where(missing, np.inf, since)


def _since_first(counts: np.ndarray) -> np.ndarray:
    """Differences of integers from the first of them, whatever their signs and sizes."""
    words = counts.astype(np.uint64)  # modulo 2^64
    ahead, behind = words - words[0], words[0] - words
    return np.where(counts >= counts[0], ahead.astype(float), -behind.astype(float))
