"""Changes in an ordered sample, beside ruptures: its C version, and the one in Python."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..harness import MERCER, Accuracy, Case, Contest, Target, each

_WIDTH, _GAMMA = 10, 1 / 32
_CHANGES = 10
_C, _PYTHON = "ruptures, C", "ruptures, Python"


def _sample(n: int, spread: float = 0.5) -> np.ndarray:
    """Eleven segments whose means differ."""
    rng = np.random.default_rng(0)
    means = rng.normal(0, spread, (_CHANGES + 1, _WIDTH))
    return means[np.arange(n) * (_CHANGES + 1) // n] + rng.standard_normal((n, _WIDTH))


def exactly(n: int, model: str, peer: str) -> Contest:
    """Ten changes; errors: how much the cost is above the lower of both."""
    from mercer import Gaussian, Linear, change_points

    X = _sample(n)
    kernel = Gaussian.from_gamma(_GAMMA) if model == "rbf" else Linear()

    def theirs() -> Any:
        import ruptures

        if peer == _PYTHON:
            search = ruptures.Dynp(model="l2", min_size=2, jump=1)
        else:
            params = {"gamma": _GAMMA} if model == "rbf" else None
            search = ruptures.KernelCPD(kernel=model, min_size=2, params=params)
        return np.array(search.fit_predict(X, n_bkps=_CHANGES)[:-1])

    def errors(outputs: Any) -> dict[str, float]:
        costs = {name: _cost(kernel, X, changes) for name, changes in outputs.items()}
        return {name: cost / min(costs.values()) - 1 for name, cost in costs.items()}

    def ours() -> np.ndarray:
        return change_points(X, _CHANGES, kernel).changes

    return Contest({MERCER: ours, peer: theirs}, errors)


def _cost(kernel: Any, X: np.ndarray, changes: np.ndarray) -> float:
    """The sum of squared distances from the mean of each segment, by K."""
    parts = np.split(X, changes)
    return float(sum(np.sum(kernel.diag(p)) - kernel(p).sum() / len(p) for p in parts))


def by_features(n: int) -> Contest:
    """The number of changes chosen, through 100 landmarks; errors: the worst place, as a share."""
    from mercer import Gaussian, Plan, change_points

    X = _sample(n, spread=2.0)
    wanted = np.flatnonzero(np.diff(np.arange(n) * (_CHANGES + 1) // n)) + 1

    def ours() -> np.ndarray:
        return change_points(X, kernel=Gaussian.from_gamma(_GAMMA), plan=Plan(rank=100)).changes

    def error(changes: np.ndarray) -> float:
        same = len(changes) == len(wanted)
        return float(np.abs(changes - wanted).max() / n) if same else np.inf

    return Contest({MERCER: ours}, each(error))


CASES = [
    Case(
        f"segments.{model}",
        f"ten changes among {{n:,}} samples, {name} kernel, d = 10",
        partial(exactly, model=model, peer=_C),
        {"n": 10_000},
        {"n": 2000},
        {"n": 300},
        time=Target(speed=1.0),
        accuracy=Accuracy("relative excess of the cost", 1e-9),
        rounds=5,
    )
    for model, name in (("rbf", "Gaussian"), ("linear", "linear"))
]
CASES += [
    Case(
        "segments.python",
        "ten changes among {n:,} samples, linear kernel, d = 10",
        partial(exactly, model="linear", peer=_PYTHON),
        {"n": 1000},
        {"n": 200},
        {"n": 60},
        time=Target(speed=10.0),
        accuracy=Accuracy("relative excess of the cost", 1e-9),
        rounds=1,
    ),
    Case(
        "segments.features",
        "changes among {n:,} samples, Gaussian kernel with 100 landmarks, d = 10",
        by_features,
        {"n": 100_000},
        {"n": 30_000},
        {"n": 500},
        time=Target(limit=20.0),
        accuracy=Accuracy("largest error of a location, as a share of n", 1e-3),
        rounds=3,
    ),
]
