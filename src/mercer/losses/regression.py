"""Losses for numbers and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import wrightomega, xlogy

from ..params import nonnegative, positive
from .base import _EDGE, _TINY, Dual, Loss, Piecewise, fraction


@dataclass(eq=False, repr=False)
class Squared(Piecewise):
    """Half the squared error, (y - f)^2 / 2: estimates the mean.

    Examples
    --------
    >>> import numpy as np
    >>> Squared().value(np.array([1.0]), np.array([4.0]))
    array([4.5])
    """

    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -np.inf, np.inf, soft=(1.0, 1.0))


@dataclass(eq=False, repr=False)
class Absolute(Piecewise):
    """The absolute error, |y - f|: estimates the median.

    Examples
    --------
    >>> import numpy as np
    >>> Absolute().value(np.array([1.0]), np.array([4.0]))
    array([3.])
    """

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -1.0, 1.0)


@dataclass(eq=False, repr=False)
class Huber(Piecewise):
    """r^2 / 2 for errors |r| <= delta, delta |r| - delta^2 / 2 beyond: robust to outliers.

    Parameters
    ----------
    delta : float
        The error beyond which the loss is linear, > 0.

    Examples
    --------
    >>> import numpy as np
    >>> Huber(delta=1.0).value(np.zeros(2), np.array([1.0, 3.0]))
    array([0.5, 2.5])

    References
    ----------
    Huber, *Robust estimation of a location parameter*, 1964.
    """

    delta: float = positive(1.0)
    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -self.delta, self.delta, soft=(1.0, 1.0))


@dataclass(eq=False, repr=False)
class Quantile(Piecewise):
    """The pinball loss, q (y - f) if y > f, else (1 - q) (f - y): estimates the q-quantile.

    Parameters
    ----------
    q : float
        In (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> Quantile(q=0.9).value(np.array([1.0, -1.0]), np.zeros(2))
    array([0.9, 0.1])

    References
    ----------
    Koenker & Bassett, *Regression quantiles*, 1978.
    """

    q: float = fraction(0.5)

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -self.q, 1 - self.q)


@dataclass(eq=False, repr=False)
class Expectile(Piecewise):
    """q (y - f)^2 if y > f, else (1 - q) (y - f)^2: estimates the q-expectile.

    With q = 1/2 it is :class:`Squared`.

    Parameters
    ----------
    q : float
        In (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> Expectile(q=0.75).value(np.array([2.0, -2.0]), np.zeros(2))
    array([3., 1.])

    References
    ----------
    Newey & Powell, *Asymmetric least squares estimation and testing*, 1987.
    """

    q: float = fraction(0.5)
    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -np.inf, np.inf, soft=(0.5 / self.q, 0.5 / (1 - self.q)))


@dataclass(eq=False, repr=False)
class EpsilonInsensitive(Piecewise):
    """max(0, |y - f| - epsilon): errors inside the tube cost nothing.

    Parameters
    ----------
    epsilon : float
        Half width of the tube, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> EpsilonInsensitive(epsilon=0.5).value(np.zeros(2), np.array([0.25, 2.0]))
    array([0. , 1.5])

    References
    ----------
    Vapnik, *The Nature of Statistical Learning Theory*, 1995.
    """

    epsilon: float = nonnegative(0.1)

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -1.0, 1.0, self.epsilon)


@dataclass(eq=False, repr=False)
class SquaredEpsilonInsensitive(Piecewise):
    """max(0, |y - f| - epsilon)^2 / 2.

    Parameters
    ----------
    epsilon : float
        Half width of the tube, >= 0.

    Examples
    --------
    >>> import numpy as np
    >>> SquaredEpsilonInsensitive(epsilon=0.5).value(np.zeros(2), np.array([0.25, 2.5]))
    array([0., 2.])
    """

    epsilon: float = nonnegative(0.1)
    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        return Dual(y, -np.inf, np.inf, self.epsilon, (1.0, 1.0))


@dataclass(eq=False, repr=False)
class Poisson(Loss):
    """exp(f) - y f: the log-likelihood of counts y with mean exp(f), without the term log y!.

    Examples
    --------
    >>> import numpy as np
    >>> Poisson().slope(np.array([3.0]), np.log([5.0])).round(9)
    array([2.])
    """

    targets = "count"
    smooth = True

    def check_targets(
        self, y: np.ndarray, weights: np.ndarray | None = None, intercept: bool = True
    ) -> None:
        if np.any(y < 0):
            raise ValueError("y must be >= 0: loss='poisson' is for counts.")
        if intercept and not np.any(y if weights is None else y * weights):
            raise ValueError(
                "y is 0 everywhere, so the intercept would be -inf; fit without an intercept."
            )

    def prediction(self, f: np.ndarray) -> np.ndarray:
        return np.exp(f)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.exp(f) - y * f

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.exp(f) - y

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return np.exp(f)

    def prox(self, y: np.ndarray, v: np.ndarray, step: Any) -> np.ndarray:
        top = v + step * y  # f + step exp(f) = top
        return top - wrightomega(top + np.log(np.maximum(step, _TINY)))

    def conjugate(self, y: np.ndarray, u: np.ndarray) -> np.ndarray:
        mean = np.maximum(u + y, 0)
        return np.where(u + y >= -_EDGE, xlogy(mean, mean) - mean, np.inf)
