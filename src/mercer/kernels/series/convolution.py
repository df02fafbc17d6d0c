"""Series by how often convolutions of them exceed thresholds: thousands of features, in one pass.

The convolutions are those of MiniRocket (Dempster, Schmidt & Webb): nine weights, three of them 2
and six -1, in all 84 arrangements, applied at points that lie 1, 2, ... times apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ...data import Data
from ...params import integer, parameter
from ..base import not_resolved
from ..calculus import properties as prop
from ..vectors.explicit import Explicit
from .kind import SERIES
from .ragged import Ragged, ragged

TRIPLES = np.array(list(combinations(range(9), 3)))  # where the weights 2 are
_SPAN = 8  # steps from the first to the last of nine points
_MOST_DILATIONS, _MOST_CHANNELS = 32, 9
_GOLDEN = (np.sqrt(5) - 1) / 2
_WORK = 100_000_000  # comparisons of one compiled call


def _no_dilations(value: Any) -> str | None:
    if value is None:
        return None
    steps = np.asarray(value)
    fine = steps.ndim == 1 and steps.size > 0 and steps.dtype.kind in "iu" and steps.min() >= 1
    return None if fine else "a list of integers >= 1"


@dataclass(eq=False, repr=False)
class DilatedConvolution(Explicit):
    r"""Convolutional features: the share of time in which a convolution exceeds a threshold,
    as in MiniRocket.

    .. math:: k(x, y) = \sum_{f} w_f^2\, (p_f(x) - m_f)(p_f(y) - m_f), \qquad
              p_f(x) = \frac{1}{T} \sum_{t=1}^{T} \big[ (x * v_f)_t > b_f \big], \qquad
              (x * v)_t = \sum_{j=-4}^{4} v_j\, x_{t + j h}

    Each feature f has nine weights v, three of them 2 and six -1; a dilation h, the distance of the
    points that are weighted; and a threshold b. All 84 arrangements of the weights are combined
    with dilations from 1 to the one at which nine points span a series of median length. They are
    the same for all data, but thresholds are learned from the training data: quantiles of the
    convolution of one of its series, drawn at random. Features are standardised on the training
    data, by the means m and the weights w, so that the mean of k(x, x) there is 1.

    A convolution of several channels is the sum over some of them, chosen at random, each in units
    of its interquartile range. The weights sum to zero, so an offset only has an effect at the two
    ends, where every other convolution is padded with the median of the training data (the others
    are not padded). Series may have any lengths, even shorter than nine points.

    Classes that differ in shapes, wherever these occur, are often linearly separable in these
    features: ``SVC(C=10, kernel=DilatedConvolution())`` and ``LSSVC(C=100, ...)`` are accurate on
    most sets of the UCR archive, and take time linear in the length of series.

    Parameters
    ----------
    size : int
        The number of features, rounded down to a multiple of 84.
    seed : int
        The seed for the series that thresholds come from, and for the channels that are summed.
    dilations : array of int, optional
        The distances h; by default 32 integers, about evenly spaced on the log scale. One that
        occurs twice has twice as many thresholds.
    channels, thresholds, scaling : arrays, optional
        What is learned from the training data: centres and units of the channels; b; m and w.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import DilatedConvolution
    >>> time = np.arange(60)
    >>> slow, fast = (np.sin(time[None] / w + time[:5, None]) for w in (5.0, 3.0))
    >>> K = DilatedConvolution(size=1000)(np.vstack([slow, fast]))
    >>> bool(K[:5, :5].min() > 0 > K[:5, 5:].max())
    True

    References
    ----------
    Dempster, Schmidt & Webb, *MiniRocket: a very fast (almost) deterministic transform for time
    series classification*, KDD 2021; Dempster, Petitjean & Webb, *ROCKET: exceptionally fast and
    accurate time series classification using random convolutional kernels*, Data Mining and
    Knowledge Discovery 2020.
    """

    size: int = integer(10_000, low=len(TRIPLES))
    seed: int = integer(0)
    dilations: Any = parameter(None, check=_no_dilations)
    channels: Any = parameter(None)
    thresholds: Any = parameter(None)
    scaling: Any = parameter(None)
    because = "an inner product of explicit features: shares of time above thresholds"
    domain = SERIES

    # ---- what is learned -----------------------------------------------------------------
    @property
    def unresolved(self) -> str | None:
        return "thresholds=None" if self.scaling is None else None

    def resolve(self, X: Data) -> DilatedConvolution:
        if not self.unresolved:
            return self
        P = ragged(X, type(self).__name__)
        steps = self.dilations
        if steps is None:
            steps = _spaced(int(np.median(P.size)), self.size // len(TRIPLES))
        kernel = self.replace(dilations=np.asarray(steps, dtype=np.int64), channels=_units(P))
        P = kernel._in_units(P)
        kernel.thresholds = kernel._quantiles(P)
        shares = kernel._shares(P)
        mean, spread = shares.mean(axis=0), shares.std(axis=0)
        varies = spread > 1e-9  # a share that is the same for all has a spread of rounding
        weight = np.where(varies, 1 / np.where(varies, spread, 1.0), 1.0)
        scaling = np.stack([mean, weight / np.sqrt(max(1, int(np.sum(varies))))])
        return kernel.replace(scaling=scaling)

    def _plan(self) -> tuple[list[tuple[int, slice]], np.ndarray, np.ndarray]:
        """Dilations with their features, and which channels each convolution adds up."""
        steps, times = np.unique(self.dilations, return_counts=True)
        each = self.size // len(TRIPLES)
        ends = np.cumsum(times) * each // times.sum() * len(TRIPLES)
        places = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
        rng, total = np.random.default_rng(self.seed), self.channels.shape[1]
        most = np.log2(min(total, _MOST_CHANNELS) + 1)
        numbers = rng.random((len(steps) * len(TRIPLES), total + 1))
        added = (2 ** (most * numbers[:, 0])).astype(np.int64)
        order = np.argsort(numbers[:, 1:], axis=1, kind="stable")
        return list(zip(map(int, steps), places, strict=True)), added, order

    def _quantiles(self, P: Ragged) -> np.ndarray:
        """Thresholds: quantiles of the convolution of one series each, at levels spread evenly."""
        from .convolution_loops import convolved

        plan, added, order = self._plan()
        out = np.empty(plan[-1][1].stop)
        levels = np.arange(1, len(out) + 1) * _GOLDEN % 1
        examples = np.random.default_rng([self.seed, 1]).random(len(added)) * len(P)
        for number, (step, place) in enumerate(plan):
            count = (place.stop - place.start) // len(TRIPLES)
            for k, triple in enumerate(TRIPLES):
                at = number * len(TRIPLES) + k
                p, first = int(examples[at]), place.start + k * count
                values = convolved(
                    P.values, P.start[p], P.size[p], triple, order[at, : added[at]], step,
                    (k + number) % 2 == 1,
                )  # fmt: skip
                some = slice(first, first + count)
                out[some] = _at_levels(np.sort(values), levels[some])
        return out

    # ---- features ------------------------------------------------------------------------
    def prepare(self, X: Data) -> np.ndarray:
        if self.unresolved:
            raise not_resolved(self)
        shares = self._shares(self._in_units(ragged(X, type(self).__name__)))
        shares -= self.scaling[0]
        shares *= self.scaling[1]
        return shares

    def _in_units(self, P: Ragged) -> Ragged:
        """Channels centred, and in their units."""
        if P.channels != self.channels.shape[1]:
            raise ValueError(
                f"points with {P.channels} channels cannot be compared with points with "
                f"{self.channels.shape[1]}: all series need the same channels, in fit and in "
                "predict."
            )
        return Ragged((P.values - self.channels[0]) / self.channels[1], P.start, P.size)

    def _shares(self, P: Ragged) -> np.ndarray:
        """[p_f(x)] for all series and features."""
        from ...engine.memory import require_memory
        from ...gram.tiles import run, slices
        from .convolution_loops import shares

        plan, added, order = self._plan()
        count = plan[-1][1].stop
        require_memory(8 * len(P) * count, f"{count} features of {len(P)} series")
        out = np.empty((len(P), count))
        each = float(P.size.mean()) * (count / len(plan) + 4 * added.mean() * len(TRIPLES))

        def job(at: tuple[int, slice]) -> None:
            number, rows = at
            step, place = plan[number]
            some = slice(number * len(TRIPLES), (number + 1) * len(TRIPLES))
            shares(
                P.values, P.start[rows], P.size[rows], TRIPLES, added[some], order[some], step,
                number % 2, self.thresholds[place], out[rows, place],
            )  # fmt: skip

        pieces = slices(len(P), max(1, int(_WORK / each)))
        run(job, [(number, rows) for rows in pieces for number in range(len(plan))])
        return out

    def gains(self, X: Data, points: Data, coef: np.ndarray) -> list[np.ndarray]:
        """What each time of series adds to sum_i coef[i] k(points_i, .).

        What a convolution adds at a time is divided among those of its nine points that exist.
        """
        from .convolution_loops import convolved

        plan, added, order = self._plan()
        slopes = self.scaling[1] * (self.prepare(points).T @ coef)
        P, found = self._in_units(ragged(X, type(self).__name__)), []
        for start, size in zip(P.start, P.size, strict=True):
            gain = np.zeros(size)
            for number, (step, place) in enumerate(plan):
                each = (place.stop - place.start) // len(TRIPLES)
                now = np.zeros(size)  # what convolutions with this dilation add at each time
                for k, triple in enumerate(TRIPLES if each else ()):
                    at = number * len(TRIPLES) + k
                    values = convolved(
                        P.values, start, size, triple, order[at, : added[at]], step,
                        (k + number) % 2 == 1,
                    )  # fmt: skip
                    some = slice(place.start + k * each, place.start + (k + 1) * each)
                    above = values[:, None] > self.thresholds[some]
                    ends = (size - len(values)) // 2
                    now[ends : size - ends] += (
                        (above - self.scaling[0, some]) @ slopes[some] / len(values)
                    )
                gain += _divided(now, step)
            found.append(gain)
        return found

    @property
    def properties(self) -> prop.Properties:
        return self._stated(
            bounded=prop.yes("shares of time lie between 0 and 1"),
            finite_dim=prop.yes(f"at most {self.size} features"),
        )


def _spaced(length: int, most: int) -> np.ndarray:
    """Integers from 1 to where nine points span the length, about evenly spaced in logarithms."""
    last = np.log2(max(1.0, (length - 1) / _SPAN))
    return 2 ** np.linspace(0, last, max(1, min(_MOST_DILATIONS, most))) // 1


def _units(P: Ragged) -> np.ndarray:
    """The median of each channel and its interquartile range: one wild value moves neither."""
    points = P.some_points()
    low, centre, high = np.percentile(points, [25, 50, 75], axis=0)
    unit = np.where(high > low, high - low, np.ptp(points, axis=0))
    return np.stack([centre, np.where(unit > 0, unit, 1.0)])


def _at_levels(ordered: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Quantiles of numbers in order; :func:`numpy.quantile` takes ten times as long for a few."""
    place = levels * (len(ordered) - 1)
    before = place.astype(np.int64)
    after = np.minimum(before + 1, len(ordered) - 1)
    return ordered[before] + (place - before) * (ordered[after] - ordered[before])


def _divided(values: np.ndarray, step: int) -> np.ndarray:
    """Each value divided among the nine points around it, a step apart, that are in the series."""
    size, half = len(values), _SPAN // 2
    places = np.arange(size)[:, None] + step * np.arange(-half, half + 1)
    inside = (places >= 0) & (places < size)
    shares = np.broadcast_to((values / inside.sum(axis=1))[:, None], places.shape)
    return np.bincount(places[inside], shares[inside], minlength=size)
