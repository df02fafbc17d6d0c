"""What kernels on series share: values from a table of all pairs of points, pair by pair.

Samples are the rows of an (n, T) array of numbers, of an (n, T, d) array of points, or a list of
arrays (T,) or (T, d) of any lengths; NaN at the end of a series is padding.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data, Zipped
from ...params import positive
from ..base import Kernel, not_resolved
from ..pairs.base import Paired, on_all_cores
from ..vectors.distances import median_distance
from .kind import SERIES
from .ragged import Ragged, ragged, same_channels

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(eq=False, repr=False)
class SeriesKernel(Paired):
    """A kernel on series whose values come from a table of all pairs of points."""

    domain = SERIES

    def prepare(self, X: Data) -> Any:
        return ragged(X, type(self).__name__)

    def sizes(self, X: Any) -> np.ndarray:
        return X.size

    def _number(self, name: str) -> float:
        """The value of a parameter that may still be the name of a rule."""
        value = getattr(self, name)
        if isinstance(value, str):
            raise not_resolved(self)
        return float(value)


@dataclass(eq=False, repr=False)
class LocalKernel(SeriesKernel):
    """A kernel on series that compares points by exp(-|x_i - y_j|^2 / (2 s^2))."""

    lengthscale: Any = positive("median", choices=("median",))

    def typical(self, X: Ragged) -> float:
        """What lengthscale="median" stands for: the median distance of points."""
        return median_distance(X.some_points())

    def resolve(self, X: Data) -> Kernel:
        if not isinstance(self.lengthscale, str):
            return self
        return replace(self, lengthscale=self.typical(ragged(X, type(self).__name__)))

    def points(self, X: Data) -> Ragged:
        """Series whose points have the squared distances |x_i - y_j|^2 / (2 s^2)."""
        s = self._number("lengthscale")
        return ragged(X, type(self).__name__).scaled(s * np.sqrt(2))


@dataclass(eq=False, repr=False)
class LogKernel(LocalKernel):
    """K(x, y) / sqrt(K(x, x) K(y, y)) for a K so large or small that only log K is computed."""

    @abstractmethod
    def logs(
        self, P: Ragged, Q: Ragged, i: np.ndarray, j: np.ndarray, slopes: np.ndarray | None = None
    ) -> np.ndarray:
        """log K for pairs of scaled series.

        ``slopes``, if given, is filled with the derivatives along log(lengthscale).
        """

    def prepare(self, X: Data) -> Zipped:
        P = self.points(X)
        every = np.arange(len(P))
        return Zipped(P, self.logs(P, P, every, every))

    def sizes(self, X: Zipped) -> np.ndarray:
        return X.parts[0].size

    def pairs(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        (P, p), (Q, q) = X.parts, Y.parts
        logs = self.logs(P, Q, i, j)
        logs -= (p[i] + q[j]) / 2
        return np.asarray(np.exp(np.minimum(logs, 0, out=logs), out=logs))

    def diag(self, X: Zipped) -> np.ndarray:
        return np.ones(len(X))

    def slopes(self, X: Zipped, Y: Zipped, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        (P, p), (Q, q) = X.parts, Y.parts
        slopes = np.empty(len(i))
        logs = self.logs(P, Q, i, j, slopes)
        logs -= (p[i] + q[j]) / 2
        left = self._own_slopes(P)
        right = left if Q is P else self._own_slopes(Q)
        slopes -= (left[i] + right[j]) / 2
        slopes *= np.exp(np.minimum(logs, 0, out=logs), out=logs)
        return slopes

    def _own_slopes(self, P: Ragged) -> np.ndarray:
        """The derivatives of log K(x, x)."""
        every, slopes = np.arange(len(P)), np.empty(len(P))
        self.logs(P, P, every, every, slopes)
        return slopes

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))


def arrays(X: Ragged) -> Arrays:
    """Series as compiled loops take them: points, starts and sizes."""
    return X.values, X.start, X.size


def of_pairs(loop: Any, X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray, *options: Any) -> Any:
    """A compiled loop over pairs of series; arrays among the options have an entry for each."""
    same_channels(X, Y)
    left, right, out = arrays(X), arrays(Y), np.empty(len(i))

    def job(part: slice) -> None:
        more = (o[part] if isinstance(o, np.ndarray) else o for o in options)
        out[part] = loop(*left, *right, i[part], j[part], *more)

    on_all_cores(job, cells(X, Y, i, j))
    return out


def cells(X: Ragged, Y: Ragged, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """The pairs of points of pairs of series."""
    return X.size[i] * Y.size[j]
