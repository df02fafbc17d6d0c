"""Tests with many kernels at once: no bandwidth to choose, no data set aside.

All kernels see the same permutations, and what is done with their statistics treats the observed
labelling like any other, so the level of the combined test is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist

from ..checks import check_count
from ..data import Data, as_vectors, length, take
from ..kernels.base import Kernel
from ..kernels.vectors.distances import SquaredDistances
from ..kernels.vectors.radial import Gaussian, Laplacian
from ..randomness import as_generator
from .nulls import MonteCarlo, counted_pvalue, exceeds, permutation_pvalue

_SAMPLE = 1000  # samples whose distances set the range of bandwidths
_NARROWEST, _WIDEST = 0.02, 0.95  # quantiles of distances: half of the one, twice the other
_SQUARABLE = 1e150  # sums of squares of such numbers do not overflow
_IQR = 1.349  # interquartile range of the standard normal distribution
_PRIOR = 0.5  # how much less what only a narrow kernel sees counts, as a score
_FEWEST = 20  # labellings for a regression on the statistics of another kernel
_COLLINEAR = 1e-3  # ratio of singular values below which wider kernels are the same
_SAME = 0.01  # share of the spread below which what is left would be rounding errors
_NO_SPREAD = 10  # times the rounding of a statistic: a standard deviation below is none
_ARITHMETIC = 1e-9  # rounding of scores themselves, of statistics that are equal
_FLOOR = 0.1  # of a cube root, where scores are steep functions of statistics


def kernel_grid(
    X: Data, n_bandwidths: int = 10, *, standardize: bool = True, rng: Any = None
) -> list[Kernel]:
    """Gaussian and Laplacian kernels over the range of distances in a sample.

    Bandwidths run, evenly on a logarithmic scale, from half of the distance that 2 % of all pairs
    of samples are within to twice that of 95 %. Columns are first divided by their spread (the
    interquartile range, or the standard deviation where that is 0), so that units do not matter.
    Sparse vectors are taken as they are. Laplacian kernels are of the taxicab distance (of the
    Euclidean one for sparse vectors).

    Parameters
    ----------
    X : array, sparse matrix or table of numbers
        The sample; for a test that of all samples together, in random order.
    n_bandwidths : int
        How many Gaussian kernels, and how many Laplacian ones.
    standardize : bool
        Whether to divide each column by its spread.
    rng : None, int or Generator
        Used to draw the 1000 samples whose distances are used, if there are more.

    Returns
    -------
    list of Kernel
        2 n_bandwidths kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import kernel_grid
    >>> X = np.random.default_rng(0).normal(size=(100, 1))
    >>> kernels = kernel_grid(X, 3, standardize=False)
    >>> [round(float(k.lengthscale), 3) for k in kernels[:3]]
    [0.016, 0.293, 5.265]
    """
    check_count("n_bandwidths", n_bandwidths)
    Z: Any = as_vectors(X, "kernel_grid")
    n = length(Z)
    if n > _SAMPLE:
        Z = take(Z, as_generator(rng).choice(n, _SAMPLE, replace=False))
    sparse = sp.issparse(Z)
    units = column_units(Z) if standardize and not sparse else 1.0
    Z = Z if sparse else Z / units
    norm = 2 if sparse else 1  # taxicab distances would need dense vectors
    kernels: list[Kernel] = []
    for kernel, p in ((Gaussian, 2), (partial(Laplacian, p=norm), norm)):
        distances = _distances(Z, p)
        distances = distances[distances > 0]
        low, high = np.quantile(distances, [_NARROWEST, _WIDEST]) if len(distances) else (2.0, 0.5)
        for width in np.geomspace(low / 2, 2 * high, n_bandwidths):
            scale = width * units
            kernels.append(kernel(float(scale) if np.ndim(scale) == 0 else scale))
    return kernels


def _distances(Z: Any, p: int) -> np.ndarray:
    """Distances between all pairs of samples."""
    if not sp.issparse(Z):
        Z = np.clip(Z, -_SQUARABLE, _SQUARABLE)  # beyond are outliers: columns are in their units
        return pdist(Z, "euclidean" if p == 2 else "cityblock")
    everything = slice(None)
    D = SquaredDistances(Z, Z, exact=True)(everything, everything)
    return np.sqrt(D[np.triu_indices(len(D), 1)])


def column_units(Z: np.ndarray) -> Any:
    """The spread of each column (interquartile range or standard deviation); one as a number."""
    low, high = np.quantile(Z, [0.25, 0.75], axis=0)
    spread = (high - low) / _IQR
    largest = np.abs(Z).max(axis=0).astype(np.float64)
    far = (largest > _SQUARABLE) | (largest < 1 / _SQUARABLE)  # squares overflow, or vanish
    size = np.where(far & (largest > 0), largest, 1.0)
    spread = np.where(spread > 0, spread, size * (Z / size).std(axis=0, dtype=np.float64))
    spread = np.where(spread > 0, spread, 1.0).astype(np.float64)
    return float(spread[0]) if len(spread) == 1 else spread


class Combined(NamedTuple):
    """Statistics of several kernels as one.

    Attributes
    ----------
    values : ndarray of shape (c,)
        The combined statistic of each labelling.
    scores : ndarray of shape (kernels, c)
        The scores of which it is the maximum.
    exceeding : ndarray of shape (c - 1,)
        Which of the other labellings have at least the value of the first, up to rounding.
    """

    values: np.ndarray
    scores: np.ndarray
    exceeding: np.ndarray


def combine(
    statistics: np.ndarray,
    wider: Sequence[Sequence[int]] | None = None,
    tolerance: np.ndarray | None = None,
    less: Sequence[float] | None = None,
) -> Combined:
    r"""The largest of the statistics of several kernels, each on the scale of a normal variable.

    A statistic T with mean m, standard deviation s and skewness g over the permutations becomes
    the score

    .. math:: \frac6g \left( \left(1 + \frac g2 \frac{T - m}s\right)^{1/3} - 1 \right) + \frac g6

    (Wilson-Hilferty: a Pearson curve of type III becomes nearly normal), with a skewness below 0
    taken as 0: such a curve ends a few standard deviations above its mean, and values there would
    have scores without measure. Without it the heavy tails of wide kernels would drown what narrow
    ones see. Moments are those of all values but the
    largest, whichever labelling it belongs to: that of a clear difference lies so far out that it
    would make them its own.

    A narrow kernel also sees what a wide one sees, which is noise if the difference is on a fine
    scale. So a kernel may have a second score, that of

    .. math:: z_k - \sum_w \beta_{kw} z_w, \qquad z = \frac{T - m}s,

    which is what kernel k sees and wider kernels w do not; the coefficients are those of a
    regression over the permutations. Of both scores, the second one less 1/2, the larger one
    counts. The half is a prior: what wide kernels see, as a difference of means, is more usual.

    A spread s below ten times the rounding error of T is replaced by that: otherwise noise divided
    by noise would be as large as any other score.

    Parameters
    ----------
    statistics : array of shape (kernels, c)
        One column per labelling, the observed one first.
    wider : sequence of sequences of int, optional
        For each kernel the numbers of wider ones, or none (:func:`wider_kernels`).
    tolerance : array of shape (kernels,), optional
        How far apart rounding may move two statistics that are equal.
    less : sequence of float, optional
        What is taken from the score of each kernel, a prior for the others.

    References
    ----------
    Chatterjee & Bhattacharya, *Boosting the power of kernel two-sample tests*, Biometrika 2025,
    use the correlations of several kernels too, for a Mahalanobis distance.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.stats.aggregate import combine
    >>> draws = np.random.default_rng(0).chisquare(1, (1, 100_000))
    >>> score = combine(draws).values
    >>> round(float(np.mean(score > 2.326)), 3)  # 1 % of normal variables are above
    0.01
    """
    T = np.asarray(statistics, dtype=np.float64)
    rounding = np.zeros(len(T)) if tolerance is None else np.asarray(tolerance, dtype=np.float64)
    Z, noise = _standardized(T, rounding)
    first = _normal(Z, noise, 0.0 if less is None else np.asarray(less, dtype=np.float64))
    scores, parts = first.values.copy(), [first]
    if wider is not None and T.shape[1] >= _FEWEST:
        for k, rest, left in _beyond(Z, noise, wider):
            second = _normal(*_standardized(rest[None], np.array([left])), less=_PRIOR)
            scores[k] = np.maximum(scores[k], second.values[0])
            parts.append(second)
    values = scores.max(axis=0)
    level = float(values[0])
    exceeding = [np.any(part.lifted(level)[:, 1:] >= level, axis=0) for part in parts]
    return Combined(values, scores, np.any(exceeding, axis=0))


def judged(
    statistics: np.ndarray,
    tolerance: np.ndarray,
    name: str,
    kernels: Sequence[Any] | None,
    wider: Sequence[Sequence[int]] | None = None,
) -> tuple[float, MonteCarlo, dict[str, Any]]:
    """The statistic of a test by permutations, its p-value, and what each of several kernels says.

    Parameters
    ----------
    statistics, wider, tolerance
        As in :func:`combine`.
    name : str
        The name of the statistic of a single kernel.
    kernels : list, optional
        The kernels of the rows; None if one was given, and its own statistic counts.
    """
    if kernels is None:
        value = float(statistics[0, 0])
        return value, permutation_pvalue(value, statistics[0, 1:], float(tolerance[0])), {}
    combined = combine(statistics, wider, tolerance)
    rows = zip(statistics, tolerance, strict=True)
    counts = [exceeds(float(row[0]), row[1:], float(tol)).sum() for row, tol in rows]
    details = {
        name: statistics[:, 0],
        "scores": combined.scores[:, 0],
        "pvalues": (1 + np.array(counts)) / statistics.shape[1],
        "best": kernels[int(np.argmax(combined.scores[:, 0]))],
    }
    found = counted_pvalue(combined.exceeding, combined.values[1:])
    return float(combined.values[0]), found, details


def wider_kernels(n_bandwidths: int) -> list[list[int]]:
    """For each kernel of :func:`kernel_grid`, the number of a wider one.

    For a Gaussian kernel the one of the next but one bandwidth, for a Laplacian kernel the widest
    Gaussian one, which is nearly linear.
    """
    widest = n_bandwidths - 1
    gaussian = [[min(k + 2, widest)] for k in range(widest)]
    return [*gaussian, [], *([widest] for _ in range(n_bandwidths))]


def _standardized(T: np.ndarray, rounding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with mean 0 and standard deviation 1, up to their largest value; rounding likewise."""
    rest = np.sort(T, axis=1)[:, : max(1, T.shape[1] - 1)]
    spread = np.maximum(rest.std(axis=1), _NO_SPREAD * rounding)
    spread = np.where(spread > 0, spread, 1.0)
    return (T - rest.mean(axis=1, keepdims=True)) / spread[:, None], rounding / spread


