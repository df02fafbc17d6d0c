"""What a loss is, and losses made of straight and parabolic pieces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import is_number
from ..params import Params, parameter

_BISECTIONS = 100
_LARGEST = 1e300
_FAR = 2.0**40  # times the largest target, if that exceeds 1: no score is looked for beyond
_EDGE = 1e-7  # by how much a dual variable may leave its interval before its conjugate is infinite
_TINY = np.finfo(float).tiny


class Dual(NamedTuple):
    """The conjugate t u + epsilon |u| + h u^2 / 2 on lower <= u <= upper, with lower <= 0 <= upper.

    ``soft`` holds h for u < 0 and for u > 0; 0 stands for a loss with kinks.
    """

    target: np.ndarray
    lower: Any
    upper: Any
    epsilon: float = 0.0
    soft: tuple[float, float] = (0.0, 0.0)


@dataclass(eq=False, repr=False)
class Loss(Params, ABC):
    """A convex loss L(y, f), elementwise over arrays y and f.

    Attributes
    ----------
    targets : {"real", "sign", "count", "classes"}
        What y is: numbers, -1 and +1, counts, or codes 0..K-1 with K scores per sample.
    smooth : bool
        Whether L has a continuous derivative; Newton's method is then used.
    """

    targets: ClassVar[str] = "real"
    smooth: ClassVar[bool] = False

    @abstractmethod
    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """L(y, f)."""

    def check_targets(
        self, y: np.ndarray, weights: np.ndarray | None = None, intercept: bool = True
    ) -> None:
        """Refuse numbers y that the loss is not for, with a ValueError; by default none.

        With ``intercept`` a free constant is fitted, which must not be infinite.
        """

    def felt(self, y: np.ndarray) -> np.ndarray | None:
        """Which targets have a loss at all; None, the default, for all."""
        return None

    def prediction(self, f: np.ndarray) -> np.ndarray:
        """Predictions from scores: the scores themselves, or exp(f) where f is a logarithm."""
        return f

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """dL/df; by central differences unless a subclass overrides it."""
        h = 1e-6 * (1 + np.abs(f))
        return (self.value(y, f + h) - self.value(y, f - h)) / (2 * h)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """d2L/df2 >= 0; by differences of the derivative unless a subclass overrides it."""
        h = 1e-4 * (1 + np.abs(f))
        return np.maximum((self.slope(y, f + h) - self.slope(y, f - h)) / (2 * h), 0)

    def curvature_times(self, y: np.ndarray, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The second derivative applied to v; a matrix per sample where there are K scores."""
        return self.curvature(y, f) * v

    def subgradient_range(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The slopes to the left and right: all subgradients lie between them.

        Differences to either side, the default, enclose that interval since L is convex.
        """
        if self.smooth:
            s = self.slope(y, f)
            return s, s
        h = 1e-7 * (1 + np.abs(f))
        here = self.value(y, f)
        return (here - self.value(y, f - h)) / h, (self.value(y, f + h) - here) / h

    def prox(self, y: np.ndarray, v: np.ndarray, step: Any) -> np.ndarray:
        """argmin_f L(y, f) + (f - v)^2 / (2 step); by default by bisection of the slope."""
        v = np.asarray(v, dtype=float)
        s = self.slope(y, v)
        low, high = v - step * np.maximum(s, 0), v - step * np.minimum(s, 0)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            right = step * self.slope(y, middle) + (middle - v) < 0
            low, high = np.where(right, middle, low), np.where(right, high, middle)
            if np.all(high - low <= 1e-15 * (1 + np.abs(middle))):
                break
        return (low + high) / 2

    def conjugate(self, y: np.ndarray, u: np.ndarray) -> np.ndarray | None:
        """sup_f u f - L(y, f), for duality gaps; None if it is not known."""
        return None

    def dual(self, y: np.ndarray) -> Dual | None:
        """The conjugate as a quadratic function on an interval; None if it is not one."""
        return None

    def constant(self, y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """argmin_b sum_i w_i L(y_i, b), one number per score; the middle if there are several.

        The first of them has a slope to the right >= 0, after the last the slope to the left is
        positive; where the loss falls, or is flat, without end, the other end is taken.
        """

        def past(b: float, side: int) -> bool:
            with np.errstate(over="ignore"):
                total = float(weights @ self.subgradient_range(y, np.full(len(y), b))[side])
            return total >= 0 if side else total > 0

        size = float(np.abs(y[weights > 0]).max(initial=0.0))
        unit = min(1.0, size) if size > 0 else 1.0  # small targets have small constants
        far = min(_FAR * max(1.0, size), _LARGEST)
        ends = []
        for side in (0, 1):
            low, high, reach = -unit, unit, 2 * unit
            while past(low, side) and reach < far:
                low, reach = low - reach, 2 * reach
            while not past(high, side) and reach < far:
                high, reach = high + reach, 2 * reach
            if reach >= far:
                continue
            while high - low > 1e-12 * max(unit, abs(low), abs(high)):
                middle = (low + high) / 2
                low, high = (low, middle) if past(middle, side) else (middle, high)
            ends.append((low + high) / 2)
        return np.array([np.mean(ends) if ends else 0.0])


class Piecewise(Loss):
    """A loss given by its :meth:`dual`; value, slopes, proximal step and conjugate follow."""

    @abstractmethod
    def dual(self, y: np.ndarray) -> Dual:
        """Target, bounds, insensitivity and softness of the conjugate."""

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        excess, low, high, h, u = self._parts(y, f)
        if not self.smooth:
            return np.where(excess >= 0, high, low) * excess
        return excess * u - h * u * u / 2

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        if self.smooth:
            return self._parts(y, f)[4]
        low, high = self.subgradient_range(y, f)
        return (low + high) / 2

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        if not self.smooth:
            return np.zeros(np.broadcast_shapes(np.shape(y), np.shape(f)))
        t, *_, epsilon, _ = self.dual(y)
        excess, low, high, h, _ = self._parts(y, f)
        curved = (np.abs(f - t) >= epsilon) & (excess >= h * low) & (excess <= h * high)
        return curved / h

    def subgradient_range(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.smooth:
            u = self._parts(y, f)[4]
            return u, u
        t, low, high, epsilon, _ = self.dual(y)
        d = f - t
        left = np.where(d > epsilon, high, np.where(d > -epsilon, 0.0, low))
        right = np.where(d >= epsilon, high, np.where(d >= -epsilon, 0.0, low))
        return left, right

    def prox(self, y: np.ndarray, v: np.ndarray, step: Any) -> np.ndarray:
        t, low, high, epsilon, soft = self.dual(y)
        excess = _shrink(v - t, epsilon)
        h = np.where(excess < 0, *soft) + np.maximum(step, _TINY)
        return v - step * np.clip(excess / h, low, high)

    def conjugate(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        t, low, high, epsilon, soft = self.dual(y)
        inside = (u >= low - _EDGE) & (u <= high + _EDGE)
        u = np.clip(u, low, high)
        value = t * u + epsilon * np.abs(u) + np.where(u < 0, *soft) * u * u / 2
        return np.where(inside, value, np.inf)

    def _parts(self, y: np.ndarray, f: np.ndarray) -> tuple:
        """By how much f leaves the insensitive zone, bounds, softness, and the slope if smooth."""
        t, low, high, epsilon, soft = self.dual(y)
        excess = _shrink(f - t, epsilon)
        h = np.where(excess < 0, *soft)
        return excess, low, high, h, np.clip(excess / h, low, high) if self.smooth else None


def _shrink(d: np.ndarray, epsilon: float) -> np.ndarray:
    return np.sign(d) * np.maximum(np.abs(d) - epsilon, 0) if epsilon else d


def fraction(default: float) -> Any:
    """A number strictly between 0 and 1."""

    def check(value: Any) -> str | None:
        return None if is_number(value) and 0 < value < 1 else "between 0 and 1 (both excluded)"

    return parameter(default, check=check)
