"""Bags of instances, and sets, to their kernel matrices.

No Python package has the multi-instance kernel, so there is no peer; the limit is what is promised.
The Jaccard matrix of fingerprints has one: scipy's distances.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

_CHECKED = 20  # bags of which the matrix is computed again, one pair of instances at a time
_WIDTH = 166  # features of an instance, as in the musk data


def instances(n: int) -> Contest:
    """A Gaussian multi-instance kernel; errors: against sums over all pairs of instances."""
    from mercer import Gaussian, MultiInstance

    rng = np.random.default_rng(0)
    bags = [rng.normal(size=(rng.integers(2, 10), _WIDTH)) for _ in range(n)]
    k = MultiInstance(Gaussian(13.0))

    def errors(outputs: Any) -> dict[str, float]:
        some = bags[:_CHECKED]
        wanted = np.array([[_sum(a, b, 13.0) for b in some] for a in some])
        got = outputs[MERCER][: len(some), : len(some)]
        return {MERCER: float(np.abs(got - wanted).max() / wanted.max())}

    return Contest({MERCER: lambda: k(bags)}, errors)


def _sum(a: np.ndarray, b: np.ndarray, lengthscale: float) -> float:
    squares = ((a[:, None] - b) ** 2).sum(axis=2)
    return float(np.exp(-squares / (2 * lengthscale**2)).sum())


def fingerprints(n: int) -> Contest:
    """The Jaccard matrix of boolean masks, beside scipy's; errors: against counting."""
    from scipy.spatial.distance import cdist

    from mercer import Jaccard

    M = np.random.default_rng(0).random((n, 1024)) < 0.1

    def errors(outputs: Any) -> dict[str, float]:
        some = M[:_CHECKED]
        wanted = [[(a & b).sum() / (a | b).sum() for b in some] for a in some]
        return {
            name: float(np.abs(K[: len(some), : len(some)] - wanted).max())
            for name, K in outputs.items()
        }

    return Contest(
        {MERCER: lambda: Jaccard()(M), "scipy": lambda: 1 - cdist(M, M, "jaccard")}, errors
    )


CASES = [
    Case(
        "sets.instances",
        "multi-instance kernel, {n:,} bags of 5 or 6 instances, d = 166",
        instances,
        {"n": 10_000},
        {"n": 500},
        {"n": 20},
        time=Target(limit=30.0),
        accuracy=Accuracy("relative error", 1e-12),
        rounds=3,
    ),
    Case(
        "sets.jaccard",
        "Jaccard kernel, {n:,} fingerprints of 1024 bits",
        partial(fingerprints),
        {"n": 3000},
        {"n": 300},
        {"n": 20},
        time=Target(speed=1.0),
        accuracy=Accuracy("error", 1e-12),
        rounds=3,
    ),
]
