r"""Online Newton steps in the span of the samples that are kept, for any loss.

Samples are kept until there are m of them. Functions f = sum_j c_j k(z_j, .) of these have slopes

.. math:: c \leftarrow c - \eta_t \, t \, (A_t + \lambda_t K)^{-1} L'(y_t, f(x_t) + b)\, k(Z, x_t),
   \qquad A_t = \sum_{s \le t} w_s k(Z, x_s) k(x_s, Z),

with K = k(Z, Z): stochastic steps with the kernel

.. math:: q(x, x') = t \, k(x, Z) (A_t + \lambda_t K)^{-1} k(Z, x')

in place of k, in which functions that vary on many scales are equally easy to learn. So a block of
samples is what it is for :mod:`mercer.solvers.online`, with the values of f before it in place of
kernel values with what is kept. With L the Cholesky factor of K and C C' = L^-1 A L^-T + lambda,
q(x, x') = t <T^-1 k(Z, x), T^-1 k(Z, x')> for the triangular T = L C: one triangular system for a
block. T is made anew when t has grown by a tenth.

References: Bordes, Bottou & Gallinari, *SGD-QN: careful quasi-Newton stochastic gradient descent*,
JMLR 2009; Hazan, Agarwal & Kale, *Logarithmic regret algorithms for online convex optimization*,
2007; Ruppert, *Efficient estimations from a slowly convergent Robbins-Monro process*, 1988
(averages of long steps).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..engine.routines import solve_lower
from ..losses.base import Loss
from . import online_loops as loops
from .online import Expansion, walked
from .online_loops import Rule

ARRAYS = 6  # matrices of kept samples, in double precision
_FLOOR = 1.0  # usual k(x, x): lambda_t is no less, as few samples tell little of curvatures
_LONGEST = 32.0  # steps of Newton's method on all samples so far, at most
_JITTER = (1e-7, 1e-5)  # of it, added to the diagonal of K, as copies of samples may be kept, and
# the more where values are in single precision
_GROWN = 1.1  # factor of t after which T is made anew


@dataclass
class Curvature:
    """What is known of the samples so far, in the coordinates of the factor of K.

    Attributes
    ----------
    seen : array of shape (m, m)
        L^-1 A L^-T of the samples up to ``made``, the time of the factors.
    since : array of shape (m, m)
        C^-1 L^-1 A L^-T C^-T of those since then.
    weights : array of shape (m,)
        Of the samples that are kept.
    """

    seen: np.ndarray
    since: np.ndarray
    weights: np.ndarray
    made: float
    gram: np.ndarray
    low: np.ndarray  # L
    inner: np.ndarray  # C
    whole: np.ndarray  # T
    penalty: float  # lambda_t

    @classmethod
    def empty(cls) -> Curvature:
        """Of no samples."""
        none = np.zeros((0, 0))
        return cls(none, none, np.zeros(0), 0.0, none, none, none, none, 1.0)

    @classmethod
    def restored(
        cls, seen: np.ndarray, weights: np.ndarray, gram: np.ndarray, time: float, alpha: float
    ) -> Curvature:
        """From what :meth:`told` says, and kernel values."""
        new = replace(cls.empty(), seen=seen, since=np.zeros_like(seen), weights=weights)
        new.gram, new.low = gram, _factor(gram)
        new._make(time, alpha)
        return new

    def told(self) -> np.ndarray:
        """L^-1 A L^-T of all samples so far."""
        return self.seen + self.inner @ self.since @ self.inner.T

    def grown(
        self, gram: np.ndarray, weights: np.ndarray, rest: np.ndarray, rest_weights: np.ndarray,
        time: float, alpha: float,
    ) -> Curvature:  # fmt: skip
        """With more samples kept: all so far are, but for the ``rest`` of the last block."""
        low = _factor(gram)
        F = solve_lower(low, rest.T) * np.sqrt(rest_weights)
        seen = (low.T * weights) @ low + F @ F.T
        new = replace(self, seen=seen, since=np.zeros_like(seen), weights=weights)
        new.gram, new.low = gram, low
        new._make(time, alpha)
        return new

    def later(self, time: float, alpha: float) -> Curvature:
        """With factors that are made anew, if there are many more samples by now."""
        if time < _GROWN * self.made:
            return self
        new = replace(self, seen=self.told(), since=np.zeros_like(self.since))
        new._make(time, alpha)
        return new

    def _make(self, time: float, alpha: float) -> None:
        usual = float(np.mean(np.diagonal(self.gram))) or 1.0
        self.made, self.penalty = time, alpha * time + _FLOOR * usual
        self.inner = np.linalg.cholesky(self.seen + self.penalty * np.eye(len(self.seen)))
        self.whole = self.low @ self.inner


def _factor(gram: np.ndarray) -> np.ndarray:
    usual = float(np.mean(np.diagonal(gram))) or 1.0
    for jitter in _JITTER:
        try:
            return np.linalg.cholesky(gram + jitter * usual * np.eye(len(gram)))
        except np.linalg.LinAlgError:
            continue
    raise ValueError(
        "update='newton' needs a kernel that is positive semi-definite; use update='implicit'."
    )


def take_in_newton(
    state: Expansion,
    curvature: Curvature,
    rule: Rule,
    loss: Loss,
    y: np.ndarray,
    weights: np.ndarray,
    cross: np.ndarray,
) -> tuple[Expansion, Curvature]:
    """Take in a block of samples that ``curvature`` may know already.

    Parameters
    ----------
    state : Expansion
        Coefficients of all samples that are kept.
    curvature : Curvature
        Of all samples before, or of these, too.
    rule : Rule
        Steps, penalty.
    loss, y, weights
        As in :func:`~mercer.solvers.online.take_in`.
    cross : array of shape (n, m)
        Kernel values of the block with the samples that are kept.
    """
    time = state.time + float(weights.sum())
    known = curvature.made >= time
    if not known:
        curvature = curvature.later(state.time, rule.alpha)
    F = solve_lower(curvature.whole, cross.T).T
    within = curvature.made * (F @ F.T)
    # f of each row, and its average, stand for samples that are kept
    rows, averaged = len(state.intercept), rule.window > 0
    before = [cross @ state.coef.T, *([cross @ state.mean.T] if averaged else [])]
    pretend = replace(
        state,
        coef=np.eye(rows, rows * len(before)),
        mean=np.eye(rows, 2 * rows, rows) if averaged else state.mean[:, :0],
        diag=np.ones(rows * len(before)),
    )
    # steps of one length for all of the block: those of its first samples would be too long for
    # what is known of them
    scale = np.minimum(rule.scale * time**-rule.power, _LONGEST / time)
    rule = rule._replace(scale=scale, power=0.0)
    free = rule._replace(alpha=0.0, removal=loops.OLDEST, budget=rows * len(before) + len(y) + 1)
    now = walked(pretend, free, loss, y, weights, np.hstack(before), within, within.diagonal())
    new = rows * len(before)

    def moved(table: np.ndarray) -> np.ndarray:
        """Coefficients of what a row of the table adds up."""
        inner = F.T @ table[:, new:].T
        return curvature.made * solve_lower(curvature.whole, inner, transposed=True).T

    coef = np.diagonal(now.coef)[:, None] * state.coef + moved(now.coef)
    mean = state.mean
    if averaged:
        own = np.diagonal(now.mean)[:, None] * state.coef
        mean = own + np.diagonal(now.mean, rows)[:, None] * state.mean + moved(now.mean)
    coef = _shrunk(coef, curvature, rule, float(weights.sum()))
    if not known:
        G = F.T * np.sqrt(weights)
        curvature = replace(curvature, since=curvature.since + G @ G.T)
    return (
        replace(
            state,
            coef=coef, mean=mean, intercept=now.intercept, mean_intercept=now.mean_intercept,
            time=float(now.clock[0]), tube=now.tube, mean_tube=now.mean_tube,
            losses=np.nan_to_num(now.losses, nan=np.inf, posinf=np.finfo(float).max),
        ),
        curvature,
    )  # fmt: skip


def _shrunk(coef: np.ndarray, curvature: Curvature, rule: Rule, weight: float) -> np.ndarray:
    """After the steps of the penalty for a block: along its slope, never beyond its minimum."""
    share = curvature.made / curvature.penalty  # the largest eigenvalue of q by k, at most
    steps = rule.alpha * rule.scale * weight
    steps = steps / (1 + steps * share)
    slope = solve_lower(curvature.whole, curvature.gram @ coef.T)
    slope = solve_lower(curvature.whole, slope, transposed=True).T
    each = np.repeat(steps, len(coef) // len(steps))
    return np.asarray(coef - each[:, None] * curvature.made * slope)
