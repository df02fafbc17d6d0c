"""Kernels on series: Gram matrices of random walks."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_CHECKED = 8  # pairs of series that are computed again, slowly


def _walks(n: int, length: int, channels: int) -> np.ndarray:
    steps = np.random.default_rng(0).standard_normal((n, length, channels))
    return np.asarray(steps.cumsum(axis=1))


# ---- global alignment --------------------------------------------------------------------------
def alignment(n: int, length: int) -> Contest:
    """Errors: of some entries, against a recursion in logarithms."""
    from mercer import GlobalAlignment

    X = _walks(n, length, 1)
    width = float(np.sqrt(length) * length / 20)  # entries are neither all 0 nor all 1
    i, j = np.random.default_rng(1).integers(n, size=(2, _CHECKED))

    def peer() -> np.ndarray:
        from tslearn.metrics import cdist_gak

        return np.asarray(cdist_gak(X, sigma=width))

    def error(K: np.ndarray) -> float:
        pairs = zip(X[i, :, 0].tolist(), X[j, :, 0].tolist(), strict=True)
        exact = [
            log_sum(x, y, width) - (log_sum(x, x, width) + log_sum(y, y, width)) / 2
            for x, y in pairs
        ]
        return float(np.abs(K[i, j] - np.exp(exact)).max())

    return Contest({MERCER: lambda: GlobalAlignment(width)(X), "tslearn": peer}, each(error))


def log_sum(x: list[float], y: list[float], width: float) -> float:
    """log of the sum over all alignments of two series of numbers, cell by cell."""
    above = [0.0] + [-inf] * len(y)
    for u in x:
        row = [-inf]
        for j, v in enumerate(y):
            parts = (above[j], above[j + 1], row[j])
            most, square = max(parts), (u - v) ** 2 / (2 * width**2)
            total = sum(exp(p - most) for p in parts) if most > -inf else 0.0
            local = -square - log(2 - exp(-square))
            row.append(most + log(total) + local if total else -inf)
        above = row
    return above[-1]


# ---- signatures --------------------------------------------------------------------------------
def signature(n: int, length: int, channels: int) -> Contest:
    """Errors: by how much eigenvalues are negative, relative to the largest."""
    from mercer import Signature

    X = _walks(n, length, channels) / np.sqrt(length)

    def error(K: np.ndarray) -> float:
        values = np.linalg.eigvalsh(K)
        return max(0.0, float(-values[0] / values[-1]))

    return Contest({MERCER: lambda: Signature()(X)}, each(error))


CASES = [
    Case(
        "series.alignment",
        "Global alignment Gram matrix, {n} series of length {length}",
        alignment,
        {"n": 500, "length": 100},
        {"n": 150, "length": 100},
        {"n": 5, "length": 10},
        time=Target(speed=5.0),
        accuracy=Accuracy("max error of entries", 1e-11),
        rounds=3,
    ),
    Case(
        "series.alignment.long",
        "Global alignment Gram matrix, {n} series of length {length}",
        alignment,
        {"n": 60, "length": 500},
        {"n": 15, "length": 500},
        {"n": 5, "length": 10},
        time=Target(speed=5.0),
        accuracy=Accuracy("max error of entries", 1e-10),
        rounds=3,
    ),
    Case(
        "series.signature",
        "Signature Gram matrix, {n} series of length {length}, {channels} channels",
        signature,
        {"n": 500, "length": 100, "channels": 3},
        {"n": 150, "length": 100, "channels": 3},
        {"n": 5, "length": 10, "channels": 3},
        time=Target(limit=2.6),
        memory=Target(limit=500e6),
        accuracy=Accuracy("largest negative eigenvalue, relative", 1e-13),
        rounds=3,
    ),
]
