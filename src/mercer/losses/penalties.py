"""Penalties of the norm of a function, other than its square."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from ..params import Params, parameter, positive


class Penalty(Params):
    r"""A convex and strictly increasing function r of the norm :math:`t = \|f\| \ge 0`.

    The representer theorem holds for all of them: the minimum of a loss plus alpha r(\|f\|) is a
    sum of k(x_i, .). ``value`` is required; the other methods have defaults based on it.

    Attributes
    ----------
    steepest, largest : float
        An upper bound on the slope of r, and the norm beyond which r is infinite; infinity if there
        is none.
    """

    steepest: float = np.inf
    largest: float = np.inf

    @abstractmethod
    def value(self, t: float) -> float:
        """r(t)."""

    def slope(self, t: float) -> float:
        """r'(t); by central differences unless a subclass overrides it."""
        h = 1e-6 * (1 + t)
        low = max(t - h, 0.0)
        return (self.value(t + h) - self.value(low)) / (t + h - low)

    def conjugate(self, s: float, t: float) -> float:
        """sup_u s u - r(u) over u >= 0, which is attained near t where s is the slope there."""
        found = minimize_scalar(
            lambda u: self.value(u) - s * u, bounds=(0.0, 10 * t + 1.0), method="bounded"
        )
        return max(-float(found.fun), s * t - self.value(t), -self.value(0.0))


_EDGE = 1e-12  # rounding


def _at_least_one(power: object) -> str | None:
    fine = isinstance(power, int | float | np.number) and 1 <= power < np.inf
    return None if fine else "a number >= 1"


@dataclass(eq=False, repr=False)
class NormPower(Penalty):
    r"""r(t) = t^q / q: with q = 2 the usual penalty, with q = 1 the norm itself.

    With q = 1, f = 0 from some alpha on.

    Parameters
    ----------
    power : float
        q >= 1.

    Examples
    --------
    >>> round(NormPower(3.0).value(2.0), 3)
    2.667
    """

    power: float = parameter(2.0, check=_at_least_one)

    @property
    def steepest(self) -> float:  # type: ignore[override]
        """1 for the norm itself."""
        return 1.0 if self.power == 1 else np.inf

    def value(self, t: float) -> float:
        return float(t) ** self.power / self.power

    def slope(self, t: float) -> float:
        return float(t) ** (self.power - 1)

    def conjugate(self, s: float, t: float) -> float:
        if self.power == 1:
            return 0.0 if s <= 1 + _EDGE else np.inf
        dual = self.power / (self.power - 1)
        return float(s**dual / dual)


@dataclass(eq=False, repr=False)
class NormBall(Penalty):
    r"""The constraint :math:`\|f\| \le R`: r is 0 up to R, and infinite beyond.

    alpha plays no part.

    Parameters
    ----------
    radius : float
        R > 0.

    Examples
    --------
    >>> NormBall(2.0).value(1.9), NormBall(2.0).value(2.1)
    (0.0, inf)
    """

    radius: float = positive(1.0)

    @property
    def largest(self) -> float:  # type: ignore[override]
        """R."""
        return float(self.radius)

    def value(self, t: float) -> float:
        return 0.0 if t <= self.radius * (1 + _EDGE) else np.inf

    def slope(self, t: float) -> float:
        return 0.0 if t <= self.radius else np.inf

    def conjugate(self, s: float, t: float) -> float:
        return s * self.radius
