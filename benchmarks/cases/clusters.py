"""Clusters in feature space: normalised cuts beside scikit-learn, and k-means on many samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

SKLEARN = "scikit-learn"
_CLUSTERS = 5


def _blobs(n: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.normal(0, 5, (_CLUSTERS, 2))
    return centres[rng.integers(_CLUSTERS, size=n)] + 2 * rng.standard_normal((n, 2))


def cuts(n: int) -> Contest:
    """The same similarities; errors: how much the cut is above the lower of both."""
    from mercer import Gaussian, SpectralClustering

    X, kernel = _blobs(n), Gaussian(1.0)

    def ours() -> np.ndarray:
        return SpectralClustering(_CLUSTERS, kernel=kernel, random_state=0).fit(X).labels_

    def theirs() -> np.ndarray:
        from sklearn.cluster import SpectralClustering as Peer

        return Peer(_CLUSTERS, gamma=0.5, random_state=0).fit_predict(X)

    def errors(outputs: Any) -> dict[str, float]:
        K = kernel(X)
        found = {name: _cut(K, labels) for name, labels in outputs.items()}
        return {name: cut / min(found.values()) - 1 for name, cut in found.items()}

    return Contest({MERCER: ours, SKLEARN: theirs}, errors)


def _cut(K: np.ndarray, labels: np.ndarray) -> float:
    """The sum over clusters of similarity to others, as a share of all similarity."""
    masks = [labels == c for c in np.unique(labels)]
    return float(sum(K[inside][:, ~inside].sum() / K[inside].sum() for inside in masks))


def rings(n: int) -> Contest:
    """Two rings, ten starts, through 200 landmarks; errors: the share of wrong labels."""
    from mercer import Gaussian, KernelKMeans, Plan

    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, 2 * np.pi, n), np.arange(n) % 2
    X = np.where(y, 1.0, 3.0)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.15 * rng.standard_normal((n, 2))
    model = KernelKMeans(2, kernel=Gaussian(1.0), plan=Plan(rank=200), random_state=0)

    def wrong(labels: np.ndarray) -> float:
        share = float(np.mean(labels != y))
        return min(share, 1 - share)

    return Contest({MERCER: lambda: model.fit(X).labels_}, each(wrong))


CASES = [
    Case(
        "clusters.cuts",
        "normalised cuts, five clusters of {n:,} samples",
        cuts,
        {"n": 2000},
        {"n": 500},
        {"n": 60},
        accuracy=Accuracy("relative excess of the cut", 1e-9),
        rounds=3,
    ),
    Case(
        "clusters.kmeans",
        "kernel k-means, two rings of {n:,} samples with 200 landmarks, ten starts",
        rings,
        {"n": 100_000},
        {"n": 10_000},
        {"n": 300},
        time=Target(limit=20.0),
        memory=Target(limit=2e9),
        accuracy=Accuracy("share of wrong labels", 1e-3),
        rounds=3,
    ),
]
