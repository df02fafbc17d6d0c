"""Online Newton steps in the span of the kept samples, for any loss.

Steps preconditioned with second moments are plain steps with the kernel q(x, x') = <F(x), F(x')> of
:mod:`mercer.solvers.online_curvature` in place of k. So a block of samples is treated as in
:mod:`mercer.solvers.online`, with the values of f before it in place of kernel values with kept
samples: one triangular system for a block, after which f is given by its coefficients T' c on F.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..losses.base import Loss
from .online import Expansion, walked
from .online_budget import OLDEST
from .online_curvature import Curvature
from .online_loops import Rule

_LONGEST = 32.0  # steps of Newton's method on all samples so far, at most
_MOST = float(np.finfo(np.float64).max)


def take_in_newton(
    state: Expansion,
    functions: list[np.ndarray],
    curvature: Curvature,
    rule: Rule,
    loss: Loss,
    y: np.ndarray,
    weights: np.ndarray,
    cross: np.ndarray,
) -> tuple[Expansion, list[np.ndarray], np.ndarray]:
    """Learn from a block of samples.

    Parameters
    ----------
    state : Expansion
        The state, except for the coefficients.
    functions : list of arrays
        Coefficients on the features F of the last iterates and, if there is one, of the average.
    curvature : Curvature
        The moments of all samples before, or including these.
    rule : Rule
        Steps, penalty.
    loss, y, weights
        As in :func:`~mercer.solvers.online.take_in`.
    cross : array of shape (n, m)
        Kernel values of the block with the samples that are kept.

    Returns
    -------
    Expansion, list
        The state and functions after steps of the loss.
    steps : array of shape (lengths,)
        The length of the step along the slope of the penalty.
    """
    time = state.time + float(weights.sum())
    F = curvature.features(cross)
    # f of each row, and its average, stand for samples that are kept
    rows, averaged = len(state.intercept), len(functions) > 1
    new = rows * len(functions)
    pretend = replace(
        state,
        coef=np.eye(rows, new),
        mean=np.eye(rows, new, rows) if averaged else np.zeros((rows, 0)),
        diag=np.ones(new),
    )
    # steps of one length for all of the block: those of its first samples would be too long for
    # what is known of them; in units of the mean weight, so that only ratios of weights count
    unit = curvature.time / max(curvature.count, 1) or 1.0
    scale = np.minimum(rule.scale * (time / unit) ** -rule.power, _LONGEST * unit / time) / unit
    free = rule._replace(scale=scale, power=0.0, alpha=0.0, removal=OLDEST, budget=new + len(y) + 1)
    every = np.concatenate(functions)
    block = np.empty((len(F), new + len(F)))
    block[:, :new], block[:, new:] = F @ every.T, F @ F.T  # half the work of a general product
    now = walked(pretend, free, loss, y, weights, block, block[:, new:].diagonal())
    table = np.concatenate((now.coef, now.mean)[: len(functions)])
    moved = np.split(table[:, :new] @ every + table[:, new:] @ F, len(functions))
    after = replace(
        state,
        intercept=now.intercept, mean_intercept=now.mean_intercept,
        time=float(now.clock[0]), tube=now.tube, mean_tube=now.mean_tube,
        losses=np.fmin(now.losses, _MOST),
        span=float(now.clock[1]), doubt=now.doubt,
    )  # fmt: skip
    return after, moved, rule.alpha * scale * float(weights.sum())


def constants(
    state: Expansion, rule: Rule, loss: Loss, y: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Initial intercepts: approximately the best constants for the first samples.

    As long as each sample has a direction of its own, f can fit every target, and b would be
    learned slowly.
    """
    n, rows = len(y), len(state.intercept)
    alone = rule._replace(
        scale=np.full(len(rule.scale), _LONGEST), power=1.0, alpha=0.0, window=np.inf,
        renews=False, outside=-1.0, removal=OLDEST, budget=n,
    )  # fmt: skip
    empty = Expansion.empty(rows // len(rule.scale), float(state.tube[0]), len(rule.scale))
    now = walked(empty, alone, loss, y, weights, np.zeros((n, n)), np.zeros(n))
    return now.mean_intercept
