"""Hilbertian metrics on histograms: Hellinger, chi^2, Jensen-Shannon, total variation and between.

All of them are sums over the bins of one function of two numbers, d^2(x, y), which is homogeneous:
d^2(x, y) = max(x, y) h(min / max), with h(0) = 1 and h(1) = 0. Bins in which one histogram is empty
add the content of the other, so that those of sparse histograms are never visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from ...checks import check_choice
from ...data import Data
from ...params import parameter
from ..algebra.negative import Negative
from ..base import Tile
from ..calculus.facts import Fact, no, yes
from ..vectors.base import check_widths
from ..vectors.distances import SquaredDistances
from .histograms import histograms
from .kind import HISTOGRAMS

_NUMBERS = 2**13  # of an array that stays in cache between two passes over it
_NAMES = {
    "hellinger": (1.0, 0.5),
    "chi2": (1.0, -1.0),
    "jensen-shannon": (1.0, 1.0),
    "total variation": (inf, 1.0),
}
_NEAR = 1.01  # ratio of exponents below which the difference of their means is mostly rounding
_TINY = 1e-300  # so that empty bins have logarithms and inverses
Bins = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (n, bins), (m, bins) -> (n, m)


def _alpha(value: Any) -> str | None:
    return None if _is_real(value) and value >= 1 else "a number >= 1, or inf"


def _beta(value: Any) -> str | None:
    fine = _is_real(value) and (value >= 0.5 or value <= -1)
    return None if fine else "a number >= 1/2 (and at most alpha), or <= -1, or -inf"


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not np.isnan(float(value))


@dataclass(eq=False, repr=False)
class HilbertianMetric(Negative):
    r"""The two-parameter family of Hilbertian metrics on histograms, as squared distances.

    .. math:: d^2_{\alpha|\beta}(P, Q) = \sum_i
        \frac{M_\alpha(p_i, q_i) - M_\beta(p_i, q_i)}{M_\alpha(1, 0) - M_\beta(1, 0)}, \qquad
        M_\gamma(x, y) = \left( \frac{x^\gamma + y^\gamma}2 \right)^{1/\gamma}

    with alpha >= 1 and beta in [1/2, alpha] or beta <= -1; for infinite exponents, power means are
    the maximum and the minimum; for alpha = beta, d^2 is the limit. Two distributions have d^2 = 2
    if and only if they have no bin in common. For beta > 0 this is as defined by Hein and Bousquet;
    for beta < 0 theirs is smaller by the factor 2^(1/beta) / (2^(1/alpha) - 2^(1/beta)), 1/3 for
    chi^2.

    =====================  ===========  ================================  =========================
    ``from_name``          alpha, beta  d^2                               ``Induced`` kernel
    =====================  ===========  ================================  =========================
    ``"hellinger"``        1, 1/2       sum (sqrt p - sqrt q)^2           sum sqrt(p q)
    ``"chi2"``             1, -1        sum (p - q)^2 / (p + q)           sum 2 p q / (p + q)
    ``"jensen-shannon"``   1, 1         twice the divergence, in bits
    ``"total variation"``  inf, 1       sum abs(p - q)                    sum min(p, q)
    =====================  ===========  ================================  =========================

    Samples are rows of numbers >= 0, dense or sparse; they need not sum to 1. It defines two
    kernels: ``Schoenberg(metric, t)`` is exp(-t d^2), ``Induced(metric)`` the one whose distance it
    is.

    Parameters
    ----------
    alpha, beta : float
        The exponents. Those of the table have fast formulas; others need four powers per bin.

    Examples
    --------
    >>> from mercer import HilbertianMetric
    >>> HilbertianMetric.from_name("chi2")
    HilbertianMetric()
    >>> P = [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
    >>> HilbertianMetric()(P).round(4)
    array([[0.    , 0.6667, 2.    ],
           [0.6667, 0.    , 2.    ],
           [2.    , 2.    , 0.    ]])

    References
    ----------
    Hein & Bousquet, *Hilbertian metrics and positive definite kernels on probability measures*,
    AISTATS 2005; Topsøe, *Jensen-Shannon divergence and norm-based measures of discrimination and
    variation*, 2003; Fuglede, *Spirals in Hilbert space*, 2005.
    """

    alpha: float = parameter(1.0, check=_alpha)
    beta: float = parameter(-1.0, check=_beta)
    because = "the square of a Hilbertian metric (Fuglede; Hein & Bousquet)"
    domain = HISTOGRAMS
    separates = yes("power means of different exponents differ wherever x != y")

    @classmethod
    def from_name(cls, name: str) -> HilbertianMetric:
        """One of ``"hellinger"``, ``"chi2"``, ``"jensen-shannon"``, ``"total variation"``."""
        return cls(*_NAMES[check_choice("HilbertianMetric: name", name, _NAMES)])

    def prepare(self, X: Data) -> Any:
        if self.beta > self.alpha:
            raise ValueError(
                f"HilbertianMetric: beta must be at most alpha, got alpha={self.alpha:g}, "
                f"beta={self.beta:g}."
            )
        return histograms(X, type(self).__name__)

    def tiles(self, X: Any, Y: Any) -> Tile:
        check_widths(X, Y)
        if (self.alpha, self.beta) == _NAMES["hellinger"]:
            A, B = (Z.sqrt() if sp.issparse(Z) else np.sqrt(Z) for Z in (X, Y))
            return SquaredDistances(A, B, exact=True)
        bins = self._bins()
        if sp.issparse(X):
            return lambda rows, cols: _sparse(bins, X[rows], Y[cols])
        return lambda rows, cols: _dense(bins, X[rows], Y[cols])

    def origin(self, X: Any) -> Any:
        zero = np.zeros((1, X.shape[1]), dtype=X.dtype)
        return sp.csr_matrix(zero) if sp.issparse(X) else zero

    def _bins(self) -> Bins:
        a, b = float(self.alpha), float(self.beta)
        if (a, b) == _NAMES["chi2"]:
            return _chi2
        if (a == inf and b == 1) or (a in (1.0, inf) and b == -inf):
            return _taxicab
        if (a, b) == (1.0, 1.0):
            return _jensen_shannon
        return lambda X, Y: _general(X, Y, a, b)

    @property
    def continuous(self) -> Fact:
        if self.alpha == self.beta == inf:
            return no("max(x, y) for x != y, but 0 for x = y")
        return yes("a sum of continuous functions")


# ---- blocks --------------------------------------------------------------------------------
def _dense(bins: Bins, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Row by row, with as many rows of Y as fit in cache."""
    from ...gram.tiles import check_cancelled

    out = np.empty((len(X), len(Y)), X.dtype)
    step = max(1, _NUMBERS // Y.shape[1])
    for start in range(0, len(Y), step):
        check_cancelled()
        part = slice(start, start + step)
        out[:, part] = bins(*(Z.astype(np.float64, copy=False) for Z in (X, Y[part])))
    return np.maximum(out, 0, out=out)


def _sparse(bins: Bins, X: Any, Y: Any) -> np.ndarray:
    """In bins that x does not fill, d^2 is the content of y: its mass less that in others."""
    from ...gram.tiles import check_cancelled

    out = np.empty((X.shape[0], Y.shape[0]), X.dtype)
    columns, mass = Y.tocsc().astype(np.float64), np.asarray(Y.sum(axis=1), dtype=float).ravel()
    for i in range(X.shape[0]):
        check_cancelled()
        filled = slice(X.indptr[i], X.indptr[i + 1])
        inside = columns[:, X.indices[filled]].toarray()
        x = X.data[None, filled].astype(np.float64)
        out[i] = mass - inside.sum(axis=1) + bins(x, inside)[0]
    return np.maximum(out, 0, out=out)


def _chi2(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """By (x - y)^2 / (x + y) = x + y - 4 x y / (x + y)."""
    out, work = np.add.outer(X.sum(axis=1), Y.sum(axis=1)), np.empty_like(Y)
    for i, x in enumerate(X):
        np.add(Y, x + _TINY, out=work)
        np.divide(Y, work, out=work)
        out[i] -= 4 * (work @ x)
    return out


def _taxicab(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return cdist(X, Y, "cityblock") if X.shape[1] else np.zeros((len(X), len(Y)))


def _jensen_shannon(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """x log(2 x / s) + y log(2 y / s) = x log 2x + y log 2y - s log s, with s = x + y."""
    own = [np.einsum("ij,ij->i", Z, np.log(2 * Z + _TINY)) for Z in (X, Y)]
    out, work, total = np.add.outer(*own), np.empty_like(Y), np.empty_like(Y)
    for i, x in enumerate(X):
        np.add(Y, x + _TINY, out=total)
        np.log(total, out=work)
        out[i] -= np.einsum("ij,ij->i", total, work)
    return out / np.log(2)


def _general(X: np.ndarray, Y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """Any exponents."""
    return np.stack([_squares(x, Y, alpha, beta).sum(axis=1) for x in X])


def _squares(x: np.ndarray, Y: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """d^2 bin by bin."""
    high, low = np.maximum(x, Y), np.minimum(x, Y)
    q = low / np.where(high > 0, high, 1)
    if beta > 0 and (alpha == beta or alpha / beta < _NEAR):
        return high * _between(q, alpha, beta)
    spread = _lone(alpha) - _lone(beta)
    return high * (_mean(q, alpha) - _mean(q, beta)) / spread


def _mean(q: np.ndarray, g: float) -> np.ndarray:
    """The power mean of 1 and q, for 0 <= q <= 1."""
    if abs(g) == inf:
        return np.ones_like(q) if g > 0 else q
    if g == 1:
        return (1 + q) / 2
    if g < 0:  # with the larger of both powers taken out, which is q^g
        return q * ((1 + q**-g) / 2) ** (1 / g)
    return ((1 + q**g) / 2) ** (1 / g)


def _lone(g: float) -> float:
    """The power mean of 1 and 0."""
    return float(2 ** (-1 / g)) if g > 0 else 0.0


def _between(q: np.ndarray, alpha: float, beta: float) -> np.ndarray:
    """d^2 of 1 and q where exponents are equal, or so near to each other that their means cancel.

    As a function of u = 1 / g, the difference of two means is the integral of their slopes, so that
    d^2 is the average of the limits at all g between beta and alpha, with weights 2^(-u).
    """
    if alpha == beta:
        return _limit(q, alpha)
    nodes, weights = np.polynomial.legendre.leggauss(4)
    u = (1 / alpha + 1 / beta) / 2 + nodes * (1 / beta - 1 / alpha) / 2
    weights = weights * 2**-u
    each = (w * _limit(q, 1 / v) for w, v in zip(weights, u, strict=True))
    return np.asarray(sum(each) / weights.sum())


def _limit(q: np.ndarray, g: float) -> np.ndarray:
    """d^2 of 1 and q for beta = alpha = g.

    (1 + q^g)^(1/g), times 1 less the entropy of the shares of q^g and 1, in bits.
    """
    if g == inf:
        return (q < 1).astype(np.float64)
    p = q**g
    share = p / (1 + p)
    entropy = np.log1p(p) - share * np.log(np.where(p > 0, p, 1))
    return (1 + p) ** (1 / g) * (1 - entropy / np.log(2))
