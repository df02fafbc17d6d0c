r"""Labels of sequences: a conditional random field in a joint feature space.

A sequence x and a labelling y have the features of the joint kernel

.. math:: K((x, y), (x', y')) = \sum_{s, t} [y_s = y'_t]\, k(x_s, x'_t)
          + \tau \sum_{s, t} [y_{s-1} = y'_{t-1},\, y_s = y'_t]

in which the label before the first one is one of its own. A function F in its space is one f_a in
H_k for each label, and a number T_ab for each pair of neighbours; its score of a labelling is the
sum of both along the sequence. What is minimised is

.. math:: \sum_i \Bigl(\log \sum_y e^{F(x_i, y)} - F(x_i, y_i)\Bigr) + \tfrac{\alpha}{2} \|F\|^2

By the representer theorem F = sum_t sum_a c_ta k(x_t, .) e_a, and T = tau D. The sums over all
labellings are those of forward and backward recursions (:mod:`.chain_loops`).

L-BFGS takes its inner products in the joint space itself, so that it does not matter how K is
conditioned as a set of coordinates. One product with K for each step gives the image of a gradient;
images of directions follow, and searches along a direction need none. With R the difference of what
was observed and what is expected, the distributions of labellings are a feasible point of the dual
problem, and the duality gap is :math:`\|\alpha F - R\|^2 / (2 \alpha)`: the certificate.

References: Lafferty, McCallum & Pereira, *Conditional random fields*, ICML 2001; Lafferty, Zhu &
Liu, *Kernel conditional random fields*, ICML 2004; Altun, Tsochantaridis & Hofmann, *Hidden Markov
support vector machines*, ICML 2003.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..gram.base import Gram
from .base import Solution
from .chain_loops import chain_sums

_STEPS = 1000
_MEMORY = 20  # pairs of steps and changes of the gradient that are remembered
_FLAT = 0.1  # of the slope at the start of a line, at its end
_TRIALS = 60
_ROUNDING = 1e-10  # of the loss at F = 0


@dataclass
class ChainSolution(Solution):
    """Coefficients of labels, and of transitions.

    Attributes
    ----------
    transitions : ndarray of shape (L + 1, L)
        T: scores of pairs of neighbours, in the last row of first labels.
    """

    transitions: Any = None


@dataclass
class _Point:
    """An element of the joint space: coefficients, and their images under the joint kernel."""

    C: np.ndarray
    D: np.ndarray
    F: np.ndarray
    T: np.ndarray

    def dot(self, other: _Point) -> float:
        return float(np.vdot(self.C, other.F) + np.vdot(self.D, other.T))

    def plus(self, factor: float, other: _Point) -> _Point:
        return _Point(
            self.C + factor * other.C,
            self.D + factor * other.D,
            self.F + factor * other.F,
            self.T + factor * other.T,
        )

    def times(self, factor: float) -> _Point:
        return _Point(factor * self.C, factor * self.D, factor * self.F, factor * self.T)


class Chain:
    """The problem: observed labels, and what is expected under scores.

    Parameters
    ----------
    gram : Gram
        The operator K of all elements, one sequence after the other.
    labels : array of shape (n,)
        Numbers of the labels.
    order, starts : arrays of shape (n,) and (m + 1,)
        The elements, one sequence after the other; where in this order sequences begin, and n.
    count : int
        The number of labels.
    tau : float
        The weight of transitions in the joint kernel.
    """

    def __init__(
        self, gram: Gram, labels: np.ndarray, order: np.ndarray, starts: np.ndarray, count: int,
        tau: float,
    ) -> None:  # fmt: skip
        self.gram, self.order, self.tau = gram, order, tau
        self.starts = np.asarray(starts, np.int64)
        n = len(labels)
        self.seen = np.zeros((n, count))
        self.seen[np.arange(n), labels] = 1.0
        self.seen_pairs = pairs_of(labels[order], self.starts, count)

    def at(self, F: np.ndarray, T: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """The loss, and what was observed less what is expected: of labels, and of pairs."""
        totals, expected, pairs = expectations(F, T, self.order, self.starts)
        score = float(np.vdot(self.seen, F) + np.vdot(self.seen_pairs, T))
        return float(totals.sum()) - score, self.seen - expected, self.seen_pairs - pairs

    def point(self, C: np.ndarray, D: np.ndarray) -> _Point:
        """The element of these coefficients: one product with K."""
        return _Point(C, D, np.asarray(self.gram @ C, dtype=np.float64), self.tau * D)


def pairs_of(labels: np.ndarray, starts: np.ndarray, count: int) -> np.ndarray:
    """How often one label follows another, and, in the last row, how often it is the first."""
    before = np.roll(labels, 1)
    before[starts[:-1]] = count
    pairs = np.zeros((count + 1, count))
    np.add.at(pairs, (before, labels), 1.0)
    return pairs


def expectations(
    F: np.ndarray, T: np.ndarray, order: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log sums over all labellings, and probabilities of labels and, added up, of pairs."""
    found, pairs = np.empty(F.shape), np.empty(T.shape)
    totals = chain_sums(
        np.ascontiguousarray(F[order]), np.ascontiguousarray(T), starts, found, pairs
    )
    expected = np.empty(F.shape)
    expected[order] = found
    return totals, expected, pairs


