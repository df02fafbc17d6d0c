"""The Matérn kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...params import number
from ..calculus import properties as prop
from .bessel import matern, matern_slope
from .radial import Radial

# beyond 50, Bessel functions overflow at distances that still matter
_ORDER = "positive and at most 50 (smoother functions: Gaussian)"


@dataclass(eq=False, repr=False)
class Matern(Radial):
    r"""The Matérn kernel of order nu.

    .. math:: k(x, y) = \frac{2^{1-\nu}}{\Gamma(\nu)} (\sqrt{2\nu}\, r)^\nu K_\nu(\sqrt{2\nu}\, r)

    with r = ||(x - y) / l||; (1 + sqrt(3) r) exp(-sqrt(3) r) for nu = 3/2 and
    (1 + sqrt(5) r + 5 r^2 / 3) exp(-sqrt(5) r) for nu = 5/2.

    Parameters
    ----------
    lengthscale : float, array, "median" or "scale"
        The length l over which functions vary.
    nu : float
        The order, at most 50: functions in the space are m times differentiable for every integer
        m < nu. It is not tuned, because 1/2, 3/2 and 5/2 are much faster than all other values.

    Examples
    --------
    >>> from mercer import Matern
    >>> Matern(nu=2.5)([[0.0], [1.0]]).round(4)
    array([[1.   , 0.524],
           [0.524, 1.   ]])

    References
    ----------
    Rasmussen & Williams, *Gaussian Processes for Machine Learning*, 2006, section 4.2.
    """

    nu: float = number(1.5, _ORDER, lambda nu: 0 < nu <= 50)
    profile_name = "matern"
    because = "its Fourier transform, (1 + |w|^2)^-(nu + d/2) up to scale, is positive (Bochner)"

    @property
    def stretch(self) -> float:
        return 5 / 3 if self.nu == 2.5 else 2 * float(self.nu)

    def profile(self, D: np.ndarray) -> np.ndarray:
        if self.nu == 2.5:  # (1 + sqrt(3) R + R^2) exp(-sqrt(3) R) with R^2 = D
            decay = np.sqrt(D)
            decay *= -np.sqrt(3)
            D -= decay
            D += 1
            np.exp(decay, out=decay)
            return np.multiply(D, decay, out=D)
        R = np.sqrt(D, out=D)
        if self.nu not in (0.5, 1.5):
            return matern(R, float(self.nu))
        decay = np.negative(R)
        np.exp(decay, out=decay)
        if self.nu == 0.5:
            return decay
        R += 1
        return np.multiply(R, decay, out=R)

    @property
    def cusped(self) -> bool:  # type: ignore[override]
        return self.nu <= 1

    def slope(self, R2: np.ndarray) -> np.ndarray:
        """From d/dr [r^nu K_nu(r)] = -r^nu K_{nu-1}(r)."""
        nu = float(self.nu)
        if nu <= 1:
            return matern_slope(R2, nu)
        lower = Matern(nu=nu - 1)
        D = np.asarray(R2, dtype=float) * (nu / (nu - 1) * lower.stretch)
        return -nu / (2 * (nu - 1)) * lower.profile(D)

    def spread(self, rng: np.random.Generator, m: int) -> np.ndarray:
        """Frequencies have the multivariate t distribution with 2 nu degrees of freedom."""
        return np.sqrt(2 * self.nu / rng.chisquare(2 * self.nu, m))

    @property
    def properties(self) -> prop.Properties:
        m = int(np.ceil(self.nu)) - 1
        return self._radial(
            prop.Smoothness(m, m, "the spectral density has moments of order 2m for m < nu only"),
            prop.no(f"only {m} times differentiable"),
            "its spectral density is a positive power of 1 / (1 + |w|^2)",
        )
