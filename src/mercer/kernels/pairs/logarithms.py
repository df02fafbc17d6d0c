"""Kernels computed pair by pair that have logarithms where their values are no numbers any more.

Sums over subsequences, alignments and fragments grow exponentially with the samples. Their
logarithms do not, and normalised they are between 0 and 1 at any size
(:meth:`.base.Kernel.log_tiles`).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...data import length, take
from ...exceptions import DomainError
from ..base import Tile
from .base import Paired, all_pairs, weighted_pairs
from .wide import logarithms, plain

STEP = 1e-30  # of complex differences, in which nothing cancels


@dataclass(eq=False, repr=False)
class LogPaired(Paired):
    """A kernel k >= 0 whose logarithm is known for any pair of samples, with its derivatives."""

    @abstractmethod
    def logs(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """log k(x_i, y_j) for pairs of samples; -inf for 0."""

    @abstractmethod
    def log_slopes(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """dlog k(x_i, y_j)/dtheta, a column for each entry of theta; 0 where k is 0."""

    @abstractmethod
    def slopes(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """dk(x_i, y_j)/dtheta, likewise."""

    def _cut(self, values: Any, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Those kernels cut lists of pairs themselves, by what they take."""
        return values(X, Y, i, j)

    def log_tiles(self, X: Any, Y: Any) -> Tile | None:
        def tile(rows: Any, cols: Any) -> np.ndarray:
            P = take(X, rows)
            same = X is Y and isinstance(rows, slice) and isinstance(cols, slice) and rows == cols
            Q = P if same else take(Y, cols)
            left, right = self.arranged(P), self.arranged(Q)
            out = np.empty((len(left), len(right)))
            out[np.ix_(left, right)] = all_pairs(
                lambda i, j: self.logs(P, Q, left[i], right[j]), len(left), len(right), same
            )
            return out

        return tile

    def log_diag(self, X: Any) -> np.ndarray | None:
        out, order = np.empty(length(X)), self.arranged(X)
        out[order] = self.logs(X, X, order, order)
        return out

    def grad_theta(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        weights, *pairs = self._weighted(X, Y, W)
        return weights @ self.slopes(X, Y, *pairs)

    def grad_theta_diag(self, X: Any, w: np.ndarray) -> np.ndarray:
        order = self.arranged(X)
        return np.asarray(w)[order] @ self.slopes(X, X, order, order)

    def grad_log_theta(self, X: Any, Y: Any, W: np.ndarray) -> np.ndarray:
        weights, *pairs = self._weighted(X, Y, W)
        return weights @ self.log_slopes(X, Y, *pairs)

    def grad_log_theta_diag(self, X: Any, w: np.ndarray) -> np.ndarray:
        order = self.arranged(X)
        return np.asarray(w)[order] @ self.log_slopes(X, X, order, order)

    def _weighted(self, X: Any, Y: Any, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, cols = self.arranged(X), self.arranged(Y)
        i, j, weights = weighted_pairs(np.asarray(W)[np.ix_(rows, cols)], X is Y)
        return weights, rows[i], cols[j]


class Found(NamedTuple):
    """k = mantissa 2^(256 exponent) of pairs, and dlog k/dtheta, if it was asked for."""

    mantissa: np.ndarray
    exponent: np.ndarray
    slopes: np.ndarray


@dataclass(eq=False, repr=False)
class WidePaired(LogPaired):
    """A kernel whose values are computed as wide numbers where plain ones do not suffice."""

    @abstractmethod
    def found(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray, sloped: bool = False) -> Found:
        """Values of any size for pairs of samples."""

    @abstractmethod
    def too_large(self, x: Any, y: Any) -> str:
        """The message about two samples with too large a value, each given as a data set."""

    def pairs(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self._plain_values(self.found(X, Y, i, j), X, Y, i, j)

    def slopes(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        found = self.found(X, Y, i, j, sloped=True)
        return found.slopes * self._plain_values(found, X, Y, i, j)[:, None]

    def _plain_values(
        self, found: Found, X: Any, Y: Any, i: np.ndarray, j: np.ndarray
    ) -> np.ndarray:
        values = plain(found.mantissa, found.exponent)
        finite = np.isfinite(values)
        if not finite.all():
            at = int(np.argmin(finite))
            raise DomainError(
                f"{type(self).__name__}: k is larger than 1e308 for "
                f"{self.too_large(X[[i[at]]], Y[[j[at]]])}; use .normalize(), which works with "
                "logarithms, or lower decay."
            )
        return values

    def logs(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        found = self.found(X, Y, i, j)
        return logarithms(found.mantissa, found.exponent)

    def log_slopes(self, X: Any, Y: Any, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.found(X, Y, i, j, sloped=True).slopes


def moved(number: float, sloped: bool = True) -> Any:
    """A parameter, for slopes with a tiny imaginary part, from which that of k comes."""
    return complex(number, number * STEP) if sloped else float(number)


def slope(m: Any) -> Any:
    """dlog k/dlog of the parameter that was moved, from values with imaginary parts; 0 for 0."""
    m = np.asarray(m)
    return m.imag / (STEP * np.where(m.real > 0, m.real, 1.0))
