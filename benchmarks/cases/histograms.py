"""Kernels on histograms: chi-square and Jensen-Shannon, whole matrices."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_PEERS = {"chi2": "scikit-learn", "jensen-shannon": "scipy"}


def _peer(name: str, P: np.ndarray) -> np.ndarray:
    if name == "chi2":
        from sklearn.metrics.pairwise import chi2_kernel

        return chi2_kernel(P, gamma=1.0)
    from scipy.spatial.distance import cdist

    return np.exp(-2 / np.log(2) * cdist(P, P, "jensenshannon") ** 2)


def matrix(n: int, d: int, name: str) -> Contest:
    """exp(-d^2) of random distributions; errors: against the formulas, in extended precision."""
    import mercer

    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.full(d, 0.5), n)
    kernel = mercer.Schoenberg(mercer.HilbertianMetric.from_name(name), t=1.0)
    i, j = rng.integers(n, size=(2, 300))

    def error(K: np.ndarray) -> float:
        p, q = P[i].astype(np.longdouble), P[j].astype(np.longdouble)
        s = p + q
        if name == "chi2":
            psi = ((p - q) ** 2 / s).sum(axis=1)
        else:
            psi = (p * np.log2(2 * p / s) + q * np.log2(2 * q / s)).sum(axis=1)
        return float(np.abs(K[i, j] - np.exp(-psi)).max())

    return Contest({MERCER: lambda: kernel(P), _PEERS[name]: lambda: _peer(name, P)}, each(error))


CASES = [
    Case(
        f"histograms.{name.replace('-', '_')}",
        f"exp(-d^2), {name}, {{n:,}} histograms of {{d}} bins",
        partial(matrix, name=name),
        {"n": 2000, "d": 256},
        {"n": 500, "d": 100},
        {"n": 20, "d": 5},
        time=Target(speed=speed),
        accuracy=Accuracy("largest error", 1e-12),
        rounds=3,
    )
    for name, speed in (("chi2", 1.5), ("jensen-shannon", 3.0))
]
