r"""Online learning: stochastic steps in an RKHS, sample by sample, within a budget of samples.

With the step eta_t and the weight w_t of a sample, the implicit step is

.. math:: (f_t, b_t) = \arg\min_{f, b} \tfrac12 \|f - f_{t-1}\|^2 + \tfrac12 (b - b_{t-1})^2
          + \eta_t w_t \Big( L(y_t, f(x_t) + b) + \tfrac{\alpha}{2} \|f\|^2 \Big),

and the explicit one of NORMA takes the slopes where it begins. Both multiply f and add a term
k(x_t, .), so all they need of samples is their kernel values.

References
----------
Kivinen, Smola & Williamson, *Online learning with kernels*, 2004. Kulis & Bartlett, *Implicit
online learning*, ICML 2010.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..losses.base import Loss
from ..losses.classification import Logistic, Multinomial
from ..losses.regression import Poisson
from . import online_loops as loops
from .online_loops import Iterate, Rule, Targets, Values

SCHEDULES = ("sqrt", "constant", "inverse")
UPDATES = ("implicit", "explicit")
REMOVALS = {"merge": loops.MERGE, "oldest": loops.OLDEST, "smallest": loops.SMALLEST}
_CODES: dict[type[Loss], int] = {
    Logistic: loops.LOGISTIC,
    Poisson: loops.POISSON,
    Multinomial: loops.MULTINOMIAL,
}


def schedule(name: str, eta: float, alpha: float) -> tuple[float, float]:
    """(s, p) with eta_t = s t^-p.

    >>> schedule("inverse", 1.0, alpha=0.1)  # 1 / (alpha t)
    (10.0, 1.0)
    """
    return {"constant": (eta, 0.0), "sqrt": (eta, 0.5), "inverse": (1 / alpha, 1.0)}[name]


@dataclass
class Expansion:
    """f = sum_i c_i k(x_i, .) of the samples that are kept, oldest first, and where it stands.

    Attributes
    ----------
    coef, mean : ndarray of shape (outputs, m)
        The coefficients of the last iterate, and of the average; (outputs, 0) if there is none.
    intercept, mean_intercept : ndarray of shape (outputs,)
        b, likewise.
    time, tube, mean_tube : float
        The sum of all weights so far; the half width of the tube of the loss, and its average.
    diag : ndarray of shape (m,)
        k(x_i, x_i).
    gram, slots : ndarray
        Kernel values of kept samples, if they are merged: those of samples i and j are
        ``gram[slots[i], slots[j]]``.
    """

    coef: np.ndarray
    mean: np.ndarray
    intercept: np.ndarray
    mean_intercept: np.ndarray
    time: float
    tube: float
    mean_tube: float
    diag: np.ndarray
    gram: np.ndarray
    slots: np.ndarray

    @classmethod
    def empty(cls, outputs: int, tube: float = 0.0) -> Expansion:
        """That of f = 0."""
        none, zero = np.zeros((outputs, 0)), np.zeros(outputs)
        return cls(
            none, none, zero, zero.copy(), 0.0, tube, tube,
            np.zeros(0), np.zeros((0, 0)), np.zeros(0, dtype=np.int64),
        )  # fmt: skip

    def __len__(self) -> int:
        return self.coef.shape[1]

    def known(self, gram: np.ndarray, budget: int) -> Expansion:
        """With kernel values of the samples that are kept, and room for as many as may be."""
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
    cross: np.ndarray,
    within: np.ndarray,
    diag: np.ndarray,
) -> tuple[Expansion, np.ndarray]:
    """Take in a block of samples.

    Parameters
    ----------
    state : Expansion
        It is left as it is, but for ``gram``, whose memory the result takes over.
    rule : Rule
        Steps, penalty, budget.
    loss : Loss
        Any.
    y : ndarray of shape (n, outputs)
        Targets; codes in one column, if the loss is one for several scores.
    weights : ndarray of shape (n,)
        Of the samples; those of weight 0 are passed over.
    cross, within, diag : ndarray
        Kernel values of the block with the samples that are kept and with itself; k(x, x).

    Returns
    -------
    Expansion
        What is kept now.
    places : ndarray
        Which samples these are: i < m is one that was kept before, m + j is sample j of the block.
    """
    m, n = len(state), len(weights)
    outputs = len(state.intercept)
    values = Values(
        np.ascontiguousarray(cross, dtype=np.float64),
        np.ascontiguousarray(within, dtype=np.float64),
        np.concatenate([state.diag, diag.astype(np.float64)]),
        state.gram,
        state.slots,
    )
    averaged = rule.window > 0
    now = Iterate(
        np.hstack([state.coef, np.zeros((outputs, n))]),
        np.hstack([state.mean, np.zeros((outputs, n))]) if averaged else state.mean,
        state.intercept.copy(),
        state.mean_intercept.copy(),
        np.array([state.time, state.tube, state.mean_tube]),
        np.concatenate([np.ones(m, dtype=bool), np.zeros(n, dtype=bool)]),
        np.empty(m + n),
        np.empty(m + n),
    )
    targets = _targets(loss, y)
    if targets is None:
        _walk_slowly(rule, loss, y, values, weights, now)
    else:
        loops.walk(rule, targets, values, weights, now)
    if not (np.all(np.isfinite(now.coef)) and np.all(np.isfinite(now.intercept))):
        raise FloatingPointError(
            "the steps diverge: coefficients are not finite any more; use update='implicit', a "
            "smaller eta, or scale the data."
        )
    places = np.flatnonzero(now.alive)
    slots, gram = state.slots, state.gram
    if rule.removal == loops.MERGE:
        kept = places[places < m]
        free = np.setdiff1d(np.arange(len(gram)), slots[kept])[: len(places) - len(kept)]
        slots = np.concatenate([slots[kept], free])
        loops.settle(values, places, slots, gram)
    return (
        Expansion(
            now.coef[:, places],
            now.mean[:, places] if averaged else now.mean,
            now.intercept,
            now.mean_intercept,
            float(now.clock[0]),
            float(now.clock[1]),
            float(now.clock[2]),
            values.diag[places],
            gram,
            slots,
        ),
        places,
    )


def _targets(loss: Loss, y: np.ndarray) -> Targets | None:
    """A loss in the form that compiled loops know; None if it has to be asked."""
    code = _CODES.get(type(loss))
    if code is not None:
        nothing = np.zeros((0, 0))
        return Targets(code, y, nothing, nothing, 0.0, 0.0)
    dual = loss.dual(y)
    if dual is None:
        return None
    target, lower, upper = (np.broadcast_to(v, y.shape).astype(np.float64) for v in dual[:3])
    return Targets(loops.PIECEWISE, target, lower, upper, *map(float, dual.soft))


def _walk_slowly(
    rule: Rule,
    loss: Loss,
    y: np.ndarray,
    values: Values,
    weights: np.ndarray,
    state: Iterate,
) -> None:
    """As :func:`~mercer.solvers.online_loops.walk`, for a loss that is a class of the user."""
    slope = _slope_of(rule, loss)
    scores, alive = np.empty(len(state.intercept)), int(state.alive.sum())
    for i in np.flatnonzero(weights):
        eta, shrink, reach = loops.begin(rule, values, weights[i], state, i)
        loops.score(values, state, i, scores)
        f = scores * (shrink if rule.implicit else 1.0) + state.intercept
        slopes = np.ascontiguousarray(slope(y[i], f, reach), dtype=np.float64)
        alive = loops.finish(rule, values, weights[i], state, i, eta, shrink, slopes, alive)


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
