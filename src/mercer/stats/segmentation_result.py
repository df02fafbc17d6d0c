"""What a segmentation consists of: changes, segments, their means, and what they cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..data import Data, as_samples, length, take
from ..kernels.base import Kernel
from ..rkhs.embedding import mean_embedding
from ..rkhs.function import RKHSFunction
from ..shown import Shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Segmentation(Shown):
    """The result of :func:`mercer.change_points`: an ordered sample divided into segments.

    Attributes
    ----------
    changes : ndarray of int
        The first sample of each segment but the first.
    cost : float
        The sum of squared distances in feature space from the mean of each segment.
    n_samples : int
        The length of the sample.
    costs : ndarray of shape (D,)
        The minimum cost of 1, 2, ..., D segments; on bins, if bins were used.
    penalties : ndarray of shape (D,) or None
        What was added to these; None if the number of changes was given.
    kernel : Kernel
        The kernel, with all parameters resolved to numbers.
    step : int
        1 if the search was exact; else the samples of a bin, see :func:`mercer.change_points`.
    notes : tuple of str
        What to know before relying on the result.
    method, computation : str
        How the number of changes was chosen, and what was computed, in words.
    """

    changes: np.ndarray
    cost: float
    n_samples: int
    costs: np.ndarray = field(repr=False)
    penalties: np.ndarray | None = field(repr=False)
    kernel: Kernel
    step: int = 1
    notes: tuple[str, ...] = ()
    method: str = ""
    computation: str = field(default="", repr=False)

    @property
    def n_changes(self) -> int:
        """How many changes there are."""
        return len(self.changes)

    @property
    def segments(self) -> list[slice]:
        """The samples of each segment."""
        edges = [0, *map(int, self.changes), self.n_samples]
        return [slice(*ends) for ends in pairwise(edges)]

    @property
    def labels(self) -> np.ndarray:
        """The number of the segment that each sample is in, shape (n_samples,)."""
        return np.searchsorted(self.changes, np.arange(self.n_samples), side="right")

    def means(self, X: Data) -> list[RKHSFunction]:
        """The mean embedding of each segment of X, the sample that was segmented."""
        X = as_samples(X)
        if length(X) != self.n_samples:
            raise ValueError(
                f"X has {length(X)} samples, but {self.n_samples} were segmented; pass those."
            )
        return [mean_embedding(self.kernel, take(X, part)) for part in self.segments]

    def __str__(self) -> str:
        count = f"{self.n_changes or 'no'} change{'s' * (self.n_changes != 1)}"
        parts = ", ".join(f"{part.start}:{part.stop}" for part in self.segments)
        lines = [
            f"{count} among {self.n_samples} samples ({self.method})",
            f"  segments {parts}",
            f"  cost {self.cost:.4g}, {self.costs[0]:.4g} without changes",
        ]
        return "\n".join(lines + [f"  Note: {note}" for note in self.notes])

    def explain(self) -> str:
        """Say how the changes were found, and what was computed."""
        return f"{self}\n  {self.computation}\n  k = {self.kernel!r}"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Costs by the number of changes, with the penalised ones."""
        from ..plots.segmentation import plot_costs

        return plot_costs(self, ax=ax)
