"""A stream, block by block: samples that are kept, and steps by their kernel values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..data import Data, length, take
from ..engine.threads import go_on, one_blas_thread
from ..gram.tiles import diagonal
from ..kernels.base import Kernel
from ..losses.base import Loss
from ..solvers.online import Expansion, take_in
from ..solvers.online_loops import Rule
from ..solvers.online_newton import Curvature, constants, take_in_newton
from .online_samples import KeptSamples

BLOCK = 256  # samples whose kernel values are computed at once, at most
_LEAST = 32  # and at least, where the budget is smaller


def first_order(
    kernel: Kernel, kept: KeptSamples, state: Expansion,
    rule: Rule, loss: Loss, X: Data, y: np.ndarray, weights: np.ndarray,
) -> tuple[KeptSamples, Expansion]:  # fmt: skip
    """Single steps, within the budget of the rule."""
    for rows, block, P in _blocks(kernel, X, np.arange(length(X)), min(BLOCK, rule.budget)):
        state, places = take_in(
            state, rule, loss, y[rows], weights[rows],
            kept.cross(P), kept.within(P), diagonal(kernel, P),
        )  # fmt: skip
        kept = kept.replaced(places, block, P)
    return kept, state


def second_order(
    kernel: Kernel, kept: KeptSamples, state: Expansion, curvature: Curvature,
    rule: Rule, loss: Loss, X: Data, y: np.ndarray, weights: np.ndarray,
) -> tuple[KeptSamples, Expansion, Curvature]:  # fmt: skip
    """Newton steps in the span of the first samples, or of later ones if samples move away."""
    curves = curvature
    functions = [curves.coordinates(state.coef)]
    functions += [curves.coordinates(state.mean)] if rule.window > 0 else []
    owed = np.zeros(len(rule.scale))  # steps of the penalty, which are taken together
    for rows, block, P in _blocks(kernel, X, np.flatnonzero(weights), BLOCK):
        w = weights[rows]
        if rule.intercept and not state.time:
            state.intercept = constants(state, rule, loss, y[rows], w)
            state.mean_intercept = state.intercept.copy()
        if curves.outgrown():
            m = len(kept)
            kept = kept.replaced(np.arange(m // 2, m), block, P)
            curves, functions = curves.halved(functions, rule.alpha)
        more = min(rule.budget - len(kept), len(rows))
        if more:
            kept = kept.replaced(np.arange(len(kept) + more), block, P)
        cross, diag = kept.cross(P), diagonal(kernel, P)
        if more:
            curves = curves.grown(cross[:more], float(w[:more].mean()))
            functions = [np.pad(each, ((0, 0), (0, more))) for each in functions]
            curves = curves.later(cross, w, diag, known=True)
        if curves.due():
            functions[0], owed = curves.shrunk(functions[0], owed), 0 * owed
            before, curves = curves, curves.remade(rule.alpha)
            functions = [curves.carried(each, before) for each in functions]
        state, functions, steps = take_in_newton(
            state, functions, curves, rule, loss, y[rows], w, cross
        )
        owed = owed + steps
        if not more:
            curves = curves.later(cross, w, diag)
    functions[0] = curves.shrunk(functions[0], owed)
    state.coef, *mean = map(curves.coefficients, functions)
    state.mean = mean[0] if mean else state.mean
    state.diag = np.einsum("ij,ij->i", curves.low, curves.low)
    return kept, state, curves


def _blocks(
    kernel: Kernel, X: Data, rows: np.ndarray, step: int
) -> Iterator[tuple[np.ndarray, Any, Any]]:
    """Rows of samples, the samples, and what the kernel makes of them."""
    with one_blas_thread():
        for start in range(0, len(rows), max(step, _LEAST)):
            go_on()
            some = rows[start : start + max(step, _LEAST)]
            block = take(X, some)
            yield some, block, kernel.prepare(block)
