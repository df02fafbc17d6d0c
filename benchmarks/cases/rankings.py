"""Kernels on rankings: matrices of random ones, beside scipy's tau in a loop."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target

_CHECKED = 300  # pairs of rankings that scipy compares


def _rankings(n: int, m: int, left_out: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    ranks = np.argsort(rng.random((n, m)), axis=1).astype(float)
    ranks[rng.random(ranks.shape) < left_out] = m  # tied for the last place
    return ranks


def matrix(n: int, m: int, kernel: str, left_out: float = 0.0) -> Contest:
    """From ranks to the dense matrix; errors: of some entries, against scipy's tau-b."""
    from scipy.stats import kendalltau

    import mercer

    X = _rankings(n, m, left_out)
    i, j = np.random.default_rng(1).integers(n, size=(2, _CHECKED))
    kernels = {
        "Kendall": mercer.Kendall().normalize(),
        "Mallows": mercer.Mallows(1 / m),
        "AverageKendall": mercer.AverageKendall(),
    }
    k = kernels[kernel]
    pairs = m * (m - 1) / 2

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        K = outputs[MERCER][i, j]
        if kernel == "AverageKendall":
            wanted = np.array([_average(X[a], X[b]) for a, b in zip(i, j, strict=True)])
        else:
            wanted = np.array([kendalltau(X[a], X[b]).statistic for a, b in zip(i, j, strict=True)])
        if kernel == "Mallows":  # without ties
            wanted = np.exp(-(1 - wanted) * pairs / 2 / m)
        return {MERCER: float(np.abs(K - wanted).max())}

    return Contest({MERCER: lambda: k(X)}, errors)


def against_scipy(n: int, m: int) -> Contest:
    """The same matrix by both: scipy has a function of two rankings, so pairs are a loop."""
    from scipy.stats import kendalltau

    import mercer

    X = _rankings(n, m, 0.0)

    def loop() -> np.ndarray:
        K = np.eye(n)
        for a in range(n):
            for b in range(a):
                K[a, b] = K[b, a] = kendalltau(X[a], X[b]).statistic
        return K

    def errors(outputs: Mapping[str, Any]) -> dict[str, float]:
        return {MERCER: float(np.abs(outputs[MERCER] - outputs["scipy"]).max())}

    return Contest({MERCER: lambda: mercer.Kendall()(X), "scipy": loop}, errors)


def _average(x: np.ndarray, y: np.ndarray) -> float:
    """The mean over the best l, pair by pair, of rankings without ties."""
    m = len(x)
    places = [np.argsort(np.argsort(z)) + 1 for z in (x, y)]
    total = 0.0
    for item in range(m):
        ahead = np.sum((x < x[item]) & (y < y[item]))
        total += ahead * (m + 1 - max(places[0][item], places[1][item]))
    return total * 6 / ((m - 1) * m * (m + 1))


CASES = [
    Case(
        "rankings.scipy",
        "Kendall, {n} rankings of {m} items",
        against_scipy,
        {"n": 150, "m": 50},
        {"n": 40, "m": 50},
        {"n": 5, "m": 4},
        time=Target(speed=50.0),
        accuracy=Accuracy("absolute error", 1e-12),
        rounds=3,
    ),
    *(
        Case(
            f"rankings.{name}",
            title,
            partial(matrix, kernel=kernel, **options),
            {"n": n, "m": m},
            {"n": min(n, 300), "m": m},
            {"n": 5, "m": 4},
            time=Target(limit=limit),
            accuracy=Accuracy("absolute error", 1e-12),
            rounds=3,
        )
        for name, title, kernel, n, m, options, limit in (
            ("kendall", "Kendall, {n:,} rankings of {m} items", "Kendall", 5000, 50, {}, 2.0),
            ("ties", "Kendall, {n:,} lists of the best of {m} items", "Kendall", 5000, 50,
             {"left_out": 0.6}, 4.0),
            ("mallows", "Mallows, {n:,} rankings of {m} items", "Mallows", 5000, 50, {}, 2.0),
            ("many", "Kendall, {n:,} rankings of {m:,} items", "Kendall", 300, 3000, {}, 30.0),
            ("average", "AverageKendall, {n:,} rankings of {m} items", "AverageKendall", 2000, 50,
             {}, 10.0),
        )
    ),
]  # fmt: skip
