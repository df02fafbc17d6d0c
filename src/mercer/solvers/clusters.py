r"""Clusters in feature space: kernel k-means, with a bound on what is left to gain.

Of all partitions of the samples into k clusters, the one with the smallest

.. math:: J = \sum_i w_i \|\phi(x_i) - \mu_{c(i)}\|^2, \qquad
          \mu_c = \frac{1}{W_c} \sum_{c(i) = c} w_i \phi(x_i), \quad
          W_c = \sum_{c(i) = c} w_i .

Finding it is hard. Lloyd's iterations, from several starts at once, so that one product with K
serves them all; then single samples change their cluster as long as that helps (Hartigan).

No partition is better than the sum of all eigenvalues of the centred, weighted K less the k - 1
largest of them (Zha et al.; Ding & He), and the eigenvectors are one more start.

References: Dhillon, Guan & Kulis, *Kernel k-means, spectral clustering and normalized cuts*, KDD
2004; Arthur & Vassilvitskii, *k-means++*, SODA 2007; Hartigan, *Clustering Algorithms*, 1975; Ding
& He, *K-means clustering via principal component analysis*, ICML 2004.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..exceptions import IndefiniteKernelWarning, warn
from ..gram.base import Gram
from ..kernels.indefinite import REMEDY, is_negative
from .base import Solution
from .components import principal

_MOVES = 10  # single moves per sample, at most
_POLISHED = 5000  # samples times partitions that are improved by them, beyond the best
_EPS = float(np.finfo(np.float64).eps)


@dataclass
class Clusters(Solution):
    """A partition; ``coef`` holds the weights of samples in the mean of each cluster, (n, k).

    Attributes
    ----------
    labels : ndarray of shape (n,)
        The cluster of each sample.
    inertia : float
        J.
    lower_bound : float
        No partition has a smaller J.
    norms : ndarray of shape (k,)
        Squared norms of the means.
    """

    labels: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    inertia: float = 0.0
    lower_bound: float = 0.0
    norms: np.ndarray = field(default_factory=lambda: np.zeros(0))


def kernel_kmeans(
    gram: Gram,
    k: int,
    weights: np.ndarray | None = None,
    *,
    starts: int = 10,
    max_iter: int = 300,
    rng: np.random.Generator,
) -> Clusters:
    """Split the samples of K into k clusters.

    Parameters
    ----------
    gram : Gram
        The operator K.
    k : int
        The number of clusters, at most that of samples with a weight > 0.
    weights : array of shape (n,), optional
        Weights >= 0 of samples.
    starts : int
        Partitions to begin with: half of them from eigenvectors, the others by k-means++.
    max_iter : int
        The maximum number of iterations of each.
    rng : numpy.random.Generator
        Used to draw the starts.
    """
    n = len(gram)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    problem = _Problem(gram, k, w)
    spectrum = principal(gram.detached(), min(k, n), weights, rng=rng)
    U = spectrum.coef[:, : k - 1] / np.where(w > 0, np.sqrt(w), 1)[:, None]
    scaled = U * np.sqrt(np.maximum(spectrum.values[: k - 1], 0.0))
    begin = [problem.grouped(V, rng) for _ in range(-(-starts // 4)) for V in (U, scaled)]
    begin = begin[:starts] + [problem.seeded(rng) for _ in range(starts - len(begin))]
    found, n_iter, settled = problem.lloyd(np.stack(begin), max_iter)
    labels = problem.improved(found)
    Z, _, norms, D = problem.means(labels[None])
    apart = D[0][np.arange(n), labels]
    if is_negative(float(apart.min()), float(problem.squares.max())):
        warn(
            "the kernel matrix is not positive semi-definite: squared distances from means reach "
            f"{apart.min():.2g}, so the inertia and its bound mean little. {REMEDY}.",
            IndefiniteKernelWarning,
        )
    inertia = float(w @ np.maximum(apart, 0.0))
    residual = float(spectrum.stats["residual"]) * max(float(spectrum.values.max(initial=0.0)), 0.0)
    gained = float(np.maximum(spectrum.values[: k - 1], 0.0).sum()) + (k - 1) * residual
    bound = max(spectrum.trace - gained - spectrum.rounding, 0.0)
    message = "solved" if settled else (
        f"k-means still changed clusters after {max_iter} iterations; raise max_iter."
    )  # fmt: skip
    stats = {"method": "lloyd", "gap": inertia - bound}
    return Clusters(
        Z[0], settled, n_iter, message, stats,
        labels=labels, inertia=inertia, lower_bound=min(bound, inertia), norms=norms[0],
    )  # fmt: skip


class _Problem:
    """K, with everything that the starts share."""

    def __init__(self, gram: Gram, k: int, w: np.ndarray) -> None:
        self.gram, self.k, self.w = gram, k, w
        self.squares = gram.diag().astype(np.float64)
        self.rounding = 64 * float(np.finfo(gram.dtype).eps) * float(w @ np.abs(self.squares))

    def means(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """For partitions of shape (r, n): weights of the means, K times these, norms, distances."""
        r, n = labels.shape
        Z = np.zeros((r, n, self.k))
        np.put_along_axis(Z, labels[:, :, None], self.w[None, :, None], axis=2)
        total = Z.sum(axis=1, keepdims=True)
        Z = np.divide(Z, total, where=total > 0, out=Z)
        KZ = np.asarray(self.gram @ np.hstack(list(Z)), dtype=np.float64)
        KZ = KZ.reshape(n, r, self.k).transpose(1, 0, 2)
        norms = np.einsum("rnk,rnk->rk", Z, KZ)
        D = self.squares[None, :, None] - 2 * KZ + norms[:, None, :]
        D = np.where(total > 0, D, np.inf)  # nothing is close to a cluster that is empty
        return Z, KZ, norms, D

    def value(self, labels: np.ndarray, D: np.ndarray) -> np.ndarray:
        """J of each partition."""
        own = np.take_along_axis(D, labels[:, :, None], axis=2)[:, :, 0]
        return np.where(self.w > 0, own, 0.0) @ self.w

    def lloyd(self, labels: np.ndarray, max_iter: int) -> tuple[np.ndarray, int, bool]:
        """The partitions that Lloyd's iterations reach; do all starts end by themselves?"""
        labels, before = labels.copy(), np.full(len(labels), np.inf)
        active = np.arange(len(labels))
        for n_iter in range(max_iter + 1):
            D = self.means(labels[active])[3]
            values = self.value(labels[active], D)
            nearest = self._filled(D.argmin(axis=2), D)
            changed = (nearest != labels[active]).any(axis=1)
            active, nearest = active[changed], nearest[changed]
            fallen = values[changed] < before[active] - self.rounding
            active, nearest = active[fallen], nearest[fallen]
            if not len(active):
                return labels, max(n_iter, 1), True
            before[active] = values[changed][fallen]
            labels[active] = nearest
        return labels, max_iter, False

    def improved(self, labels: np.ndarray) -> np.ndarray:
        """The best of some partitions, after single moves, with the heaviest cluster first."""
        values = self.value(labels, self.means(labels)[3])
        order = np.argsort(values, kind="stable")[: 1 + _POLISHED // len(self.w)]
        moved = np.stack([self.single_moves(labels[i]) for i in order])
        best = moved[np.argmin(self.value(moved, self.means(moved)[3]))]
        heaviest = np.argsort(-np.bincount(best, self.w, self.k), kind="stable")
        return np.argsort(heaviest)[best]

    def _filled(self, labels: np.ndarray, D: np.ndarray) -> np.ndarray:
        """Clusters that are empty take the samples that are farthest from their mean."""
        for some, distances in zip(labels, D, strict=True):
            counts = np.bincount(some, self.w > 0, self.k)
            if counts.all():
                continue
            own = np.where(self.w > 0, distances[np.arange(len(some)), some], -np.inf)
            far = iter(np.argsort(-own, kind="stable"))
            for empty in np.flatnonzero(counts == 0):
                place = next(i for i in far if counts[some[i]] > 1)
                counts[some[place]] -= 1
                some[place], counts[empty] = empty, 1
        return labels

    def single_moves(self, labels: np.ndarray) -> np.ndarray:
        """Samples change their cluster one by one, the one that gains most first.

        Moving sample i from a to b changes J by w W_b / (W_b + w) d_ib - w W_a / (W_a - w) d_ia,
        with distances d to the means before. Every move lowers J by more than rounding, so it ends.
        """
        labels, n = labels.copy(), len(labels)
        everyone = np.arange(n)
        _, (KZ,), _, (D,) = self.means(labels[None])
        S = KZ * np.bincount(labels, self.w, self.k)  # sums over clusters, not means
        w, total = self.w[:, None], np.bincount(labels, self.w, self.k)
        inner = np.bincount(labels, self.w * S[everyone, labels], self.k)  # W^2 |mu|^2
        for _ in range(_MOVES * n):
            own = total[labels]
            with np.errstate(divide="ignore", invalid="ignore"):
                D = self.squares[:, None] - 2 * S / total + inner / total**2
                cost = w * total / (total + w) * D
                spared = self.w * own / (own - self.w) * D[everyone, labels]
            gain = np.where(own > self.w, spared, -np.inf)[:, None] - cost
            gain[everyone, labels] = -np.inf
            gain[self.w == 0] = -np.inf
            i, b = np.unravel_index(int(np.argmax(gain)), gain.shape)
            if not gain[i, b] > self.rounding:
                break
            a, weight = labels[i], self.w[i]
            row = weight * np.asarray(self.gram.rows(np.array([i]))[0], dtype=np.float64)
            own_value = weight * row[i]
            inner[a] += own_value - 2 * weight * S[i, a]
            inner[b] += own_value + 2 * weight * S[i, b]
            S[:, a] -= row
            S[:, b] += row
            total[a], total[b], labels[i] = total[a] - weight, total[b] + weight, b
        return labels

    # ---- starts ----------------------------------------------------------------------------
    def seeded(self, rng: np.random.Generator) -> np.ndarray:
        """k-means++: centres far from those before, the best of a few candidates each time."""

        def rows(places: np.ndarray) -> np.ndarray:
            K = np.asarray(self.gram.rows(places), dtype=np.float64)
            return np.maximum(self.squares[None] - 2 * K + self.squares[places][:, None], 0.0)

        return _plus_plus(rows, self.w, self.k, rng)

    def grouped(self, U: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Clusters of the rows of U, by k-means."""
        if not U.shape[1]:
            return np.zeros(len(U), dtype=int)

        def rows(places: np.ndarray) -> np.ndarray:
            return ((U[None] - U[places][:, None]) ** 2).sum(axis=2)

        labels = _plus_plus(rows, self.w, self.k, rng)
        for _ in range(100):
            total = np.maximum(np.bincount(labels, self.w, self.k), _EPS)
            sums = np.stack([np.bincount(labels, self.w * u, self.k) for u in U.T], axis=1)
            means = sums / total[:, None]
            D = (U**2).sum(axis=1)[:, None] - 2 * U @ means.T + (means**2).sum(axis=1)
            nearest = self._filled(D.argmin(axis=1)[None], D[None])[0]
            if np.array_equal(nearest, labels):
                break
            labels = nearest
        return labels


def _plus_plus(
    rows: Callable[[np.ndarray], np.ndarray], w: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Labels by the nearest of k centres; ``rows(places)`` are squared distances to samples."""
    candidates = 2 + int(np.log(k))
    place = rng.choice(len(w), 1, p=w / w.sum())
    least, labels = rows(place)[0], np.zeros(len(w), dtype=int)
    for c in range(1, k):
        mass = w * least
        if not mass.sum() > 0:  # all samples are alike: what is left is filled up later
            break
        places = np.unique(rng.choice(len(w), candidates, p=mass / mass.sum()))
        D = rows(places)
        best = D[int(np.argmin(np.minimum(D, least) @ w))]
        labels[best < least] = c
        least = np.minimum(best, least)
    return labels
