"""Functions on the circle by their Fourier coefficients, and the RKHS of a kernel on the circle.

A real function of period T is f(x) = sum_l fhat_l exp(i l w x) with w = 2 pi / T and
fhat_{-l} = conj(fhat_l), so only l = 0, ..., L is stored. A stationary kernel has coefficients
khat_l >= 0, and the inner product of its space divides by them:

    <f, g>_L2 = (1/T) int_0^T f g = sum_l fhat_l conj(ghat_l)
    <f, g>_H  = sum_l fhat_l conj(ghat_l) / khat_l

so a function whose coefficients do not decay faster than those of the kernel has no finite norm.
"""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from ..checks import check_count
from ..kernels.vectors.circle import Circular
from ..kernels.vectors.periodic import Fourier
from .vector import Vector

_TURN = 2 * np.pi
_MOST_TERMS = 2**20


class FourierFunction(Vector):
    """A real function on the circle: a trigonometric polynomial.

    Supports ``f(x)``, ``f + g``, ``f - g``, ``c * f``, ``f / c`` and ``-f``.

    Parameters
    ----------
    coef : array of complex
        fhat_0 (real), fhat_1, ..., fhat_L of f(x) = sum_{|l| <= L} fhat_l exp(i l w x).
    period : float
        The period T; w = 2 pi / T.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import FourierFunction
    >>> f = FourierFunction([1, 0.5, -0.25j])
    >>> f
    1 + cos(x) + 0.5 sin(2 x)
    >>> round(f(np.pi / 4), 4)
    2.2071
    >>> f.derivative()
    -sin(x) + cos(2 x)

    References
    ----------
    Katznelson, *An Introduction to Harmonic Analysis*, 2004, chapter I.
    """

    __array_ufunc__ = None  # numpy numbers times a function leave the product to the function

    def __init__(self, coef: Any, period: float = _TURN) -> None:
        self.coef = np.array(coef, dtype=complex)
        if self.coef.ndim != 1 or not self.coef.size or not np.all(np.isfinite(self.coef)):
            raise ValueError(
                "FourierFunction: coef must be a list of finite numbers fhat_0, ..., fhat_L."
            )
        if abs(self.coef[0].imag) > 1e-12 * np.abs(self.coef).max():
            raise ValueError(
                f"FourierFunction: coef[0] = {self.coef[0]:g} is the mean of a real function and "
                f"must be real."
            )
        self.coef[0] = self.coef[0].real
        if not (np.isfinite(period) and period > 0):
            raise ValueError(f"FourierFunction: period must be positive, got {period!r}.")
        self.period = float(period)

    @classmethod
    def from_function(
        cls, function: Callable[[np.ndarray], Any], L: int, period: float = _TURN
    ) -> FourierFunction:
        """The coefficients up to L of a function of an array of points, by the FFT.

        Exact to rounding where the function has no coefficients beyond 63 L; a jump in it leaves an
        error of a percent or two in the last ones.
        """
        n = max(4096, 64 * (check_count("L", L, 0) + 1))
        values = np.broadcast_to(np.asarray(function(np.arange(n) * (period / n)), float), (n,))
        return cls(np.fft.rfft(values)[: L + 1] / n, period)

    @property
    def degree(self) -> int:
        """The highest frequency stored, L."""
        return len(self.coef) - 1

    def __call__(self, x: Any) -> Any:
        """f at a number or, entry by entry, at an array."""
        x = np.asarray(x, dtype=float)
        turn = np.remainder(x, self.period) / self.period
        doubled = np.concatenate([self.coef[:1], 2 * self.coef[1:]])
        values = np.polynomial.polynomial.polyval(np.exp(1j * _TURN * turn), doubled).real
        return values if x.ndim else float(values)

    # ---- algebra -------------------------------------------------------------------------
    def __add__(self, other: Any) -> FourierFunction:
        if isinstance(other, Real):
            other = FourierFunction([complex(other)], self.period)
        if not isinstance(other, FourierFunction):
            return NotImplemented
        a, b = _aligned(self, other)
        return FourierFunction(a + b, self.period)

    __radd__ = __add__

    def _times(self, factor: float) -> FourierFunction:
        return FourierFunction(self.coef * factor, self.period)

    def derivative(self, order: int = 1) -> FourierFunction:
        """The derivative: fhat_l times (i l w)^order."""
        l = np.arange(len(self.coef))
        return FourierFunction(self.coef * (1j * l * _TURN / self.period) ** order, self.period)

    def shift(self, x0: float) -> FourierFunction:
        """The function f(x - x0): fhat_l times exp(-i l w x0)."""
        return FourierFunction(
            self.coef * _phase(np.arange(len(self.coef)), x0, self.period), self.period
        )

    # ---- L2 ------------------------------------------------------------------------------
    def inner(self, other: FourierFunction) -> float:
        """<f, g> in L2, (1/T) times the integral of f g over a period."""
        a, b = _aligned(self, other)
        return _dot(a, b)

    def norm(self) -> float:
        """The norm in L2: the root mean square over a period."""
        return float(np.sqrt(self.inner(self)))

    def __repr__(self) -> str:
        terms = [(self.coef[0].real, "")]
        for l, c in enumerate(self.coef[1:], start=1):
            rate = f"{l * _TURN / self.period:.4g}"
            wave = "x" if rate == "1" else f"{rate} x"
            terms += [(2 * c.real, f"cos({wave})"), (-2 * c.imag, f"sin({wave})")]
        size = max(abs(a) for a, _ in terms)
        seen = [(a, wave) for a, wave in terms if abs(a) > 1e-14 * size]
        shown = "".join(_term(a, wave) for a, wave in seen[:6]) or " + 0"
        more = f" + ... ({len(seen)} terms)" if len(seen) > 6 else ""
        return shown.removeprefix(" + ").replace(" - ", "-", shown.startswith(" - ")) + more


