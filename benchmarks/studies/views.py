"""Handwritten digits in six views: the weights of several kernels beside the best single one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from mercer import Gaussian, MultipleKernelMachine
from mercer.kernels.base import Kernel

from .frame import Study, Trial, data_file

SPLITS = 10
TRAIN = 500
ALPHA = 0.1
MODELS: dict[str, tuple[str, float]] = {
    "p = 1": ("p = 1, sparse weights", 1.0),
    "p = 2": ("p = 2", 2.0),
    "p = inf": ("p = ∞, the plain sum", np.inf),
}


def views() -> tuple[list[np.ndarray], np.ndarray, list[str]]:
    """The views, the digits, and the names of the views."""
    file = np.load(data_file("multiview/mfeat.npz"))
    names = sorted(name for name in file.files if name.startswith("X_"))
    return [file[name].astype(np.float64) for name in names], file["y"], names


def split(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from, and rows to be judged by."""
    order = np.random.default_rng(seed).permutation(2000)
    return order[:TRAIN], order[TRAIN:]


def prepared(seed: int) -> tuple[np.ndarray, np.ndarray, list[Kernel], np.ndarray, np.ndarray]:
    """All columns side by side, scaled on the training rows, and a kernel for each view."""
    blocks, y, _ = views()
    train, test = split(seed)
    scaled = [StandardScaler().fit(block[train]).transform(block) for block in blocks]
    X = np.hstack(scaled)
    ends = np.cumsum([0, *(block.shape[1] for block in scaled)])
    kernels: list[Kernel] = [
        Gaussian("median").on(slice(int(a), int(b))) for a, b in pairwise(ends)
    ]
    return X, y, kernels, train, test


def accuracy(kernels: list[Kernel], X: np.ndarray, y: np.ndarray, p: float, rows: Any) -> Any:
    """The share of test digits that are right, and the model."""
    train, test = rows
    model = MultipleKernelMachine(kernels, "hinge", ALPHA, p=p).fit(X[train], y[train])
    return float(np.mean(model.predict(X[test]) == y[test])), model


def single() -> dict[str, list[float]]:
    """Accuracies of each view alone, over the splits."""
    names = views()[2]
    found: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(SPLITS):
        X, y, kernels, train, test = prepared(seed)
        for name, kernel in zip(names, kernels, strict=True):
            found[name].append(accuracy([kernel], X, y, np.inf, (train, test))[0])
    return found


def together(p: float) -> tuple[list[float], list[Any]]:
    """Accuracies with all views, and the models, over the splits."""
    found = []
    for seed in range(SPLITS):
        X, y, kernels, train, test = prepared(seed)
        found.append(accuracy(kernels, X, y, p, (train, test)))
    return [score for score, _ in found], [model for _, model in found]


def _spread(values: list[float]) -> str:
    return f"sd {np.std(values, ddof=1):.4f}, lowest {min(values):.4f}"


def _best_single(known: dict[str, Any]) -> tuple[float, str]:
    """The view that is best on average over the test rows: a choice that no model could make."""
    found = single()
    best = max(found, key=lambda name: float(np.mean(found[name])))
    known["single"] = np.mean(found[best])
    return float(np.mean(found[best])), f"{best.removeprefix('X_')}; {_spread(found[best])}"


def _several(p: float) -> tuple[float, str]:
    scores, models = together(p)
    weights = np.mean([model.weights_ / model.weights_.sum() for model in models], axis=0)
    names = [name.removeprefix("X_") for name in views()[2]]
    used = ", ".join(f"{name} {w:.2f}" for name, w in zip(names, weights, strict=True) if w > 1e-3)
    gap = max(float(model.gap_) for model in models)
    return float(np.mean(scores)), f"{_spread(scores)}; weights {used}; gap ≤ {gap:.1g}"


def trials() -> Iterator[Trial]:
    """The rows of the table."""
    known: dict[str, Any] = {}
    measure = f"accuracy, mean of {SPLITS} splits, {TRAIN} to learn from"
    yield Trial("the best single view", measure, lambda: _best_single(known))
    for label, p in MODELS.values():
        yield Trial(
            f"all six, {label}", measure, lambda p=p: _several(p), least=float(known["single"])
        )


STUDY = Study("views", "digits in six views", trials)