def solve_chain(
    gram: Gram,
    labels: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    count: int,
    alpha: float,
    *,
    tau: float = 1.0,
    tol: float = 1e-5,
    max_iter: int | None = None,
) -> ChainSolution:
    """A conditional random field of sequences.

    Parameters
    ----------
    gram, labels, order, starts, count, tau
        The problem: see :class:`Chain`.
    alpha : float
        Strength of the penalty, > 0.
    tol : float
        The duality gap, relative to the loss at F = 0, at which to stop.
    max_iter : int, optional
        The maximum number of steps; 1,000 by default.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.solvers.chain import solve_chain
    >>> X, labels = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([0, 1, 0, 1])
    >>> starts = np.array([0, 2, 4])
    >>> found = solve_chain(Linear().gram(X), labels, np.arange(4), starts, 2, alpha=0.1)
    >>> found.converged, bool(found.transitions[0, 1] > found.transitions[0, 0])
    (True, True)
    """
    begin = time.perf_counter()
    problem = Chain(gram, labels, order, starts, count, tau)
    here = problem.point(np.zeros_like(problem.seen), np.zeros_like(problem.seen_pairs))
    loss, R, S = problem.at(here.F, here.T)
    gradient = problem.point(-R, -S)
    size, steps, value = max(loss, 1e-300), 0, loss
    remembered: list[tuple[_Point, _Point, float]] = []
    gap, stuck = gradient.dot(gradient) / (2 * alpha), False
    while gap > tol * size and steps < (max_iter or _STEPS) and not stuck:
        steps += 1
        direction = _direction(gradient, remembered)
        slope = direction.dot(gradient)
        if slope >= 0:  # by rounding
            remembered.clear()
            direction = gradient.times(-1.0)
            slope = -gradient.dot(gradient)
        first = 1.0 if remembered else 1.0 / (alpha + np.sqrt(-slope))
        t, there, R, S = _search(problem, here, direction, alpha, slope, first)
        step = direction.times(t)
        ahead = here.plus(1.0, step)
        reached = there + alpha * ahead.dot(ahead) / 2
        if (
            t == 0 or not reached <= value + max(tol, _ROUNDING) * size
        ):  # directions are lost in rounding
            stuck = not remembered
            remembered.clear()
            continue
        here, loss, value = ahead, there, reached
        new = problem.point(alpha * here.C - R, alpha * here.D - S)
        change = new.plus(-1.0, gradient)
        gradient, curvature = new, change.dot(step)
        if curvature > 0 and 0 < change.dot(change) < np.inf:
            remembered = [*remembered[-_MEMORY + 1 :], (step, change, curvature)]
        gap = max(gradient.dot(gradient), 0.0) / (2 * alpha)
    converged = bool(gap <= tol * size)
    message = (
        "optimal"
        if converged
        else f"stopped after {steps} steps with a gap of {gap / size:.1e} of the loss, where "
        f"tol={tol:g} was requested; raise alpha, tol or max_iter, or scale the data."
    )
    stats = {
        "method": "L-BFGS in the joint space", "objective": value, "gap": gap,
        "violation": gap / size, "loss": loss, "seconds": time.perf_counter() - begin,
    }  # fmt: skip
    return ChainSolution(here.C, converged, steps, message, stats, transitions=here.T)


def _direction(gradient: _Point, remembered: list[tuple[_Point, _Point, float]]) -> _Point:
    """The two loops of L-BFGS, with inner products of the joint space."""
    q, shares = gradient, []
    for step, change, curvature in reversed(remembered):
        share = step.dot(q) / curvature
        shares.append(share)
        q = q.plus(-share, change)
    if remembered:
        _, change, curvature = remembered[-1]
        q = q.times(curvature / change.dot(change))
    for (step, change, curvature), share in zip(remembered, reversed(shares), strict=True):
        q = q.plus(share - change.dot(q) / curvature, step)
    return q.times(-1.0)


def _search(
    problem: Chain, here: _Point, way: _Point, alpha: float, slope: float, t: float
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """How far to go: until the slope is a tenth of that at the start; 0 where it cannot be told.

    The objective is convex along a line, so the signs of slopes bracket its minimum.
    """
    inner, own = here.dot(way), way.dot(way)
    low, high, before = 0.0, np.inf, np.inf
    low_slope, high_slope = slope, np.inf
    for _ in range(_TRIALS):
        loss, R, S = problem.at(here.F + t * way.F, here.T + t * way.T)
        there = alpha * (inner + t * own) - float(np.vdot(R, way.F) + np.vdot(S, way.T))
        if abs(there) <= -_FLAT * slope:
            return t, loss, R, S
        if there < 0:
            low, low_slope = t, there
        else:
            high, high_slope = t, there
        if high == np.inf:
            t *= 4.0
            continue
        width = high - low
        if width > before / 2:  # where slopes jump, a secant hardly moves
            t = low + width / 2 if low > 0 else high / 10
        else:
            root = low - low_slope * width / (high_slope - low_slope)
            t = min(max(root, low + 0.1 * width), high - 0.1 * width)
        before = width
    if low > 0:
        loss, R, S = problem.at(here.F + low * way.F, here.T + low * way.T)
        return low, loss, R, S
    loss, R, S = problem.at(here.F, here.T)
    return 0.0, loss, R, S
