"""The Matérn function of any order, and its slope, by Bessel functions."""

from __future__ import annotations

import numpy as np

_ZERO = 1e-12  # closer to 0 the function is taken to be 1, and flat
_FAR = 1e4  # the function is 0, but scaled Bessel functions are NaN beyond


def matern(R: np.ndarray, nu: float) -> np.ndarray:
    """2^(1-nu) / Gamma(nu) R^nu K_nu(R), through logarithms so that nothing overflows."""
    log = _log_constant(nu) + _log_bessel(R, nu, nu)
    return np.where(R < _ZERO, 1.0, np.exp(np.minimum(log, 0))).astype(R.dtype, copy=False)


def matern_slope(R2: np.ndarray, nu: float) -> np.ndarray:
    """The derivative of the Matérn kernel by r^2 for nu <= 1; 0 at r = 0, where it is infinite.

    With R = sqrt(2 nu) r it is -nu 2^(1-nu) / Gamma(nu) R^(nu-1) K_(1-nu)(R).
    """
    R = np.sqrt(2 * nu * np.asarray(R2, dtype=np.float64))
    zero = R < _ZERO
    R[zero] = 1
    if nu == 0.5:
        slope = -np.exp(-R) / (2 * R)
    else:
        slope = -nu * np.exp(_log_constant(nu) + _log_bessel(R, nu - 1, 1 - nu))
    slope[zero] = 0
    return slope


def _log_constant(nu: float) -> float:
    """log of 2^(1-nu) / Gamma(nu)."""
    from scipy.special import gammaln

    return float((1 - nu) * np.log(2) - gammaln(nu))


def _log_bessel(R: np.ndarray, power: float, order: float) -> np.ndarray:
    """log of R^power K_order(R)."""
    from scipy.special import kve

    R = np.minimum(R.astype(np.float64), _FAR)
    with np.errstate(divide="ignore", invalid="ignore"):
        return power * np.log(R) - R + np.log(kve(order, R))
