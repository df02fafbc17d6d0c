"""How much do two variables depend on each other? Intervals for HSIC and for alignment."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..checks import check_fraction
from ..data import Data
from ..gram.base import Gram
from ..gram.plan import LEAN, Plan
from ..gram.tiles import TILE, run, slices
from ..kernels.base import Kernel
from .bank import not_finite
from .dependence import from_centred
from .interval import Curve, Interval, centred_squares
from .planned import planned
from .samples import from_mean
from .variables import Variables, is_constant, too_few_to_vary

_LEAST = 8  # observations
_LOST = 3  # degrees of freedom that a variance along an estimated direction has lost
_FLAT = 1e-12  # of products of kernel values: a variance whose root is below is rounding


@planned
def hsic_interval(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    confidence: float = 0.95,
    plan: Plan | None = None,
) -> Interval:
    r"""HSIC with a confidence interval.

    HSIC is the squared norm of the mean of :math:`u = (\phi(x) - \mu_X) \otimes (\psi(y) - \mu_Y)`,
    and the interval that of :func:`mmd_interval` for such a norm: it holds all values that are not
    rejected by the unbiased estimate, whose error has a normal part with a variance proportional
    to HSIC, and a skewed one that is left where variables are independent.

    With 50 or more observations, 95 % intervals cover the true value in 92 to 97 % of cases (300
    normal samples each, with correlations from 0 to 0.95); with 20 observations, in 90 % or more.

    Parameters
    ----------
    X, Y, kernel_x, kernel_y, plan
        As for :func:`hsic`.
    confidence : float
        The probability with which the interval covers.

    Returns
    -------
    Interval
        ``value`` (the unbiased estimate, which may be negative), ``error``, ``low`` and ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, hsic_interval
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 300))
    >>> found = hsic_interval(x, 0.6 * x + 0.8 * e, Gaussian(1.0), Gaussian(1.0))
    >>> found.low < 0.0166 < found.high  # the true value
    True

    References
    ----------
    Gretton, Fukumizu, Teo, Song, Schölkopf & Smola, *A kernel statistical test of independence*,
    NIPS 2007 (both limits).
    """
    found = _measured(X, Y, kernel_x, kernel_y, confidence, plan)
    if isinstance(found, Interval):
        return found
    cross, unit, n = found.cross, found.unit, found.n
    return _curve(cross, cross.rows / n, 1.0, n).interval(confidence, unit)


@planned
def cka_interval(
    X: Data,
    Y: Data,
    kernel_x: Any = None,
    kernel_y: Any = None,
    *,
    confidence: float = 0.95,
    plan: Plan | None = None,
) -> Interval:
    r"""Centred kernel alignment, from unbiased estimates, with a confidence interval.

    .. math:: \frac{\mathrm{HSIC}(X, Y)}{\sqrt{\mathrm{HSIC}(X, X)\, \mathrm{HSIC}(Y, Y)}}

    The interval is that of :func:`hsic_interval` for the ratio: its normal part has the influence
    of each observation on numerator and denominator.

    Parameters
    ----------
    X, Y, kernel_x, kernel_y, confidence, plan
        As for :func:`hsic_interval`.

    Returns
    -------
    Interval
        ``value``, the estimate of :func:`cka` with ``biased=False``, ``error``, ``low``, ``high``.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, cka_interval
    >>> rng = np.random.default_rng(0)
    >>> x, e = rng.normal(size=(2, 300))
    >>> found = cka_interval(x, 0.6 * x + 0.8 * e, Linear(), Linear())
    >>> found.low < 0.6**2 < found.high  # the squared correlation
    True

    References
    ----------
    Cortes, Mohri & Rostamizadeh, *Algorithms for learning kernels based on centered alignment*,
    JMLR 2012.
    """
    found = _measured(X, Y, kernel_x, kernel_y, confidence, plan)
    if isinstance(found, Interval):
        raise ValueError("a variable is constant for its kernel: alignment is not defined.")
    n = found.n
    sizes = [_unbiased(part, n) for part in (found.own_x, found.own_y)]
    if min(sizes) <= 0:
        raise too_few_to_vary(n)
    scale = 1 / float(np.sqrt(sizes[0] * sizes[1]))
    value = _unbiased(found.cross, n) * scale
    influence = found.cross.rows / n * scale
    for part, size in zip((found.own_x, found.own_y), sizes, strict=True):
        influence = influence - value / 2 * part.rows / n / size
    curve = _curve(found.cross, influence, scale, n)
    curve.degenerate *= max(1 - min(max(value, 0.0), 1.0) ** 2, _FLAT)
    low_to_high = curve.interval(confidence)
    return Interval(*low_to_high[:2], min(low_to_high.low, 1.0), min(low_to_high.high, 1.0))


class _Products(NamedTuple):
    """Of the products M_ij of two centred matrices: sums of rows, of squares, the diagonal."""

    rows: np.ndarray
    squares: float
    diag: np.ndarray
    traces: float


class _Measured(NamedTuple):
    cross: _Products
    own_x: _Products
    own_y: _Products
    unit: float
    n: int


def _measured(
    X: Data, Y: Data, kernel_x: Any, kernel_y: Any, confidence: float, plan: Plan | None
) -> _Measured | Interval:
    """Products of centred matrices in units of their size; zeros where a variable is constant."""
    check_fraction("confidence", confidence)
    pair = Variables(X, Y, least=_LEAST)
    kernels = pair.kernels([kernel_x, kernel_y])
    if any(is_constant(k, V) for k, V in zip(kernels, pair.data, strict=True)):
        return Interval(0.0, 0.0, 0.0, 0.0)
    return measured(pair, kernels, plan)


def measured(pair: Variables, kernels: list[Kernel], plan: Plan | None = None) -> _Measured:
    """Products of the centred matrices of two variables, and of each with itself."""
    moved = [from_mean(k, V) for k, V in zip(kernels, pair.data, strict=True)]
    K, L = (k.gram(V, plan or LEAN).center() for k, V in moved)
    units = [float(np.abs(gram.diag()).max()) for gram in (K, L)]
    for unit, kernel in zip(units, kernels, strict=True):
        if not np.isfinite(unit):
            raise not_finite(repr(kernel))
    parts = [_products(A, B, u, v) for A, u, B, v in (
        (K, units[0], L, units[1]), (K, units[0], K, units[0]), (L, units[1], L, units[1]),
    )]  # fmt: skip
    return _Measured(parts[0], parts[1], parts[2], units[0] * units[1], pair.n)


def _products(K: Gram, L: Gram, u: float, v: float) -> _Products:
    n = len(K)
    strips = slices(n, TILE)
    rows, squares = np.zeros((len(strips), n)), np.zeros(len(strips))

    def job(i: int) -> None:
        for cols in strips:
            M = K.block(strips[i], cols).astype(np.float64) / u
            M *= M if L is K else L.block(strips[i], cols) / v
            rows[i, cols] = M.sum(axis=0)
            squares[i] += float(np.vdot(M, M))

    run(job, range(len(strips)))
    a, b = (np.asarray(gram.diag(), dtype=np.float64) / w for gram, w in ((K, u), (L, v)))
    return _Products(rows.sum(axis=0), float(squares.sum()), a * b, float(a.sum() * b.sum()))


def _unbiased(part: _Products, n: int) -> float:
    return float(from_centred(part.rows.sum(), part.diag.sum(), part.traces, n, False))


def _curve(cross: _Products, influence: np.ndarray, scale: float, n: int) -> Curve:
    """The distribution of an estimate from the influence of observations, half of it."""
    own = cross.rows - cross.diag
    centred = centred_squares(cross.squares - float(np.sum(cross.diag**2)), own)
    degenerate = 2 * scale**2 * centred / (n * (n - 1) * n * (n - 3))
    value, biased = _unbiased(cross, n) * scale, float(cross.rows.sum()) / n**2 * scale
    floor = (_FLAT * scale) ** 2
    bias = max(float(cross.diag.mean()) * scale - biased, 0.0) / n  # of the norm of a mean
    along = float(np.var(influence)) / (n - _LOST) / max(biased, np.sqrt(floor))
    return Curve(value, bias, max(degenerate, floor), min(along, bias) if scale == 1.0 else along)


class Variances(NamedTuple):
    """The variances of estimates of HSIC, from a pilot study.

    Attributes
    ----------
    curve : Curve
        Their distribution, in units of the product of the largest centred kernel values.
    traces, squares : float
        Of both covariance operators: the product of traces, and of squared norms.
    """

    curve: Curve
    traces: float
    squares: float


def variances_of(found: _Measured) -> Variances:
    """The distribution of estimates of HSIC, in general and for independent variables."""
    n = found.n
    norms = [max(_unbiased(part, n), 0.0) for part in (found.own_x, found.own_y)]
    traces = found.cross.traces / (n - 1) ** 2
    return Variances(_curve(found.cross, found.cross.rows / n, 1.0, n), traces, norms[0] * norms[1])
