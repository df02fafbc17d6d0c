r"""The second moments of a stream in the span of the kept samples, for online Newton steps.

The first m samples that are not copies of each other are kept. Functions f = sum_j c_j k(z_j, .)
of these take steps

.. math:: c \leftarrow c - \eta_t \, (A_t + \lambda_t K)^{-1} L'(y_t, f(x_t) + b)\, k(Z, x_t),
   \qquad A_t = \frac1t \sum_{s \le t} w_s k(Z, x_s) k(x_s, Z),

with K = k(Z, Z): stochastic steps with the kernel

.. math:: q(x, x') = k(x, Z) (A_t + \lambda_t K)^{-1} k(Z, x')

in place of k, in which functions that vary on many scales are equally easy to learn. With L the
Cholesky factor of K and C C' = L^-1 A L^-T + lambda, q(x, x') = <F(x), F(x')> with the features
F(x) = T^-1 k(Z, x) for the triangular T = L C.

A is a mean, which changes little from sample to sample. So C is recomputed when t has grown by
half, and from 4 m samples on only a quarter of them enter A. These also show how much of k(x, .)
lies outside the span of the kept samples. If that grows much, the older half of these is discarded.

References: Bordes, Bottou & Gallinari, *SGD-QN: careful quasi-Newton stochastic gradient descent*,
JMLR 2009; Hazan, Agarwal & Kale, *Logarithmic regret algorithms for online convex optimization*,
2007; Ruppert, *Efficient estimations from a slowly convergent Robbins-Monro process*, 1988
(averages of long steps).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..engine.routines import add_gram, call, solve_lower

ARRAYS = 9  # maximum number of matrices of kept samples, in double precision, at one time
_FLOOR = 1.0  # usual k(x, x): lambda times the number of samples is no less, as few tell little
_JITTER = (1e-7, 1e-5)  # of it, added to the diagonal of K, as copies of samples may be kept, and
# the more where values are in single precision
_GROWN = 1.5  # C is recomputed when t has grown by this factor
_ENOUGH, _EVERY = 4.0, 4  # the first 4 m samples all enter A, one in four later ones does
_LOOKS = 200.0  # minimum number of samples over which the missed share of features is averaged
_MISSED = 0.15  # by how much it may grow
_TILE = 96


class Span(NamedTuple):
    """How much of the features of samples lies outside the span of the kept ones.

    Attributes
    ----------
    looks : float
        The number of samples examined since the kept ones last changed.
    missed : float
        The share of |k(x, .)|^2 that is outside, averaged over the last of them.
    expected : float
        The same when the kept samples were new; -1 if it is not known yet.
    turned : bool
        Whether half of the kept samples was discarded, and ``missed`` has not recovered yet.
    """

    looks: float = 0.0
    missed: float = 0.0
    expected: float = -1.0
    turned: bool = False

    def after(self, missed: np.ndarray, window: float) -> Span:
        """The state after examining more samples."""
        looks = self.looks + len(missed)
        share = 1 - (1 - 1 / window) ** len(missed)
        share = max(share, len(missed) / looks)
        new = self._replace(looks=looks, missed=self.missed + share * (missed.mean() - self.missed))
        if looks < window:
            return new
        if self.expected < 0:
            return new._replace(expected=new.missed)
        return new if new.missed > self.expected + _MISSED else new._replace(turned=False)

    def outgrown(self, window: float) -> bool:
        """Have the samples moved away?"""
        known = self.expected >= 0 and self.looks >= window
        return known and self.missed > self.expected + _MISSED

    def begun(self) -> Span:
        """The state after the older half was discarded; twice in a row, ``expected`` is reset."""
        return Span(expected=-1.0 if self.turned else self.expected, turned=not self.turned)


@dataclass(frozen=True)
class Curvature:
    """Second moments of the samples so far, in the coordinates of the factor of K.

    Attributes
    ----------
    low, inner, whole : array of shape (m, m)
        L, C and T, stored by rows.
    seen : array of shape (m, m)
        On and below its diagonal: the sum of w F F' with F = L^-1 k(Z, x), without pending ones.
    waiting : tuple of arrays
        Pending rows sqrt(w) F', for the samples that were kept at the time.
    time, measured, made : float
        The weight of all samples so far; of those in A; and of all when C was computed.
    penalty : float
        lambda at that time.
    usual : float
        The mean of k(z, z).
    count : int
        The number of samples, or less, if they count less.
    span : Span
        How much of them lies outside the span of the kept ones.
    """

    low: np.ndarray
    inner: np.ndarray
    whole: np.ndarray
    seen: np.ndarray
    waiting: tuple[np.ndarray, ...] = ()
    time: float = 0.0
    measured: float = 0.0
    made: float = 0.0
    penalty: float = 1.0
    usual: float = 1.0
    count: int = 0
    span: Span = Span()

    @classmethod
    def empty(cls) -> Curvature:
        """The moments of no samples."""
        none = np.zeros((0, 0))
        return cls(none, none, none, none)

    @classmethod
    def restored(cls, told: np.ndarray, numbers: np.ndarray, gram: np.ndarray) -> Curvature:
        """From the output of :meth:`told`, and kernel values."""
        new = cls.empty().grown(gram, 0.0)
        inner = np.ascontiguousarray(np.triu(told[:, 1:]).T)
        time, measured, made, penalty, usual, count, looks, missed, expected, turned = map(
            float, numbers
        )
        return replace(
            new, inner=inner, whole=_lower_product(new.low, inner), seen=np.tril(told[:, :-1]),
            time=time, measured=measured, made=made, penalty=penalty, usual=usual,
            count=int(count), span=Span(looks, missed, expected, bool(turned)),
        )  # fmt: skip

    def told(self) -> tuple[np.ndarray, np.ndarray]:
        """The sums of all samples so far, with C' above the diagonal, and the numbers."""
        table = np.zeros((len(self), len(self) + 1))
        table[:, :-1] = self._summed()
        table[:, 1:] += self.inner.T
        numbers = np.array(
            [self.time, self.measured, self.made, self.penalty, self.usual, self.count, *self.span]
        )
        return table, numbers

    def __len__(self) -> int:
        return len(self.low)

    def grown(self, cross: np.ndarray, weight: float) -> Curvature:
        """With more samples kept.

        Parameters
        ----------
        cross : array of shape (more, m + more)
            Their kernel values with the kept samples, and with each other.
        weight : float
            Their average weight.
        """
        m, more = len(self), len(cross)
        diag = cross[:, m:].diagonal().astype(np.float64)
        usual = (self.usual * m + float(diag.sum())) / (m + more) or 1.0
        side = solve_lower(self.low, cross[:, :m].T).T
        low = _factor(cross[:, m:] - side @ side.T, usual)
        # their own directions, as if uncorrelated with others until C is recomputed
        lengths = weight * np.einsum("ij,ij->i", low, low) / max(self.time, weight, 1e-300)
        inner = np.sqrt(lengths + self.penalty)
        return replace(
            self,
            low=_bordered(self.low, side, low),
            inner=_bordered(self.inner, np.zeros((more, m)), np.diag(inner)),
            whole=_bordered(self.whole, side @ self.inner, low * inner),
            usual=usual,
        )

    def later(
        self, cross: np.ndarray, weights: np.ndarray, diag: np.ndarray, known: bool = False
    ) -> Curvature:
        """The moments after a block of samples; ``known`` samples are among the kept ones."""
        total = float(weights.sum())
        new = replace(self, time=self.time + total, count=self.count + len(weights))
        if not known and self.count >= _ENOUGH * len(self):
            rows = slice(-self.count % _EVERY, None, _EVERY)
            cross, weights, diag = cross[rows], weights[rows], diag[rows]
        if not len(weights):
            return new
        F = solve_lower(self.low, cross.T).T
        waiting = (*self.waiting, F * np.sqrt(weights)[:, None])
        new = replace(new, measured=self.measured + float(weights.sum()), waiting=waiting)
        if not known:
            inside = np.einsum("ij,ij->i", F, F) / np.where(diag > 0, diag, np.inf)
            missed = np.where(diag > 0, 1 - np.minimum(inside, 1), 0.0)
            new = replace(new, span=self.span.after(missed, self._window()))
        if 2 * sum(map(len, waiting)) < len(self):
            return new
        return replace(new, seen=new._summed(), waiting=())

    def _window(self) -> float:
        return max(len(self) / _EVERY, _LOOKS)

    def outgrown(self) -> bool:
        """Have the samples moved away, so that others should be kept?"""
        return len(self) > 1 and self.span.outgrown(self._window())

    def halved(
        self, functions: list[np.ndarray], alpha: float
    ) -> tuple[Curvature, list[np.ndarray]]:
        """Discard the older half of the samples, and project functions onto the span of the rest.

        Functions are given and returned by their coefficients on F.
        """
        rest = self.low[len(self) // 2 :]
        low = _factor(rest @ rest.T, self.usual)
        M = solve_lower(low, rest)  # from one orthonormal basis to the other
        seen = self._summed()
        half = M @ seen @ M.T  # of what is on and below the diagonal
        seen = np.tril(half + half.T - (M * seen.diagonal()) @ M.T)
        few = min(1.0, len(self) / self.count)  # what is new should soon count
        new = replace(
            self, low=low, seen=few * seen, waiting=(), count=int(few * self.count),
            time=few * self.time, measured=few * self.measured, span=self.span.begun(),
        ).remade(alpha)  # fmt: skip
        inner = [solve_lower(self.inner, f.T, transposed=True).T for f in functions]
        return new, [f @ M.T @ new.inner for f in inner]

    def due(self) -> bool:
        """Is C outdated?"""
        return self.time >= _GROWN * self.made

    def remade(self, alpha: float) -> Curvature:
        """Recompute C from all samples so far."""
        seen = self._summed()
        penalty = alpha + _FLOOR * self.usual / max(self.count, 1)
        inner = seen / self.measured
        inner.flat[:: len(self) + 1] += penalty
        if len(self) and call("potrf", "U", len(self), inner, len(self)):
            raise IndefiniteError()
        return replace(
            self, inner=inner, whole=_lower_product(self.low, inner), seen=seen, waiting=(),
            made=self.time, penalty=penalty,
        )  # fmt: skip

    def _summed(self) -> np.ndarray:
        m, k = len(self), len(self.seen)
        if not self.waiting and m == k:
            return self.seen
        seen = np.zeros((m, m))
        seen[:k, :k] = self.seen
        for rows in self.waiting:
            k = rows.shape[1]
            add_gram(seen[:k, :k], rows)
        return seen

    def features(self, cross: np.ndarray) -> np.ndarray:
        """F of samples, one row each, from their kernel values."""
        return solve_lower(self.whole, cross.T).T

    def coordinates(self, coef: np.ndarray) -> np.ndarray:
        """Coefficients on F of functions whose coefficients c are given, one row each."""
        return coef @ self.whole[: coef.shape[1]]

    def coefficients(self, on_features: np.ndarray) -> np.ndarray:
        """c of functions by their coefficients on F."""
        return solve_lower(self.whole, on_features.T, transposed=True).T

    def carried(self, on_features: np.ndarray, before: Curvature) -> np.ndarray:
        """The same functions by coefficients on the new F."""
        return solve_lower(before.inner, on_features.T, transposed=True).T @ self.inner

    def shrunk(self, on_features: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Functions after steps of the penalty: along its slope, never beyond its minimum."""
        steps = np.repeat(steps / (1 + steps / self.penalty), len(on_features) // len(steps))
        slope = solve_lower(self.inner, on_features.T, transposed=True)
        return np.asarray(on_features - steps[:, None] * solve_lower(self.inner, slope).T)


class IndefiniteError(ValueError):
    """Kernel values that are not positive semi-definite."""

    def __init__(self) -> None:
        super().__init__(
            "update='newton' needs a kernel that is positive semi-definite; use 'implicit'."
        )


def _factor(gram: np.ndarray, usual: float) -> np.ndarray:
    for jitter in _JITTER:
        try:
            return np.linalg.cholesky(gram + jitter * usual * np.eye(len(gram)))
        except np.linalg.LinAlgError:
            continue
    raise IndefiniteError()


def _bordered(corner: np.ndarray, side: np.ndarray, end: np.ndarray) -> np.ndarray:
    """A lower triangular matrix with more rows."""
    m = len(corner)
    whole = np.zeros((m + len(end), m + len(end)))
    whole[:m, :m], whole[m:, :m], whole[m:, m:] = corner, side, end
    return whole


def _lower_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A B of lower triangular matrices, tile by tile, without the zeros."""
    out, starts = np.zeros_like(A), range(0, len(A), _TILE)
    for i in starts:
        for j in starts[: i // _TILE + 1]:
            end = i + _TILE
            out[i:end, j : j + _TILE] = A[i:end, j:end] @ B[j:end, j : j + _TILE]
    return out
