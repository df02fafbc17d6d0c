"""What is asked of scores in a pass: losses, slopes and curvatures, of several problems at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..chunks.base import Chunk, Sums
from ..losses.base import Dual, Loss, Piecewise

_CURVED = 0.2  # of a few samples with a loss are to be near to a corner,
_WIDEST = 2.0**60  # however wide that has to be


@dataclass(eq=False, repr=False)
class Smoothed(Piecewise):
    """A loss of straight pieces whose corners are parabolas: its conjugate + width u^2 / 2.

    It is at most width u^2 / 2 lower, with u the steepest slope, and its slopes are subgradients
    of the loss at scores nearby.
    """

    loss: Loss
    width: float
    smooth = True

    def dual(self, y: np.ndarray) -> Dual:
        found = self.loss.dual(y)
        assert found is not None
        return found._replace(soft=(self.width, self.width))


@dataclass
class Task:
    """One or several problems on the same samples, with one column of scores each; or one of all.

    Parameters
    ----------
    losses : list of Loss
        One for each column, or one for all.
    joint : bool
        Is the loss one of all columns together, as that of several classes?
    widths : float or None
        By how much losses of straight pieces are smoothed.
    """

    losses: list[Loss]
    joint: bool = False
    width: float | None = None

    def smoothed(self, width: float) -> Task:
        """The same problems, with corners rounded by this much."""
        return replace(self, width=width)

    @property
    def smooth(self) -> bool:
        """Have all losses slopes?"""
        return all(loss.smooth for loss in self.losses)

    def _each(self, name: str, y: np.ndarray, F: np.ndarray, *more: np.ndarray) -> np.ndarray:
        """A method of the losses, for all columns of the scores."""
        losses = self.losses
        if self.width is not None:
            losses = [loss if loss.smooth else Smoothed(loss, self.width) for loss in losses]
        with np.errstate(over="ignore", invalid="ignore"):
            if len(losses) == 1:
                return np.asarray(getattr(losses[0], name)(y, F, *more))
            columns = (
                getattr(loss, name)(y[:, j % y.shape[1]], F[:, j], *(m[:, j] for m in more))
                for j, loss in enumerate(losses)
            )
            return np.stack(list(columns), axis=1)

    def targets(self, chunk: Chunk) -> np.ndarray:
        """Codes of classes; or numbers, in one column for all scores, or one for each."""
        y = np.asarray(chunk.y)
        return y if self.joint else y.astype(np.float64).reshape(len(chunk), -1)

    def values(self, y: np.ndarray, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Weighted sums of the losses, one for each problem."""
        return w @ self._each("value", y, F).reshape(len(F), -1)

    def slopes(self, y: np.ndarray, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Weighted slopes, one for each score."""
        return w[:, None] * self._each("slope", y, F)

    def curvature(self, chunk: Chunk, F: np.ndarray) -> np.ndarray:
        """Weighted curvatures, one for each problem: the mean of those of joint scores."""
        h = self._each("curvature", self.targets(chunk), F)
        h = h.sum(axis=1, keepdims=True) / max(1, F.shape[1] - 1) if self.joint else h
        return weight_of(chunk)[:, None] * h

    def typical_curvature(self, chunk: Chunk, F: np.ndarray) -> np.ndarray:
        """That of few samples, such as speaks for many: corners as wide as a part of them needs.

        The mean of 1 / width over samples within a width of a corner is a density, which a wider
        one estimates from more of them.
        """
        h, wide = self.curvature(chunk, F), self
        while wide.width is not None and wide.width < _WIDEST:
            few = np.count_nonzero(h, axis=0) < _CURVED * self._cornered(chunk, F)
            if not few.any():
                break
            wide = self.smoothed(2 * wide.width)
            h[:, few] = wide.curvature(chunk, F)[:, few]
        return h

    def _cornered(self, chunk: Chunk, F: np.ndarray) -> np.ndarray:
        """How many samples of each problem have a loss with corners, and a weight."""
        y, counts = self.targets(chunk), np.zeros(F.shape[1])
        for j in range(F.shape[1]):
            loss = self.losses[j % len(self.losses)]
            if not loss.smooth and (found := loss.dual(y[:, j % y.shape[1]])) is not None:
                counts[j] = np.sum((weight_of(chunk) > 0) & (found.lower < found.upper))
        return counts

    def bend(self, y: np.ndarray, F: np.ndarray, D: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Weighted second derivatives, applied to D."""
        return w[:, None] * self._each("curvature_times", y, F, D)

    def corners(self, y: np.ndarray, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        """sum_i w_i (L(F) + L*(u) - u F) of the losses themselves and slopes u of smoothed ones.

        By the inequality of Fenchel and Young it is >= 0, and what smoothing costs.
        """
        u, sharp = self._each("slope", y, F), replace(self, width=None)
        return w @ (sharp._each("value", y, F) + sharp._each("conjugate", y, u) - u * F)

    def part(self, at: np.ndarray) -> Task:
        """The problems of some columns."""
        losses = self.losses if len(self.losses) == 1 else [self.losses[j] for j in at]
        return replace(self, losses=losses)


def weight_of(chunk: Chunk) -> np.ndarray:
    """The weights of samples, 1 if there are none."""
    return np.ones(len(chunk)) if chunk.weight is None else chunk.weight


# ---- what passes do with scores ------------------------------------------------------------------
@dataclass
class Slope:
    """U = slopes at F + t D, for the first t; losses at all t, and what corners cost at the first.

    With steps, the scores are F and D side by side.
    """

    task: Task
    steps: tuple[float, ...] = ()
    corners: bool = False

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        y, w = self.task.targets(chunk), weight_of(chunk)
        if not self.steps:
            scores = [F]
        else:
            F, D = np.hsplit(F, 2)
            scores = [F + t * D for t in self.steps]
        values = np.stack([self.task.values(y, G, w) for G in scores])
        extra = self.task.corners(y, scores[0], w) if self.corners else np.zeros(values.shape[1])
        return self.task.slopes(y, scores[0], w), (values, extra)


@dataclass
class Bend:
    """U = second derivatives at F times D, for scores F and D side by side."""

    task: Task
    columns: np.ndarray | None = None  # of the targets, if these are not all

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        F, D = np.hsplit(F, 2)
        y = self.task.targets(chunk)
        if self.columns is not None and y.ndim == 2 and y.shape[1] > 1:
            y = y[:, self.columns]
        return self.task.bend(y, F, D, weight_of(chunk)), ()
