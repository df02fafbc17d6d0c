"""Cross-validation of ridge regression when K is never stored: folds and penalties in one solve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..engine.limits import most_memory
from ..engine.memory import free_memory
from ..gram.algebra import ScaledGram
from ..gram.base import Gram
from ..gram.tiles import in_flight
from .base import Solution
from .cg import VECTORS, Systems, solve_systems
from .preconditioner import LowRankPreconditioner, low_rank, most_columns
from .weight_space import device_factor

_PROBES = 8  # vectors of random signs by which a trace is estimated
_TOL = 1e-6  # relative residual of every system
_COARSE = 1e-3  # relative residual that suffices for these


def left_out(
    gram: Gram, Y: np.ndarray, alphas: Sequence[float], weights: np.ndarray | None = None
) -> list[np.ndarray]:
    """For each alpha, predictions for each sample by the model of all others, y_i - c_i / G_ii.

    By the factor of K + alpha W^-1, and the diagonal G_ii of its inverse, on the device of K. Where
    a weight is 0, and so the prediction without effect, it is y itself.
    """
    used = np.arange(len(Y)) if weights is None else np.flatnonzero(weights)
    part = gram if len(used) == len(Y) else gram.subset(used)
    found = []
    for alpha in alphas:
        noise = alpha if weights is None else alpha / weights[used]
        factor, F = device_factor(part, noise), np.array(Y, dtype=np.float64)
        F[used] -= factor.solve(F[used]) / factor.inverse_diag()[:, None]
        found.append(F)
    return found


class RidgeSystems:
    r"""What :class:`~mercer.solvers.eigen.RidgeSpectrum` has of K, by conjugate gradients.

    A model without a fold is a system with the rows and columns of the fold set to zero, so all
    folds, penalties and targets share every product with K, and one low-rank factor.

    Leaving each sample out would need the diagonal of G = (K + alpha I)^-1. Its mean takes its
    place (generalised cross-validation). The trace of the preconditioner P is known, and the rest
    is estimated from vectors z of random signs,

    .. math:: \operatorname{tr} G \approx \operatorname{tr} P + \frac1s \sum_z z' (G - P) z.

    Parameters
    ----------
    gram : Gram
        The operator K.
    weights : array of shape (n,), optional
        Sample weights >= 0.

    References
    ----------
    Golub & von Matt, *Generalized cross-validation for large-scale problems*, J. Comput. Graph.
    Stat. 1997.
    """

    def __init__(self, gram: Gram, weights: np.ndarray | None = None) -> None:
        self.gram, self.n, self.rng = gram, len(gram), np.random.default_rng(0)
        self.root = None if weights is None else np.sqrt(np.asarray(weights, dtype=float))

    def held_out(
        self, Y: np.ndarray, alphas: Sequence[float], folds: Sequence[np.ndarray]
    ) -> list[list[np.ndarray]]:
        """For each alpha and fold, predictions for its samples by the model of all others."""
        parts = np.ones((len(folds), self.n), dtype=bool)
        for part, fold in zip(parts, folds, strict=True):
            part[fold] = False
        t, penalties = Y.shape[1], np.asarray(alphas, dtype=float)
        P = self._preconditioner(penalties, parts)
        pairs = [(a, m) for a in range(len(penalties)) for m in range(len(folds))]
        found: dict[tuple[int, int], np.ndarray] = {}
        for some in self._batches(pairs, t):
            a, m = (np.repeat([pair[i] for pair in some], t) for i in range(2))
            systems = Systems(np.tile(Y, len(some)), penalties[a], m, parts, group=t)
            F = self.gram @ self._solve(systems, P, _TOL).coef
            for place, pair in enumerate(some):
                found[pair] = F[folds[pair[1]], place * t : (place + 1) * t]
        return [[found[a, m] for m in range(len(folds))] for a in range(len(penalties))]

    def left_out(self, Y: np.ndarray, alphas: Sequence[float]) -> list[np.ndarray]:
        """For each alpha, about what models trained without a sample predict for it.

        y_i - c_i / g, where g is the mean of the diagonal of G.
        """
        scale = (np.ones(self.n) if self.root is None else self.root**2)[:, None]
        used, held_out = scale > 0, []
        for c, trace in self.path(Y, alphas):
            size = scale * trace / max(int(used.sum()), 1)
            held_out.append(Y - np.divide(c, size, out=np.zeros_like(c), where=used))
        return held_out

    def path(self, Y: np.ndarray, alphas: Sequence[float]) -> list[tuple[np.ndarray, float]]:
        """For each alpha, coefficients and the trace of (W^1/2 K W^1/2 + alpha I)^-1.

        The trace is over the samples whose weight is not 0.
        """
        t, penalties = Y.shape[1], np.asarray(alphas, dtype=float)
        root = np.ones(self.n) if self.root is None else self.root
        back = np.divide(1.0, root, out=np.zeros(self.n), where=root > 0)[:, None]
        signs = self.rng.choice([-1.0, 1.0], size=(self.n, _PROBES)) * (back > 0)
        P = self._preconditioner(penalties, None)
        columns = np.concatenate([Y, back * signs], axis=1)
        found = []
        for some in self._batches(list(range(len(penalties))), columns.shape[1]):
            every = np.repeat(penalties[some], columns.shape[1])
            systems = Systems(np.tile(columns, len(some)), every, np.zeros(len(every), dtype=int))
            tol = np.tile(np.repeat([_TOL, _COARSE], [t, _PROBES]), len(some))
            coef = self._solve(systems, P, tol).coef.reshape(self.n, len(some), -1)
            for place, a in enumerate(some):
                alpha, nothing = float(penalties[a]), np.zeros(_PROBES, dtype=int)
                rest = back * coef[:, place, t:] - P(signs, np.full(_PROBES, alpha), nothing)
                known = float(P.diag(alpha)[root > 0].sum())
                trace = known + float(np.vdot(signs, rest)) / _PROBES
                found.append((coef[:, place, :t], trace))
        return found

    def _solve(self, systems: Systems, P: LowRankPreconditioner, tol: Any) -> Solution:
        return solve_systems(
            self.gram, systems, self.root, tol=tol, rng=self.rng, preconditioner=P
        ).warn()

    @property
    def _memory(self) -> float:
        least = min(self.gram.limit, most_memory(), free_memory() / 2)
        return least - in_flight(self.n, self.gram.workers, 8)

    def _preconditioner(
        self, alphas: np.ndarray, parts: np.ndarray | None
    ) -> LowRankPreconditioner:
        A = self.gram if self.root is None else ScaledGram(self.gram, self.root)
        rank = most_columns(self.n, self._memory / 3)  # a factor for each part and penalty
        return LowRankPreconditioner(
            low_rank(A, float(alphas.min()), rank, self.rng), alphas, parts
        )

    def _batches(self, items: list, columns: int) -> list[list]:
        """As many at a time, of so many columns each, as a quarter of the memory holds."""
        most = int(self._memory / 4 / (8.0 * VECTORS * self.n * columns))
        count = max(1, -(-len(items) // max(most, 1)))
        size = -(-len(items) // count)
        return [items[i : i + size] for i in range(0, len(items), size)]
