"""How a Gaussian process learns its numbers: from K, from a bound, or from estimates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data import Data
from ..gram.plan import Plan
from ..search.descent import DenseObjective, conclude, part_of, search
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
    """How a Gaussian process learns.

    Attributes
    ----------
    posed : Posed
        What is to be learned from which data; the scale has shape (n, s), the first alpha is 1 if
        the noise is known.
    moves : bool
        May landmarks move?
    """

    posed: Posed
    n_restarts: int
    rng: np.random.RandomState
    plan: Plan | None
    approximation: str
    moves: bool

    def from_k(self, some: np.ndarray | None = None) -> Tuning:
        """By the evidence of all samples, or of some, from all of their K.

        Where landmarks are all that may move, there is nothing to learn from it.
        """
        posed, outputs = self.posed, self.posed.scale.shape[1]
        numbers = {*(h.name for h in posed.kernel.hyperparameters()), "alpha"}
        if some is not None and numbers <= {*posed.fixed}:
            return Tuning(posed.kernel, posed.alpha, np.inf, 0, True, "all is fixed")
        return search(
            *self._problem(some),
            matrices=3 if outputs == 1 else 2 * outputs + 2,
            n_restarts=self.n_restarts,
            rng=self.rng,
            plan=self.plan,
        )

    def _problem(self, some: np.ndarray | None) -> tuple[Posed, Any]:
        """What is posed, for some samples or for all, and the criterion."""
        posed = self.posed if some is None else part_of(self.posed, some)
        if posed.scale.shape[1] == 1:
            return replace(posed, scale=posed.scale[:, 0]), criteria.evidence
        # known noise, different for each output, is added as columns
        Y = np.hstack([posed.Y, posed.alpha * posed.scale])
        return replace(posed, Y=Y, scale=np.zeros(len(Y))), joint_evidence

    def from_estimates(self, begin: Tuning, some: np.ndarray, rank: int) -> Tuning:
        """By estimates of the evidence of all samples, from products with K.

        The search starts at the maximum of the evidence of some samples, with its curvature there.
        Parameters that these samples do not need, and that diverged to where slopes vanish, are
        moved back.
        """
        few, n = some[:: -(-len(some) // _CURVED)], len(self.posed.Y)
        posed, measure = self._problem(few)
        origin = DenseObjective(posed, measure)
        part = DenseObjective(replace(posed, kernel=begin.kernel, alpha=begin.alpha), measure)
        idle = origin.idle(part.start, origin.lengths & (part.start > origin.start))
        found = np.where(idle, origin.start + _RETURN, part.start)
        kernel, alpha = part.at(found)
        whole = replace(self.posed, kernel=kernel, alpha=alpha)
        objective = EstimatedObjective(whole, rank=rank, plan=self.plan or Plan(), rng=self.rng)
        if not len(objective.start):
            return replace(begin, value=objective(objective.start)[0])
        return conclude(objective, refine(objective, part.curvature(found) * n / len(few)))

    def from_landmarks(self, begin: Tuning, Z: Data) -> tuple[Tuning, Data]:
        """By the bound on the evidence of all samples, with landmarks that move where they can."""
        objective = LandmarkObjective(
            replace(self.posed, kernel=begin.kernel, alpha=begin.alpha),
            Z,
            moves=self.moves and movable(begin.kernel, self.posed.X),
            plan=self.plan or Plan(),
            approximation=self.approximation,
        )
        if not len(objective.start):
            return replace(begin, value=objective(objective.start)[0]), Z
        best = objective.descend(objective.start)
        best.success = best.success or best.get("status") == LIMIT  # by then, little is gained
        return conclude(objective, best), objective.landmarks(best.x)