class FourierSpace:
    """The RKHS of a stationary kernel on the circle, with <f, g> = sum_l fhat conj(ghat) / khat.

    Parameters
    ----------
    kernel : Fourier, Theta or Periodic kernel, or list of float
        The kernel, or its coefficients khat_0, khat_1, ... >= 0.
    period : float, optional
        The period, if coefficients are given (2 pi by default); a kernel has its own.

    Examples
    --------
    >>> from mercer import FourierSpace, Theta, top_hat
    >>> H = FourierSpace(Theta(lengthscale=0.5))
    >>> f = H.feature(0.3)  # k(., 0.3)
    >>> g = H.feature(0.8)
    >>> print(round(H.inner(f, g), 6), round(f(0.8), 6))  # the reproducing property
    0.483941 0.483941
    >>> [f"{H.norm(top_hat(1.0, L)):.3g}" for L in (5, 10, 20)]  # not in the space: it diverges
    ['1.87', '33.8', '3.71e+09']

    References
    ----------
    Berlinet & Thomas-Agnan, *Reproducing Kernel Hilbert Spaces in Probability and Statistics*,
    2004, section 7.2.
    """

    def __init__(self, kernel: Any, period: float | None = None) -> None:
        if not isinstance(kernel, Circular):
            kernel = Fourier(kernel, _TURN if period is None else period)
        elif period is not None:
            raise ValueError(f"FourierSpace: {kernel!r} already has a period; omit period.")
        self.kernel: Circular = kernel
        self.period = float(kernel.period)

    def __repr__(self) -> str:
        return f"FourierSpace({self.kernel!r})"

    @property
    def degree(self) -> int:
        """The L beyond which every coefficient is below the rounding of the largest one."""
        L = 16
        while True:
            weights = self.kernel.fourier_coefficients(L)
            visible = np.flatnonzero(weights > np.finfo(float).eps * weights.max() / 4)
            last = int(visible[-1]) if visible.size else 0
            if last < L // 2 or L >= _MOST_TERMS:
                return last
            L *= 2

    def function(self, points: Any, weights: Any, L: int | None = None) -> FourierFunction:
        """sum_i weights_i k(., x_i), with coefficients up to L (by default all that matter)."""
        x, a = np.ravel(np.asarray(points, float)), np.ravel(np.asarray(weights, float))
        if x.shape != a.shape:
            raise ValueError(f"function: {len(x)} points need one weight each, got {len(a)}.")
        l = np.arange(check_count("L", self.degree if L is None else L, 0) + 1)
        coef = np.zeros(len(l), dtype=complex)
        for point, weight in zip(x, a, strict=True):
            coef += weight * _phase(l, point, self.period)
        return FourierFunction(coef * self.kernel.fourier_coefficients(int(l[-1])), self.period)

    def feature(self, x: float, L: int | None = None) -> FourierFunction:
        """The canonical feature k(., x)."""
        return self.function([x], [1.0], L)

    def inner(self, f: FourierFunction, g: FourierFunction) -> float:
        """<f, g> in the space; an error if f or g is not in it."""
        for h in (f, g):
            if self.norm(h) == np.inf:
                raise ValueError(
                    f"inner: {h!r} is not in {self!r}; the kernel has a zero Fourier coefficient "
                    f"where the function has none."
                )
        a, b = _aligned(f, g)
        return _dot(self._whitened(a), self._whitened(b))

    def norm(self, f: FourierFunction) -> float:
        """The norm in the space; infinite if fhat_l != 0 for some khat_l = 0."""
        _aligned(f, FourierFunction([0], self.period))
        a = self._whitened(f.coef)
        size = float(np.abs(a).max())  # taken out, for squares overflow long before the norm does
        return size * float(np.sqrt(_dot(a / size, a / size))) if 0 < size < np.inf else size

    def mmd(self, x: Any, y: Any, L: int | None = None) -> float:
        r"""The squared maximum mean discrepancy of two samples of angles, frequency by frequency.

        .. math:: \mathrm{MMD}^2 = \sum_l \hat k_l \left| \hat P_l - \hat Q_l \right|^2

        with the means of exp(-i l w x) over each sample: the biased estimate. Weights say which
        frequencies matter, and those of 0 what cannot be seen.
        """
        l = np.arange(check_count("L", self.degree if L is None else L, 0) + 1)
        sides = []
        for name, sample in (("x", x), ("y", y)):
            angles = np.ravel(np.asarray(sample, dtype=float))
            if not len(angles) or not np.all(np.isfinite(angles)):
                raise ValueError(f"mmd: {name} must be a sample of finite numbers.")
            mean = np.zeros(len(l), dtype=complex)
            for angle in angles:
                mean += _phase(l, angle, self.period) / len(angles)
            sides.append(mean)
        gaps = np.abs(sides[0] - sides[1]) ** 2 * self.kernel.fourier_coefficients(int(l[-1]))
        return float(gaps[0] + 2 * gaps[1:].sum())

    def __contains__(self, f: FourierFunction) -> bool:
        return bool(self.norm(f) < np.inf)

    def _whitened(self, coef: np.ndarray) -> np.ndarray:
        """fhat_l / sqrt(khat_l), with 0 / 0 = 0 and c / 0 = inf."""
        root = np.sqrt(self.kernel.fourier_coefficients(len(coef) - 1))
        scaled = np.divide(coef, root, out=np.zeros_like(coef), where=root > 0)
        scaled[(coef != 0) & (root == 0)] = np.inf
        return scaled


