r"""A proven bound of the excess of an objective of features, from one pass over all samples.

For slopes u of the losses at the scores F (those of rounded corners, where there are any), the
inequality of Fenchel and Young gives

.. math:: \text{excess} \le \sum_i w_i \bigl(L_i(F_i) + L_i^*(u_i) - u_i F_i\bigr)
          + \frac{1}{2\alpha} \|\alpha v + \Phi' W u\|^2 ,

whatever the curvatures are. A constant that no penalty sees makes this a bound only if the slopes
add up to 0, sum_i w_i u_i = 0; those of an approximate solution nearly do. So the positive ones, or
the negative ones, are made a little shorter, which leaves them where the conjugate L* is finite; of
joint scores, probabilities go from classes with too much of them to those with too little.

Reference: Boyd & Vandenberghe, *Convex optimization*, 2004, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..chunks.base import Chunk, Sums
from ..gram.phi import StreamedPhi
from ..losses.base import Loss
from .task import Task, weight_of


def proven_gap(phi: StreamedPhi, task: Task, V: np.ndarray, alpha: float) -> np.ndarray:
    """The bound at coefficients V, for each problem; infinite where a conjugate is not known.

    Examples
    --------
    >>> from mercer import Gaussian, Nystrom
    >>> from mercer.chunks import ArrayChunks
    >>> from mercer.gram.implicit import ImplicitGram
    >>> from mercer.losses import Logistic
    >>> X = np.linspace(0, 6, 100)[:, None]
    >>> K = ImplicitGram(Nystrom(Gaussian(1.0), X[::10]), ArrayChunks(X), X)
    >>> phi = K.stream(np.sign(np.sin(X[:, 0]) + 0.1))
    >>> bound = proven_gap(phi, Task([Logistic()]), np.zeros((phi.size, 1)), 0.1)
    >>> bool(bound[0] >= 100 * np.log(2) - 10)  # nearly all of the objective could be gained
    True
    """
    if task.joint:
        return _joint_gap(phi, task, V, alpha)
    t = V.shape[1]
    product, (young, shorter) = phi.through(V, Sides(task), 2 * t, np.float64)
    if not np.all(np.isfinite(young)):
        return np.full(t, np.inf)
    right, left = product[:, :t], product[:, t:]
    keep, bound = np.ones((2, t)), young
    if phi.intercept:
        sides = np.stack([right[-1], -left[-1]])
        keep = np.divide(sides.min(axis=0), sides, where=sides > 0, out=keep)
        bound = bound + np.einsum("ij,ij->j", 1 - keep, shorter)
    G = phi.penalty(alpha) * V + keep[0] * right + keep[1] * left
    return np.asarray(np.maximum(bound, 0.0) + _squares(phi, G) / (2 * alpha))


def _joint_gap(phi: StreamedPhi, task: Task, V: np.ndarray, alpha: float) -> np.ndarray:
    """Of scores that have one loss together."""
    t = V.shape[1]
    keep, gets = np.ones(t), np.zeros(t)
    if phi.intercept:
        (wanted,) = phi.chunks.reduce(ClassWeights(task, t))
        probable = phi.through(V, Probable(task), t, np.float64)[0][-1] + wanted
        keep = np.divide(wanted, probable, where=probable > wanted, out=keep)
        missing = np.maximum(wanted - probable, 0.0)
        gets = missing / max(missing.sum(), 1e-300)
    product, (young,) = phi.through(V, Moved(task, keep, gets), t, np.float64)
    G = phi.penalty(alpha) * V + product
    return np.asarray(np.maximum(young, 0.0) + _squares(phi, G).sum() / (2 * alpha))


def _squares(phi: StreamedPhi, G: np.ndarray) -> np.ndarray:
    """|g|^2 of each column, without the constant."""
    G = G[:-1] if phi.intercept else G
    return np.asarray(np.einsum("ij,ij->j", G, G))


@dataclass
class Sides:
    """U = positive and negative slopes u, side by side.

    Sums are L(F) + L*(u) - u F; and, by side, what that may grow by if u goes to 0, since L* is
    convex.
    """

    task: Task

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        y, w, sharp = self.task.targets(chunk), weight_of(chunk), replace(self.task, width=None)
        u = self.task._each("slope", y, F)
        sides = np.maximum(u, 0.0), np.minimum(u, 0.0)
        if any(type(loss).conjugate is Loss.conjugate for loss in self.task.losses):  # not known
            nothing = np.zeros((2, u.shape[1]))
            return w[:, None] * np.hstack(sides), (np.full(u.shape[1], np.inf), nothing)
        at, none = sharp._each("conjugate", y, u), sharp._each("conjugate", y, np.zeros_like(u))
        young = sharp._each("value", y, F) + at - u * F
        more = none - at + u * F
        shorter = np.stack([w @ np.where(side != 0, more, 0.0) for side in sides])
        return w[:, None] * np.hstack(sides), (w @ young, shorter)


@dataclass
class ClassWeights:
    """A pass over targets: the weight of each class."""

    task: Task
    classes: int

    def __call__(self, chunk: Chunk) -> Sums:
        return (np.bincount(self.task.targets(chunk), weight_of(chunk), self.classes),)


@dataclass
class Probable:
    """U = weighted slopes of a joint loss, p - e_y."""

    task: Task

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        return self.task.slopes(self.task.targets(chunk), F, weight_of(chunk)), ()


@dataclass
class Moved:
    """U = slopes p' - e_y, with p' = keep p, and what that leaves spread by the shares ``gets``."""

    task: Task
    keep: np.ndarray
    gets: np.ndarray

    def __call__(self, F: np.ndarray, chunk: Chunk) -> tuple[np.ndarray, Sums]:
        y, w, rows = self.task.targets(chunk), weight_of(chunk), np.arange(len(F))
        p = self.task._each("slope", y, F)
        p[rows, y] += 1.0
        u = np.maximum(p * self.keep, 0.0)
        u += np.maximum(1 - u.sum(axis=1, keepdims=True), 0.0) * self.gets
        u[rows, y] -= 1.0
        values = self.task._each("value", y, F)
        young = values + self.task._each("conjugate", y, u) - (u * F).sum(axis=1)
        return w[:, None] * u, (np.atleast_1d(w @ young),)
