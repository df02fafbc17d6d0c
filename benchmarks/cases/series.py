"""Kernels on series: Gram matrices of random walks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_CHECKED = 8  # pairs of series that are computed again, slowly
_FINE = 12  # the order of signatures that others are compared with: exact to rounding


def _walks(n: int, length: int, channels: int) -> np.ndarray:
    steps = np.random.default_rng(0).standard_normal((n, length, channels))
    return np.asarray(steps.cumsum(axis=1))


# ---- global alignment --------------------------------------------------------------------------
def alignment(n: int, length: int, peer: bool = True) -> Contest:
    """Errors: of some entries, against a recursion in logarithms."""
    from mercer import GlobalAlignment

    X = _walks(n, length, 1)
    width = float(np.sqrt(length) * length / 20)  # entries are neither all 0 nor all 1
    i, j = np.random.default_rng(1).integers(n, size=(2, _CHECKED))

    def tslearn() -> np.ndarray:
        from tslearn.metrics import cdist_gak

        return np.asarray(cdist_gak(X, sigma=width))

    def error(K: np.ndarray) -> float:
        log = partial(log_sum, width=width)
        pairs = zip(X[i, :, 0], X[j, :, 0], strict=True)
        exact = [log(x, y) - (log(x, x) + log(y, y)) / 2 for x, y in pairs]
        return float(np.abs(K[i, j] - np.exp(exact)).max())

    calls: dict[str, Callable[[], np.ndarray]] = {MERCER: lambda: GlobalAlignment(width)(X)}
    return Contest(calls | ({"tslearn": tslearn} if peer else {}), each(error))


def log_sum(x: np.ndarray, y: np.ndarray, width: float) -> float:
    """log of the sum over all alignments of two series of numbers, one anti-diagonal at a time."""
    m, n = len(x), len(y)
    older, old = np.full(m + 1, -np.inf), np.full(m + 1, -np.inf)  # cell (i, s - i) is at i + 1
    older[0] = 0.0
    for s in range(m + n - 1):
        i = np.arange(max(0, s - n + 1), min(m - 1, s) + 1)
        square = (x[i] - y[s - i]) ** 2 / (2 * width**2)
        new = np.full(m + 1, -np.inf)
        new[i + 1] = np.logaddexp(np.logaddexp(old[i + 1], old[i]), older[i])
        new[i + 1] -= square + np.log(2 - np.exp(-square))
        older, old = old, new
    return float(old[m])


# ---- signatures --------------------------------------------------------------------------------
def _signatures(n: int, length: int, channels: int) -> tuple[np.ndarray, Callable[[], np.ndarray]]:
    from mercer import Signature

    X = _walks(n, length, channels) / np.sqrt(length)
    return X, lambda: Signature()(X)


def signature(n: int, length: int, channels: int) -> Contest:
    """Errors: by how much eigenvalues are negative, relative to the largest."""
    _, ours = _signatures(n, length, channels)

    def error(K: np.ndarray) -> float:
        values = np.linalg.eigvalsh(K)
        return max(0.0, float(-values[0] / values[-1]))

    return Contest({MERCER: ours}, each(error))


def signature_peers(n: int, length: int, channels: int, refined: bool = True) -> Contest:
    """Errors: of a block of entries against signatures of order 12, relative to the largest.

    The peer solves a partial differential equation on a grid; refined twice, that is as accurate as
    signatures of order 3.
    """
    from mercer import Signature

    X, ours = _signatures(n, length, channels)
    few = slice(0, 4 * _CHECKED)

    def grid(dyadic_order: int) -> np.ndarray:
        from pysiglib import sig_kernel_gram

        return np.asarray(sig_kernel_gram(X, X, dyadic_order=dyadic_order, n_jobs=-1))

    def error(K: np.ndarray) -> float:
        exact = Signature(order=_FINE)(X[few])
        return float(np.abs(K[few, few] - exact).max() / np.abs(exact).max())

    calls = {MERCER: ours, "pySigLib": lambda: grid(0)}
    if refined:
        calls["pySigLib, refined"] = lambda: grid(2)
    return Contest(calls, each(error))


CASES = [
    Case(
        "series.alignment",
        "Global alignment Gram matrix, {n} series of length {length}",
        alignment,
        {"n": 500, "length": 100},
        {"n": 150, "length": 100},
        {"n": 5, "length": 10},
        time=Target(speed=6.0),
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
        time=Target(speed=6.0),
        accuracy=Accuracy("max error of entries", 1e-10),
        rounds=3,
    ),
    Case(
        "series.alignment.longest",
        "Global alignment Gram matrix, {n} series of length {length}",
        alignment,
        {"n": 30, "length": 2000, "peer": False},
        {"n": 6, "length": 2000, "peer": False},
        {"n": 5, "length": 10, "peer": False},
        time=Target(limit=3.0),
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
        time=Target(limit=2.0),
        memory=Target(limit=500e6),
        accuracy=Accuracy("most negative eigenvalue, relative", 1e-13),
        rounds=3,
    ),
    Case(
        "series.signature.peers",
        "Signature Gram matrix, {n} series of length {length}, {channels} channels",
        signature_peers,
        {"n": 200, "length": 100, "channels": 3},
        {"n": 50, "length": 100, "channels": 3},
        {"n": 5, "length": 10, "channels": 3},
        time=Target(speed=5.0),
        versus={"pySigLib, refined": Target(speed=8.0)},
        memory=Target(cost=0.1),
        accuracy=Accuracy("error relative to the largest entry", 1e-3),
        rounds=3,
    ),
    Case(
        "series.signature.peer",
        "Signature Gram matrix, {n} series of length {length}, {channels} channels",
        signature_peers,
        {"n": 500, "length": 100, "channels": 3, "refined": False},
        {"n": 50, "length": 100, "channels": 3, "refined": False},
        {"n": 5, "length": 10, "channels": 3, "refined": False},
        time=Target(speed=8.0),
        accuracy=Accuracy("error relative to the largest entry", 1e-3),
        rounds=1,
        slow=True,
    ),
]
