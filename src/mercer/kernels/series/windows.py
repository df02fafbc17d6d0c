"""Series through kernels on vectors: their windows, or all their values, time by time.

Rüping (*SVM kernels for time series analysis*, 2001) compares kernels on vectors of equal length,
which are used as they are (``Linear()`` on such vectors learns an autoregressive model,
``Gaussian()`` compares time by time), with a Fourier kernel, :class:`RegularizedFourier` below, and
with kernels on subsequences and from a hidden Markov model, which are in
``matching.py``. :class:`LagEmbedding` compares subsequences without gaps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...data import Data
from ...exceptions import DomainError
from ...params import integer, number, parameter
from ..algebra.constant import is_kernel
from ..base import Kernel
from ..calculus import properties as prop
from .kind import SERIES
from .ragged import Ragged, ragged, same_channels, segments

_WINDOWS = 1000  # that are compared with as many others at once


@dataclass(eq=False, repr=False)
class LagEmbedding(Kernel):
    r"""The mean of a kernel on vectors over all pairs of windows of two series.

    .. math:: k(x, y) = \frac{1}{M N} \sum_{s=1}^{M} \sum_{t=1}^{N}
              \kappa\big(x_{[s]}, y_{[t]}\big), \qquad
              x_{[s]} = (x_{1 + (s-1)h}, \dots, x_{w + (s-1)h})

    for windows of w points at a stride h: the inner product of the mean embeddings of the windows.
    It matters what happens, not when. At most 1000 windows of each series are held in memory at a
    time.

    Parameters
    ----------
    kernel : Kernel
        kappa, on vectors of w times the number of channels.
    window : int
        w, the number of points of a window. Shorter series are rejected.
    stride : int
        h, the number of points from one window to the next.

    Examples
    --------
    >>> from mercer import Gaussian, LagEmbedding
    >>> late, early, flat = [0, 0, 0, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0]
    >>> LagEmbedding(Gaussian(0.5), window=2)([late, early, flat]).round(3)
    array([[0.445, 0.445, 0.568],
           [0.445, 0.445, 0.568],
           [0.568, 0.568, 1.   ]])

    References
    ----------
    Rüping, *SVM kernels for time series analysis*, Technical Report 43, SFB 475, University of
    Dortmund 2001; Gärtner et al., *Multi-instance kernels*, ICML 2002 (means over sets).
    """

    kernel: Kernel = parameter(check=is_kernel)
    window: int = integer(low=1)
    stride: int = integer(1, low=1)
    because = "an inner product of mean embeddings of the windows"
    domain = SERIES

    def prepare(self, X: Data) -> Ragged:
        X = ragged(X, type(self).__name__)
        short = X.size < self.window
        if short.any():
            at = int(np.argmax(short))
            raise DomainError(
                f"LagEmbedding: sample {at} has {X.size[at]} points, fewer than "
                f"window={self.window}; use a smaller window or drop the sample."
            )
        return X

    def resolve(self, X: Data) -> Kernel:
        if not self.unresolved:
            return self
        P = self.prepare(X)
        places = self._places(P)[0]
        if len(places) > _WINDOWS:
            places = np.random.default_rng(0).choice(places, _WINDOWS, replace=False)
        return replace(self, kernel=self.kernel.resolve(self._vectors(P, places)))

    def pairwise(self, X: Ragged, Y: Ragged) -> np.ndarray:
        same_channels(X, Y)
        out = np.zeros((len(X), len(Y)))
        (xs, xn), (ys, yn) = self._places(X), self._places(Y)
        rows, cols = np.repeat(np.arange(len(X)), xn), np.repeat(np.arange(len(Y)), yn)
        for a in range(0, len(xs), _WINDOWS):
            left = self.kernel.prepare(self._vectors(X, xs[a : a + _WINDOWS]))
            i, i_at = np.unique(rows[a : a + _WINDOWS], return_index=True)
            for b in range(0, len(ys), _WINDOWS):
                right = self.kernel.prepare(self._vectors(Y, ys[b : b + _WINDOWS]))
                j, j_at = np.unique(cols[b : b + _WINDOWS], return_index=True)
                block = self.kernel.pairwise(left, right)
                by_row = np.add.reduceat(block, i_at, axis=0, dtype=np.float64)
                out[np.ix_(i, j)] += np.add.reduceat(by_row, j_at, axis=1)
        out /= xn[:, None]
        out /= yn[None, :]
        return out

    def grad_theta(self, X: Ragged, Y: Ragged, W: np.ndarray) -> np.ndarray:
        same_channels(X, Y)
        (xs, xn), (ys, yn) = self._places(X), self._places(Y)
        V, total = W / np.multiply.outer(xn, yn), np.zeros(len(self.theta))
        rows, cols = np.repeat(np.arange(len(X)), xn), np.repeat(np.arange(len(Y)), yn)
        for a in range(0, len(xs), _WINDOWS):
            left = self.kernel.prepare(self._vectors(X, xs[a : a + _WINDOWS]))
            for b in range(0, len(ys), _WINDOWS):
                right = self.kernel.prepare(self._vectors(Y, ys[b : b + _WINDOWS]))
                spread = V[np.ix_(rows[a : a + _WINDOWS], cols[b : b + _WINDOWS])]
                total += self.kernel.grad_theta(left, right, spread)
        return total

    def grad_theta_diag(self, X: Ragged, w: np.ndarray) -> np.ndarray:
        alone = (X[i : i + 1] for i in range(len(X)))
        parts = (self.grad_theta(x, x, np.full((1, 1), v)) for x, v in zip(alone, w, strict=True))
        return sum(parts, np.zeros(len(self.theta)))

    def diag(self, X: Ragged) -> np.ndarray:
        alone = (X[i : i + 1] for i in range(len(X)))
        return np.array([self.pairwise(x, x)[0, 0] for x in alone])

    def gains(self, X: Data, points: Data, coef: np.ndarray) -> list[np.ndarray]:
        """What each time of series adds to sum_i coef[i] k(points_i, .).

        What a window adds is divided among its points.
        """
        from ...gram.tiles import multiply

        P, Q = self.prepare(X), self.prepare(points)
        same_channels(P, Q)
        (xs, xn), (ys, yn) = self._places(P), self._places(Q)
        left, right = (self.kernel.prepare(self._vectors(Z, at)) for Z, at in ((P, xs), (Q, ys)))
        added = multiply(self.kernel, left, right, np.repeat(coef / yn, yn)[:, None])[:, 0]
        each = added / np.repeat(xn, xn) / self.window
        out = np.zeros(int(P.size.sum()))
        np.add.at(out, xs[:, None] + np.arange(self.window), each[:, None])
        return [out[at : at + size] for at, size in zip(P.start, P.size, strict=True)]

    def _places(self, X: Ragged) -> tuple[np.ndarray, np.ndarray]:
        """Where the windows begin, and how many there are in each series."""
        count = (X.size - self.window) // self.stride + 1
        number = segments(np.zeros_like(count), count)
        return np.repeat(X.start, count) + self.stride * number, count

    def _vectors(self, X: Ragged, places: np.ndarray) -> np.ndarray:
        points = X.values[places[:, None] + np.arange(self.window)]
        return np.asarray(points.reshape(len(places), -1))

    @property
    def properties(self) -> prop.Properties:
        inner = self.kernel.properties
        same = "constant series of different lengths have the same windows"
        facts: dict[str, Any] = {}
        if not inner.psd:
            facts["psd"] = prop.Fact(None, inner.psd.because)
        if inner.bounded:
            facts["bounded"] = prop.yes("a mean of values of a bounded kernel")
        if inner.continuous:
            facts["continuous"] = prop.yes("a mean of values of a continuous kernel")
        if inner.finite_dim:
            facts["finite_dim"] = prop.yes("features are means of those of the windows")
        return self._stated(
            **prop.blind(same),
            **facts,
        )


@dataclass(eq=False, repr=False)
class RegularizedFourier(Kernel):
    r"""Rüping's Fourier kernel for series of one length: a product over times and channels.

    .. math:: k(x, y) = \prod_t \frac{(1 - q)^2}{1 - 2 q \cos(x_t - y_t) + q^2}

    Each factor is the inner product of the Fourier features of two angles, those of frequency l
    with weight q^l, divided by its value at x = y. Rüping (after Vapnik) writes a factor with the
    numerator (1 - q^2) / 2. The two products differ by ((1 + q) / (2 (1 - q)))^(T d), which over-
    or underflows for long series. Values that differ by 2 pi are the same: scale the data so that
    they stay within one period.

    Parameters
    ----------
    q : float
        Between 0 and 1: how slowly the weights of frequencies decay; the larger it is, the narrower
        the kernel.

    Examples
    --------
    >>> from mercer import RegularizedFourier
    >>> RegularizedFourier(q=0.5)([[0.0, 0.5, 1.0], [0.0, 0.7, 0.8]]).round(4)
    array([[1.    , 0.8578],
           [0.8578, 1.    ]])

    References
    ----------
    Rüping, *SVM kernels for time series analysis*, Technical Report 43, SFB 475, University of
    Dortmund 2001; Vapnik, *Statistical Learning Theory*, 1998.
    """

    q: float = number(0.5, "a number between 0 and 1", lambda q: 0 < q < 1)
    because = "a product of kernels on the circle, whose Fourier coefficients q^|l| are positive"
    domain = SERIES

    def prepare(self, X: Data) -> np.ndarray:
        P = ragged(X, type(self).__name__)
        other = int(np.argmax(P.size != P.size[0]))
        _same_length(int(P.size[0]), int(P.size[other]), "samples 0 and " + str(other))
        return np.asarray(P.values.reshape(len(P), -1))

    def pairwise(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        _same_length(X.shape[1], Y.shape[1], "the two samples")
        q, out = float(self.q), np.ones((len(X), len(Y)))
        left, right = (np.stack([np.cos(Z), np.sin(Z)], axis=1) for Z in (X, Y))
        left *= 2 * q
        for t in range(X.shape[1]):
            product = left[:, :, t] @ right[:, :, t].T
            np.subtract(1 + q * q, product, out=product)
            out *= (1 - q) ** 2 / product
        return out

    def diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))

    @property
    def properties(self) -> prop.Properties:
        turn = "numbers that differ by 2 pi are the same"
        return self._stated(
            bounded=prop.yes("k(x, x) = 1"),
            continuous=prop.yes("a product of continuous functions"),
            **prop.blind(turn),
            positive_diag=prop.yes("k(x, x) = 1"),
        )


def _same_length(a: int, b: int, which: str) -> None:
    if a != b:
        raise DomainError(
            f"RegularizedFourier compares series time by time, but {which} have {a} and {b} "
            "numbers; use GlobalAlignment() for series of different lengths."
        )
