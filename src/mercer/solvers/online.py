r"""Online learning: stochastic steps in an RKHS, sample by sample, within a budget.

With the step eta_t and the weight w_t of a sample, the implicit step is

.. math:: (f_t, b_t) = \arg\min_{f, b} \tfrac12 \|f - f_{t-1}\|^2 + \tfrac12 (b - b_{t-1})^2
          + \eta_t w_t \Big( L(y_t, f(x_t) + b) + \tfrac{\alpha}{2} \|f\|^2 \Big),

and the explicit one of NORMA uses the slopes before the step. Both multiply f and add a term k(x_t,
.), so all they need of samples is their kernel values.

The best step size is not known in advance. Several are tried side by side on the same kernel
values, and each sample, before it is learned, shows which of them predicts best.

References
----------
Kivinen, Smola & Williamson, *Online learning with kernels*, 2004. Kulis & Bartlett, *Implicit
online learning*, ICML 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..losses.base import Loss
from ..losses.classification import Logistic, Multinomial
from ..losses.regression import Poisson
from . import online_loops as loops
from . import online_slopes
from .online_budget import MERGE, OLDEST, SMALLEST, settle
from .online_loops import Iterate, Rule, Values
from .online_slopes import Targets

SCHEDULES = ("auto", "sqrt", "constant", "inverse")
UPDATES = ("auto", "implicit", "explicit", "newton")
REMOVALS = {"merge": MERGE, "oldest": OLDEST, "smallest": SMALLEST}
_CODES: dict[type[Loss], int] = {
    Logistic: online_slopes.LOGISTIC,
    Poisson: online_slopes.POISSON,
    Multinomial: online_slopes.MULTINOMIAL,
}
_MOST = float(np.finfo(np.float64).max)
_LEAST = float(np.finfo(np.float64).tiny)


def schedule(name: str, eta: float, alpha: float) -> tuple[float, float]:
    """(s, p) with eta_t = s t^-p.

    >>> schedule("inverse", 1.0, alpha=0.1)  # 1 / (alpha t)
    (10.0, 1.0)
    """
    inverse = (1 / alpha, 1.0)
    return {"constant": (eta, 0.0), "inverse": inverse}.get(name, (eta, 0.5))


@dataclass
class Expansion:
    """f = sum_i c_i k(x_i, .) of the kept samples, oldest first, and the state of learning.

    Attributes
    ----------
    coef, mean : ndarray of shape (lengths * outputs, m)
        The coefficients of the last iterate, and of the average, if there is one; for all outputs
        with the first step size, then with the next one.
    intercept, mean_intercept : ndarray of shape (lengths * outputs,)
        b, likewise.
    time : float
        The sum of all weights so far.
    tube, mean_tube : ndarray of shape (lengths,)
        The half width of the tube of the loss, and its average.
    losses : ndarray of shape (lengths,)
        The average loss of samples before learning from them; later ones count more.
    span : float
        The weight of the samples whose iterates are averaged; it differs from ``time`` if the
        average was restarted and the clock set back.
    doubt : ndarray of shape (lengths, 3)
        The evidence against the averages: see :func:`~mercer.solvers.online_loops.doubted`.
    diag : ndarray of shape (m,)
        k(x_i, x_i).
    gram, slots : ndarray
        Kernel values of kept samples, if they are merged: that of samples i and j is
        ``gram[slots[i], slots[j]]``.
    """

    coef: np.ndarray
    mean: np.ndarray
    intercept: np.ndarray
    mean_intercept: np.ndarray
    time: float
    tube: np.ndarray
    mean_tube: np.ndarray
    losses: np.ndarray
    span: float
    doubt: np.ndarray
    diag: np.ndarray
    gram: np.ndarray
    slots: np.ndarray

    @classmethod
    def empty(cls, outputs: int, tube: float = 0.0, lengths: int = 1) -> Expansion:
        """The expansion of f = 0."""
        none, zero = np.zeros((lengths * outputs, 0)), np.zeros(lengths * outputs)
        tubes = np.full(lengths, tube)
        return cls(
            none, none, zero, zero.copy(), 0.0, tubes, tubes.copy(), np.zeros(lengths), 0.0,
            np.zeros((lengths, 3)), np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=np.int64),
        )  # fmt: skip

    def __len__(self) -> int:
        return self.coef.shape[1]

    @property
    def best(self) -> int:
        """The index of the step size that has predicted best."""
        return int(np.argmin(self.losses))

    @property
    def own(self) -> slice:
        """The rows of the best step size."""
        each = len(self.intercept) // len(self.losses)
        return slice(self.best * each, (self.best + 1) * each)

    def of_lengths(self, count: int) -> Expansion:
        """The same function for other step sizes: all continue from that of the best one."""
        if count == len(self.losses):
            return self
        own, best = self.own, slice(self.best, self.best + 1)
        rows: dict[str, Any] = {
            name: np.concatenate([getattr(self, name)[own]] * count)
            for name in ("coef", "mean", "intercept", "mean_intercept")
        }
        each: dict[str, Any] = {
            name: np.repeat(getattr(self, name)[best], count)
            for name in ("tube", "mean_tube", "losses")
        }
        return replace(self, **rows, **each, doubt=np.zeros((count, 3)))

    def known(self, gram: np.ndarray, budget: int) -> Expansion:
        """The expansion with kernel values of the kept samples, and room for the whole budget."""
        m = len(self)
        whole = np.zeros((budget, budget))
        whole[:m, :m] = gram
        return replace(self, gram=whole, slots=np.arange(m))


def take_in(
    state: Expansion,
    rule: Rule,
    loss: Loss,
    y: np.ndarray,
    weights: np.ndarray,
    block: np.ndarray,
    diag: np.ndarray,
) -> tuple[Expansion, np.ndarray]:
    """Learn from a block of samples.

    Parameters
    ----------
    state : Expansion
        It is not changed, except for ``gram``, whose memory the result takes over.
    rule : Rule
        Steps, penalty, budget.
    loss : Loss
        Any.
    y : ndarray of shape (n, outputs)
        Targets; codes in one column, if the loss has several scores.
    weights : ndarray of shape (n,)
        Of the samples; those of weight 0 are passed over.
    block : ndarray of shape (n, m + n)
        Their kernel values with the samples that are kept, and with each other.
    diag : ndarray of shape (n,)
        k(x, x).

    Returns
    -------
    Expansion
        The new expansion.
    places : ndarray
        Its samples: i < m is one that was kept before, m + j is sample j of the block.
    """
    m, averaged = len(state), rule.window > 0
    values = _values(state, block, diag)
    now = _walked(state, rule, loss, y, weights, values)
    losses = np.fmin(now.losses, _MOST)  # squares overflow
    places = np.flatnonzero(now.absent == 0)
    slots, gram = state.slots, state.gram
    if rule.removal == MERGE:
        stay = slots[places[places < m]]
        free = np.ones(len(gram), dtype=bool)
        free[stay] = False
        slots = np.append(stay, np.flatnonzero(free)[: len(places) - len(stay)])
        settle(values, places, slots, gram)
    return (
        Expansion(
            now.coef[:, places],
            now.mean[:, places] if averaged else now.mean,
            now.intercept,
            now.mean_intercept,
            float(now.clock[0]),
            now.tube,
            now.mean_tube,
            losses,
            float(now.clock[1]),
            now.doubt,
            values.diag[places],
            gram,
            slots,
        ),
        places,
    )


def walked(
    state: Expansion,
    rule: Rule,
    loss: Loss,
    y: np.ndarray,
    weights: np.ndarray,
    block: np.ndarray,
    diag: np.ndarray,
) -> Iterate:
    """Where the steps of a block lead: all numbers, in places of kept samples and of the block."""
    return _walked(state, rule, loss, y, weights, _values(state, block, diag))


def _values(state: Expansion, block: np.ndarray, diag: np.ndarray) -> Values:
    every = np.concatenate([state.diag, diag.astype(np.float64)])
    inverse = np.divide(1.0, every, out=np.zeros(len(every)), where=every >= _LEAST)
    values = np.ascontiguousarray(block, dtype=np.float64)
    return Values(values, every, inverse, state.gram, state.slots)


def _walked(
    state: Expansion, rule: Rule, loss: Loss, y: np.ndarray, weights: np.ndarray, values: Values
) -> Iterate:
    m, n, outputs = len(state), len(weights), len(state.intercept)
    averaged = rule.window > 0
    now = Iterate(
        np.hstack([state.coef, np.zeros((outputs, n))]),
        np.hstack([state.mean, np.zeros((outputs, n))]) if averaged else state.mean,
        state.intercept.copy(),
        state.mean_intercept.copy(),
        np.array([state.time, state.span]),
        state.tube.copy(),
        state.mean_tube.copy(),
        state.losses.copy(),
        state.doubt.copy(),
        np.append(np.zeros(m), np.full(n, np.inf)),
        np.empty(m + n),
        np.empty(m + n),
        np.full(3, -1.0),
    )
    targets = _targets(loss, y)
    if targets is None:
        _walk_slowly(rule, loss, y, values, weights, now)
    else:
        loops.walk(rule, targets, values, weights, now)
    check_finite(now.coef, now.intercept)
    return now


def check_finite(*parts: np.ndarray) -> None:
    """An error if steps have diverged."""
    if not all(np.all(np.isfinite(part)) for part in parts):
        raise FloatingPointError(
            "the steps diverge: the coefficients are no longer finite; use update='implicit', a "
            "smaller eta, or scale the data."
        )


def _targets(loss: Loss, y: np.ndarray) -> Targets | None:
    """A loss in the form for compiled loops; None if it has none."""
    code = _CODES.get(type(loss))
    if code is not None:
        nothing = np.zeros((0, 0))
        return Targets(code, y, nothing, nothing, 0.0, 0.0)
    dual = loss.dual(y)
    if dual is None:
        return None
    target, lower, upper = (np.broadcast_to(v, y.shape).astype(np.float64) for v in dual[:3])
    return Targets(online_slopes.PIECEWISE, target, lower, upper, *map(float, dual.soft))


def _walk_slowly(
    rule: Rule,
    loss: Loss,
    y: np.ndarray,
    values: Values,
    weights: np.ndarray,
    state: Iterate,
) -> None:
    """As :func:`~mercer.solvers.online_loops.walk`, for a user-defined loss."""
    slope = _slope_of(rule, loss)
    rows, count = len(state.intercept), len(rule.scale)
    each = rows // count
    scores, means, slopes = np.empty(rows), np.empty(rows), np.empty(rows)
    eta, shrink, reach = np.empty(count), np.empty(count), np.empty(count)
    begun, alive = loops.place(values, 0), loops.kept(state.absent)

    def losses(scores: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([_loss_of(loss, y, f) for f in scores.reshape(count, each)])

    for i in np.flatnonzero(weights):
        w, new = weights[i], begun + i
        state.clock[:] += w
        loops.score(values.block[i], state.coef, new, scores)
        last = scores + state.intercept
        if count > 1 or rule.renews:
            means[:] = last
            if rule.window > 0:
                loops.score(values.block[i], state.mean, new, means)
                means += state.mean_intercept
            told = losses(means, y[i])
            loops.compare(rule.window, w, state.clock[0], told, state.losses)
        if rule.renews:
            loops.doubt(state.doubt, w, told, losses(last, y[i]))
            if loops.surpassed(state.doubt, state.losses):
                loops.renew(state)
        diag = values.diag[new]
        loops.begin(rule, w, state.clock[0], diag, state.intercept, eta, shrink, reach)
        for c in range(count):
            own = slice(c * each, (c + 1) * each)
            f = scores[own] * (shrink[c] if rule.implicit else 1.0) + state.intercept[own]
            slopes[own] = slope(y[i], f, reach[c])
        loops.move(rule, new, state.coef, state.intercept, eta, shrink, slopes)
        alive = loops.finish(rule, values, w, state, new, alive)


def _loss_of(loss: Loss, y: np.ndarray, f: np.ndarray) -> float:
    if loss.targets == "classes":
        return float(loss.value(y.astype(int), f[None])[0])
    return float(np.sum(loss.value(y, f)))


def _slope_of(rule: Rule, loss: Loss) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    if loss.targets == "classes":
        if rule.implicit:
            raise TypeError(
                f"{loss!r} has several scores and no proximal step; use update='explicit'."
            )
        return lambda y, f, reach: loss.slope(y.astype(int), f[None])[0]
    if rule.implicit:
        return lambda y, f, reach: (f - loss.prox(y, f, reach)) / max(reach, 1e-300)
    return lambda y, f, reach: loss.slope(y, f)
