"""How a Gaussian process learns its numbers: from K, from a bound, or from estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Data
from ..gram.plan import Plan
from ..kernels.base import Kernel
from ..search.descent import ALPHA, DenseObjective, conclude, rows_of, search
from ..search.estimated import EstimatedObjective, refine
from ..search.landmarks import LandmarkObjective, movable
from ..search.objective import LIMIT, Posed
from ..search.outcome import Tuning
from ..solvers import criteria
from .gp_evidence import joint_evidence

_CURVED = 1000  # samples from which second derivatives are computed
_RETURN = 2.0  # above its start, as a logarithm: where a lengthscale begins that was not needed
LANDMARKS = "landmarks"  # the name in ``fixed`` of where they are


@dataclass
class Learning:
    """What is to be learned, from which data.

    Attributes
    ----------
    kernel : Kernel
        Where the search begins.
    X, Y : data
        Samples, and their normalised targets as columns.
    alpha : float
        The noise to begin with, or 1 if it is known.
    scale : ndarray of shape (n, s)
        The factor of alpha, for all columns or for each.
    fixed : tuple of str
        What is not learned.
    unit, least : float
        The variance of the targets, and the least alpha in units of it.
    """

    kernel: Kernel
    X: Data
    Y: np.ndarray
    alpha: float
    scale: np.ndarray
    fixed: tuple[str, ...]
    unit: float
    least: float
    n_restarts: int
    rng: np.random.RandomState
    plan: Plan | None
    approximation: str = "variational"

    @property
    def names(self) -> tuple[str, ...]:
        """Hyper-parameters that are fixed."""
        return tuple(name for name in self.fixed if name != LANDMARKS)

    def from_k(self, some: np.ndarray | None = None) -> Tuning:
        """By the evidence of all samples, or of some, from all of their K.

        Where landmarks are all that may move, there is nothing to learn from it.
        """
        numbers = {*(h.name for h in self.kernel.hyperparameters()), "alpha"}
        if some is not None and numbers <= {*self.fixed}:
            return Tuning(self.kernel, self.alpha, np.inf, 0, True, "all is fixed")
        X, (Y, measure, scale) = self._part(some), self._problem(some)
        return search(
            self.kernel,
            X,
            Y,
            self.alpha,
            measure,
            scale=scale,
            matrices=3 if self.scale.shape[1] == 1 else 2 * self.scale.shape[1] + 2,
            fixed=self.names,
            n_restarts=self.n_restarts,
            rng=self.rng,
            least=self.least,
            unit=self.unit,
            plan=self.plan,
        )

    def _part(self, some: np.ndarray | None) -> Data:
        return self.X if some is None else rows_of(self.kernel, self.X, some)

    def _problem(self, some: np.ndarray | None) -> tuple[np.ndarray, Any, np.ndarray]:
        """Targets, the criterion, and the factor of alpha, for some samples or for all."""
        rows = slice(None) if some is None else some
        Y, scale = self.Y[rows], self.scale[rows]
        if scale.shape[1] == 1:
            return Y, criteria.evidence, scale[:, 0]
        # known noise, different for each output, is added as columns
        return np.hstack([Y, self.alpha * scale]), joint_evidence, np.zeros(len(Y))

    def from_estimates(self, begin: Tuning, some: np.ndarray, rank: int) -> Tuning:
        """By estimates of the evidence of all samples, from products with K.

        The search starts at the maximum of the evidence of some samples, with its curvature there.
        Parameters that these samples do not need, and that diverged to where slopes vanish, are
        moved back.
        """
        few, n = some[:: -(-len(some) // _CURVED)], len(self.Y)
        Y, measure, scale = self._problem(few)
        posed = replace(self._posed(self), X=self._part(few), Y=Y, scale=scale)
        origin = DenseObjective(posed, measure)
        part = DenseObjective(replace(posed, kernel=begin.kernel, alpha=begin.alpha), measure)
        idle = origin.idle(part.start, origin.lengths & (part.start > origin.start))
        found = np.where(idle, origin.start + _RETURN, part.start)
        kernel, alpha = part.at(found)
        posed = replace(self._posed(self), kernel=kernel, alpha=alpha)
        plan = self.plan or Plan()
        objective = EstimatedObjective(posed, rank=rank, plan=plan, rng=self.rng)
        if not len(objective.start):
            return replace(begin, value=objective(objective.start)[0])
        best = refine(objective, part.curvature(found) * n / len(few))
        return self._conclude(objective, best)

    def from_landmarks(self, begin: Tuning, Z: Data) -> tuple[Tuning, Data]:
        """By the bound on the evidence of all samples, with landmarks that move where they can."""
        moves = LANDMARKS not in self.fixed and movable(begin.kernel, self.X)
        objective = LandmarkObjective(
            self._posed(begin),
            Z,
            moves=moves,
            plan=self.plan or Plan(),
            approximation=self.approximation,
        )
        if not len(objective.start):
            return replace(begin, value=objective(objective.start)[0]), Z
        best = objective.descend(objective.start)
        best.success = best.success or best.get("status") == LIMIT  # by then, little is gained
        return self._conclude(objective, best), objective.landmarks(best.x)

    def _posed(self, begin: Any) -> Posed:
        """All samples, with the kernel and alpha of ``begin``."""
        limits = self.least * self.unit, ALPHA[1] * self.unit
        given = begin.kernel, self.X, self.Y, begin.alpha, self.scale
        return Posed(*given, self.names, limits, self.unit)

    def _conclude(self, objective: Any, best: Any) -> Tuning:
        noise = float(np.mean(self.scale)) if np.any(self.Y) else np.inf
        return conclude(objective, best, noise)
