"""Kernels on the circle: functions of x - y with a period, and their Fourier coefficients.

The series is that of ``circle.py``. The space itself, with the inner product
sum_l fhat_l conj(ghat_l) / khat_l, is :class:`mercer.FourierSpace`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...exceptions import NotAKernelError
from ...params import parameter, positive
from ..calculus import properties as prop
from .circle import TURN, Circular, angles_between, waves

_LOOKED_AT = 8  # values of a function that are checked at once
_TAIL = 1e-13  # of the sum of coefficients: a stretch as long as all before it that adds less
_MOST = 2**13  # coefficients of a series
_NEGLIGIBLE = 37.0  # exp(-37) is below the rounding of 1


def _spectrum(value: Any) -> str | None:
    """A check of coefficients: the sentence about a negative one says what it would break."""
    wanted = "a list of finite numbers >= 0, or a function from l to such a number"
    if callable(value):
        value = [value(l) for l in range(_LOOKED_AT)]
    try:
        weights = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        return wanted
    if weights.ndim != 1 or not weights.size or not np.all(np.isfinite(weights)):
        return wanted
    if (weights < 0).any():
        l = int(np.argmax(weights < 0))
        raise NotAKernelError(
            f"Fourier: coefficients[{l}] = {weights[l]:g} must be >= 0; a negative Fourier "
            f"coefficient would subtract a kernel."
        )
    return None


def _summed(coefficients: Callable[[int], float]) -> np.ndarray:
    """Coefficients up to where the rest of the series no longer counts.

    A stretch as long as all before it has to add next to nothing: coefficients that fall off like
    a power of l are then cut where what is left adds no more than that stretch.
    """
    values = [float(coefficients(l)) for l in range(_LOOKED_AT)]
    while True:
        n = len(values)
        values += [float(coefficients(l)) for l in range(n, 2 * n)]
        problem = _spectrum(values)
        if problem is not None:
            raise ValueError(f"Fourier: coefficients must be {problem}.")
        total = sum(values)
        if total > 0 and sum(values[n:]) <= _TAIL * total:
            return np.trim_zeros(np.array(values[:n]), "b") if total else np.zeros(1)
        if 2 * n > _MOST:
            raise ValueError(
                "Fourier: coefficients still contribute "
                f"{sum(values[n:]) / max(total, 1e-300):.1g} of their sum between l = {n} and "
                f"{2 * n}; pass a finite list of coefficients."
            )


@dataclass(eq=False, repr=False)
class Fourier(Circular):
    r"""A trigonometric polynomial, given by its Fourier coefficients.

    .. math:: k(x, y) = \hat k_0 + 2 \sum_{l=1}^{L} \hat k_l \cos(l \omega (x - y)),
              \quad \omega = 2\pi / \text{period}

    Parameters
    ----------
    coefficients : list of float, or callable
        khat_0, ..., khat_L, each >= 0; or a function l -> khat_l for all l >= 0, whose values
        decay so fast that the rest of the series is below 1e-13 of it before l = 8192.
    period : float
        The circumference of the circle: x and x + period are the same point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Fourier
    >>> geometric = Fourier(lambda l: 0.5**l)  # the Poisson kernel
    >>> geometric([0.0, np.pi]).round(4)
    array([[3.    , 0.3333],
           [0.3333, 3.    ]])
    >>> Fourier([1, 0.5])(np.array([0, np.pi / 2, np.pi])).round(4)
    array([[2., 1., 0.],
           [1., 2., 1.],
           [0., 1., 2.]])

    References
    ----------
    Berlinet & Thomas-Agnan, *Reproducing Kernel Hilbert Spaces in Probability and Statistics*,
    2004, section 7.2.
    """

    coefficients: Any = parameter(check=_spectrum)
    period: float = positive(TURN)
    because = "its Fourier coefficients are >= 0: a sum of kernels cos(l w (x - y))"

    def series(self) -> np.ndarray:
        if not callable(self.coefficients):
            return np.asarray(self.coefficients, dtype=float)
        known = getattr(self, "_summed", None)
        if known is None or known[0] is not self.coefficients:
            known = self._summed = (self.coefficients, _summed(self.coefficients))
        return known[1]

    def features(self, X: np.ndarray) -> np.ndarray:
        return waves(X[:, 0], self.series())

    def grad_theta(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        return np.array([self._grad_period(X, Y, W)])

    def n_features(self, X: np.ndarray) -> int:
        weights = self.series()
        return int(np.count_nonzero(weights) * 2 - (weights[0] > 0))

    def fourier_coefficients(self, L: int) -> np.ndarray:
        if callable(self.coefficients):
            return np.array([float(self.coefficients(l)) for l in range(L + 1)])
        weights = self.series()[: L + 1]
        return np.concatenate([weights, np.zeros(L + 1 - len(weights))])

    @property
    def properties(self) -> prop.Properties:
        weights = self.series()
        if callable(self.coefficients):
            return self._stated(
                bounded=prop.yes("the coefficients have a finite sum"),
                continuous=prop.yes("a series of waves that converges uniformly"),
                stationary=prop.yes("a function of x - y"),
            )
        some = "k(x, x) is the sum of the coefficients"
        zero = prop.no("every coefficient is 0")
        return self._stated(
            bounded=prop.yes("stationary: k(x, x) is the same number everywhere"),
            analytic=prop.yes("a trigonometric polynomial"),
            stationary=prop.yes("a function of x - y"),
            finite_dim=prop.yes("trigonometric polynomials of bounded degree"),
            positive_diag=prop.yes(some) if weights.any() else zero,
        )


@dataclass(eq=False, repr=False)
class Theta(Circular):
    r"""The Jacobi theta kernel, the Gaussian of the circle.

    .. math:: k(x, y) = \frac{1}{2\pi} \sum_{l=-\infty}^{\infty}
              e^{-\sigma^2 l^2 / 2}\, e^{i l t}
              = \frac{1}{\sqrt{2\pi}\,\sigma} \sum_{n=-\infty}^{\infty}
              e^{-(t + 2\pi n)^2 / 2 \sigma^2},
              \quad t = \omega (x - y), \; \sigma = \omega \ell

    with w = 2 pi / period, so the Fourier coefficients are khat_l = exp(-sigma^2 l^2 / 2) / (2 pi).
    As a function of the angle t this is the density of a normal variable wrapped around the
    circle: it integrates to 1 over a turn, and k(x, x) is near 1 / (sqrt(2 pi) sigma), not 1. The
    two sums are equal (Poisson); whichever converges at once is used, so the value is accurate for
    every lengthscale.

    Parameters
    ----------
    lengthscale : float
        The length l over which functions vary, in the unit of x (with the period 2 pi: sigma).
    period : float
        The circumference of the circle: x and x + period are the same point.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Theta
    >>> Theta(lengthscale=0.5)(np.array([0.0, 0.5, 2 * np.pi])).round(4)
    array([[0.7979, 0.4839, 0.7979],
           [0.4839, 0.7979, 0.4839],
           [0.7979, 0.4839, 0.7979]])

    References
    ----------
    Mardia & Jupp, *Directional Statistics*, 2000, section 3.5.7.
    """

    lengthscale: float = positive(1.0)
    period: float = positive(TURN)
    because = "its Fourier coefficients exp(-sigma^2 l^2 / 2) / (2 pi) are positive"

    @property
    def _sigma(self) -> float:
        return float(self.lengthscale) * TURN / float(self.period)

    def fourier_coefficients(self, L: int) -> np.ndarray:
        return np.exp(-0.5 * (self._sigma * np.arange(L + 1)) ** 2) / TURN

    def series(self) -> np.ndarray | None:
        if self._sigma < 1:
            return None
        return self.fourier_coefficients(int(np.sqrt(2 * _NEGLIGIBLE) / self._sigma))

    def profile(self, T: np.ndarray) -> np.ndarray:
        return self._wrapped_sum(_fold(T))

    def slope(self, T: np.ndarray) -> np.ndarray:
        sigma = self._sigma
        return _orientation(T) * self._wrapped_sum(_fold(T), lambda z: -z / sigma)

    def grad_theta(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        """The period also changes sigma = 2 pi lengthscale / period."""
        widened = self._grad_sigma(X, Y, W)
        return np.array([widened, self._grad_period(X, Y, W) - widened])

    def _grad_sigma(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> float:
        """The gradient with respect to log(sigma)."""
        weights = self.series()
        if weights is None:
            spread = self._wrapped_sum(_fold(angles_between(X, Y)), lambda z: z * z - 1)
            return float(np.vdot(W, spread))
        loss = (self._sigma * np.arange(len(weights))) ** 2 * weights
        return -float(np.vdot(waves(X[:, 0], loss), W @ waves(Y[:, 0], loss)))

    def _wrapped_sum(
        self, T: np.ndarray, factor: Callable[[np.ndarray], np.ndarray] | None = None
    ) -> np.ndarray:
        """The sum over whole turns at angles in [0, pi], each term times a factor of z."""
        sigma = self._sigma
        reach = 2 * _NEGLIGIBLE * (sigma / TURN) ** 2
        ahead = max(0, int(np.ceil(np.sqrt(reach))) - 1)
        behind = int(np.ceil((np.sqrt(1 + 4 * reach) - 1) / 2))
        total = np.zeros_like(T)
        for n in range(-behind, ahead + 1):
            z = (T + n * TURN) / sigma
            term = np.exp(-0.5 * z * z)
            total += term if factor is None else term * factor(z)
        total /= np.sqrt(TURN) * sigma
        return total

    @property
    def properties(self) -> prop.Properties:
        return self._full_spectrum("Gaussian in l")


@dataclass(eq=False, repr=False)
class Periodic(Circular):
    r"""The periodic kernel: a Gaussian kernel of points on a circle in the plane.

    .. math:: k(x, y) = \exp\left(-\frac{2}{\ell^2} \sin^2 \frac{\pi (x - y)}{\text{period}}\right)

    Its Fourier coefficients are khat_l = exp(-1/l^2) I_l(1/l^2) with the lengthscale l and modified
    Bessel functions I_l.

    Parameters
    ----------
    lengthscale : float
        How fast functions vary within a period: the lengthscale of the Gaussian kernel on the
        circle of radius 1, whatever the period.
    period : float
        The circumference of the circle: x and x + period are the same point.

    Examples
    --------
    >>> from mercer import Periodic
    >>> Periodic(period=24)([[0.0], [6.0], [24.0]]).round(4)  # hours of a day
    array([[1.    , 0.3679, 1.    ],
           [0.3679, 1.    , 0.3679],
           [1.    , 0.3679, 1.    ]])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.2.3.
    """

    lengthscale: float = positive(1.0)
    period: float = positive(TURN)
    because = "the Gaussian kernel of (cos w x, sin w x), a pullback"

    def fourier_coefficients(self, L: int) -> np.ndarray:
        from scipy.special import ive

        return ive(np.arange(L + 1), float(self.lengthscale) ** -2)

    def profile(self, T: np.ndarray) -> np.ndarray:
        T *= 0.5
        np.sin(T, out=T)
        T *= np.sqrt(2) / self.lengthscale  # squared last: 1 / lengthscale^2 may overflow
        np.square(T, out=T)
        return np.exp(np.negative(T, out=T), out=T)

    def slope(self, T: np.ndarray) -> np.ndarray:
        return -np.sin(T) / self.lengthscale**2 * self.profile(T.copy())

    def grad_theta(self, X: np.ndarray, Y: np.ndarray, W: np.ndarray) -> np.ndarray:
        exponent = (np.sin(angles_between(X, Y) / 2) * (np.sqrt(2) / self.lengthscale)) ** 2
        widened = np.vdot(W, 2 * exponent * np.exp(-exponent))
        return np.array([widened, self._grad_period(X, Y, W)])

    @property
    def properties(self) -> prop.Properties:
        return self._full_spectrum("modified Bessel functions are")


def _fold(T: np.ndarray) -> np.ndarray:
    """The unsigned angle in [0, pi] of differences of angles in [-2 pi, 2 pi]."""
    T = np.abs(T)
    return np.maximum(np.minimum(T, TURN - T), 0)


def _orientation(T: np.ndarray) -> np.ndarray:
    """The derivative of the folded angle with respect to the difference."""
    return np.where(np.abs(T) <= np.pi, np.sign(T), -np.sign(T))
