r"""Losses with corners, which are rounded by less and less: how much, and where their curvature is.

A corner rounded by a width w costs about w of each sample within w of it. A problem is solved until
its excess is a tenth of what corners cost, then with a narrower w, from there; so Newton's method
starts near to its solution each time. Every problem has its own width.

Only samples near to a corner have curvature, the fewer the narrower it is: of samples drawn at
random hardly any do, and their matrix says little of that of all. So samples are drawn with odds

.. math:: p_i = \min\Bigl(1, \frac{m}{t} \sum_j \frac{h_{ij}}{\sum_k h_{kj}}\Bigr),

for curvatures h of t problems and m samples altogether; with weights h / p their matrix is that of
all on average, and no sample has much of it. Curvatures are those of wider corners, mixed with
equal odds, as scores move.

References: Chen & Mangasarian, *A class of smoothing functions for nonlinear and mixed
complementarity problems*, 1996; Xu, Yang, Roosta-Khorasani, Ré & Mahoney, *Sub-sampled Newton
methods with non-uniform sampling*, NIPS 2016.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..chunks.base import Chunk
from ..gram.phi import FewPhi, StreamedPhi
from .task import Task

_SHRINK = (0.25, 0.5)  # factors of a width from one to the next
_NARROWED = 24  # times, at most
_CORNERS = 0.5  # of the tolerance, that corners may cost
_EXCESS = 0.15  # of the tolerance, that is left of the excess
_FIRST = 5e-3  # of the objective: to which all but the last are solved,
_PART = 0.1  # or of what corners cost
_WIDER = 2.0  # widths, at whose curvatures samples are drawn
_EQUAL = 0.1  # of them are drawn with equal odds
_WORTH = 0.4  # of the original effective number of samples; below, they are redrawn


class Path:
    """How much corners are rounded, problem by problem.

    Parameters
    ----------
    width : array of shape (t,)
        To begin with.
    tol : float
        What the objectives may exceed their minima by, relative to them.
    """

    def __init__(self, width: np.ndarray, tol: float) -> None:
        self.width, self.tol = width, tol
        self.left = np.full(len(width), _NARROWED)

    def goals(self, corners: np.ndarray) -> np.ndarray:
        """The goals of violations, given the cost of corners."""
        last = corners <= _CORNERS * self.tol
        least = _EXCESS * self.tol
        return np.where(last, least, np.maximum(least, np.minimum(_FIRST, _PART * corners)))

    def narrow(self, task: Task, violation: np.ndarray, corners: np.ndarray) -> np.ndarray:
        """The problems whose corners are narrower from now on."""
        ready = (violation <= self.goals(corners)) & (corners > _CORNERS * self.tol)
        at = np.flatnonzero(ready & (self.left > 0))
        if len(at):
            # what corners cost falls with the width, or with its square
            by = np.clip(0.8 * _CORNERS * self.tol / corners[at], *_SHRINK)
            self.width = self.width.copy()
            self.width[at] *= by
            self.left[at] -= 1
            task.width = self.width
        return at


@dataclass
class Odds:
    """The probabilities with which samples of a chunk are drawn, from their scores."""

    task: Task
    each: np.ndarray  # how many are wanted for each problem, for all of its curvature
    equal: float

    def __call__(self, F: np.ndarray, chunk: Chunk) -> np.ndarray:
        return self.task.curvature(chunk, F) @ self.each + self.equal


class Near:
    """Samples near corners, redrawn when the present ones no longer represent all.

    Parameters
    ----------
    phi : StreamedPhi
        The features of all samples.
    some : FewPhi
        Those of a few that were drawn with equal odds; as many are drawn.
    rng : numpy.random.Generator
        Used to draw them.
    """

    def __init__(self, phi: StreamedPhi, some: FewPhi, rng: np.random.Generator) -> None:
        self.phi, self.few, self.rng = phi, some, rng
        self.some, self.odds = some, np.full((some.n, 1), some.n / phi.n)
        self.worth: np.ndarray | None = None

    def samples(self, task: Task, V: np.ndarray) -> tuple[FewPhi, np.ndarray, bool]:
        """Features of samples, their curvatures as weights, and whether they are new."""
        h = self._curvature(task, V)
        if self.few.n >= self.phi.n:
            return self.some, h, False
        if self.worth is not None and np.all(_worth(h) >= _WORTH * self.worth):
            return self.some, h, False
        self._draw(task, V)
        h = self._curvature(task, V)
        self.worth = _worth(h)
        return self.some, h, True

    def _draw(self, task: Task, V: np.ndarray) -> None:
        """In one pass, which only happens where steps have moved, or corners become narrower."""
        few, t, share = self.few, V.shape[1], self.few.n / self.phi.n
        wide = task.rounded(_WIDER * np.asarray(task.width))
        totals = wide.curvature(few.chunk, few.scores(V)).sum(axis=0) / share
        each = np.divide((1 - _EQUAL) * few.n / t, totals, where=totals > 0, out=np.zeros(t))
        odds = Odds(wide, each, _EQUAL * share)
        found = self.phi.drawn(V, odds, int(self.rng.integers(2**63)), 2 * few.n)
        self.some, odds_found = found or (few, np.full(few.n, share))
        self.odds = odds_found[:, None]

    def _curvature(self, task: Task, V: np.ndarray) -> np.ndarray:
        return task.curvature(self.some.chunk, self.some.scores(V)) / self.odds


def _worth(h: np.ndarray) -> np.ndarray:
    """How many samples of equal weight would say as much of each problem."""
    squares = np.einsum("ij,ij->j", h, h)
    return h.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1.0)