class _Scores(NamedTuple):
    """Scores, shape (kernels, c), with what is needed to know the rounding error of each."""

    values: np.ndarray
    noise: np.ndarray
    skew: np.ndarray
    less: np.ndarray | float

    def lifted(self, level: float) -> np.ndarray:
        """Scores with as much added as rounding may have taken, of scores at some level."""
        g = self.skew[:, 0]
        root = 1 + (level + self.less - g / 6) * g / 6  # (1 + g z / 2)^(1/3) at this level
        slope = 1 / np.maximum(root, _FLOOR) ** 2
        return np.asarray(self.values + (slope * self.noise + _ARITHMETIC)[:, None])


def _normal(Z: np.ndarray, noise: np.ndarray, less: np.ndarray | float = 0.0) -> _Scores:
    """Standardized rows on the scale of a normal variable."""
    rest = np.sort(Z, axis=1)[:, : max(1, Z.shape[1] - 1)]
    skew = np.mean(rest**3, axis=1, keepdims=True)
    g = np.maximum(skew, 1e-3)  # a long lower tail says nothing of the upper one
    values = 6 / g * (np.cbrt(np.maximum(1 + g * Z / 2, 0)) - 1) + g / 6
    return _Scores(values - np.reshape(less, (-1, 1)), noise, g, less)


def _beyond(
    Z: np.ndarray, noise: np.ndarray, wider: Sequence[Sequence[int]]
) -> Iterator[tuple[int, np.ndarray, float]]:
    """What is left of rows after regression on those of wider kernels: number, rest, its rounding.

    The labelling with the largest value is left out of the regression. Nothing is left of rows that
    are nearly the same.
    """
    peaks = Z.max(axis=0)
    kept = peaks < peaks.max()
    if not kept.any():
        return
    Z = Z - Z[:, kept].mean(axis=1, keepdims=True)
    for k, seen in enumerate(wider):
        if not seen:
            continue
        W = Z[list(seen)]
        slopes = np.linalg.lstsq(W[:, kept].T, Z[k, kept], rcond=_COLLINEAR)[0]
        rest = Z[k] - slopes @ W
        if rest[kept].std() > _SAME:
            yield k, rest, float(noise[k] + np.abs(slopes) @ noise[list(seen)])


def as_kernels(kernel: Any) -> Sequence[Any] | None:
    """The kernels of a list, or None for anything else."""
    if not isinstance(kernel, list | tuple):
        return None
    if not kernel:
        raise ValueError("kernel is an empty list; give at least one kernel.")
    return kernel
