"""Weighted sums of chi-square variables: the limits of degenerate U- and V-statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

_SMALL = 1e-12  # of the largest weight: weights below are left out
_REACH = 1e-9  # modulus of the characteristic function at which the integral is cut off
_MOST_TERMS = 200_000
_BLOCK = 4_000_000  # entries of (frequencies x weights) held at once


class ChiSquareMixture:
    r"""The distribution of a weighted sum of independent chi-square variables.

    .. math:: T = \text{shift} + \sum_l w_l z_l^2, \qquad z_l \sim N(0, 1)

    The limit of n MMD^2 or n HSIC under the hypothesis, with weights from eigenvalues of centred
    kernel matrices. Weights may have any sign.

    Parameters
    ----------
    weights : array
        The weights w.
    shift : float
        A constant; minus the sum of the weights for U-statistics.

    Examples
    --------
    >>> from mercer.stats.mixtures import ChiSquareMixture
    >>> T = ChiSquareMixture([1.0, 1.0])
    >>> round(T.sf(4.0), 6)  # chi-square with two degrees of freedom: exp(-2)
    0.135335
    >>> T.mean, T.variance
    (2.0, 4.0)

    References
    ----------
    Imhof, *Computing the distribution of quadratic forms in normal variables*, Biometrika 48,
    1961; Davies, *Numerical inversion of a characteristic function*, Biometrika 60, 1973.
    """

    def __init__(self, weights: Any, shift: float = 0.0) -> None:
        w = np.asarray(weights, dtype=np.float64).ravel()
        if not len(w) or not np.all(np.isfinite(w)):
            raise ValueError("weights must be finite numbers, at least one.")
        self.weights = w[np.abs(w) > _SMALL * np.abs(w).max()]
        self.shift = float(shift)
        if not len(self.weights):
            raise ValueError("all weights are 0: are all samples equal in the eyes of the kernel?")

    @property
    def mean(self) -> float:
        """The expectation."""
        return float(self.weights.sum()) + self.shift

    @property
    def variance(self) -> float:
        """The variance."""
        return float(2 * np.sum(self.weights**2))

    @property
    def skewness(self) -> float:
        """The third standardised moment."""
        return float(8 * np.sum(self.weights**3) / self.variance**1.5)

    def rvs(self, size: int, rng: Any = None) -> np.ndarray:
        """Independent draws."""
        rng = np.random.default_rng(rng)
        total = np.full(size, self.shift)
        step = max(1, _BLOCK // size)
        for i in range(0, len(self.weights), step):
            w = self.weights[i : i + step]
            total += rng.chisquare(1, (size, len(w))) @ w
        return total

    def sf(self, x: Any) -> Any:
        """P(T > x), by inversion of the characteristic function; correct to about 1e-6.

        By the midpoint rule of step h, whose error is at most P(abs(T - x) > 2 pi / h).
        """
        x = np.asarray(x, dtype=np.float64)
        points = x.ravel() - self.shift
        spread = np.sqrt(self.variance)
        centre, largest = float(self.weights.sum()), float(np.abs(self.weights).max())
        reach = 12 * spread + 80 * largest + np.abs(points - centre).max(initial=0)
        h = 2 * np.pi / reach
        u = h * (np.arange(self._terms(h)) + 0.5)
        modulus, angle = self._polar(u)
        sums = [np.sin(angle - u * point) @ (modulus / u) for point in points]
        tail = 0.5 + np.array(sums) * h / np.pi
        out = np.clip(tail, 0.0, 1.0).reshape(x.shape)
        return float(out) if out.ndim == 0 else out

    def _terms(self, h: float) -> int:
        """How many frequencies until the characteristic function has died out."""
        terms = 64
        while terms < _MOST_TERMS and self._polar(np.array([h * terms]))[0][0] > _REACH * terms:
            terms *= 2
        return min(terms, _MOST_TERMS)

    def _polar(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Modulus and angle of the characteristic function prod (1 - 2iuw)^(-1/2)."""
        log_modulus, angle = np.zeros(len(u)), np.zeros(len(u))
        step = max(1, _BLOCK // len(self.weights))
        for i in range(0, len(u), step):
            part = slice(i, i + step)
            t = 2 * np.multiply.outer(u[part], self.weights)
            log_modulus[part] = -0.25 * np.log1p(t**2).sum(axis=1)
            angle[part] = 0.5 * np.arctan(t).sum(axis=1)
        return np.exp(log_modulus), angle