def top_hat(half_width: float, L: int = 20, period: float = _TURN) -> FourierFunction:
    """The top hat, 1 for |x| < half_width and 0 elsewhere, up to frequency L.

    fhat_0 + 2 sum_{l=1}^L fhat_l cos(l w x) with fhat_0 = w T / pi and fhat_l = sin(l w T) / (l pi)
    for the half width T: coefficients that decay like 1/l, too slowly for the space of any
    continuous kernel.

    Parameters
    ----------
    half_width : float
        T, between 0 and half the period.
    L : int
        The highest frequency kept.
    period : float
        The period.

    Examples
    --------
    >>> from mercer import top_hat
    >>> f = top_hat(1.0, L=200)
    >>> print(round(f(0.0), 2), round(f(3.0), 2))
    1.0 0.0
    """
    if not 0 < half_width <= period / 2:
        raise ValueError(
            f"top_hat: half_width must be positive and at most half the period, {period / 2:g}, "
            f"got {half_width!r}."
        )
    angle = half_width * _TURN / period
    l = np.arange(1, check_count("L", L, 0) + 1)
    return FourierFunction(
        np.concatenate([[angle / np.pi], np.sin(l * angle) / (l * np.pi)]), period
    )


# ---- helpers -------------------------------------------------------------------------------
def _aligned(f: FourierFunction, g: FourierFunction) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients of both, padded to the same length."""
    if not np.isclose(f.period, g.period, rtol=1e-12):
        raise ValueError(
            f"functions of different periods, {f.period:g} and {g.period:g}, cannot be combined."
        )
    size = max(len(f.coef), len(g.coef))
    a, b = (np.pad(h.coef, (0, size - len(h.coef))) for h in (f, g))
    return a, b


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    """sum over all l, negative ones included, of a_l conj(b_l), from those with l >= 0."""
    products = a.real * b.real + a.imag * b.imag
    return float(products[0] + 2 * products[1:].sum())


def _phase(l: np.ndarray, x: float, period: float) -> np.ndarray:
    """exp(-i l w x), with x reduced modulo the period first."""
    return np.exp(-1j * _TURN * l * (np.remainder(float(x), period) / period))


def _term(amplitude: float, wave: str) -> str:
    """One signed term of a sum, as printed."""
    sign = " - " if amplitude < 0 else " + "
    size = f"{abs(amplitude):.4g}"
    if not wave:
        return sign + size
    return sign + (wave if size == "1" else f"{size} {wave}")
