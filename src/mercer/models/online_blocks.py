"""A stream, block by block: the kept samples, and steps from kernel values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data import Data, length, take
from ..engine.threads import check_cancelled, one_blas_thread
from ..gram.tiles import diagonal
from ..kernels.base import Kernel
from ..losses.base import Loss
from ..solvers.online import Expansion, check_finite, take_in
from ..solvers.online_curvature import Curvature
from ..solvers.online_loops import Rule
from ..solvers.online_newton import constants, take_in_newton
from .online_samples import KeptSamples

BLOCK = 256  # samples whose kernel values are computed at once, at most
_LEAST = 32  # and at least, where the budget is smaller
_COPY = 1e-5  # squared sine of the angle between features of samples that count as copies
_NONE = np.zeros(0, dtype=int)
_OWED = 0.01  # of the smallest second derivative: steps of the penalty are taken from this sum on


def first_order(
    kernel: Kernel, kept: KeptSamples, state: Expansion,
    rule: Rule, loss: Loss, X: Data, y: np.ndarray, weights: np.ndarray,
) -> tuple[KeptSamples, Expansion]:  # fmt: skip
    """Single steps, within the budget of the rule."""
    for rows, block, P in _blocks(kernel, X, np.arange(length(X)), min(BLOCK, rule.budget)):
        state, places = take_in(
            state, rule, loss, y[rows], weights[rows],
            kept.block(P), diagonal(kernel, P),
        )  # fmt: skip
        kept = kept.replaced(places, block, P)
    return kept, state


@dataclass(frozen=True)
class Second:
    """The state of second-order steps.

    Attributes
    ----------
    curves : Curvature
        Of the samples so far.
    functions : list of arrays
        The last iterates and, if there is one, the average, by coefficients on the features.
    owed : ndarray of shape (lengths,)
        Pending steps of the penalty.
    """

    curves: Curvature
    functions: list[np.ndarray]
    owed: np.ndarray

    @classmethod
    def of(cls, curves: Curvature, state: Expansion, rule: Rule, owed: np.ndarray) -> Second:
        """The state from which a stream continues."""
        tables = [state.coef, state.mean][: 1 + (rule.window > 0)]
        return cls(curves, [curves.coordinates(table) for table in tables], owed)

    def fits(self, rule: Rule) -> bool:
        """Does it have the same number of step sizes, and averages if there are any?"""
        return len(self.owed) == len(rule.scale) and len(self.functions) == 1 + (rule.window > 0)


def second_order(
    kernel: Kernel, kept: KeptSamples, state: Expansion, known: Second,
    rule: Rule, loss: Loss, X: Data, y: np.ndarray, weights: np.ndarray,
) -> tuple[KeptSamples, Expansion, Second]:  # fmt: skip
    """Newton steps in the span of the first samples, or of later ones if the data drift."""
    curves, functions, owed = known.curves, known.functions, known.owed
    for rows, block, P in _blocks(kernel, X, np.flatnonzero(weights), BLOCK):
        w = weights[rows]
        if rule.intercept and not state.time:
            state.intercept = constants(state, rule, loss, y[rows], w)
            state.mean_intercept = state.intercept.copy()
        if curves.outgrown():
            m = len(kept)
            kept = kept.replaced(np.arange(m // 2, m), block, P)
            curves, functions = curves.halved(functions, rule.alpha)
            state.diag = state.diag[m // 2 :]
        diag, room = diagonal(kernel, P), rule.budget - len(kept)
        more = new_ones(kept.block(P), np.append(state.diag, diag), room) if room else _NONE
        if len(more):
            kept = kept.replaced(np.append(np.arange(len(kept)), len(kept) + more), block, P)
        cross = kept.cross(P)
        if len(more):
            curves = curves.grown(cross[more], float(w[more].mean()))
            functions = [np.pad(each, ((0, 0), (0, len(more)))) for each in functions]
            curves = curves.later(cross, w, diag, known=True)
            state.diag = np.append(state.diag, diag[more])
        if curves.due():
            before, curves = curves, curves.remade(rule.alpha)
            functions = [curves.carried(each, before) for each in functions]
        state, functions, steps = take_in_newton(
            state, functions, curves, rule, loss, y[rows], w, cross
        )
        owed = owed + steps
        if owed.max() > _OWED * curves.penalty:
            functions[0], owed = curves.shrunk(functions[0], owed), 0 * owed
        if not len(more):
            curves = curves.later(cross, w, diag)
    tables = curves.coefficients(np.concatenate(functions))
    check_finite(tables)
    state.coef, *mean = np.split(tables, len(functions))
    state.mean = mean[0] if mean else state.mean
    return kept, state, Second(curves, functions, owed)


def new_ones(block: np.ndarray, diag: np.ndarray, most: int) -> np.ndarray:
    """The first samples of a block that are no copies of kept ones, or of one another.

    Parameters
    ----------
    block : ndarray of shape (n, m + n)
        Their kernel values with the samples that are kept, and with each other.
    diag : ndarray of shape (m + n,)
        k(x, x) of all of these.
    most : int
        How many to choose.
    """
    m, norms = block.shape[1] - len(block), np.sqrt(np.abs(diag))
    cosine = np.sqrt(1 - _COPY)
    near = (np.abs(block) >= cosine * norms[m:, None] * norms) & (norms > 0)
    chosen: list[int] = []
    for i in np.flatnonzero((norms[m:] > 0) & ~near[:, :m].any(axis=1)).tolist():
        if len(chosen) == most:
            break
        if not near[i, [m + j for j in chosen]].any():
            chosen.append(i)
    return np.array(chosen if m + len(chosen) else [0], dtype=int)  # all of them may be 0


def _blocks(
    kernel: Kernel, X: Data, rows: np.ndarray, step: int
) -> Iterator[tuple[np.ndarray, Any, Any]]:
    """Row numbers, samples, and prepared samples of each block."""
    with one_blas_thread():
        for start in range(0, len(rows), max(step, _LEAST)):
            check_cancelled()
            some = rows[start : start + max(step, _LEAST)]
            block = take(X, some)
            yield some, block, kernel.prepare(block)
