"""The Gaussian kernel of a kernel metric: of distances between features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ...data import Data, Zipped, length, take
from ...exceptions import UnresolvedError
from ..base import Kernel, Tile
from ..overrides import by_tiles
from .negative import SquaredMetric

_MEDIAN_SAMPLES = 200


class MetricGaussian(Kernel):
    """exp(-d(x, y)^2 / (2 l^2)) for the metric d of another kernel, its ``space``.

    Subclasses have a parameter ``lengthscale``, a number or "median"; all others in theta are
    those of the space, and come before it.
    """

    lengthscale: Any

    @property
    @abstractmethod
    def space(self) -> Kernel:
        """The kernel with whose features distances are measured."""

    def median_distance(self, space: Kernel, X: Data) -> float:
        """The median distance of distinct ones among (at most 200) samples."""
        few = np.unique(np.linspace(0, length(X) - 1, _MEDIAN_SAMPLES).astype(int))
        between = space.distance(take(X, few))[np.triu_indices(len(few), 1)]
        between = between[between > 0]
        return float(np.median(between)) if len(between) else 1.0

    @property
    def unresolved(self) -> str | None:
        return super().unresolved or (
            f'lengthscale="{self.lengthscale}"' if isinstance(self.lengthscale, str) else None
        )

    def prepare(self, X: Data) -> Zipped:
        if isinstance(self.lengthscale, str):
            raise UnresolvedError(
                f'{type(self).__name__}: lengthscale="{self.lengthscale}" depends on data; call '
                f"kernel.resolve(X_train) first."
            )
        return self._squares.prepare(X)

    def pairwise(self, X: Zipped, Y: Zipped) -> np.ndarray:
        return by_tiles(self, MetricGaussian, X, Y)

    def tiles(self, X: Zipped, Y: Zipped) -> Tile:
        distances = self._squares.tiles(X, Y)

        def tile(rows: slice, cols: slice) -> np.ndarray:
            D = distances(rows, cols)
            D *= -0.5 / self.lengthscale**2
            return np.exp(D, out=D)

        return tile

    def diag(self, X: Zipped) -> np.ndarray:
        return np.ones_like(X.parts[1])

    def grad_theta(self, X: Zipped, Y: Zipped, W: np.ndarray) -> np.ndarray:
        D = self._squares.tiles(X, Y)(slice(0, len(X)), slice(0, len(Y)))
        V = W * np.exp(-0.5 / self.lengthscale**2 * D) / self.lengthscale**2
        return np.append(self._squares.grad_theta(X, Y, -V / 2), np.vdot(V, D))

    def grad_theta_diag(self, X: Zipped, w: np.ndarray) -> np.ndarray:
        return np.zeros(len(self.theta))

    @property
    def _squares(self) -> SquaredMetric:
        return SquaredMetric(self.space)
