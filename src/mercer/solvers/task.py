"""What is asked of scores in a pass: losses, slopes and curvatures, of several problems at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..chunks.base import Chunk, Sums
from ..losses.base import Loss


@dataclass(eq=False, repr=False)
class Rounded(Loss):
    """A loss of straight pieces with hyperbolas in place of corners.

    max(0, d) becomes (d + sqrt(d^2 + 4 width^2)) / 2, which is larger by at most the width. Its
    curvature falls by a constant factor within a width and is 0 nowhere: that of a parabola ends
    at once, and a Newton step from where no sample has any is too long by orders of magnitude.

    References
    ----------
    Chen & Mangasarian, *A class of smoothing functions for nonlinear and mixed complementarity
    problems*, Computational Optimization and Applications 1996.
    """

    loss: Loss
    width: Any  # a number, or one for each column
    smooth = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        right, left, low, high = self._sides(y, f)
        return self.width / 2 * (high * (right + _root(right)) - low * (left + _root(left)))

    def slope(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        right, left, low, high = self._sides(y, f)
        return (high * (1 + right / _root(right)) + low * (1 + left / _root(left))) / 2

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        right, left, low, high = self._sides(y, f)
        return 2 / self.width * (high / _root(right) ** 3 - low / _root(left) ** 3)

    def _sides(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any, Any]:
        """Widths to the right and left of the corners, and the slopes beyond them."""
        found = self.loss.dual(y)
        assert found is not None
        t, low, high, epsilon, _ = found
        d = f - t
        return (d - epsilon) / self.width, (-d - epsilon) / self.width, low, high


def _root(x: np.ndarray) -> np.ndarray:
    return np.sqrt(x * x + 4)


@dataclass
class Task:
    """One or several problems on the same samples, with one column of scores each; or one of all.

    Parameters
    ----------
    losses : list of Loss
        One for each column, or one for all.
    joint : bool
        Is the loss one of all columns together, as that of several classes?
    width : array of shape (t,) or None
        By how much losses of straight pieces are rounded, for each column.
    """

    losses: list[Loss]
    joint: bool = False
    width: np.ndarray | None = None

    def rounded(self, width: np.ndarray) -> Task:
        """The same problems, with corners rounded by this much."""
        return replace(self, width=width)

    @property
    def smooth(self) -> bool:
        """Have all losses slopes?"""
        return all(loss.smooth for loss in self.losses)

    def _each(self, name: str, y: np.ndarray, F: np.ndarray, *more: np.ndarray) -> np.ndarray:
        """A method of the losses, for all columns of the scores."""
        losses, width = self.losses, self.width
        if width is not None:
            of: Any = [width] if len(losses) == 1 else width
            pairs = zip(losses, of, strict=True)
            losses = [loss if loss.smooth else Rounded(loss, w) for loss, w in pairs]
        with np.errstate(over="ignore", invalid="ignore"):
            if len(losses) == 1:
                on = self.losses[0].felt(y)
                if on is None or on.all():
                    return np.asarray(getattr(losses[0], name)(y, F, *more))
                return self._where(on, name, y, F, *more)
            columns = (
                getattr(loss, name)(y[:, j % y.shape[1]], F[:, j], *(m[:, j] for m in more))
                for j, loss in enumerate(losses)
            )
            return np.stack(list(columns), axis=1)

    def _where(
        self, on: np.ndarray, name: str, y: np.ndarray, F: np.ndarray, *more: np.ndarray
    ) -> np.ndarray:
        """The same where samples have a loss, and 0 elsewhere."""
        loss, out = self.losses[0], np.zeros(F.shape)
        if self.width is not None:
            loss = Rounded(loss, np.broadcast_to(self.width, F.shape)[on])
        out[on] = getattr(loss, name)(y[on], F[on], *(m[on] for m in more))
        return out

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

    def bend(self, y: np.ndarray, F: np.ndarray, D: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Weighted second derivatives, applied to D."""
        return w[:, None] * self._each("curvature_times", y, F, D)

    def corners(self, y: np.ndarray, F: np.ndarray, w: np.ndarray) -> np.ndarray:
        """sum_i w_i L(F), and sum_i w_i (L(F) + L*(u) - u F) with slopes u of rounded losses.

        By the inequality of Fenchel and Young this is >= 0, and what rounding costs.
        """
        u, sharp = self._each("slope", y, F), replace(self, width=None)
        values = sharp._each("value", y, F)
        return np.stack([w @ values, w @ (values + sharp._each("conjugate", y, u) - u * F)])

    def part(self, at: np.ndarray) -> Task:
        """The problems of some columns."""
        losses = self.losses if len(self.losses) == 1 else [self.losses[j] for j in at]
        return replace(self, losses=losses, width=None if self.width is None else self.width[at])


def weight_of(chunk: Chunk) -> np.ndarray:
    """The weights of samples; 1 by default."""
    return np.ones(len(chunk)) if chunk.weight is None else chunk.weight


# ---- what passes do with scores ------------------------------------------------------------------
@dataclass
class Columns:
    """Some columns of a task, whose scores are those of a pass."""

    task: Task
    columns: np.ndarray | None = None  # of the targets, if these are not all

    def targets(self, chunk: Chunk) -> np.ndarray:
        """Those of the columns."""
        y = self.task.targets(chunk)
        one = self.columns is None or y.ndim < 2 or y.shape[1] == 1
        return y if one else y[:, self.columns]


@dataclass
class Slope(Columns):
    """U = slopes at F + t D, for the first t; losses at all t; those with corners at the first.

    With steps, the scores are F and D side by side.
    """

    steps: tuple[float, ...] = ()

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        y, w = self.targets(chunk), weight_of(chunk)
        if not self.steps:
            scores = [F]
        else:
            F, D = np.hsplit(F, 2)
            scores = [F + t * D for t in self.steps]
        values = np.stack([self.task.values(y, G, w) for G in scores])
        if self.task.width is None:
            extra = np.zeros((2, values.shape[1]))
        else:
            extra = self.task.corners(y, scores[0], w)
        return self.task.slopes(y, scores[0], w), (values, extra)


@dataclass
class Bend(Columns):
    """U = second derivatives at F times D, for scores F and D side by side."""

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        F, D = np.hsplit(F, 2)
        return self.task.bend(self.targets(chunk), F, D, weight_of(chunk)), ()
