"""The exponential of a negative definite function, as of squared distances between features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from ...data import Data, evenly, length, take
from ..base import Kernel, Tile, Tiled, not_resolved
from .negative import Negative, SquaredMetric

_MEDIAN_SAMPLES = 200


class Exponential(Tiled):
    """exp(-rate psi(x, y)), where the rate is a function of the last parameter in theta."""

    scale: ClassVar[str]  # the name of this parameter: a number, or "median"
    power: ClassVar[float]  # of it that the rate is proportional to

    @property
    @abstractmethod
    def _psi(self) -> Negative:
        """The negative definite function, whose parameters are all others in theta."""

    @property
    @abstractmethod
    def _rate(self) -> float:
        """The factor of psi."""

    def prepare(self, X: Data) -> Data:
        if isinstance(getattr(self, self.scale), str):
            raise not_resolved(self)
        return self._psi.prepare(X)

    def tiles(self, X: Data, Y: Data) -> Tile:
        inner, rate = self._psi.tiles(X, Y), self._rate

        def tile(rows: Any, cols: Any) -> np.ndarray:
            D = inner(rows, cols)
            D *= -rate
            return np.exp(D, out=D)

        return tile

    def diag(self, X: Data) -> np.ndarray:
        one = slice(0, 1)
        dtype = self.pairwise(take(X, one), take(X, one)).dtype
        return np.exp(-self._rate * self._psi.diag(X)).astype(dtype, copy=False)

    def grad_theta(self, X: Data, Y: Data, W: np.ndarray) -> np.ndarray:
        D = self._psi.tiles(X, Y)(slice(0, length(X)), slice(0, length(Y)))
        V = -self._rate * W * np.exp(-self._rate * D)
        return np.append(self._psi.grad_theta(X, Y, V), self.power * np.vdot(V, D))


class MetricGaussian(Exponential):
    """exp(-d(x, y)^2 / (2 l^2)) for the metric d of another kernel, its ``space``.

    Subclasses have a parameter ``lengthscale``, a number or "median".
    """

    lengthscale: Any
    scale, power = "lengthscale", -2.0

    @property
    @abstractmethod
    def space(self) -> Kernel:
        """The kernel with whose features distances are measured."""

    def median_distance(self, space: Kernel, X: Data) -> float:
        """The median distance of distinct ones among (at most 200) samples."""
        few = evenly(length(X), _MEDIAN_SAMPLES)
        between = space.distance(take(X, few))[np.triu_indices(len(few), 1)]
        between = between[between > 0]
        return float(np.median(between)) if len(between) else 1.0

    @property
    def _psi(self) -> SquaredMetric:
        return SquaredMetric(self.space)

    @property
    def _rate(self) -> float:
        return 0.5 / self.lengthscale**2

    def grad_theta_diag(self, X: Data, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))
